/** The authorization request and its parameters. RFC 6749 §4.1.1; 9126 §2.2; 9449 §10; OpenID Connect Core §3.1.2.1. */
import type { Client, ResponseMode } from "./client";
import type { DeviceTarget } from "./device";
import type { Issuer } from "./issuer";
import type { Parameters } from "./parameters";
import type { RedirectTarget } from "./redirect-uri";
import type { RequestedScopes } from "./requested-scopes";
import type { EpochSeconds } from "./time";
import type { TokenDigest } from "./token-value";

/** The supported values of `prompt`. The metadata publishes this list. */
export const prompts = ["none", "login", "consent", "select_account"] as const;

/**
 * `none`: show no page. `login`: the person must sign in again. `consent`: ask for consent again. `select_account`: the person
 * chooses an account, which may be one that is already signed in. OpenID Connect Core §3.1.2.1.
 */
export type Prompt = (typeof prompts)[number];

/** That a request was pushed, and what its approval uses up. @rfc 9126 §2.2, §4 */
export interface PushedRequest {
  /** Stands for its `request_uri`. */
  readonly key: TokenDigest;
  /** From then on its `request_uri` leads to no page. */
  readonly expiresAt: EpochSeconds;
}

/** An authorization request that has passed every check. */
export interface AuthorizationRequest extends RequestedScopes {
  readonly issuer: Issuer;
  readonly client: Client;
  /** Where the answer goes: proven to belong to the client, or a page of ours. */
  readonly target: RedirectTarget | DeviceTarget;
  readonly state: string | undefined;
  readonly responseMode: ResponseMode;
  readonly codeChallenge: string | undefined;
  /** Thumbprint of the key with which its code must be redeemed; `undefined` where any key will do. */
  readonly boundKey: string | undefined;
  /** The text that its ID token must contain; `undefined` where none is asked for. */
  readonly nonce: string | undefined;
  /** The person whom the client expects, by their `id_token_hint`; `undefined` where anyone may sign in. */
  readonly hintedSubject: string | undefined;
  /** Distinct values; empty when the request has no `prompt`. */
  readonly prompt: readonly Prompt[];
  /** The greatest age of the sign-in, in seconds. */
  readonly maxAge: number | undefined;
  /** How the person may have signed in, the best first; empty where any way will do. */
  readonly acrValues: readonly string[];
  /** Text of the client for the host's sign-in page. The library passes it on unread. */
  readonly loginHint: string | undefined;
  /** Language tags in order of preference, separated by spaces. */
  readonly uiLocales: string | undefined;
  /** Left out for a request that came in the URL alone. */
  readonly pushed?: PushedRequest | undefined;
}

/** The parameters of an authorization request. A pending request keeps these and no others. */
export const authorizationParameterNames = [
  "client_id",
  "response_type",
  "response_mode",
  "redirect_uri",
  "scope",
  "state",
  "code_challenge",
  "code_challenge_method",
  "dpop_jkt",
  "nonce",
  "prompt",
  "resource",
  "max_age",
  "acr_values",
  "login_hint",
  "ui_locales",
] as const;

/** The parameters with these names, as far as they came. */
export function sentParameters(
  parameters: Parameters,
  names: readonly (typeof authorizationParameterNames)[number][] = authorizationParameterNames,
): Readonly<Record<string, string>> {
  const entries = names.map((name) => [name, parameters.get(name)] as const);
  return Object.fromEntries(
    entries.filter((entry): entry is typeof entry & [string, string] => entry[1] !== undefined),
  );
}

function isPrompt(text: string): text is Prompt {
  return prompts.some((prompt) => prompt === text);
}

/** The distinct values of a `prompt` parameter, or `undefined` when one is unknown. @rfc OpenID Connect Core §3.1.2.1 */
export function parsePrompt(text: string | undefined): readonly Prompt[] | undefined {
  const values = [...new Set(text?.split(" "))];
  return values.every(isPrompt) ? values : undefined;
}

/** True for whole seconds in plain decimal digits: other spellings could be read in two ways. @rfc OpenID Connect Core §3.1.2.1 */
export function isMaxAge(text: string): boolean {
  return /^\d{1,9}$/.test(text);
}
