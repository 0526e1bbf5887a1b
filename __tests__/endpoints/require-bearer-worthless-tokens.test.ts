import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import request from "supertest";
import { type AuthServerOptions, memoryStorage, type Storage } from "../../lib";
import { apis } from "../hosts/apis";
import { accessTokenOf, bearerAnswerOf, formats, refusedByBearer } from "../requests/bearer-answers";
import { redeem, refresh } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost } from "../hosts/host";
import { callApi, consentKey, obtainCode, obtainTokens } from "../browser/journey";

const clock = stopClockForEachTest();

describe("access tokens that are worth nothing (RFC 6750 §3.1, 9068 §4)", () => {
  it.each(formats)("refuses an expired %s token", async (_, pair) => {
    const host = testHost();
    const token = await accessTokenOf(host, { pair });
    clock.advance(pair.api === "orders" ? 599 : 119);
    expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
    clock.advance(1);
    expect(bearerAnswerOf(await callApi(host, `/${pair.api}`, token))).toEqual(
      refusedByBearer("invalid_token", pair),
    );
  });

  it("refuses an expired token that storage has not forgotten yet", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const late: Storage = {
      ...storage,
      accessTokens: { ...storage.accessTokens, find: (digest) => storage.accessTokens.find(digest, 0) },
    };
    const host = testHost({ storage: late });
    const token = await accessTokenOf(host, { pair: { api: "reports" } });
    clock.advance(120);
    const response = await callApi(host, "/reports", token);
    expect(bearerAnswerOf(response)).toEqual(refusedByBearer("invalid_token", { api: "reports" }));
  });

  it.each(formats)("refuses a revoked %s token", async (_, pair) => {
    const host = testHost();
    const token = await accessTokenOf(host, { pair });
    await host.auth.consents.revoke(consentKey(pair));
    expect(bearerAnswerOf(await callApi(host, `/${pair.api}`, token))).toEqual(
      refusedByBearer("invalid_token", pair),
    );
  });

  it.each(formats)("refuses a %s token at another API", async (_, pair) => {
    const host = testHost();
    const token = await accessTokenOf(host, { pair });
    for (const api of ["orders", "reports", "files"].filter((id) => id !== pair.api)) {
      expect(bearerAnswerOf(await callApi(host, `/${api}`, token))).toEqual(
        refusedByBearer("invalid_token", { api }),
      );
    }
    expect((await callApi(host, `/${pair.api}`, token)).status).toBe(200);
  });

  it.each(formats)("refuses a %s token of a server with another baseUrl", async (_, pair) => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const token = await accessTokenOf(testHost({ storage }), { pair });
    const other = testHost({ storage, baseUrl: "https://other.example/login" });
    expect(bearerAnswerOf(await callApi(other, `/${pair.api}`, token))).toEqual(
      refusedByBearer("invalid_token", pair),
    );
  });

  it.each(formats)("refuses a %s token of a pair that is no longer valid", async (_, pair) => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const before = testHost({ storage });
    const [dropped, kept] = [
      await accessTokenOf(before, { pair: { ...pair, method: "sso" } }),
      await accessTokenOf(before, { pair: { ...pair, method: "otp" } }),
    ];
    const fewer = Object.entries(apis).map(([id, api]) => [id, { ...api, authMethods: ["password", "otp"] }]);
    const after = testHost({ storage, apis: Object.fromEntries(fewer) as AuthServerOptions["apis"] });
    expect(bearerAnswerOf(await callApi(after, `/${pair.api}`, dropped))).toEqual(
      refusedByBearer("invalid_token", pair),
    );
    expect((await callApi(after, `/${pair.api}`, kept)).status).toBe(200);
  });

  it("takes a token in the old format after the API has changed it", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const before = testHost({ storage });
    const [written, opaque] = [
      await accessTokenOf(before),
      await accessTokenOf(before, { pair: { api: "reports" } }),
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
});

describe("what is told of a refused access token (RFC 6750 §3.1)", () => {
  it("refuses codes and refresh tokens, and burns neither", async () => {
    const host = testHost();
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    const code = await obtainCode(host, { client: "web" });
    for (const value of [code, refreshToken]) {
      for (const api of ["orders", "reports"]) {
        expect(bearerAnswerOf(await callApi(host, `/${api}`, value))).toEqual(
          refusedByBearer("invalid_token", { api }),
        );
      }
    }
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });

  it("tells the host whose token lacks a scope", async () => {
    const host = testHost();
    const token = await accessTokenOf(host);
    host.events.length = 0;
    await callApi(host, "/orders/changes", token);
    expect(host.events).toMatchObject([
      { kind: "bearer-refused", clientId: "web", subject: "alice", apiId: "orders" },
    ]);
  });

  it("tells the host why, without the token", async () => {
    const host = testHost();
    const token = await accessTokenOf(host);
    host.events.length = 0;
    await callApi(host, "/files", token);
    await request(host.app).get("/orders");
    expect(host.events).toEqual([
      {
        kind: "bearer-refused",
        at: clock.now(),
        apiId: "files",
        code: "token-of-another-api",
        reason: expect.any(String) as string,
      },
      {
        kind: "bearer-refused",
        at: clock.now(),
        apiId: "orders",
        code: "no-access-token",
        reason: expect.any(String) as string,
      },
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
    const token = forge(await accessTokenOf(host), {});
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
    const token = forge(await accessTokenOf(host), forgery);
    expect(bearerAnswerOf(await callApi(host, "/orders", token))).toEqual(refusedByBearer("invalid_token"));
  });

  it("are refused: without a signature, or signed with the public key as a secret", async () => {
    const host = testHost({ signingKeys: [key] });
    const genuine = await accessTokenOf(host);
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
      expect(bearerAnswerOf(await callApi(host, "/orders", token))).toEqual(refusedByBearer("invalid_token"));
    }
  });

  it("are refused after the genuine token was accepted and remembered", async () => {
    const host = testHost({ signingKeys: [key] });
    const genuine = await accessTokenOf(host);
    expect((await callApi(host, "/orders", genuine)).status).toBe(200);
    const [header = "", payload = "", signature = ""] = genuine.split(".");
    const flipped = (signature.startsWith("A") ? "B" : "A") + signature.slice(1);
    const widened = encodePart({ ...decodePart(payload), scope: "orders:read orders:write" });
    for (const token of [`${header}.${payload}.${flipped}`, `${header}.${widened}.${signature}`]) {
      expect(bearerAnswerOf(await callApi(host, "/orders", token))).toEqual(refusedByBearer("invalid_token"));
    }
    expect((await callApi(host, "/orders", genuine)).status).toBe(200);
  });

  it("are told from tokens of a retired key, which still count", async () => {
    const storage = memoryStorage({ clients: Object.values(clients) });
    const token = await accessTokenOf(testHost({ storage, signingKeys: [key] }));
    const rotated = testHost({ storage, signingKeys: [strangeKey, key] });
    expect((await callApi(rotated, "/orders", token)).status).toBe(200);
    const forgotten = testHost({ storage, signingKeys: [strangeKey] });
    expect(bearerAnswerOf(await callApi(forgotten, "/orders", token))).toEqual(
      refusedByBearer("invalid_token"),
    );
  });
});
