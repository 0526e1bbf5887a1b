// The attacker sends more than a server can work on: wrong secrets that cost a derivation each, authorization requests, bad
// tokens. They hold no credential; in the flood of approvals they are a signed-in end user. They did not get to stall the
// server, to lock others out, or to have it keep what it does not need.
import crypto from "node:crypto";
import { type Client, type ConfidentialClient, memoryStorage } from "../../lib";
import { clientSecretChecker } from "../../lib/endpoints/client-secret-check";
import { encode, formFields } from "../fixture/browser";
import { stopClock } from "../fixture/clock";
import {
  authorizationParameters,
  clients,
  credentials,
  pairPath,
  signedOut,
  testHost,
  type TestHost,
} from "../fixture/host";
import {
  authorize,
  callApi,
  obtainCode,
  obtainTokens,
  redeem,
  redirectParameters,
  refresh,
  type Tokens,
} from "../fixture/journey";
import { newLatch } from "../fixture/latch";
import { type Answer, listen, type ListeningApp } from "../fixture/listening";
import { intercept, watchWrites } from "../fixture/slow-storage";

const open: ListeningApp[] = [];

beforeEach(() => void stopClock());

afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(open.splice(0).map((app) => app.close()));
});

async function listenTo(host: TestHost): Promise<ListeningApp> {
  const app = await listen(host.app);
  open.push(app);
  return app;
}

/** Runs so many tasks, a few at a time. */
async function repeat(times: number, task: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < times) await task(next++);
  };
  await Promise.all(Array.from({ length: 50 }, worker));
}

/** A digest of the least allowed cost. */
function scryptDigest(secret: string): string {
  const salt = crypto.randomBytes(16);
  const hash = crypto.scryptSync(secret, salt, 32, { N: 2 ** 14, r: 8, p: 1 });
  return `scrypt:ln=14,r=8,p=1:${salt.toString("base64url")}:${hash.toString("base64url")}`;
}

function confidential(clientId: string, ...secretDigests: readonly string[]): ConfidentialClient {
  return {
    clientId,
    name: clientId,
    confidential: true,
    secretDigests,
    redirectUris: [],
    subscriptions: { orders: {} },
  };
}

const chosenSecret = "a secret that a person chose";
const chosenDigest = scryptDigest(chosenSecret);
const otherSecret = "what another person chose";
const otherDigest = scryptDigest(otherSecret);
const chosen = confidential("chosen", chosenDigest);
const other = confidential("other-chosen", otherDigest);

interface Derivations {
  /** How many have begun. */
  readonly begun: () => number;
  /** The most that were under way at one time. */
  readonly mostAtOnce: () => number;
  /** How many wait to be let go. */
  readonly held: () => number;
  /** Lets those that wait, and all that come, run. */
  readonly letGo: () => void;
}

/** Counts the derivations; `"held"` ones wait until they are let go. */
function watchDerivations(how: "held" | "free" = "free"): Derivations {
  const real = crypto.scrypt.bind(crypto);
  let running = 0;
  let most = 0;
  let begun = 0;
  let free = how === "free";
  const held: (() => void)[] = [];
  jest.spyOn(crypto, "scrypt").mockImplementation((password, salt, length, options, done) => {
    begun += 1;
    running += 1;
    most = Math.max(most, running);
    const run = (): void =>
      real(password, salt, length, options, (error, key) => {
        running -= 1;
        done(error, key);
      });
    if (free) run();
    else held.push(run);
  });
  return {
    begun: () => begun,
    mostAtOnce: () => most,
    held: () => held.length,
    letGo() {
      free = true;
      for (const run of held.splice(0)) run();
    },
  };
}

const tokenPath = `${pairPath()}/token`;

function authenticate(app: ListeningApp, { clientId, secret }: { clientId: string; secret: string }) {
  const form = { grant_type: "client_credentials", client_id: clientId, client_secret: secret };
  return app.send({ path: tokenPath, form });
}

const tooMany = {
  error: "temporarily_unavailable",
  error_description: "Too many client authentications at once.",
};
const failed = { error: "invalid_client", error_description: "Client authentication failed." };

function count(answers: readonly Answer[], status: number): number {
  return answers.filter((answer) => answer.status === status).length;
}

