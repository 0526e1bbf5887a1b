import { createHmac, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import type { ServerResponse } from "node:http";
import request from "supertest";
import { generateSigningKey, type PrivateJwk } from "../../lib";
import { readPrivateKey } from "../../lib/signing/signing-key";
import { apis } from "../hosts/apis";
import { ownToken } from "../requests/client-requests";
import { stopClockForEachTest } from "../hosts/clock";
import { obtainTokens } from "../browser/journey";
import { newLatch } from "../storage/latch";
import { issuerAt, type RemoteApi, remoteApi, type RemoteServer, remoteServer } from "./remote";

const clock = stopClockForEachTest();
const oldKey = generateSigningKey();
const newKey = generateSigningKey();
const strangersKey = generateSigningKey();
const day = 86_400;
let server: RemoteServer;
let api: RemoteApi;

beforeEach(async () => {
  server = await remoteServer({
    signingKeys: [oldKey],
    apis: { ...apis, orders: { ...apis["orders"], accessTokenSeconds: day } } as typeof apis,
  });
  api = remoteApi(server);
});
afterEach(() => server.stop());

async function token(): Promise<string> {
  return (await obtainTokens(server.host, { client: "web" })).access_token;
}

async function statusOf(text: string, path = "/orders"): Promise<number> {
  return (await request(api.app).get(path).auth(text, { type: "bearer" })).status;
}

function asked(part: string): number {
  return server.asked.filter((line) => line.includes(part)).length;
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token that this key signs, with the claims of a good one but for these. */
function forged(
  good: string,
  by: { readonly key?: PrivateJwk; readonly header?: object; readonly claims?: object },
): string {
  const { key = strangersKey, header = {}, claims = {} } = by;
  const [, payload = ""] = good.split(".");
  const whole = { ...(JSON.parse(Buffer.from(payload, "base64url").toString()) as object), ...claims };
  const signed = `${part({ alg: "ES256", typ: "at+jwt", kid: key.kid, ...header })}.${part(whole)}`;
  const { privateKey } = readPrivateKey(key);
  const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

const json = (res: ServerResponse, body: unknown, status = 200): void => {
  res.writeHead(status, { "Content-Type": "application/json" });
  res.end(typeof body === "string" ? body : JSON.stringify(body));
};

describe("keys of the authorization server (RFC 7517 §5, 9068 §4)", () => {
  it("are fetched once for any number of simultaneous requests and tokens", async () => {
    const tokens = await Promise.all(Array.from({ length: 8 }, token));
    const answers = await Promise.all([...tokens, ...tokens, ...tokens].map((text) => statusOf(text)));
    expect(new Set(answers)).toEqual(new Set([200]));
    expect([asked("/jwks"), asked("oauth-protected-resource"), asked("oauth-authorization-server")]).toEqual([
      1, 1, 1,
    ]);
  });

  it("are not fetched again while they are fresh, and again when they get old", async () => {
    const good = await token();
    for (const seconds of [0, 100, 100]) {
      clock.advance(seconds);
      expect(await statusOf(good)).toBe(200);
      expect(asked("/jwks")).toBe(1);
    }
    clock.advance(100);
    expect(await statusOf(good)).toBe(200);
    expect(asked("/jwks")).toBe(2);
  });

  it("are asked for ahead of time, so that no request waits for them", async () => {
    const good = await token();
    await statusOf(good);
    clock.advance(230);
    const released = newLatch();
    server.hold = () => released.opened;
    expect(await statusOf(good)).toBe(200);
    for (let turn = 0; turn < 2_000 && asked("/jwks") < 2; turn += 1) await new Promise(setImmediate);
    expect(asked("/jwks")).toBe(2);
    released.open();
  });

  it("rotate: a token of a new key is accepted at once", async () => {
    const before = await token();
    expect(await statusOf(before)).toBe(200);
    clock.advance(31);
    server.host.auth.rotateKeys([newKey, oldKey]);
    expect(await statusOf(await token())).toBe(200);
    expect(await statusOf(before)).toBe(200);
    expect(asked("/jwks")).toBe(2);
  });

  it("that are unknown cause one fetch in 30 seconds, whatever arrives", async () => {
    const good = await token();
    await statusOf(good);
    clock.advance(31);
    for (let round = 0; round < 20; round += 1)
      expect(await statusOf(forged(good, { header: { kid: `stranger ${round}` } }))).toBe(401);
    expect(asked("/jwks")).toBe(2);
    clock.advance(31);
    expect(await statusOf(forged(good, {}))).toBe(401);
    expect(asked("/jwks")).toBe(3);
    expect(await statusOf(good)).toBe(200);
  });

  it("that are withdrawn end their tokens with the next fetch, remembered tokens too", async () => {
    const leaked = await token();
    expect(await statusOf(leaked)).toBe(200);
    server.restart({ signingKeys: [newKey] });
    clock.advance(301);
    expect(await statusOf(leaked)).toBe(401);
    expect(await statusOf(await token())).toBe(200);
  });

  it("survive an outage of the authorization server for a day", async () => {
    const good = await token();
    expect(await statusOf(good)).toBe(200);
    await server.stop();
    for (const seconds of [400, 3_600, day - 4_000 - 60]) {
      clock.advance(seconds);
      expect(await statusOf(good)).toBe(200);
    }
    clock.advance(61);
    expect(await statusOf(good)).toBe(503);
    await server.start();
  });

  it("are not waited for while the authorization server hangs: one request in vain is enough", async () => {
    const good = await token();
    expect(await statusOf(good)).toBe(200);
    await server.stop();
    clock.advance(301);
    expect(await statusOf(good)).toBe(200);
    await server.start();
    const released = newLatch();
    server.hold = () => released.opened;
    // no fetch ends by itself: whoever waits for one waits for ever
    jest.spyOn(AbortSignal, "timeout").mockImplementation(() => new AbortController().signal);
    clock.advance(31);
    expect(await statusOf(good)).toBe(200);
    expect(await statusOf(await token())).toBe(200);
    released.open();
  });

  it("that were withdrawn during an outage do not count when it was long ago", async () => {
    const leaked = await token();
    expect(await statusOf(leaked)).toBe(200);
    await server.stop();
    clock.advance(301);
    expect(await statusOf(leaked)).toBe(200);
    server.restart({ signingKeys: [newKey] });
    await server.start();
    clock.advance(600);
    expect(await statusOf(leaked)).toBe(401);
  });

  it("are found again after an outage at the start, 30 seconds later", async () => {
    const good = await token();
    await server.stop();
    expect(await statusOf(good)).toBe(503);
    expect(api.events.at(-1)).toMatchObject({ kind: "server-error" });
    await server.start();
    expect(await statusOf(good)).toBe(503);
    clock.advance(30);
    expect(await statusOf(good)).toBe(200);
  });

  it("survive a clock that is set back", async () => {
    const good = await token();
    expect(await statusOf(good)).toBe(200);
    clock.advance(-7_200);
    expect(await statusOf(good)).toBe(200);
    clock.advance(31);
    expect(await statusOf(good)).toBe(200);
    expect(asked("/jwks")).toBe(2);
  });
});

describe("a token of a stranger (RFC 9068 §4, 8725 §3)", () => {
  it.each<[string, object]>([
    ["of an unknown issuer", { claims: { iss: "https://stranger.example/auth/password/api/orders" } }],
    ["of an issuer that is a URL of the server", { claims: { iss: "x" } }],
    ["of an issuer that is no text", { claims: { iss: ["https://stranger.example"] } }],
    ["without an issuer", { claims: { iss: undefined } }],
    ["whose header names a key set", { header: { jku: "https://stranger.example/jwks", kid: "x" } }],
    ["whose header brings its key", { header: { jwk: { kty: "EC" } } }],
  ])("%s is refused, and makes nobody fetch anything else", async (_, by) => {
    const good = await token();
    await statusOf(good);
    const before = server.asked.length;
    expect(await statusOf(forged(good, by))).toBe(401);
    expect(server.asked.slice(before)).toEqual([]);
  });

  it.each<[string, (good: string) => string]>([
    ["another key with the right kid", (good) => forged(good, { header: { kid: oldKey.kid } })],
    ["alg none", (good) => `${part({ alg: "none", typ: "at+jwt", kid: oldKey.kid })}.${good.split(".")[1]}.`],
    [
      "HS256 with the public key as its secret",
      (good) => {
        const { d: _, ...publicJwk } = oldKey;
        const pem = createPublicKey({ key: publicJwk, format: "jwk" }).export({
          type: "spki",
          format: "pem",
        });
        const signed = `${part({ alg: "HS256", typ: "at+jwt", kid: oldKey.kid })}.${good.split(".")[1]}`;
        return `${signed}.${createHmac("sha256", pem).update(signed).digest("base64url")}`;
      },
    ],
    ["typ JWT", (good) => forged(good, { key: oldKey, header: { typ: "JWT" } })],
    ["no typ", (good) => forged(good, { key: oldKey, header: { typ: undefined } })],
    ["crit", (good) => forged(good, { key: oldKey, header: { crit: ["b64"] } })],
    [
      "another audience",
      (good) => forged(good, { key: oldKey, claims: { aud: "https://api.example/files" } }),
    ],
    [
      "several audiences",
      (good) => forged(good, { key: oldKey, claims: { aud: ["https://api.example/orders"] } }),
    ],
    ["no exp", (good) => forged(good, { key: oldKey, claims: { exp: undefined } })],
    [
      "an issuer of another API",
      (good) => forged(good, { key: oldKey, claims: { iss: issuerAt(server, { api: "files" }) } }),
    ],
    ["kid that is no text", (good) => forged(good, { key: oldKey, header: { kid: 7 } })],
    ["kid __proto__", (good) => forged(good, { key: oldKey, header: { kid: "__proto__" } })],
  ])("with %s is refused", async (_, make) => {
    const good = await token();
    expect(await statusOf(forged(good, { key: oldKey }))).toBe(200);
    expect(await statusOf(make(good))).toBe(401);
    expect(await statusOf(good)).toBe(200);
  });

  it("is refused where only other issuers of the API are listed", async () => {
    const issuers = [issuerAt(server, { method: "otp" })];
    const scopes = Object.keys(apis["orders"]?.scopes ?? {});
    api = remoteApi(server, {
      apis: { orders: { audience: "https://api.example/orders", scopes, issuers } },
    });
    expect(await statusOf(await token())).toBe(401);
    const otp = await obtainTokens(server.host, { client: "web", pair: { method: "otp" } });
    expect(await statusOf(otp.access_token)).toBe(200);
    expect(asked("oauth-protected-resource")).toBe(0);
  });
});

/** Serves this at a path, in place of the server. */
function instead(path: string, body: unknown, status = 200): void {
  server.instead = (req, res) => (req.url === path ? json(res, body, status) : false);
}

describe("an authorization server that lies, or something in front of it (RFC 8414 §3.3)", () => {
  const metadataPath = "/login/auth/password/api/orders/.well-known/oauth-authorization-server";
  const listPath = "/.well-known/oauth-protected-resource/orders";

  it.each<[string, string, unknown]>([
    [
      "a list of another API",
      listPath,
      { resource: "https://api.example/files", authorization_servers: ["x"] },
    ],
    [
      "a list of foreign issuers",
      listPath,
      {
        resource: "https://api.example/orders",
        authorization_servers: ["https://stranger.example/auth/password/api/orders"],
      },
    ],
    ["a list of nothing", listPath, { resource: "https://api.example/orders", authorization_servers: [] }],
    ["a list that is no JSON", listPath, "<html>maintenance</html>"],
    [
      "metadata of another issuer",
      metadataPath,
      { issuer: "https://stranger.example", jwks_uri: "https://stranger.example/jwks" },
    ],
    ["metadata that is null", metadataPath, "null"],
    ["no JSON object", metadataPath, "7"],
    ["text that is cut off", metadataPath, "{"],
    ["an empty key set", "/login/jwks", { keys: [] }],
    ["a key set without keys", "/login/jwks", {}],
    ["a key set that is a list", "/login/jwks", []],
    ["secret keys only", "/login/jwks", { keys: [oldKey, { kty: "oct", k: "AAAA", kid: "x" }] }],
    [
      "weak keys only",
      "/login/jwks",
      {
        keys: [
          {
            ...generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey.export({ format: "jwk" }),
            kid: "weak",
          },
        ],
      },
    ],
    ["a huge document", "/login/jwks", { keys: [], x: "x".repeat(70_000) }],
  ])(
    "%s: the last good document stays in use, and without one tokens are refused with a failure",
    async (_, path, body) => {
      const good = await token();
      expect(await statusOf(good)).toBe(200);
      instead(path, body);
      clock.advance(301);
      expect(await statusOf(good)).toBe(200);
      api = remoteApi(server);
      expect(await statusOf(good)).toBe(503);
      expect(api.events.at(-1)).toMatchObject({ kind: "server-error" });
    },
  );

  it("an issuer that is no longer listed ends its tokens with the next fetch, remembered tokens too", async () => {
    const remembered = await token();
    const unseen = await token();
    expect(await statusOf(remembered)).toBe(200);
    const others = [issuerAt(server, { method: "otp" })];
    instead(listPath, { resource: "https://api.example/orders", authorization_servers: others });
    clock.advance(301);
    // the issuers of an API share their keys, which are fresh again after this
    const other = await obtainTokens(server.host, { client: "web", pair: { method: "otp" } });
    expect(await statusOf(other.access_token)).toBe(200);
    expect(await statusOf(unseen)).toBe(401);
    expect(await statusOf(remembered)).toBe(401);
  });

  it.each([302, 404, 500])("status %i counts as no document", async (status) => {
    const good = await token();
    server.instead = (_, res) => void res.writeHead(status, { Location: `${server.origin}/x` }).end("{}");
    expect(await statusOf(good)).toBe(503);
    expect(server.asked.filter((line) => line.endsWith("/x"))).toEqual([]);
  });

  it("keys at another origin are not fetched", async () => {
    const good = await token();
    instead(metadataPath, { issuer: issuerAt(server), jwks_uri: "http://localhost:1/jwks" });
    expect(await statusOf(good)).toBe(401);
    expect(asked("/jwks")).toBe(0);
  });

  it("no answer in time is a failure of this request, not of the process", async () => {
    const good = await token();
    const released = newLatch();
    server.hold = () => released.opened;
    expect(await statusOf(good)).toBe(503);
    server.hold = undefined;
    released.open();
    clock.advance(30);
    expect(await statusOf(good)).toBe(200);
  });
});

it("a client's own token passes, too", async () => {
  const { body } = await ownToken(server.host, { client: "machine" });
  expect(await statusOf((body as { access_token: string }).access_token)).toBe(200);
});
