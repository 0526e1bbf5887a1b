/** The refresh token: its record, and when one may be used. RFC 6749 §6, 9700 §4.14. */
import { type Authorization, belongsTo } from "./authorization";
import type { Client } from "./client";
import type { EpochSeconds } from "./time";
import type { Issuer } from "./issuer";
import type { TokenHandle } from "./token-value";

/** The stored record of a refresh token. It never contains the token itself. */
export interface RefreshToken extends TokenHandle {
  /** When the token ends if it stays unused; never later than the authorization's `refreshableUntil`. */
  readonly expiresAt: EpochSeconds;
  /** `true` once rotated. The record can be found until it expires, so that a replay is noticed. */
  readonly used: boolean;
}

/** Why the token cannot have been issued to this client at this issuer, or `undefined` when it can. The text is for events only. */
export function ownershipProblem(
  authorization: Authorization,
  { issuer, client }: { issuer: Issuer; client: Client },
): string | undefined {
  if (!belongsTo(authorization, issuer))
    return "the refresh token was issued by another authorization server";
  return authorization.clientId === client.clientId
    ? undefined
    : "the refresh token was issued to another client";
}
