/** The answers of consent pages, ours and the host's, and what keeps other sites from sending them. RFC 6749 §10.2, §10.12, 9700 §4.7. */
import { createHmac } from "node:crypto";
import type { Request } from "express";
import type { ConsentDecision, ConsentPage } from "../end-user/port";
import { type AuthorizationContext, readContext } from "../protocol/authorization-context";
import { parsePrompt } from "../protocol/authorization-request";
import { isPlain } from "../protocol/host-json";
import type { Api } from "../protocol/issuer";
import { type HostMistake, mistakesOf } from "../protocol/mistake";
import { because, OAuthError } from "../protocol/oauth-error";
import { isSignIn } from "../protocol/openid";
import { scopeField } from "../pages/consent-page";
import type { Parameters } from "../protocol/parameters";
import { isSameSecret } from "../protocol/token-value";
import { interactionReasons } from "./lost-interaction";
import type { Found, PageAnswer, PendingRequest } from "./pending-request";

/**
 * Binds a form to what it shows and to whom, so that no other site, earlier user or earlier page can answer it: once something was ended,
 * an open form is no longer accepted.
 */
export type ConsentFormBinding = Pick<
  PendingRequest,
  "interactionId" | "consentSubject" | "contextKey" | "endMarks"
>;

/** The consent page of a pending request. */
export function pageOf({ interactionId, switches = 0, consentSubject }: PendingRequest): ConsentPage {
  return { name: `${interactionId} ${switches}`, shownTo: consentSubject };
}

/**
 * The value of the form's hidden `form_token`, which other sites cannot compute or read.
 *
 * @rfc 6749 §10.12
 */
export function consentFormToken(
  { interactionId, consentSubject: subject, contextKey = "", endMarks = [] }: ConsentFormBinding,
  secret: string,
): string {
  const bound = JSON.stringify(["authmount consent form", interactionId, subject, contextKey, endMarks]);
  return createHmac("sha256", secret).update(bound).digest("base64url");
}

/** True when one of the secrets has made this token for this form. */
export function consentFormTokenMatches(
  token: string | undefined,
  { binding, secrets }: { binding: ConsentFormBinding; secrets: readonly string[] },
): boolean {
  const presented = Buffer.from(token ?? "");
  return secrets.some((secret) => isSameSecret(presented, Buffer.from(consentFormToken(binding, secret))));
}

/** True when the browser's headers say that the request comes from a page of this origin, or when there are no such headers. */
export function isSameOrigin({ headers }: Request, origin: string): boolean {
  if (headers.origin !== undefined) return headers.origin === origin;
  const site = headers["sec-fetch-site"];
  return site === undefined || site === "same-origin" || site === "none";
}

/** The refusal of a form that another site has sent. @rfc 6749 §10.12 */
export function notFromOurPage(): OAuthError {
  const description = "The form was not sent from this site.";
  const why = because(interactionReasons, "form-of-another-site");
  return new OAuthError("invalid_request", { description, ...why, situation: "answer" });
}

/** The refusal of a form without a button's value. */
export function withoutAnswer(): OAuthError {
  const why = because(interactionReasons, "form-without-answer");
  return new OAuthError("invalid_request", {
    description: "The form has no answer.",
    ...why,
    situation: "answer",
  });
}

/** What the person answered, or `undefined` when the form says neither yes nor no. */
export function answerOf(form: Parameters): PageAnswer | undefined {
  const answer = form.get("decision");
  return answer === "approve" || answer === "deny" ? answer : undefined;
}

/** The requested scopes whose boxes are ticked, and the sign-in, which has none. Fields are numbers, so a form cannot name a scope that was not shown. */
function tickedScopes(
  form: Parameters,
  { requestedScopes, api }: { requestedScopes: readonly string[]; api: Api },
): readonly string[] {
  return requestedScopes.filter(
    (scope, index) => isSignIn(api, scope) || form.get(scopeField(index)) === "on",
  );
}

/**
 * The decision in a form that was sent from this origin. If its token belongs to another person, context or page, it is not an answer:
 * the page is shown again, to the person who is signed in now.
 */
