import { createHash } from "node:crypto";
import { validateHeaderValue } from "node:http";
import * as fc from "fast-check";
import {
  type AccessToken,
  accessTokenClaims,
  activeAccessToken,
  activeRefreshToken,
  inactive,
  readAccessTokenClaims,
  tokenResponse,
} from "../../lib/protocol/access-token";
import {
  type Authorization,
  type AuthorizationCode,
  isLive,
  ownershipProblem,
  redemptionProblem,
} from "../../lib/protocol/authorization";
import { formatChallenge, readBearerToken } from "../../lib/protocol/bearer-token";
import { digestToken, formatToken, isRandomId, parseTokenHandle } from "../../lib/protocol/token-value";
import {
  accessTokenRecord,
  authorizationRecord,
  codeRecord,
  confidentialRecord,
  issuerRecord,
  publicRecord,
  refreshTokenRecord,
} from "../records/records";

function base64urlOf(bytes: number): fc.Arbitrary<string> {
  const chance = fc.uint8Array({ minLength: bytes, maxLength: bytes });
  return chance.map((drawn) => Buffer.from(drawn).toString("base64url"));
}

describe("code and refresh token values (RFC 6749 §10.10)", () => {
  const id = "Id-_56789012345678901A";
  const random = `${"r".repeat(41)}-_`;

  it("are the authorization's id and 256 random bits, and are known by both", () => {
    const token = formatToken(id, random);
    expect(token).toBe(`${id}.${random}`);
    expect(parseTokenHandle(token)).toEqual({
      authorizationId: id,
      digest: createHash("sha256").update(token).digest("base64url"),
    });
  });

  it("have one digest for each whole value", () => {
    expect(digestToken("abc")).toBe("ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
    const other = formatToken(id.replace("A", "B"), random);
    expect(parseTokenHandle(other)?.digest).not.toBe(parseTokenHandle(formatToken(id, random))?.digest);
  });

  it.each([
    ["nothing", ""],
    ["no dot", `${id}${random}`],
    ["two dots", `${id}.${random}.`],
    ["a short id", `${id.slice(1)}.${random}`],
    ["a long id", `a${id}.${random}`],
    ["a short random part", `${id}.${random.slice(1)}`],
    ["a long random part", `${id}.${random}r`],
    ["a base64 character", `${id}.${random.slice(1)}+`],
    ["a space in front", ` ${id}.${random}`],
    ["a line feed at the end", `${id}.${random}\n`],
    ["a JWT", "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln"],
  ])("are none of ours: %s", (_, token) => {
    expect(parseTokenHandle(token)).toBeUndefined();
  });

  it.each([
    ["an id", id, true],
    ["another id", "-_".repeat(11), true],
    ["nothing", "", false],
    ["one character", "A", false],
    ["a short id", id.slice(1), false],
    ["a long id", `${id}A`, false],
    ["an id with a character in front", `+${id}`, false],
    ["an id with a character behind", `${id}+`, false],
    ["an id with a line feed behind", `${id}\n`, false],
    ["other characters", "+".repeat(22), false],
  ])("have an id in one form: %s", (_, text, expected) => {
    expect(isRandomId(text)).toBe(expected);
  });

  it("are parsed as they were formatted, whatever the random bits", () => {
    fc.assert(
      fc.property(base64urlOf(16), base64urlOf(32), (authorizationId, chance) => {
        const token = formatToken(authorizationId, chance);
        expect(parseTokenHandle(token)).toEqual({ authorizationId, digest: digestToken(token) });
      }),
    );
  });
});

describe("a stored authorization (RFC 6749 §1.3)", () => {
  it.each<[string, Authorization | undefined, number, boolean]>([
    ["lives before its end", authorizationRecord(), 8_999, true],
    ["is dead at its end", authorizationRecord(), 9_000, false],
    ["is dead once revoked", authorizationRecord({ revoked: true }), 1_000, false],
    ["is dead when it is missing", undefined, 1_000, false],
  ])("%s", (_, authorization, now, expected) => {
    expect(isLive(authorization, now)).toBe(expected);
  });
});

const codeVerifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const codeChallenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const redirectUri = "https://web.example/callback";

describe("redemption of a code (RFC 6749 §4.1.3, 7636 §4.6, 9700 §2.1.1)", () => {
  const withChallenge = codeRecord("code", { codeChallenge });
  const bound = { issuer: issuerRecord(), client: confidentialRecord() };

  const problemOf = (
    code: AuthorizationCode,
    redemption: Partial<Parameters<typeof redemptionProblem>[1]> = {},
  ): string | undefined =>
    redemptionProblem(
      { code, authorization: authorizationRecord() },
      { ...bound, redirectUri: undefined, codeVerifier: undefined, key: undefined, ...redemption },
    );

  it.each([
    ["without challenge and redirect_uri", codeRecord(), {}],
    ["with the redirect_uri that was used", codeRecord(), { redirectUri }],
    ["with the verifier of its challenge", withChallenge, { codeVerifier }],
    ["with both", withChallenge, { redirectUri, codeVerifier }],
  ])("has no problem %s", (_, code, redemption) => {
    expect(problemOf(code, redemption)).toBeUndefined();
  });

  it.each([
    [
      "another authentication method",
      codeRecord(),
      { issuer: issuerRecord({}, "otp") },
      "code-of-another-server",
    ],
    ["another API", codeRecord(), { issuer: issuerRecord({ apiId: "files" }) }, "code-of-another-server"],
    [
      "another client",
      codeRecord(),
      { client: confidentialRecord({ clientId: "other" }) },
      "code-of-another-client",
    ],
    [
      "a client whose id differs in case",
      codeRecord(),
      { client: confidentialRecord({ clientId: "WEB" }) },
      "code-of-another-client",
    ],
    ["another redirect_uri", codeRecord(), { redirectUri: `${redirectUri}/` }, "redirect-uri-differs"],
    [
      "a redirect_uri with another port",
      codeRecord("code", { redirectUri: "http://127.0.0.1:51004/cb" }),
      { redirectUri: "http://127.0.0.1:51005/cb" },
      "redirect-uri-differs",
    ],
    [
      "a verifier without an earlier challenge (downgrade)",
      codeRecord(),
      { codeVerifier },
      "code-verifier-without-challenge",
    ],
    ["no verifier for a challenge", withChallenge, {}, "code-verifier-missing"],
    [
      "neither a challenge nor a secret: the client was confidential then, and is public now",
      codeRecord(),
      { client: publicRecord("native", { clientId: "web" }) },
      "public-client-without-challenge",
    ],
    ["another verifier", withChallenge, { codeVerifier: codeVerifier.toUpperCase() }, "code-verifier-wrong"],
    ["the challenge for a verifier", withChallenge, { codeVerifier: codeChallenge }, "code-verifier-wrong"],
  ])("is refused for %s", (_, code, redemption, expected) => {
    expect(problemOf(code, redemption)).toBe(expected);
  });
});

describe("ownership of a refresh token (RFC 6749 §6)", () => {
  it.each([
    ["the same issuer and client", {}, undefined],
    [
      "another authentication method",
      { issuer: "https://host.example/login/auth/otp/api/orders" },
      "refresh-token-of-another-server",
    ],
    [
      "another API",
      { issuer: "https://host.example/login/auth/password/api/files" },
      "refresh-token-of-another-server",
    ],
    ["another client", { clientId: "other" }, "refresh-token-of-another-client"],
  ])("for %s", (_, changes, expected) => {
    const asked = { issuer: issuerRecord(), client: confidentialRecord() };
    expect(ownershipProblem(authorizationRecord(changes), asked)).toBe(expected);
  });
});

const audience = "https://api.example/orders";

function withoutUndefined<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter((entry) => entry[1] !== undefined)) as T;
}

