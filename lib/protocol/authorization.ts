/** The stored approval, and the codes and refresh tokens that descend from it. RFC 6749 §1.3, §4.1.3, §6; 7636 §4; 9449 §5, §10; 9700 §2.1.1, §4.14. */
import { hash } from "node:crypto";
import type { AuthorizationContext } from "./authorization-context";
import { type Client, isKeyClient } from "./client";
import { quoted } from "./parameters";
import { intersect, isSubset } from "./scope";
import type { EpochSeconds } from "./time";
import type { Issuer } from "./issuer";
import { isSameSecret, type TokenHandle } from "./token-value";

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
 * True when a client that nobody registered proves itself as it did at the approval. Otherwise, once its document asks for a weaker proof,
 * a thief could use stolen tokens with that.
 */
export function provesAsApproved(authorization: Authorization, client: Client): boolean {
  const { clientAuthentication } = authorization;
  if (clientAuthentication === undefined) return client.selfDescription === undefined;
  return clientAuthentication === proofKindOf(client);
}

/** The stored record of an approval. */
export interface Authorization extends AuthenticationFacts {
  /** 128 random bits as base64url. It is not a secret. */
  readonly authorizationId: string;
  /** Identifier of the issuer. */
  readonly issuer: string;
  /** How the end user signed in: the id of the authentication method. */
  readonly authMethodId: string;
  readonly apiId: string;
  readonly clientId: string;
  /** The stable id of the end user. */
  readonly subject: string;
  /** What the end user allowed, implied scopes included. Tokens may have fewer, never more. */
  readonly grantedScopes: readonly string[];
  /** What they allowed at first; `undefined` unless they have taken some of it back. */
  readonly approvedScopes?: readonly string[];
  /** What the person chose; `undefined` when they chose nothing. */
  readonly context?: AuthorizationContext;
  /** By what the person will know this sign-in, as the host says it. */
  readonly signedInFrom?: string;
  readonly createdAt: EpochSeconds;
  /** When its last refresh token expires; rotation does not move it. `undefined` when it has no refresh tokens. */
  readonly refreshableUntil?: EpochSeconds;
  /** No code or token that descends from the authorization lives longer than this. */
  readonly expiresAt: EpochSeconds;
  /** The end marks that were in force at the approval. */
  readonly endMarks: readonly string[];
  /** How a client that nobody registered must prove itself: as it did at the approval. Left out for registered clients. */
  readonly clientAuthentication?: ProofKind;
  /** `true` once revoked: every code and token that carries its id is then refused. */
  readonly revoked: boolean;
}

/** What an authorization keeps of a sign-in. Tokens tell only the `AuthenticationFacts` of it. */
export type SignInFacts = Pick<Authorization, keyof AuthenticationFacts | "signedInFrom">;

/**
 * The authorization with these of its scopes only, or `undefined` where it has no others. Revoked when none is left: a client takes an empty
 * scope for what it has asked for.
 */
export function narrowed(authorization: Authorization, scopes: readonly string[]): Authorization | undefined {
  const { grantedScopes, approvedScopes = grantedScopes } = authorization;
  if (authorization.revoked || isSubset(grantedScopes, scopes)) return undefined;
  const left = intersect(grantedScopes, scopes);
  return { ...authorization, grantedScopes: left, approvedScopes, revoked: left.length === 0 };
}

/**
 * True when a stored record belongs to this issuer. Nothing that one pair issued works at another pair, or at the same pair of
 * another server that shares the storage.
 */
export function belongsTo({ issuer }: Pick<Authorization, "issuer">, at: Issuer): boolean {
  return issuer === at.identifier;
}

/** True while the authorization is in force. A missing one is treated as revoked, so that a lost record fails closed. */
export function isLive(
  authorization: Authorization | undefined,
  now: EpochSeconds,
): authorization is Authorization {
  return authorization !== undefined && !authorization.revoked && now < authorization.expiresAt;
}

