/** Tokens of the kit that are bound to a key, and checkRoute at APIs that bind them. RFC 9449 §4.2, §7.1. */
import { calculateJwkThumbprint, decodeProtectedHeader, jwtVerify, type JWK } from "jose";
import request, { type Test } from "supertest";
import { refusedKinds, testKey, testTokens } from "../../lib/testing";
import type { DpopOptions } from "../../lib";
import { apis, origin, pairPath } from "../hosts/apis";
import type { TestHost } from "../hosts/host";
import { boundApis, claimsOf, ownBound } from "../requests/bound-requests";
import { tokenHost, tokenHostOptions } from "./token-host";

const formats = ["orders", "reports"] as const;
const alice = { client: "web", subject: "alice" };

/** A host whose APIs bind tokens, unless told otherwise, and its tokens. */
async function bedOf(dpop?: DpopOptions) {
  const options = await tokenHostOptions({ apis: dpop ? boundApis(dpop) : apis });
  return { host: tokenHost(options), tokens: testTokens(options) };
}

const urlOf = (api: string): string => `https://api.example/${api}/read`;

const send =
  ({ app }: TestHost, api: string) =>
  (headers: Readonly<Record<string, string>>): Test =>
    request(app).get(`/${api}/read`).set(headers);

describe("testKey (RFC 9449 §4.2, 7638 §3)", () => {
  it("signs a proof for each request, which has its own jti", async () => {
    const key = testKey();
    const asked = { method: "GET", url: "https://api.example/orders", token: "abc" };
    const [first, second] = [key.headers(asked), key.headers(asked)];
    expect(first["authorization"]).toBe("DPoP abc");
    const { jwk = {}, ...header } = decodeProtectedHeader(String(first["dpop"]));
    expect(header).toEqual({ typ: "dpop+jwt", alg: "ES256" });
    expect(await calculateJwkThumbprint(jwk as JWK)).toBe(key.thumbprint);
    const { payload } = await jwtVerify(String(first["dpop"]), jwk as JWK);
    expect(payload).toMatchObject({
      htm: "GET",
      htu: "https://api.example/orders",
      ath: "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0",
    });
    expect(payload.jti).not.toBe(claimsOf(String(second["dpop"]))["jti"]);
  });

  it("signs for the token endpoint, without a token", async () => {
    const { host } = await bedOf({});
    const key = testKey();
    const { dpop = "", ...others } = key.headers({ method: "POST", url: `${origin}${pairPath()}/token` });
    expect(others).toEqual({});
    const { status, body } = await ownBound(host, { proofs: [dpop] });
    expect([status, body]).toMatchObject([200, { token_type: "DPoP" }]);
  });

  it("is another one each time", () => {
    expect(testKey().thumbprint).not.toBe(testKey().thumbprint);
  });

  it("is refused in production", () => {
    jest.replaceProperty(process.env, "NODE_ENV", "production");
    expect(testKey).toThrow(expect.objectContaining({ code: "testing-in-production" }));
    jest.restoreAllMocks();
  });
});

