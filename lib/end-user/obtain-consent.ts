/** Whether the end user lets the client act for them. RFC 6749 §10.2, 8252 §8.6, 9700 §4.11.2. */
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

/** What asking for consent uses. */
export interface ConsentPorts {
  readonly storage: Pick<Storage, "consents" | "endMarks">;
}

/** Whose consent is needed, for which request. */
export interface ConsentQuestion {
  readonly request: AuthorizationRequest;
  readonly endUser: EndUser;
  readonly port: EndUserPort;
  /** What the end user has just answered on a consent page. */
  readonly decision: ConsentDecision | undefined;
  readonly now: EpochSeconds;
}

/** The granted scopes, or the page that has to be shown first. */
export type ConsentResult =
  | {
      readonly kind: "granted";
      readonly scopes: readonly string[];
      /** Set when a person has just answered and the API remembers it. */
      readonly remember: Consent | undefined;
      /** What the approval relies on. */
      readonly standing: Standing;
    }
  | { readonly kind: "ask"; readonly endMark: string | undefined }
  | { readonly kind: "interaction"; readonly url: string; readonly endMark: string | undefined };

/** What is in force between this end user and this client at this API. */
export interface Standing {
  /** The key of the end mark. */
  readonly key: string;
  readonly endMark: string | undefined;
  /** The remembered consent, unless it was withdrawn. */
  readonly consent: Consent | undefined;
}

function denied(reason?: string): OAuthError {
  return new OAuthError("access_denied", {
    description: "The end user did not grant access.",
    ...(reason !== undefined && { reason }),
  });
}

/** The end user has said no by withdrawing, while this request was under way. */
export function withdrawn(): OAuthError {
  return denied("consent was withdrawn (auth.consents.revoke) while this request was under way");
}

/** Whose consent an authorization request is about. */
export function consentKeyOf({ client, issuer }: AuthorizationRequest, { subject }: EndUser): ConsentKey {
  return { subject, clientId: client.clientId, apiId: issuer.api.apiId };
}

/** False where each request is asked for anew. */
function remembersConsent({ issuer }: AuthorizationRequest): boolean {
  return issuer.api.lifetimes.consentSeconds > 0;
}

/** True when a remembered consent counts: the redirect proves who asks, and the client does not want a new answer. */
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

/** Nobody is asked for a trusted client; a remembered consent serves where the redirect proves who asks. */
function needsNoQuestion(request: AuthorizationRequest, { consent }: Standing): boolean {
  if (request.prompt.includes("consent")) return false;
  if (trusts(request)) return true;
  return (
    mayRelyOnConsent(request) && consent !== undefined && isSubset(request.grantableScopes, consent.scopes)
  );
}

/** What was granted of the requested scopes, with what it implies. A copy: the host may go on changing its own list. */
function checkGranted(scopes: readonly string[], request: AuthorizationRequest): readonly string[] {
  const { requestedScopes, grantableScopes } = request;
  const granted: readonly string[] | undefined = Array.isArray(scopes) ? [...scopes] : undefined;
  if (!granted || !isSubset(granted, requestedScopes)) {
    throw new TypeError("consent can only grant scopes that were requested.");
  }
  if (granted.length === 0 && requestedScopes.length > 0) throw denied();
  return intersect(withImplied(granted, request), grantableScopes);
}

/** An answer from a consent page. What is to be remembered of it is stored with the code, or not at all. */
function applyDecision(
  question: ConsentQuestion,
  { decision, standing }: { decision: ConsentDecision; standing: Standing },
): ConsentResult {
  const { request, endUser, now } = question;
  const { endMark } = standing;
  const answer = decision.answer(request.requestedScopes);
  if (answer === "denied") throw denied();
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
          "prompt=none, and no remembered consent covers the scopes (OpenID Connect Core §3.1.2.6): ask without prompt, or trust the client",
      });
    case "interaction":
      if (!silent) return { kind: "interaction", url: answer.url, endMark };
      throw new OAuthError("interaction_required", {
        description: "The end user has to be shown a page.",
        reason:
          "prompt=none, and the consent adapter wants a page (OpenID Connect Core §3.1.2.6): ask without prompt",
      });
  }
}

/** The granted scopes, or how to ask for them. @throws OAuthError `access_denied`, `consent_required`, `interaction_required` */
export async function obtainConsent(ports: ConsentPorts, question: ConsentQuestion): Promise<ConsentResult> {
  const { request, endUser, port, decision } = question;
  const { subject } = endUser;
  // the end mark before anything that the answer relies on
  const standing = await findStanding(ports, question);
  if (decision?.isBy(subject)) return applyDecision(question, { decision, standing });
  if (needsNoQuestion(request, standing)) {
    return { kind: "granted", scopes: request.grantableScopes, remember: undefined, standing };
  }
  return applyAnswer(await port.decideConsent({ request, subject }), { request, standing });
}
