/** The ports for signing tokens. RFC 9068 §2, §4; OpenID Connect Core §2. */
import type { AccessTokenClaims } from "../protocol/access-token";
import type { IdTokenVerifier } from "../protocol/openid";
import type { EpochSeconds } from "../protocol/time";
import type { VerificationKey } from "./verification-key";

/** Claims whose signature was verified. */
export interface VerifiedClaims {
  readonly claims: AccessTokenClaims;
  /** The key that signed them. */
  readonly key: VerificationKey;
}

/** Signs and verifies access tokens in JWT form. */
export interface AccessTokenSigner {
  /** The claims as a signed JWT with `typ: at+jwt`. A promise only where the key is outside this process. */
  sign(claims: AccessTokenClaims): string | Promise<string>;
  /** The claims of a token that a key of this server signed which is not retired at `now`, or `undefined`. Does not check `exp`, issuer or audience. */
  verify(token: string, now: EpochSeconds): VerifiedClaims | undefined;
  /** True while tokens of this key are accepted: it was neither dropped nor retired. */
  trusts(key: VerificationKey): boolean;
}

/** Signs ID tokens, and knows its own again. */
export interface IdTokenSigner extends IdTokenVerifier {
  /** The claims as a signed JWT with `typ: JWT`. A promise only where the key is outside this process. */
  sign(claims: object, algorithm: string): string | Promise<string>;
}
