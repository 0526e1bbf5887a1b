/** The authorization endpoint. RFC 6749 §3.1, §4.1.1, §4.1.2; 9207 §2; 9700 §4.11.2. */
import type { ClientLookup } from "../clients/client-lookup";
import { recogniseClient, type RecognisedClient, type RecognitionPorts } from "../clients/recognise-client";
import { type ApprovalPorts, approve } from "../end-user/approve";
import {
  type ApprovalBasis,
  checkClientUnchanged,
  endedMeanwhile,
  isClientReplaced,
} from "../end-user/approval-basis";
import { authenticateAgain, authenticateEndUser } from "../end-user/authenticate-end-user";
import { obtainConsent } from "../end-user/obtain-consent";
import { denied } from "../end-user/refusals";
import type { BackFromPage, ConsentPage, EndUser, EndUserPort } from "../end-user/port";
import { closePage } from "../end-user/page-answers";
import { reportIgnoredScopes } from "../events/ignored-scopes";
import { type EmitEvent, refusalEvent } from "../events/port";
import type { AuthorizationRequest, PushedRequest } from "../protocol/authorization-request";
import {
  type AuthorizationAnswer,
  authorizationAnswer,
  errorParameters,
  responseModeFor,
} from "../protocol/authorization-response";
import type { ResponseMode } from "../protocol/client";
import type { Issuer } from "../protocol/issuer";
import { type OAuthError, toOAuthError } from "../protocol/oauth-error";
import type { IdTokenVerifier } from "../protocol/openid";
import type { Parameters } from "../protocol/parameters";
import { errorPage, type ErrorPageResponse } from "../protocol/protocol-response";
import type { ShownScopes } from "../protocol/requested-scopes";
import type { Clock } from "../protocol/time";
import { checkAuthorizationRequest } from "../requests/check-authorization-request";

/** What the authorization endpoint uses, besides the host's adapters. */
export interface AuthorizationPorts extends RecognitionPorts, ApprovalPorts {
  readonly clients: Pick<ClientLookup, "findRegistered" | "findNewer" | "findCurrent" | "isTaken">;
  readonly clock: Clock;
  /** Verifies the hints of clients at APIs with `openid`. */
  readonly idTokens: IdTokenVerifier;
}

/** Refusals are reported to the host as events. */
interface RefusalPorts {
  readonly emit: EmitEvent;
}

/** A new authorization request. */
export interface FirstVisit {
  readonly issuer: Issuer;
  readonly parameters: Parameters;
  /** The person whom the client expects, where that is known already. */
  readonly hintedSubject?: string | undefined;
  /** Left out for a request that came in the URL alone. */
  readonly pushed?: PushedRequest | undefined;
  /** The host's adapters for this HTTP request. */
  readonly port: EndUserPort;
}

/** The same request again, whose person comes back from a page. */
export interface ReturnVisit extends FirstVisit {
  readonly back: BackFromPage;
}

/** Either of the two. */
interface Visit extends FirstVisit {
  readonly back: BackFromPage | undefined;
}

/** The end user who is asked for consent, and what is in force when the page is shown. */
export interface AskedEndUser {
  readonly endUser: EndUser;
  readonly basis: ApprovalBasis;
}

/** The answer, or the page that the person must see first. */
export type AuthorizationOutcome =
  | {
      readonly kind: "answered";
      readonly response: AuthorizationAnswer | ErrorPageResponse;
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
  message: {
    issuer: Issuer;
    parameters: Parameters;
    shown: ShownScopes;
    pushed: PushedRequest | undefined;
  },
): Promise<AuthorizationRequest> {
  const recognised = await recogniseClient(ports, message);
  return checkAuthorizationRequest(message.parameters, { ...message, ...recognised });
}

/** Everything after client and redirect URI are proven: from here on, every refusal is a redirect. */
async function decide(
  ports: AuthorizationPorts,
  { visit, recognised }: { visit: Visit; recognised: RecognisedClient },
): Promise<AuthorizationOutcome> {
  const { issuer, parameters, port, back, hintedSubject, pushed } = visit;
  const { client, target } = recognised;
  if (back) checkClientUnchanged(client, back);
  const { idTokens } = ports;
  const setting = { issuer, client, target, shown: back?.shown, hintedSubject, pushed, idTokens };
  const request = checkAuthorizationRequest(parameters, setting);
  const now = ports.clock();
  // one event for each request, not for each return from a page
  if (!back) {
    const { requestedScopes: scopes, ignoredScopes } = request;
    const { clientId } = client;
    ports.emit({ kind: "authorization-requested", issuer: issuer.identifier, clientId, scopes });
    reportIgnoredScopes(ports.emit, { request, ignoredScopes });
  }
  // a yes of the person who was shown the page no longer takes effect, also one that is under way
  if (back?.choosesAccount) await closePage(ports, { issuer, page: back.page, now });
  const question = { request, port, back, now };
  const authenticated = await authenticateEndUser(ports, question);
  if (authenticated.kind === "interaction") return { ...authenticated, request, asked: undefined };
  const { endUser } = authenticated;
  const consent = await obtainConsent(ports, { ...question, endUser });
  const { basis } = consent;
  if (consent.kind === "ask") return { kind: "ask", request, asked: { endUser, basis } };
  if (consent.kind === "interaction")
    return { kind: "interaction", url: consent.url, request, asked: { endUser, basis } };
  if (await isClientReplaced(ports, { registered: recognised, issuer, basis })) throw endedMeanwhile();
  const again = await authenticateAgain(ports, { question, approver: { endUser, consent } });
  if (again.kind === "interaction") return { ...again, request, asked: undefined };
  // the host may have thought for long: what is issued lives from now on
  const approved = { request, ...again, page: back?.page.name, now: ports.clock() };
  const response = await approve(ports, approved);
  return { kind: "answered", response, isDecided: true };
}

