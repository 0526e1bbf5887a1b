/** The authorization code: its record, and the proofs its redemption takes. RFC 6749 §4.1.3, 7636 §4, 9700 §2.1.1. */
import { hash, timingSafeEqual } from "node:crypto";
import { type Authorization, belongsTo } from "./authorization";
import type { Client } from "./client";
import type { EpochSeconds } from "./time";
import type { Issuer } from "./issuer";
import type { TokenHandle } from "./token-value";

/** What is stored of a code: never the code itself. */
export interface AuthorizationCode extends TokenHandle {
  /** The redirect URI of the authorization request, given or registered. */
  readonly redirectUri: string;
  readonly codeChallenge?: string;
  /** From this moment on it buys nothing. */
  readonly redeemBefore: EpochSeconds;
  /** Storage forgets it then; until then a replay is noticed. */
  readonly expiresAt: EpochSeconds;
  readonly consumed: boolean;
}

/** True for the form of a PKCE code challenge: base64url of a SHA-256, 43 characters. @rfc 7636 §4.2 */
export function isCodeChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** True for the form of a PKCE code verifier. @rfc 7636 §4.1 */
export function isCodeVerifier(text: string): boolean {
  return /^[A-Za-z0-9._~-]{43,128}$/.test(text);
}

/** Compares in constant time, by the method S256. @rfc 7636 §4.6 */
export function codeVerifierMatches(codeVerifier: string, codeChallenge: string): boolean {
  const computed = Buffer.from(hash("sha256", codeVerifier, "base64url"));
  const challenge = Buffer.from(codeChallenge);
  return computed.length === challenge.length && timingSafeEqual(computed, challenge);
}

/** What a client presents with a code. */
export interface Redemption {
  readonly issuer: Issuer;
  readonly client: Client;
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
}

/** Why the presenter has not proved that the code is theirs, or `undefined` when they have. */
export function redemptionProblem(
  stored: { code: AuthorizationCode; authorization: Authorization },
  { issuer, client, redirectUri, codeVerifier }: Redemption,
): string | undefined {
  const { code, authorization } = stored;
  if (!belongsTo(authorization, issuer)) return "the code was issued at another authorization server";
  if (authorization.clientId !== client.clientId) return "the code was issued to another client";
  if (redirectUri !== undefined && redirectUri !== code.redirectUri)
    return "redirect_uri is not the one used";
  if (code.codeChallenge === undefined) {
    return codeVerifier === undefined ? undefined : "code_verifier without an earlier code_challenge";
  }
  if (codeVerifier === undefined) return "code_verifier is missing";
  return codeVerifierMatches(codeVerifier, code.codeChallenge) ? undefined : "code_verifier does not match";
}
