/** The authorization endpoint. RFC 6749 §3.1, §4.1.1, §4.1.2; 9207 §2; 9700 §4.11.2. */
import type { ClientLookup } from "../clients/client-lookup";
import { type ApprovalPorts, approve } from "../end-user/approve";
import { authenticateEndUser } from "../end-user/authenticate-end-user";
import { obtainConsent } from "../end-user/obtain-consent";
import type { ConsentDecision, EndUser, EndUserPort } from "../end-user/port";
import { reportIgnoredScopes } from "../events/ignored-scopes";
import type { EmitEvent, EventSubject } from "../events/port";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { errorLocation } from "../protocol/authorization-response";
import type { Client } from "../protocol/client";
import type { Issuer } from "../protocol/issuer";
import { isFailure, OAuthError, toOAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import { errorPage, type ErrorPageResponse, type RedirectResponse } from "../protocol/protocol-response";
import { type RedirectTarget, verifyRedirectUri } from "../protocol/redirect-uri";
import type { ShownScopes } from "../protocol/requested-scopes";
import type { Clock, EpochSeconds } from "../protocol/time";
import { checkAuthorizationRequest } from "../requests/check-authorization-request";

/** What recognising a client and its redirect URI uses. */
interface RecognitionPorts {
  readonly clients: Pick<ClientLookup, "find">;
  /** The schemes without a dot that redirect URIs of native clients may use. */
  readonly redirectSchemes: readonly string[];
}

/** What the authorization endpoint uses, besides the host's adapters. */
export interface AuthorizationPorts extends RecognitionPorts, ApprovalPorts {
  readonly clients: Pick<ClientLookup, "find" | "isTaken">;
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
  /** The answer that the person has just given on a consent page. */
  readonly decision: ConsentDecision | undefined;
  /** True when the person has just asked for another account on the consent page. */
  readonly choosesAccount: boolean;
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
      /** The end user who is asked, when the page is about consent. */
      readonly endUser: EndUser | undefined;
      readonly endMark: string | undefined;
    }
  | {
      readonly kind: "ask";
      readonly request: AuthorizationRequest;
      readonly endUser: EndUser;
      /** The end mark that is current when the page is shown. */
      readonly endMark: string | undefined;
    };

interface RecognisedClient {
  readonly client: Client;
  readonly target: RedirectTarget;
}

/** A refusal that only the person sees. The reason tells the developer which rule was broken and what to do. */
function unredirectable(description: string, reason: string): OAuthError {
  return new OAuthError("invalid_request", { description, reason });
}

const unregisteredReason =
  "redirect_uri does not equal one of the client's redirectUris, character for character (RFC 6749 §3.1.2.3, 9700 §2.1): register it exactly as it is sent. A native client registers http://localhost/…, http://127.0.0.1/… or http://[::1]/… without a port, and may then use any port on that host";
const omittedReason =
  'redirect_uri may be left out only if the API has redirectUri: "optional" and the client has registered exactly one (RFC 6749 §3.1.2.3): send it';

/** The proven client and redirect URI. Until they are proven, nobody may be redirected. @rfc 6749 §4.1.2.1, 9700 §4.11 */
async function recogniseClient(
  { clients, redirectSchemes: dotless }: RecognitionPorts,
  { issuer, parameters }: { issuer: Issuer; parameters: Parameters },
): Promise<RecognisedClient> {
  const clientId = parameters.get("client_id");
  if (clientId === undefined)
    throw unredirectable(
      "client_id is missing or repeated.",
      "every authorization request needs exactly one client_id (RFC 6749 §4.1.1): add it to the URL's query",
    );
  const client = await clients.find(clientId);
  if (!client)
    throw unredirectable(
      "The client is unknown.",
      "storage.clients has no client with this client_id (RFC 6749 §2.2): register it, or fix client_id",
    );
  // before the value is used: a repeated one must not count as left out
  if (parameters.unusable.has("redirect_uri"))
    throw unredirectable(
      "redirect_uri is repeated.",
      "no parameter may be repeated (RFC 6749 §3.1): send one redirect_uri",
    );
  const requested = parameters.get("redirect_uri");
  const target = verifyRedirectUri(client, { requested, rule: issuer.api.redirectUri, dotless });
  if (target) return { client, target };
  throw unredirectable(
    requested === undefined
      ? "redirect_uri is missing."
      : "The redirect_uri is not registered for this client.",
    requested === undefined ? omittedReason : unregisteredReason,
  );
}

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
  const { interactionBegan, choosesAccount } = endpointRequest;
  const { client, target } = recognised;
  const request = checkAuthorizationRequest(parameters, { issuer, client, target, shown });
  const now = ports.clock();
  const { clientId } = client;
  // one event for each request, not for each return from a page
  if (interactionBegan === undefined) {
    const scopes = request.requestedScopes;
    ports.emit({ kind: "authorization-requested", issuer: issuer.identifier, clientId, scopes });
    reportIgnoredScopes(ports.emit, { request, ignoredScopes: request.ignoredScopes });
  }
  const question = { request, endUser: port, interactionBegan, choosesAccount, now };
  const authenticated = await authenticateEndUser(ports, question);
  if (authenticated.kind === "interaction") {
    return { ...authenticated, request, endUser: undefined, endMark: undefined };
  }
  const { endUser } = authenticated;
  const consent = await obtainConsent(ports, { request, endUser, port, decision, now });
  if (consent.kind !== "granted") return { ...consent, request, endUser };
  const response = await approve(ports, { request, endUser, consent, now });
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

/** A refusal that the client learns of. It needs a `RedirectTarget`, which only `verifyRedirectUri` makes. @rfc 6749 §4.1.2.1 */
export function refuseByRedirect(
  ports: RefusalPorts,
  refusal: RecognisedClient & {
    readonly issuer: Issuer;
    readonly state: string | undefined;
    readonly error: OAuthError;
  },
): RedirectResponse {
  const { client, target, issuer, state, error } = refusal;
  const iss = issuer.identifier;
  reportRefusal(ports, { error, subject: { issuer: iss, clientId: client.clientId } });
  return { kind: "redirect", location: errorLocation(target, { error, state, iss }) };
}

/** The answer when a page of the host ends with a no: `access_denied`, without asking the adapters again. @rfc 6749 §4.1.2.1 */
export async function denyAuthorization(
  ports: RecognitionPorts & RefusalPorts,
  { issuer, parameters }: { issuer: Issuer; parameters: Parameters },
): Promise<RedirectResponse | ErrorPageResponse> {
  try {
    const recognised = await recogniseClient(ports, { issuer, parameters });
    const error = new OAuthError("access_denied", { description: "The end user did not grant access." });
    return refuseByRedirect(ports, { ...recognised, issuer, state: parameters.get("state"), error });
  } catch (thrown) {
    return refuseByPage(ports, { issuer, thrown });
  }
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
    const error = toOAuthError(thrown);
    const refusal = { issuer, ...recognised, state: parameters.get("state"), error };
    const response = refuseByRedirect(ports, refusal);
    return { kind: "answered", response, isDecided: error.code === "access_denied" };
  }
}