describe.each(formats)("bound tokens of the API %s", (api) => {
  const reader = { ...alice, api, scope: `${api}:read` };

  it("pass with the headers of their key, and not as bearer tokens", async () => {
    const { host, tokens } = await bedOf({});
    const key = testKey();
    const token = await tokens.issue({ ...reader, key });
    const asked = { method: "GET", url: urlOf(api), token };
    expect((await send(host, api)(key.headers(asked))).status).toBe(200);
    expect((await send(host, api)(testKey().headers(asked))).status).toBe(401);
    expect((await send(host, api)({ authorization: `Bearer ${token}` })).status).toBe(401);
  });

  it("unbound: are refused as bearer tokens, and with another key", async () => {
    const { host, tokens } = await bedOf({});
    const key = testKey();
    const token = await tokens.unbound({ ...reader, key });
    expect((await send(host, api)({ authorization: `Bearer ${token}` })).status).toBe(401);
    expect(host.events.at(-1)).toMatchObject({ code: "access-token-without-proof" });
    expect((await send(host, api)(key.headers({ method: "GET", url: urlOf(api), token }))).status).toBe(401);
    expect(host.events.at(-1)).toMatchObject({ code: "proof-of-another-key" });
  });

  it("are what checkRoute sends where they are required", async () => {
    const { host, tokens } = await bedOf({ tokens: "required" });
    const sent: string[] = [];
    await tokens.checkRoute({ ...reader, route: { method: "GET", url: urlOf(api) } }, (headers) => {
      sent.push(String(headers["authorization"]).split(" ", 1)[0] ?? "");
      return send(host, api)(headers);
    });
    expect(sent).toEqual([
      "DPoP",
      "undefined",
      ...Array<string>(refusedKinds.length).fill("DPoP"),
      // a bound token in the hands of somebody else
      "Bearer",
      "DPoP",
    ]);
  });

  it("are tried where they are optional: one of them in the hands of somebody else", async () => {
    const { host, tokens } = await bedOf({});
    await tokens.checkRoute(reader, send(host, api));
    await tokens.checkRoute({ ...reader, route: { method: "GET", url: urlOf(api) } }, send(host, api));
    // a route that takes every token as a bearer token
    const careless = (headers: Readonly<Record<string, string>>) =>
      headers["authorization"] !== undefined && claimsOrNothing(headers["authorization"])
        ? { status: 200, headers: {} }
        : send(host, api)(headers);
    const checked = tokens.checkRoute(reader, careless);
    if (api === "orders")
      await expect(checked).rejects.toThrow(
        "- the token that is unbound was answered with 200, not with 401",
      );
    else await checked;
  });
});

/** True for a JWT that is bound to a key. */
function claimsOrNothing(authorization: string): boolean {
  const [, token = ""] = authorization.split(" ");
  return token.includes(".") && claimsOf(token)["cnf"] !== undefined;
}

describe("mistakes with keys in tests", () => {
  it.each<[string, DpopOptions | undefined, object, string]>([
    ["a key at an API without dpop", undefined, { key: testKey() }, "key-without-dpop"],
    ["no key where one is required", { tokens: "required" }, {}, "key-of-token-missing"],
    ["a text in place of a key", {}, { key: testKey().thumbprint }, "wrong-key-of-token"],
    ["null", {}, { key: null }, "wrong-key-of-token"],
    ["another object", {}, { key: { thumbprint: "short" } }, "wrong-key-of-token"],
    ["a key that is undefined", {}, { key: undefined }, "undefined-key"],
  ])("are named: %s", async (_, dpop, changes, code) => {
    const { tokens } = await bedOf(dpop);
    await expect(tokens.issue({ ...alice, api: "orders", ...changes })).rejects.toMatchObject({
      code,
    });
  });

  it("are named: unbound at an API without dpop", async () => {
    const { tokens } = await bedOf();
    await expect(tokens.unbound({ ...alice, api: "orders" })).rejects.toMatchObject({
      code: "key-without-dpop",
    });
  });

  it.each<[DpopOptions, object]>([
    [{ tokens: "required" }, {}],
    [{}, { key: testKey() }],
  ])("are named: a route whose proofs have no URL, with %j", async (dpop, changes) => {
    const { tokens } = await bedOf(dpop);
    const checked = tokens.checkRoute({ ...alice, api: "orders", ...changes }, () => ({
      status: 200,
      headers: {},
    }));
    await expect(checked).rejects.toMatchObject({ code: "route-of-proofs-missing" });
  });

  it("are named: a storage that loses what a token is bound to", async () => {
    const options = await tokenHostOptions({ apis: boundApis() });
    const { accessTokens } = options.storage;
    const create: typeof accessTokens.create = ({ boundKey: _boundKey, ...token }, now) =>
      accessTokens.create(token, now);
    const forgetful = { ...accessTokens, create };
    const tokens = testTokens({ ...options, storage: { ...options.storage, accessTokens: forgetful } });
    await expect(
      tokens.issue({ ...alice, api: "reports", scope: "reports:read", key: testKey() }),
    ).rejects.toThrow("does the storage keep boundKey?");
  });
});
