/** The authorization request and its parameters. RFC 6749 §4.1.1; OpenID Connect Core §3.1.2.1. */
import type { Client } from "./client";
import type { Issuer } from "./issuer";
import type { RedirectTarget } from "./redirect-uri";
import type { RequestedScopes } from "./requested-scopes";

/** The values of `prompt`. */
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

function isPrompt(text: string): text is Prompt {
  return prompts.some((prompt) => prompt === text);
}

/** The distinct values of a `prompt` parameter, or `undefined` when one is unknown. @rfc OpenID Connect Core §3.1.2.1 */
export function parsePrompt(text: string | undefined): readonly Prompt[] | undefined {
  const values = [...new Set(text?.split(" "))];
  return values.every(isPrompt) ? values : undefined;
}

/** True for whole seconds in a form that has no other reading. @rfc OpenID Connect Core §3.1.2.1 */
export function isMaxAge(text: string): boolean {
  return /^\d{1,9}$/.test(text);
}
