/** The authorization endpoint and the pages around it: there, to the host's pages, and back. RFC 6749 §3.1, §10.12. */
import type { Request } from "express";
import {
  authorizationEndpoint,
  denyAuthorization,
  readAuthorizationRequest,
  refuseByPage,
} from "../endpoints/authorization";
import type { ConsentDecision, EndUserPort } from "../endpoints/end-user";
import type { Issuer } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import type { ErrorPageResponse, ProtocolResponse } from "../protocol/protocol-response";
import { answerOf, consentFormTokenMatches, isSameOrigin, tickedScopes } from "./consent-form";
import { interactionLost } from "./lost-interaction";
import { type PageAnswer, parametersOf, pendingParameters, type PendingRequest } from "./pending-request";
import type { AuthMethod, ConsentAdapter, Interaction } from "./port";
import { showPage, type ShowPageOptions, withInteraction } from "./show-page";
import { summarize } from "./summary";

export interface AuthorizationFlowOptions extends ShowPageOptions {
  /** Origin of `baseUrl`. */
  readonly origin: string;
  readonly authMethods: Readonly<Record<string, AuthMethod>>;
  readonly consent: ConsentAdapter | undefined;
  readonly findIssuer: (authMethodId: string, apiId: string) => Issuer | undefined;
}

export interface AuthorizationFlow {
  /** A new authorization request. */
  start(req: Request, request: { issuer: Issuer; parameters: Parameters }): Promise<ProtocolResponse>;
  /** Back from a page of the host. */
  resume(
    req: Request,
    from: { issuer: Issuer; interactionId: string | undefined },
  ): Promise<ProtocolResponse>;
  /** The built-in consent page's form. */
  submitConsent(req: Request, from: { issuer: Issuer; form: Parameters }): Promise<ProtocolResponse>;
  /** From a page of the host: back to `resume`. */
  leadBack(req: Request, interactionId: string | undefined): ProtocolResponse;
  /** From the host's consent page. */
  approve(
    req: Request,
    by: { interactionId: string | undefined; scopes: readonly string[] | undefined },
  ): Promise<ProtocolResponse>;
  /** From any page of the host. */
  deny(req: Request, interactionId: string | undefined): Promise<ProtocolResponse>;
  /** What a page of the host may show. */
  describe(req: Request, interactionId: string | undefined): Promise<Interaction | undefined>;
}

/** A pending request with the issuer it is pending at. */
interface Found {
  readonly pending: PendingRequest;
  readonly issuer: Issuer;
}

function refusal(description: string, reason: string): OAuthError {
  return new OAuthError("invalid_request", { description, reason });
}

const notFromOurPage = (): OAuthError =>
  refusal(
    "The form was not sent from this site.",
    "the request's Origin is another site: cross-site request forgery",
  );

/** What a person said on a page, and that it was them. */
interface GivenAnswer {
  readonly answer: PageAnswer;
  readonly decision: ConsentDecision;
}

/** The host's adapters, bound to this HTTP request. */
function endUserPort({ authMethods, consent }: AuthorizationFlowOptions, req: Request): EndUserPort {
  return {
    async authenticate({ request, reauthenticate }) {
      const authMethod = authMethods[request.issuer.authMethodId];
      if (!authMethod) throw new TypeError("an issuer without its authentication method");
      return authMethod.authenticate({ req, reauthenticate, ...summarize(req, request) });
    },
    async decideConsent({ request, subject }) {
      return consent ? consent.decide({ req, subject, ...summarize(req, request) }) : { kind: "ask" };
    },
  };
}

function findPending(
  { pendingRequests, findIssuer }: AuthorizationFlowOptions,
  {
    req,
    interactionId,
    answer,
  }: { req: Request; interactionId: string | undefined; answer?: PageAnswer | undefined },
): Found | undefined {
  const pending = pendingRequests.open(req, interactionId);
  if (pending?.answered !== undefined && pending.answered !== answer) return undefined;
  const issuer = pending && findIssuer(pending.authMethodId, pending.apiId);
  return pending && issuer && { pending, issuer };
}

function lost(
  { context, origin }: AuthorizationFlowOptions,
  { req, issuer }: { req: Request; issuer: Issuer | undefined },
): ErrorPageResponse {
  return refuseByPage(context, { issuer, thrown: interactionLost(req, origin) });
}

function newPending(
  { context }: AuthorizationFlowOptions,
  { issuer, parameters }: { issuer: Issuer; parameters: Parameters },
): PendingRequest {
  const now = context.now();
  return {
    interactionId: context.randomId(),
    authMethodId: issuer.authMethodId,
    apiId: issuer.api.apiId,
    parameters: pendingParameters(parameters),
    began: now,
    expiresAt: now + issuer.api.lifetimes.interactionSeconds,
  };
}

async function continueWith(
  options: AuthorizationFlowOptions,
  { req, found, given }: { req: Request; found: Found; given: GivenAnswer | undefined },
): Promise<ProtocolResponse> {
  const { pending, issuer } = found;
  const outcome = await authorizationEndpoint(options.context, {
    issuer,
    parameters: parametersOf(pending),
    endUser: endUserPort(options, req),
    interactionBegan: pending.began,
    decision: given?.decision,
  });
  if (outcome.kind !== "answered") return showPage(options, { req, outcome, pending });
  const answer = outcome.isDecided ? given?.answer : undefined;
  const cookies = options.pendingRequests.end(pending, { req, answer });
  return { ...outcome.response, cookies };
}

