import type { PublicJwk } from "../../lib";
import { isPrivateKey, keySetProblem, parseKeySet, readClientKey } from "../../lib/clients/client-key";
import type { AssertionAlgorithm } from "../../lib/protocol/client-assertion";
import { publicKeys } from "../requests/client-assertions";

const [ec, rsa, okp] = publicKeys as readonly [PublicJwk, PublicJwk, PublicJwk];

describe("what a key is meant for (RFC 7517 §4.2 to §4.4, 7518 §3.1, 8037 §3.1)", () => {
  it.each<[string, AssertionAlgorithm, boolean, PublicJwk]>([
    ["EC", "ES256", true, ec],
    ["EC with its alg", "ES256", true, { ...ec, alg: "ES256" }],
    ["EC with the alg of another key", "ES256", false, { ...ec, alg: "EdDSA" }],
    ["EC with the other name of that", "ES256", false, { ...ec, alg: "Ed25519" }],
    ["EC", "RS256", false, ec],
    ["EC on another curve", "ES256", false, { ...ec, crv: "P-384" }],
    ["RSA", "RS256", true, rsa],
    ["RSA", "PS256", true, rsa],
    ["RSA for the other padding", "RS256", false, { ...rsa, alg: "PS256" }],
    ["RSA with the alg of another key", "RS256", false, { ...rsa, alg: "EdDSA" }],
    ["RSA with a crv, which says nothing there", "RS256", true, { ...rsa, crv: "P-256" }],
    ["Ed25519", "EdDSA", true, okp],
    ["Ed25519 with its alg", "EdDSA", true, { ...okp, alg: "EdDSA" }],
    ["Ed25519 with the other name", "EdDSA", true, { ...okp, alg: "Ed25519" }],
    ["Ed25519 with the other name", "Ed25519", true, { ...okp, alg: "EdDSA" }],
    ["Ed25519 with the alg of another key", "EdDSA", false, { ...okp, alg: "ES256" }],
    ["a key for signatures", "ES256", true, { ...ec, use: "sig" }],
    ["a key for encryption", "ES256", false, { ...ec, use: "enc" }],
    ["a key that verifies", "ES256", true, { ...ec, key_ops: ["verify"] }],
    ["a key that does not verify", "ES256", false, { ...ec, key_ops: ["sign"] }],
    ["key_ops that are a text", "ES256", false, { ...ec, key_ops: "verify" }],
    ["a key without a part", "ES256", false, { ...ec, x: undefined }],
  ])("is read from it: %s, %s is %s", (_, algorithm, expected, key) => {
    expect(readClientKey(key, algorithm) !== undefined).toBe(expected);
  });
});

/** An unsigned number as JWKs have it. */
function numberText(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex").toString("base64url");
}

/** An RSA key with a modulus of so many bits, all of them 1, and this exponent. Nobody can sign with it. */
function rsaOf({ bits = 2048, exponent = 65_537n }: { bits?: number; exponent?: bigint }): PublicJwk {
  return { kty: "RSA", n: numberText(2n ** BigInt(bits) - 1n), e: numberText(exponent) };
}

describe("the size of an RSA key (RFC 7518 §3.3)", () => {
  it.each<[{ bits?: number; exponent?: bigint }, boolean]>([
    [{ bits: 2047 }, false],
    [{ bits: 2048 }, true],
    [{ bits: 8192 }, true],
    [{ bits: 8193 }, false],
    [{ exponent: 1n }, false],
    [{ exponent: 2n }, false],
    [{ exponent: 3n }, true],
    [{ exponent: 2n ** 33n - 1n }, true],
    [{ exponent: 2n ** 33n }, false],
    [{ exponent: 2n ** 64n + 1n }, false],
  ])("has limits: %p is %s", (size, expected) => {
    expect(readClientKey(rsaOf(size), "RS256") !== undefined).toBe(expected);
  });
});

describe("a key set (RFC 7517 §5)", () => {
  it("is read without what is no key", () => {
    const strange = [null, "EC", 5, [], {}, { kty: 5 }, { kty: null }, { crv: "P-256" }];
    expect(parseKeySet({ keys: [...strange, ec, { kty: "new" }], note: "" })).toEqual({
      keys: [ec, { kty: "new" }],
    });
  });

  it.each([undefined, null, "keys", [], {}, { keys: null }, { keys: { 0: ec } }])("is not %j", (document) => {
    expect(parseKeySet(document)).toBeUndefined();
  });

  it("may not have a private key, at any place", () => {
    const secret = { ...ec, d: "AAAA" };
    expect(isPrivateKey(secret)).toBe(true);
    const problem =
      "is a private key: only the client may have it. Write the public key, such as jwks of generateClientKey()";
    expect(keySetProblem({ keys: [secret, ec] })).toBe(`keys.0 ${problem}`);
    expect(keySetProblem({ keys: [ec, secret] })).toBe(`keys.1 ${problem}`);
    expect(keySetProblem({ keys: [ec] })).toBeUndefined();
    expect(readClientKey(secret, "ES256")).toBeUndefined();
  });

  it("needs one that the server can use", () => {
    expect(keySetProblem({ keys: [{ kty: "new" }] })).toBe(
      'keys has no usable key: write a public JWK for signatures (use "sig" or none), EC with P-256, RSA with 2048 to 8192 bits, or OKP with Ed25519',
    );
    expect(keySetProblem({ keys: [{ kty: "new" }, okp] })).toBeUndefined();
  });
});
