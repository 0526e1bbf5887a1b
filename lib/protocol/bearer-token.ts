/** Bearer tokens in requests, and the challenge that refuses them. RFC 6750 §2.1, §3; 9728 §5.1. */

/** The bearer token of a request, if any. `malformed`: the scheme is Bearer, but no well-formed token follows. */
export type PresentedToken =
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "absent" }
  | { readonly kind: "malformed" };

/** The token in an `Authorization` header. With any scheme other than Bearer there is no token. @rfc 6750 §2.1 */
export function readBearerToken(header: string | undefined): PresentedToken {
  if (header === undefined || !/^bearer(?:\s|$)/i.test(header)) return { kind: "absent" };
  const token = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header)?.[1];
  return token === undefined ? { kind: "malformed" } : { kind: "token", token };
}

/** The auth-params of a challenge, in the order in which they are written. */
export interface ChallengeParameters {
  readonly realm: string;
  /** URL of the API's metadata, where a client finds the authorization servers. */
  readonly resource_metadata?: string;
  readonly error?:
    "invalid_request" | "invalid_token" | "insufficient_scope" | "insufficient_user_authentication";
  readonly error_description?: string;
  /** The scopes that the route requires, separated by spaces. */
  readonly scope?: string;
  /** The `acr` values of which one is enough, separated by spaces. @rfc 9470 §3 */
  readonly acr_values?: string;
  /** How old a sign-in may be, in seconds. @rfc 9470 §3 */
  readonly max_age?: string;
}

function quote(text: string): string {
  return `"${text.replaceAll(/[^\x20-\x7e]/g, "?").replaceAll(/["\\]/g, "\\$&")}"`;
}

/** A `WWW-Authenticate` value. Every text is escaped, so that none can end its quotes early. @rfc 9110 §11.6.1 */
export function formatChallenge(scheme: "Bearer" | "Basic", parameters: ChallengeParameters): string {
  const written = Object.entries(parameters).map(([name, value]) => `${name}=${quote(String(value))}`);
  return `${scheme} ${written.join(", ")}`;
}
