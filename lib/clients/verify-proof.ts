/** Verifies DPoP proofs: key and signature. Loaded only where an API has `dpop`. RFC 9449 §4.3, §6.1; 7638 §3. */
import type { KeyObject } from "node:crypto";
import { type ExpectedProof, type InvalidProof, invalidProof, readProof } from "../protocol/dpop-proof";
import { digestToken } from "../protocol/token-value";
import { isSignedBy } from "./assertion-keys";
import { isPrivateKey, readClientKey } from "./client-key";

/** What the `DPoP` headers of a request prove. */
export type ProofVerdict =
  | { readonly kind: "absent" }
  | {
      readonly kind: "proven";
      /** The thumbprint of the key: `jkt`. */
      readonly thumbprint: string;
      /** `jti`: for seeing whether the proof was used before, together with the thumbprint. */
      readonly proofId: string;
    }
  | InvalidProof;

/** The thumbprint of the key as this process has read it: the sent text may have other members, or write the same key otherwise. @rfc 7638 §3 */
export function thumbprintOf(key: KeyObject): string {
  const { crv, e, kty, n, x, y } = key.export({ format: "jwk" });
  // in the order of the names; JSON leaves out those that the kind of key does not have
  return digestToken(JSON.stringify({ crv, e, kty, n, x, y }));
}

/**
 * What the `DPoP` headers of a request prove: `headers` are the values of all of them. The signature comes last, because it costs most.
 * Whether the proof was used before is for the caller.
 *
 * @rfc 9449 §4.3
 */
export function verifyProof(headers: readonly string[], expected: ExpectedProof): ProofVerdict {
  const proof = readProof(headers, expected);
  if (!proof) return { kind: "absent" };
  if (proof.kind === "invalid") return proof;
  const { algorithm, jwk, proofId } = proof;
  if (isPrivateKey(jwk)) return invalidProof("proof-key-private");
  const key = readClientKey(jwk, algorithm);
  if (!key) return invalidProof("proof-key-unusable");
  if (!isSignedBy(key, proof)) return invalidProof("proof-signature-wrong");
  return { kind: "proven", thumbprint: thumbprintOf(key), proofId };
}
