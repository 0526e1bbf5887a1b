/** The consent form's answer, and what keeps other sites from giving it. RFC 6749 §10.12, 9700 §4.7. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Request } from "express";
import type { ConsentDecision } from "../end-user/port";
import { OAuthError } from "../protocol/oauth-error";
import { scopeField } from "../pages/consent-page";
import type { Parameters } from "../protocol/parameters";
import type { PageAnswer } from "./pending-request";

/** Ties a form to what it shows and to whom, so that neither another site nor an earlier user or page can answer it. */
export interface ConsentFormBinding {
  readonly interactionId: string;
  readonly subject: string;
  /** The end mark that stood when the form was shown. */
  readonly endMark: string | undefined;
}

/** @rfc 6749 §10.12 */
export function consentFormToken(
  { interactionId, subject, endMark }: ConsentFormBinding,
  secret: string,
): string {
  const bound = JSON.stringify(["authmount consent form", interactionId, subject, endMark]);
  return createHmac("sha256", secret).update(bound).digest("base64url");
}

function consentFormTokenMatches(
  token: string | undefined,
  { binding, secrets }: { binding: ConsentFormBinding; secrets: readonly string[] },
): boolean {
  return secrets.some((secret) => {
    const expected = Buffer.from(consentFormToken(binding, secret));
    const presented = Buffer.from(token ?? "");
    return presented.length === expected.length && timingSafeEqual(presented, expected);
  });
}

/** True when a browser says that the request comes from a page of this origin, or when no browser says anything. */
export function isSameOrigin({ headers }: Request, origin: string): boolean {
  if (headers.origin !== undefined) return headers.origin === origin;
  const site = headers["sec-fetch-site"];
  return site === undefined || site === "same-origin" || site === "none";
}

function refusal(description: string, reason: string): OAuthError {
  return new OAuthError("invalid_request", { description, reason });
}

/** @rfc 6749 §10.12 */
export function notFromOurPage(): OAuthError {
  return refusal(
    "The form was not sent from this site.",
    "the request's Origin is another site: cross-site request forgery",
  );
}

export function withoutAnswer(): OAuthError {
  return refusal("The form has no answer.", "decision is neither approve nor deny");
}

/** What the person answered; a form that says neither gives `undefined`. */
export function answerOf(form: Parameters): PageAnswer | undefined {
  const answer = form.get("decision");
  return answer === "approve" || answer === "deny" ? answer : undefined;
}

/** The requested scopes whose fields are ticked. */
function tickedScopes(form: Parameters, requestedScopes: readonly string[]): readonly string[] {
  return requestedScopes.filter((_, index) => form.get(scopeField(index)) === "on");
}

/** What a form that was sent from our page says. A token for somebody else is no answer: the page is shown anew, to the person who is there now. */
export function formDecision(
  form: Parameters,
  {
    answer,
    interactionId,
    endMark,
    secrets,
  }: Omit<ConsentFormBinding, "subject"> & { answer: PageAnswer; secrets: readonly string[] },
): ConsentDecision {
  const token = form.get("form_token");
  return {
    isBy: (subject) =>
      consentFormTokenMatches(token, { binding: { interactionId, subject, endMark }, secrets }),
    endMark,
    answer: (requestedScopes) => (answer === "deny" ? "denied" : tickedScopes(form, requestedScopes)),
  };
}
