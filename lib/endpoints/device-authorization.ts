/** The device authorization endpoint, and the requests that it stores. Loaded only where an API has `deviceAuthorization`. RFC 8628 §3.1, §3.2. */
import type { ClientLookup } from "../clients/client-lookup";
import { type RecognisedClient, recognitionReasons } from "../clients/recognise-client";
import { deviceRequestOver } from "../end-user/close-device";
import { reportIgnoredScopes } from "../events/ignored-scopes";
import type { EmitEvent } from "../events/port";
import { type AuthorizationRequest, parsePrompt } from "../protocol/authorization-request";
import { deviceGrant } from "../protocol/client";
import {
  deviceCodeSeconds,
  deviceKeyOf,
  type DeviceTarget,
  pollSeconds,
  userCodeOf,
} from "../protocol/device";
import type { Issuer } from "../protocol/issuer";
import { because, OAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import type { ShownScopes } from "../protocol/requested-scopes";
import type { Clock, EpochSeconds } from "../protocol/time";
import { digestToken, formatToken } from "../protocol/token-value";
import { checkClientMayAsk } from "../requests/check-authorization-request";
import { checkRequestedScopes, checkResource, checkShownScopes } from "../requests/check-parameters";
import type { DeviceRequest, ParkedRequestStore } from "../storage/client-ports";
import type { ClientEndpoint } from "./client-endpoint";

/** Refusals of devices. */
export const deviceReasons = {
  "device-requests-full":
    "10,000 requests of devices with this client_id are open (RFC 8628 §5.1): somebody may be flooding the endpoint, so look at rateLimit. They end after 15 minutes",
} as const;

/** What the requests of devices are made and found with. */
export interface DeviceRequestPorts {
  readonly clients: Pick<ClientLookup, "findRegistered">;
  readonly storage: { readonly parkedRequests: Pick<ParkedRequestStore, "create" | "find"> };
  readonly baseUrl: string;
  /** Returns 128 random bits as base64url. */
  readonly randomId: () => string;
  /** Returns 256 random bits as base64url. */
  readonly randomToken: () => string;
  readonly emit: EmitEvent;
  readonly clock: Clock;
}

/** A person who wants to answer a device, or comes back from a page about it. */
export interface DeviceVisit {
  readonly userCode: string;
  /** What the pending request has besides. */
  readonly parameters?: Parameters;
  /** Names the page that was shown; left out before one was. */
  readonly page?: string | undefined;
  /** The issuer that the person is at, or would be led to. */
  readonly issuerOf: (device: DeviceRequest) => Issuer | undefined;
}

/** The request of a device, which has passed every check, with its client. */
export interface RecognisedDevice extends Omit<RecognisedClient, "target"> {
  readonly target: DeviceTarget;
  readonly request: AuthorizationRequest;
}

/** The requests of devices. */
export interface DeviceRequests {
  readonly endpoint: ClientEndpoint;
  /**
   * The request with this code that waits for a person, or was answered by this page.
   *
   * @throws OAuthError for the person
   */
  recognise(visit: DeviceVisit): Promise<RecognisedDevice>;
}

const maxOpenRequests = 10_000;
/** Two in a row that are taken are as likely as a guessed one. */
const attempts = 3;

/** Stores the request of a device. Gives the device code and its user code. */
async function park(
  { storage, randomId, randomToken }: DeviceRequestPorts,
  open: { issuer: Issuer; clientId: string; scopes: ShownScopes; now: EpochSeconds },
): Promise<{ readonly deviceCode: string; readonly userCode: string }> {
  const { issuer, clientId, scopes, now } = open;
  const { requestedScopes, grantableScopes } = scopes;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const authorizationId = randomId();
    const deviceCode = formatToken(authorizationId, randomToken());
    const digest = digestToken(deviceCode);
    const userCode = userCodeOf(digest);
    const device = {
      issuer: issuer.identifier,
      authMethodId: issuer.authMethodId,
      apiId: issuer.api.apiId,
      code: { authorizationId, digest },
      scopes: requestedScopes,
      impliedScopes: grantableScopes.filter((scope) => !requestedScopes.includes(scope)),
    };
    const expiresAt = now + deviceCodeSeconds;
    const outcome = await storage.parkedRequests.create(
      { key: deviceKeyOf(userCode), owner: clientId, state: "open", device, expiresAt },
      { limit: maxOpenRequests, now },
    );
    if (outcome === "created") return { deviceCode, userCode };
    if (outcome === "full") break;
  }
  throw new OAuthError("temporarily_unavailable", {
    description: "Too many devices are waiting.",
    ...because(deviceReasons, "device-requests-full"),
  });
}

