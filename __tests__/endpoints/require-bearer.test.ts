import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import express from "express";
import request from "supertest";
import {
  type Authentication,
  type AuthServerOptions,
  type ConsentKey,
  memoryStorage,
  type Storage,
} from "../../lib";
import { type Clock, stopClock } from "../fixture/clock";
import {
  apis,
  type ClientName,
  clients,
  credentials,
  type Pair,
  pairPath,
  signedIn,
  type TestHost,
  testHost,
} from "../fixture/host";
import { authorize, callApi, obtainCode, obtainTokens, postToken, redeem, refresh } from "../fixture/journey";
import { rawRequest } from "../fixture/raw-request";
import { intercept } from "../fixture/slow-storage";

let clock: Clock;
beforeEach(() => {
  clock = stopClock();
});
afterEach(() => jest.restoreAllMocks());

const formats = [
  ["JWT", { api: "orders" }],
  ["opaque", { api: "reports" }],
] as const;

function bareChallenge(api = "orders"): string {
  const metadata = `https://api.example/.well-known/oauth-protected-resource/${api}`;
  return `Bearer realm="https://api.example/${api}", resource_metadata="${metadata}"`;
}

const descriptions = {
  invalid_request: "The request's access token is malformed.",
  invalid_token: "The access token is invalid, expired or revoked.",
  insufficient_scope: "The access token lacks a scope.",
};
const statuses = { invalid_request: 400, invalid_token: 401, insufficient_scope: 403 };

interface Answer {
  readonly status: number;
  readonly challenge: unknown;
  readonly body: unknown;
}

function answerOf(response: { status: number; headers: Record<string, unknown>; text: string }): Answer {
  const { status, headers, text } = response;
  return { status, challenge: headers["www-authenticate"], body: JSON.parse(text) as unknown };
}

/** The whole answer to a request with a token that will not do. */
function refusal(
  error: keyof typeof statuses,
  { api = "orders", scope }: { api?: string; scope?: string } = {},
) {
  const error_description = descriptions[error];
  const challenge = `${bareChallenge(api)}, error="${error}", error_description="${error_description}"`;
  return {
    status: statuses[error],
    challenge: scope === undefined ? challenge : `${challenge}, scope="${scope}"`,
    body: { error, error_description },
  };
}

function noToken(api = "orders"): Answer {
  return {
    status: 401,
    challenge: bareChallenge(api),
    body: { error_description: "This request needs an access token." },
  };
}

async function accessToken(
  host: TestHost,
  { client = "web", pair = {} }: { client?: ClientName; pair?: Pair } = {},
): Promise<string> {
  return (await obtainTokens(host, { client, pair })).access_token;
}

async function ownToken(
  host: TestHost,
  { client = "machine", pair = {} }: { client?: ClientName; pair?: Pair },
) {
  const scope = `${pair.api ?? "orders"}:read`;
  const fields = { grant_type: "client_credentials", ...credentials(client), scope };
  const response = await postToken(host, { pair, fields });
  return (response.body as { access_token: string }).access_token;
}

/** Storage that keeps the names of the calls it gets, and fails while `failure` is set. */
function watchedStorage() {
  const watch: { calls: string[]; failure: Error | undefined } = { calls: [], failure: undefined };
  const storage = intercept(memoryStorage({ clients: Object.values(clients) }), async (name, call) => {
    watch.calls.push(name);
    if (watch.failure) throw watch.failure;
    return call();
  });
  return { storage, watch };
}

