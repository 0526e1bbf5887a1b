/** Checks what the host's adapters return: the server relies on the host, so its mistakes must not pass. RFC 6749 §4.1.2.1. */
import { type AuthorizationContext, readContext } from "../protocol/authorization-context";
import { isErrorDescription } from "../protocol/oauth-error";
import { type AnswerKeys, invalidAnswer } from "../host/ask";
import { clockDriftSeconds, type EpochSeconds } from "../protocol/time";
import type { Authentication, ConsentAnswer } from "./port";

/** What an answer about the person at a browser may have. */
export const authenticationKeys: AnswerKeys<Authentication> = {
  authenticated: {
    subject: true,
    displayName: true,
    context: true,
    signedInFrom: true,
    authTime: true,
    amr: true,
    acr: true,
  },
  interaction: { url: true },
  denied: { description: true },
};

type Authenticated = Extract<Authentication, { kind: "authenticated" }>;

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** True for a location that can be written into a header without encoding. A relative one would lead below the authorization endpoint. */
export function isPageUrl(value: unknown): boolean {
  return isText(value) && /^(?:\/|https?:\/\/)[\x21-\x7e]*$/i.test(value);
}

/** What it must be. */
export const pageUrlRule =
  'url must be an absolute URL, or a path that begins with a slash, such as "/sign-in", in visible ASCII characters';

/** What is wrong with an end user that the host names, or `undefined` when nothing is. */
export function endUserProblem(
  { subject, displayName, authTime, amr, acr, signedInFrom }: Omit<Authenticated, "kind">,
  now: EpochSeconds,
): string | undefined {
  if (!isText(subject) || subject === "" || subject.length > 255)
    return "subject must be a string of 1 to 255 characters";
  // no database stores these unchanged, and two people must not become one
  if (/[\0\p{Surrogate}]/u.test(subject)) return "subject must be well-formed Unicode without NUL";
  if (displayName !== undefined && !isText(displayName)) return "displayName must be a string";
  if (authTime !== undefined) {
    if (!Number.isSafeInteger(authTime)) return "authTime must be whole seconds since 1970";
    // a time in milliseconds, for example, would meet every max_age
    if (authTime > now + clockDriftSeconds)
      return "authTime must not be in the future; it is in seconds, not milliseconds";
  }
  if (amr !== undefined && !(Array.isArray(amr) && amr.every(isText))) return "amr must be a list of strings";
  if (acr !== undefined && !isText(acr)) return "acr must be a string";
  return signedInFrom === undefined || (isText(signedInFrom) && /^\P{Cc}{0,200}$/u.test(signedInFrom))
    ? undefined
    : "signedInFrom must be text of at most 200 characters, without control characters";
}

/** What is wrong with an answer about the person at a browser, or `undefined` when nothing is. */
export function authenticationProblem(answer: Authentication, now: EpochSeconds): string | undefined {
  switch (answer.kind) {
    case "authenticated":
      return endUserProblem(answer, now);
    case "interaction":
      return isPageUrl(answer.url) ? undefined : pageUrlRule;
    case "denied":
      return answer.description === undefined || isErrorDescription(answer.description)
        ? undefined
        : 'description must be ASCII text without " and \\';
  }
}

function consentProblem(answer: ConsentAnswer): string | undefined {
  switch (answer.kind) {
    case "granted":
      return Array.isArray(answer.scopes) && answer.scopes.every(isText)
        ? undefined
        : "scopes must be a list of strings";
    case "interaction":
      return isPageUrl(answer.url) ? undefined : pageUrlRule;
    case "denied":
    case "ask":
      return undefined;
  }
}

/**
 * Checks what `authenticate` returned.
 *
 * @throws TypeError that tells the host what to fix; the client gets `server_error`.
 */
export function checkAuthentication(answer: Authentication, now: EpochSeconds): void {
  const problem = authenticationProblem(answer, now);
  if (problem !== undefined) throw invalidAnswer("authenticate", problem);
}

/**
 * Checks what `consent.decide` returned.
 *
 * @throws TypeError that tells the host what to fix; the client gets `server_error`.
 */
export function checkConsentAnswer(answer: ConsentAnswer): void {
  const problem = consentProblem(answer);
  if (problem !== undefined) throw invalidAnswer("consent.decide", problem);
}

/**
 * An own copy of the context in an answer, `undefined` when there is none. One that is present and `undefined` may be a failed look-up.
 *
 * @throws TypeError that tells the host what to fix; the client gets `server_error`.
 */
export function ownContext(
  answer: { readonly context?: unknown },
  name: "authenticate" | "consent.decide" | "identityAssertions.accept",
): AuthorizationContext | undefined {
  if (!Object.hasOwn(answer, "context")) return undefined;
  const context = readContext(answer.context);
  if (typeof context === "string") throw invalidAnswer(name, context);
  return context;
}
