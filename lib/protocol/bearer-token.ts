/** Access tokens in requests, and the challenge that refuses them. RFC 6750 §2.1, §3; 9449 §7.1; 9728 §5.1. */

/** How an access token is sent: DPoP with a proof of the key that it is bound to. @rfc 6750 §2.1, 9449 §7.1 */
export type TokenScheme = "Bearer" | "DPoP";

const beginnings: Readonly<Record<TokenScheme, RegExp>> = {
  Bearer: /^bearer(?:\s|$)/i,
  DPoP: /^dpop(?:\s|$)/i,
};

/** The scheme of an `Authorization` header, where both are taken. */
export function schemeOf(header: string | undefined): TokenScheme {
  return header !== undefined && beginnings.DPoP.test(header) ? "DPoP" : "Bearer";
}

/** The access token of a request, if any. `malformed`: the scheme is there, but no well-formed token follows. */
export type PresentedToken =
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "absent" }
  | { readonly kind: "malformed" };

/** The token in an `Authorization` header. With any scheme other than this one there is no token. @rfc 6750 §2.1, 9449 §7.1 */
export function readBearerToken(header: string | undefined, scheme: TokenScheme = "Bearer"): PresentedToken {
  if (header === undefined || !beginnings[scheme].test(header)) return { kind: "absent" };
  const token = /^\w+ +([A-Za-z0-9._~+/-]+=*) *$/.exec(header)?.[1];
  return token === undefined ? { kind: "malformed" } : { kind: "token", token };
}

/** The auth-params of a challenge, in the order in which they are written. */
export interface ChallengeParameters {
  readonly realm?: string;
  /** URL of the API's metadata, where a client finds the authorization servers. */
  readonly resource_metadata?: string;
  readonly error?:
    | "invalid_request"
    | "invalid_token"
    | "invalid_dpop_proof"
    | "insufficient_scope"
    | "insufficient_user_authentication";
  readonly error_description?: string;
  /** The scopes that the route requires, separated by spaces. */
  readonly scope?: string;
  /** The `acr` values of which one is enough, separated by spaces. @rfc 9470 §3 */
  readonly acr_values?: string;
  /** How old a sign-in may be, in seconds. @rfc 9470 §3 */
  readonly max_age?: string;
  /** The algorithms of proofs, separated by spaces. @rfc 9449 §7.1 */
  readonly algs?: string;
}

function quote(text: string): string {
  return `"${text.replaceAll(/[^\x20-\x7e]/g, "?").replaceAll(/["\\]/g, "\\$&")}"`;
}

/** A `WWW-Authenticate` value. Every text is escaped, so that none can end its quotes early. @rfc 9110 §11.6.1 */
export function formatChallenge(scheme: TokenScheme | "Basic", parameters: ChallengeParameters): string {
  const written = Object.entries(parameters).map(([name, value]) => `${name}=${quote(String(value))}`);
  return `${scheme} ${written.join(", ")}`;
}
