/** Keys outside this process, such as in a KMS or an HSM. RFC 7517 §4; 7518 §3.1. */
import { readVerificationKey, type SigningAlgorithm, type VerificationKey } from "./verification-key";

/**
 * A private key that never enters this process, such as one in a KMS or an HSM. Each JWT is one call of `sign`. Its answer is checked by
 * `publicJwk` before a client gets it, and until then no code or refresh token is spent.
 *
 * @rfc 7515 §5.1, 7518 §3.1
 */
export interface RemoteSigner {
  /** The algorithm of the signatures, which must fit the key. */
  readonly alg: SigningAlgorithm;
  /** The key id in token headers and in the key set. No other key may have it. */
  readonly kid: string;
  /** The public key as JWK, which is published. It must have no private member, and no other `kid` or `alg`. */
  readonly publicJwk: Readonly<Record<string, unknown>>;
  /**
   * The signature of these bytes by `alg`: they are the message, not its digest. ECDSA as in a JWS (r ‖ s) or as DER. It has five seconds.
   * If it takes longer or rejects, the client gets 503 `temporarily_unavailable` and may try again with the same code or refresh token. A
   * signature that is not of this key and algorithm is answered as `server_error`.
   */
  sign(bytes: Uint8Array): Promise<Uint8Array>;
}

/** A signer that was read and checked. */
export interface RemoteKey extends VerificationKey {
  readonly sign: (bytes: Uint8Array) => Promise<Uint8Array>;
}

/** True for an object that is meant as a `RemoteSigner`. */
export function isRemoteSigner(value: unknown): value is RemoteSigner {
  return typeof value === "object" && value !== null && ("publicJwk" in value || "sign" in value);
}

/**
 * A copy of the signer, which the host may change later. Nothing of it is called.
 *
 * @throws TypeError when the key is not public, or the algorithm does not fit it
 */
export function readRemoteSigner(signer: RemoteSigner): RemoteKey {
  const { alg, kid, publicJwk } = signer;
  const key = readVerificationKey({ kid, alg, ...publicJwk });
  if (!key || key.kid !== kid || key.algorithm !== alg)
    throw new TypeError("publicJwk must be a public key with no other kid or alg, and alg must fit it");
  return { ...key, sign: signer.sign.bind(signer) };
}
