/** The error codes of RFC 6749 §4.1.2.1 and §5.2, 7009 §2.2.1, 8707 §2 and OpenID Connect Core §3.1.2.6 (for `prompt`). */
export type OAuthErrorCode =
  | "access_denied"
  | "consent_required"
  | "interaction_required"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_request"
  | "invalid_scope"
  | "invalid_target"
  | "login_required"
  | "server_error"
  | "temporarily_unavailable"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "unsupported_response_type"
  | "unsupported_token_type";

export interface OAuthErrorDetails {
  /** Goes to the client as `error_description`: constant text in the characters of RFC 6749 §5.2, never input. */
  readonly description: string;
  /** Goes to the event; says more than the client may know. Constant text too. */
  readonly reason?: string;
  readonly cause?: unknown;
}

/** A refusal by the rules of OAuth. Anything else that is thrown becomes `server_error`. */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode;
  readonly description: string;
  readonly reason: string;

  constructor(code: OAuthErrorCode, details: OAuthErrorDetails) {
    super(`${code}: ${details.description}`, { cause: details.cause });
    this.name = "OAuthError";
    this.code = code;
    this.description = details.description;
    this.reason = details.reason ?? details.description;
  }
}

const lateCode = "AUTHMOUNT_LATE";

/** What a call ends with that may succeed when it is tried later: it took too long, or found no room. */
export function lateError(message: string): Error {
  return Object.assign(new Error(message), { code: lateCode });
}

function isLate(cause: unknown): boolean {
  return (cause as { code?: unknown } | undefined)?.code === lateCode;
}

/** What a client is told of a failure that is not its fault; the event carries the cause. */
export function serverError(cause: unknown): OAuthError {
  return isLate(cause)
    ? new OAuthError("temporarily_unavailable", { description: "Try again later.", cause })
    : new OAuthError("server_error", { description: "The server could not answer this request.", cause });
}

/** True when storage or the host has failed, and the request is not to blame. */
export function isFailure({ code, cause }: OAuthError): boolean {
  return code === "server_error" || isLate(cause);
}

/** An error as the client may see it. */
export function toOAuthError(error: unknown): OAuthError {
  return error instanceof OAuthError ? error : serverError(error);
}
