/** Proof Key for Code Exchange, method S256 only. RFC 7636 §4, 9700 §2.1.1. */
import { hash, timingSafeEqual } from "node:crypto";

/** base64url of a SHA-256: 43 characters. @rfc 7636 §4.2 */
export function isCodeChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** @rfc 7636 §4.1 */
export function isCodeVerifier(text: string): boolean {
  return /^[A-Za-z0-9._~-]{43,128}$/.test(text);
}

/** @rfc 7636 §4.6 */
export function codeVerifierMatches(codeVerifier: string, codeChallenge: string): boolean {
  const computed = Buffer.from(hash("sha256", codeVerifier, "base64url"));
  const challenge = Buffer.from(codeChallenge);
  return computed.length === challenge.length && timingSafeEqual(computed, challenge);
}
