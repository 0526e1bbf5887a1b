/** The authorization endpoint's answer on the redirect URI. RFC 6749 §4.1.2, §4.1.2.1; 9207 §2; OAuth 2.0 Form Post Response Mode §2. */
import { type Client, type ResponseMode, responseModes } from "./client";
import type { DeviceTarget } from "./device";
import type { OAuthError, OAuthErrorCode } from "./oauth-error";
import type { DeviceEndResponse, FormPostResponse, RedirectResponse } from "./protocol-response";
import type { PostLogoutTarget } from "./post-logout-uri";
import type { RedirectTarget } from "./redirect-uri";

/** The proven target with these parameters in its query. */
export function withParameters(
  target: RedirectTarget | PostLogoutTarget,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
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

/**
 * The way to answer the client, or `undefined` when it may not be answered in the way that it asks for. A form is only for confidential clients
 * that the host has registered: it needs a server that reads it. Browsers change line breaks in its fields, and `state` must come back as it was.
 */
export function responseModeFor(
  asked: string | undefined,
  { client, state = "" }: { readonly client: Client; readonly state: string | undefined },
): ResponseMode | undefined {
  const { responseModes: allowed = responseModes, confidential, selfDescription } = client;
  const mode = allowed.find((one) => one === (asked ?? "query"));
  if (mode !== "form_post") return mode;
  return confidential && !selfDescription && /^[\x20-\x7e]*$/.test(state) ? mode : undefined;
}

/** What the client is told, by its wire names: a code or an error, the `state` of its request, and who answers. */
export type AnswerParameters = {
  readonly state: string | undefined;
  /** The issuer, by which the client notices a mix-up of servers. @rfc 9207 §2 */
  readonly iss: string;
} & (
  | { readonly code: string; readonly error?: never }
  | { readonly error: OAuthErrorCode; readonly error_description: string }
);

/** An answer that the client gets, or that a person sees whose device gets it. */
export type AuthorizationAnswer = RedirectResponse | FormPostResponse | DeviceEndResponse;

/** The parameters that tell why there is no code. @rfc 6749 §4.1.2.1 */
export function errorParameters(
  { error, description }: OAuthError,
  { state, iss }: Pick<AnswerParameters, "state" | "iss">,
): AnswerParameters {
  return { error, error_description: description, state, iss };
}

/**
 * The answer that leads the browser back to the client, or to a page of ours. Only a proven redirect target can be passed, so this cannot become an open redirect.
 *
 * @rfc 6749 §4.1.2, §4.1.2.1, OAuth 2.0 Form Post Response Mode §2
 */
export function authorizationAnswer(
  target: RedirectTarget | DeviceTarget,
  { mode, parameters }: { mode: ResponseMode; parameters: AnswerParameters },
): AuthorizationAnswer {
  const { error } = parameters;
  if (target.device) return { kind: "device-end", ...(error && { error }) };
  switch (mode) {
    case "query":
      return { kind: "redirect", location: withParameters(target, parameters), ...(error && { error }) };
    case "form_post":
      return { kind: "form-post", action: target.uri, fields: parameters, ...(error && { error }) };
  }
}
