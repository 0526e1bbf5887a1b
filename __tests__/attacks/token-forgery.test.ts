// The attacker holds everything that is public (keys, identifiers, their own genuine tokens) and writes access tokens of their
// own, or presents one kind of value as another. They did not get a private key, nor anybody else's token. Some tokens below
// are signed with the right key all the same: another part of the host may use it for something that is no access token.
import { createPublicKey, sign } from "node:crypto";
import { type Client, memoryStorage, type SigningKeySource } from "../../lib";
import { postAbout, refresh } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClock } from "../hosts/clock";
import {
  answerToToken,
  attackersEcKey,
  ecKey,
  es256,
  type Genuine,
  genuineToken,
  hs256,
  issuedAt,
  type Json,
  newRsaKey,
  ps256,
  refusedToken,
  rs256,
  rsaKey,
  type Sign,
  signingHost,
  tokenPart,
  unsigned,
  writeToken,
} from "../requests/forged-tokens";
import type { TestHost } from "../hosts/host";
import { callApi, obtainTokens } from "../browser/journey";

afterEach(() => jest.restoreAllMocks());

const attackersRsaKey = newRsaKey();
const publicKey = createPublicKey(ecKey);
const publicPem = publicKey.export({ type: "spki", format: "pem" }) as string;
const publicJwk = publicKey.export({ format: "jwk" });

type Forgery = (genuine: Genuine) => string;

function expectRefused(forgeries: Readonly<Record<string, Forgery>>): void {
  it.each(Object.entries(forgeries))("refuses %s", async (_, forge) => {
    stopClock(issuedAt);
    const host = signingHost();
    const own = await genuineToken(host);
    const forged = forge(own);
    expect(forged).not.toBe(own.token);
    expect(answerToToken(await callApi(host, "/orders", forged))).toEqual(refusedToken);
    const introspected = await postAbout(host, { endpoint: "introspect", token: forged });
    expect({ status: introspected.status, body: introspected.body as object }).toEqual({
      status: 200,
      body: { active: false },
    });
    expect((await callApi(host, "/orders", own.token)).status).toBe(200);
  });
}

