/** The stored approval from which codes and tokens descend: one end user, one client, one issuer. RFC 6749 §1.3. */
import type { Issuer } from "./issuer";
import type { EpochSeconds } from "./time";

/** How and when the end user signed in. RFC 9068 §2.2.1. */
export interface AuthenticationFacts {
  readonly authTime?: EpochSeconds;
  /** Authentication methods references, RFC 8176. */
  readonly amr?: readonly string[];
  /** Authentication context class reference. */
  readonly acr?: string;
}

/** What is stored of an approval. */
export interface Authorization extends AuthenticationFacts {
  /** 128 random bits as base64url; no secret. */
  readonly authorizationId: string;
  /** Identifier of the issuer; `undefined` in records of versions before 0.2. */
  readonly issuer?: string;
  readonly authMethodId: string;
  readonly apiId: string;
  readonly clientId: string;
  readonly subject: string;
  readonly grantedScopes: readonly string[];
  readonly createdAt: EpochSeconds;
  /** Absolute end of its refresh tokens, which rotation does not move; `undefined` when it has none. */
  readonly refreshableUntil?: EpochSeconds;
  /** Nothing that descends from it lives longer. */
  readonly expiresAt: EpochSeconds;
  /** `true` once revoked: every code and token that carries its id is worth nothing. */
  readonly revoked: boolean;
}

/**
 * True when a stored record belongs to this issuer: nothing issued at one pair works at another, nor at the same pair of
 * another server that shares the storage.
 */
export function belongsTo(
  { issuer, authMethodId, apiId }: Pick<Authorization, "issuer" | "authMethodId" | "apiId">,
  at: Issuer,
): boolean {
  // a record of a version that did not store the issuer
  if (issuer === undefined) return authMethodId === at.authMethodId && apiId === at.api.apiId;
  return issuer === at.identifier;
}

/** True while the authorization stands. A missing one counts as revoked: the server fails closed. */
export function isLive(
  authorization: Authorization | undefined,
  now: EpochSeconds,
): authorization is Authorization {
  return authorization !== undefined && !authorization.revoked && now < authorization.expiresAt;
}
