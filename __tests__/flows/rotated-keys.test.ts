import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { generateClientSecret, type PrivateJwk } from "../../lib";
import { apis } from "../hosts/apis";
import { buildOnce } from "../servers/build-once";
import { stopClock } from "../hosts/clock";
import { testHost } from "../hosts/host";
import { callApi, type Tokens } from "../browser/journey";
import {
  isActive,
  kidOf,
  mint,
  nextKey,
  oldKey,
  publishedKids,
  statusOf,
  tokenSeconds,
} from "../records/signing-keys";

afterEach(() => jest.restoreAllMocks());

describe("tokens of keys that verify no more (RFC 9068 §4, 7515 §4.1.4)", () => {
  const challenge = /^Bearer .*error="invalid_token"/;

  it("refuses a token that outlives the schedule of its key", async () => {
    const clock = stopClock();
    const longer = { ...apis, orders: { ...apis["orders"]!, accessTokenSeconds: 3_600 } };
    const patient = testHost({ signingKeys: [oldKey], apis: longer });
    const host = testHost({ signingKeys: [oldKey, { key: nextKey, signsFrom: clock.now() + 300 }] });
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
    const host = testHost({ signingKeys: [oldKey] });
    const token = await mint(host);
    host.auth.rotateKeys([nextKey]);
    const refused = await callApi(host, "/orders", token);
    expect([refused.status, refused.headers["www-authenticate"]]).toEqual([
      401,
      expect.stringMatching(challenge),
    ]);
    expect(await isActive(host, token)).toBe(false);
    expect(await publishedKids(host)).toEqual([nextKey.kid]);
  });

  it("refuses them even when the API has seen them before, after the revocation lag at the latest", async () => {
    const clock = stopClock();
    const host = testHost({ signingKeys: [oldKey] });
    const token = await mint(host);
    expect(await statusOf(host, token)).toBe(200);
    host.auth.rotateKeys([nextKey]);
    clock.advance(5);
    expect(await statusOf(host, token)).toBe(401);
  });

  it("refuses a kid that it does not know", async () => {
    stopClock();
    const stranger = testHost({ signingKeys: [nextKey] });
    const host = testHost({ signingKeys: [oldKey] });
    const refused = await callApi(host, "/orders", await mint(stranger));
    expect([refused.status, refused.headers["www-authenticate"]]).toEqual([
      401,
      expect.stringMatching(challenge),
    ]);
  });

  it("refuses a kid that it knows with the signature of another key", async () => {
    stopClock();
    const impostor = testHost({ signingKeys: [{ ...nextKey, kid: String(oldKey.kid) }] });
    const host = testHost({ signingKeys: [oldKey] });
    const token = await mint(impostor);
    expect(kidOf(token)).toBe(oldKey.kid);
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
    const one = testHost({ signingKeys: [oldKey], apis: shortLived });
    const other = testHost({ signingKeys: [oldKey], apis: shortLived });
    const start = clock.now();
    const signsFrom = start + 15;
    const keys = [oldKey, { key: nextKey, signsFrom }];
    one.auth.rotateKeys(keys);
    const tokens: { ofOne: string; ofOther: string }[] = [];
    const end = signsFrom + seconds + 3;
    for (; clock.now() < end; clock.advance(1)) {
      if (clock.now() === signsFrom - 1) other.auth.rotateKeys(keys);
      const minted = { ofOne: await mint(one), ofOther: await mint(other) };
      tokens.push(minted);
      const kid = clock.now() < signsFrom ? oldKey.kid : nextKey.kid;
      expect([kidOf(minted.ofOne), kidOf(minted.ofOther)]).toEqual([kid, kid]);
      // the newest one and the oldest one that lives, each at the other process
      for (const { ofOne, ofOther } of [minted, tokens.at(-seconds) ?? minted]) {
        const statuses = [await statusOf(other, ofOne), await statusOf(one, ofOther)];
        expect([clock.now() - start, ...statuses]).toEqual([clock.now() - start, 200, 200]);
      }
      if (clock.now() >= signsFrom - 1) expect(await publishedKids(other)).toEqual(await publishedKids(one));
    }
    expect(await publishedKids(one)).toEqual([nextKey.kid]);
  });

  it("agree when one has started with the schedule and the other has got it", async () => {
    const clock = stopClock();
    const keys = [{ key: nextKey, signsFrom: clock.now() + 10 }, oldKey];
    const started = testHost({ signingKeys: keys });
    const told = testHost({ signingKeys: [oldKey] });
    told.auth.rotateKeys(keys);
    for (const expected of [oldKey, nextKey]) {
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
    const child = fork(path.join(__dirname, "rotating-host.cjs"), { execArgv: [] });
    const settings = { baseUrl, audience: "https://api.example/orders", client, signingKeys };
    const { port } = (await ask(child, settings)) as { port: number };
    return { child, origin: `http://127.0.0.1:${port}` };
  }

  beforeAll(async () => {
    buildOnce();
    processes.push(...(await Promise.all([startProcess([oldKey]), startProcess([oldKey])])));
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
    expect([...seen]).toEqual([[oldKey.kid, 2]]);

    // well ahead, so that slow processes hear of the key before it signs
    const signsFrom = Math.floor(Date.now() / 1000) + 6;
    const rotated = processes.map(({ child }) =>
      ask(child, { signingKeys: [oldKey, { key: nextKey, signsFrom }] }),
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
    expect(new Set(seen.keys())).toEqual(new Set([oldKey.kid, nextKey.kid]));
    expect(statuses.length).toBeGreaterThanOrEqual(2_000);
    for (const { origin } of processes) {
      const published = JSON.parse(await send(`${origin}/login/jwks`, {})) as { keys: { kid: string }[] };
      expect(published.keys.map(({ kid }) => kid)).toEqual([oldKey.kid, nextKey.kid]);
    }
  });
});
