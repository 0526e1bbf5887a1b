/** The authorization endpoint with its pages: how a request goes to the host's pages and comes back. RFC 6749 §3.1, §10.12. */
import type { Request } from "express";
import {
  type AuthorizationPorts,
  comeBack,
  denyAuthorization,
  firstVisit,
  readAuthorizationRequest,
  refuseByPage,
} from "../endpoints/authorization";
import type { PushedRequests, ReturnedRequest } from "../endpoints/pushed-request";
import type { ConsentDecision } from "../end-user/port";
import type { Advise } from "../events/port";
import type { Issuer } from "../protocol/issuer";
import { hostMistake } from "../protocol/mistake";
import { isFailure, isLost, OAuthError } from "../protocol/oauth-error";
import { summarize } from "../pages/summary";
import type { Parameters } from "../protocol/parameters";
import type { AuthorizationAnswer } from "../protocol/authorization-response";
import type { ErrorPageResponse, ProtocolResponse } from "../protocol/protocol-response";
import {
  answerOf,
  asksForAccount,
  choosingAccount,
  formDecision,
  hostDecision,
  isSameOrigin,
  isShownForm,
  notFromOurPage,
  pageOf,
  readApproval,
  withoutAnswer,
} from "./consent-answers";
import { idMissing, interactionLost, signInRepeated } from "./lost-interaction";
import {
  findPending,
  type FindPendingOptions,
  type Found,
  type LostInteraction,
  newPending,
  type PageAnswer,
  parametersOf,
  type PendingRequest,
  type PendingRequests,
  shownScopesOf,
} from "./pending-request";
import { endUserPort, type HostAdapters, type Interaction } from "./port";
import { notOpened, showPage, type ShowPageOptions, withInteraction } from "./show-page";

/** What the flow uses. */
export interface AuthorizationFlowOptions extends ShowPageOptions, FindPendingOptions, HostAdapters {
  readonly ports: AuthorizationPorts;
  readonly pendingRequests: PendingRequests;
  /** Opens pushed requests; `undefined` where no API has them. */
  readonly pushedRequests: Pick<PushedRequests, "open"> | undefined;
  /** Origin of `baseUrl`. */
  readonly origin: string;
  readonly advise: Advise | undefined;
}

/** Everything that a browser or a page of the host can ask of the authorization endpoint. */
export interface AuthorizationFlow {
  /** A new authorization request. */
  start(req: Request, request: { issuer: Issuer; parameters: Parameters }): Promise<ProtocolResponse>;
  /** The browser comes back from a page of the host. */
  resume(
    req: Request,
    from: { issuer: Issuer; interactionId: string | undefined },
  ): Promise<ProtocolResponse>;
  /** The form of the built-in consent page. */
  submitConsent(req: Request, from: { issuer: Issuer; form: Parameters }): Promise<ProtocolResponse>;
  /** `auth.resume`: redirects from a page of the host to `resume`, or to `otherwise` of `given` when no request is pending. */
  leadBack(
    req: Request,
    by: { interactionId: string | undefined; otherwise: string | undefined },
  ): ProtocolResponse;
  /** `auth.approve`: the host's consent page ends with a yes. */
  approve(
    req: Request,
    by: { interactionId: string | undefined; chosen: unknown },
  ): Promise<ProtocolResponse>;
  /** `auth.deny`: any page of the host ends with a no. */
  deny(req: Request, interactionId: string | undefined): Promise<ProtocolResponse>;
  /** `auth.interaction`: what a page of the host may show. */
  describe(req: Request, interactionId: string | undefined): Promise<Interaction | undefined>;
}

/** A person's answer on a page, and the proof that it is theirs. */
interface GivenAnswer {
  readonly answer: PageAnswer;
  readonly decision: ConsentDecision;
}

function lost(
  { ports, origin }: AuthorizationFlowOptions,
  { req, issuer, loss }: { req: Request; issuer?: Issuer; loss: LostInteraction },
): ErrorPageResponse {
  return refuseByPage(ports, { issuer, thrown: interactionLost(loss, { req, origin }) });
}

/** Another issuer of this server must not answer a request that was not sent to it. */
function foundAt(issuer: Issuer, found: Found | LostInteraction): Found | LostInteraction {
  return typeof found === "string" || found.issuer === issuer ? found : "over";
}

/** How a browser comes back to a pending request: from a page of the host, or by a form that has or has not answered. */
interface Return {
  readonly req: Request;
  readonly found: Found;
  readonly by: "resume" | "form" | "switch";
  readonly given?: GivenAnswer;
}

/**
 * The answer that ends the pending request. After a failure that only the person sees, it stays: they can try again. Where the other answer
 * counts, the response to that one says so in the cookie.
 */