/** The stored record of a code. It never contains the code itself. */
export interface AuthorizationCode extends TokenHandle {
  /** `"device"`: a device code, which no redirect has carried. Left out: an authorization code. RFC 8628 §3.2. */
  readonly kind?: "device";
  /** The redirect URI that the code was sent to, whether the request named it or it was the registered one. Left out for a device code. */
  readonly redirectUri?: string;
  /** The PKCE code challenge of the request (method S256); `undefined` when a confidential client sent none. */
  readonly codeChallenge?: string;
  /** Thumbprint of the key that the code is bound to; `undefined` when the request named none (`dpop_jkt`). RFC 9449 §10. */
  readonly boundKey?: string;
  /** The text that binds the ID token to the relying party's session; `undefined` when it sent none. OpenID Connect Core §3.1.2.1. */
  readonly nonce?: string;
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

/** True for text in the form of a key's thumbprint: a SHA-256 as base64url, 43 characters. @rfc 7638 §3, 9449 §6.1 */
export function isThumbprint(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** True for text in the form of a PKCE code verifier. @rfc 7636 §4.1 */
export function isCodeVerifier(text: string): boolean {
  return /^[A-Za-z0-9._~-]{43,128}$/.test(text);
}

/** True when the verifier belongs to the challenge, by the method S256. Compares in constant time. @rfc 7636 §4.6 */
export function codeVerifierMatches(codeVerifier: string, codeChallenge: string): boolean {
  return isSameSecret(Buffer.from(hash("sha256", codeVerifier, "base64url")), Buffer.from(codeChallenge));
}

/** What the texts about codes and refresh tokens name: whose it is, and who has sent it where. */
interface Presented extends Pick<Redemption, "issuer" | "client"> {
  readonly authorization: Authorization;
}

interface PresentedCode extends Presented {
  readonly code: AuthorizationCode;
}

/** Why a code or refresh token is refused. For events only: the client gets the same answer for every problem. */
export const grantReasons = {
  "code-not-of-this-server":
    "code does not have the form of this server's codes: send the code parameter of the redirect, decoded once",
  "code-unknown":
    "storage does not know the code: it is mistyped, long expired, or was issued with another storage (RFC 6749 §4.1.3): give all processes the same storage, and start a new authorization request",
  "code-of-another-server": ({ authorization, issuer: { identifier } }: Presented): string =>
    `the code was issued at ${authorization.issuer}, and sent to ${identifier} (RFC 6749 §4.1.3): send it to the token endpoint of the same authentication method and API`,
  "code-of-another-client": ({ authorization, client: { clientId } }: Presented): string =>
    `the code was issued to client ${authorization.clientId}, and sent by client ${clientId} (RFC 6749 §4.1.3): send the client_id of the authorization request`,
  "code-of-another-grant":
    "the code was issued for the other of the two grants, a device code or an authorization code (RFC 6749 §4.1.3, 8628 §3.4): send each with its own grant_type",
  "device-code-not-of-this-server":
    "device_code does not have the form of this server's device codes: send it exactly as the device authorization endpoint returned it",
  "device-code-polled-twice":
    "another poll with this device_code was answered at the same moment (RFC 8628 §3.5): poll one request at a time",
  "code-expired": (seconds: number): string =>
    `the code expired ${seconds} seconds ago (RFC 6749 §4.1.2): redeem it as soon as the redirect arrives, or set a longer lifetimes.authorizationCodeSeconds`,
  "code-verifier-missing":
    "code_verifier is missing, and the authorization request had a code_challenge (RFC 7636 §4.5): send the verifier that the challenge was made of",
  "code-verifier-wrong":
    "code_verifier does not match the code_challenge of the authorization request (RFC 7636 §4.6): send the verifier that this challenge was made of, not one of a later request",
  "code-verifier-without-challenge":
    "code_verifier was sent, but the authorization request had no code_challenge (RFC 9700 §2.1.1): send both, or neither",
  "public-client-without-challenge":
    "the client has become public since the authorization request, which had no code_challenge (RFC 9700 §2.1.1): start a new one, with PKCE",
  "code-of-another-key":
    "the authorization request named another key in dpop_jkt than the proof, or the request has no proof (RFC 9449 §10): send a DPoP proof of the key that dpop_jkt named",
  "redirect-uri-differs": ({ code }: PresentedCode): string =>
    `redirect_uri is not ${quoted(code.redirectUri as string)}, to which the code was sent (RFC 6749 §4.1.3): send the same, or leave it out`,
  "refresh-token-not-of-this-server":
    "refresh_token does not have the form of this server's refresh tokens: send it exactly as the token endpoint returned it",
  "refresh-token-unknown":
    "the refresh token has expired, or storage does not know it (RFC 6749 §5.2): send the newest one, or start a new authorization request",
  "refresh-token-of-another-server": ({ authorization, issuer: { identifier } }: Presented): string =>
    `the refresh token was issued at ${authorization.issuer}, and sent to ${identifier} (RFC 6749 §6): send it to the token endpoint of the same authentication method and API`,
  "refresh-token-of-another-client": ({ authorization, client: { clientId } }: Presented): string =>
    `the refresh token was issued to client ${authorization.clientId}, and sent by client ${clientId} (RFC 6749 §6): send the client_id that it was issued to`,
  "refresh-token-of-another-key":
    "the refresh token is bound to another key than that of the proof, or the request has no proof (RFC 9449 §5): send a DPoP proof of the key of the first exchange",
  "refreshing-over":
    "the authorization is older than refreshTokenSeconds allows (RFC 6749 §5.2): start a new authorization request",
  "client-proof-changed": ({ client: { clientId } }: Presented): string =>
    `client ${clientId} no longer authenticates as it did when the end user approved it, or the host had registered it then and no longer does: start a new authorization request`,
  "authorization-revoked":
    "the authorization was revoked, by itself or with all of its client or end user: start a new authorization request",
  "used-before":
    "it was used before, so its authorization is now revoked (RFC 9700 §4.14.2): use each code once, and always the newest refresh token",
} as const;

/** Which of them. */
export type GrantProblem = keyof typeof grantReasons;

/** What a client presents with a code at the token endpoint. */
export interface Redemption {
  readonly issuer: Issuer;
  readonly client: Client;
  /** Left out: as an authorization code. */
  readonly as?: "device";
  /** Optional, as in OAuth 2.1; compared when the client sends it. */
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
  /** Thumbprint of the key that the request has proved; `undefined` without a proof. */
  readonly key: string | undefined;
}

/** Why the client has not proved that the code is its own, or `undefined` when it has. */
export function redemptionProblem(
  stored: { code: AuthorizationCode; authorization: Authorization },
  { issuer, client, as, redirectUri, codeVerifier, key }: Redemption,
): GrantProblem | undefined {
  const { code, authorization } = stored;
  if (!belongsTo(authorization, issuer)) return "code-of-another-server";
  if (authorization.clientId !== client.clientId) return "code-of-another-client";
  if (!provesAsApproved(authorization, client)) return "client-proof-changed";
  if (code.kind !== as) return "code-of-another-grant";
  // nobody but the device has had it
  if (code.kind === "device") return undefined;
  if (code.boundKey !== undefined && code.boundKey !== key) return "code-of-another-key";
  if (redirectUri !== undefined && redirectUri !== code.redirectUri) return "redirect-uri-differs";
  if (code.codeChallenge === undefined) {
    // it was confidential then: without its secret, nothing would prove that the code is its own
    if (!client.confidential) return "public-client-without-challenge";
    // an attacker may have removed the challenge from the request: a verifier without one is a downgrade, not an extra
    return codeVerifier === undefined ? undefined : "code-verifier-without-challenge";
  }
  if (codeVerifier === undefined) return "code-verifier-missing";
  return codeVerifierMatches(codeVerifier, code.codeChallenge) ? undefined : "code-verifier-wrong";
}

/** How a refresh token was used: with this, the server can issue the same successor again. RFC 6749 §6. */
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
  /** Thumbprint of the key that it is bound to; only tokens of public clients are. RFC 9449 §5. */
  readonly boundKey?: string;
  /** `true` once rotated. The record can be found until it expires, so that a replay is noticed. */
  readonly used: boolean;
  /** How it was rotated; `undefined` while unused, and where a lost answer cannot be repeated (`refreshRetrySeconds` is 0). */
  readonly use?: RefreshTokenUse;
}

/** Why the token cannot have been issued to this client at this issuer, or `undefined` when it can. */
export function ownershipProblem(
  authorization: Authorization,
  { issuer, client }: { issuer: Issuer; client: Client },
): GrantProblem | undefined {
  if (!belongsTo(authorization, issuer)) return "refresh-token-of-another-server";
  if (authorization.clientId !== client.clientId) return "refresh-token-of-another-client";
  return provesAsApproved(authorization, client) ? undefined : "client-proof-changed";
}