/** A refusal as an error page, which only the person at the browser sees. @rfc 6749 §4.1.2.1 */
export function refuseByPage(
  ports: RefusalPorts,
  { issuer, thrown }: { issuer: Issuer | undefined; thrown: unknown },
): ErrorPageResponse {
  const error = toOAuthError(thrown);
  const subject = issuer ? { issuer: issuer.identifier } : {};
  ports.emit(refusalEvent("authorization-denied", { error, subject }));
  return errorPage(error);
}

/** The refusal of a request whose client and redirect URI are proven. */
interface RecognisedRefusal extends Pick<RecognisedClient, "client" | "target"> {
  readonly issuer: Issuer;
  readonly state: string | undefined;
  readonly responseMode: ResponseMode;
  readonly error: OAuthError;
}

/** How the client is told of a refusal. A request whose mode is not allowed is answered by query. */
function tellingOf(
  { client }: RecognisedClient,
  parameters: Parameters,
): Pick<RecognisedRefusal, "state" | "responseMode"> {
  const state = parameters.get("state");
  const mode = responseModeFor(parameters.get("response_mode"), { client, state });
  return { state, responseMode: mode ?? "query" };
}

/** A refusal that the client learns of. It needs a `RedirectTarget`, which only `verifyRedirectUri` makes. @rfc 6749 §4.1.2.1 */
function refuseByRedirect(ports: RefusalPorts, refusal: RecognisedRefusal): AuthorizationAnswer {
  const { client, target, issuer, state, responseMode: mode, error } = refusal;
  const iss = issuer.identifier;
  const subject = { issuer: iss, clientId: client.clientId };
  ports.emit(refusalEvent("authorization-denied", { error, subject }));
  return authorizationAnswer(target, { mode, parameters: errorParameters(error, { state, iss }) });
}

/**
 * A refusal before the person has answered a consent page, which says where its answer leads. It is an error page where a redirect would
 * lead them to a site of a stranger. Anyone can make a link to here, and our own address at its beginning, or a sign-in on the way, would
 * make people trust that site. A document can cause a refusal at any time, by changing.
 *
 * @rfc 9700 §4.11.2
 */
export function refuseAtOnce(
  ports: RefusalPorts,
  refusal: RecognisedRefusal,
): AuthorizationAnswer | ErrorPageResponse {
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
): Promise<AuthorizationAnswer | ErrorPageResponse> {
  try {
    const recognised = await recogniseClient(ports, { issuer, parameters });
    await closePage(ports, { issuer, page, now: ports.clock() });
    const error = denied();
    const refuse = page.shownTo === undefined ? refuseAtOnce : refuseByRedirect;
    return refuse(ports, { ...recognised, ...tellingOf(recognised, parameters), issuer, error });
  } catch (thrown) {
    return refuseByPage(ports, { issuer, thrown });
  }
}

/** The error of a refusal. A no of the host must not be told beside a yes of the page either. */
async function toldError(
  ports: AuthorizationPorts,
  { thrown, visit: { issuer, back } }: { thrown: unknown; visit: Visit },
): Promise<OAuthError> {
  const error = toOAuthError(thrown);
  // where a page was answered just now, its mark is there
  if (error.error !== "access_denied" || !back || back.decision) return error;
  return closePage(ports, { issuer, page: back.page, now: ports.clock() }).then(() => error, toOAuthError);
}

async function answer(ports: AuthorizationPorts, visit: Visit): Promise<AuthorizationOutcome> {
  const { issuer, parameters, back } = visit;
  let recognised: RecognisedClient;
  try {
    recognised = await recogniseClient(ports, visit);
  } catch (thrown) {
    return { kind: "answered", response: refuseByPage(ports, { issuer, thrown }), isDecided: false };
  }
  try {
    return await decide(ports, { visit, recognised });
  } catch (thrown) {
    const error = await toldError(ports, { thrown, visit });
    if (error.situation === "lost")
      return { kind: "answered", response: refuseByPage(ports, { issuer, thrown: error }), isDecided: false };
    const refuse = back?.decision && back.page.shownTo !== undefined ? refuseByRedirect : refuseAtOnce;
    const response = refuse(ports, { ...recognised, ...tellingOf(recognised, parameters), issuer, error });
    return { kind: "answered", response, isDecided: error.error === "access_denied" };
  }
}

/** Answers a new authorization request, or says which page the person must see first. Failures are answers too. */
export function firstVisit(ports: AuthorizationPorts, visit: FirstVisit): Promise<AuthorizationOutcome> {
  return answer(ports, { ...visit, back: undefined });
}

/** The same when the person comes back from a page, with an answer or without one. All that was checked is checked again. */
export function comeBack(ports: AuthorizationPorts, visit: ReturnVisit): Promise<AuthorizationOutcome> {
  return answer(ports, visit);
}
