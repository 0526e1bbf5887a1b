import {
  constants,
  createHash,
  createHmac,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";
import * as fc from "fast-check";
import type { AccessTokenClaims } from "../../lib/protocol/access-token";
import { jwtSigner, keyRing, signJwt } from "../../lib/signing/jwt-signer";
import type { VerifiedClaims } from "../../lib/signing/port";
import {
  generateSigningKey,
  type PrivateJwk,
  readPrivateKey,
  readSigningKey,
  type SigningKey,
} from "../../lib/signing/signing-key";

/** All of these keys are in this process, so nothing is waited for. */
function signerOf(keys: readonly SigningKey[]): {
  sign(claims: AccessTokenClaims): string;
  verify(token: string): VerifiedClaims | undefined;
} {
  const now = 1_800_000_000;
  const at = jwtSigner(keyRing({ keys, tokenSeconds: 3_600 }), () => now);
  return { sign: (payload) => at.sign(payload) as string, verify: (token) => at.verify(token, now) };
}

function ecKey(namedCurve: string): KeyObject {
  return generateKeyPairSync("ec", { namedCurve }).privateKey;
}

function rsaKey(modulusLength: number): KeyObject {
  return generateKeyPairSync("rsa", { modulusLength }).privateKey;
}

function jwkOf(key: KeyObject, members: object = {}): PrivateJwk {
  return { ...key.export({ format: "jwk" }), ...members } as PrivateJwk;
}

/** The thumbprint of RFC 7638 §3, its JSON written by hand. */
function thumbprint(key: KeyObject | Readonly<Record<string, unknown>>): string {
  const { crv, e, n, x, y } = (
    "export" in key ? (key as KeyObject).export({ format: "jwk" }) : key
  ) as Record<"crv" | "e" | "n" | "x" | "y", string | undefined>;
  const json =
    n === undefined
      ? `{"crv":"${crv}","kty":"EC","x":"${x}","y":"${y}"}`
      : `{"e":"${e}","kty":"RSA","n":"${n}"}`;
  return createHash("sha256").update(json).digest("base64url");
}

const p256 = ecKey("P-256");
const rsa = rsaKey(2048);

describe("signing key sources (RFC 7517, 7518 §3.1)", () => {
  it.each([
    ["PKCS #8 PEM", () => p256.export({ format: "pem", type: "pkcs8" }) as string, "ES256"],
    ["SEC 1 PEM", () => p256.export({ format: "pem", type: "sec1" }) as string, "ES256"],
    ["PKCS #1 PEM", () => rsa.export({ format: "pem", type: "pkcs1" }) as string, "RS256"],
    ["JWK", () => jwkOf(p256), "ES256"],
    ["KeyObject", () => p256, "ES256"],
  ])("are read from %s", (_, source, algorithm) => {
    const key = readPrivateKey(source());
    expect(key.algorithm).toBe(algorithm);
    expect(key.privateKey.type).toBe("private");
    expect(key.publicKey.equals(createPublicKey(algorithm === "ES256" ? p256 : rsa))).toBe(true);
  });

  it.each([
    ["P-256", "ES256"],
    ["P-384", "ES384"],
    ["P-521", "ES512"],
  ])("sign with the algorithm of their curve: %s %s", (curve, algorithm) => {
    expect(readSigningKey(ecKey(curve)).algorithm).toBe(algorithm);
  });

  it.each(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"])(
    "sign with the algorithm that an RSA JWK names: %s",
    (alg) => {
      expect(readSigningKey(jwkOf(rsa, { alg })).algorithm).toBe(alg);
    },
  );

  it("take the kid of a JWK", () => {
    expect(readSigningKey(jwkOf(p256, { kid: "2026-11" })).kid).toBe("2026-11");
  });

  const publicKey = createPublicKey(p256);
  const { d: _d, ...publicJwk } = jwkOf(p256);

  it.each<[string, () => unknown]>([
    ["the curve secp256k1", () => ecKey("secp256k1")],
    ["the curve P-224", () => ecKey("secp224r1")],
    ["Ed25519", () => generateKeyPairSync("ed25519").privateKey],
    ["X25519", () => generateKeyPairSync("x25519").privateKey],
    ["an RSA key of 1024 bits", () => rsaKey(1024)],
    ["an RSA key of 2040 bits", () => rsaKey(2040)],
    ["a public key", () => publicKey],
    ["a public PEM", () => publicKey.export({ format: "pem", type: "spki" })],
    ["a public JWK", () => publicJwk],
    ["a symmetric key", () => createSecretKey(Buffer.alloc(32))],
    ["a symmetric JWK", () => ({ kty: "oct", k: "AAAA", alg: "HS256" })],
    [
      "a PEM that is encrypted",
      () => p256.export({ format: "pem", type: "pkcs8", cipher: "aes-256-cbc", passphrase: "secret" }),
    ],
    ["text that is no PEM", () => "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----"],
    ["an empty text", () => ""],
    ["an empty object", () => ({})],
    ["undefined", () => undefined],
    ["a JWK with the algorithm none", () => jwkOf(p256, { alg: "none" })],
    ["a JWK with the algorithm HS256", () => jwkOf(p256, { alg: "HS256" })],
    ["an EC JWK with an RSA algorithm", () => jwkOf(p256, { alg: "RS256" })],
    ["an RSA JWK with an EC algorithm", () => jwkOf(rsa, { alg: "ES256" })],
    ["a P-256 JWK with the algorithm of P-384", () => jwkOf(p256, { alg: "ES384" })],
    ["a JWK with an encryption algorithm", () => jwkOf(rsa, { alg: "RSA-OAEP" })],
    ["a JWK whose halves do not belong together", () => jwkOf(p256, { d: jwkOf(ecKey("P-256"))["d"] })],
    ["a JWK whose kid is no text: no token would verify", () => jwkOf(p256, { kid: 7 })],
  ])("are refused: %s", (_, source) => {
    expect(() => readSigningKey(source() as string)).toThrow();
  });

  it("are made again as P-256", () => {
    const made = generateSigningKey();
    expect(readSigningKey(made)).toMatchObject({ algorithm: "ES256", kid: made.kid });
    expect(generateSigningKey().kid).not.toBe(made.kid);
  });
});

describe("kid (RFC 7638 §3)", () => {
  it("has the thumbprint of RFC 7638 §3.1 as its measure", () => {
    const example = {
      e: "AQAB",
      n: "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
    };
    expect(thumbprint(example)).toBe("NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
  });

  it.each([
    ["P-256", p256],
    ["P-384", ecKey("P-384")],
    ["P-521", ecKey("P-521")],
    ["RSA", rsa],
  ])("is the thumbprint of a %s key that has no name", (_, key) => {
    expect(readSigningKey(key).kid).toBe(thumbprint(key));
  });

  it("is the same whatever form the key comes in", () => {
    const forms = [p256, jwkOf(p256), p256.export({ format: "pem", type: "sec1" }) as string];
    expect(new Set(forms.map((form) => readSigningKey(form).kid))).toEqual(new Set([thumbprint(p256)]));
  });
});

function part(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

function decode(token: string): unknown[] {
  return token
    .split(".")
    .slice(0, 2)
    .map((text) => JSON.parse(Buffer.from(text, "base64url").toString()) as unknown);
}

/** A JWT made by hand: any header, any payload, any way to sign. */
function forge(header: unknown, payload: unknown, signature: (input: Buffer) => Buffer): string {
  const input = `${part(header)}.${part(payload)}`;
  return `${input}.${signature(Buffer.from(input)).toString("base64url")}`;
}

function withEc(key: KeyObject): (input: Buffer) => Buffer {
  return (input) => sign("sha256", input, { key, dsaEncoding: "ieee-p1363" });
}

function withHmac(key: string | Buffer): (input: Buffer) => Buffer {
  return (input) => createHmac("sha256", key).update(input).digest();
}

function unsigned(): Buffer {
  return Buffer.alloc(0);
}

const claims = { sub: "alice", iat: 1_000, exp: 1_600 };
const active = readSigningKey(p256);
const header = { alg: "ES256", typ: "at+jwt", kid: active.kid };
const signer = signerOf([active]);

describe("signing access tokens (RFC 9068 §2.1)", () => {
  it("names the type, the algorithm and the key, and adds no claim", () => {
    expect(decode(signer.sign(claims))).toEqual([header, claims]);
  });

  it("leaves the claims that it was given as they are", () => {
    const frozen = Object.freeze({ ...claims });
    expect(signer.verify(signer.sign(frozen))?.claims).toEqual(claims);
  });

  it.each([
    ["ES384", () => readSigningKey(ecKey("P-384"))],
    ["ES512", () => readSigningKey(ecKey("P-521"))],
    ["RS256", () => readSigningKey(rsa)],
    ["PS256", () => readSigningKey(jwkOf(rsa, { alg: "PS256" }))],
    ["RS512", () => readSigningKey(jwkOf(rsa, { alg: "RS512", kid: "named" }))],
  ])("signs with %s and verifies it", (algorithm, read) => {
    const key = read();
    const token = signerOf([key]).sign(claims);
    expect(decode(token)[0]).toEqual({ alg: algorithm, typ: "at+jwt", kid: key.kid });
    expect(signerOf([key]).verify(token)?.claims).toEqual(claims);
  });

  // RFC 8725 §3.11: the type keeps one kind of JWT from being taken for another
  it("signs a JWT of another type, which is no access token", () => {
    const token = signJwt(active, { typ: "JWT", claims }) as string;
    expect(decode(token)).toEqual([{ ...header, typ: "JWT" }, claims]);
    expect(signer.verify(token)).toBeUndefined();
  });

  it("signs with the first of several keys", () => {
    const second = readSigningKey(ecKey("P-256"));
    expect(decode(signerOf([second, active]).sign(claims))[0]).toEqual({ ...header, kid: second.kid });
  });
});

describe("verifying access tokens (RFC 9068 §4, 8725 §3)", () => {
  it("takes a token that is made like ours", () => {
    expect(signer.verify(forge(header, claims, withEc(p256)))?.claims).toEqual(claims);
  });

  it.each(["at+jwt", "application/at+jwt", "AT+JWT", "application/AT+jwt"])("takes the type %s", (typ) => {
    expect(signer.verify(forge({ ...header, typ }, claims, withEc(p256)))?.claims).toEqual(claims);
  });

  it.each([
    ["expired", { ...claims, exp: 1 }],
    ["not valid yet", { ...claims, nbf: 9_999_999_999 }],
    ["of the future", { ...claims, iat: 9_999_999_999 }],
  ])("says nothing about time: %s", (_, payload) => {
    expect(signer.verify(forge(header, payload, withEc(p256)))?.claims).toEqual(payload);
  });

  it("still takes the tokens of a key that signs no more", () => {
    const next = readSigningKey(ecKey("P-256"));
    expect(signerOf([next, active]).verify(signer.sign(claims))?.claims).toEqual(claims);
  });

  it("refuses the tokens of a key that was taken out", () => {
    expect(signerOf([readSigningKey(ecKey("P-256"))]).verify(signer.sign(claims))).toBeUndefined();
  });

  it("refuses a payload under another's header and signature", () => {
    const [headerPart, , signature] = signer.sign(claims).split(".");
    const promoted = part({ ...claims, sub: "admin" });
    expect(signer.verify(`${headerPart}.${promoted}.${signature}`)).toBeUndefined();
  });
});

describe("access tokens that are forged or changed (RFC 9068 §4, 8725 §3)", () => {
  const stranger = readPrivateKey(ecKey("P-256"));

  const publicJwk = stranger.publicKey.export({ format: "jwk" });

  const publicPem = active.publicKey.export({ format: "pem", type: "spki" });

  const publicDer = active.publicKey.export({ format: "der", type: "spki" });

  it.each<[string, () => string]>([
    ["the algorithm none", () => forge({ ...header, alg: "none" }, claims, unsigned)],
    ["the algorithm None", () => forge({ ...header, alg: "None" }, claims, unsigned)],
    ["the algorithm none, signed", () => forge({ ...header, alg: "none" }, claims, withEc(p256))],
    ["no signature", () => forge(header, claims, unsigned)],
    ["a signature of zeros", () => forge(header, claims, () => Buffer.alloc(64))],
    [
      "HS256 with the public key as PEM",
      () => forge({ ...header, alg: "HS256" }, claims, withHmac(publicPem)),
    ],
    [
      "HS256 with the public key as trimmed PEM",
      () => forge({ ...header, alg: "HS256" }, claims, withHmac((publicPem as string).trim())),
    ],
    [
      "HS256 with the public key as DER",
      () => forge({ ...header, alg: "HS256" }, claims, withHmac(publicDer)),
    ],
    ["HS256 with an empty key", () => forge({ ...header, alg: "HS256" }, claims, withHmac(""))],
    ["the algorithm in lower case", () => forge({ ...header, alg: "es256" }, claims, withEc(p256))],
    ["no algorithm", () => forge({ ...header, alg: undefined }, claims, withEc(p256))],
    ["an unknown kid", () => forge({ ...header, kid: stranger.kid }, claims, withEc(stranger.privateKey))],
    ["our kid and another's signature", () => forge(header, claims, withEc(stranger.privateKey))],
    ["another's kid and our signature", () => forge({ ...header, kid: stranger.kid }, claims, withEc(p256))],
    ["no kid", () => forge({ ...header, kid: undefined }, claims, withEc(p256))],
    ["a kid that is no text", () => forge({ ...header, kid: [active.kid] }, claims, withEc(p256))],
    ["a kid that every object inherits", () => forge({ ...header, kid: "__proto__" }, claims, withEc(p256))],
    ["the type of an ID token", () => forge({ ...header, typ: "JWT" }, claims, withEc(p256))],
    ["no type", () => forge({ ...header, typ: undefined }, claims, withEc(p256))],
    ["a type that begins like ours", () => forge({ ...header, typ: "at+jwt2" }, claims, withEc(p256))],
    ["a type that is no text", () => forge({ ...header, typ: ["at+jwt"] }, claims, withEc(p256))],
    ["a crit header", () => forge({ ...header, crit: ["exp"], exp: 1 }, claims, withEc(p256))],
    ["an empty crit header", () => forge({ ...header, crit: [] }, claims, withEc(p256))],
    ["a payload that is a text", () => forge(header, "hello", withEc(p256))],
    ["a payload that is null", () => forge(header, "null", withEc(p256))],
    ["a header that is null", () => forge("null", claims, withEc(p256))],
    ["a header that is a list", () => forge([header], claims, withEc(p256))],
    ["a header that is no JSON", () => forge("header", claims, withEc(p256))],
    ["a DER signature", () => forge(header, claims, (input) => sign("sha256", input, p256))],
  ])("refuses %s", (_, make) => {
    expect(signer.verify(make())).toBeUndefined();
  });

  it.each([
    ["jwk", publicJwk],
    ["jku", "https://evil.example/jwks"],
    ["x5u", "https://evil.example/certificate"],
    ["x5c", ["MIIB"]],
  ])("takes no key from the token: %s", (name, value) => {
    const kids = [active.kid, stranger.kid, undefined];
    const verified = kids.map((kid) =>
      signer.verify(forge({ ...header, kid, [name]: value }, claims, withEc(stranger.privateKey))),
    );
    expect(verified).toEqual([undefined, undefined, undefined]);
  });

  it("keeps to the algorithm of the key that kid names", () => {
    const both: [SigningKey, SigningKey] = [active, readSigningKey(rsa)];
    const rs256 = { alg: "RS256", typ: "at+jwt", kid: both[1].kid };
    const rs = (input: Buffer): Buffer => sign("sha256", input, rsa);
    const ps = (input: Buffer): Buffer =>
      sign("sha256", input, { key: rsa, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 });
    const sha384 = (input: Buffer): Buffer => sign("sha384", input, rsa);
    const verify = (token: string): unknown => signerOf(both).verify(token)?.claims;
    expect(verify(forge(rs256, claims, rs))).toEqual(claims);
    expect(verify(forge({ ...rs256, alg: "PS256" }, claims, ps))).toBeUndefined();
    expect(verify(forge({ ...rs256, alg: "RS384" }, claims, sha384))).toBeUndefined();
    expect(verify(forge({ ...rs256, alg: "ES256" }, claims, withEc(p256)))).toBeUndefined();
    expect(verify(forge({ ...header, alg: "RS256" }, claims, rs))).toBeUndefined();
    const named = readSigningKey(jwkOf(rsa, { alg: "PS256" }));
    expect(signerOf([named]).verify(forge({ ...rs256, alg: "PS256" }, claims, ps))?.claims).toEqual(claims);
    expect(signerOf([named]).verify(forge(rs256, claims, rs))).toBeUndefined();
  });

  it("refuses a token when any of its characters is another", () => {
    const token = signer.sign(claims);
    const signatureStart = token.lastIndexOf(".") + 1;
    const places = Array.from({ length: token.length }, (_, at) => at);
    const accepted = places.filter((at) => {
      const other = token[at] === "A" ? "B" : "A";
      return signer.verify(token.slice(0, at) + other + token.slice(at + 1)) !== undefined;
    });
    expect(accepted).toEqual([]);
    expect(signer.verify(token.slice(0, signatureStart))).toBeUndefined();
  });

  it("refuses every other writing of the same signature (RFC 7515 §2)", () => {
    const token = signer.sign(claims);
    // the last character holds bits that mean nothing
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/ ";
    const others = letters
      .split("")
      .map((last) => token.slice(0, -1) + last)
      .concat(`${token}=`, `${token} `);
    expect(others.filter((other) => signer.verify(other) !== undefined)).toEqual([token]);
  });

  it("refuses any text that is no token of ours, and never throws", () => {
    const known = signer.sign(claims).split(".");
    const piece = fc.oneof(
      fc.constantFrom(...known, ".", "..", ""),
      fc.string(),
      fc.json().map((text) => part(text)),
    );
    const text = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join("."));
    fc.assert(
      fc.property(text, (token) => {
        fc.pre(token !== known.join("."));
        expect(signer.verify(token)).toBeUndefined();
      }),
    );
  });
});