function endedBy(
  { pendingRequests }: AuthorizationFlowOptions,
  ended: {
    req: Request;
    pending: PendingRequest;
    response: AuthorizationAnswer | ErrorPageResponse;
    answer: PageAnswer | undefined;
  },
): AuthorizationAnswer | ErrorPageResponse {
  const { req, pending, response, answer } = ended;
  if (response.kind === "error-page" && (isFailure(response.error) || isLost(response.error)))
    return response;
  return { ...response, cookies: pendingRequests.end(pending, { req, answer }) };
}

/** The refusal of a script of the host's site that could read the code in a page, where a redirect would lead it to another site. */
function readByScript(
  { ports }: AuthorizationFlowOptions,
  { req, issuer, mode }: { req: Request; issuer: Issuer; mode: string | undefined },
): ErrorPageResponse | undefined {
  const thrown = mode === "form_post" ? notOpened(req) : undefined;
  return thrown && refuseByPage(ports, { issuer, thrown });
}

async function continueWith(
  options: AuthorizationFlowOptions,
  { req, found, by, given }: Return,
): Promise<ProtocolResponse> {
  const { issuer } = found;
  const refusal = readByScript(options, { req, issuer, mode: found.pending.parameters["response_mode"] });
  if (refusal) return refusal;
  const isSwitch = by === "switch";
  const pending = isSwitch ? choosingAccount(found.pending) : found.pending;
  // an answer that is ignored, such as one to an earlier page, may have been a no: it must lead to a page, also after a sign-in
  const mustAsk = by === "form" || pending.mustAsk === true;
  const outcome = await comeBack(options.ports, {
    issuer,
    parameters: parametersOf(pending),
    port: endUserPort(options, req),
    hintedSubject: pending.hintedSubject,
    pushed: pending.pushed,
    device: pending.device,
    back: {
      began: pending.began,
      shown: shownScopesOf(pending),
      shownClient: pending.clientDigest,
      page: pageOf(found.pending),
      decision: given?.decision,
      mustAsk,
      choosesAccount: isSwitch,
    },
  });
  if (outcome.kind !== "answered") {
    const isSignIn = !outcome.asked;
    // the page for devices sends everybody here, signed in or not
    if (isSignIn && by === "resume" && !pending.device) options.ports.emit(signInRepeated(outcome.request));
    return showPage(options, { req, outcome, pending: { ...pending, ...(mustAsk && { mustAsk }) } });
  }
  const answer = outcome.isDecided ? given?.answer : undefined;
  return endedBy(options, { req, pending, response: outcome.response, answer });
}

/** The pending request ends with a no. */
async function denyPending(
  options: AuthorizationFlowOptions,
  { req, found: { issuer, pending } }: { req: Request; found: Found },
): Promise<ProtocolResponse> {
  const { device } = pending;
  const denied = { issuer, parameters: parametersOf(pending), device, page: pageOf(pending) };
  const response = await denyAuthorization(options.ports, denied);
  return endedBy(options, { req, pending, response, answer: "deny" });
}

async function deny(
  options: AuthorizationFlowOptions,
  { req, interactionId }: { req: Request; interactionId: string | undefined },
): Promise<ProtocolResponse> {
  const found = findPending(options, { req, interactionId, answer: "deny" });
  if (typeof found === "string") return lost(options, { req, loss: found });
  return denyPending(options, { req, found });
}

async function submitConsent(
  options: AuthorizationFlowOptions,
  { req, issuer, form }: { req: Request; issuer: Issuer; form: Parameters },
): Promise<ProtocolResponse> {
  const { secrets, origin } = options;
  const page = (thrown: OAuthError): ErrorPageResponse => refuseByPage(options.ports, { issuer, thrown });
  if (!isSameOrigin(req, origin)) return page(notFromOurPage());
  const answer = answerOf(form);
  const wanted = { req, interactionId: form.get("interaction"), answer };
  const found = foundAt(issuer, findPending(options, wanted));
  if (typeof found === "string") return lost(options, { req, issuer, loss: found });
  const { pending } = found;
  if (asksForAccount(form)) {
    // like a forged answer, a forged wish changes nothing: the page is shown again
    if (!isShownForm(form, { pending, secrets })) return continueWith(options, { req, found, by: "form" });
    return continueWith(options, { req, found, by: "switch" });
  }
  if (!answer) return page(withoutAnswer());
  // a no takes effect whoever is signed in now, and in whatever context: it must never become what someone allowed elsewhere
  if (answer === "deny" && isShownForm(form, { pending, secrets }))
    return denyPending(options, { req, found });
  const decision = formDecision(form, { answer, found, secrets });
  return continueWith(options, { req, found, by: "form", given: { answer, decision } });
}

