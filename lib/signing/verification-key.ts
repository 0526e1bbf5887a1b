/** Reads the public keys of another server. RFC 7517 §4; 7518 §3.1. */
import { createPublicKey } from "node:crypto";
import { algorithmsOf, type VerificationKey } from "./signing-key";

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
