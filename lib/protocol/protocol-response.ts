/** The answer of an endpoint, as data: only `http/response` writes it. RFC 6749 §4.1.2.1, §5.1, §5.2; 9111 §5.2.2. */
import type { OAuthError, OAuthErrorCode } from "./oauth-error";

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

/** A successful answer for a program. @rfc 6749 §5.1 */
export function jsonAnswer(body: object): JsonResponse {
  return { kind: "json", status: 200, body };
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
