/** The authorization endpoint's answer on the redirect URI. RFC 6749 §4.1.2, §4.1.2.1; 9207 §2. */
import type { OAuthError } from "./oauth-error";
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

/** The URL that hands the code to the client. `iss` lets the client notice a mix-up of servers. @rfc 6749 §4.1.2, 9207 §2 */
export function successLocation(
  target: RedirectTarget,
  answer: { code: string; state: string | undefined; iss: string },
): string {
  return withQuery(target, answer);
}

/**
 * The URL that tells the client why it gets no code. Only a proven redirect target can be passed, so this cannot become an open
 * redirect.
 *
 * @rfc 6749 §4.1.2.1, 9207 §2
 */
export function errorLocation(
  target: RedirectTarget,
  { error, state, iss }: { error: OAuthError; state: string | undefined; iss: string },
): string {
  return withQuery(target, { error: error.code, error_description: error.description, state, iss });
}