/** The endpoint. @rfc 8628 §3.1 */
function deviceEndpoint(ports: DeviceRequestPorts): ClientEndpoint {
  return {
    refused: "device-refused",
    grantParameters: [],
    async answer(_, request) {
      const { issuer, client, parameters, now } = request;
      checkClientMayAsk(request, deviceGrant);
      checkResource(parameters.get("resource"), issuer);
      const scopes = checkRequestedScopes(parameters.get("scope"), request);
      const { clientId } = client;
      const { deviceCode, userCode } = await park(ports, { issuer, clientId, scopes, now });
      const { requestedScopes, ignoredScopes } = scopes;
      ports.emit({ kind: "device-requested", issuer: issuer.identifier, clientId, scopes: requestedScopes });
      reportIgnoredScopes(ports.emit, { request, ignoredScopes });
      const page = `${ports.baseUrl}/device`;
      const body = {
        device_code: deviceCode,
        user_code: userCode,
        verification_uri: page,
        verification_uri_complete: `${page}?user_code=${userCode}`,
        expires_in: deviceCodeSeconds,
        interval: pollSeconds,
      };
      return { kind: "json", status: 200, body };
    },
  };
}

/** Its request as if it had come to the authorization endpoint. Nothing of it is bound to a browser. */
function asAuthorizationRequest(
  { issuer, client, target }: Pick<RecognisedDevice, "client" | "target"> & { issuer: Issuer },
  { scopes, parameters }: { scopes: ShownScopes; parameters: Parameters | undefined },
): AuthorizationRequest {
  checkClientMayAsk({ client, issuer }, deviceGrant);
  return {
    issuer,
    client,
    target,
    state: undefined,
    responseMode: "query",
    ...checkShownScopes(scopes, { issuer, client }),
    codeChallenge: undefined,
    boundKey: undefined,
    nonce: undefined,
    // the person may have asked for another account
    prompt: parsePrompt(parameters?.get("prompt")) ?? [],
    maxAge: undefined,
    acrValues: [],
    loginHint: undefined,
    uiLocales: undefined,
    hintedSubject: undefined,
  };
}

async function recognise(
  { clients, storage, clock }: DeviceRequestPorts,
  { userCode, page, parameters, issuerOf }: DeviceVisit,
): Promise<RecognisedDevice> {
  const parked = await storage.parkedRequests.find(deviceKeyOf(userCode), clock());
  const issuer = parked?.device && issuerOf(parked.device);
  if (!parked?.device || issuer?.identifier !== parked.device.issuer) throw deviceRequestOver();
  // the page that has answered may do it again, for the second click of an impatient person
  if (parked.state !== "open" && parked.by !== page) throw deviceRequestOver();
  const { owner, device, expiresAt } = parked;
  const known = await clients.findRegistered(owner, { issuer, mayFetch: () => false });
  if (!known)
    throw new OAuthError("invalid_request", {
      description: "The client is unknown.",
      ...because(recognitionReasons, "no-such-client"),
    });
  const { client, endMark } = known;
  const target: DeviceTarget = { device: { userCode, code: device.code, expiresAt }, source: "" };
  const grantableScopes = [...device.scopes, ...device.impliedScopes];
  const scopes = { requestedScopes: device.scopes, grantableScopes };
  const request = asAuthorizationRequest({ issuer, client, target }, { scopes, parameters });
  return { client, endMark, target, request };
}

/** The requests of devices at a server. */
export function deviceRequests(ports: DeviceRequestPorts): DeviceRequests {
  return { endpoint: deviceEndpoint(ports), recognise: (visit) => recognise(ports, visit) };
}