/** 200 different wrong secrets at once; resolves once only those that wait for a derivation are left. */
async function flood(app: ListeningApp): Promise<{ readonly all: Promise<readonly Answer[]> }> {
  const answers: Answer[] = [];
  let settled: (() => void) | undefined;
  const refused = new Promise<void>((resolve) => {
    settled = resolve;
  });
  const sent = Array.from({ length: 200 }, async (_, index) => {
    const answer = await authenticate(app, { clientId: "chosen", secret: `a wrong secret, ${index}` });
    answers.push(answer);
    if (answers.length === 196) settled?.();
    return answer;
  });
  await refused;
  return { all: Promise.all(sent) };
}

describe("a flood of wrong secrets for one client (RFC 6749 §2.3.1, §10.10)", () => {
  it("is refused beyond four at a time, and lets nobody in", async () => {
    const host = testHost({ clients: [chosen, other] });
    const app = await listenTo(host);
    const derivations = watchDerivations("held");
    const { all } = await flood(app);
    expect(derivations.held()).toBe(2);
    derivations.letGo();
    const answers = await all;
    expect([count(answers, 503), count(answers, 401)]).toEqual([196, 4]);
    for (const { status, body, headers } of answers) {
      expect(body).toEqual(status === 503 ? tooMany : failed);
      expect(headers["cache-control"]).toBe("no-store");
    }
    expect(derivations.begun()).toBe(4);
    expect(derivations.mostAtOnce()).toBe(2);
  });

  it("does not keep out the client whose secret was verified before", async () => {
    const host = testHost({ clients: [chosen, other] });
    const app = await listenTo(host);
    expect((await authenticate(app, { clientId: "chosen", secret: chosenSecret })).status).toBe(200);
    const derivations = watchDerivations("held");
    const { all } = await flood(app);
    const honest = await authenticate(app, { clientId: "chosen", secret: chosenSecret });
    // not one derivation of the flood has ended
    expect(derivations.held()).toBe(2);
    expect(honest.status).toBe(200);
    expect((await callApi(host, "/orders", String(honest.body["access_token"]))).status).toBe(200);
    derivations.letGo();
    expect(count(await all, 200)).toBe(0);
  });

  it("does not keep out another client: its check waits its turn behind at most four", async () => {
    const app = await listenTo(testHost({ clients: [chosen, other] }));
    const derivations = watchDerivations("held");
    const { all } = await flood(app);
    const patient = authenticate(app, { clientId: "other-chosen", secret: otherSecret });
    // an answer of the server that came later shows that the check of the other one has begun to wait
    expect((await authenticate(app, { clientId: "chosen", secret: "one more" })).status).toBe(503);
    derivations.letGo();
    expect((await patient).status).toBe(200);
    expect(count(await all, 401)).toBe(4);
    expect(derivations.begun()).toBe(5);
  });

  it("does not keep out clients with generated secrets, public clients and API calls", async () => {
    const host = testHost({ clients: [chosen, ...Object.values(clients)] });
    const app = await listenTo(host);
    const { access_token } = await obtainTokens(host, { client: "web" });
    const code = await obtainCode(host, { client: "native" });
    const derivations = watchDerivations("held");
    const { all } = await flood(app);
    const machine = { grant_type: "client_credentials", ...credentials("machine") };
    expect((await app.send({ path: tokenPath, form: machine })).status).toBe(200);
    expect((await redeem(host, { client: "native", code })).status).toBe(200);
    expect((await callApi(host, "/orders", access_token)).status).toBe(200);
    expect(derivations.held()).toBe(2);
    derivations.letGo();
    await all;
  });

  it("tells the client whose secret was not verified before to come back, and then lets it in", async () => {
    const app = await listenTo(testHost({ clients: [chosen, other] }));
    const derivations = watchDerivations("held");
    const { all } = await flood(app);
    const early = await authenticate(app, { clientId: "chosen", secret: chosenSecret });
    expect({ status: early.status, body: early.body }).toEqual({ status: 503, body: tooMany });
    derivations.letGo();
    await all;
    expect((await authenticate(app, { clientId: "chosen", secret: chosenSecret })).status).toBe(200);
  });

  it("of the same secret costs one derivation", async () => {
    const arrived = newLatch();
    let lookups = 0;
    const storage = intercept(memoryStorage({ clients: [chosen, other] }), (_, call) => {
      lookups += 1;
      if (lookups === 200) arrived.open();
      return call();
    });
    // every request looks its client up, so that the look-ups tell how many have come
    const app = await listenTo(testHost({ storage, revocationLagSeconds: 0 }));
    const derivations = watchDerivations("held");
    const guess = { clientId: "chosen", secret: "the same wrong secret" };
    const sent = Promise.all(Array.from({ length: 200 }, () => authenticate(app, guess)));
    await arrived.opened;
    await new Promise(setImmediate);
    derivations.letGo();
    expect(count(await sent, 401)).toBe(200);
    expect(derivations.begun()).toBe(1);
  });

  it("of unknown, public and generated-secret clients costs no derivation", async () => {
    const app = await listenTo(testHost({ clients: [chosen, ...Object.values(clients)] }));
    const derivations = watchDerivations();
    for (const clientId of ["nobody", "native", "spa", "web", "machine", "", "chosen\u0000"]) {
      const { status } = await authenticate(app, { clientId, secret: chosenSecret });
      expect({ clientId, status }).toEqual({ clientId, status: clientId === "" ? 400 : 401 });
    }
    expect(derivations.begun()).toBe(0);
  });

  it("tells the host of every attempt, and never of a secret", async () => {
    const host = testHost({ clients: [chosen, other] });
    const app = await listenTo(host);
    const derivations = watchDerivations("held");
    const { all } = await flood(app);
    derivations.letGo();
    await all;
    const kinds = host.events.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "client-authentication-failed")).toHaveLength(4);
    expect(kinds.filter((kind) => kind === "token-refused")).toHaveLength(200);
    expect(JSON.stringify(host.events)).not.toContain("a wrong secret");
  });
});

