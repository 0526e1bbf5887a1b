/** Checks of an authorization request; refusals go by redirect. RFC 6749 §4.1.1, §4.1.2.1; 7636 §4.4.1; 9700 §2.1.1. */
import { isCodeChallenge } from "../protocol/authorization";
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
import { checkRequestedScopes, checkResource, checkShownScopes, checkUsable } from "./check-parameters";

/** @param reason for the developer: which rule was broken, and what to do. */
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
      "response_type is not code; the implicit grant is not offered (RFC 9700 §2.1.2): send response_type=code",
  });
}

function checkClientMayAsk(client: Client, issuer: Issuer): void {
  const { apiId } = issuer.api;
  if (mayUseGrant(client, { apiId, grantType: "authorization_code" })) return;
  throw new OAuthError("unauthorized_client", {
    description: "The client may not use the authorization code grant at this API.",
    reason:
      "the client has no subscription to this API, or its grantTypes leave out authorization_code (RFC 6749 §4.1.2.1): fix the client's subscriptions",
  });
}

/** The code challenge; `undefined` only for a confidential client that does not use PKCE. @rfc 7636 §4.3, §4.4.1 */
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
      "code_challenge is not an unpadded base64url SHA-256 (RFC 7636 §4.2): send BASE64URL(SHA256(code_verifier))",
    );
  return challenge;
}

/** The values of `prompt`. An unknown value is refused, not ignored. @rfc OpenID Connect Core §3.1.2.1 */
function checkPrompt(parameters: Parameters): readonly Prompt[] {
  const values = parsePrompt(parameters.get("prompt"));
  if (!values)
    throw invalidRequest(
      "prompt takes only none, login, consent and select_account.",
      "prompt has an unknown value (OpenID Connect Core §3.1.2.1): leave it out",
    );
  if (values.includes("none") && values.length > 1)
    throw invalidRequest(
      "prompt=none must be the only value.",
      "prompt has none together with another value (OpenID Connect Core §3.1.2.1): send only one of them",
    );
  return values;
}

function checkMaxAge(parameters: Parameters): number | undefined {
  const maxAge = parameters.get("max_age");
  if (maxAge === undefined) return undefined;
  if (isMaxAge(maxAge)) return Number(maxAge);
  throw invalidRequest(
    "max_age must be a whole number of seconds.",
    "max_age is a number of seconds, 0 or more (OpenID Connect Core §3.1.2.1): send digits only",
  );
}

/** What the parameters of a request are checked against. */
export interface AuthorizationRequestSetting {
  /** The issuer that the request was sent to. */
  readonly issuer: Issuer;
  /** The client that `client_id` names. */
  readonly client: Client;
  /** The proven redirect URI: without it, these refusals could not be sent to the client. */
  readonly target: RedirectTarget;
  /** The scopes that the pages of this request have shown; `undefined` on the first visit. */
  readonly shown: ShownScopes | undefined;
}

/**
 * The checked authorization request. It is checked again in the same way on every return from a page, because the client's record
 * may have changed in between.
 *
 * @throws OAuthError for the first rule that is broken, to be sent to the client by redirect.
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
  // no spread in the object below: V8 would make it a slow and large object
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
