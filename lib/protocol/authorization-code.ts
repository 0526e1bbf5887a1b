/** The authorization code: its record, and the proofs that redeeming it requires. RFC 6749 §4.1.3, 7636 §4, 9700 §2.1.1. */
import { hash, timingSafeEqual } from "node:crypto";
import { type Authorization, belongsTo } from "./authorization";
import type { Client } from "./client";
import type { EpochSeconds } from "./time";
import type { Issuer } from "./issuer";
import type { TokenHandle } from "./token-value";

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
  if (redirectUri !== undefined && redirectUri !== code.redirectUri)
    return "redirect_uri differs from that of the authorization request";
  if (code.codeChallenge === undefined) {
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
