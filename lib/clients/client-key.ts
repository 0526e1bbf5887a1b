/** Keys of clients that prove themselves by `private_key_jwt`: generation, and the check of public keys. RFC 7517 §4, §5; 7518 §3, §6; 8037 §2. */
import { createPublicKey, type KeyObject } from "node:crypto";
import type { PublicJwk, PublicKeySet } from "../protocol/client";
import { type AssertionAlgorithm, assertionAlgorithms } from "../protocol/client-assertion";
import { generateSigningKey, type PrivateJwk } from "../signing/signing-key";

/** What the keys of an algorithm are. */
const keyTypes: Readonly<Record<AssertionAlgorithm, { readonly kty: string; readonly crv?: string }>> = {
  ES256: { kty: "EC", crv: "P-256" },
  PS256: { kty: "RSA" },
  RS256: { kty: "RSA" },
  EdDSA: { kty: "OKP", crv: "Ed25519" },
  Ed25519: { kty: "OKP", crv: "Ed25519" },
};

/** The members of private and symmetric keys. @rfc 7518 §6.2.2, §6.3.2, §6.4.1 */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];

/** True for a key that only its owner may have. @rfc 7517 §9.1 */
export function isPrivateKey(key: object): boolean {
  return privateMembers.some((name) => (Reflect.get(key, name) ?? undefined) !== undefined);
}

/** True when what the key says of itself allows this algorithm. `null` says nothing: some libraries write it for what is left out. @rfc 7517 §4.2, §4.3, §4.4 */
function isMeantFor(key: PublicJwk, algorithm: AssertionAlgorithm): boolean {
  const { kty, crv } = keyTypes[algorithm];
  const alg = key["alg"] ?? undefined;
  const use = key["use"] ?? "sig";
  const operations = key["key_ops"] ?? ["verify"];
  if (key.kty !== kty || (crv !== undefined && key["crv"] !== crv)) return false;
  if (use !== "sig" || !(Array.isArray(operations) && operations.includes("verify"))) return false;
  // a key for Ed25519 has one of two names
  return alg === undefined || alg === algorithm || (kty === "OKP" && (alg === "EdDSA" || alg === "Ed25519"));
}

/** False for RSA keys that are weak, or so large that a stranger's key could keep the server busy. @rfc 7518 §3.3 */
function isOfGoodSize({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): boolean {
  if (asymmetricKeyType !== "rsa") return true;
  const { modulusLength = 0, publicExponent = 0n } = asymmetricKeyDetails;
  return modulusLength >= 2048 && modulusLength <= 8192 && publicExponent > 2n && publicExponent < 2n ** 33n;
}

/** The key, if it can verify signatures with this algorithm. A private key cannot: its owner has given it away. @rfc 7517 §4 */
export function readClientKey(key: PublicJwk, algorithm: AssertionAlgorithm): KeyObject | undefined {
  if (isPrivateKey(key) || !isMeantFor(key, algorithm)) return undefined;
  try {
    const read = createPublicKey({ key, format: "jwk" });
    return isOfGoodSize(read) ? read : undefined;
  } catch {
    // what OpenSSL says may contain the key
    return undefined;
  }
}

function isKey(value: unknown): value is PublicJwk {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, "kty") === "string";
}

/** The key set of a JSON document, or `undefined` when it is none. What is not a key in it is left out. @rfc 7517 §5 */
export function parseKeySet(document: unknown): PublicKeySet | undefined {
  const { keys } = (document ?? {}) as { readonly keys?: unknown };
  return Array.isArray(keys) ? { keys: keys.filter(isKey) } : undefined;
}

/**
 * What is wrong with the key set of a client record, or `undefined`. Keys that this server does not use are allowed beside one that
 * it does.
 *
 * @rfc 7517 §5
 */
export function keySetProblem({ keys }: PublicKeySet): string | undefined {
  const secret = keys.findIndex(isPrivateKey);
  if (secret >= 0)
    return `keys.${secret} is a private key: only the client may have it. Write the public key, such as jwks of generateClientKey()`;
  const isUsable = keys.some((key) => assertionAlgorithms.some((algorithm) => readClientKey(key, algorithm)));
  return isUsable
    ? undefined
    : 'keys has no usable key: write a public JWK for signatures (use "sig" or none), EC with P-256, RSA with 2048 to 8192 bits, or OKP with Ed25519';
}

/**
 * A new key pair (P-256, for ES256) for a client that proves itself by `private_key_jwt`. Give `privateKey` to the client, once, and
 * store `jwks` in the client record. Both are JSON.
 *
 * @rfc 7523 §2.2, 7517 §4, §5
 */
export function generateClientKey(): { readonly privateKey: PrivateJwk; readonly jwks: PublicKeySet } {
  const privateKey = generateSigningKey();
  const { d: _, ...publicKey } = privateKey;
  return { privateKey, jwks: { keys: [{ ...publicKey, kty: privateKey.kty }] } };
}