describe("the signature of an access token (RFC 8725 §2.1, §3.1, §3.2; 9068 §4)", () => {
  const forgeries: Readonly<Record<string, Forgery>> = {
    "no signature": ({ token }) => token.slice(0, token.lastIndexOf(".") + 1),
    "no signature and no dot": ({ token }) => token.slice(0, token.lastIndexOf(".")),
    "alg none": ({ header, claims }) => writeToken({ ...header, alg: "none" }, claims, unsigned),
    "alg None": ({ header, claims }) => writeToken({ ...header, alg: "None" }, claims, unsigned),
    "alg NONE with a signature": ({ header, claims }) =>
      writeToken({ ...header, alg: "NONE" }, claims, es256(ecKey)),
    "an empty alg": ({ header, claims }) => writeToken({ ...header, alg: "" }, claims, unsigned),
    "no alg": ({ header, claims }) => writeToken({ ...header, alg: undefined }, claims, es256(ecKey)),
    "alg as a list": ({ header, claims }) =>
      writeToken({ ...header, alg: ["none", "ES256"] }, claims, es256(ecKey)),
    "alg twice, none last": ({ header, claims }) =>
      writeToken(`{"alg":"ES256",${JSON.stringify({ ...header, alg: "none" }).slice(1)}`, claims, unsigned),
    "HS256 with the public key as PEM": ({ header, claims }) =>
      writeToken({ ...header, alg: "HS256" }, claims, hs256(publicPem)),
    "HS256 with the public key as PEM without its last line break": ({ header, claims }) =>
      writeToken({ ...header, alg: "HS256" }, claims, hs256(publicPem.trimEnd())),
    "HS256 with the public key as DER": ({ header, claims }) =>
      writeToken(
        { ...header, alg: "HS256" },
        claims,
        hs256(publicKey.export({ type: "spki", format: "der" })),
      ),
    "HS256 with the public key as JWK": ({ header, claims }) =>
      writeToken({ ...header, alg: "HS256" }, claims, hs256(JSON.stringify(publicJwk))),
    "HS256 with the key's id": ({ header, claims }) =>
      writeToken({ ...header, alg: "HS256" }, claims, hs256(String(header["kid"]))),
    "HS256 with an empty secret": ({ header, claims }) =>
      writeToken({ ...header, alg: "HS256" }, claims, hs256("")),
    "ES256 in the header and an HMAC with the public key": ({ header, claims }) =>
      writeToken(header, claims, hs256(publicPem)),
    "a signature of zeros (CVE-2022-21449)": ({ header, claims }) =>
      writeToken(header, claims, () => Buffer.alloc(64)),
    "a signature in DER": ({ header, claims }) =>
      writeToken(header, claims, (input) => sign("sha256", Buffer.from(input), ecKey)),
    "another key of the same kind": ({ header, claims }) => writeToken(header, claims, es256(attackersEcKey)),
    "RS256 by the attacker for the id of an EC key": ({ header, claims }) =>
      writeToken({ ...header, alg: "RS256" }, claims, rs256(attackersRsaKey)),
    "RS256 by the second key for the id of the first": ({ header, claims }) =>
      writeToken({ ...header, alg: "RS256" }, claims, rs256(rsaKey)),
    "ES384 for the id of a P-256 key": ({ header, claims }) =>
      writeToken({ ...header, alg: "ES384" }, claims, es256(ecKey)),
    "PS256 by the second key, which signs RS256": ({ claims }) =>
      writeToken({ alg: "PS256", typ: "at+jwt", kid: secondKeyId }, claims, ps256(rsaKey)),
    "ES256 by the first key for the id of the second": ({ header, claims }) =>
      writeToken({ ...header, kid: secondKeyId }, claims, es256(ecKey)),
    "other claims under a genuine signature": ({ header, claims, token }) =>
      `${tokenPart(header)}.${tokenPart({ ...claims, sub: "bob" })}.${token.split(".")[2]}`,
    "another header over a genuine signature": ({ header, claims, token }) =>
      `${tokenPart({ ...header, x: 1 })}.${tokenPart(claims)}.${token.split(".")[2]}`,
    "four parts": ({ token }) => `${token}.${token.split(".")[2]}`,
    "five parts, as of a JWE": ({ token }) => `${token}.e30.e30`,
    "a dot in front": ({ token }) => `.${token}`,
    "two tokens, one behind the other": ({ token }) => `${token}.${token}`,
    "a header that is no object": ({ claims }) => writeToken(`"ES256"`, claims, es256(ecKey)),
    "a header that is no JSON": ({ claims }) => writeToken("{", claims, es256(ecKey)),
    "claims that are no object": ({ header }) => writeToken(header, `"alice"`, es256(ecKey)),
    "claims that are a list": ({ header }) => writeToken(header, "[]", es256(ecKey)),
    "claims that are null": ({ header }) => writeToken(header, "null", es256(ecKey)),
    "claims that are no JSON": ({ header }) => writeToken(header, "alice", es256(ecKey)),
    "only dots": () => "..",
  };

  expectRefused(forgeries);

  it("is checked before a revocation: no forgery ends the genuine token that it was made from", async () => {
    stopClock(issuedAt);
    const host = signingHost();
    const own = await genuineToken(host);
    for (const forge of Object.values(forgeries)) {
      const { status, body } = await postAbout(host, { endpoint: "revoke", token: forge(own) });
      expect({ status, body: body as object }).toEqual({ status: 200, body: {} });
    }
    expect((await callApi(host, "/orders", own.token)).status).toBe(200);
  });
});

let secondKeyId = "";

beforeAll(async () => {
  stopClock(issuedAt);
  const host = signingHost({ signingKeys: [rsaKey] });
  secondKeyId = String((await genuineToken(host)).header["kid"]);
});

const withHeader =
  (added: Json, by: Sign = es256(ecKey)): Forgery =>
  ({ header, claims }) =>
    writeToken({ ...header, ...added }, claims, by);

