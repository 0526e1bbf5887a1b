import type { PublicJwk } from "../../lib";
import { isPrivateKey, keySetProblem, parseKeySet, readClientKey } from "../../lib/clients/client-key";
import type { AssertionAlgorithm } from "../../lib/protocol/client-assertion";
import { publicKeys } from "../fixture/client-assertions";

const [ec, rsa, okp] = publicKeys as readonly [PublicJwk, PublicJwk, PublicJwk];

describe("what a key is meant for (RFC 7517 §4.2 to §4.4, 7518 §3.1, 8037 §3.1)", () => {
  it.each<[string, PublicJwk, AssertionAlgorithm, boolean]>([
    ["EC", ec, "ES256", true],
    ["EC with its alg", { ...ec, alg: "ES256" }, "ES256", true],
    ["EC with the alg of another key", { ...ec, alg: "EdDSA" }, "ES256", false],
    ["EC with the other name of that", { ...ec, alg: "Ed25519" }, "ES256", false],
    ["EC", ec, "RS256", false],
    ["EC on another curve", { ...ec, crv: "P-384" }, "ES256", false],
    ["RSA", rsa, "RS256", true],
    ["RSA", rsa, "PS256", true],
    ["RSA for the other padding", { ...rsa, alg: "PS256" }, "RS256", false],
    ["RSA with the alg of another key", { ...rsa, alg: "EdDSA" }, "RS256", false],
    ["RSA with a crv, which says nothing there", { ...rsa, crv: "P-256" }, "RS256", true],
    ["Ed25519", okp, "EdDSA", true],
    ["Ed25519 with its alg", { ...okp, alg: "EdDSA" }, "EdDSA", true],
    ["Ed25519 with the other name", { ...okp, alg: "Ed25519" }, "EdDSA", true],
    ["Ed25519 with the other name", { ...okp, alg: "EdDSA" }, "Ed25519", true],
    ["Ed25519 with the alg of another key", { ...okp, alg: "ES256" }, "EdDSA", false],
    ["a key for signatures", { ...ec, use: "sig" }, "ES256", true],
    ["a key for encryption", { ...ec, use: "enc" }, "ES256", false],
    ["a key that verifies", { ...ec, key_ops: ["verify"] }, "ES256", true],
    ["a key that does not verify", { ...ec, key_ops: ["sign"] }, "ES256", false],
    ["key_ops that are a text", { ...ec, key_ops: "verify" }, "ES256", false],
    ["a key without a part", { ...ec, x: undefined }, "ES256", false],
  ])("is read from it: %s, %p, %s is %s", (_, key, algorithm, expected) => {
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