describe("presenting an access token (RFC 6750 §2.1)", () => {
  it.each(["Bearer", "bearer", "BEARER", "bEaReR"])("takes the scheme written %s", async (scheme) => {
    const host = testHost();
    const token = await accessToken(host);
    const response = await request(host.app).get("/orders").set("Authorization", `${scheme} ${token}`);
    expect(response.status).toBe(200);
  });

  it("takes more than one space after the scheme (RFC 9110 §11.4)", async () => {
    const host = testHost();
    const token = await accessToken(host);
    const response = await request(host.app).get("/orders").set("Authorization", `Bearer   ${token}`);
    expect(response.status).toBe(200);
  });

  it.each(["get", "post", "put", "delete"] as const)("protects %s alike", async (method) => {
    const host = testHost();
    const token = await accessToken(host);
    expect(answerOf(await request(host.app)[method]("/orders"))).toEqual(noToken());
    const allowed = await request(host.app)[method]("/orders").set("Authorization", `Bearer ${token}`);
    expect(allowed.status).toBe(200);
  });

  const absent = ["", "Basic d2ViOnNlY3JldA==", "Digest username=x", "Token abc", "Bearerabc", "DPoP abc"];
  it.each(absent)('counts Authorization "%s" as no token: a bare challenge', async (header) => {
    const response = await request(testHost().app).get("/orders").set("Authorization", header);
    expect(answerOf(response)).toEqual(noToken());
  });

  it("answers a request without a token with a bare challenge", async () => {
    const response = await request(testHost().app).get("/reports");
    expect(answerOf(response)).toEqual(noToken("reports"));
    expect(response.headers).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
    });
  });

  const malformed = [
    "Bearer",
    "Bearer one two",
    "Bearer one,two",
    'Bearer "quoted"',
    "Bearer =",
    "Bearer one=two",
    "Bearer token=abc, realm=x",
    "Bearer\tabc",
    "Bearer é",
    "Bearer one, Bearer two",
  ];
  it.each(malformed)('refuses Authorization "%s" as malformed', async (header) => {
    const response = await rawRequest(testHost().app, {
      path: "/orders",
      headers: { Authorization: header },
    });
    expect(answerOf(response)).toEqual(refusal("invalid_request"));
  });

  it("refuses two Authorization headers, be they equal", async () => {
    const host = testHost();
    const good = `Bearer ${await accessToken(host)}`;
    for (const Authorization of [
      [good, good],
      [good, "Basic d2ViOnNlY3JldA=="],
      ["Basic d2ViOnNlY3JldA==", good],
    ]) {
      const response = await rawRequest(host.app, { path: "/orders", headers: { Authorization } });
      expect(answerOf(response)).toEqual(refusal("invalid_request"));
    }
  });
});

describe("access tokens elsewhere than in the header (RFC 6750 §2, 9700 §4.3.2)", () => {
  const parsed = {
    before(app: express.Express): void {
      app.use(express.urlencoded({ extended: false }), express.json());
    },
  };

  it.each(["the same", "another", "a repeated"])(
    "refuses %s token in the query beside the header",
    async (kind) => {
      const host = testHost();
      const token = await accessToken(host);
      const inQuery = kind === "another" ? "abc" : token;
      const query = `access_token=${inQuery}${kind === "a repeated" ? `&access_token=${inQuery}` : ""}`;
      expect(answerOf(await callApi(host, `/orders?${query}`, token))).toEqual(refusal("invalid_request"));
    },
  );

  it.each(["form", "json"])("refuses a token in a %s body beside the header", async (type) => {
    const host = testHost(parsed);
    const token = await accessToken(host);
    const response = await request(host.app)
      .post("/orders")
      .type(type)
      .set("Authorization", `Bearer ${token}`)
      .send({ access_token: token });
    expect(answerOf(response)).toEqual(refusal("invalid_request"));
  });

  it("counts a token in the query alone as none", async () => {
    const host = testHost();
    const response = await request(host.app)
      .get("/orders")
      .query({ access_token: await accessToken(host) });
    expect(answerOf(response)).toEqual(noToken());
  });

  it.each(["form", "json"])("counts a token in a %s body alone as none", async (type) => {
    const host = testHost(parsed);
    const access_token = await accessToken(host);
    const response = await request(host.app).post("/orders").type(type).send({ access_token });
    expect(answerOf(response)).toEqual(noToken());
  });

  it("minds no other query or body", async () => {
    const host = testHost(parsed);
    const token = await accessToken(host);
    const response = await request(host.app)
      .post("/orders?page=2&token=x")
      .set("Authorization", `Bearer ${token}`)
      .send({ token: "x" });
    expect(response.status).toBe(200);
  });
});

describe("req.auth (RFC 9068 §2.2)", () => {
  const person = { ...signedIn, amr: ["pwd", "otp"], acr: "urn:example:gold" };

  it.each(formats)("describes an end user's %s token", async (_, pair) => {
    const host = testHost();
    host.session = person;
    const code = await obtainCode(host, { client: "web", pair });
    const response = await redeem(host, { client: "web", code, pair });
    const { access_token } = response.body as { access_token: string };
    const answer = await callApi(host, `/${pair.api}`, access_token);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      tokenId: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/),
      issuer: `https://host.example${pairPath(pair)}`,
      clientId: "web",
      subject: "alice",
      scopes: [`${pair.api}:read`],
      issuedAt: clock.now(),
      expiresAt: clock.now() + (pair.api === "orders" ? 600 : 120),
      authorizationId: code.slice(0, 22),
      authTime: 1_799_999_000,
      amr: ["pwd", "otp"],
      acr: "urn:example:gold",
    });
  });

  it.each(formats)("has no subject for a client's own %s token", async (_, pair) => {
    const host = testHost();
    const token = await ownToken(host, { client: "web", pair });
    const answer = await callApi(host, `/${pair.api}`, token);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      tokenId: expect.any(String),
      issuer: `https://host.example${pairPath(pair)}`,
      clientId: "web",
      scopes: [`${pair.api}:read`],
      issuedAt: clock.now(),
      expiresAt: clock.now() + (pair.api === "orders" ? 600 : 120),
    });
  });

  it("says which authentication method the end user came by", async () => {
    const host = testHost();
    const token = await accessToken(host, { pair: { method: "sso" } });
    expect((await callApi(host, "/orders", token)).body).toMatchObject({
      issuer: "https://host.example/login/auth/sso/api/orders",
    });
  });

  it("is the same for every later request with the token", async () => {
    const host = testHost();
    const token = await accessToken(host);
    const answers = [];
    for (const seconds of [0, 1, 10, 400]) {
      clock.advance(seconds);
      answers.push((await callApi(host, "/orders", token)).body as unknown);
    }
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });
});

