/** Decides whether the end user lets the client act for them. RFC 6749 §10.2, 8252 §8.6, 9700 §4.11.2. */
import type { AuthorizationContext } from "../protocol/authorization-context";
import { hostMistake } from "../protocol/mistake";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { isTrusted } from "../protocol/client";
import { type Consent, remembered } from "../protocol/consent";
import { withImplied } from "../protocol/requested-scopes";
import { because, OAuthError } from "../protocol/oauth-error";
import { isSignIn } from "../protocol/openid";
import { redirectProvesClient } from "../protocol/redirect-uri";
import { intersect, isSubset } from "../protocol/scope";
import type { EpochSeconds } from "../protocol/time";
import { allStored } from "../storage/calls";
import { checkConsentAnswer, ownContext } from "./check-host-answer";
import type { BackFromPage, ConsentAnswer, ConsentDecision, EndUser, EndUserPort } from "./port";
import { noteNo, noteYes } from "./page-answers";
import {
  type ApprovalBasis,
  approvalsEndedSince,
  type BasisPorts,
  endedMeanwhile,
  findBasis,
} from "./approval-basis";
import { denied, endUserReasons } from "./refusals";

/** The question whether a request may proceed: whose consent it needs, and what the person has just answered. */
export interface ConsentQuestion {
  readonly request: AuthorizationRequest;
  readonly endUser: EndUser;
  /** The host's adapters. */
  readonly port: EndUserPort;
  /** `undefined` on the first visit. */
  readonly back: Pick<BackFromPage, "decision" | "page" | "mustAsk"> | undefined;
  readonly now: EpochSeconds;
}

/** The granted scopes, or the page that must be shown first: the built-in one (`ask`) or the host's (`interaction`). */
export type ConsentResult =
  | {
      readonly kind: "granted";
      readonly scopes: readonly string[];
      /** What the person chose along the way. */
      readonly context: AuthorizationContext | undefined;
      /** The consent to store, but for its end marks: set when a person has just answered and the API remembers consents. */
      readonly remember: Omit<Consent, "endMarks"> | undefined;
      /** What the approval relies on. It is compared again after storing. */
      readonly basis: ApprovalBasis;
    }
  | { readonly kind: "ask"; readonly basis: ApprovalBasis }
  | { readonly kind: "interaction"; readonly url: string; readonly basis: ApprovalBasis };

/** False at an API that asks for consent with each request, and for a device, whose people are always asked. @rfc 8628 §5.4 */
function remembersConsent({ issuer, target }: AuthorizationRequest): boolean {
  return issuer.api.lifetimes.consentSeconds > 0 && !target.device;
}

/** True when a remembered consent may be used: the redirect proves who asks, and the client does not demand a new answer. */
function mayRelyOnConsent({ client, prompt, target }: AuthorizationRequest): boolean {
  return !prompt.includes("consent") && !target.device && redirectProvesClient(client, target);
}

/** The name of the page, where this end user was shown it. */
function pageOf({ back, endUser }: ConsentQuestion): string | undefined {
  return back && (back.decision || back.page.shownTo === endUser.subject) ? back.page.name : undefined;
}

/** What is in force for a request in this context. @throws OAuthError when its page was answered with a no */
async function basisOf(
  ports: BasisPorts,
  { question, context }: { question: ConsentQuestion; context: AuthorizationContext | undefined },
): Promise<ApprovalBasis> {
  const { request, endUser, back, now } = question;
  const { client, issuer } = request;
  const mayCount = back?.decision !== undefined || (!trusts(request) && mayRelyOnConsent(request));
  // the page tells people whether they have used a client before that nobody registered
  const tellsOfVisits = client.selfDescription !== undefined;
  return findBasis(ports, {
    page: pageOf(question),
    key: {
      subject: endUser.subject,
      clientId: client.clientId,
      apiId: issuer.api.apiId,
      contextKey: context?.key ?? "",
    },
    audience: issuer.api.audience,
    withConsent: (mayCount || tellsOfVisits) && remembersConsent(request),
    clientDigest: client.selfDescription?.digest,
    now,
  });
}

/** Leaves the mark of an answer, where the end user was shown a page. */
async function note(
  ports: BasisPorts,
  { question, by }: { question: ConsentQuestion; by: typeof noteYes },
): Promise<void> {
  const { request, endUser, now } = question;
  const page = pageOf(question);
  if (page !== undefined) await by(ports, { subject: endUser.subject, page, issuer: request.issuer, now });
}

function trusts({ client, issuer, target }: AuthorizationRequest): boolean {
  return !target.device && isTrusted(client, issuer.api.apiId);
}

/** True when nobody has to be asked: the client is trusted, or a remembered consent may be used and covers all scopes. */
function needsNoQuestion(request: AuthorizationRequest, { consent }: ApprovalBasis): boolean {
  if (request.prompt.includes("consent")) return false;
  if (trusts(request)) return true;
  return (
    mayRelyOnConsent(request) && consent !== undefined && isSubset(request.grantableScopes, consent.scopes)
  );
}

