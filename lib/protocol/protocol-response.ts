/** What an endpoint answers, as data: `http/write-response` alone writes it. RFC 6749 §4.1.2.1, §5.1, §5.2. */
import type { OAuthError, OAuthErrorCode } from "./oauth-error";

export interface JsonResponse {
  readonly kind: "json";
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** 302 after a GET, 303 after a POST (9700 §4.12). */
export interface RedirectResponse {
  readonly kind: "redirect";
  readonly location: string;
  readonly cookies?: readonly string[];
}

/** A page for a person. It is never frameable. */
export interface PageResponse {
  readonly kind: "page";
  readonly html: string;
  /** Where its form may lead, as CSP sources beside `'self'`. */
  readonly formTargets: readonly string[];
  readonly cookies?: readonly string[];
}

/** A refusal that must not redirect: a page for people, JSON for a caller that prefers it. */
export interface ErrorPageResponse {
  readonly kind: "error-page";
  readonly status: number;
  readonly error: OAuthError;
  readonly cookies?: readonly string[];
}

export interface EmptyResponse {
  readonly kind: "empty";
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export type ProtocolResponse =
  JsonResponse | RedirectResponse | PageResponse | ErrorPageResponse | EmptyResponse;

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

/** @rfc 6749 §5.2 */
export function jsonError(error: OAuthError, headers: Readonly<Record<string, string>> = {}): JsonResponse {
  const body = { error: error.code, error_description: error.description };
  return { kind: "json", status: statusOf(error.code), body, headers };
}

/** @rfc 6749 §4.1.2.1 */
export function errorPage(error: OAuthError): ErrorPageResponse {
  return { kind: "error-page", status: statusOf(error.code), error };
}
