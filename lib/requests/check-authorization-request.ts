/** Checks of an authorization request; refusals go by redirect. RFC 6749 §4.1.1, §4.1.2.1; 7636 §4.4.1; 9126 §5; 9700 §2.1.1. */
import { isCodeChallenge, isThumbprint } from "../protocol/authorization";
import {
  type AuthorizationRequest,
  isMaxAge,
  parsePrompt,
  type Prompt,
  type PushedRequest,
} from "../protocol/authorization-request";
import { responseModeFor } from "../protocol/authorization-response";
import {
  type Client,
  clientFlags,
  deviceGrant,
  grantUseProblem,
  type ResponseMode,
} from "../protocol/client";
import type { Issuer } from "../protocol/issuer";
import { because, OAuthError } from "../protocol/oauth-error";
import { type IdTokenVerifier, isIdTokenSubject } from "../protocol/openid";
import type { Parameters } from "../protocol/parameters";
import type { RedirectTarget } from "../protocol/redirect-uri";
import type { ShownScopes } from "../protocol/requested-scopes";
import { intersect } from "../protocol/scope";
import { checkFlag } from "./check-flags";
import { checkRequestedScopes, checkResource, checkShownScopes, checkUsable } from "./check-parameters";

/** Refusals by the rules for authorization requests. */
export const authorizationRequestReasons = {
  "response-type-missing": "response_type is required (RFC 6749 §4.1.1): send response_type=code",
  "response-type-not-code":
    "response_type is not code, and the implicit grant is not offered (RFC 9700 §2.1.2): send response_type=code",
  "response-mode-not-allowed":
    "response_mode is not query or form_post, or responseModes of the client's record does not have it; form_post is for confidential clients that you have registered, with a state of visible ASCII (OAuth 2.0 Form Post Response Mode §2): leave it out, or fix the record",
  "request-object-not-supported":
    "request and request_uri are not read (OpenID Connect Core §3.1.2.6): send the parameters themselves",
  "request-not-pushed":
    'the API has pushedRequests: "required", or the client\'s record requirePushedRequests: true, and the request came in the URL (RFC 9126 §5): push it to pushed_authorization_request_endpoint of the metadata, and send client_id and request_uri only',
  "code-grant-not-allowed": (client: string, why: string): string =>
    `client ${client} ${why} (RFC 6749 §4.1.2.1): fix the client's record`,
  "code-challenge-missing":
    'code_challenge is missing: public clients must use PKCE, and so must anyone who sends code_challenge_method or asks an API with profile: "fapi2" (RFC 7636 §4.3, 9700 §2.1.1): send code_challenge and code_challenge_method=S256',
  "code-challenge-method-not-s256":
    "code_challenge_method is missing or is not S256, and plain, the default, protects nothing (RFC 7636 §7.2): send S256",
  "code-challenge-malformed":
    "code_challenge is not 43 base64url characters without padding (RFC 7636 §4.2): send BASE64URL(SHA256(code_verifier))",
  "dpop-jkt-malformed":
    "dpop_jkt is not 43 base64url characters (RFC 9449 §10): send the SHA-256 thumbprint of the public key (RFC 7638) as base64url without padding",
  "client-id-is-audience": (client: string): string =>
    `client ${client} has the audience of an API as its id, so its ID tokens could pass for access tokens (RFC 9068 §2.2): give it another id`,
  "id-token-hint-not-ours":
    "id_token_hint is not an ID token that this issuer has made for this client (OpenID Connect Core §3.1.2.1): send the client's last one, whether it has expired or not, or leave it out",
  "id-token-hint-of-no-key":
    "id_token_hint names a key that signingKeys does not have, so nobody can verify it: the person has to sign in. Keep replaced keys for as long as relying parties keep ID tokens",
  "nonce-malformed":
    "nonce is not 1 to 512 ASCII characters (OpenID Connect Core §3.1.2.1): send 32 random bytes as base64url",
  "prompt-unknown":
    "prompt has a value other than none, login, consent and select_account (OpenID Connect Core §3.1.2.1): leave that value out",
  "prompt-none-with-others":
    "prompt has none together with another value (OpenID Connect Core §3.1.2.1): send only one of them",
  "acr-values-unknown":
    "acr_values has none of acrValues of the API (RFC 9470 §5): send one of acr_values_supported of the metadata, or add it to acrValues",
  "max-age-malformed":
    "max_age is not a number of seconds, 0 or more (OpenID Connect Core §3.1.2.1): send digits only",
} as const;