describe("scopes of a route (RFC 6750 §3.1)", () => {
  it("answers a missing scope with 403 and what is needed", async () => {
    const host = testHost();
    const token = await accessToken(host);
    expect(answerOf(await callApi(host, "/orders/changes", token))).toEqual(
      refusal("insufficient_scope", { scope: "orders:write" }),
    );
  });

  it.each([
    ["a list", ["orders:read", "orders:write"]],
    ["one text", "orders:read orders:write"],
  ])("requires all scopes of %s", async (_, scope) => {
    const host = testHost();
    host.app.get(
      "/both",
      host.auth.requireBearer({ api: "orders", scope }),
      (_req, res) => void res.json({}),
    );
    const token = await accessToken(host);
    expect(answerOf(await callApi(host, "/both", token))).toEqual(
      refusal("insufficient_scope", { scope: "orders:read orders:write" }),
    );
    const fields = { scope: "orders:write orders:read" };
    const { access_token } = await obtainTokens(host, { client: "web", fields });
    expect((await callApi(host, "/both", access_token)).status).toBe(200);
  });

  it("asks after the token before the scope", async () => {
    const response = await callApi(testHost(), "/orders/changes", "unknown");
    expect(answerOf(response)).toEqual(refusal("invalid_token", { scope: "orders:write" }));
  });

  it.each([
    [{ api: "unknown" }, "requireBearer: api is no id of apis. Write one of: orders, reports, files."],
    [
      { api: "orders", scope: "files:read" },
      "requireBearer: scope is not made of scopes of orders. Known: orders:read, orders:write.",
    ],
  ])("refuses %j when the route is made", (options, message) => {
    expect(() => testHost().auth.requireBearer(options)).toThrow(new TypeError(message));
  });
});

