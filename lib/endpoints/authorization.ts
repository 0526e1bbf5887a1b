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
import { closeDevice, deviceRequestOver } from "../end-user/close-device";
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
import type { DeviceInteraction } from "../protocol/device";
import type { Issuer } from "../protocol/issuer";
import { isLost, type OAuthError, toOAuthError } from "../protocol/oauth-error";
import type { IdTokenVerifier } from "../protocol/openid";
import type { Parameters } from "../protocol/parameters";
import { errorPage, type ErrorPageResponse } from "../protocol/protocol-response";
import type { ShownScopes } from "../protocol/requested-scopes";
import type { Clock } from "../protocol/time";
import { checkAuthorizationRequest } from "../requests/check-authorization-request";
import type { DeviceRequests, RecognisedDevice } from "./device-authorization";

/** What the authorization endpoint uses, besides the host's adapters. */
export interface AuthorizationPorts extends RecognitionPorts, ApprovalPorts {
  readonly clients: Pick<ClientLookup, "findRegistered" | "findNewer" | "findCurrent" | "isTaken">;
  readonly clock: Clock;
  /** Verifies the hints of clients at APIs with `openid`. */
  readonly idTokens: IdTokenVerifier;
  /** Requests of devices; left out where no API has `deviceAuthorization`. */
  readonly devices?: Pick<DeviceRequests, "recognise"> | undefined;
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
  /** Left out unless a device asks. */
  readonly device?: DeviceInteraction | undefined;
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

/** A request whose client is known, and where its answer may go. That of a device has passed every check by then. */
type Recognised = (RecognisedClient & { readonly request?: undefined }) | RecognisedDevice;

/** The same where a device asks. @throws OAuthError that only the person sees */
async function recogniseDevice(
  { devices }: Pick<AuthorizationPorts, "devices">,
  visit: Pick<FirstVisit, "issuer" | "parameters"> & { device: DeviceInteraction; page: string | undefined },
): Promise<RecognisedDevice> {
  // the option may have been taken away since
  if (!devices) throw deviceRequestOver();
  const { issuer, device, ...known } = visit;
  return devices.recognise({ ...known, userCode: device.userCode, issuerOf: () => issuer });
}

/** The request of a pending interaction, checked again, for pages that show it. @throws OAuthError when it is no longer valid */
export async function readAuthorizationRequest(
  ports: Pick<AuthorizationPorts, "devices"> & RecognitionPorts,
  message: Pick<FirstVisit, "issuer" | "parameters" | "device" | "pushed"> & {
    page: ConsentPage;
    shown: ShownScopes;
  },
): Promise<AuthorizationRequest> {
  const { device, page } = message;
  const recognised: Recognised = device
    ? await recogniseDevice(ports, { ...message, device, page: page.name })
    : await recogniseClient(ports, message);
  return recognised.request ?? checkAuthorizationRequest(message.parameters, { ...message, ...recognised });
}

/** Everything after client and redirect URI are proven: from here on, every refusal is a redirect. */
async function decide(
  ports: AuthorizationPorts,
  { visit, recognised }: { visit: Visit; recognised: Recognised },
): Promise<AuthorizationOutcome> {
  const { issuer, parameters, port, back, hintedSubject, pushed } = visit;
  const { client } = recognised;
  if (back) checkClientUnchanged(client, back);
  const setting = { issuer, client, shown: back?.shown, hintedSubject, pushed, idTokens: ports.idTokens };
  const request =
    recognised.request ?? checkAuthorizationRequest(parameters, { ...setting, target: recognised.target });
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
interface RecognisedRefusal extends Pick<AuthorizationRequest, "client" | "target"> {
  readonly issuer: Issuer;
  readonly state: string | undefined;
  readonly responseMode: ResponseMode;
  readonly error: OAuthError;
}

/** How the client is told of a refusal. A request whose mode is not allowed is answered by query. */
function tellingOf(
  { client }: Recognised,
  parameters: Parameters,
): Pick<RecognisedRefusal, "state" | "responseMode"> {
  const state = parameters.get("state");
  const mode = responseModeFor(parameters.get("response_mode"), { client, state });
  return { state, responseMode: mode ?? "query" };
}

/**
 * A refusal that the client learns of. It needs a `RedirectTarget`, which only `verifyRedirectUri` makes. A device learns of a no only, and
 * a person who can do something else sees what.
 *
 * @rfc 6749 §4.1.2.1, 8628 §3.5
 */
function refuseByRedirect(
  ports: RefusalPorts,
  refusal: RecognisedRefusal,
): AuthorizationAnswer | ErrorPageResponse {
  const { client, target, issuer, state, responseMode: mode, error } = refusal;
  if (target.device && error.error !== "access_denied") return refuseByPage(ports, { issuer, thrown: error });
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

/** Tells the device of the no, when it asks. */
async function closeDeviceWithNo(
  ports: AuthorizationPorts,
  { page, target: { device } }: { page: ConsentPage; target: Recognised["target"] },
): Promise<void> {
  if (device) await closeDevice(ports, { device, as: "denied", by: page.name, now: ports.clock() });
}

/**
 * The answer when a page ends with a no: `access_denied`, without asking the adapters again. Before a consent page was shown, it is a no
 * to signing in.
 *
 * @rfc 6749 §4.1.2.1
 */
export async function denyAuthorization(
  ports: AuthorizationPorts,
  denial: Pick<FirstVisit, "issuer" | "parameters" | "device"> & { page: ConsentPage },
): Promise<AuthorizationAnswer | ErrorPageResponse> {
  const { issuer, parameters, device, page } = denial;
  try {
    const recognised: Recognised = device
      ? await recogniseDevice(ports, { ...denial, device, page: page.name })
      : await recogniseClient(ports, denial);
    await closePage(ports, { issuer, page, now: ports.clock() });
    await closeDeviceWithNo(ports, { page, target: recognised.target });
    const error = denied();
    const refuse = page.shownTo === undefined ? refuseAtOnce : refuseByRedirect;
    return refuse(ports, { ...recognised, ...tellingOf(recognised, parameters), issuer, error });
  } catch (thrown) {
    return refuseByPage(ports, { issuer, thrown });
  }
}

/**
 * The error of a refusal. A no of the host must not be told beside a yes of the page either. A device is told first of all, because nothing
 * else tells it.
 */
async function toldError(
  ports: AuthorizationPorts,
  { thrown, visit, recognised }: { thrown: unknown; visit: Visit; recognised: Recognised },
): Promise<OAuthError> {
  const error = toOAuthError(thrown);
  const { issuer, back } = visit;
  if (error.error !== "access_denied" || !back) return error;
  const { page, decision } = back;
  try {
    // where a page was answered just now, its mark is there
    if (!decision) await closePage(ports, { issuer, page, now: ports.clock() });
    await closeDeviceWithNo(ports, { page, target: recognised.target });
    return error;
  } catch (failure) {
    return toOAuthError(failure);
  }
}

async function answer(ports: AuthorizationPorts, visit: Visit): Promise<AuthorizationOutcome> {
  const { issuer, parameters, device, back } = visit;
  let recognised: Recognised;
  try {
    recognised = device
      ? await recogniseDevice(ports, { issuer, parameters, device, page: back?.page.name })
      : await recogniseClient(ports, visit);
  } catch (thrown) {
    return { kind: "answered", response: refuseByPage(ports, { issuer, thrown }), isDecided: false };
  }
  try {
    return await decide(ports, { visit, recognised });
  } catch (thrown) {
    const error = await toldError(ports, { thrown, visit, recognised });
    if (isLost(error))
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