describe("the header of an access token (RFC 7515 §4.1; 8725 §3.10, §3.11; 9068 §4)", () => {
  const attackersJwk = createPublicKey(attackersEcKey).export({ format: "jwk" });

  expectRefused({
    "an unknown kid": withHeader({ kid: "unknown" }),
    "no kid": withHeader({ kid: undefined }),
    "an empty kid": withHeader({ kid: "" }),
    "a kid that is a list": ({ header, claims }) =>
      writeToken({ ...header, kid: [header["kid"]] }, claims, es256(ecKey)),
    "a kid that is an object": withHeader({ kid: { toString: "x" } }),
    "a kid that is a number": withHeader({ kid: 0 }),
    "a kid that is null": withHeader({ kid: null }),
    "a kid in another letter case": ({ header, claims }) =>
      writeToken({ ...header, kid: String(header["kid"]).toUpperCase() }, claims, es256(ecKey)),
    "a kid with a blank": ({ header, claims }) =>
      writeToken({ ...header, kid: `${String(header["kid"])} ` }, claims, es256(ecKey)),
    "a kid that is a path, with an HMAC of nothing": withHeader(
      { kid: "../../../../../../dev/null", alg: "HS256" },
      hs256(""),
    ),
    "a kid that is a path": withHeader({ kid: "/dev/null" }),
    "a kid that is SQL": withHeader({ kid: "x' UNION SELECT 'secret" }, hs256("secret")),
    "a kid that is a URL": withHeader({ kid: "https://evil.example/key" }, es256(attackersEcKey)),
    "a kid that every object has": withHeader({ kid: "__proto__" }, es256(attackersEcKey)),
    "a kid that is a method of every object": withHeader({ kid: "constructor" }, es256(attackersEcKey)),
    "a key in the header (jwk)": withHeader({ jwk: attackersJwk }, es256(attackersEcKey)),
    "a key in the header (jwk) and no kid": withHeader(
      { jwk: attackersJwk, kid: undefined },
      es256(attackersEcKey),
    ),
    "a key at an address (jku)": withHeader({ jku: "https://evil.example/jwks" }, es256(attackersEcKey)),
    "a certificate at an address (x5u)": withHeader(
      { x5u: "https://evil.example/x5c" },
      es256(attackersEcKey),
    ),
    "a certificate in the header (x5c)": withHeader({ x5c: ["MIIB"] }, es256(attackersEcKey)),
    "extensions that must be understood (crit)": withHeader({ crit: ["exp"] }),
    "an empty list of them": withHeader({ crit: [] }),
    "unencoded claims (b64)": withHeader({ b64: false, crit: ["b64"] }),
    "typ JWT": withHeader({ typ: "JWT" }),
    "no typ": withHeader({ typ: undefined }),
    "typ of another token (dpop+jwt)": withHeader({ typ: "dpop+jwt" }),
    "typ of another token (logout+jwt)": withHeader({ typ: "logout+jwt" }),
    "typ with something behind": withHeader({ typ: "at+jwt; x" }),
    "typ with a line break": withHeader({ typ: "at+jwt\n" }),
    "typ that is a list": withHeader({ typ: ["at+jwt"] }),
  });

  it.each(["at+jwt", "AT+JWT", "application/at+jwt"])("takes typ %s", async (typ) => {
    stopClock(issuedAt);
    const host = signingHost();
    const { header, claims } = await genuineToken(host);
    const token = writeToken({ ...header, typ }, claims, es256(ecKey));
    expect((await callApi(host, "/orders", token)).status).toBe(200);
  });
});

/** The genuine claims but for these, signed by the right key. */
const withClaims =
  (added: Json): Forgery =>
  ({ header, claims }) =>
    writeToken(header, { ...claims, ...added }, es256(ecKey));

