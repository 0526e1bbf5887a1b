/** What the host's adapters answer, checked: the host is part of the defence, and a mistake of it must not pass. RFC 6749 §4.1.2.1. */
import { clockDriftSeconds, type EpochSeconds } from "../protocol/time";
import type { Authentication, ConsentAnswer } from "./port";

type Authenticated = Extract<Authentication, { kind: "authenticated" }>;

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** A location that can stand in a header as it is. A relative one would lead to a place below the authorization endpoint. */
function isPageUrl(value: unknown): boolean {
  return isText(value) && /^(?:\/|https?:\/\/)[\x21-\x7e]*$/i.test(value);
}

const pageUrlRule =
  'url must be an absolute URL, or a path that begins with a slash, such as "/sign-in", in visible ASCII characters';

/** The characters of `error_description`. */
function isDescription(value: unknown): boolean {
  return isText(value) && /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(value);
}

/** What is wrong with the end user that was answered. */
function endUserProblem(
  { subject, displayName, authTime, amr, acr }: Authenticated,
  now: EpochSeconds,
): string | undefined {
  if (!isText(subject) || subject === "" || subject.length > 255)
    return "subject must be text of 1 to 255 characters";
  // no database keeps these as they are, and two people must not become one
  if (/[\0\p{Surrogate}]/u.test(subject)) return "subject must be Unicode text without NUL";
  if (displayName !== undefined && !isText(displayName)) return "displayName must be text";
  if (authTime !== undefined && !Number.isSafeInteger(authTime))
    return "authTime must be whole seconds since 1970";
  // milliseconds, say, would meet every max_age
  if (authTime !== undefined && authTime > now + clockDriftSeconds)
    return "authTime must not be in the future";
  if (amr !== undefined && !(Array.isArray(amr) && amr.every(isText))) return "amr must be a list of texts";
  return acr === undefined || isText(acr) ? undefined : "acr must be text";
}

function authenticationProblem(answer: Authentication, now: EpochSeconds): string | undefined {
  switch (answer?.kind) {
    case "authenticated":
      return endUserProblem(answer, now);
    case "interaction":
      return isPageUrl(answer.url) ? undefined : pageUrlRule;
    case "denied":
      return answer.description === undefined || isDescription(answer.description)
        ? undefined
        : 'description must be ASCII text without " and \\';
    default:
      return "kind must be authenticated, interaction or denied";
  }
}

function consentProblem(answer: ConsentAnswer): string | undefined {
  switch (answer?.kind) {
    case "granted":
      return Array.isArray(answer.scopes) && answer.scopes.every(isText)
        ? undefined
        : "scopes must be a list of texts";
    case "interaction":
      return isPageUrl(answer.url) ? undefined : pageUrlRule;
    case "denied":
    case "ask":
      return undefined;
    default:
      return "kind must be granted, denied, ask or interaction";
  }
}

/** @throws TypeError that says what the host has to mend; the client hears `server_error`. */
export function checkAuthentication(answer: Authentication, now: EpochSeconds): void {
  const problem = authenticationProblem(answer, now);
  if (problem !== undefined) throw new TypeError(`authenticate answered what cannot be used: ${problem}.`);
}

/** @throws TypeError that says what the host has to mend; the client hears `server_error`. */
export function checkConsentAnswer(answer: ConsentAnswer): void {
  const problem = consentProblem(answer);
  if (problem !== undefined) throw new TypeError(`consent.decide answered what cannot be used: ${problem}.`);
}