describe("access tokens that are worth nothing (RFC 6750 §3.1, 9068 §4)", () => {
  it.each(formats)("refuses an expired %s token", async (_, pair) => {
    const host = testHost();
    const token = await accessToken(host, { pair });
    clock.advance(pair.api === "orders" ? 599 : 119);
    expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
    clock.advance(1);
    expect(answerOf(await callApi(host, `/${pair.api}`, token))).toEqual(refusal("invalid_token", pair));
  });

  it("refuses an expired token that storage has not forgotten yet", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const late: Storage = {
      ...storage,
      accessTokens: { ...storage.accessTokens, find: (digest) => storage.accessTokens.find(digest, 0) },
    };
    const host = testHost({ storage: late });
    const token = await accessToken(host, { pair: { api: "reports" } });
    clock.advance(120);
    const response = await callApi(host, "/reports", token);
    expect(answerOf(response)).toEqual(refusal("invalid_token", { api: "reports" }));
  });

  it.each(formats)("refuses a revoked %s token", async (_, pair) => {
    const host = testHost();
    const token = await accessToken(host, { pair });
    await host.auth.consents.revoke(consentKey(pair));
    expect(answerOf(await callApi(host, `/${pair.api}`, token))).toEqual(refusal("invalid_token", pair));
  });

  it.each(formats)("refuses a %s token at another API", async (_, pair) => {
    const host = testHost();
    const token = await accessToken(host, { pair });
    for (const api of ["orders", "reports", "files"].filter((id) => id !== pair.api)) {
      expect(answerOf(await callApi(host, `/${api}`, token))).toEqual(refusal("invalid_token", { api }));
    }
    expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
  });

  it.each(formats)("refuses a %s token of a server with another baseUrl", async (_, pair) => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const token = await accessToken(testHost({ storage }), { pair });
    const other = testHost({ storage, baseUrl: "https://other.example/login" });
    expect(answerOf(await callApi(other, `/${pair.api}`, token))).toEqual(refusal("invalid_token", pair));
  });

  it.each(formats)("refuses a %s token of a pair that is no longer valid", async (_, pair) => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const before = testHost({ storage });
    const [dropped, kept] = [
      await accessToken(before, { pair: { ...pair, method: "sso" } }),
      await accessToken(before, { pair: { ...pair, method: "otp" } }),
    ];
    const fewer = Object.entries(apis).map(([id, api]) => [id, { ...api, authMethods: ["password", "otp"] }]);
    const after = testHost({ storage, apis: Object.fromEntries(fewer) as AuthServerOptions["apis"] });
    expect(answerOf(await callApi(after, `/${pair.api}`, dropped))).toEqual(refusal("invalid_token", pair));
    expect((await callApi(after, `/${pair.api}`, kept)).status).toBe(200);
  });

  it("takes a token in the old format after the API has changed it", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const before = testHost({ storage });
    const [written, opaque] = [
      await accessToken(before),
      await accessToken(before, { pair: { api: "reports" } }),
    ];
    const { orders, reports } = apis as Record<"orders" | "reports", AuthServerOptions["apis"][string]>;
    const after = testHost({
      storage,
      apis: {
        ...apis,
        orders: { ...orders, accessTokenFormat: "opaque" },
        reports: { ...reports, accessTokenFormat: "jwt" },
      },
    });
    expect((await callApi(after, "/orders", written)).status).toBe(200);
    expect((await callApi(after, "/reports", opaque)).status).toBe(200);
  });

  it("refuses codes and refresh tokens, and burns neither", async () => {
    const host = testHost();
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    const code = await obtainCode(host, { client: "web" });
    for (const value of [code, refreshToken]) {
      for (const api of ["orders", "reports"]) {
        expect(answerOf(await callApi(host, `/${api}`, value))).toEqual(refusal("invalid_token", { api }));
      }
    }
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });

  it("tells the host whose token lacks a scope", async () => {
    const host = testHost();
    const token = await accessToken(host);
    host.events.length = 0;
    await callApi(host, "/orders/changes", token);
    expect(host.events).toMatchObject([
      { kind: "bearer-refused", clientId: "web", subject: "alice", apiId: "orders" },
    ]);
  });

  it("tells the host why, without the token", async () => {
    const host = testHost();
    const token = await accessToken(host);
    host.events.length = 0;
    await callApi(host, "/files", token);
    await request(host.app).get("/orders");
    expect(host.events).toEqual([
      {
        kind: "bearer-refused",
        at: clock.now(),
        apiId: "files",
        reason:
          "the token is for another API, or from another authorization server (RFC 9068 §4): get one at a token endpoint of this API",
      },
      { kind: "bearer-refused", at: clock.now(), apiId: "orders", reason: "no access token" },
    ]);
  });
});

const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const strangeKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

type Part = Readonly<Record<string, unknown>>;

function encodePart(part: Part): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

function decodePart(part = ""): Part {
  return JSON.parse(Buffer.from(part, "base64url").toString()) as Part;
}

interface Forgery {
  readonly header?: Part;
  readonly claims?: Part;
  readonly signedBy?: KeyObject;
}

/** A token signed as the server signs, but for what is changed. */
function forge(genuine: string, { header, claims, signedBy = key }: Forgery): string {
  const [ownHeader, ownClaims] = genuine.split(".");
  const parts = [
    encodePart({ ...decodePart(ownHeader), ...header }),
    encodePart({ ...decodePart(ownClaims), ...claims }),
  ].join(".");
  const signature = sign("sha256", Buffer.from(parts), { key: signedBy, dsaEncoding: "ieee-p1363" });
  return `${parts}.${signature.toString("base64url")}`;
}

