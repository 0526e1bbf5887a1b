/** The answer of an endpoint, as data: only `http/response` writes it. RFC 6749 §4.1.2.1, §5.2; 9111 §5.2.2. */
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
  /** Where a redirect within this site may lead in the end. Only for the developer. */
  readonly destination?: string | undefined;
  /** What the client is told in the location, when it is a refusal. Only for those who watch. */
  readonly error?: OAuthErrorCode;
  /** Whole `Set-Cookie` values. */
  readonly cookies?: readonly string[];
}

/** A page whose form the browser posts to the client by itself. OAuth 2.0 Form Post Response Mode §2. */
export interface FormPostResponse extends Pick<RedirectResponse, "error" | "cookies"> {
  readonly kind: "form-post";
  /** The proven redirect URI. */
  readonly action: string;
  readonly fields: Readonly<Record<string, string | undefined>>;
}

/** The last page for a person who has answered a device, with a yes or, as `error` says, with a no. @rfc 8628 §3.3 */
export interface DeviceEndResponse extends Pick<RedirectResponse, "error" | "cookies"> {
  readonly kind: "device-end";
}

/** A page for a person. It can never be framed. */
export interface PageResponse extends Pick<RedirectResponse, "error" | "cookies"> {
  readonly kind: "page";
  /** Left out: 200. */
  readonly status?: number;
  readonly html: string;
  /** Where the answer of its form may redirect, as CSP sources besides `'self'`. */
  readonly formTargets: readonly string[];
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
  | JsonResponse
  | RedirectResponse
  | FormPostResponse
  | DeviceEndResponse
  | PageResponse
  | ErrorPageResponse
  | EmptyResponse;

/** The OAuth error code of an answer that refuses. */
export function errorOf(response: ProtocolResponse): OAuthErrorCode | undefined {
  switch (response.kind) {
    case "json":
      return response.status < 400 ? undefined : (response.body as { error?: OAuthErrorCode }).error;
    case "redirect":
    case "form-post":
    case "device-end":
    case "page":
      return response.error;
    case "error-page":
      return response.error.error;
    case "empty":
      return undefined;
  }
}

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

/** How long a copy may be kept. A new key must not sign before every copy of the key set without it is this old. */
const documentSeconds = 300;

/** A public document, which anyone may read and cache. @rfc 8414 §3, 9728 §3, 7517 §5, 9111 §5.2.2 */
export function publicDocument(body: object): JsonResponse {
  const headers = {
    "Access-Control-Allow-Origin": "*",
    "Cache-Control": `public, max-age=${documentSeconds}`,
  };
  return { kind: "json", status: 200, body, headers };
}

/** A refusal for a program. @rfc 6749 §5.2 */
export function jsonError(error: OAuthError, headers: Readonly<Record<string, string>> = {}): JsonResponse {
  const body = { error: error.error, error_description: error.description };
  return { kind: "json", status: statusOf(error.error), body, headers };
}

/** The answer to a method that the path does not have. @rfc 9110 §15.5.6 */
export function methodNotAllowed(allowed: readonly string[]): EmptyResponse {
  return { kind: "empty", status: 405, headers: { Allow: allowed.join(", ") } };
}

/**
 * The refusal of a body that is too large. The rest of it may still be on its way: closing the connection ends it.
 *
 * @rfc 9110 §15.5.14
 */
export function tooLarge(refusal: JsonResponse): JsonResponse {
  return { ...refusal, status: 413, headers: { Connection: "close" } };
}

/** A refusal for a person, when nothing proves that the redirect URI is the client's. @rfc 6749 §4.1.2.1 */
export function errorPage(error: OAuthError): ErrorPageResponse {
  return { kind: "error-page", status: statusOf(error.error), error };
}