describe("the claims of an access token that is rightly signed (RFC 9068 §2.2, §4, §5; 7519 §4.1)", () => {
  const audience = "https://api.example/orders";
  const pair = "https://host.example/login/auth/password/api/orders";

  expectRefused({
    "no exp": withClaims({ exp: undefined }),
    "an exp that is text": withClaims({ exp: String(issuedAt + 600) }),
    "an exp that is null": withClaims({ exp: null }),
    "an exp beyond numbers": ({ header, claims }) =>
      writeToken(
        header,
        `{"exp":1e999,${JSON.stringify({ ...claims, exp: undefined }).slice(1)}`,
        es256(ecKey),
      ),
    "an exp in the past": withClaims({ exp: issuedAt - 1 }),
    "an exp that is this moment": withClaims({ exp: issuedAt }),
    "an exp before 1970": withClaims({ exp: -1 }),
    "an nbf in the future": withClaims({ nbf: issuedAt + 60 }),
    "no jti": withClaims({ jti: undefined }),
    "a jti that is a number": withClaims({ jti: 1 }),
    "no iat": withClaims({ iat: undefined }),
    "an iat that is text": withClaims({ iat: "now" }),
    "no aud": withClaims({ aud: undefined }),
    "the aud of another API": withClaims({ aud: "https://api.example/reports" }),
    "a list of other audiences": withClaims({
      aud: ["https://api.example/reports", "https://api.example/files"],
    }),
    "a list of this API's audience and another one": withClaims({
      aud: [audience, "https://api.example/reports"],
    }),
    "an empty list of audiences": withClaims({ aud: [] }),
    "an aud that begins like this API's": withClaims({ aud: `${audience}/more` }),
    "an aud with a slash behind": withClaims({ aud: `${audience}/` }),
    "an aud in another letter case": withClaims({ aud: audience.toUpperCase() }),
    "an aud that is the issuer": withClaims({ aud: pair }),
    "an aud that is the client": withClaims({ aud: "web" }),
    "no iss": withClaims({ iss: undefined }),
    "an iss elsewhere": withClaims({ iss: "https://evil.example" }),
    "an iss that begins like one of ours": withClaims({ iss: `${pair}/` }),
    "an iss that is only the base URL": withClaims({ iss: "https://host.example/login" }),
    "an iss that is a list": withClaims({ iss: [pair] }),
    "the iss of another API": withClaims({ iss: "https://host.example/login/auth/password/api/reports" }),
    "the iss of no valid pair": withClaims({ iss: "https://host.example/login/auth/none/api/orders" }),
    "no client_id": withClaims({ client_id: undefined }),
    "a client_id that is a list": withClaims({ client_id: ["web"] }),
    "no sub": withClaims({ sub: undefined }),
    "a sub that is an object": withClaims({ sub: { toString: "alice" } }),
    "a sub that is the client, with an authorization": withClaims({ sub: "web" }),
    "an end user without an authorization": withClaims({ authorization_id: undefined }),
    "an authorization that nobody gave": withClaims({ authorization_id: "AAAAAAAAAAAAAAAAAAAAAA" }),
    "an empty authorization_id": withClaims({ authorization_id: "" }),
    "an authorization_id that every object has": withClaims({ authorization_id: "__proto__" }),
    "an authorization_id that is a number": withClaims({ authorization_id: 1 }),
    "an authorization_id that is a list": ({ header, claims }) =>
      writeToken(header, { ...claims, authorization_id: [claims["authorization_id"]] }, es256(ecKey)),
    "an authorization_id that is null": withClaims({ authorization_id: null }),
    "a scope that is a list": withClaims({ scope: ["orders:read"] }),
    "a scope that is malformed": withClaims({ scope: "orders:read  orders:write" }),
  });

  it("of an ID token are none of an access token", async () => {
    stopClock(issuedAt);
    const host = signingHost();
    const { header, claims } = await genuineToken(host);
    const { iss, sub, iat, exp, auth_time } = claims;
    const idToken = { iss, sub, iat, exp, auth_time, aud: "web", nonce: "n", azp: "web" };
    const forged = [
      writeToken({ ...header, typ: "JWT" }, idToken, es256(ecKey)),
      writeToken(header, idToken, es256(ecKey)),
    ];
    for (const token of forged)
      expect(answerToToken(await callApi(host, "/orders", token))).toEqual(refusedToken);
  });

  it("end at exp, to the second", async () => {
    const clock = stopClock(issuedAt);
    const host = signingHost();
    const { token } = await genuineToken(host);
    clock.advance(599);
    expect((await callApi(host, "/orders", token)).status).toBe(200);
    clock.advance(1);
    expect(answerToToken(await callApi(host, "/orders", token))).toEqual(refusedToken);
  });

  it("end at exp even when the token was remembered", async () => {
    const clock = stopClock(issuedAt);
    const host = signingHost({ revocationLagSeconds: 300 });
    const { token } = await genuineToken(host);
    clock.advance(599);
    expect((await callApi(host, "/orders", token)).status).toBe(200);
    clock.advance(1);
    expect(answerToToken(await callApi(host, "/orders", token))).toEqual(refusedToken);
  });
});

/** Hosts that share their storage, as one host before and after a change of its keys. */
function hosts(): (signingKeys: readonly SigningKeySource[]) => TestHost {
  const storage = memoryStorage({ clients: Object.values(clients) satisfies Client[] });
  return (signingKeys) => signingHost({ storage, signingKeys });
}

