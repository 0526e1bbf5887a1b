import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import request from "supertest";
import { generateClientSecret, generateSigningKey, type PrivateJwk, type SigningKeySource } from "../../lib";
import { buildOnce } from "../fixture/build-once";
import { type Clock, stopClock } from "../fixture/clock";
import { apis, credentials, testHost, type TestHost } from "../fixture/host";
import { callApi, obtainTokens, postToken, refresh, type Tokens } from "../fixture/journey";

afterEach(() => jest.restoreAllMocks());

function kidOf(token: string): unknown {
  const header = Buffer.from(token.slice(0, token.indexOf(".")), "base64url").toString();
  return (JSON.parse(header) as { kid?: unknown }).kid;
}

async function mint(host: TestHost): Promise<string> {
  const fields = { grant_type: "client_credentials", ...credentials("machine") };
  const response = await postToken(host, { fields });
  expect(response.status).toBe(200);
  return (response.body as Tokens).access_token;
}

async function publishedKids(host: TestHost): Promise<unknown[]> {
  const response = await request(host.app).get("/login/jwks");
  expect(response.status).toBe(200);
  return (response.body as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
}

async function statusOf(host: TestHost, token: string): Promise<number> {
  return (await callApi(host, "/orders", token)).status;
}

async function isActive(host: TestHost, token: string): Promise<unknown> {
  const response = await request(host.app)
    .post("/login/auth/password/api/orders/introspect")
    .type("form")
    .send({ ...credentials("web"), token });
  expect(response.status).toBe(200);
  return (response.body as { active: unknown }).active;
}

const old = generateSigningKey();
const next = generateSigningKey();

/** The longest lifetime of the APIs of the test host. */
const tokenSeconds = 600;

describe("one rotation, step by step (RFC 7517 §5, 9700 §2.5)", () => {
  const ahead = 300;
  let clock: Clock;
  let host: TestHost;

  beforeEach(() => {
    clock = stopClock();
    host = testHost({ signingKeys: [old] });
  });

  const rotate = (signsFrom = clock.now() + ahead): void =>
    host.auth.rotateKeys([old, { key: next, signsFrom }]);

  it("publishes the new key at once, and signs with the old one until its moment", async () => {
    rotate();
    expect(await publishedKids(host)).toEqual([old.kid, next.kid]);
    expect(kidOf(await mint(host))).toBe(old.kid);
    clock.advance(ahead - 1);
    expect(kidOf(await mint(host))).toBe(old.kid);
    clock.advance(1);
    expect(kidOf(await mint(host))).toBe(next.kid);
    expect(await publishedKids(host)).toEqual([old.kid, next.kid]);
  });

  it("accepts the last token of the old key to its last second, then stops publishing the key", async () => {
    rotate();
    clock.advance(ahead - 1);
    const last = await mint(host);
    clock.advance(tokenSeconds - 1);
    expect(await statusOf(host, last)).toBe(200);
    expect(await isActive(host, last)).toBe(true);
    expect(await publishedKids(host)).toEqual([old.kid, next.kid]);
    clock.advance(1);
    expect(await statusOf(host, last)).toBe(401);
    expect(await isActive(host, last)).toBe(false);
    expect(await publishedKids(host)).toEqual([old.kid, next.kid]);
    clock.advance(1);
    expect(await publishedKids(host)).toEqual([next.kid]);
    expect(await statusOf(host, await mint(host))).toBe(200);
  });

  it("goes on with the new key alone, once the old one has retired", async () => {
    rotate();
    clock.advance(ahead + tokenSeconds);
    const token = await mint(host);
    host.auth.rotateKeys([next]);
    expect(await publishedKids(host)).toEqual([next.kid]);
    expect(await statusOf(host, token)).toBe(200);
    expect(kidOf(await mint(host))).toBe(next.kid);
  });

  it("leaves authorizations as they are: a refresh token brings a token of the new key", async () => {
    const { access_token, refresh_token = "" } = await obtainTokens(host, { client: "web" });
    rotate();
    clock.advance(ahead);
    const refreshed = await refresh(host, { client: "web", refreshToken: refresh_token });
    expect(refreshed.status).toBe(200);
    const { access_token: renewed } = refreshed.body as Tokens;
    expect([kidOf(access_token), kidOf(renewed)]).toEqual([old.kid, next.kid]);
    expect([await statusOf(host, access_token), await statusOf(host, renewed)]).toEqual([200, 200]);
  });

  it("publishes public halves only", async () => {
    rotate();
    const { text } = await request(host.app).get("/login/jwks");
    for (const { d } of [old, next]) expect(text).not.toContain(String(d));
  });

  it("rotates again before the first rotation has ended", async () => {
    const third = generateSigningKey();
    const firstMoment = clock.now() + ahead;
    rotate(firstMoment);
    clock.advance(ahead);
    const secondMoment = clock.now() + ahead;
    host.auth.rotateKeys([
      old,
      { key: next, signsFrom: firstMoment },
      { key: third, signsFrom: secondMoment },
    ]);
    expect(kidOf(await mint(host))).toBe(next.kid);
    clock.advance(ahead);
    expect(kidOf(await mint(host))).toBe(third.kid);
    expect(await publishedKids(host)).toEqual([old.kid, next.kid, third.kid]);
    clock.advance(tokenSeconds - ahead);
    expect(await publishedKids(host)).toEqual([next.kid, third.kid]);
    clock.advance(ahead);
    expect(await publishedKids(host)).toEqual([third.kid]);
  });

  it.each<[string, () => unknown, RegExp]>([
    ["a wrong key", () => [old, "no key"], /^rotateKeys: signingKeys\.1 is not a usable private key\./],
    ["milliseconds", () => [old, { key: next, signsFrom: Date.now() }], /^rotateKeys: signingKeys\.1 /],
    ["one kid twice", () => [old, next, next], /^rotateKeys: signingKeys has two keys with one kid\./],
    [
      "no key that may sign now",
      () => [{ key: next, signsFrom: clock.now() + 1 }],
      /^rotateKeys: signingKeys has no key/,
    ],
    ["an empty list", () => [], /^rotateKeys: signingKeys has no key that may sign now\./],
    ["no list", () => next, /^rotateKeys: signingKeys is no list\./],
  ])("leaves all as it was when it throws: %s", async (_, keys, message) => {
    const token = await mint(host);
    expect(() => host.auth.rotateKeys(keys() as SigningKeySource[])).toThrow(message);
    expect(await publishedKids(host)).toEqual([old.kid]);
    expect(await statusOf(host, token)).toBe(200);
    expect(kidOf(await mint(host))).toBe(old.kid);
    rotate(clock.now());
    expect(kidOf(await mint(host))).toBe(next.kid);
  });

  it("keeps a schedule that was good when the next list is wrong", async () => {
    rotate();
    expect(() => host.auth.rotateKeys([next, next])).toThrow(TypeError);
    clock.advance(ahead);
    expect(kidOf(await mint(host))).toBe(next.kid);
  });

  it("refuses a wrong schedule at the start in the name of createAuthServer", () => {
    const signingKeys = [{ key: old, signsFrom: clock.now() + 1 }];
    expect(() => testHost({ signingKeys })).toThrow(
      /^createAuthServer: signingKeys has no key that may sign now\./,
    );
  });
});

describe("tokens of keys that verify no more (RFC 9068 §4, 7515 §4.1.4)", () => {
  const challenge = /^Bearer .*error="invalid_token"/;

  it("refuses a token that outlives the schedule of its key", async () => {
    const clock = stopClock();
    const longer = { ...apis, orders: { ...apis["orders"]!, accessTokenSeconds: 3_600 } };
    const patient = testHost({ signingKeys: [old], apis: longer });
    const host = testHost({ signingKeys: [old, { key: next, signsFrom: clock.now() + 300 }] });
    const token = await mint(patient);
    clock.advance(300 + tokenSeconds - 1);
    expect(await isActive(host, token)).toBe(true);
    clock.advance(1);
    const refused = await callApi(host, "/orders", token);
    expect([refused.status, refused.headers["www-authenticate"]]).toEqual([
      401,
      expect.stringMatching(challenge),
    ]);
    expect(await isActive(host, token)).toBe(false);
  });

  it("refuses the tokens of a key that was taken out, as in an emergency", async () => {
    stopClock();
    const host = testHost({ signingKeys: [old] });
    const token = await mint(host);
    host.auth.rotateKeys([next]);
    const refused = await callApi(host, "/orders", token);
    expect([refused.status, refused.headers["www-authenticate"]]).toEqual([
      401,
      expect.stringMatching(challenge),
    ]);
    expect(await isActive(host, token)).toBe(false);
    expect(await publishedKids(host)).toEqual([next.kid]);
  });

  it("refuses them even when the API has seen them before, after the revocation lag at the latest", async () => {
    const clock = stopClock();
    const host = testHost({ signingKeys: [old] });
    const token = await mint(host);
    expect(await statusOf(host, token)).toBe(200);
    host.auth.rotateKeys([next]);
    clock.advance(5);
    expect(await statusOf(host, token)).toBe(401);
  });

  it("refuses a kid that it does not know", async () => {
    stopClock();
    const stranger = testHost({ signingKeys: [next] });
    const host = testHost({ signingKeys: [old] });
    const refused = await callApi(host, "/orders", await mint(stranger));
    expect([refused.status, refused.headers["www-authenticate"]]).toEqual([
      401,
      expect.stringMatching(challenge),
    ]);
  });

  it("refuses a kid that it knows with the signature of another key", async () => {
    stopClock();
    const impostor = testHost({ signingKeys: [{ ...next, kid: String(old.kid) }] });
    const host = testHost({ signingKeys: [old] });
    const token = await mint(impostor);
    expect(kidOf(token)).toBe(old.kid);
    expect(await statusOf(host, token)).toBe(401);
  });
});

describe("two processes with one schedule (RFC 7517 §5)", () => {
  const seconds = 20;
  const shortLived = {
    orders: { ...apis["orders"]!, accessTokenSeconds: seconds },
    reports: { ...apis["reports"]!, accessTokenSeconds: seconds },
    files: { ...apis["files"]!, accessTokenSeconds: seconds },
  };

  it("agree at every second, though one takes the new list later than the other", async () => {
    const clock = stopClock();
    const one = testHost({ signingKeys: [old], apis: shortLived });
    const other = testHost({ signingKeys: [old], apis: shortLived });
    const start = clock.now();
    const signsFrom = start + 15;
    const keys = [old, { key: next, signsFrom }];
    one.auth.rotateKeys(keys);
    const tokens: { ofOne: string; ofOther: string }[] = [];
    const end = signsFrom + seconds + 3;
    for (; clock.now() < end; clock.advance(1)) {
      if (clock.now() === signsFrom - 1) other.auth.rotateKeys(keys);
      const minted = { ofOne: await mint(one), ofOther: await mint(other) };
      tokens.push(minted);
      const kid = clock.now() < signsFrom ? old.kid : next.kid;
      expect([kidOf(minted.ofOne), kidOf(minted.ofOther)]).toEqual([kid, kid]);
      // the newest one and the oldest one that lives, each at the other process
      for (const { ofOne, ofOther } of [minted, tokens.at(-seconds) ?? minted]) {
        const statuses = [await statusOf(other, ofOne), await statusOf(one, ofOther)];
        expect([clock.now() - start, ...statuses]).toEqual([clock.now() - start, 200, 200]);
      }
      if (clock.now() >= signsFrom - 1) expect(await publishedKids(other)).toEqual(await publishedKids(one));
    }
    expect(await publishedKids(one)).toEqual([next.kid]);
  });

  it("agree when one has started with the schedule and the other has got it", async () => {
    const clock = stopClock();
    const keys = [{ key: next, signsFrom: clock.now() + 10 }, old];
    const started = testHost({ signingKeys: keys });
    const told = testHost({ signingKeys: [old] });
    told.auth.rotateKeys(keys);
    for (const expected of [old, next]) {
      const [here, there] = [await mint(started), await mint(told)];
      expect([kidOf(here), kidOf(there)]).toEqual([expected.kid, expected.kid]);
      expect([await statusOf(told, here), await statusOf(started, there)]).toEqual([200, 200]);
      clock.advance(10);
    }
  });
});

/** Sends a message and gives the answer; a process that ends instead is an error. */
async function ask(child: ChildProcess, message: object): Promise<unknown> {
  const ended = new AbortController();
  const stop = (): void => ended.abort(new Error("the process has ended"));
  child.once("exit", stop);
  try {
    const answered = once(child, "message", { signal: ended.signal });
    child.send(message);
    return (await answered)[0] as unknown;
  } finally {
    child.off("exit", stop);
  }
}

describe("a rotation under load, with two processes (RFC 7517 §5)", () => {
  jest.setTimeout(120_000);

  const baseUrl = "http://localhost:4000/login";
  const { secret, digest } = generateClientSecret();
  const client = {
    clientId: "machine",
    name: "Night Job",
    confidential: true,
    secretDigests: [digest],
    redirectUris: [],
    subscriptions: { orders: { grantTypes: ["client_credentials"] } },
  };

  interface Process {
    readonly child: ChildProcess;
    readonly origin: string;
  }

  const processes: Process[] = [];

  async function startProcess(signingKeys: readonly PrivateJwk[]): Promise<Process> {
    const child = fork(path.join(__dirname, "../fixture/rotating-host.cjs"), { execArgv: [] });
    const settings = { baseUrl, audience: "https://api.example/orders", client, signingKeys };
    const { port } = (await ask(child, settings)) as { port: number };
    return { child, origin: `http://127.0.0.1:${port}` };
  }

  beforeAll(async () => {
    buildOnce();
    processes.push(...(await Promise.all([startProcess([old]), startProcess([old])])));
  });

  afterAll(async () => {
    await Promise.all(
      processes.map(async ({ child }) => {
        if (child.exitCode !== null) return;
        const exited = once(child, "exit");
        child.kill();
        await exited;
      }),
    );
  });

  it("refuses nothing while tokens of both keys go both ways", async () => {
    const seen = new Map<unknown, number>();
    const failures: string[] = [];
    const statuses: number[] = [];

    async function send(url: string, init: RequestInit): Promise<string> {
      const response = await fetch(url, init);
      statuses.push(response.status);
      const text = await response.text();
      if (response.status !== 200) failures.push(`${url} ${response.status} ${text}`);
      return text;
    }

    /** Each process issues a token, and each token is taken to both. */
    async function round(): Promise<void> {
      const body = { grant_type: "client_credentials", client_id: "machine", client_secret: secret };
      await Promise.all(
        processes.map(async (issuer) => {
          const url = `${issuer.origin}/login/auth/password/api/orders/token`;
          const text = await send(url, { method: "POST", body: new URLSearchParams(body) });
          const { access_token } = JSON.parse(text) as Tokens;
          const kid = kidOf(access_token);
          seen.set(kid, (seen.get(kid) ?? 0) + 1);
          const headers = { authorization: `Bearer ${access_token}` };
          await Promise.all(processes.map(({ origin }) => send(`${origin}/orders`, { headers })));
        }),
      );
    }

    await round();
    expect([...seen]).toEqual([[old.kid, 2]]);

    // a whole second more, so that two are ahead at any fraction of this one
    const signsFrom = Math.floor(Date.now() / 1000) + 3;
    const rotated = processes.map(({ child }) =>
      ask(child, { signingKeys: [old, { key: next, signsFrom }] }),
    );

    async function lane(): Promise<void> {
      while (statuses.length < 2_000 || Date.now() < (signsFrom + 1) * 1000) {
        await round();
        await delay(20);
      }
    }

    await Promise.all([lane(), lane(), lane(), lane()]);
    expect(await Promise.all(rotated)).toEqual([{ rotated: true }, { rotated: true }]);
    await round();
    expect([failures.length, failures.slice(0, 5)]).toEqual([0, []]);
    expect(new Set(seen.keys())).toEqual(new Set([old.kid, next.kid]));
    expect(statuses.length).toBeGreaterThanOrEqual(2_000);
    for (const { origin } of processes) {
      const published = JSON.parse(await send(`${origin}/login/jwks`, {})) as { keys: { kid: string }[] };
      expect(published.keys.map(({ kid }) => kid)).toEqual([old.kid, next.kid]);
    }
  });
});
