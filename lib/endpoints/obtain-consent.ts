/** Whether the end user lets the client act for them. RFC 6749 §10.2, 8252 §8.6, 9700 §4.11.2. */
import type { GrantContext } from "../grants/grant";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { isTrusted } from "../protocol/client";
import { type Consent, rememberedScopes } from "../protocol/consent";
import type { EpochSeconds } from "../protocol/epoch-seconds";
import { withImplied } from "../protocol/implied-scopes";
import { OAuthError } from "../protocol/oauth-error";
import { redirectProvesClient } from "../protocol/redirect-uri";
import { intersect, isSubset } from "../protocol/scope";
import { checkConsentAnswer } from "./check-host-answer";
import type { ConsentAnswer, ConsentDecision, EndUser, EndUserPort } from "./end-user";

export interface ConsentQuestion {
  readonly request: AuthorizationRequest;
  readonly endUser: EndUser;
  readonly port: EndUserPort;
  /** What the end user has just answered on a consent page. */
  readonly decision: ConsentDecision | undefined;
  readonly now: EpochSeconds;
}

export type ConsentResult =
  /** `remember` is set when a person has just answered and the API remembers it. */
  | { readonly kind: "granted"; readonly scopes: readonly string[]; readonly remember: Consent | undefined }
  | { readonly kind: "ask" }
  | { readonly kind: "interaction"; readonly url: string };

function denied(): OAuthError {
  return new OAuthError("access_denied", { description: "The end user did not grant access." });
}

/** The remembered consent; none where the API remembers none. */
async function findConsent(
  { storage }: GrantContext,
  question: ConsentQuestion,
): Promise<Consent | undefined> {
  const { request, endUser, now } = question;
  const { clientId } = request.client;
  if (request.issuer.api.lifetimes.consentSeconds === 0) return undefined;
  return storage.consents.find({ subject: endUser.subject, clientId, apiId: request.issuer.api.apiId }, now);
}

/** Nobody is asked for a trusted client; a remembered consent serves where the redirect proves who asks. */
async function needsNoQuestion(context: GrantContext, question: ConsentQuestion): Promise<boolean> {
  const { client, issuer, prompt, grantableScopes, target } = question.request;
  if (prompt.includes("consent")) return false;
  if (isTrusted(client, issuer.api.apiId)) return true;
  if (!redirectProvesClient(client, target)) return false;
  const consent = await findConsent(context, question);
  return consent !== undefined && isSubset(grantableScopes, consent.scopes);
}

/** What was granted of the requested scopes, with what it implies. */
function checkGranted(scopes: readonly string[], request: AuthorizationRequest): readonly string[] {
  const { requestedScopes, grantableScopes } = request;
  if (!Array.isArray(scopes) || !isSubset(scopes, requestedScopes)) {
    throw new TypeError("consent can only grant scopes that were requested.");
  }
  if (scopes.length === 0 && requestedScopes.length > 0) throw denied();
  return intersect(withImplied(scopes, request), grantableScopes);
}

/** An answer from a consent page. What is to be remembered of it is stored with the code, or not at all. */
async function applyDecision(
  context: GrantContext,
  { question, decision }: { question: ConsentQuestion; decision: ConsentDecision },
): Promise<ConsentResult> {
  const { request, endUser, now } = question;
  const answer = decision.answer(request.requestedScopes);
  if (answer === "denied") throw denied();
  const grantedScopes = checkGranted(answer, request);
  const { apiId, lifetimes } = request.issuer.api;
  if (lifetimes.consentSeconds === 0) return { kind: "granted", scopes: grantedScopes, remember: undefined };
  const before = await findConsent(context, question);
  const remember: Consent = {
    subject: endUser.subject,
    clientId: request.client.clientId,
    apiId,
    scopes: rememberedScopes(before, { askedScopes: request.grantableScopes, grantedScopes }),
    grantedAt: now,
    expiresAt: now + lifetimes.consentSeconds,
  };
  return { kind: "granted", scopes: grantedScopes, remember };
}

function applyAnswer(answer: ConsentAnswer, request: AuthorizationRequest): ConsentResult {
  checkConsentAnswer(answer);
  const silent = request.prompt.includes("none");
  switch (answer.kind) {
    case "granted":
      return { kind: "granted", scopes: checkGranted(answer.scopes, request), remember: undefined };
    case "denied":
      throw denied();
    case "ask":
      if (!silent) return answer;
      throw new OAuthError("consent_required", {
        description: "The end user has to be asked for consent.",
        reason:
          "prompt=none, and no remembered consent covers the scopes (OpenID Connect Core §3.1.2.6): ask without prompt, or trust the client",
      });
    case "interaction":
      if (!silent) return answer;
      throw new OAuthError("interaction_required", {
        description: "The end user has to be shown a page.",
        reason:
          "prompt=none, and the consent adapter wants a page (OpenID Connect Core §3.1.2.6): ask without prompt",
      });
  }
}

/** The granted scopes, or how to ask for them. @throws OAuthError `access_denied`, `consent_required`, `interaction_required` */
export async function obtainConsent(
  context: GrantContext,
  question: ConsentQuestion,
): Promise<ConsentResult> {
  const { request, endUser, port, decision } = question;
  const { subject } = endUser;
  if (decision?.isBy(subject)) return applyDecision(context, { question, decision });
  if (await needsNoQuestion(context, question)) {
    return { kind: "granted", scopes: request.grantableScopes, remember: undefined };
  }
  return applyAnswer(await port.decideConsent({ request, subject }), request);
}
