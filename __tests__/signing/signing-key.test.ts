// Which private keys can sign, and what the messages say of those that cannot.
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import {
  generateSigningKey,
  kindOfKeySource,
  readPrivateKey,
  readSigningKey,
  type SigningKeySource,
} from "../../lib/signing/signing-key";
import { jwtSigner, keyRing } from "../../lib/signing/jwt-signer";

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const jwk = generateSigningKey();
const { d: _d, ...publicJwk } = jwk;
const secp256k1 = generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey;

/** A key of a kind that has a modulus, too, and is no RSA key of RFC 7518. */
function otherKey(type: "rsa-pss" | "dsa"): KeyObject {
  return type === "dsa"
    ? generateKeyPairSync("dsa", { modulusLength: 2_048, divisorLength: 224 }).privateKey
    : generateKeyPairSync("rsa-pss", { modulusLength: 2_048 }).privateKey;
}

describe("a private key that cannot sign (RFC 7518 §3.1)", () => {
  const noAlgorithm = "no supported algorithm (RFC 7518 §3.1) fits this key";
  const notForSigning = "the JWK is not for signing: use must be sig, and kid a string";
  const noTime = "signsFrom must be whole seconds since 1970";

  it.each<[string, unknown, string]>([
    ["a public KeyObject", publicKey, "not a private key"],
    ["a JWK for encryption", { ...jwk, use: "enc" }, notForSigning],
    ["a JWK whose kid is no text", { ...jwk, kid: 7 }, notForSigning],
    ["a curve without an algorithm", secp256k1, noAlgorithm],
    ["an RSA key for one kind of padding only", otherKey("rsa-pss"), noAlgorithm],
    ["a JWK with another key's algorithm", { ...jwk, alg: "RS256" }, noAlgorithm],
    [
      "a JWK of two halves",
      { ...jwk, d: generateSigningKey()["d"] },
      "the private half and the public half do not match",
    ],
    ["a time in milliseconds", { key: jwk, signsFrom: 1_800_000_000_000 }, noTime],
    ["a time before 1970", { key: jwk, signsFrom: -1 }, noTime],
    ["half a second", { key: jwk, signsFrom: 0.5 }, noTime],
  ])("is refused with the reason: %s", (_, source, reason) => {
    expect(() => readSigningKey(source as SigningKeySource)).toThrow(reason);
  });

  it("may have the last of the times that count as seconds", () => {
    expect(readSigningKey({ key: jwk, signsFrom: 1e11 }).signsFrom).toBe(1e11);
  });

  it("signs at once without a time", () => {
    expect(readSigningKey(jwk).signsFrom).toBe(0);
  });
});

describe("what a source that is no private key looks like", () => {
  it.each<[string, unknown, ReturnType<typeof kindOfKeySource>]>([
    ["blank text", " \n", "empty"],
    ["an EC key", publicJwk, "public"],
    [
      "an RSA key",
      createPublicKey({ key: generateSigningKey("RS256"), format: "jwk" }).export({ format: "jwk" }),
      "public",
    ],
    ["an Edwards key", generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }), "public"],
    ["JSON after a line break", `\n ${JSON.stringify(publicJwk)}`, "public"],
    ["a public KeyObject", publicKey, "public"],
    ["a private KeyObject of an unknown curve", secp256k1, "unusable"],
    ["JSON that is cut short", "{", "unusable"],
    ["a private JWK", jwk, "unusable"],
    ["nothing", undefined, "unusable"],
  ])("is named: %s", (_, source, kind) => {
    expect(kindOfKeySource(source)).toBe(kind);
  });
});

describe("a new key (RFC 7517 §4, 7518 §3)", () => {
  it.each([
    ["ES384", "EC"],
    ["PS256", "RSA"],
  ] as const)("for %s is a JWK that is ready for use", (alg, kty) => {
    const made = generateSigningKey(alg);
    const read = readSigningKey(made);
    expect(made).toMatchObject({ kty, alg, use: "sig", kid: read.kid });
    expect(read.algorithm).toBe(alg);
  });

  it("for RSA has 2048 bits", () => {
    const read = readPrivateKey(generateSigningKey("RS256"));
    expect(read.privateKey.asymmetricKeyDetails?.modulusLength).toBe(2_048);
  });
});

describe("the keys whose tokens are accepted (RFC 7517 §5)", () => {
  const now = 10_000;
  const tokenSeconds = 600;
  const [retired, old, active] = [now - 9_000, now - 5_000, now - tokenSeconds + 1].map((signsFrom) =>
    readSigningKey({ key: generateSigningKey(), signsFrom }),
  );

  it("are the published ones: not a retired key, nor one that was dropped", () => {
    const keys = [retired, old, active].filter((key) => key !== undefined);
    const signer = jwtSigner(keyRing({ keys, tokenSeconds }), () => now);
    const stranger = readSigningKey(privateKey);
    expect([...keys, stranger].map((key) => signer.trusts(key))).toEqual([false, true, true, false]);
  });
});
