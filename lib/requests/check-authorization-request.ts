/** The refusals of an authorization request that may redirect. RFC 6749 §4.1.1, §4.1.2.1; 7636 §4.4.1; 9700 §2.1.1. */
import { isCodeChallenge } from "../protocol/authorization-code";
import {
  type AuthorizationRequest,
  isMaxAge,
  parsePrompt,
  type Prompt,
} from "../protocol/authorization-request";
import { type Client, mayUseGrant } from "../protocol/client";
import type { Issuer } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import type { RedirectTarget } from "../protocol/redirect-uri";
import type { ShownScopes } from "../protocol/requested-scopes";
import { checkResource, checkUsable } from "./check-parameters";
import { checkRequestedScopes, checkShownScopes } from "./check-scopes";

/** @param reason for the developer: the rule and what to do. */
function invalidRequest(description: string, reason: string): OAuthError {
  return new OAuthError("invalid_request", { description, reason });
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

/** @rfc 7636 §4.3, §4.4.1 */
function checkCodeChallenge(parameters: Parameters, client: Client): string | undefined {
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

/** @rfc OpenID Connect Core §3.1.2.1 */
function checkPrompt(parameters: Parameters): readonly Prompt[] {
  const values = parsePrompt(parameters.get("prompt"));
  if (!values)
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

function checkMaxAge(parameters: Parameters): number | undefined {
  const maxAge = parameters.get("max_age");
  if (maxAge === undefined) return undefined;
  if (isMaxAge(maxAge)) return Number(maxAge);
  throw invalidRequest(
    "max_age must be whole seconds.",
    "max_age is a number of seconds from 0 up (OpenID Connect Core §3.1.2.1): send digits only",
  );
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
 * @throws OAuthError
 * @rfc 6749 §4.1.1, §4.1.2.1
 */
export function checkAuthorizationRequest(
  parameters: Parameters,
  { issuer, client, target, shown }: AuthorizationRequestSetting,
): AuthorizationRequest {
  checkUsable(parameters);
  checkResponseType(parameters);
  checkClientMayAsk(client, issuer);
  const codeChallenge = checkCodeChallenge(parameters, client);
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
    prompt: checkPrompt(parameters),
    maxAge: checkMaxAge(parameters),
    loginHint: parameters.get("login_hint"),
    uiLocales: parameters.get("ui_locales"),
  };
}
