/** The authorization request: every refusal that may redirect. RFC 6749 §4.1.1, 7636 §4.4.1, 8707 §2, 9700 §2.1.1. */
import { type Client, mayUseGrant } from "./client";
import { isResourceOf, type Issuer } from "./issuer";
import { OAuthError } from "./oauth-error";
import type { Parameters } from "./parameters";
import { isCodeChallenge } from "./pkce";
import type { RedirectTarget } from "./redirect-uri";
import {
  checkRequestedScopes,
  checkShownScopes,
  type RequestedScopes,
  type ShownScopes,
} from "./requested-scopes";

export const prompts = ["none", "login", "consent", "select_account"] as const;

/**
 * `none`: no page may be shown. `login`: sign in again. `consent`: ask again. `select_account`: let the person choose an account,
 * one that is signed in already for example. OpenID Connect Core §3.1.2.1.
 */
export type Prompt = (typeof prompts)[number];

/** A checked authorization request. */
export interface AuthorizationRequest extends RequestedScopes {
  readonly issuer: Issuer;
  readonly client: Client;
  readonly target: RedirectTarget;
  readonly state: string | undefined;
  readonly codeChallenge: string | undefined;
  readonly prompt: readonly Prompt[];
  /** Seconds. */
  readonly maxAge: number | undefined;
  readonly loginHint: string | undefined;
  readonly uiLocales: string | undefined;
}

/** The parameters that a request is made of; a pending request keeps these and no others. */
export const authorizationParameterNames = [
  "client_id",
  "response_type",
  "redirect_uri",
  "scope",
  "state",
  "code_challenge",
  "code_challenge_method",
  "prompt",
  "resource",
  "max_age",
  "login_hint",
  "ui_locales",
] as const;

/** @param reason for the developer: the rule and what to do. */
function invalidRequest(description: string, reason: string): OAuthError {
  return new OAuthError("invalid_request", { description, reason });
}

function checkUsable(parameters: Parameters): void {
  if (parameters.unusable.size > 0)
    throw invalidRequest(
      "A parameter is repeated or is not UTF-8 text.",
      "no parameter may come twice (RFC 6749 §3.1), and all are UTF-8 (Appendix B): send each once, percent-encoded",
    );
}

function checkResponseType(parameters: Parameters): void {
  const responseType = parameters.get("response_type");
  if (responseType === undefined)
    throw invalidRequest(
      "response_type is missing.",
      "response_type is required (RFC 6749 §4.1.1): send response_type=code",
    );
  if (responseType === "code") return;
  throw new OAuthError("unsupported_response_type", {
    description: "The only response_type is code.",
    reason:
      "response_type is another than code; the implicit grant is not offered (RFC 9700 §2.1.2): send response_type=code",
  });
}

function checkClientMayAsk(client: Client, issuer: Issuer): void {
  const { apiId } = issuer.api;
  if (mayUseGrant(client, { apiId, grantType: "authorization_code" })) return;
  throw new OAuthError("unauthorized_client", {
    description: "The client may not use the authorization code grant at this API.",
    reason:
      "the client has no subscription to this API, or its grantTypes leave out authorization_code (RFC 6749 §4.1.2.1): mend the client's subscriptions",
  });
}

function readCodeChallenge(parameters: Parameters, client: Client): string | undefined {
  const challenge = parameters.get("code_challenge");
  const method = parameters.get("code_challenge_method");
  if (challenge === undefined && method === undefined && client.confidential) return undefined;
  if (challenge === undefined)
    throw invalidRequest(
      "code_challenge is missing.",
      "public clients must use PKCE (RFC 7636 §4.3, 9700 §2.1.1): send code_challenge and code_challenge_method=S256",
    );
  if (method !== "S256")
    throw invalidRequest(
      "code_challenge_method must be S256.",
      "code_challenge_method is missing or is not S256; plain protects nothing (RFC 7636 §7.2): send S256",
    );
  if (!isCodeChallenge(challenge))
    throw invalidRequest(
      "code_challenge must be 43 base64url characters.",
      "code_challenge is not the base64url of a SHA-256 without padding (RFC 7636 §4.2): encode it so",
    );
  return challenge;
}

/** @rfc 8707 §2 */
export function checkResource(parameters: Parameters, issuer: Issuer): void {
  if (isResourceOf(issuer, parameters.get("resource"))) return;
  throw new OAuthError("invalid_target", {
    description: "The resource is not the API of this endpoint.",
    reason:
      "resource is not the audience of this endpoint's API (RFC 8707 §2): leave it out, or ask at the endpoint of that API",
  });
}

function isPrompt(text: string): text is Prompt {
  return prompts.some((prompt) => prompt === text);
}

/** @rfc OpenID Connect Core §3.1.2.1 */
function readPrompt(parameters: Parameters): readonly Prompt[] {
  const values = [...new Set(parameters.get("prompt")?.split(" "))];
  if (!values.every(isPrompt))
    throw invalidRequest(
      "prompt knows none, login, consent and select_account.",
      "prompt has another value (OpenID Connect Core §3.1.2.1): leave it out",
    );
  if (values.includes("none") && values.length > 1)
    throw invalidRequest(
      "prompt=none stands alone.",
      "prompt has none beside another value (OpenID Connect Core §3.1.2.1): send one of them",
    );
  return values;
}

function readMaxAge(parameters: Parameters): number | undefined {
  const maxAge = parameters.get("max_age");
  if (maxAge !== undefined && !/^\d{1,9}$/.test(maxAge))
    throw invalidRequest(
      "max_age must be whole seconds.",
      "max_age is a number of seconds from 0 up (OpenID Connect Core §3.1.2.1): send digits only",
    );
  return maxAge === undefined ? undefined : Number(maxAge);
}

/** What the parameters of a request are checked with. */
export interface AuthorizationRequestSetting {
  readonly issuer: Issuer;
  readonly client: Client;
  readonly target: RedirectTarget;
  /** What the pages of this request have shown; `undefined` on the first visit. */
  readonly shown: ShownScopes | undefined;
}

/**
 * The checked request. Throws what the client is told by redirect, in the order of the checks.
 *
 * @rfc 6749 §4.1.1, §4.1.2.1
 */
export function checkAuthorizationRequest(
  parameters: Parameters,
  { issuer, client, target, shown }: AuthorizationRequestSetting,
): AuthorizationRequest {
  checkUsable(parameters);
  checkResponseType(parameters);
  checkClientMayAsk(client, issuer);
  const codeChallenge = readCodeChallenge(parameters, client);
  checkResource(parameters, issuer);
  // not a spread in the literal below: V8 makes a slow and large object of it
  const { requestedScopes, grantableScopes, ignoredScopes } = shown
    ? checkShownScopes(shown, { issuer, client })
    : checkRequestedScopes(parameters.get("scope"), { issuer, client });
  return {
    issuer,
    client,
    target,
    state: parameters.get("state"),
    requestedScopes,
    grantableScopes,
    ignoredScopes,
    codeChallenge,
    prompt: readPrompt(parameters),
    maxAge: readMaxAge(parameters),
    loginHint: parameters.get("login_hint"),
    uiLocales: parameters.get("ui_locales"),
  };
}