describe("checking a human-chosen client secret (RFC 6749 §2.3.1)", () => {
  it("runs two derivations at a time, whatever the number of clients", async () => {
    const derivations = watchDerivations("held");
    const check = clientSecretChecker();
    const checks = Array.from({ length: 6 }, (_, index) => {
      const client = confidential(`client ${index}`, chosenDigest);
      return [check(client, chosenSecret), check(client, `wrong ${index}`)];
    }).flat();
    expect(derivations.held()).toBe(2);
    derivations.letGo();
    const results = await Promise.all(checks);
    expect(results.filter(Boolean)).toHaveLength(6);
    expect(derivations.mostAtOnce()).toBe(2);
  });

  it("takes turns: a client that comes later waits for those before it, no longer", async () => {
    watchDerivations();
    const check = clientSecretChecker();
    const order: string[] = [];
    const one = (client: ConfidentialClient, secret: string): Promise<unknown> =>
      check(client, secret).finally(() => order.push(client.clientId));
    const flooding = ["a", "b", "c", "d"].map((secret) => one(chosen, secret));
    const late = one(other, otherSecret);
    const beyond = ["e", "f"].map((secret) => one(chosen, secret).catch((error: unknown) => error));
    await Promise.all([...flooding, late, ...beyond]);
    expect(order.slice(0, 2)).toEqual(["chosen", "chosen"]);
    expect(order.slice(2).toSorted()).toEqual(["chosen", "chosen", "chosen", "chosen", "other-chosen"]);
  });

  it("refuses the fifth check of one client that has to wait", async () => {
    const derivations = watchDerivations("held");
    const check = clientSecretChecker();
    const four = ["a", "b", "c", "d"].map((secret) => check(chosen, secret));
    await expect(check(chosen, "e")).rejects.toMatchObject({ code: "temporarily_unavailable" });
    derivations.letGo();
    expect(await Promise.all(four)).toEqual([false, false, false, false]);
    expect(await check(chosen, "e")).toBe(false);
  });

  it("shares one derivation between equal checks at one time, good or bad", async () => {
    const derivations = watchDerivations("held");
    const check = clientSecretChecker();
    const good = Array.from({ length: 50 }, () => check(chosen, chosenSecret));
    const bad = Array.from({ length: 50 }, () => check(chosen, "wrong"));
    derivations.letGo();
    expect((await Promise.all(good)).every(Boolean)).toBe(true);
    expect((await Promise.all(bad)).some(Boolean)).toBe(false);
    expect(derivations.begun()).toBe(2);
  });

  it("remembers a success, never a failure", async () => {
    const derivations = watchDerivations();
    const check = clientSecretChecker();
    for (let time = 0; time < 3; time += 1) expect(await check(chosen, chosenSecret)).toBe(true);
    expect(derivations.begun()).toBe(1);
    for (let time = 0; time < 3; time += 1) expect(await check(chosen, "wrong")).toBe(false);
    expect(derivations.begun()).toBe(4);
  });

  it("remembers a success for its digest alone", async () => {
    const derivations = watchDerivations();
    const check = clientSecretChecker();
    await check(chosen, chosenSecret);
    expect(await check(other, chosenSecret)).toBe(false);
    expect(await check(confidential("chosen", otherDigest), chosenSecret)).toBe(false);
    expect(derivations.begun()).toBe(3);
  });

  it("takes both secrets during a rotation, and refuses the old one at once when its digest is gone", async () => {
    watchDerivations();
    const check = clientSecretChecker();
    const both = confidential("chosen", otherDigest, chosenDigest);
    expect(await check(both, chosenSecret)).toBe(true);
    expect(await check(both, otherSecret)).toBe(true);
    const rotated = confidential("chosen", otherDigest);
    expect(await check(rotated, chosenSecret)).toBe(false);
    expect(await check(rotated, otherSecret)).toBe(true);
  });

  it("goes on after a derivation that failed", async () => {
    const check = clientSecretChecker();
    const broken = jest
      .spyOn(crypto, "scrypt")
      .mockImplementation((_password, _salt, _length, _options, done) => {
        done(new Error("out of memory"), Buffer.alloc(0));
      });
    const failures = ["a", "b", "c", "d"].map((secret) => check(chosen, secret));
    for (const failure of failures) await expect(failure).rejects.toThrow("out of memory");
    broken.mockRestore();
    expect(await check(chosen, chosenSecret)).toBe(true);
  });

  it("keeps a success through more failures than it remembers successes", async () => {
    const check = clientSecretChecker();
    expect(await check(chosen, chosenSecret)).toBe(true);
    const derive = jest
      .spyOn(crypto, "scrypt")
      .mockImplementation((_password, _salt, length, _options, done) => {
        done(null, Buffer.alloc(length));
      });
    for (let guess = 0; guess < 10_100; guess += 1) {
      if (await check(chosen, `wrong ${guess}`)) throw new Error(`guess ${guess} was let in`);
    }
    derive.mockClear();
    expect(await check(chosen, chosenSecret)).toBe(true);
    expect(derive).not.toHaveBeenCalled();
  });
});

