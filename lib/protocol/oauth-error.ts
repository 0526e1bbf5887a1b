/** The error codes of RFC 6749 §4.1.2.1 and §5.2, 7009 §2.2.1, 7591 §3.2.2, 8707 §2 and OpenID Connect Core §3.1.2.6 (for `prompt`). */
export type OAuthErrorCode =
  | "access_denied"
  | "consent_required"
  | "interaction_required"
  | "invalid_client"
  | "invalid_client_metadata"
  | "invalid_grant"
  | "invalid_redirect_uri"
  | "invalid_request"
  | "invalid_scope"
  | "invalid_target"
  | "login_required"
  | "server_error"
  | "temporarily_unavailable"
  | "unapproved_software_statement"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "unsupported_response_type"
  | "unsupported_token_type";

/**
 * What has happened to a person, where the error code does not say it: their sign-in is over, their answer did not count, or the client's
 * server could not be reached.
 */
export type LostSituation = "lost" | "answer" | "unreached";

/** The texts of an `OAuthError`. */
export interface OAuthErrorDetails {
  /** Sent to the client as `error_description`: constant text in the characters of RFC 6749 §5.2, never input. */
  readonly description: string;
  /** Put into the event; may say more than the client may know. Also constant text. Defaults to `description`. */
  readonly reason?: string;
  /** What the person has to be told on an error page. Left out where the request itself is to blame. */
  readonly situation?: LostSituation;
  /** What was thrown, when the refusal is not the client's fault. */
  readonly cause?: unknown;
  /** With `temporarily_unavailable`: when the client may try again, in whole seconds. */
  readonly retryAfterSeconds?: number;
}

/** A refusal by the rules of OAuth. Anything else that is thrown becomes a `server_error`. */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode;
  readonly description: string;
  readonly reason: string;
  readonly situation: LostSituation | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: OAuthErrorCode, details: OAuthErrorDetails) {
    super(`${code}: ${details.description}`, { cause: details.cause });
    this.name = "OAuthError";
    this.code = code;
    this.description = details.description;
    this.reason = details.reason ?? details.description;
    this.situation = details.situation;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

/** True for text in the characters of `error_description`. @rfc 6749 §4.1.2.1, §5.2 */
export function isErrorDescription(value: unknown): value is string {
  return typeof value === "string" && /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(value);
}

const lateCode = "AUTHMOUNT_LATE";

/** The failure of a call that may succeed later: it took too long, or there was no room. Clients get `temporarily_unavailable`. */
export function lateError(message: string): Error {
  return Object.assign(new Error(message), { code: lateCode });
}

function isLate(cause: unknown): boolean {
  return (cause as { code?: unknown } | undefined)?.code === lateCode;
}

/** What a client is told about a failure that is not its fault. Only the event carries the cause. */
export function serverError(cause: unknown): OAuthError {
  return isLate(cause)
    ? new OAuthError("temporarily_unavailable", { description: "Try again later.", cause })
    : new OAuthError("server_error", { description: "The server could not answer this request.", cause });
}

/** True when storage or the host failed, so the request is not to blame. */
export function isFailure(error: OAuthError): boolean {
  return error.code === "server_error" || isLate(error.cause);
}

/** The error that the client may see. Unexpected ones are hidden behind `server_error`: their text may contain secrets. */
export function toOAuthError(error: unknown): OAuthError {
  return error instanceof OAuthError ? error : serverError(error);
}
