/** The answer of an endpoint, as data: only `http/response` writes it. RFC 6749 §4.1.2.1, §5.1, §5.2; 9111 §5.2.2. */
import type { OAuthError, OAuthErrorCode } from "./oauth-error";
import { formatScope } from "./scope";

/** An answer for a program. */
export interface JsonResponse {
  readonly kind: "json";
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A redirect: 302 after a GET, 303 after a POST, so that the browser does not repeat the form (9700 §4.12). */
export interface RedirectResponse {
  readonly kind: "redirect";
  /** Absolute, or a path of the host. */
  readonly location: string;
  /** What the client is told in the location, when it is a refusal. Only for those who watch. */
  readonly error?: OAuthErrorCode;
  /** Whole `Set-Cookie` values. */
  readonly cookies?: readonly string[];
}

/** A page for a person. It can never be framed. */
export interface PageResponse {
  readonly kind: "page";
  readonly html: string;
  /** Where the answer of its form may redirect, as CSP sources besides `'self'`. */
  readonly formTargets: readonly string[];
  readonly cookies?: readonly string[];
}

/** A refusal that must not redirect: a page for people, or JSON for a caller that prefers it. */
export interface ErrorPageResponse {
  readonly kind: "error-page";
  readonly status: number;
  readonly error: OAuthError;
  readonly cookies?: readonly string[];
}

/** An answer without a body. */
export interface EmptyResponse {
  readonly kind: "empty";
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The answer of an endpoint. */
export type ProtocolResponse =
  JsonResponse | RedirectResponse | PageResponse | ErrorPageResponse | EmptyResponse;

/** Only `invalid_client` and failures have their own status; RFC 6749 §5.2 uses 400 for the rest. */
function statusOf(code: OAuthErrorCode): number {
  switch (code) {
    case "invalid_client":
      return 401;
    case "server_error":
      return 500;
    case "temporarily_unavailable":
      return 503;
    default:
      return 400;
  }
}

/** The success answer of the token endpoint, by its wire names. @rfc 6749 §5.1 */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: "bearer";
  /** Lifetime of the access token in seconds. */
  readonly expires_in: number;
  /** Left out when the client may not refresh. */
  readonly refresh_token?: string;
  /**
   * How long the refresh token lives if it is not used, in seconds. Stated where the API says so
   * (draft-ietf-oauth-refresh-token-expiration).
   */
  readonly refresh_token_expires_in?: number;
  /** The granted scopes, separated by spaces. */
  readonly scope?: string;
}

/**
 * The success answer for issued tokens. It always states `scope`, so that clients need not remember what they asked for, unless
 * no scope was granted: RFC 6749 §3.3 has no syntax for an empty one.
 *
 * @rfc 6749 §5.1
 */
export function tokenResponse(issued: {
  accessToken: string;
  accessTokenSeconds: number;
  refreshToken: string | undefined;
  /** `undefined` where the API does not state it. */
  refreshTokenSeconds?: number | undefined;
  scopes: readonly string[];
}): TokenResponse {
  return {
    access_token: issued.accessToken,
    token_type: "bearer",
    expires_in: issued.accessTokenSeconds,
    ...(issued.refreshToken === undefined ? {} : { refresh_token: issued.refreshToken }),
    ...(issued.refreshTokenSeconds !== undefined && { refresh_token_expires_in: issued.refreshTokenSeconds }),
    ...(issued.scopes.length === 0 ? {} : { scope: formatScope(issued.scopes) }),
  };
}

/** How long a copy may be kept. A new key must not sign before every copy of the key set without it is this old. */
const documentSeconds = 300;

/** A public document, which anybody may read and cache. @rfc 8414 §3, 9728 §3, 7517 §5, 9111 §5.2.2 */
export function publicDocument(body: object): JsonResponse {
  const headers = {
    "Access-Control-Allow-Origin": "*",
    "Cache-Control": `public, max-age=${documentSeconds}`,
  };
  return { kind: "json", status: 200, body, headers };
}

/** A refusal for a program. @rfc 6749 §5.2 */
export function jsonError(error: OAuthError, headers: Readonly<Record<string, string>> = {}): JsonResponse {
  const body = { error: error.code, error_description: error.description };
  return { kind: "json", status: statusOf(error.code), body, headers };
}

/** A refusal for a person, when nothing proves that the redirect URI is the client's. @rfc 6749 §4.1.2.1 */
export function errorPage(error: OAuthError): ErrorPageResponse {
  return { kind: "error-page", status: statusOf(error.code), error };
}
