/** The authorization endpoint's answer on the redirect URI. RFC 6749 §4.1.2, §4.1.2.1; 9207 §2. */
import type { OAuthError, OAuthErrorCode } from "./oauth-error";
import type { RedirectResponse } from "./protocol-response";
import type { RedirectTarget } from "./redirect-uri";

function withQuery(target: RedirectTarget, parameters: Readonly<Record<string, string | undefined>>): string {
  // the registered query is kept character for character: the client may compare it
  let location = target.uri;
  let separator = location.includes("?") ? (/[?&]$/.test(location) ? "" : "&") : "?";
  for (const name in parameters) {
    const value = parameters[name];
    if (value === undefined) continue;
    location += `${separator}${name}=${encodeURIComponent(value)}`;
    separator = "&";
  }
  return location;
}

/** How an answer reaches the client. */
export type ResponseMode = "query";

/** What the client is told, by its wire names: a code or an error, the `state` of its request, and who answers. */
export type AnswerParameters = {
  readonly state: string | undefined;
  /** The issuer, by which the client notices a mix-up of servers. @rfc 9207 §2 */
  readonly iss: string;
} & (
  | { readonly code: string; readonly error?: never }
  | { readonly error: OAuthErrorCode; readonly error_description: string }
);

/** The parameters that tell why there is no code. @rfc 6749 §4.1.2.1 */
export function errorParameters(
  { error, description }: OAuthError,
  { state, iss }: Pick<AnswerParameters, "state" | "iss">,
): AnswerParameters {
  return { error, error_description: description, state, iss };
}

/**
 * The answer that leads the browser back to the client. Only a proven redirect target can be passed, so this cannot become an open redirect.
 *
 * @rfc 6749 §4.1.2, §4.1.2.1
 */
export function authorizationAnswer(
  target: RedirectTarget,
  { mode, parameters }: { mode: ResponseMode; parameters: AnswerParameters },
): RedirectResponse {
  const { error } = parameters;
  switch (mode) {
    case "query":
      return { kind: "redirect", location: withQuery(target, parameters), ...(error && { error }) };
  }
}
