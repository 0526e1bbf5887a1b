/** The stored approval, and the codes and refresh tokens that descend from it. RFC 6749 §1.3, §4.1.3, §6; 7636 §4; 9700 §2.1.1, §4.14. */
import { hash, timingSafeEqual } from "node:crypto";
import type { AuthorizationContext } from "./authorization-context";
import { type Client, isKeyClient } from "./client";
import type { EpochSeconds } from "./time";
import type { Issuer } from "./issuer";
import type { TokenHandle } from "./token-value";

/** How and when the end user signed in. RFC 9068 §2.2.1. */
export interface AuthenticationFacts {
  /** When the end user last signed in. */
  readonly authTime?: EpochSeconds;
  /** Authentication methods references, such as `["pwd", "otp"]` (RFC 8176). */
  readonly amr?: readonly string[];
  /** Authentication context class reference. */
  readonly acr?: string;
}

/** What a client proves itself with. */
export type ProofKind = "none" | "secret" | "key";

/** What this client proves itself with now. */
export function proofKindOf(client: Client): ProofKind {
  if (!client.confidential) return "none";
  return isKeyClient(client) ? "key" : "secret";
}

/**
 * True for an approval of a client that nobody registered. One of a registered client is never good for such a client with the same id:
 * the host has deleted the client that it knew, and a document at that URL takes its place.
 */
export function isOfUnregistered(authorization: Authorization | undefined): boolean {
  return authorization?.clientAuthentication !== undefined;
}

/**
 * True when a client that nobody registered proves itself as it did at the approval. If its document says something else by now, whoever
 * has stolen its tokens could otherwise use them with less.
 */
export function provesAsApproved(authorization: Authorization, client: Client): boolean {
  if (!isOfUnregistered(authorization)) return client.selfDescription === undefined;
  return authorization.clientAuthentication === proofKindOf(client);
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
  /** What the person chose; `undefined` when nothing was. */
  readonly context?: AuthorizationContext;
  readonly createdAt: EpochSeconds;
  /** When its last refresh token ends; rotation does not move it. `undefined` when it has no refresh tokens. */
  readonly refreshableUntil?: EpochSeconds;
  /** No code or token that descends from the authorization lives longer than this. */
  readonly expiresAt: EpochSeconds;
  /** The end marks that the approval was born under; `undefined` in records written by versions before 0.2. */
  readonly endMarks?: readonly string[];
  /** How a client that nobody registered must prove itself: as it did at the approval. Left out for registered clients. */
  readonly clientAuthentication?: ProofKind;
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

/** The stored record of a code. It never contains the code itself. */
export interface AuthorizationCode extends TokenHandle {
  /** The redirect URI that the code was sent to, whether the request named it or it was the registered one. */
  readonly redirectUri: string;
  /** The PKCE code challenge of the request (method S256); `undefined` when a confidential client sent none. */
  readonly codeChallenge?: string;
  /** From this moment on the code cannot be redeemed. */
  readonly redeemBefore: EpochSeconds;
  /** When storage forgets the code. It is later than `redeemBefore`, so that a replay is still noticed. */
  readonly expiresAt: EpochSeconds;
  /** `true` once the code was redeemed. */
  readonly consumed: boolean;
}

/** True for text in the form of a PKCE code challenge: a SHA-256 as base64url, 43 characters. @rfc 7636 §4.2 */
export function isCodeChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** True for text in the form of a PKCE code verifier. @rfc 7636 §4.1 */
export function isCodeVerifier(text: string): boolean {
  return /^[A-Za-z0-9._~-]{43,128}$/.test(text);
}

/** True when the verifier belongs to the challenge, by the method S256. Compares in constant time. @rfc 7636 §4.6 */
export function codeVerifierMatches(codeVerifier: string, codeChallenge: string): boolean {
  const computed = Buffer.from(hash("sha256", codeVerifier, "base64url"));
  const challenge = Buffer.from(codeChallenge);
  return computed.length === challenge.length && timingSafeEqual(computed, challenge);
}

const otherProof =
  "the client no longer authenticates as it did when the end user approved it, or it was registered by the host then and is not any more";

/** What a client presents with a code at the token endpoint. */
export interface Redemption {
  readonly issuer: Issuer;
  readonly client: Client;
  /** Optional, as in OAuth 2.1; compared when the client sends it. */
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
}

/**
 * Why the client has not proved that the code is its own, or `undefined` when it has. The text is for events only: the client
 * gets the same answer for every problem.
 */
export function redemptionProblem(
  stored: { code: AuthorizationCode; authorization: Authorization },
  { issuer, client, redirectUri, codeVerifier }: Redemption,
): string | undefined {
  const { code, authorization } = stored;
  if (!belongsTo(authorization, issuer)) return "the code was issued by another authorization server";
  if (authorization.clientId !== client.clientId) return "the code was issued to another client";
  if (!provesAsApproved(authorization, client)) return otherProof;
  if (redirectUri !== undefined && redirectUri !== code.redirectUri)
    return "redirect_uri differs from that of the authorization request";
  if (code.codeChallenge === undefined) {
    // it was confidential then: without its secret, nothing would prove that the code is its own
    if (!client.confidential)
      return "the client is public by now, and the authorization request had no code_challenge";
    // an attacker may have removed the challenge from the request: a verifier without one is a downgrade, not an extra
    return codeVerifier === undefined
      ? undefined
      : "code_verifier was sent, but the authorization request had no code_challenge";
  }
  if (codeVerifier === undefined) return "code_verifier is missing";
  return codeVerifierMatches(codeVerifier, code.codeChallenge)
    ? undefined
    : "code_verifier does not match the code_challenge";
}

/** How a refresh token was used: what repeating its successor takes. RFC 6749 §6. */
export interface RefreshTokenUse {
  readonly usedAt: EpochSeconds;
  /** 128 random bits as base64url, without which nobody can derive the successor. */
  readonly salt: string;
  /** Which of the server's secrets the successor was derived with. */
  readonly secretId: string;
}

/** The stored record of a refresh token. It never contains the token itself. */
export interface RefreshToken extends TokenHandle {
  /** When the token ends if it stays unused; never later than the authorization's `refreshableUntil`. */
  readonly expiresAt: EpochSeconds;
  /** `true` once rotated. The record can be found until it expires, so that a replay is noticed. */
  readonly used: boolean;
  /** How it was rotated; `undefined` while unused, and where a lost answer cannot be repeated (`refreshRetrySeconds` is 0). */
  readonly use?: RefreshTokenUse;
}

/** Why the token cannot have been issued to this client at this issuer, or `undefined` when it can. The text is for events only. */
export function ownershipProblem(
  authorization: Authorization,
  { issuer, client }: { issuer: Issuer; client: Client },
): string | undefined {
  if (!belongsTo(authorization, issuer))
    return "the refresh token was issued by another authorization server";
  if (authorization.clientId !== client.clientId) return "the refresh token was issued to another client";
  return provesAsApproved(authorization, client) ? undefined : otherProof;
}
