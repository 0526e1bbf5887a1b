/** Signing of access tokens. RFC 9068 §2, §4. */
import type { AccessTokenClaims } from "../protocol/access-token";

export interface AccessTokenSigner {
  /** The claims as a signed JWT with `typ: at+jwt`. */
  sign(claims: AccessTokenClaims): string;
  /** The claims of a token that one of our keys has signed, or `undefined`. Says nothing about time, issuer or audience. */
  verify(token: string): AccessTokenClaims | undefined;
}
