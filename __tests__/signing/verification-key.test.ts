// The keys of another server, which publishes them as JWK.
import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { readVerificationKey } from "../../lib/signing/verification-key";

type Jwk = Readonly<Record<string, unknown>>;

const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });

function published(key: KeyObject, members: object = {}): Jwk {
  return { ...key.export({ format: "jwk" }), kid: "one", ...members };
}

/** An RSA key of this size. Nobody has its private half, so it need not be made of primes. */
function rsaOf(bits: number, members: object = {}): Jwk {
  const modulus = randomBytes(Math.ceil(bits / 8));
  modulus[0] = bits % 8 === 0 ? 0xff : 2 ** (bits % 8) - 1;
  modulus[modulus.length - 1] = 0xff;
  return { kty: "RSA", n: modulus.toString("base64url"), e: "AQAB", kid: "one", ...members };
}

const ec = published(p256.publicKey);

describe("the public key of another server (RFC 7517 §4, 7518 §3.1)", () => {
  it.each<[string, Jwk, string]>([
    ["EC", ec, "ES256"],
    ["EC that names its algorithm", { ...ec, alg: "ES256" }, "ES256"],
    ["EC for signatures", { ...ec, use: "sig" }, "ES256"],
    ["RSA", rsaOf(2_048), "RS256"],
    ["RSA that names its algorithm", rsaOf(2_048, { alg: "PS384" }), "PS384"],
    ["RSA of the largest size", rsaOf(8_192), "RS256"],
  ])("is read with the one algorithm that it verifies: %s", (_, jwk, algorithm) => {
    const read = readVerificationKey(jwk);
    expect(read).toEqual({ kid: "one", algorithm, publicKey: read?.publicKey });
    expect(read?.publicKey.export({ format: "jwk" })).toMatchObject({ kty: jwk["kty"] });
  });

  it.each<[string, Jwk]>([
    ["no kid", { ...ec, kid: undefined }],
    ["a kid that is no text", { ...ec, kid: 7 }],
    ["a key for encryption", { ...ec, use: "enc" }],
    ["a private key", published(p256.privateKey)],
    ["a private key for another use", published(p256.privateKey, { use: "enc" })],
    ["a symmetric key", { kty: "oct", k: "AAAA", kid: "one" }],
    ["Ed25519", published(generateKeyPairSync("ed25519").publicKey)],
    ["no kty", { ...ec, kty: undefined }],
    ["a weak RSA key", rsaOf(1_024)],
    ["an RSA key that takes long", rsaOf(8_193)],
    ["a point that is not on the curve", { ...ec, x: ec["y"] }],
    ["an algorithm of another kind of key", { ...ec, alg: "RS256" }],
    ["an algorithm for encryption", rsaOf(2_048, { alg: "RSA-OAEP" })],
    ["an algorithm that is null", { ...ec, alg: null }],
  ])("is left out when it cannot verify access tokens: %s", (_, jwk) => {
    expect(readVerificationKey(jwk)).toBeUndefined();
  });
});
