/** Refusals by the rules of OAuth, and what their events say. RFC 6749 §4.1.2.1, §5.2. */
import { type CodedTexts, codedText, type TextParts } from "./mistake";

/** The error codes of RFC 6749 §4.1.2.1 and §5.2, 7009 §2.2.1, 7591 §3.2.2, 8628 §3.5, 8707 §2, 9126 §4, 9449 §5 and OpenID Connect Core §3.1.2.6. */
export type OAuthErrorCode =
  | "access_denied"
  | "authorization_pending"
  | "consent_required"
  | "expired_token"
  | "interaction_required"
  | "invalid_client"
  | "invalid_client_metadata"
  | "invalid_dpop_proof"
  | "invalid_grant"
  | "invalid_redirect_uri"
  | "invalid_request"
  | "invalid_request_uri"
  | "invalid_scope"
  | "invalid_target"
  | "login_required"
  | "request_not_supported"
  | "request_uri_not_supported"
  | "server_error"
  | "slow_down"
  | "temporarily_unavailable"
  | "unapproved_software_statement"
  | "unauthorized_client"
  | "unmet_authentication_requirements"
  | "unsupported_grant_type"
  | "unsupported_response_type"
  | "unsupported_token_type";

/**
 * What has happened to a person, where the error code does not say it: their sign-in is over, or the request of their device; their answer
 * was not accepted; or the client's server could not be reached.
 */
export type LostSituation = "lost" | "device" | "answer" | "unreached";

/**
 * Which refusal it is, in kebab case. Each is in the list of the room that refuses. It never changes its meaning; the text beside it may be
 * improved. It always has a hyphen, so that the compiler tells it from an `OAuthErrorCode`.
 */
export type RefusalCode = `${string}-${string}`;

/** A code with its text from the list of a room. */
export function because<Texts extends CodedTexts, Code extends keyof Texts & RefusalCode>(
  texts: Texts,
  code: Code,
  ...parts: TextParts<Texts[Code]>
): { readonly code: Code; readonly reason: string } {
  return { code, reason: codedText(texts, { code, parts }) };
}

/** The texts of an `OAuthError`. */
export interface OAuthErrorDetails {
  /** Sent to the client as `error_description`: constant text in the characters of RFC 6749 §5.2, never input. */
  readonly description: string;
  /** Put into the event, for programs. Never sent to the client. */
  readonly code: RefusalCode;
  /** Put into the event; may say more than the client may know. Never quotes a parameter: it may hold a secret. Defaults to `description`. */
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
  readonly error: OAuthErrorCode;
  readonly code: RefusalCode;
  readonly description: string;
  readonly reason: string;
  readonly situation: LostSituation | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(error: OAuthErrorCode, details: OAuthErrorDetails) {
    super(`${error}: ${details.description}`, { cause: details.cause });
    this.name = "OAuthError";
    this.error = error;
    this.code = details.code;
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

// a registered symbol: a second copy of this package must find the mark too
const lateMark = Symbol.for("authmount.late");

/** The failure of a call that may succeed later: it took too long, or there was no room. Clients get `temporarily_unavailable`. */
export function lateError(code: string, message: string, options?: { readonly cause: unknown }): Error {
  const error = Object.assign(new Error(message, options), { code });
  return Object.defineProperty(error, lateMark, { value: true });
}

function isLate(cause: unknown): boolean {
  return (cause as { [lateMark]?: unknown } | undefined)?.[lateMark] === true;
}

/** Failures of the server. The event of one is a `server-error`, which has a cause instead. */
export const failureReasons = {
  "server-late": "Try again later.",
  "server-failed": "The server could not answer this request.",
} as const;

/** What a client is told about a failure that is not its fault. Only the event carries the cause. */
export function serverError(cause: unknown): OAuthError {
  const [error, code] = isLate(cause)
    ? (["temporarily_unavailable", "server-late"] as const)
    : (["server_error", "server-failed"] as const);
  return new OAuthError(error, { description: failureReasons[code], code, cause });
}

/** True when the request that a person came with is over. */
export function isLost({ situation }: OAuthError): boolean {
  return situation === "lost" || situation === "device";
}

/** True when storage or the host failed, so the request is not to blame. */
export function isFailure(error: OAuthError): boolean {
  return error.error === "server_error" || isLate(error.cause);
}

/** The error that the client may see. Unexpected ones are hidden behind `server_error`: their text may contain secrets. */
export function toOAuthError(error: unknown): OAuthError {
  return error instanceof OAuthError ? error : serverError(error);
}