function claimsOf(token: AccessToken): Record<string, unknown> {
  return { ...accessTokenClaims(token, audience) };
}

const { subject: _subject, authorizationId: _authorizationId, ...ownToken } = accessTokenRecord();

describe("access token claims (RFC 9068 §2.2)", () => {
  it("are those of an end user's token", () => {
    const facts = { authTime: 900, acr: "loa2", amr: ["pwd", "otp"] };
    expect(accessTokenClaims(accessTokenRecord(facts), audience)).toStrictEqual({
      iss: "https://host.example/login/auth/password/api/orders",
      aud: audience,
      sub: "alice",
      client_id: "web",
      jti: "T".repeat(22),
      iat: 1_000,
      exp: 1_600,
      scope: "orders:read",
      authorization_id: "A".repeat(22),
      auth_time: 900,
      acr: "loa2",
      amr: ["pwd", "otp"],
    });
  });

  it("name a client as its own subject without an end user (§2.2)", () => {
    expect(accessTokenClaims(ownToken, audience)).toStrictEqual({
      iss: "https://host.example/login/auth/password/api/orders",
      aud: audience,
      sub: "web",
      client_id: "web",
      jti: "T".repeat(22),
      iat: 1_000,
      exp: 1_600,
      scope: "orders:read",
    });
  });

  it("have the end marks of the client and of the API, where there are any", () => {
    const token = { ...ownToken, clientEndMark: "C", apiEndMark: "A" };
    const claims = claimsOf(token);
    expect(claims).toMatchObject({ client_end_mark: "C", api_end_mark: "A" });
    expect(readAccessTokenClaims(claims, audience)).toStrictEqual(token);
    const { api_end_mark: _mark, ...others } = claims;
    expect(readAccessTokenClaims({ ...others, api_end_mark: 5 }, audience)).toStrictEqual({
      ...ownToken,
      clientEndMark: "C",
    });
  });

  it("name the key that the token is bound to (RFC 9449 §6.1)", () => {
    const token = { ...ownToken, boundKey: "k".repeat(43) };
    const claims = claimsOf(token);
    expect(claims).toMatchObject({ cnf: { jkt: "k".repeat(43) } });
    expect(readAccessTokenClaims(claims, audience)).toStrictEqual(token);
    expect(claimsOf(ownToken)).not.toHaveProperty("cnf");
  });

  it("have no scope when there is none: an empty one has no form", () => {
    expect(claimsOf(accessTokenRecord({ scopes: [] }))).not.toHaveProperty("scope");
  });

  it("are read back as the token they came from", () => {
    expect(readAccessTokenClaims(claimsOf(accessTokenRecord()), audience)).toEqual(accessTokenRecord());
    expect(readAccessTokenClaims(claimsOf(ownToken), audience)).toStrictEqual(ownToken);
  });

  it("are read back as any token they came from, also by way of JSON", () => {
    const text = fc.string({ unit: "binary", minLength: 1 });
    const moment = fc.nat();
    const endUser = fc.record(
      { authorizationId: text, subject: text.map((id) => `user ${id}`), authTime: moment, acr: text },
      { requiredKeys: ["authorizationId", "subject"] },
    );
    const amr = fc.option(fc.array(text), { nil: undefined });
    const base = fc.record({
      tokenId: text,
      issuer: text,
      clientId: text.map((id) => `client ${id}`),
      scopes: fc.uniqueArray(fc.constantFrom("a", "b", "orders:read", "~!#")),
      issuedAt: moment,
      expiresAt: moment,
    });
    fc.assert(
      fc.property(base, fc.oneof(fc.constant({}), endUser), amr, (fixed, person, methods) => {
        const token: AccessToken = withoutUndefined({ ...fixed, ...person, amr: methods as never });
        const claims = JSON.parse(JSON.stringify(accessTokenClaims(token, audience))) as object;
        expect(readAccessTokenClaims({ ...claims }, audience)).toEqual(token);
      }),
    );
  });
});