function invalidRequest(description: string, code: keyof typeof authorizationRequestReasons): OAuthError {
  return new OAuthError("invalid_request", { description, ...because(authorizationRequestReasons, code) });
}

function checkResponseType(parameters: Parameters): void {
  const responseType = parameters.get("response_type");
  if (responseType === undefined) throw invalidRequest("response_type is missing.", "response-type-missing");
  if (responseType === "code") return;
  throw new OAuthError("unsupported_response_type", {
    description: "The only response_type is code.",
    ...because(authorizationRequestReasons, "response-type-not-code"),
  });
}

/** What is in a signed request would be overlooked, and the client would rely on it. @rfc OpenID Connect Core §3.1.2.6 */
function checkNoRequestObject(parameters: Parameters): void {
  const name = (["request", "request_uri"] as const).find((each) => parameters.get(each) !== undefined);
  if (name === undefined) return;
  throw new OAuthError(`${name}_not_supported`, {
    description: `${name} is not supported.`,
    ...because(authorizationRequestReasons, "request-object-not-supported"),
  });
}

/** Where requests must be pushed, one in the URL could have been changed on its way through the browser. @rfc 9126 §5 */
function checkPushed({ issuer, client, pushed }: AuthorizationRequestSetting): void {
  const { pushedRequests } = issuer.api;
  if (!pushedRequests || pushed) return;
  if (pushedRequests === "required" || client.requirePushedRequests)
    throw invalidRequest("The request must be pushed.", "request-not-pushed");
}

function checkResponseMode(parameters: Parameters, client: Client): ResponseMode {
  const mode = responseModeFor(parameters.get("response_mode"), { client, state: parameters.get("state") });
  if (mode) return mode;
  throw invalidRequest("The client may not use this response_mode.", "response-mode-not-allowed");
}

/** A grant that begins with a question to a person. */
type AskingGrant = "authorization_code" | typeof deviceGrant;

/** How refusals call them. */
const askingGrants: Readonly<Record<AskingGrant, string>> = {
  authorization_code: "authorization code",
  [deviceGrant]: "device",
};

/** Refuses a client that may not ask people. @throws OAuthError `unauthorized_client`, `invalid_request` */
export function checkClientMayAsk(
  { client, issuer }: { readonly client: Client; readonly issuer: Issuer },
  grantType: AskingGrant,
): void {
  if (issuer.api.openid?.audiences.includes(client.clientId))
    throw new OAuthError("unauthorized_client", {
      description: "The client id is the audience of an API.",
      ...because(authorizationRequestReasons, "client-id-is-audience", client.clientId),
    });
  for (const flag of clientFlags) if (client[flag]) checkFlag(flag, { client, issuer });
  const problem = grantUseProblem(client, { apiId: issuer.api.apiId, grantType });
  if (problem === undefined) return;
  throw new OAuthError("unauthorized_client", {
    description: `The client may not use the ${askingGrants[grantType]} grant at this API.`,
    ...because(authorizationRequestReasons, "code-grant-not-allowed", client.clientId, problem),
  });
}

/** The code challenge; `undefined` only for a confidential client that does not use PKCE, where it may. @rfc 7636 §4.3, §4.4.1 */
function checkCodeChallenge(
  parameters: Parameters,
  { client, issuer }: AuthorizationRequestSetting,
): string | undefined {
  const challenge = parameters.get("code_challenge");
  const method = parameters.get("code_challenge_method");
  const mayGoWithout = client.confidential && !issuer.api.pkce;
  if (challenge === undefined && method === undefined && mayGoWithout) return undefined;
  if (challenge === undefined) throw invalidRequest("code_challenge is missing.", "code-challenge-missing");
  if (method !== "S256")
    throw invalidRequest("code_challenge_method must be S256.", "code-challenge-method-not-s256");
  if (!isCodeChallenge(challenge))
    throw invalidRequest("code_challenge must be 43 base64url characters.", "code-challenge-malformed");
  return challenge;
}

/** The key that the code will be bound to. @rfc 9449 §10 */
function checkBoundKey(parameters: Parameters): string | undefined {
  const thumbprint = parameters.get("dpop_jkt");
  if (thumbprint === undefined || isThumbprint(thumbprint)) return thumbprint;
  throw invalidRequest("dpop_jkt must be 43 base64url characters.", "dpop-jkt-malformed");
}

/** The values of `prompt`. An unknown value is refused, not ignored. @rfc OpenID Connect Core §3.1.2.1 */
function checkPrompt(parameters: Parameters): readonly Prompt[] {
  const values = parsePrompt(parameters.get("prompt"));
  if (!values)
    throw invalidRequest("prompt takes only none, login, consent and select_account.", "prompt-unknown");
  if (values.includes("none") && values.length > 1)
    throw invalidRequest("prompt=none must be the only value.", "prompt-none-with-others");
  return values;
}

