// The attacker sends wrong client secrets, each of which costs a derivation, to stall the server or to keep honest clients out.
// They hold no credential and know how the checks are ordered.
import crypto from "node:crypto";
import {
  type Client,
  type ConfidentialClient,
  digestClientSecret,
  generateClientSecret,
  memoryStorage,
} from "../../lib";
import { authenticateClient } from "../../lib/clients/authenticate-client";
import { clientLookup } from "../../lib/clients/client-lookup";
import { clientSecretVerifier } from "../../lib/clients/client-secret";
import type { OAuthError } from "../../lib/protocol/oauth-error";
import { parametersFromObject } from "../../lib/protocol/parameters";
import { pairPath } from "../hosts/apis";
import { redeem } from "../requests/client-requests";
import { clients, credentials } from "../hosts/clients";
import { stopClock } from "../hosts/clock";
import { testHost, type TestHost } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { newLatch } from "../storage/latch";
import { type Answer, listen, type ListeningApp } from "../hosts/listening";
import { issuerRecord } from "../records/records";
import { intercept } from "../storage/slow-storage";
import { changingClients } from "../hosts/watched-host";

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

/** Counts the derivations; `"held"` ones wait until they are let go. Those of wrong secrets take no time, or a flood would. */
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
    const end: typeof done = (error, key) => {
      running -= 1;
      done(error, key);
    };
    const isWrong = typeof password === "string" && /wrong|more/.test(password);
    const run = (): void =>
      isWrong
        ? void setImmediate(() => end(null, Buffer.alloc(length)))
        : real(password, salt, length, options, end);
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
    if (answers.length === 98) settled?.();
    return answer;
  });
  await refused;
  return { all: Promise.all(sent) };
}