describe("refusals of access token claims (RFC 9068 §4)", () => {
  const good = claimsOf(accessTokenRecord({ authTime: 900, acr: "loa2", amr: ["pwd"] }));

  it.each(["iss", "aud", "sub", "client_id", "jti", "iat", "exp"])("when %s is missing", (name) => {
    const claims = { ...good };
    delete claims[name];
    expect(readAccessTokenClaims(claims, audience)).toBeUndefined();
  });

  it.each([
    ["iss is no text", { iss: ["https://host.example"] }],
    ["aud is another API", { aud: "https://api.example/files" }],
    ["aud only begins like the API", { aud: `${audience}/` }],
    ["aud is a list of other APIs", { aud: ["https://api.example/files"] }],
    ["aud is a list with this API in it", { aud: [audience, "https://api.example/files"] }],
    ["sub is no text", { sub: 5 }],
    ["client_id is no text", { client_id: { id: "web" } }],
    ["jti is no text", { jti: 5 }],
    ["iat is a text", { iat: "1000" }],
    ["exp is a text", { exp: "1600" }],
    ["exp is no number", { exp: Number.NaN }],
    ["exp never comes", { exp: Number.POSITIVE_INFINITY }],
    ["exp is null", { exp: null }],
    ["scope is malformed", { scope: "orders:read  orders:write" }],
    ["scope is a list", { scope: ["orders:read"] }],
    ["scope is an object", { scope: {} }],
    ["an end user's name stands without an authorization", { authorization_id: undefined }],
    ["the client is the subject of an end user's token", { sub: "web" }],
    ["there is an nbf, which no token of ours has", { nbf: 1_000 }],
    ["cnf names a certificate", { cnf: { "x5t#S256": "A".repeat(43) } }],
    ["cnf names a certificate beside the key", { cnf: { jkt: "A".repeat(43), "x5t#S256": "A".repeat(43) } }],
    ["cnf is empty", { cnf: {} }],
    ["cnf is null", { cnf: null }],
    ["cnf is a text", { cnf: "A".repeat(43) }],
    ["cnf is a list", { cnf: ["A".repeat(43)] }],
    ["the thumbprint in cnf is too short", { cnf: { jkt: "A".repeat(42) } }],
    ["the thumbprint in cnf is no base64url", { cnf: { jkt: `${"A".repeat(42)}+` } }],
    ["the thumbprint in cnf is no text", { cnf: { jkt: ["A".repeat(43)] } }],
    ["authorization_id is no text, so that nobody could revoke it", { authorization_id: 5 }],
  ])("when %s", (_, changes) => {
    expect(readAccessTokenClaims({ ...good, ...changes }, audience)).toBeUndefined();
  });

  it("when there are no claims", () => {
    expect(readAccessTokenClaims({}, audience)).toBeUndefined();
  });

  it.each([
    ["auth_time", { auth_time: "900" }, "authTime"],
    ["acr", { acr: 2 }, "acr"],
    ["amr", { amr: ["pwd", 5] }, "amr"],
  ])("leaves out %s, which is optional, when it has another type", (_, changes, property) => {
    const token = readAccessTokenClaims({ ...good, ...changes }, audience);
    expect(token?.subject).toBe("alice");
    expect(token).not.toHaveProperty(property);
  });
});