async function approve(
  options: AuthorizationFlowOptions,
  { req, interactionId, chosen }: { req: Request; interactionId: string | undefined; chosen: unknown },
): Promise<ProtocolResponse> {
  const { ports, origin } = options;
  // as it is at this moment, and before anything is refused: what the host passes may change, or be a promise that fails
  const allowed = readApproval(chosen);
  const found = findPending(options, { req, interactionId, answer: "approve" });
  const issuer = typeof found === "string" ? undefined : found.issuer;
  // every refusal is a page: until the form is proven, nobody is sent to the client
  const page = (thrown: unknown): ErrorPageResponse => refuseByPage(ports, { issuer, thrown });
  if (req.method !== "POST")
    return page(hostMistake("approval-by-link", "auth.approve accepts only POST: a link must not approve."));
  if (!isSameOrigin(req, origin)) return page(notFromOurPage());
  if (allowed instanceof TypeError) return page(allowed);
  if (typeof found === "string") return lost(options, { req, loss: found });
  const decision = hostDecision(allowed, found.pending);
  return continueWith(options, { req, found, by: "form", given: { answer: "approve", decision } });
}

/**
 * What a page of the host may show of the request that is pending. `undefined` when there is none, or it is no longer valid.
 *
 * @throws whatever storage rejects with
 */
async function describe(
  options: AuthorizationFlowOptions,
  { req, interactionId }: { req: Request; interactionId: string | undefined },
): Promise<Interaction | undefined> {
  const found = findPending(options, { req, interactionId });
  if (typeof found === "string") return undefined;
  const { pending, issuer } = found;
  try {
    const request = await readAuthorizationRequest(options.ports, {
      issuer,
      parameters: parametersOf(pending),
      shown: shownScopesOf(pending),
      pushed: pending.pushed,
      device: pending.device,
      page: pageOf(pending),
    });
    return { interactionId: pending.interactionId, expiresAt: pending.expiresAt, ...summarize(req, request) };
  } catch (error) {
    // what was valid at the first visit may have changed since: for example, the client was deleted
    if (error instanceof OAuthError) return undefined;
    throw error;
  }
}

async function start(
  options: AuthorizationFlowOptions,
  { req, issuer, sent }: { req: Request; issuer: Issuer; sent: Parameters },
): Promise<ProtocolResponse> {
  const { ports, pushedRequests } = options;
  let returned: ReturnedRequest | undefined;
  try {
    returned = pushedRequests?.open({ issuer, parameters: sent });
  } catch (thrown) {
    return refuseByPage(ports, { issuer, thrown });
  }
  const { parameters, ...known } = returned ?? { parameters: sent };
  const readable = readByScript(options, { req, issuer, mode: parameters.get("response_mode") });
  if (readable) return readable;
  const outcome = await firstVisit(ports, { issuer, parameters, ...known, port: endUserPort(options, req) });
  if (outcome.kind === "answered") return outcome.response;
  const refusal = notOpened(req);
  if (refusal) return refuseByPage(ports, { issuer, thrown: refusal });
  const { request } = outcome;
  return showPage(options, { req, outcome, pending: newPending(ports, { request, parameters }) });
}

/** Puts the authorization endpoint and its pages together. */
export function authorizationFlow(options: AuthorizationFlowOptions): AuthorizationFlow {
  return {
    start: (req, { issuer, parameters }) => start(options, { req, issuer, sent: parameters }),
    async resume(req, { issuer, interactionId }) {
      const found = foundAt(issuer, findPending(options, { req, interactionId }));
      if (typeof found === "string") return lost(options, { req, issuer, loss: found });
      return continueWith(options, { req, found, by: "resume" });
    },
    submitConsent: (req, from) => submitConsent(options, { req, ...from }),
    leadBack(req, { interactionId, otherwise }) {
      const found = findPending(options, { req, interactionId });
      if (otherwise !== undefined && (found === "no-request" || found === "no-id")) {
        // the browser does have a pending request, whose id may be lost
        if (found === "no-id")
          options.advise?.(
            "interaction-id-missing",
            `auth.resume went on to ${otherwise}, and the client waits for an answer: ${idMissing}.`,
          );
        return { kind: "redirect", location: otherwise };
      }
      if (typeof found === "string") return lost(options, { req, loss: found });
      const { interactionId: id, parameters } = found.pending;
      const location = withInteraction(`${found.issuer.identifier}/authorize/resume`, id);
      // a form leaves from a page of its own
      const isForm = parameters["response_mode"] === "form_post";
      return { kind: "redirect", location, ...(!isForm && { destination: parameters["redirect_uri"] }) };
    },
    approve: (req, by) => approve(options, { req, ...by }),
    deny: (req, interactionId) => deny(options, { req, interactionId }),
    describe: (req, interactionId) => describe(options, { req, interactionId }),
  };
}