describe("a flood of wrong secrets for one client (RFC 6749 §2.3.1, §10.10)", () => {
  it("is refused beyond a hundred that wait, and lets nobody in", async () => {
    const host = testHost({ clients: [chosen, other] });
    const app = await listenTo(host);
    const derivations = watchDerivations("held");
    const { all } = await flood(app);
    expect(derivations.held()).toBe(2);
    derivations.letGo();
    const answers = await all;
    expect([count(answers, 503), count(answers, 401)]).toEqual([98, 102]);
    for (const { status, body, headers } of answers) {
      expect(body).toEqual(status === 503 ? tooMany : failed);
      expect(headers["cache-control"]).toBe("no-store");
      expect(headers["retry-after"]).toBe(status === 503 ? "1" : undefined);
    }
    expect(derivations.begun()).toBe(102);
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

  it("does not keep out another client", async () => {
    const app = await listenTo(testHost({ clients: [chosen, other] }));
    const derivations = watchDerivations("held");
    const { all } = await flood(app);
    const patient = authenticate(app, { clientId: "other-chosen", secret: otherSecret });
    derivations.letGo();
    expect((await patient).status).toBe(200);
    expect(count(await all, 200)).toBe(0);
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

  it("of eight connections does not keep out the client that this process has not seen", async () => {
    const app = await listenTo(testHost({ clients: [chosen, other] }));
    const state = { isOver: false, guess: 0 };
    const attackers = Array.from({ length: 8 }, async () => {
      while (!state.isOver) {
        state.guess += 1;
        await authenticate(app, { clientId: "chosen", secret: `a wrong secret, ${state.guess}` });
      }
    });
    const honest = await authenticate(app, { clientId: "chosen", secret: chosenSecret });
    state.isOver = true;
    await Promise.all(attackers);
    expect(honest.status).toBe(200);
  });
});

describe("what a flood of wrong secrets costs (RFC 6749 §2.3.1, §10.10)", () => {
  it("of the same secret costs one derivation", async () => {
    const arrived = newLatch();
    let lookups = 0;
    const storage = intercept(memoryStorage({ clients: [chosen, other] }), (name, call) => {
      if (name === "clients.find") lookups += 1;
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

  it("costs one reading of the client a second, which all share", async () => {
    let ran = 0;
    jest.spyOn(performance, "now").mockImplementation(() => ran * 1_000);
    const read: string[] = [];
    const storage = intercept(memoryStorage({ clients: [clients.machine] }), (name, call) => {
      read.push(name);
      return call();
    });
    const clock = (): number => 1_800_000_000 + Math.floor(ran);
    const lookup = clientLookup(storage, { lagSeconds: 5, clock, redirectSchemes: [], apis: [] });
    const ports = { clients: lookup, verifySecret: clientSecretVerifier(), storage, emit: () => {}, clock };
    const guess = (index: number): Promise<unknown> =>
      authenticateClient(
        { ...ports, fetchKeys: () => Promise.reject(new Error("keys were fetched")) },
        {
          issuer: issuerRecord(),
          parameters: parametersFromObject({ client_id: "machine", client_secret: `wrong ${index}` }),
          grantParameters: [],
          headers: {},
        },
      ).catch(({ error }: OAuthError) => error);
    const codes = [];
    // 10,000 in two seconds
    for (let index = 0; index < 10_000; index += 1) {
      codes.push(await guess(index));
      ran += 0.0002;
    }
    expect(new Set(codes)).toEqual(new Set(["invalid_client"]));
    // the first reading, and one for each second that has begun
    expect(read.filter((name) => name === "clients.find")).toHaveLength(3);
  });

  it("costs no derivation twice when the client has a new secret", async () => {
    const records = new Map<string, Client>([["chosen", chosen]]);
    const storage = { ...memoryStorage({ clients: [] }), clients: changingClients(records) };
    const app = await listenTo(testHost({ storage }));
    expect((await authenticate(app, { clientId: "chosen", secret: chosenSecret })).status).toBe(200);
    records.set("chosen", { ...chosen, secretDigests: [otherDigest, chosenDigest] });
    const derivations = watchDerivations();
    expect((await authenticate(app, { clientId: "chosen", secret: "a wrong secret" })).status).toBe(401);
    expect(derivations.begun()).toBe(2);
    expect((await authenticate(app, { clientId: "chosen", secret: otherSecret })).status).toBe(200);
    expect(derivations.begun()).toBe(3);
  });

  it("tells the host of every attempt, and never of a secret", async () => {
    const host = testHost({ clients: [chosen, other] });
    const app = await listenTo(host);
    const derivations = watchDerivations("held");
    const { all } = await flood(app);
    derivations.letGo();
    await all;
    const kinds = host.events.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "client-authentication-failed")).toHaveLength(102);
    expect(kinds.filter((kind) => kind === "token-refused")).toHaveLength(200);
    expect(JSON.stringify(host.events)).not.toContain("a wrong secret");
  });
});

describe("checking a human-chosen client secret (RFC 6749 §2.3.1)", () => {
  it("runs two derivations at a time, whatever the number of clients", async () => {
    const derivations = watchDerivations("held");
    const check = clientSecretVerifier();
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

  it("takes turns: a client that comes later waits for one of another, not for all", async () => {
    const derivations = watchDerivations("held");
    const check = clientSecretVerifier();
    const order: string[] = [];
    const one = (client: ConfidentialClient, secret: string): Promise<unknown> =>
      check(client, secret).finally(() => order.push(client.clientId));
    const flooding = Array.from({ length: 50 }, (_, index) => one(chosen, `wrong ${index}`));
    const late = one(other, "wrong");
    derivations.letGo();
    await Promise.all([...flooding, late]);
    // two were under way, and one more had its turn
    expect(order.indexOf("other-chosen")).toBeLessThan(5);
  });

  it("refuses the oldest that waits, never the newcomer, of the client that has most waiting", async () => {
    const derivations = watchDerivations("held");
    const check = clientSecretVerifier();
    const outcomes = new Map<string, unknown>();
    const one = (client: ConfidentialClient, secret: string): Promise<unknown> =>
      check(client, secret).then(
        (matches) => outcomes.set(secret, matches),
        (error: unknown) => outcomes.set(secret, error),
      );
    const flooding = Array.from({ length: 102 }, (_, index) => one(chosen, `wrong ${index}`));
    const newcomers = [one(chosen, chosenSecret), one(other, otherSecret)];
    await new Promise(setImmediate);
    // the first two are under way
    expect([...outcomes.keys()]).toEqual(["wrong 2", "wrong 3"]);
    expect(outcomes.get("wrong 2")).toMatchObject({ error: "temporarily_unavailable" });
    derivations.letGo();
    await Promise.all([...flooding, ...newcomers]);
    expect([outcomes.get(chosenSecret), outcomes.get(otherSecret)]).toEqual([true, true]);
    expect(derivations.begun()).toBe(102);
  });

  it("keeps the turn of a client whose waiters are refused", async () => {
    const derivations = watchDerivations("held");
    const check = clientSecretVerifier();
    const order: string[] = [];
    const one = (client: ConfidentialClient, secret: string): Promise<unknown> =>
      check(client, secret).then(
        () => order.push(client.clientId),
        () => undefined,
      );
    const flooding = Array.from({ length: 60 }, (_, index) => one(chosen, `wrong ${index}`));
    const others = Array.from({ length: 42 }, (_, index) => one(other, `wrong ${index}`));
    const more = Array.from({ length: 300 }, (_, index) => one(chosen, `more ${index}`));
    derivations.letGo();
    await Promise.all([...flooding, ...others, ...more]);
    const early = order.slice(0, 20).filter((clientId) => clientId === "chosen");
    expect(early.length).toBeGreaterThan(8);
  });
});

describe("what is remembered of a human-chosen client secret (RFC 6749 §2.3.1)", () => {
  it("shares one derivation between equal checks at one time, good or bad", async () => {
    const derivations = watchDerivations("held");
    const check = clientSecretVerifier();
    const good = Array.from({ length: 50 }, () => check(chosen, chosenSecret));
    const bad = Array.from({ length: 50 }, () => check(chosen, "wrong"));
    derivations.letGo();
    expect((await Promise.all(good)).every(Boolean)).toBe(true);
    expect((await Promise.all(bad)).some(Boolean)).toBe(false);
    expect(derivations.begun()).toBe(2);
  });

  it("remembers a success, never a failure", async () => {
    const derivations = watchDerivations();
    const check = clientSecretVerifier();
    for (let time = 0; time < 3; time += 1) expect(await check(chosen, chosenSecret)).toBe(true);
    expect(derivations.begun()).toBe(1);
    for (let time = 0; time < 3; time += 1) expect(await check(chosen, "wrong")).toBe(false);
    expect(derivations.begun()).toBe(4);
  });

  it("remembers a success for its digest alone", async () => {
    const derivations = watchDerivations();
    const check = clientSecretVerifier();
    await check(chosen, chosenSecret);
    expect(await check(other, chosenSecret)).toBe(false);
    expect(await check(confidential("chosen", otherDigest), chosenSecret)).toBe(false);
    expect(derivations.begun()).toBe(3);
  });

  it("derives nothing for a generated secret whose digest stands behind one of scrypt", async () => {
    const derivations = watchDerivations();
    const generated = generateClientSecret();
    const check = clientSecretVerifier();
    const rotating = confidential("chosen", otherDigest, generated.digest);
    expect(await check(rotating, generated.secret)).toBe(true);
    expect(derivations.begun()).toBe(0);
  });

  it("derives nothing for a secret that was verified before, in whichever place its digest stands", async () => {
    const derivations = watchDerivations();
    const check = clientSecretVerifier();
    const both = confidential("chosen", otherDigest, chosenDigest);
    expect(await check(both, chosenSecret)).toBe(true);
    expect(derivations.begun()).toBe(2);
    expect(await check(both, chosenSecret)).toBe(true);
    expect(derivations.begun()).toBe(2);
  });

  it("takes both secrets during a rotation, and refuses the old one at once when its digest is gone", async () => {
    watchDerivations();
    const check = clientSecretVerifier();
    const both = confidential("chosen", otherDigest, chosenDigest);
    expect(await check(both, chosenSecret)).toBe(true);
    expect(await check(both, otherSecret)).toBe(true);
    const rotated = confidential("chosen", otherDigest);
    expect(await check(rotated, chosenSecret)).toBe(false);
    expect(await check(rotated, otherSecret)).toBe(true);
  });

  it("goes on after a derivation that failed", async () => {
    const check = clientSecretVerifier();
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
    const check = clientSecretVerifier();
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

describe("secrets with control characters (RFC 6749 Appendix A.2)", () => {
  const short = "a secret of 1";
  const controls = ["\0", "\n", "\t", "\u001f", "\u007f"];

  it.each(controls)("fail at the token endpoint without a derivation: %j at the end", async (control) => {
    const host = testHost({ clients: [confidential("chosen", scryptDigest(short))] });
    const app = await listenTo(host);
    const derivations = watchDerivations();
    const answer = await authenticate(app, { clientId: "chosen", secret: short + control });
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 401, body: failed });
    expect(derivations.begun()).toBe(0);
    expect(host.events[0]).toMatchObject({
      kind: "client-authentication-failed",
      code: "secret-with-control-character",
    });
    expect((await authenticate(app, { clientId: "chosen", secret: short })).status).toBe(200);
  });

  it("fail in a Basic header as well", async () => {
    const app = await listenTo(testHost({ clients: [confidential("chosen", scryptDigest(short))] }));
    const basic = Buffer.from(`chosen:${encodeURIComponent(`${short}\0`)}`).toString("base64");
    const form = { grant_type: "client_credentials" };
    const answer = await app.send({ path: tokenPath, form, headers: { Authorization: `Basic ${basic}` } });
    expect(answer.status).toBe(401);
  });

  it.each([...controls, "\0".repeat(11)])("get no digest: %j at the end", async (control) => {
    await expect(digestClientSecret(`twelve chars${control}`)).rejects.toThrow(TypeError);
    await expect(digestClientSecret(`twelve chars${control}`)).rejects.toMatchObject({
      code: "control-character-in-secret",
    });
    await expect(digestClientSecret(`a${"\0".repeat(11)}`)).rejects.toThrow(TypeError);
  });

  it("are not those with text beyond ASCII", async () => {
    const secret = "Geheimnis für Ärzte – \u0085 😀";
    const check = clientSecretVerifier();
    expect(await check(confidential("chosen", await digestClientSecret(secret)), secret)).toBe(true);
  });
});

describe("a client assertion beside another proof (RFC 7521 §4.2.1)", () => {
  const assertion = {
    client_assertion: "e30.e30.e30",
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
  };
  const grant = { grant_type: "client_credentials" };
  const { client_id, client_secret } = credentials("web") as { client_id: string; client_secret: string };
  const basic = { Authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString("base64")}` };

  it.each(Object.entries(assertion))("is refused with a secret in the body: %s", async (name, value) => {
    const app = await listenTo(testHost());
    const form = { ...grant, client_id, client_secret, [name]: value };
    const answer = await app.send({ path: tokenPath, form });
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({
      error: "invalid_request",
      error_description: "Use one client authentication method.",
    });
  });

  it.each(Object.entries(assertion))("is refused with a Basic header: %s", async (name, value) => {
    const app = await listenTo(testHost());
    const answer = await app.send({ path: tokenPath, form: { ...grant, [name]: value }, headers: basic });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: "invalid_request" });
  });

  it("counts as left out when it is empty", async () => {
    const app = await listenTo(testHost());
    const form = { ...grant, client_id, client_secret, client_assertion: "" };
    expect((await app.send({ path: tokenPath, form })).status).toBe(200);
  });

  it("proves nothing alone if nobody has signed it, and the event says why", async () => {
    const host = testHost();
    const app = await listenTo(host);
    const answer = await app.send({ path: tokenPath, form: { ...grant, client_id, ...assertion } });
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 401, body: failed });
    expect(host.events[0]).toMatchObject({
      code: "assertion-alg-unsupported",
    });
  });

  it.each(Object.entries(assertion))("is refused in the URL: %s", async (name, value) => {
    const app = await listenTo(testHost());
    const form = { ...grant, client_id, client_secret };
    const answer = await app.send({ path: `${tokenPath}?${name}=${value}`, form });
    expect(answer.body).toMatchObject({ error: "invalid_request" });
  });
});
