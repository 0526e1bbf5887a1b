/** Public keys and the algorithms that fit them. RFC 7517 §4; 7518 §3.1. */
import { createPublicKey, type KeyObject } from "node:crypto";

/** Algorithms that access tokens can be signed with. @rfc 7518 §3.1 */
export type SigningAlgorithm =
  "ES256" | "ES384" | "ES512" | "RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512";

/** A public key with the only algorithm that it verifies. */
export interface VerificationKey {
  /** The key id in token headers and in the key set. */
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  readonly publicKey: KeyObject;
}

const algorithmsOfCurve: Readonly<Record<string, readonly SigningAlgorithm[]>> = {
  prime256v1: ["ES256"],
  secp384r1: ["ES384"],
  secp521r1: ["ES512"],
};
const rsaAlgorithms: readonly SigningAlgorithm[] = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];

/** The algorithms that a key can be used with. The first one is its default. */
export function algorithmsOf(key: KeyObject): readonly SigningAlgorithm[] {
  const { namedCurve = "", modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === "ec") return algorithmsOfCurve[namedCurve] ?? [];
  return key.asymmetricKeyType === "rsa" && modulusLength >= 2048 ? rsaAlgorithms : [];
}

/** All of these algorithms, the default first. @rfc 7518 §3.1 */
export const signingAlgorithms: readonly SigningAlgorithm[] = [
  ...Object.values(algorithmsOfCurve).flat(),
  ...rsaAlgorithms,
];

/** A verifier checks tokens of strangers by these keys, so none may be so large that it takes long. */
const maxModulusLength = 8_192;

/**
 * The key of a published JWK, or `undefined` when it can't verify access tokens: another use, a weak or private key, no `kid`.
 *
 * @rfc 7517 §4, 7518 §3.1
 */
export function readVerificationKey(jwk: Readonly<Record<string, unknown>>): VerificationKey | undefined {
  const { kid, alg, use = "sig" } = jwk;
  if (typeof kid !== "string" || use !== "sig" || "d" in jwk || (jwk["kty"] !== "EC" && jwk["kty"] !== "RSA"))
    return undefined;
  try {
    const publicKey = createPublicKey({ key: { ...jwk }, format: "jwk" });
    if ((publicKey.asymmetricKeyDetails?.modulusLength ?? 0) > maxModulusLength) return undefined;
    const algorithms = algorithmsOf(publicKey);
    const algorithm = alg === undefined ? algorithms[0] : algorithms.find((known) => known === alg);
    return algorithm && { kid, algorithm, publicKey };
  } catch {
    return undefined;
  }
}
