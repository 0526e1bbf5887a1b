/** Codes, refresh tokens and opaque access tokens, which are stored as digests only. RFC 6749 §10.10, 9700 §4.14. */
import { hash, timingSafeEqual } from "node:crypto";

/** SHA-256 of a token as base64url: 43 characters. The token is random, so a stolen digest does not reveal it. */
export type TokenDigest = string;

/**
 * Where the record of a code or refresh token is found. Both parts come from the token, so the token and its authorization can be
 * read at the same time, and storage can keep a family together.
 */
export interface TokenHandle {
  readonly authorizationId: string;
  readonly digest: TokenDigest;
}

const handledToken = /^([A-Za-z0-9_-]{22})\.[A-Za-z0-9_-]{43}$/;

/** The digest under which a token is stored and looked up. */
export function digestToken(token: string): TokenDigest {
  return hash("sha256", token, "base64url");
}

/** A token of one authorization: its id (22 characters), a dot, and 256 random bits as base64url. */
export function formatToken(authorizationId: string, random: string): string {
  return `${authorizationId}.${random}`;
}

/** True for text in the form of an id, such as an authorization's: 128 random bits as base64url. */
export function isRandomId(text: string): boolean {
  return /^[A-Za-z0-9_-]{22}$/.test(text);
}

/** True for text in the form of an opaque access token: 256 random bits as base64url. */
export function isRandomToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** The handle of a presented code or refresh token, or `undefined` when the text has another form. */
export function parseTokenHandle(token: string): TokenHandle | undefined {
  const authorizationId = handledToken.exec(token)?.[1];
  return authorizationId === undefined ? undefined : { authorizationId, digest: digestToken(token) };
}

/** True when the two are the same, in a time that does not tell how much of them is. Secrets are compared here and nowhere else. */
export function isSameSecret(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