/** The granted scopes with those that they imply, each once. The list is copied, because the host may go on changing its own. */
function checkGranted(scopes: readonly string[], request: AuthorizationRequest): readonly string[] {
  const { requestedScopes, grantableScopes } = request;
  const granted: readonly string[] | undefined = Array.isArray(scopes) ? [...new Set(scopes)] : undefined;
  if (!granted || !isSubset(granted, requestedScopes)) {
    throw hostMistake("scopes-not-requested", "consent can only grant scopes that were requested.");
  }
  if (granted.length === 0 && requestedScopes.length > 0) throw denied();
  // a yes to a sign-in is one, whatever else it allows: without an ID token, the client would not know what has failed
  const signIn = requestedScopes.filter((scope) => isSignIn(request.issuer.api, scope));
  return intersect(withImplied([...new Set([...signIn, ...granted])], request), grantableScopes);
}

/** Applies the answer from a consent page. The consent that it creates is stored with the code or not at all. */
async function applyDecision(
  ports: BasisPorts,
  { question, decision }: { question: ConsentQuestion; decision: ConsentDecision },
): Promise<ConsentResult> {
  const { request, endUser, now } = question;
  const context = decision.context ?? endUser.context;
  const answer = decision.answer(request.requestedScopes);
  const isNothing = Array.isArray(answer) && answer.length === 0 && request.requestedScopes.length > 0;
  if (answer === "denied" || isNothing) {
    await note(ports, { question, by: noteNo });
    throw denied();
  }
  const grantedScopes = checkGranted(answer, request);
  const [basis] = await allStored([
    basisOf(ports, { question, context }),
    note(ports, { question, by: noteYes }),
  ]);
  const { key } = basis;
  const clientDigest = request.client.selfDescription?.digest;
  // the page may show what was ended since, so a yes on it no longer counts
  if (approvalsEndedSince(decision.endMarks, basis)) throw endedMeanwhile();
  if (!remembersConsent(request)) {
    return { kind: "granted", scopes: grantedScopes, context, remember: undefined, basis };
  }
  const expiresAt = now + request.issuer.api.lifetimes.consentSeconds;
  const remember: Omit<Consent, "endMarks"> = {
    ...key,
    ...remembered(basis.consent, { askedScopes: request.grantableScopes, grantedScopes, expiresAt }),
    grantedAt: now,
    ...(clientDigest !== undefined && { clientDigest }),
  };
  return { kind: "granted", scopes: grantedScopes, context, remember, basis };
}

/**
 * The host's answer, but a client that nobody registered gets nothing before the person was asked: it could be anyone's, and a link would
 * lead straight to its site, with a code. A host that answers for people has registered clients in mind. Nor does a device: anyone can send a
 * link with its code. And where a page was answered that was shown to somebody else, or in another context, the next answer comes from a
 * page too: a no must never become what the host allows here. @rfc 8628 §5.4, 9700 §4.11.2
 */
function effectiveAnswer(
  answer: ConsentAnswer,
  { request: { client, target }, back }: ConsentQuestion,
): ConsentAnswer {
  if (answer.kind !== "granted") return answer;
  // the built-in page would not know of the context
  if (back?.mustAsk) return answer.context === undefined ? { kind: "ask" } : { kind: "denied" };
  if (!client.selfDescription && !target.device) return answer;
  if (answer.context === undefined) return { kind: "ask" };
  throw hostMistake(
    "granted-without-asking",
    "consent.decide answered granted with a context for a device or for a client that nobody registered, whose people must be asked. Answer interaction where device or client.selfDescribed is set.",
  );
}

function applyAnswer(
  given: ConsentAnswer,
  { question, basis }: { question: ConsentQuestion; basis: ApprovalBasis },
): ConsentResult {
  const { request, endUser } = question;
  checkConsentAnswer(given);
  const answer = effectiveAnswer(given, question);
  const silent = request.prompt.includes("none");
  switch (answer.kind) {
    case "granted":
      return {
        kind: "granted",
        scopes: checkGranted(answer.scopes, request),
        context: ownContext(answer, "consent.decide") ?? endUser.context,
        remember: undefined,
        basis,
      };
    case "denied":
      throw denied();
    case "ask":
      if (!silent) return { kind: "ask", basis };
      throw new OAuthError("consent_required", {
        description: "The end user has to be asked for consent.",
        ...because(
          endUserReasons,
          mayRelyOnConsent(request) ? "consent-not-remembered" : "consent-always-asked",
        ),
      });
    case "interaction":
      if (!silent) return { kind: "interaction", url: answer.url, basis };
      throw new OAuthError("interaction_required", {
        description: "The end user has to be shown a page.",
        ...because(endUserReasons, "consent-page-needed"),
      });
  }
}

/**
 * The granted scopes, or the page that asks for them.
 *
 * @throws OAuthError `access_denied`, `consent_required` or `interaction_required`; `invalid_request` when its page has the other answer
 * @throws TypeError when the host's answer is invalid; the client gets `server_error`
 */
export async function obtainConsent(ports: BasisPorts, question: ConsentQuestion): Promise<ConsentResult> {
  const { request, endUser, port, back } = question;
  const { context } = endUser;
  if (back?.decision?.isBy(endUser)) return applyDecision(ports, { question, decision: back.decision });
  // read before the host answers, so that an end in between is noticed when the marks are read again
  const basis = await basisOf(ports, { question, context });
  const isClear = !back?.mustAsk && needsNoQuestion(request, basis);
  const result: ConsentResult = isClear
    ? { kind: "granted", scopes: request.grantableScopes, context, remember: undefined, basis }
    : applyAnswer(await port.decideConsent({ request, endUser }), { question, basis });
  if (result.kind === "granted" && back) await note(ports, { question, by: noteYes });
  return result;
}
