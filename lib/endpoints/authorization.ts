/** The authorization endpoint. RFC 6749 §3.1, §4.1.1, §4.1.2; 9207 §2; 9700 §4.11.2. */
import type { ClientLookup } from "../clients/client-lookup";
import { recogniseClient, type RecognisedClient, type RecognitionPorts } from "../clients/recognise-client";
import { type ApprovalPorts, approve } from "../end-user/approve";
import { authenticateEndUser } from "../end-user/authenticate-end-user";
import { checkNotReplaced, checkUnchanged, confirmEndUser } from "../end-user/confirm";
import { obtainConsent } from "../end-user/obtain-consent";
import type { ConsentDecision, EndUser, EndUserPort } from "../end-user/port";
import { closePage, type ConsentPage } from "../end-user/page-answers";
import type { Standing } from "../end-user/standing";
import { reportIgnoredScopes } from "../events/ignored-scopes";
import type { EmitEvent, EventSubject } from "../events/port";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { errorLocation } from "../protocol/authorization-response";
import type { Issuer } from "../protocol/issuer";
import { isFailure, OAuthError, toOAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import { errorPage, type ErrorPageResponse, type RedirectResponse } from "../protocol/protocol-response";
import type { ShownScopes } from "../protocol/requested-scopes";
import type { Clock, EpochSeconds } from "../protocol/time";
import { checkAuthorizationRequest } from "../requests/check-authorization-request";

/** What the authorization endpoint uses, besides the host's adapters. */
export interface AuthorizationPorts extends RecognitionPorts, ApprovalPorts {
  readonly clients: Pick<ClientLookup, "findRegistered" | "findNewer" | "findCurrent" | "isTaken">;
  readonly clock: Clock;
}

/** Refusals are reported to the host as events. */
interface RefusalPorts {
  readonly emit: EmitEvent;
}

/** An authorization request, on the first visit or on the way back from a page. */
export interface AuthorizationEndpointRequest {
  readonly issuer: Issuer;
  readonly parameters: Parameters;
  /** The host's adapters for this HTTP request. */
  readonly endUser: EndUserPort;
  /** When this request first sent the person to a page; `undefined` on the first visit. */
  readonly interactionBegan: EpochSeconds | undefined;
  /** The scopes that the pages of this request have shown; `undefined` on the first visit. */
  readonly shown: ShownScopes | undefined;
  /** What a client that nobody registered said of itself when the pages of this request were first shown. */
  readonly shownClient: string | undefined;
  /** The answer that the person has just given on a consent page. */
  readonly decision: ConsentDecision | undefined;
  /** The consent page of this request; `undefined` on the first visit. */
  readonly page: ConsentPage | undefined;
  /** True when a page must be answered, whatever is remembered: an answer was given that may not count. */
  readonly mustAsk: boolean;
  /** True when the person has just asked for another account on the consent page. */
  readonly choosesAccount: boolean;
}

/** The end user who is asked for consent, and what is in force when the page is shown. */
export interface AskedEndUser {
  readonly endUser: EndUser;
  readonly standing: Standing;
}

/** The answer, or the page that the person must see first. */
export type AuthorizationOutcome =
  | {
      readonly kind: "answered";
      readonly response: RedirectResponse | ErrorPageResponse;
      /** True for a yes or a no, false for any other refusal or a failure. */
      readonly isDecided: boolean;
    }
  | {
      readonly kind: "interaction";
      readonly request: AuthorizationRequest;
      /** The host's page, absolute or a path of this origin. */
      readonly url: string;
      /** Who is asked, when the page is about consent. */
      readonly asked: AskedEndUser | undefined;
    }
  | {
      readonly kind: "ask";
      readonly request: AuthorizationRequest;
      readonly asked: AskedEndUser;
    };

/** The request of a pending interaction, checked again, for pages that show it. @throws OAuthError when it is no longer valid */
export async function readAuthorizationRequest(
  ports: RecognitionPorts,
  message: { issuer: Issuer; parameters: Parameters; shown: ShownScopes },
): Promise<AuthorizationRequest> {
  const recognised = await recogniseClient(ports, message);
  return checkAuthorizationRequest(message.parameters, { ...message, ...recognised });
}

/** Emits the event of a refusal. It may say more than the description that the client gets. */
function reportRefusal(
  { emit }: RefusalPorts,
  { error, subject }: { error: OAuthError; subject: EventSubject },
): void {
  if (isFailure(error)) emit({ kind: "server-error", ...subject, cause: error.cause });
  else emit({ kind: "authorization-denied", ...subject, error: error.code, reason: error.reason });
}

/** Everything after client and redirect URI are proven: from here on, every refusal is a redirect. */
async function decide(
  ports: AuthorizationPorts,
  {
    endpointRequest,
    recognised,
  }: { endpointRequest: AuthorizationEndpointRequest; recognised: RecognisedClient },
): Promise<AuthorizationOutcome> {
  const { issuer, parameters, endUser: port, shown, decision } = endpointRequest;
  const { interactionBegan, page, choosesAccount, mustAsk } = endpointRequest;
  const { client, target } = recognised;
  checkUnchanged(client, endpointRequest);
  const request = checkAuthorizationRequest(parameters, { issuer, client, target, shown });
  const now = ports.clock();
  const { clientId } = client;
  // one event for each request, not for each return from a page
  if (interactionBegan === undefined) {
    const scopes = request.requestedScopes;
    ports.emit({ kind: "authorization-requested", issuer: issuer.identifier, clientId, scopes });
    reportIgnoredScopes(ports.emit, { request, ignoredScopes: request.ignoredScopes });
  }
  // a yes of the person who was shown the page no longer counts, also one that is under way
  if (choosesAccount) await closePage(ports, { issuer, page, now });
  const question = { request, endUser: port, interactionBegan, choosesAccount, now };
  const authenticated = await authenticateEndUser(ports, question);
  if (authenticated.kind === "interaction") return { ...authenticated, request, asked: undefined };
  const { endUser } = authenticated;
  const consent = await obtainConsent(ports, { request, endUser, port, decision, page, mustAsk, now });
  const { standing } = consent;
  if (consent.kind === "ask") return { kind: "ask", request, asked: { endUser, standing } };
  if (consent.kind === "interaction")
    return { kind: "interaction", url: consent.url, request, asked: { endUser, standing } };
  await checkNotReplaced(ports, { registered: recognised, issuer, standing });
  const confirmed = await confirmEndUser(ports, { question, approver: { endUser, consent } });
  if (confirmed.kind === "interaction") return { ...confirmed, request, asked: undefined };
  // the host may have thought for long: what is issued lives from now on
  const response = await approve(ports, { request, ...confirmed, now: ports.clock() });
  return { kind: "answered", response, isDecided: true };
}

/** A refusal as an error page, which only the person at the browser sees. @rfc 6749 §4.1.2.1 */
export function refuseByPage(
  ports: RefusalPorts,
  { issuer, thrown }: { issuer: Issuer | undefined; thrown: unknown },
): ErrorPageResponse {
  const error = toOAuthError(thrown);
  reportRefusal(ports, { error, subject: issuer ? { issuer: issuer.identifier } : {} });
  return errorPage(error);
}

/** The refusal of a request whose client and redirect URI are proven. */
interface RecognisedRefusal extends Pick<RecognisedClient, "client" | "target"> {
  readonly issuer: Issuer;
  readonly state: string | undefined;
  readonly error: OAuthError;
}

/** A refusal that the client learns of. It needs a `RedirectTarget`, which only `verifyRedirectUri` makes. @rfc 6749 §4.1.2.1 */
function refuseByRedirect(ports: RefusalPorts, refusal: RecognisedRefusal): RedirectResponse {
  const { client, target, issuer, state, error } = refusal;
  const iss = issuer.identifier;
  reportRefusal(ports, { error, subject: { issuer: iss, clientId: client.clientId } });
  return { kind: "redirect", location: errorLocation(target, { error, state, iss }), error: error.code };
}

/**
 * A refusal before the person has answered a consent page, which says where its answer leads. It is an error page where a redirect would
 * lead them to a site of a stranger. Anybody can make a link to here, and our own address at its beginning, or a sign-in on the way, would
 * make people trust that site. A document can cause a refusal at any time, by changing.
 *
 * @rfc 9700 §4.11.2
 */
export function refuseAtOnce(
  ports: RefusalPorts,
  refusal: RecognisedRefusal,
): RedirectResponse | ErrorPageResponse {
  const { client, target, issuer, error } = refusal;
  // the source, because the scheme of the URI may also be written in upper case
  return client.selfDescription && target.source.startsWith("https:")
    ? refuseByPage(ports, { issuer, thrown: error })
    : refuseByRedirect(ports, refusal);
}

/**
 * The answer when a page ends with a no: `access_denied`, without asking the adapters again. Before a consent page was shown, it is a no
 * to signing in.
 *
 * @rfc 6749 §4.1.2.1
 */
export async function denyAuthorization(
  ports: AuthorizationPorts,
  { issuer, parameters, page }: { issuer: Issuer; parameters: Parameters; page: ConsentPage },
): Promise<RedirectResponse | ErrorPageResponse> {
  try {
    const recognised = await recogniseClient(ports, { issuer, parameters });
    await closePage(ports, { issuer, page, now: ports.clock() });
    const error = new OAuthError("access_denied", { description: "The end user did not grant access." });
    const refuse = page.shownTo === undefined ? refuseAtOnce : refuseByRedirect;
    return refuse(ports, { ...recognised, issuer, state: parameters.get("state"), error });
  } catch (thrown) {
    return refuseByPage(ports, { issuer, thrown });
  }
}

/** The error of a refusal. A no of the host must not be told beside a yes of the page either. */
async function toldError(
  ports: AuthorizationPorts,
  { thrown, endpointRequest }: { thrown: unknown; endpointRequest: AuthorizationEndpointRequest },
): Promise<OAuthError> {
  const error = toOAuthError(thrown);
  const { issuer, page, decision } = endpointRequest;
  // where a page was answered just now, its mark is there
  if (error.code !== "access_denied" || decision) return error;
  return closePage(ports, { issuer, page, now: ports.clock() }).then(() => error, toOAuthError);
}

/** Answers an authorization request, on the first visit and on every return from a page. Failures are answers too. */
export async function authorizationEndpoint(
  ports: AuthorizationPorts,
  endpointRequest: AuthorizationEndpointRequest,
): Promise<AuthorizationOutcome> {
  const { issuer, parameters } = endpointRequest;
  let recognised: RecognisedClient;
  try {
    recognised = await recogniseClient(ports, endpointRequest);
  } catch (thrown) {
    return { kind: "answered", response: refuseByPage(ports, { issuer, thrown }), isDecided: false };
  }
  try {
    return await decide(ports, { endpointRequest, recognised });
  } catch (thrown) {
    const error = await toldError(ports, { thrown, endpointRequest });
    if (error.situation === "lost")
      return { kind: "answered", response: refuseByPage(ports, { issuer, thrown: error }), isDecided: false };
    const { decision, page } = endpointRequest;
    const refuse = decision && page?.shownTo !== undefined ? refuseByRedirect : refuseAtOnce;
    const response = refuse(ports, { issuer, ...recognised, state: parameters.get("state"), error });
    return { kind: "answered", response, isDecided: error.code === "access_denied" };
  }
}