describe("forged JWT access tokens (RFC 8725 §3, 9068 §4)", () => {
  it("are told from a token that is signed alike and unchanged", async () => {
    const host = testHost({ signingKeys: [key] });
    const token = forge(await accessToken(host), {});
    expect((await callApi(host, "/orders", token)).status).toBe(200);
  });

  const forgeries: Record<string, Forgery> = {
    "signed by another key under our kid": { signedBy: strangeKey },
    "with the typ of any JWT": { header: { typ: "JWT" } },
    "without a typ": { header: { typ: undefined } },
    "with a critical extension": { header: { crit: ["exp"] } },
    "with an unknown kid": { header: { kid: "unknown" } },
    "without a kid": { header: { kid: undefined } },
    "for another audience": { claims: { aud: "https://api.example/files" } },
    "for two audiences": { claims: { aud: ["https://api.example/orders", "https://api.example/files"] } },
    "of an issuer that is none of ours": { claims: { iss: "https://evil.example" } },
    "of a pair of another API": { claims: { iss: "https://host.example/login/auth/password/api/files" } },
    "that has expired": { claims: { exp: 1_800_000_000 } },
    "without an expiry": { claims: { exp: undefined } },
    "with an expiry that is no number": { claims: { exp: "never" } },
    "without an id": { claims: { jti: undefined } },
    "of an authorization that does not exist": { claims: { authorization_id: "A".repeat(22) } },
    "of an end user without an authorization": { claims: { authorization_id: undefined } },
    "without a client": { claims: { client_id: undefined } },
    "with scopes as a list": { claims: { scope: ["orders:read"] } },
  };
  it.each(Object.entries(forgeries))("are refused: %s", async (_, forgery) => {
    const host = testHost({ signingKeys: [key] });
    const token = forge(await accessToken(host), forgery);
    expect(answerOf(await callApi(host, "/orders", token))).toEqual(refusal("invalid_token"));
  });

  it("are refused: without a signature, or signed with the public key as a secret", async () => {
    const host = testHost({ signingKeys: [key] });
    const genuine = await accessToken(host);
    const [ownHeader, payload] = genuine.split(".");
    const header = decodePart(ownHeader);
    const unsigned = `${encodePart({ ...header, alg: "none" })}.${payload}.`;
    const publicPem = createPublicKey(key).export({ type: "spki", format: "pem" });
    const parts = `${encodePart({ ...header, alg: "HS256" })}.${payload}`;
    const confused = `${parts}.${createHmac("sha256", publicPem).update(parts).digest("base64url")}`;
    for (const token of [
      unsigned,
      confused,
      genuine.slice(0, genuine.lastIndexOf(".") + 1),
      "a.b.c",
      "..",
      ".",
    ]) {
      expect(answerOf(await callApi(host, "/orders", token))).toEqual(refusal("invalid_token"));
    }
  });

  it("are refused after the genuine token was accepted and remembered", async () => {
    const host = testHost({ signingKeys: [key] });
    const genuine = await accessToken(host);
    expect((await callApi(host, "/orders", genuine)).status).toBe(200);
    const [header = "", payload = "", signature = ""] = genuine.split(".");
    const flipped = (signature.startsWith("A") ? "B" : "A") + signature.slice(1);
    const widened = encodePart({ ...decodePart(payload), scope: "orders:read orders:write" });
    for (const token of [`${header}.${payload}.${flipped}`, `${header}.${widened}.${signature}`]) {
      expect(answerOf(await callApi(host, "/orders", token))).toEqual(refusal("invalid_token"));
    }
    expect((await callApi(host, "/orders", genuine)).status).toBe(200);
  });

  it("are told from tokens of a retired key, which still count", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const token = await accessToken(testHost({ storage, signingKeys: [key] }));
    const rotated = testHost({ storage, signingKeys: [strangeKey, key] });
    expect((await callApi(rotated, "/orders", token)).status).toBe(200);
    const forgotten = testHost({ storage, signingKeys: [strangeKey] });
    expect(answerOf(await callApi(forgotten, "/orders", token))).toEqual(refusal("invalid_token"));
  });
});

/** What alice has allowed `web` at this API. */
function consentKey({ api = "orders" }: Pair): ConsentKey {
  return { subject: "alice", clientId: "web", apiId: api };
}

/** The status of a call in each second, beginning now. */
async function statusesBySecond(
  host: TestHost,
  { path, token, seconds }: { path: string; token: string; seconds: number },
): Promise<readonly number[]> {
  const seen = [];
  for (let second = 0; second < seconds; second += 1) {
    seen.push((await callApi(host, path, token)).status);
    clock.advance(1);
  }
  return seen;
}