describe("bearer token in the header (RFC 6750 §2.1)", () => {
  it.each([
    ["a token", "Bearer abc", "abc"],
    ["the scheme in lower case", "bearer abc", "abc"],
    ["the scheme in upper case", "BEARER abc", "abc"],
    ["several spaces", "Bearer    abc", "abc"],
    ["a space at the end", "Bearer abc ", "abc"],
    ["every character of b64token", "Bearer azAZ09-._~+/==", "azAZ09-._~+/=="],
    ["a token that is called like the scheme", "Bearer bearer", "bearer"],
  ])("is read: %s", (_, header, token) => {
    expect(readBearerToken(header)).toEqual({ kind: "token", token });
  });

  it.each([
    ["no header", undefined],
    ["an empty header", ""],
    ["another scheme", "Basic abc"],
    ["a scheme that begins like it", "BearerX abc"],
    ["a scheme that ends like it", "XBearer abc"],
    ["a token without scheme", "abc"],
  ])("is absent: %s", (_, header) => {
    expect(readBearerToken(header)).toEqual({ kind: "absent" });
  });

  it.each([
    ["the scheme alone", "Bearer"],
    ["the scheme and a space", "Bearer "],
    ["two tokens", "Bearer abc def"],
    ["two headers in one", "Bearer abc, Bearer def"],
    ["a tab", "Bearer\tabc"],
    ["a padding alone", "Bearer ="],
    ["a padding inside", "Bearer ab=c"],
    ["quotes", 'Bearer "abc"'],
    ["an auth-param", 'Bearer realm="abc"'],
    ["a character beyond ASCII", "Bearer äbc"],
    ["a line feed", "Bearer abc\n"],
    ["a NUL", "Bearer abc\0"],
  ])("is malformed: %s", (_, header) => {
    expect(readBearerToken(header)).toEqual({ kind: "malformed" });
  });

  it("is read as it was sent", () => {
    const unit = fc.constantFrom(...Array.from("azAZ09-._~+/"));
    const token = fc
      .tuple(fc.string({ unit, minLength: 1 }), fc.nat(2))
      .map(([text, pads]) => text + "=".repeat(pads));
    fc.assert(
      fc.property(token, (sent) => {
        expect(readBearerToken(`Bearer ${sent}`)).toEqual({ kind: "token", token: sent });
      }),
    );
  });
});

