/** Decides whether the end user lets the client act for them. RFC 6749 §10.2, 8252 §8.6, 9700 §4.11.2. */
import type { AuthorizationContext } from "../protocol/authorization-context";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { isTrusted } from "../protocol/client";
import { type Consent, remembered } from "../protocol/consent";
import { isBornUnder } from "../protocol/end-mark";
import { withImplied } from "../protocol/requested-scopes";
import { OAuthError } from "../protocol/oauth-error";
import { redirectProvesClient } from "../protocol/redirect-uri";
import { intersect, isSubset } from "../protocol/scope";
import type { EpochSeconds } from "../protocol/time";
import { allStored } from "../storage/calls";
import { checkConsentAnswer, ownContext } from "./check-host-answer";
import type { ConsentAnswer, ConsentDecision, EndUser, EndUserPort } from "./port";
import { answeredBefore, type ConsentPage, noteNo, noteYes } from "./page-answers";
import { endedMeanwhile, findStanding, type Standing, type StandingPorts } from "./standing";

/** The question whether a request may proceed: whose consent it needs, and what the person has just answered. */
export interface ConsentQuestion {
  readonly request: AuthorizationRequest;
  readonly endUser: EndUser;
  /** The host's adapters. */
  readonly port: EndUserPort;
  /** The end user's answer on a consent page; `undefined` when no page was answered yet. */
  readonly decision: ConsentDecision | undefined;
  /** The consent page; `undefined` on the first visit. */
  readonly page: ConsentPage | undefined;
  /** True when a page must be answered, whatever is remembered and whatever the host allows. */
  readonly mustAsk: boolean;
  readonly now: EpochSeconds;
}

/** The granted scopes, or the page that must be shown first: the built-in one (`ask`) or the host's (`interaction`). */
export type ConsentResult =
  | {
      readonly kind: "granted";
      readonly scopes: readonly string[];
      /** What the person chose along the way. */
      readonly context: AuthorizationContext | undefined;
      /** The consent to store: set when a person has just answered and the API remembers consents. */
      readonly remember: Consent | undefined;
      /** What the approval relies on. It is compared again after storing. */
      readonly standing: Standing;
    }
  | { readonly kind: "ask"; readonly standing: Standing }
  | { readonly kind: "interaction"; readonly url: string; readonly standing: Standing };

function denied(): OAuthError {
  return new OAuthError("access_denied", { description: "The end user did not grant access." });
}

/** False at an API that asks for consent with each request. */
function remembersConsent({ issuer }: AuthorizationRequest): boolean {
  return issuer.api.lifetimes.consentSeconds > 0;
}

/** True when a remembered consent counts: the redirect proves who asks, and the client does not demand a new answer. */
function mayRelyOnConsent({ client, prompt, target }: AuthorizationRequest): boolean {
  return !prompt.includes("consent") && redirectProvesClient(client, target);
}

/** The name of the page, where this end user was shown it. */
function pageOf({ page, decision, endUser }: ConsentQuestion): string | undefined {
  return decision || page?.shownTo === endUser.subject ? page?.name : undefined;
}

/** What is in force for a request in this context. @throws OAuthError when its page was answered with a no */
async function standingOf(
  ports: StandingPorts,
  { question, context }: { question: ConsentQuestion; context: AuthorizationContext | undefined },
): Promise<Standing> {
  const { request, endUser, decision, now } = question;
  const { client, issuer } = request;
  const mayCount = decision !== undefined || (!trusts(request) && mayRelyOnConsent(request));
  // the page tells people whether they have used a client before that nobody registered
  const tellsOfVisits = client.selfDescription !== undefined;
  const standing = await findStanding(ports, {
    page: pageOf(question),
    key: {
      subject: endUser.subject,
      clientId: client.clientId,
      apiId: issuer.api.apiId,
      contextKey: context?.key ?? "",
    },
    withConsent: (mayCount || tellsOfVisits) && remembersConsent(request),
    clientDigest: client.selfDescription?.digest,
    now,
  });
  if (standing.marks.page !== undefined) throw answeredBefore();
  return standing;
}

/** Leaves the mark of an answer, where the end user was shown a page. */
async function note(
  ports: StandingPorts,
  { question, by }: { question: ConsentQuestion; by: typeof noteYes },
): Promise<void> {
  const { request, endUser, now } = question;
  const page = pageOf(question);
  if (page !== undefined) await by(ports, { subject: endUser.subject, page, issuer: request.issuer, now });
}

function trusts({ client, issuer }: AuthorizationRequest): boolean {
  return isTrusted(client, issuer.api.apiId);
}