async function start(
  options: AuthorizationFlowOptions,
  { req, issuer, parameters }: { req: Request; issuer: Issuer; parameters: Parameters },
): Promise<ProtocolResponse> {
  const endUser = endUserPort(options, req);
  const first = { issuer, parameters, endUser, interactionBegan: undefined, decision: undefined };
  const outcome = await authorizationEndpoint(options.context, first);
  if (outcome.kind === "answered") return outcome.response;
  return showPage(options, { req, outcome, pending: newPending(options, { issuer, parameters }) });
}

async function submitConsent(
  options: AuthorizationFlowOptions,
  { req, issuer, form }: { req: Request; issuer: Issuer; form: Parameters },
): Promise<ProtocolResponse> {
  const { secrets, origin } = options;
  const page = (thrown: OAuthError): ErrorPageResponse => refuseByPage(options.context, { issuer, thrown });
  if (!isSameOrigin(req, origin)) return page(notFromOurPage());
  const answer = answerOf(form);
  const found = findPending(options, { req, interactionId: form.get("interaction"), answer });
  if (found?.issuer !== issuer) return page(interactionLost(req, origin));
  if (!answer) return page(refusal("The form has no answer.", "decision is neither approve nor deny"));
  const { interactionId } = found.pending;
  const token = form.get("form_token");
  // a token for somebody else is no answer: the page is shown anew, to the person who is there now
  const decision: ConsentDecision = {
    isBy: (subject) => consentFormTokenMatches(token, { binding: { interactionId, subject }, secrets }),
    answer: (requestedScopes) => (answer === "deny" ? "denied" : tickedScopes(form, requestedScopes)),
  };
  return continueWith(options, { req, found, given: { answer, decision } });
}

async function approve(
  options: AuthorizationFlowOptions,
  {
    req,
    interactionId,
    scopes,
  }: { req: Request; interactionId: string | undefined; scopes: readonly string[] | undefined },
): Promise<ProtocolResponse> {
  const { context, origin } = options;
  const found = findPending(options, { req, interactionId, answer: "approve" });
  const page = (thrown: unknown): ErrorPageResponse =>
    refuseByPage(context, { issuer: found?.issuer, thrown });
  if (req.method !== "POST")
    return page(new TypeError("auth.approve serves a POST only: a link must not approve."));
  if (!isSameOrigin(req, origin)) return page(notFromOurPage());
  if (!found) return page(interactionLost(req, origin));
  const decision: ConsentDecision = {
    isBy: (subject) => subject === found.pending.consentSubject,
    answer: (requestedScopes) => scopes ?? requestedScopes,
  };
  return continueWith(options, { req, found, given: { answer: "approve", decision } });
}

async function deny(
  options: AuthorizationFlowOptions,
  { req, interactionId }: { req: Request; interactionId: string | undefined },
): Promise<ProtocolResponse> {
  const found = findPending(options, { req, interactionId, answer: "deny" });
  if (!found) return lost(options, { req, issuer: undefined });
  const { issuer, pending } = found;
  const response = await denyAuthorization(options.context, { issuer, parameters: parametersOf(pending) });
  return { ...response, cookies: options.pendingRequests.end(pending, { req, answer: "deny" }) };
}

async function describe(
  options: AuthorizationFlowOptions,
  { req, interactionId }: { req: Request; interactionId: string | undefined },
): Promise<Interaction | undefined> {
  const found = findPending(options, { req, interactionId });
  if (!found) return undefined;
  const { pending, issuer } = found;
  try {
    const request = await readAuthorizationRequest(options.context, {
      issuer,
      parameters: parametersOf(pending),
    });
    return { interactionId: pending.interactionId, expiresAt: pending.expiresAt, ...summarize(req, request) };
  } catch (error) {
    // what was right at the first visit may not be any more: the client is gone, say
    if (error instanceof OAuthError) return undefined;
    throw error;
  }
}

export function authorizationFlow(options: AuthorizationFlowOptions): AuthorizationFlow {
  return {
    start: (req, request) => start(options, { req, ...request }),
    async resume(req, { issuer, interactionId }) {
      const found = findPending(options, { req, interactionId });
      if (found?.issuer !== issuer) return lost(options, { req, issuer });
      return continueWith(options, { req, found, given: undefined });
    },
    submitConsent: (req, from) => submitConsent(options, { req, ...from }),
    leadBack(req, interactionId) {
      const found = findPending(options, { req, interactionId });
      if (!found) return lost(options, { req, issuer: undefined });
      const resume = `${found.issuer.identifier}/authorize/resume`;
      return { kind: "redirect", location: withInteraction(resume, found.pending.interactionId) };
    },
    approve: (req, by) => approve(options, { req, ...by }),
    deny: (req, interactionId) => deny(options, { req, interactionId }),
    describe: (req, interactionId) => describe(options, { req, interactionId }),
  };
}