describe("signing keys that come and go (RFC 7517 §4.5, 8725 §3.2)", () => {
  it("takes a token of the second key while it is configured", async () => {
    stopClock(issuedAt);
    const hostWith = hosts();
    const { token, header } = await genuineToken(hostWith([rsaKey]));
    expect(header).toEqual({ alg: "RS256", typ: "at+jwt", kid: secondKeyId });
    expect((await callApi(hostWith([ecKey, rsaKey]), "/orders", token)).status).toBe(200);
  });

  it("refuses a token of a key that is gone", async () => {
    stopClock(issuedAt);
    const hostWith = hosts();
    const { token } = await genuineToken(hostWith([rsaKey, ecKey]));
    expect(answerToToken(await callApi(hostWith([ecKey]), "/orders", token))).toEqual(refusedToken);
  });

  it("does not start with a JWK whose private half belongs to another public one", () => {
    const mixed = { ...ecKey.export({ format: "jwk" }), d: attackersEcKey.export({ format: "jwk" }).d };
    expect(() => signingHost({ signingKeys: [mixed as SigningKeySource] })).toThrow(
      /^createAuthServer: signingKeys\.0 is not a usable private key\./,
    );
  });

  it("refuses a token of a key that is gone though another one has its name", async () => {
    stopClock(issuedAt);
    const hostWith = hosts();
    const old = { ...attackersEcKey.export({ format: "jwk" }), kid: "current" } as SigningKeySource;
    const current = { ...ecKey.export({ format: "jwk" }), kid: "current" } as SigningKeySource;
    const { token } = await genuineToken(hostWith([old]));
    expect(answerToToken(await callApi(hostWith([current]), "/orders", token))).toEqual(refusedToken);
  });
});

describe("another writing of a genuine token (RFC 8725 §3.2; 7515 §2)", () => {
  const order = BigInt("0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

  /** The other signature of the same text: (r, n - s). */
  function twin(token: string): string {
    const [header, claims, signature = ""] = token.split(".");
    const bytes = Buffer.from(signature, "base64url");
    const s = order - BigInt(`0x${bytes.subarray(32).toString("hex")}`);
    const other = Buffer.concat([
      bytes.subarray(0, 32),
      Buffer.from(s.toString(16).padStart(64, "0"), "hex"),
    ]);
    return `${header}.${claims}.${other.toString("base64url")}`;
  }

  /** Texts that decode to the same bytes: the last character has four bits that say nothing. */
  function sameBytes(token: string): readonly string[] {
    const bytes = Buffer.from(token.split(".")[2] ?? "", "base64url");
    return alphabet
      .split("")
      .map((last) => token.slice(0, -1) + last)
      .filter((text) => Buffer.from(text.split(".")[2] ?? "", "base64url").equals(bytes));
  }

  function writings(token: string): readonly string[] {
    const padded = ["=", "=="].map((padding) => token + padding);
    const standard = token.replaceAll("-", "+").replaceAll("_", "/");
    return [...sameBytes(token), twin(token), ...padded, standard];
  }

  it.each([0, 5])("does not revive a revoked one, with a lag of %d seconds", async (revocationLagSeconds) => {
    const clock = stopClock(issuedAt);
    const host = signingHost({ revocationLagSeconds });
    const { access_token, refresh_token = "" } = await obtainTokens(host, { client: "native" });
    expect((await callApi(host, "/orders", access_token)).status).toBe(200);
    const texts = writings(access_token).filter((text) => text !== access_token);
    expect(texts.length).toBeGreaterThan(15);
    await refresh(host, { client: "native", refreshToken: refresh_token });
    await refresh(host, { client: "native", refreshToken: refresh_token });
    for (const text of texts)
      expect(answerToToken(await callApi(host, "/orders", text))).toEqual(refusedToken);
    clock.advance(revocationLagSeconds);
    for (const text of [access_token, ...texts])
      expect(answerToToken(await callApi(host, "/orders", text))).toEqual(refusedToken);
  });

  it("does not revive one that was revoked by itself", async () => {
    stopClock(issuedAt);
    const host = signingHost();
    const { token } = await genuineToken(host);
    expect((await postAbout(host, { endpoint: "revoke", token: twin(token) })).status).toBe(200);
    for (const text of [token, ...writings(token)])
      expect(answerToToken(await callApi(host, "/orders", text))).toEqual(refusedToken);
  });

  it("does not outlive the first one", async () => {
    const clock = stopClock(issuedAt);
    const host = signingHost({ revocationLagSeconds: 300 });
    const { token } = await genuineToken(host);
    await callApi(host, "/orders", token);
    clock.advance(600);
    for (const text of writings(token))
      expect(answerToToken(await callApi(host, "/orders", text))).toEqual(refusedToken);
  });
});