describe("revocation and what is remembered of good tokens (RFC 7662 §4, 9700 §4.14)", () => {
  it.each(formats)(
    "a %s token that was accepted may pass for 5 seconds more, by default",
    async (_, pair) => {
      const host = testHost();
      const token = await accessToken(host, { pair });
      const path = `/${pair.api}`;
      expect((await callApi(host, path, token)).status).toBe(200);
      await host.auth.consents.revoke(consentKey(pair));
      const seen = await statusesBySecond(host, { path, token, seconds: 8 });
      expect(seen).toEqual([200, 200, 200, 200, 200, 401, 401, 401]);
    },
  );

  it.each(formats)("a %s token may pass for as long as the host says", async (_, pair) => {
    const host = testHost({ revocationLagSeconds: 2 });
    const token = await accessToken(host, { pair });
    const path = `/${pair.api}`;
    expect(await statusesBySecond(host, { path, token, seconds: 4 })).toEqual([200, 200, 200, 200]);
    // storage was asked in seconds 0, 2 and, here, 4
    expect((await callApi(host, path, token)).status).toBe(200);
    await host.auth.consents.revoke(consentKey(pair));
    expect(await statusesBySecond(host, { path, token, seconds: 3 })).toEqual([200, 200, 401]);
  });

  it.each(formats)("a %s token passes no longer because the clock was set back", async (_, pair) => {
    const host = testHost();
    const token = await accessToken(host, { pair });
    expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
    await host.auth.consents.revoke(consentKey(pair));
    clock.advance(-5);
    expect(answerOf(await callApi(host, `/${pair.api}`, token))).toEqual(refusal("invalid_token", pair));
  });

  it.each(formats)("a %s token never passes with a lag of 0", async (_, pair) => {
    const host = testHost({ revocationLagSeconds: 0 });
    const token = await accessToken(host, { pair });
    expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
    await host.auth.consents.revoke(consentKey(pair));
    expect(answerOf(await callApi(host, `/${pair.api}`, token))).toEqual(refusal("invalid_token", pair));
  });

  it.each(formats)("a %s token that was not seen before never passes", async (_, pair) => {
    const host = testHost({ revocationLagSeconds: 300 });
    const token = await accessToken(host, { pair });
    await host.auth.consents.revoke(consentKey(pair));
    expect(answerOf(await callApi(host, `/${pair.api}`, token))).toEqual(refusal("invalid_token", pair));
  });

  it("counts in every process that shares the storage", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const [here, there] = [testHost({ storage }), testHost({ storage })];
    const token = await accessToken(here);
    expect((await callApi(there, "/orders", token)).status).toBe(200);
    await here.auth.consents.revoke(consentKey({}));
    clock.advance(5);
    expect(answerOf(await callApi(there, "/orders", token))).toEqual(refusal("invalid_token"));
  });

  it.each(formats)("never serves a remembered %s token past its expiry", async (_, pair) => {
    const host = testHost({ revocationLagSeconds: 300 });
    const token = await accessToken(host, { pair });
    const lifetime = pair.api === "orders" ? 600 : 120;
    clock.advance(lifetime - 1);
    expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
    clock.advance(1);
    expect(answerOf(await callApi(host, `/${pair.api}`, token))).toEqual(refusal("invalid_token", pair));
  });

  const firstLook = {
    orders: ["accessTokens.isRevoked", "authorizations.find"],
    reports: ["accessTokens.find", "accessTokens.isRevoked", "authorizations.find"],
  };
  it.each(formats)("asks storage once for a %s token within the lag", async (_, pair) => {
    const { storage, watch } = watchedStorage();
    const host = testHost({ storage });
    const token = await accessToken(host, { pair });
    watch.calls.length = 0;
    await statusesBySecond(host, { path: `/${pair.api}`, token, seconds: 5 });
    expect(watch.calls).toEqual(firstLook[pair.api]);
    await statusesBySecond(host, { path: `/${pair.api}`, token, seconds: 5 });
    expect(watch.calls).toEqual([...firstLook[pair.api], ...firstLook[pair.api]]);
  });

  it.each(formats)("asks storage each time for a %s token with a lag of 0", async (_, pair) => {
    const { storage, watch } = watchedStorage();
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const token = await accessToken(host, { pair });
    watch.calls.length = 0;
    for (let round = 0; round < 3; round += 1) await callApi(host, `/${pair.api}`, token);
    expect(watch.calls).toEqual(Array.from({ length: 3 }, () => firstLook[pair.api]).flat());
  });

  it("asks storage of a client's own JWT only whether it was revoked", async () => {
    const { storage, watch } = watchedStorage();
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const token = await ownToken(host, {});
    watch.calls.length = 0;
    await statusesBySecond(host, { path: "/orders", token, seconds: 3 });
    expect(watch.calls).toEqual(Array.from({ length: 3 }, () => "accessTokens.isRevoked"));
  });

  it("never asks storage for a forged JWT, and remembers nothing of one", async () => {
    const { storage, watch } = watchedStorage();
    const host = testHost({ storage });
    const signingKeys = [generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey];
    const forged = await accessToken(testHost({ signingKeys }));
    watch.calls.length = 0;
    const seen = await statusesBySecond(host, { path: "/orders", token: forged, seconds: 3 });
    expect(seen).toEqual([401, 401, 401]);
    expect(watch.calls).toEqual([]);
  });

  it("remembers nothing of an unknown opaque token", async () => {
    const { storage, watch } = watchedStorage();
    const host = testHost({ storage });
    const seen = await statusesBySecond(host, { path: "/reports", token: "A".repeat(43), seconds: 3 });
    expect(seen).toEqual([401, 401, 401]);
    expect(watch.calls).toEqual(["accessTokens.find", "accessTokens.find", "accessTokens.find"]);
  });

  it("remembers nothing of a refused token: one that storage finds later passes", async () => {
    const shared = memoryStorage({ clients: Object.values(clients) });
    let behind = true;
    const replica = intercept(shared, (name, call) =>
      behind && name === "authorizations.find" ? Promise.resolve(undefined) : call(),
    );
    const token = await accessToken(testHost({ storage: shared }));
    const host = testHost({ storage: replica, revocationLagSeconds: 300 });
    expect(answerOf(await callApi(host, "/orders", token))).toEqual(refusal("invalid_token"));
    behind = false;
    expect((await callApi(host, "/orders", token)).status).toBe(200);
  });

  it("keeps the tokens of two APIs apart", async () => {
    const host = testHost({ revocationLagSeconds: 300 });
    const token = await accessToken(host);
    for (const path of ["/orders", "/files", "/orders", "/files"]) {
      expect((await callApi(host, path, token)).status).toBe(path === "/orders" ? 200 : 401);
    }
  });
});