describe("a flood of authorization requests (RFC 6749 §10; house rule: nothing is stored before approval)", () => {
  it.each(["consent page", "sign-in page", "refusal by redirect", "refusal by page"])(
    "stores nothing: 2,500 times %s",
    async (page) => {
      const { storage, writes } = watchWrites(memoryStorage({ clients: Object.values(clients) }));
      const host = testHost({ storage });
      if (page === "sign-in page") host.session = signedOut;
      const app = await listenTo(host);
      const bent = {
        ...(page === "refusal by redirect" && { scope: "unknown" }),
        ...(page === "refusal by page" && { redirect_uri: "https://evil.example/" }),
      };
      const path = `${pairPath()}/authorize?${encode({ ...authorizationParameters("web"), ...bent })}`;
      const statuses = new Set<number>();
      await repeat(2_500, async () => {
        statuses.add((await app.send({ path })).status);
      });
      const expected = { "consent page": 200, "refusal by page": 400 }[page] ?? 302;
      expect([...statuses]).toEqual([expected]);
      expect(writes).toEqual([]);
    },
    30_000,
  );

  it("in one browser never makes its cookies too big, and keeps the newest", async () => {
    const browser = testHost().browser();
    let page = await authorize(browser, { client: "web", fields: { state: "x".repeat(500) } });
    for (let tab = 0; tab < 60; tab += 1) {
      page = await authorize(browser, { client: "web", fields: { state: "x".repeat(500) } });
      const header = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      expect(header.length).toBeLessThan(8_000);
    }
    expect((await browser.answer(page, "approve")).status).toBe(303);
  });

  it("with a request too long for a cookie is refused, and nothing is set", async () => {
    const response = await authorize(testHost().browser(), {
      client: "web",
      fields: { state: "x".repeat(4_000) },
    });
    expect(redirectParameters(response)).toMatchObject({ error: "invalid_request" });
    expect(response.headers).not.toHaveProperty("set-cookie");
  });
});

