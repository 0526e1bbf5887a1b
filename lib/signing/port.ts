/** Signing of access tokens. RFC 9068 §2, §4. */
import type { AccessTokenClaims } from "../protocol/access-token";
import type { SigningKey } from "./signing-key";

export interface VerifiedClaims {
  readonly claims: AccessTokenClaims;
  /** The key that has signed them. */
  readonly key: SigningKey;
}

export interface AccessTokenSigner {
  /** The claims as a signed JWT with `typ: at+jwt`. */
  sign(claims: AccessTokenClaims): string;
  /** The claims of a token that one of our keys has signed, or `undefined`. Says nothing about time, issuer or audience. */
  verify(token: string): VerifiedClaims | undefined;
  /** True while tokens of this key are good: it is neither dropped nor retired. */
  trusts(key: SigningKey): boolean;
}