export function formDecision(
  form: Parameters,
  { answer, found, secrets }: { answer: PageAnswer; found: Found; secrets: readonly string[] },
): ConsentDecision {
  const { pending, issuer } = found;
  const token = form.get("form_token");
  return {
    isBy({ subject, context }) {
      const binding = { ...pending, consentSubject: subject, contextKey: context?.key };
      return consentFormTokenMatches(token, { binding, secrets });
    },
    endMarks: pending.endMarks ?? [],
    answer: (requestedScopes) =>
      answer === "deny" ? "denied" : tickedScopes(form, { requestedScopes, api: issuer.api }),
  };
}

/** True when the consent page's form asks for another account. */
export function asksForAccount(form: Parameters): boolean {
  return form.get("decision") === "switch";
}

/** True when the form is the one that this pending request has shown last, so no other site can send the person to sign in again. */
export function isShownForm(
  form: Parameters,
  { pending, secrets }: { pending: PendingRequest; secrets: readonly string[] },
): boolean {
  const token = form.get("form_token");
  return (
    pending.consentSubject !== undefined && consentFormTokenMatches(token, { binding: pending, secrets })
  );
}

/** The pending request as if the client had asked with `prompt=select_account`: that is how the host's page hears of the wish. */
export function choosingAccount(pending: PendingRequest): PendingRequest {
  const { parameters, switches = 0 } = pending;
  const prompt = new Set([...(parsePrompt(parameters["prompt"]) ?? []), "select_account"]);
  return { ...pending, switches: switches + 1, parameters: { ...parameters, prompt: [...prompt].join(" ") } };
}

/** What the host's consent page may pass to `auth.approve`. */
export interface HostApproval {
  /** The allowed scopes; left out for all of them. */
  readonly scopes?: readonly string[];
  /** What the person chose on the page. Left out: the context of `authenticate`, if there is one. */
  readonly context?: AuthorizationContext;
}

const mistake = mistakesOf({
  "unclear-approval":
    "auth.approve takes no decision, or { scopes, context }. It must be a plain object: await a promise first. Pass the ticked scopes as a list, such as [].concat(req.body.scopes ?? []); an empty list means no. Leave out what the page does not ask.",
  "wrong-context-of-approval": (problem: string) => `auth.approve: ${problem}.`,
});

function unclear(decision: unknown): HostMistake {
  // a forgotten await; if the promise rejects with nobody waiting for it, Node ends the process
  Promise.resolve(decision).catch(() => undefined);
  return mistake("unclear-approval");
}

/**
 * An own copy of the decision, where `{}` allows all scopes; a `TypeError` with the fix for anything unclear: a form with nothing
 * ticked, a list without its key, a misspelt key, or a promise must not grant everything.
 */
export function readApproval(decision: unknown): HostApproval | HostMistake {
  if (!isPlain(decision)) return unclear(decision);
  const names = Reflect.ownKeys(decision);
  const { scopes, context } = decision;
  const isClear =
    names.every((name) => name === "scopes" || name === "context") &&
    (!names.includes("scopes") || Array.isArray(scopes));
  if (!isClear) return unclear(decision);
  const read = names.includes("context") ? readContext(context) : undefined;
  if (typeof read === "string") return mistake("wrong-context-of-approval", read);
  return {
    ...(Array.isArray(scopes) && { scopes: [...(scopes as readonly string[])] }),
    ...(read && { context: read }),
  };
}

/** The approval as the answer of the person who was sent to the host's page. */
export function hostDecision({ scopes, context }: HostApproval, pending: PendingRequest): ConsentDecision {
  const { consentSubject, contextKey = "", endMarks = [] } = pending;
  return {
    // a page that lets the person choose says so; any other page was shown for the context of that time
    isBy: (endUser) =>
      endUser.subject === consentSubject &&
      (context !== undefined || (endUser.context?.key ?? "") === contextKey),
    endMarks,
    ...(context && { context }),
    answer: (requestedScopes) => scopes ?? requestedScopes,
  };
}
