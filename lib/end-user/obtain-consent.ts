/** Decides whether the end user lets the client act for them. RFC 6749 §10.2, 8252 §8.6, 9700 §4.11.2. */
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { isTrusted } from "../protocol/client";
import { type Consent, type ConsentKey, isInForce, rememberedScopes } from "../protocol/consent";
import { endMarkKey } from "../protocol/end-mark";
import { withImplied } from "../protocol/implied-scopes";
import { OAuthError } from "../protocol/oauth-error";
import { redirectProvesClient } from "../protocol/redirect-uri";
import { intersect, isSubset } from "../protocol/scope";
import type { EpochSeconds } from "../protocol/time";
import type { Storage } from "../storage/port";
import { checkConsentAnswer } from "./check-host-answer";
import type { ConsentAnswer, ConsentDecision, EndUser, EndUserPort } from "./port";

/** What asking for consent needs. */
export interface ConsentPorts {
  readonly storage: Pick<Storage, "consents" | "endMarks">;
}

/** The question whether a request may proceed: whose consent it needs, and what the person has just answered. */
export interface ConsentQuestion {
  readonly request: AuthorizationRequest;
  readonly endUser: EndUser;
  /** The host's adapters. */
  readonly port: EndUserPort;
  /** The end user's answer on a consent page; `undefined` when no page was answered yet. */
  readonly decision: ConsentDecision | undefined;
  readonly now: EpochSeconds;
}

/** The granted scopes, or the page that must be shown first: the built-in one (`ask`) or the host's (`interaction`). */
export type ConsentResult =
  | {
      readonly kind: "granted";
      readonly scopes: readonly string[];
      /** The consent to store: set when a person has just answered and the API remembers consents. */
      readonly remember: Consent | undefined;
      /** What the approval relies on. It is compared again after storing. */
      readonly standing: Standing;
    }
  | { readonly kind: "ask"; readonly endMark: string | undefined }
  | { readonly kind: "interaction"; readonly url: string; readonly endMark: string | undefined };

/** What is in force between an end user and a client at an API. */
export interface Standing {
  /** The key of their end mark. */
  readonly key: string;
  /** The end mark at the time of reading; `undefined` when there was none. */
  readonly endMark: string | undefined;
  /** The remembered consent, unless it was withdrawn or is not looked up. */
  readonly consent: Consent | undefined;
}

function denied(reason?: string): OAuthError {
  return new OAuthError("access_denied", {
    description: "The end user did not grant access.",
    ...(reason !== undefined && { reason }),
  });
}

/** The refusal of a request during which the end user withdrew: they have said no. */
export function withdrawn(): OAuthError {
  return denied("consent was withdrawn (auth.consents.revoke) while this request was under way");
}

/** The key of the consent that an authorization request needs. */
export function consentKeyOf({ client, issuer }: AuthorizationRequest, { subject }: EndUser): ConsentKey {
  return { subject, clientId: client.clientId, apiId: issuer.api.apiId };
}

/** False at an API that asks for consent with each request. */
function remembersConsent({ issuer }: AuthorizationRequest): boolean {
  return issuer.api.lifetimes.consentSeconds > 0;
}

/** True when a remembered consent counts: the redirect proves who asks, and the client does not demand a new answer. */
function mayRelyOnConsent({ client, prompt, target }: AuthorizationRequest): boolean {
  return !prompt.includes("consent") && redirectProvesClient(client, target);
}

async function findStanding({ storage }: ConsentPorts, question: ConsentQuestion): Promise<Standing> {
  const { request, endUser, decision, now } = question;
  const key = consentKeyOf(request, endUser);
  const mayCount = decision !== undefined || (!trusts(request) && mayRelyOnConsent(request));
  const isAsked = mayCount && remembersConsent(request);
  const markKey = endMarkKey(key);
  const [endMark, found] = await Promise.all([
    storage.endMarks.find(markKey, now),
    isAsked ? storage.consents.find(key, now) : undefined,
  ]);
  return { key: markKey, endMark, consent: found && isInForce(found, endMark) ? found : undefined };
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

/** The granted scopes with those that they imply. The list is copied, because the host may go on changing its own. */
function checkGranted(scopes: readonly string[], request: AuthorizationRequest): readonly string[] {
  const { requestedScopes, grantableScopes } = request;
  const granted: readonly string[] | undefined = Array.isArray(scopes) ? [...scopes] : undefined;
  if (!granted || !isSubset(granted, requestedScopes)) {
    throw new TypeError("consent can only grant scopes that were requested.");
  }
  if (granted.length === 0 && requestedScopes.length > 0) throw denied();
  return intersect(withImplied(granted, request), grantableScopes);
}

/** Applies the answer from a consent page. The consent that it creates is stored with the code or not at all. */
function applyDecision(
  question: ConsentQuestion,
  { decision, standing }: { decision: ConsentDecision; standing: Standing },
): ConsentResult {
  const { request, endUser, now } = question;
  const { endMark } = standing;
  const answer = decision.answer(request.requestedScopes);
  if (answer === "denied") throw denied();
  // the page may show what the person has withdrawn since, so a yes on it no longer counts
  if (endMark !== undefined && decision.endMark !== endMark) throw withdrawn();
  const grantedScopes = checkGranted(answer, request);
  if (!remembersConsent(request)) {
    return { kind: "granted", scopes: grantedScopes, remember: undefined, standing };
  }
  const remember: Consent = {
    ...consentKeyOf(request, endUser),
    scopes: rememberedScopes(standing.consent, { askedScopes: request.grantableScopes, grantedScopes }),
    grantedAt: now,
    expiresAt: now + request.issuer.api.lifetimes.consentSeconds,
    ...(endMark !== undefined && { endMark }),
  };
  return { kind: "granted", scopes: grantedScopes, remember, standing };
}

function applyAnswer(
  answer: ConsentAnswer,
  { request, standing }: { request: AuthorizationRequest; standing: Standing },
): ConsentResult {
  const { endMark } = standing;
  checkConsentAnswer(answer);
  const silent = request.prompt.includes("none");
  switch (answer.kind) {
    case "granted":
      return { kind: "granted", scopes: checkGranted(answer.scopes, request), remember: undefined, standing };
    case "denied":
      throw denied();
    case "ask":
      if (!silent) return { kind: "ask", endMark };
      throw new OAuthError("consent_required", {
        description: "The end user has to be asked for consent.",
        reason:
          "prompt=none, but no remembered consent covers the scopes (OpenID Connect Core §3.1.2.6): send the request without prompt=none, or mark the client as trusted",
      });
    case "interaction":
      if (!silent) return { kind: "interaction", url: answer.url, endMark };
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
 * @throws OAuthError `access_denied`, `consent_required` or `interaction_required`
 * @throws TypeError when the host's answer is invalid; the client gets `server_error`
 */
export async function obtainConsent(ports: ConsentPorts, question: ConsentQuestion): Promise<ConsentResult> {
  const { request, endUser, port, decision } = question;
  const { subject } = endUser;
  // read the end mark before anything that the answer relies on, so that a withdrawal in between is noticed when it is read again
  const standing = await findStanding(ports, question);
  if (decision?.isBy(subject)) return applyDecision(question, { decision, standing });
  if (needsNoQuestion(request, standing)) {
    return { kind: "granted", scopes: request.grantableScopes, remember: undefined, standing };
  }
  return applyAnswer(await port.decideConsent({ request, subject }), { request, standing });
}
