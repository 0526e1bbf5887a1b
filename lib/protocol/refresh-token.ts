/** The refresh token: its record, and when one may be used. RFC 6749 §6, 9700 §4.14. */
import { type Authorization, belongsTo } from "./authorization";
import type { Client } from "./client";
import type { EpochSeconds } from "./time";
import type { Issuer } from "./issuer";
import type { TokenHandle } from "./token-value";

/** What is stored of a refresh token: never the token itself. */
export interface RefreshToken extends TokenHandle {
  /** End of the idle time, never later than the authorization's `refreshableUntil`. */
  readonly expiresAt: EpochSeconds;
  /** `true` once rotated. It stays findable until it expires, so that a replay is noticed. */
  readonly used: boolean;
}

/** Why this client cannot have been given the token at this issuer, or `undefined` when it can. */
export function ownershipProblem(
  authorization: Authorization,
  { issuer, client }: { issuer: Issuer; client: Client },
): string | undefined {
  if (!belongsTo(authorization, issuer))
    return "the refresh token was issued at another authorization server";
  return authorization.clientId === client.clientId
    ? undefined
    : "the refresh token was issued to another client";
}