describe("a flood of approvals into memory that is bounded (memoryStorage maxEntries)", () => {
  const trusted: readonly Client[] = Object.values(clients).map((client) => ({ ...client, trusted: true }));
  /** What one client may hold of 20. */
  const share = 11;

  it("is refused for now when there is no more room, and living codes can still be redeemed", async () => {
    const host = testHost({ storage: memoryStorage({ clients: trusted, maxEntries: 20 }) });
    const codes: string[] = [];
    for (let entry = 0; entry < share; entry += 1) codes.push(await obtainCode(host, { client: "web" }));
    for (let more = 0; more < 5; more += 1) {
      const refused = await authorize(host.browser(), { client: "web" });
      expect(redirectParameters(refused)).toEqual({
        error: "temporarily_unavailable",
        error_description: "Try again later.",
        state: "a state",
        iss: "https://host.example/login/auth/password/api/orders",
      });
    }
    expect(host.events.at(-1)).toMatchObject({
      kind: "server-error",
      cause: { message: expect.stringContaining("raise maxEntries") as string },
    });
    for (const code of codes) {
      const redeemed = await redeem(host, { client: "web", code });
      expect(redeemed.status).toBe(200);
      const { access_token } = redeemed.body as Tokens;
      expect((await callApi(host, "/orders", access_token)).status).toBe(200);
    }
  });

  it("makes room as soon as something has expired", async () => {
    const clock = stopClock();
    const host = testHost({ storage: memoryStorage({ clients: trusted, maxEntries: 20 }) });
    for (let entry = 0; entry < share; entry += 1) await obtainCode(host, { client: "spa" });
    expect(redirectParameters(await authorize(host.browser(), { client: "spa" }))).toMatchObject({
      error: "temporarily_unavailable",
    });
    // a code's minute and an access token's ten: then nothing descends from it any more
    clock.advance(60 + 600);
    await obtainCode(host, { client: "spa" });
  });

  it("leaves a refresh token usable that could not be rotated", async () => {
    const full = { now: false };
    const memory = memoryStorage({ clients: trusted, maxEntries: 20 });
    const storage = intercept(memory, (name, call) => {
      if (full.now && name === "refreshTokens.rotate") throw new Error("memoryStorage is full");
      return call();
    });
    const host = testHost({ storage });
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "native" });
    full.now = true;
    const refused = await refresh(host, { client: "native", refreshToken });
    expect({ status: refused.status, body: refused.body as object }).toEqual({
      status: 500,
      body: { error: "server_error", error_description: "The server could not answer this request." },
    });
    full.now = false;
    expect((await refresh(host, { client: "native", refreshToken })).status).toBe(200);
  });

  it("leaves the refresh tokens of a full store usable", async () => {
    const host = testHost({ storage: memoryStorage({ clients: trusted, maxEntries: 3 }) });
    const first = await obtainTokens(host, { client: "native" });
    await obtainTokens(host, { client: "native" });
    for (let time = 0; time < 2; time += 1) {
      const refused = await refresh(host, { client: "native", refreshToken: first.refresh_token ?? "" });
      expect(refused.status).toBe(503);
    }
    expect(host.events.some(({ kind }) => kind === "replay-detected")).toBe(false);
    expect((await callApi(host, "/orders", first.access_token)).status).toBe(200);
  });
});

describe("a flood of bad access tokens (RFC 6750 §5; revocationLagSeconds)", () => {
  it.each(["orders", "reports"] as const)(
    "at %s pushes no good one out of what is remembered",
    async (api) => {
      const asked: string[] = [];
      const storage = intercept(memoryStorage({ clients: Object.values(clients) }), (name, call) => {
        asked.push(name);
        return call();
      });
      const host = testHost({ storage, revocationLagSeconds: 300 });
      const { access_token } = await obtainTokens(host, { client: "web", pair: { api } });
      expect((await callApi(host, `/${api}`, access_token)).status).toBe(200);
      const app = await listenTo(host);
      const statuses = new Set<number>();
      await repeat(10_100, async (index) => {
        const headers = { Authorization: `Bearer ${api === "orders" ? "e30.e30." : ""}${index}` };
        statuses.add((await app.send({ path: `/${api}`, headers })).status);
      });
      expect([...statuses]).toEqual([401]);
      asked.length = 0;
      expect((await callApi(host, `/${api}`, access_token)).status).toBe(200);
      expect(asked).toEqual([]);
    },
    60_000,
  );
});

describe("a flood of answers to one page (RFC 6749 §10.12)", () => {
  it("stores nothing when they lack the form token", async () => {
    const { storage, writes } = watchWrites(memoryStorage({ clients: Object.values(clients) }));
    const host = testHost({ storage });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    const app = await listenTo(host);
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const form = { ...formFields(page.text), decision: "approve", scope_0: "on", form_token: "wrong" };
    await repeat(500, async () => {
      const headers = { Cookie: cookie, Origin: "https://host.example" };
      expect((await app.send({ path: `${pairPath()}/authorize/consent`, form, headers })).status).toBe(200);
    });
    expect(writes).toEqual([]);
  });
});
