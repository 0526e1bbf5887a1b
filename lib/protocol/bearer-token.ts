/** Bearer tokens in requests, and the challenge that refuses them. RFC 6750 §2.1, §3; 9728 §5.1. */

export type PresentedToken =
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "absent" }
  | { readonly kind: "malformed" };

/** Reads an `Authorization` header. Another scheme counts as no token. */
export function readBearerToken(header: string | undefined): PresentedToken {
  if (header === undefined || !/^bearer(?:\s|$)/i.test(header)) return { kind: "absent" };
  const token = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header)?.[1];
  return token === undefined ? { kind: "malformed" } : { kind: "token", token };
}

/** Auth-params of a challenge, in the order they are written. */
export interface ChallengeParameters {
  readonly realm: string;
  readonly resource_metadata?: string;
  readonly error?: "invalid_request" | "invalid_token" | "insufficient_scope";
  readonly error_description?: string;
  readonly scope?: string;
}

function quote(text: string): string {
  return `"${text.replaceAll(/[^\x20-\x7e]/g, "?").replaceAll(/["\\]/g, "\\$&")}"`;
}

/** A `WWW-Authenticate` value; every text is escaped, so that none can end its quotes. @rfc 9110 §11.6.1 */
export function formatChallenge(scheme: "Bearer" | "Basic", parameters: ChallengeParameters): string {
  const written = Object.entries(parameters).map(([name, value]) => `${name}=${quote(String(value))}`);
  return `${scheme} ${written.join(", ")}`;
}