const bob: Authentication = { kind: "authenticated", subject: "bob", authTime: 1_799_999_000 };

describe("end users who take their consent back (RFC 6749 §10.2, 7009 §1)", () => {
  it("see what they have allowed", async () => {
    const host = testHost();
    await obtainTokens(host, { client: "web" });
    clock.advance(10);
    await obtainTokens(host, { client: "spa", pair: { api: "files", method: "sso" } });
    host.session = bob;
    await obtainTokens(host, { client: "web" });
    const expiresAt = clock.now() + 31_536_000;
    expect(await host.auth.consents.list("alice")).toEqual([
      {
        subject: "alice",
        clientId: "web",
        apiId: "orders",
        scopes: ["orders:read"],
        grantedAt: clock.now() - 10,
        expiresAt: expiresAt - 10,
      },
      {
        subject: "alice",
        clientId: "spa",
        apiId: "files",
        scopes: ["files:read"],
        grantedAt: clock.now(),
        expiresAt,
      },
    ]);
    expect(await host.auth.consents.list("nobody")).toEqual([]);
  });

  it.each(formats)("stop refresh at once and the API within the lag (%s)", async (_, pair) => {
    const host = testHost();
    const tokens = await obtainTokens(host, { client: "web", pair });
    const code = await obtainCode(host, { client: "web", pair });
    expect((await callApi(host, `/${pair.api}`, tokens.access_token)).status).toBe(200);
    await host.auth.consents.revoke(consentKey(pair));
    const { refresh_token: refreshToken = "" } = tokens;
    const refreshed = await refresh(host, { client: "web", refreshToken, pair });
    expect(refreshed.body).toMatchObject({ error: "invalid_grant" });
    const redeemed = await redeem(host, { client: "web", code, pair });
    expect(redeemed.body).toMatchObject({ error: "invalid_grant" });
    clock.advance(5);
    const called = await callApi(host, `/${pair.api}`, tokens.access_token);
    expect(answerOf(called)).toEqual(refusal("invalid_token", pair));
  });

  it("stop the client at every authentication method of that API, and nothing else", async () => {
    const host = testHost({ revocationLagSeconds: 0 });
    const ended = [
      await accessToken(host),
      await accessToken(host, { pair: { method: "otp" } }),
      await accessToken(host, { pair: { method: "sso" } }),
    ];
    const going: [string, string][] = [
      ["/orders", await accessToken(host, { client: "other" })],
      ["/files", await accessToken(host, { pair: { api: "files" } })],
      ["/orders", await ownToken(host, { client: "web" })],
    ];
    host.session = bob;
    going.push(["/orders", await accessToken(host)]);
    await host.auth.consents.revoke(consentKey({}));
    for (const token of ended) expect((await callApi(host, "/orders", token)).status).toBe(401);
    for (const [path, token] of going) expect((await callApi(host, path, token)).status).toBe(200);
  });

  it("are asked again", async () => {
    const host = testHost();
    await obtainTokens(host, { client: "web" });
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(302);
    await host.auth.consents.revoke(consentKey({}));
    expect(await host.auth.consents.list("alice")).toEqual([]);
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(200);
    expect((await callApi(host, "/orders", await accessToken(host))).status).toBe(200);
  });

  it("may do so twice, and for a client they never met", async () => {
    const host = testHost();
    const allowed = consentKey({});
    await host.auth.consents.revoke(allowed);
    await obtainTokens(host, { client: "web" });
    host.events.splice(1);
    await host.auth.consents.revoke(allowed);
    await host.auth.consents.revoke(allowed);
    expect(host.events).toEqual([
      { kind: "nothing-to-revoke", at: clock.now(), ...allowed },
      { kind: "consent-revoked", at: clock.now(), ...allowed },
      { kind: "nothing-to-revoke", at: clock.now(), ...allowed },
    ]);
  });
});