function checkMaxAge(parameters: Parameters): number | undefined {
  const maxAge = parameters.get("max_age");
  if (maxAge === undefined) return undefined;
  if (isMaxAge(maxAge)) return Number(maxAge);
  throw invalidRequest("max_age must be a whole number of seconds.", "max-age-malformed");
}

/**
 * Those of the values that people can reach. Where there are none, a sign-in could only end in tokens that the client's API refuses again.
 *
 * @rfc 9470 §5; OpenID Connect Core §3.1.2.1
 */
function checkAcrValues(parameters: Parameters, { api: { acrValues = [] } }: Issuer): readonly string[] {
  const asked = acrValues.length === 0 ? undefined : parameters.get("acr_values");
  if (asked === undefined) return [];
  const known = intersect([...new Set(asked.split(" "))], acrValues);
  if (known.length > 0) return known;
  throw new OAuthError("unmet_authentication_requirements", {
    description: "The end user cannot sign in in any of these ways.",
    ...because(authorizationRequestReasons, "acr-values-unknown"),
  });
}

/** The nonce of a request for a sign-in. Other requests get no ID token, so theirs has no meaning. @rfc OpenID Connect Core §3.1.2.1 */
function checkNonce(parameters: Parameters, { api }: Issuer): string | undefined {
  const nonce = api.openid && parameters.get("nonce");
  if (nonce !== undefined && !/^[\x20-\x7e]{1,512}$/.test(nonce))
    throw invalidRequest("nonce must be at most 512 ASCII characters.", "nonce-malformed");
  return nonce;
}

/** Whom the client expects. It may name them only by an ID token of its own, whose expiry does not matter. @rfc OpenID Connect Core §3.1.2.1 */
function checkIdTokenHint(
  parameters: Parameters,
  { issuer, client, idTokens, hintedSubject }: AuthorizationRequestSetting,
): string | undefined {
  const hint = issuer.api.openid && parameters.get("id_token_hint");
  if (hint === undefined) return hintedSubject;
  const { iss, aud, sub } = idTokens?.verify(hint) ?? {};
  const isOurs = iss === issuer.identifier && aud === client.clientId;
  if (isOurs && typeof sub === "string" && isIdTokenSubject(sub)) return sub;
  if (!idTokens?.isOfNoKey(hint))
    throw invalidRequest("id_token_hint is not an ID token of this client.", "id-token-hint-not-ours");
  throw new OAuthError("login_required", {
    description: "The id_token_hint can no longer be verified.",
    ...because(authorizationRequestReasons, "id-token-hint-of-no-key"),
  });
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
  /** Verifies `id_token_hint`; left out on a return visit, which has none. */
  readonly idTokens?: IdTokenVerifier | undefined;
  /** The person whom the hint has named, when the request was pushed or on the first visit. */
  readonly hintedSubject?: string | undefined;
  /** Left out for a request that came in the URL alone. */
  readonly pushed?: PushedRequest | undefined;
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
  setting: AuthorizationRequestSetting,
): AuthorizationRequest {
  const { issuer, client, target, shown, pushed } = setting;
  checkUsable(parameters);
  checkNoRequestObject(parameters);
  checkPushed(setting);
  checkResponseType(parameters);
  const responseMode = checkResponseMode(parameters, client);
  checkClientMayAsk(setting, "authorization_code");
  const codeChallenge = checkCodeChallenge(parameters, setting);
  checkResource(parameters.get("resource"), issuer);
  // no spread in the object below: V8 would make it a slow and large object
  const { requestedScopes, grantableScopes, ignoredScopes } = shown
    ? checkShownScopes(shown, { issuer, client })
    : checkRequestedScopes(parameters.get("scope"), { issuer, client });
  return {
    issuer,
    client,
    target,
    state: parameters.get("state"),
    responseMode,
    requestedScopes,
    grantableScopes,
    ignoredScopes,
    codeChallenge,
    boundKey: issuer.api.dpop && checkBoundKey(parameters),
    nonce: checkNonce(parameters, issuer),
    prompt: checkPrompt(parameters),
    maxAge: checkMaxAge(parameters),
    acrValues: checkAcrValues(parameters, issuer),
    loginHint: parameters.get("login_hint"),
    uiLocales: parameters.get("ui_locales"),
    hintedSubject: checkIdTokenHint(parameters, setting),
    pushed,
  };
}