describe("challenge (RFC 6750 §3, 9110 §11.6.1)", () => {
  it("is written in the order of its parameters", () => {
    const challenge = formatChallenge("Bearer", {
      realm: "https://api.example/orders",
      resource_metadata: "https://api.example/.well-known/oauth-protected-resource/orders",
      error: "insufficient_scope",
      error_description: "The access token lacks a scope.",
      scope: "orders:read orders:write",
    });
    expect(challenge).toBe(
      'Bearer realm="https://api.example/orders", ' +
        'resource_metadata="https://api.example/.well-known/oauth-protected-resource/orders", ' +
        'error="insufficient_scope", error_description="The access token lacks a scope.", ' +
        'scope="orders:read orders:write"',
    );
  });

  it.each([
    ["a quotation mark", 'a"b', 'a\\"b'],
    ["a backslash", "a\\b", "a\\\\b"],
    ["a backslash before a quotation mark", '\\"', '\\\\\\"'],
    ["a line end", "a\r\nSet-Cookie: b", "a??Set-Cookie: b"],
    ["a NUL and a tab", "\0\t", "??"],
    ["DEL", "\u007f", "?"],
    ["characters beyond ASCII", "Bücher", "B?cher"],
    ["a comma and an equals sign", 'a, error="b"', 'a, error=\\"b\\"'],
  ])("escapes %s", (_, realm, written) => {
    expect(formatChallenge("Basic", { realm })).toBe(`Basic realm="${written}"`);
  });

  it("has one realm and nothing behind it, whatever the realm", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (realm) => {
        const challenge = formatChallenge("Bearer", { realm });
        const quoted = /^Bearer realm="((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*)"$/.exec(challenge);
        expect(quoted?.[1]?.replaceAll(/\\(.)/g, "$1")).toBe(realm.replaceAll(/[^\x20-\x7e]/g, "?"));
        expect(() => validateHeaderValue("WWW-Authenticate", challenge)).not.toThrow();
      }),
    );
  });
});

describe("token response (RFC 6749 §5.1)", () => {
  const issued = {
    accessToken: "an access token",
    accessTokenSeconds: 600,
    refreshToken: "a refresh token",
    scopes: ["a", "b"],
  };

  it("has all members", () => {
    expect(tokenResponse(issued)).toEqual({
      access_token: "an access token",
      token_type: "bearer",
      expires_in: 600,
      refresh_token: "a refresh token",
      scope: "a b",
    });
  });

  it("leaves out what there is not, instead of writing null", () => {
    expect(tokenResponse({ ...issued, refreshToken: undefined, scopes: [] })).toStrictEqual({
      access_token: "an access token",
      token_type: "bearer",
      expires_in: 600,
    });
  });
});

describe("introspection response (RFC 7662 §2.2)", () => {
  it("of any token that is not active says nothing but that", () => {
    expect(inactive).toEqual({ active: false });
  });

  it("of an access token has its claims", () => {
    const facts = { authTime: 900, acr: "urn:acr:2", amr: ["pwd", "otp"] };
    expect(activeAccessToken(accessTokenRecord({ ...facts, scopes: ["a", "b"] }), issuerRecord())).toEqual({
      active: true,
      token_type: "bearer",
      iss: "https://host.example/login/auth/password/api/orders",
      aud: "https://api.example/orders",
      sub: "alice",
      client_id: "web",
      jti: "T".repeat(22),
      iat: 1_000,
      exp: 1_600,
      scope: "a b",
      authorization_id: "A".repeat(22),
      auth_time: 900,
      acr: "urn:acr:2",
      amr: ["pwd", "otp"],
    });
  });

  it("of a client's own access token has the client as subject and no scope when there is none", () => {
    const { subject: _, authorizationId: __, ...token } = accessTokenRecord({ scopes: [] });
    expect(activeAccessToken(token, issuerRecord())).toEqual({
      active: true,
      token_type: "bearer",
      iss: "https://host.example/login/auth/password/api/orders",
      aud: "https://api.example/orders",
      sub: "web",
      client_id: "web",
      jti: "T".repeat(22),
      iat: 1_000,
      exp: 1_600,
    });
  });

  it.each([
    [["orders:read", "orders:write"], { scope: "orders:read orders:write" }],
    [[], {}],
  ])(
    "of a refresh token with the scopes %j has its own end, no audience and no type",
    (grantedScopes, scope) => {
      const authorization = authorizationRecord({ grantedScopes });
      expect(activeRefreshToken({ token: refreshTokenRecord(), authorization }, issuerRecord())).toEqual({
        active: true,
        iss: "https://host.example/login/auth/password/api/orders",
        client_id: "web",
        sub: "alice",
        exp: 2_000,
        ...scope,
      });
    },
  );
});