/** True when nobody has to be asked: the client is trusted, or a remembered consent counts and covers all scopes. */
function needsNoQuestion(request: AuthorizationRequest, { consent }: Standing): boolean {
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
    throw new TypeError("consent can only grant scopes that were requested.");
  }
  if (granted.length === 0 && requestedScopes.length > 0) throw denied();
  return intersect(withImplied(granted, request), grantableScopes);
}

/** Applies the answer from a consent page. The consent that it creates is stored with the code or not at all. */
async function applyDecision(
  ports: StandingPorts,
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
  const [standing] = await allStored([
    standingOf(ports, { question, context }),
    note(ports, { question, by: noteYes }),
  ]);
  const { key } = standing;
  const clientDigest = request.client.selfDescription?.digest;
  // the page may show what was ended since, so a yes on it no longer counts
  if (!isBornUnder(decision.endMarks, standing.marks.approval)) throw endedMeanwhile();
  if (!remembersConsent(request)) {
    return { kind: "granted", scopes: grantedScopes, context, remember: undefined, standing };
  }
  const expiresAt = now + request.issuer.api.lifetimes.consentSeconds;
  const remember: Consent = {
    ...key,
    ...remembered(standing.consent, { askedScopes: request.grantableScopes, grantedScopes, expiresAt }),
    grantedAt: now,
    ...(clientDigest !== undefined && { clientDigest }),
  };
  return { kind: "granted", scopes: grantedScopes, context, remember, standing };
}

/**
 * The host's answer, but a client that nobody registered gets nothing before the person was asked: it could be anybody's, and a link
 * would lead straight to its site, with a code. A host that answers for people has registered clients in mind. And where a page was
 * answered that was shown to somebody else, or in another context, the next answer comes from a page too: a no must never become what
 * the host allows here. @rfc 9700 §4.11.2
 */
function heldBack(answer: ConsentAnswer, { request: { client }, mustAsk }: ConsentQuestion): ConsentAnswer {
  if (answer.kind !== "granted") return answer;
  // the built-in page would not know of the context
  if (mustAsk) return answer.context === undefined ? { kind: "ask" } : { kind: "denied" };
  if (!client.selfDescription) return answer;
  if (answer.context === undefined) return { kind: "ask" };
  throw new TypeError(
    "consent.decide answered granted with a context for a client that nobody registered, whose people must be asked. Answer interaction where client.selfDescribed is set.",
  );
}

function applyAnswer(
  given: ConsentAnswer,
  { question, standing }: { question: ConsentQuestion; standing: Standing },
): ConsentResult {
  const { request, endUser } = question;
  checkConsentAnswer(given);
  const answer = heldBack(given, question);
  const silent = request.prompt.includes("none");
  switch (answer.kind) {
    case "granted":
      return {
        kind: "granted",
        scopes: checkGranted(answer.scopes, request),
        context: ownContext(answer, "consent.decide") ?? endUser.context,
        remember: undefined,
        standing,
      };
    case "denied":
      throw denied();
    case "ask":
      if (!silent) return { kind: "ask", standing };
      throw new OAuthError("consent_required", {
        description: "The end user has to be asked for consent.",
        reason: mayRelyOnConsent(request)
          ? "prompt=none, but no remembered consent covers the scopes (OpenID Connect Core §3.1.2.6): send the request without prompt=none, or mark the client as trusted"
          : "prompt=none, but people are always asked for a client whose redirect URI any program on the device could use: http on localhost, or a scheme of its own (RFC 8252 §8.6). Use an https redirect URI, or mark the client as trusted",
      });
    case "interaction":
      if (!silent) return { kind: "interaction", url: answer.url, standing };
      throw new OAuthError("interaction_required", {
        description: "The end user has to be shown a page.",
        reason:
          "prompt=none, but consent.decide returned interaction (OpenID Connect Core §3.1.2.6): send the request without prompt=none",
      });
  }
}

/**
 * The granted scopes, or the page that asks for them.
 *
 * @throws OAuthError `access_denied`, `consent_required` or `interaction_required`; `invalid_request` when its page has the other answer
 * @throws TypeError when the host's answer is invalid; the client gets `server_error`
 */
export async function obtainConsent(ports: StandingPorts, question: ConsentQuestion): Promise<ConsentResult> {
  const { request, endUser, port, decision, mustAsk } = question;
  const { context } = endUser;
  if (decision?.isBy(endUser)) return applyDecision(ports, { question, decision });
  // read before the host answers, so that an end in between is noticed when the marks are read again
  const standing = await standingOf(ports, { question, context });
  const isClear = !mustAsk && needsNoQuestion(request, standing);
  const result: ConsentResult = isClear
    ? { kind: "granted", scopes: request.grantableScopes, context, remember: undefined, standing }
    : applyAnswer(await port.decideConsent({ request, endUser }), { question, standing });
  if (result.kind === "granted") await note(ports, { question, by: noteYes });
  return result;
}
