/** The stored approval from which codes and tokens descend: one end user, one client, one issuer. RFC 6749 §1.3. */
import type { Issuer } from "./issuer";
import type { EpochSeconds } from "./time";

/** How and when the end user signed in. RFC 9068 §2.2.1. */
export interface AuthenticationFacts {
  /** When the end user last signed in. */
  readonly authTime?: EpochSeconds;
  /** Authentication methods references, such as `["pwd", "otp"]` (RFC 8176). */
  readonly amr?: readonly string[];
  /** Authentication context class reference. */
  readonly acr?: string;
}

/** The stored record of an approval. */
export interface Authorization extends AuthenticationFacts {
  /** 128 random bits as base64url. It is not a secret. */
  readonly authorizationId: string;
  /** Identifier of the issuer; `undefined` in records written by versions before 0.2. */
  readonly issuer?: string;
  /** How the end user signed in: the id of the authentication method. */
  readonly authMethodId: string;
  readonly apiId: string;
  readonly clientId: string;
  /** The stable id of the end user. */
  readonly subject: string;
  /** What the end user allowed, implied scopes included. Tokens may have fewer, never more. */
  readonly grantedScopes: readonly string[];
  readonly createdAt: EpochSeconds;
  /** When its last refresh token ends; rotation does not move it. `undefined` when it has no refresh tokens. */
  readonly refreshableUntil?: EpochSeconds;
  /** No code or token that descends from the authorization lives longer than this. */
  readonly expiresAt: EpochSeconds;
  /** `true` once revoked: every code and token that carries its id is then refused. */
  readonly revoked: boolean;
}

/**
 * True when a stored record belongs to this issuer. Nothing that one pair issued works at another pair, or at the same pair of
 * another server that shares the storage.
 */
export function belongsTo(
  { issuer, authMethodId, apiId }: Pick<Authorization, "issuer" | "authMethodId" | "apiId">,
  at: Issuer,
): boolean {
  // a record from a version that did not store the issuer yet
  if (issuer === undefined) return authMethodId === at.authMethodId && apiId === at.api.apiId;
  return issuer === at.identifier;
}

/** True while the authorization is in force. A missing one counts as revoked, so that a lost record fails closed. */
export function isLive(
  authorization: Authorization | undefined,
  now: EpochSeconds,
): authorization is Authorization {
  return authorization !== undefined && !authorization.revoked && now < authorization.expiresAt;
}
