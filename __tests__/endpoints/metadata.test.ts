import { createHash, createPublicKey, generateKeyPairSync, type JsonWebKey, verify } from "node:crypto";
import request, { type Response } from "supertest";
import type { AuthServerEvent } from "../../lib";
import { apis, type Pair, pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { encode } from "../browser/browser";
import { credentials } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { type TestHost, testHost } from "../hosts/host";
import { obtainTokens } from "../browser/journey";

stopClockForEachTest();

const rootForm = "/.well-known/oauth-authorization-server";
const suffix = "/.well-known/oauth-authorization-server";
const pairs: readonly Required<Pair>[] = (["orders", "reports", "files"] as const).flatMap((api) =>
  (["password", "otp", "sso"] as const).map((method) => ({ method, api })),
);

function get(host: TestHost, path: string): Promise<Response> {
  return Promise.resolve(request(host.app).get(path));
}

function pathOf(url: string): string {
  const { origin, pathname } = new URL(url);
  expect(origin).toBe("https://host.example");
  return pathname;
}

async function documentOf(host: TestHost, pair: Pair = {}): Promise<Record<string, unknown>> {
  const response = await get(host, `${pairPath(pair)}${suffix}`);
  expect(response.status).toBe(200);
  return response.body as Record<string, unknown>;
}

async function keysOf(host: TestHost, path = "/login/jwks"): Promise<Record<string, unknown>[]> {
  const response = await get(host, path);
  expect(response.status).toBe(200);
  const { keys, ...others } = response.body as { keys: Record<string, unknown>[] };
  expect(others).toEqual({});
  return keys;
}

describe("authorization server metadata (RFC 8414 §2, §3)", () => {
  it("says what is enabled for a pair and nothing else", async () => {
    const identifier = "https://host.example/login/auth/password/api/orders";
    const methods = ["client_secret_basic", "client_secret_post", "private_key_jwt"];
    const algorithms = ["ES256", "PS256", "RS256", "EdDSA", "Ed25519"];
    expect(await documentOf(testHost())).toEqual({
      issuer: identifier,
      authorization_endpoint: `${identifier}/authorize`,
      token_endpoint: `${identifier}/token`,
      revocation_endpoint: `${identifier}/revoke`,
      introspection_endpoint: `${identifier}/introspect`,
      jwks_uri: "https://host.example/login/jwks",
      scopes_supported: ["orders:read", "orders:write"],
      response_types_supported: ["code"],
      response_modes_supported: ["query", "form_post"],
      grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
      token_endpoint_auth_methods_supported: [...methods, "none"],
      token_endpoint_auth_signing_alg_values_supported: algorithms,
      revocation_endpoint_auth_methods_supported: [...methods, "none"],
      revocation_endpoint_auth_signing_alg_values_supported: algorithms,
      introspection_endpoint_auth_methods_supported: methods,
      introspection_endpoint_auth_signing_alg_values_supported: algorithms,
      code_challenge_methods_supported: ["S256"],
      prompt_values_supported: ["none", "login", "consent", "select_account"],
      authorization_response_iss_parameter_supported: true,
      protected_resources: ["https://api.example/orders"],
    });
  });

  it("leaves out lists that would be empty, as that of an API without scopes (RFC 8414 §3.2, 9728 §3.2)", async () => {
    const plain = { audience: "https://api.example/plain", authMethods: ["password"], scopes: {} };
    const host = testHost({ apis: { ...apis, plain } });
    const issuerPath = "/login/auth/password/api/plain";
    const documents = [
      `${issuerPath}${suffix}`,
      `${rootForm}${issuerPath}`,
      "/.well-known/oauth-protected-resource/plain",
    ];
    for (const path of documents) {
      const { status, body } = await get(host, path);
      expect([
        status,
        Object.values(body as object).filter((value) => Array.isArray(value) && value.length === 0),
      ]).toEqual([200, []]);
      expect(body).not.toHaveProperty("scopes_supported");
    }
  });

  it.each(pairs)("of $method and $api has that pair's identifier, scopes and resource", async (pair) => {
    const metadata = await documentOf(testHost(), pair);
    expect(metadata).toMatchObject({
      issuer: `https://host.example${pairPath(pair)}`,
      scopes_supported: Object.keys(apis[pair.api]?.scopes ?? {}),
      protected_resources: [apis[pair.api]?.audience],
    });
    expect(metadata["jwks_uri"]).toBe(pair.api === "reports" ? undefined : "https://host.example/login/jwks");
  });

  it.each(pairs)("of $method and $api names no other pair", async (pair) => {
    const { issuer, ...others } = await documentOf(testHost(), pair);
    const urls = JSON.stringify(others).match(/https:\/\/host\.example[^"]*/g) ?? [];
    expect(urls.filter((url) => !url.startsWith(`${issuer as string}/`))).toEqual(
      pair.api === "reports" ? [] : ["https://host.example/login/jwks"],
    );
  });

  it.each(pairs)("of $method and $api names endpoints that answer", async (pair) => {
    const host = testHost();
    const metadata = (await documentOf(host, pair)) as Record<string, string>;
    const post = (name: string): Promise<Response> =>
      Promise.resolve(
        request(host.app)
          .post(pathOf(metadata[name] ?? ""))
          .type("form")
          .send(encode({ ...credentials("web"), token: "unknown" })),
      );
    expect((await get(host, pathOf(metadata["authorization_endpoint"] ?? ""))).status).toBe(400);
    expect((await post("token_endpoint")).body).toMatchObject({ error: "invalid_request" });
    expect((await post("revocation_endpoint")).body).toEqual({});
    expect((await post("introspection_endpoint")).body).toEqual({ active: false });
    if (metadata["jwks_uri"] !== undefined) await keysOf(host, pathOf(metadata["jwks_uri"]));
  });

  it("has the issuer that comes with an authorization response (RFC 9207 §2.4)", async () => {
    const host = testHost();
    host.session = { kind: "denied" };
    const { iss } = redirectParameters(await authorize(host.browser(), { client: "web" }));
    expect((await documentOf(host))["issuer"]).toBe(iss);
  });

  it("is served for valid pairs only", async () => {
    // the host has routes for each API, so the APIs stay and a pair goes
    const { orders, ...others } = apis;
    if (!orders) throw new Error("the host has no orders");
    const host = testHost({ apis: { ...others, orders: { ...orders, authMethods: ["password"] } } });
    for (const pair of [
      "auth/otp/api/orders",
      "auth/password/api/unknown",
      "auth/__proto__/api/constructor",
    ]) {
      const response = await get(host, `/login/${pair}${suffix}`);
      expect(response.status).toBe(404);
      expect(response.body).toEqual({
        error: "not_found",
        error_description: "There is no authorization server at this address.",
      });
      expect((await get(host, `${rootForm}/login/${pair}`)).status).toBe(404);
    }
  });
});

describe("where metadata is (RFC 8414 §3.1, 8615 §3)", () => {
  it.each(["https://host.example", "https://host.example/login", "https://host.example/a/b/login"])(
    "is the suffix form and the root form of %s, with one document",
    async (baseUrl) => {
      const host = testHost({ baseUrl });
      const identifier = `${baseUrl}/auth/password/api/orders`;
      const path = pathOf(identifier);
      const suffixed = await get(host, `${path}${suffix}`);
      const atRoot = await get(host, `${rootForm}${path}`);
      expect(suffixed.status).toBe(200);
      expect(suffixed.body).toMatchObject({
        issuer: identifier,
        token_endpoint: `${identifier}/token`,
        jwks_uri: `${baseUrl}/jwks`,
      });
      expect(atRoot.status).toBe(200);
      expect(atRoot.text).toBe(suffixed.text);
      expect(await keysOf(host, pathOf(`${baseUrl}/jwks`))).toHaveLength(1);
    },
  );

  it("is said by the event of the start: for each pair and each API one URL, and each is served", async () => {
    const events: AuthServerEvent[] = [];
    const host = testHost({ onEvent: (event) => void events.push(event) });
    const started = events.filter((event) => event.kind === "started");
    const urls = started.flatMap((event) => event.rootDocuments);
    const expected = [
      ...pairs.map((pair) => `https://host.example${rootForm}${pairPath(pair)}`),
      ...Object.keys(apis).map((api) => `https://api.example/.well-known/oauth-protected-resource/${api}`),
    ];
    expect(urls.toSorted()).toEqual(expected.toSorted());
    for (const url of urls) {
      const { status, body } = await get(host, new URL(url).pathname);
      expect(status).toBe(200);
      const { issuer, resource } = body as { issuer?: string; resource?: string };
      const { origin, pathname } = new URL(issuer ?? resource ?? "");
      const name = issuer === undefined ? "oauth-protected-resource" : "oauth-authorization-server";
      expect(url).toBe(`${origin}/.well-known/${name}${pathname}`);
    }
  });

  it("leads from an API to its issuers and back (RFC 9728 §3, §4)", async () => {
    const host = testHost();
    for (const api of Object.keys(apis)) {
      const { body } = await get(host, `/.well-known/oauth-protected-resource/${api}`);
      const { resource, authorization_servers } = body as Record<string, string[]>;
      expect(authorization_servers).toHaveLength(3);
      for (const issuer of authorization_servers ?? []) {
        const metadata = (await get(host, `${rootForm}${pathOf(issuer)}`)).body as Record<string, unknown>;
        expect(metadata["issuer"]).toBe(issuer);
        expect(metadata["protected_resources"]).toEqual([resource]);
      }
    }
  });

  const openId = "/.well-known/openid-configuration";
  it.each([
    openId,
    `/login${openId}`,
    `${pairPath()}${openId}`,
    `${openId}${pairPath()}`,
    rootForm,
    `${rootForm}/login`,
    `${rootForm}${pairPath()}/`,
    `/login${suffix}`,
    `${pairPath()}${suffix}/`,
    "/jwks",
    "/login/jwks/",
    "/.well-known/jwks.json",
    "/.well-known/oauth-protected-resource",
  ])("is not %s, which is the host's", async (path) => {
    const host = testHost();
    host.app.use((req, res) => void res.status(418).json({ host: req.originalUrl }));
    for (const method of ["get", "post"] as const) {
      const response = await request(host.app)[method](path);
      expect(response.status).toBe(418);
      expect(response.body).toEqual({ host: path });
    }
  });
});

describe("public documents over HTTP (RFC 8414 §3.2, 9728 §3.2, 9110 §9.3.2, 9111 §5.2.2)", () => {
  const documents = [
    `${pairPath()}${suffix}`,
    `${rootForm}${pairPath()}`,
    "/.well-known/oauth-protected-resource/orders",
    "/login/jwks",
  ];
  it.each(documents)("%s may be read by every page and kept for five minutes", async (path) => {
    const { status, headers } = await request(testHost().app).get(path).set("Origin", "https://evil.example");
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "access-control-allow-origin": "*",
      "cache-control": "public, max-age=300",
      "x-content-type-options": "nosniff",
    });
    expect(headers["pragma"]).toBeUndefined();
    expect(headers["set-cookie"]).toBeUndefined();
    expect(headers["access-control-allow-credentials"]).toBeUndefined();
  });

  it.each(documents)("%s has the headers of GET and no body for HEAD", async (path) => {
    const { app } = testHost();
    const [got, head] = [await request(app).get(path), await request(app).head(path)];
    expect(head.status).toBe(200);
    expect(head.text ?? "").toBe("");
    for (const name of ["content-type", "content-length", "cache-control", "access-control-allow-origin"])
      expect(head.headers[name]).toBe(got.headers[name]);
  });

  const methods = ["post", "put", "patch", "delete"] as const;
  it.each(documents.flatMap((path) => methods.map((method) => [path, method] as const)))(
    "%s refuses %s with 405",
    async (path, method) => {
      const { status, headers } = await request(testHost().app)[method](path);
      expect(status).toBe(405);
      expect(headers["allow"]).toBe("GET, HEAD, OPTIONS");
      expect(headers["cache-control"]).toBe("no-store");
    },
  );

  it.each(documents)("%s does not mind a query or another Host", async (path) => {
    const { app } = testHost();
    const plain = await request(app).get(path);
    const headers = { Host: "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http" };
    const other = await request(app).get(`${path}?issuer=x&issuer=y`).set(headers);
    expect(other.text).toBe(plain.text);
  });
});

describe("key set (RFC 7517 §4, §5, 7518 §6)", () => {
  const ec = generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey;
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

  it("has the public members of every key, and no other", async () => {
    const keys = await keysOf(testHost({ signingKeys: [ec, rsa] }));
    const known = ["alg", "kid", "kty", "use"];
    expect(keys.map((key) => Object.keys(key).toSorted())).toEqual([
      [...known, "crv", "x", "y"].toSorted(),
      [...known, "e", "n"].toSorted(),
    ]);
    expect(keys).toMatchObject([
      { kty: "EC", crv: "P-384", alg: "ES384", use: "sig" },
      { kty: "RSA", alg: "RS256", use: "sig" },
    ]);
  });

  it("names each key by a kid of its own, and is the same at every time", async () => {
    const host = testHost({ signingKeys: [ec, rsa] });
    const keys = await keysOf(host);
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(2);
    for (const { kid } of keys) expect(kid).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(await keysOf(host)).toEqual(keys);
    expect(await keysOf(testHost({ signingKeys: [ec, rsa] }))).toEqual(keys);
  });

  it("holds no member of a private JWK that the host gave", async () => {
    const jwk = { ...ec.export({ format: "jwk" }), kty: "EC", kid: "mine", alg: "ES384", extra: "secret" };
    const [key = {}, ...others] = await keysOf(testHost({ signingKeys: [jwk] }));
    const { kty, crv, x, y } = jwk as JsonWebKey;
    expect(others).toEqual([]);
    expect(key).toEqual({ kty, crv, x, y, kid: "mine", alg: "ES384", use: "sig" });
  });

  it.each([
    ["ES384", ec],
    ["RS256", rsa],
  ])("verifies a token signed with %s by node:crypto alone", async (alg, signingKey) => {
    const host = testHost({ signingKeys: [signingKey] });
    const { access_token } = await obtainTokens(host, { client: "web" });
    const [header = "", payload = "", signature = ""] = access_token.split(".");
    const { kid, ...others } = JSON.parse(Buffer.from(header, "base64url").toString()) as { kid: string };
    expect(others).toEqual({ alg, typ: "at+jwt" });
    const { jwks_uri } = (await documentOf(host)) as { jwks_uri: string };
    const found = (await keysOf(host, pathOf(jwks_uri))).find((each) => each["kid"] === kid);
    const key = createPublicKey({ key: found as JsonWebKey, format: "jwk" });
    const verifies = (text: string): boolean =>
      verify(
        `sha${alg.slice(2)}`,
        Buffer.from(text),
        { key, dsaEncoding: "ieee-p1363" },
        Buffer.from(signature, "base64url"),
      );
    expect(verifies(`${header}.${payload}`)).toBe(true);
    expect(verifies(`${header}.${payload}x`)).toBe(false);
  });

  it("names a key by its thumbprint when the host names it not (RFC 7638 §3)", async () => {
    const [{ crv, kty, x, y, kid } = {}] = await keysOf(testHost({ signingKeys: [ec] }));
    expect(kid).toBe(createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url"));
  });
});
