/** The answer that a consent form sends, and what keeps other sites from sending it. RFC 6749 §10.12, 9700 §4.7. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Request } from "express";
import type { ConsentPage } from "../end-user/page-answers";
import type { ConsentDecision, EndUser } from "../end-user/port";
import { OAuthError } from "../protocol/oauth-error";
import { scopeField } from "../pages/consent-page";
import type { Parameters } from "../protocol/parameters";
import type { PageAnswer, PendingRequest } from "./pending-request";

/** Binds a form to what it shows and to whom, so that no other site, earlier user or earlier page can answer it. */
export interface ConsentFormBinding {
  /** The pending request that the form answers. */
  readonly interactionId: string;
  /** The end user who was shown the form. */
  readonly subject: string;
  /** The key of the context in which they were asked. */
  readonly contextKey: string;
  /** The end marks that were current when the form was shown: once something was ended, an open form no longer counts. */
  readonly endMarks: readonly string[];
}

/** The consent page of a pending request. */
export function pageOf({ interactionId, switches = 0, consentSubject }: PendingRequest): ConsentPage {
  return { name: `${interactionId} ${switches}`, shownTo: consentSubject };
}

/** What the form of a pending request is bound to, for this end user in this context. */
export function bindingOf(
  { interactionId, endMarks = [] }: PendingRequest,
  { subject, context }: Pick<EndUser, "subject" | "context">,
): ConsentFormBinding {
  return { interactionId, subject, contextKey: context?.key ?? "", endMarks };
}

/**
 * The value of the form's hidden `form_token`, which other sites cannot compute or read.
 *
 * @rfc 6749 §10.12
 */
export function consentFormToken(
  { interactionId, subject, contextKey, endMarks }: ConsentFormBinding,
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
  return secrets.some((secret) => {
    const expected = Buffer.from(consentFormToken(binding, secret));
    const presented = Buffer.from(token ?? "");
    return presented.length === expected.length && timingSafeEqual(presented, expected);
  });
}

/** True when the browser's headers say that the request comes from a page of this origin, or when there are no such headers. */
export function isSameOrigin({ headers }: Request, origin: string): boolean {
  if (headers.origin !== undefined) return headers.origin === origin;
  const site = headers["sec-fetch-site"];
  return site === undefined || site === "same-origin" || site === "none";
}

function refusal(description: string, reason: string): OAuthError {
  return new OAuthError("invalid_request", { description, reason, situation: "answer" });
}

/** The refusal of a form that another site has sent. @rfc 6749 §10.12 */
export function notFromOurPage(): OAuthError {
  return refusal(
    "The form was not sent from this site.",
    "the request's Origin or Sec-Fetch-Site is another site: cross-site request forgery",
  );
}

/** The refusal of a form without a button's value. */
export function withoutAnswer(): OAuthError {
  return refusal("The form has no answer.", "decision is none of approve, deny and switch");
}

/** What the person answered, or `undefined` when the form says neither yes nor no. */
export function answerOf(form: Parameters): PageAnswer | undefined {
  const answer = form.get("decision");
  return answer === "approve" || answer === "deny" ? answer : undefined;
}

/** The requested scopes whose boxes are ticked. Fields are numbers, so a form cannot name a scope that was not shown. */
function tickedScopes(form: Parameters, requestedScopes: readonly string[]): readonly string[] {
  return requestedScopes.filter((_, index) => form.get(scopeField(index)) === "on");
}

/**
 * The decision in a form that was sent from this origin. If its token belongs to another person, context or page, it is not an answer:
 * the page is shown again, to the person who is signed in now.
 */
export function formDecision(
  form: Parameters,
  { answer, pending, secrets }: { answer: PageAnswer; pending: PendingRequest; secrets: readonly string[] },
): ConsentDecision {
  const token = form.get("form_token");
  return {
    isBy: (endUser) => consentFormTokenMatches(token, { binding: bindingOf(pending, endUser), secrets }),
    endMarks: pending.endMarks ?? [],
    answer: (requestedScopes) => (answer === "deny" ? "denied" : tickedScopes(form, requestedScopes)),
  };
}