describe("access tokens after a replay (RFC 9700 §4.5, §4.14.2)", () => {
  it.each(formats)("end with a replayed code, within the lag (%s)", async (_, pair) => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web", pair });
    const response = await redeem(host, { client: "web", code, pair });
    const { access_token } = response.body as { access_token: string };
    expect((await callApi(host, `/${pair.api}`, access_token)).status).toBe(200);
    await redeem(host, { client: "web", code, pair });
    clock.advance(5);
    const called = await callApi(host, `/${pair.api}`, access_token);
    expect(answerOf(called)).toEqual(refusal("invalid_token", pair));
  });

  it.each(formats)("end with a replayed refresh token, all of them, within the lag (%s)", async (_, pair) => {
    const host = testHost();
    const first = await obtainTokens(host, { client: "web", pair });
    const { refresh_token: refreshToken = "" } = first;
    const second = await refresh(host, { client: "web", refreshToken, pair });
    const accessTokens = [first.access_token, (second.body as { access_token: string }).access_token];
    for (const token of accessTokens) expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
    await refresh(host, { client: "web", refreshToken, pair });
    clock.advance(5);
    for (const token of accessTokens) {
      expect(answerOf(await callApi(host, `/${pair.api}`, token))).toEqual(refusal("invalid_token", pair));
    }
  });
});

/** A route that counts how often it is reached. */
function countingRoute(host: TestHost, api: string): { reached: number } {
  const route = { reached: 0 };
  host.app.get(`/${api}/counted`, host.auth.requireBearer({ api }), (_req, res) => {
    route.reached += 1;
    res.json({});
  });
  return route;
}

describe("storage that fails while a token is checked (RFC 6750 §3.1)", () => {
  const failure = new Error("the database says: password=hunter2");

  it.each(formats)("answers server_error, and the route is not reached (%s)", async (_, pair) => {
    const { storage, watch } = watchedStorage();
    const host = testHost({ storage });
    const route = countingRoute(host, pair.api);
    const token = await accessToken(host, { pair });
    host.events.length = 0;
    watch.failure = failure;
    const response = await callApi(host, `/${pair.api}/counted`, token);
    expect(response.status).toBe(500);
    expect(response.headers).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
    });
    expect(response.text).toBe(
      '{"error":"server_error","error_description":"The server could not answer this request."}',
    );
    expect(route.reached).toBe(0);
    expect(host.events).toEqual([{ kind: "server-error", at: clock.now(), cause: failure }]);
    watch.failure = undefined;
    expect((await callApi(host, `/${pair.api}/counted`, token)).status).toBe(200);
    expect(route.reached).toBe(1);
  });

  it.each(formats)(
    "goes on accepting a %s token it knows within the lag, and not after it",
    async (_, pair) => {
      const { storage, watch } = watchedStorage();
      const host = testHost({ storage });
      const token = await accessToken(host, { pair });
      expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
      watch.failure = failure;
      clock.advance(4);
      expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
      clock.advance(1);
      expect((await callApi(host, `/${pair.api}`, token)).status).toBe(500);
    },
  );

  it("answers server_error when storage throws at once", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const accessTokens: Storage["accessTokens"] = {
      ...storage.accessTokens,
      find() {
        throw failure;
      },
    };
    const host = testHost({ storage: { ...storage, accessTokens } });
    const route = countingRoute(host, "reports");
    expect((await callApi(host, "/reports/counted", "A".repeat(43))).status).toBe(500);
    expect(route.reached).toBe(0);
  });

  it("leaves what the route itself throws to the host", async () => {
    const host = testHost();
    host.app.get("/broken", host.auth.requireBearer({ api: "orders" }), () => {
      throw new Error("the host's own");
    });
    const told: unknown[] = [];
    host.app.use(
      (error: Error, _req: express.Request, res: express.Response, _next: express.NextFunction) => {
        told.push(error.message);
        res.status(418).end();
      },
    );
    expect((await callApi(host, "/broken", await accessToken(host))).status).toBe(418);
    expect(told).toEqual(["the host's own"]);
    expect(host.events.filter(({ kind }) => kind === "server-error")).toEqual([]);
  });
});
