/** What all endpoints that clients call share: message, client authentication, refusal. RFC 6749 §3.2, §5.2. */
import type { IncomingHttpHeaders } from "node:http";
import {
  authenticateClient,
  type ClientAuthenticationPorts,
  type ClientRequest,
} from "../clients/authenticate-client";
import type { ClientLookup } from "../clients/client-lookup";
import type { NewEvent } from "../events/port";
import type { GrantPorts } from "../grants/grant";
import { formatChallenge } from "../protocol/bearer-token";
import type { Issuer } from "../protocol/issuer";
import { isFailure, OAuthError, toOAuthError } from "../protocol/oauth-error";
import { type Parameters, parametersOfUrl } from "../protocol/parameters";
import { jsonError, type JsonResponse } from "../protocol/protocol-response";
import type { Clock } from "../protocol/time";
import type { AccessTokenSigner } from "../signing/port";
import { checkUsable } from "../requests/check-parameters";

/** What all of these endpoints together use. */
export interface ClientEndpointPorts extends ClientAuthenticationPorts, GrantPorts {
  readonly storage: ClientAuthenticationPorts["storage"] & GrantPorts["storage"];
  readonly clients: Pick<ClientLookup, "findRegistered" | "findNewer" | "findHolder">;
  readonly signer: AccessTokenSigner;
  readonly clock: Clock;
}

/** An HTTP request to an endpoint of an issuer. */
export interface EndpointRequest {
  readonly issuer: Issuer;
  readonly method: string;
  /** The path and the query, behind Express without the mount path. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

/** A request with its form, from a client that has not been authenticated yet. */
export interface FormRequest extends EndpointRequest {
  /** Those of the form, never of the URL. */
  readonly parameters: Parameters;
  /** Why it is refused before anybody asks who its client is. */
  readonly malformed?: OAuthError | undefined;
  /** Looks up whose script asks, once nothing in the request itself speaks against it. Left out where no script of a page asks. */
  readonly lookUpOrigin?: (() => Promise<void>) | undefined;
}

/** How an endpoint has answered. */
export interface ClientAnswer<Response = JsonResponse> {
  readonly response: Response;
  /** The client that asked; none before it is proven. */
  readonly clientId: string | undefined;
}

/** An endpoint that clients call themselves, not by way of a browser. */
export interface ClientEndpoint {
  /** The kind of event that reports a refusal. */
  readonly refused: Extract<NewEvent, { error: unknown }>["kind"];
  /** The parameters that can contain a code or refresh token for which a client's metadata document may be fetched. */
  readonly grantParameters: readonly string[];
  /** The answer to an authenticated client. @throws OAuthError for a refusal; anything else becomes `server_error` */
  answer(ports: ClientEndpointPorts, request: ClientRequest & EndpointRequest): Promise<JsonResponse>;
}

/** Credentials, tokens and what belongs to them must not be in a URL. */
const bodyOnly = [
  "client_id",
  "client_secret",
  "client_assertion",
  "client_assertion_type",
  "code",
  "code_verifier",
  "refresh_token",
  "grant_type",
  "scope",
  "token",
];

function checkQuery(url: string): void {
  const ofUrl = parametersOfUrl(url);
  if (!bodyOnly.some((name) => ofUrl.get(name) !== undefined || ofUrl.unusable.has(name))) return;
  throw new OAuthError("invalid_request", {
    description: "Parameters belong in the body, not in the URL.",
    reason: "URLs end up in logs (RFC 6749 §2.3.1, §3.2): send them in the form",
  });
}

/** A request that is not answered as it was asked. */
export interface Refused {
  readonly endpoint: ClientEndpoint;
  readonly request: Pick<EndpointRequest, "issuer" | "headers">;
  readonly thrown: unknown;
  /** The client that asked, only once it is proven: anybody can send its id. */
  readonly clientId?: string | undefined;
}

/** `WWW-Authenticate` only for clients that sent an Authorization header. @rfc 6749 §5.2, 9110 §10.2.3 */
function refusalHeaders(
  { code, retryAfterSeconds = 1 }: OAuthError,
  { issuer, headers }: Refused["request"],
): Readonly<Record<string, string>> {
  if (code === "temporarily_unavailable") return { "Retry-After": String(retryAfterSeconds) };
  if (code !== "invalid_client" || headers.authorization === undefined) return {};
  return { "WWW-Authenticate": formatChallenge("Basic", { realm: issuer.identifier }) };
}

/** The answer to a refusal or a failure, of which the host hears by an event. @rfc 6749 §5.2 */
export function refuseClient(
  { emit }: Pick<ClientEndpointPorts, "emit">,
  { endpoint, request, thrown, clientId }: Refused,
): JsonResponse {
  const error = toOAuthError(thrown);
  const subject = { issuer: request.issuer.identifier, ...(clientId !== undefined && { clientId }) };
  if (isFailure(error)) emit({ kind: "server-error", ...subject, cause: error.cause });
  else emit({ kind: endpoint.refused, ...subject, error: error.code, reason: error.reason });
  return jsonError(error, refusalHeaders(error, request));
}

/** Checks the message, authenticates the client and asks the endpoint. Refusals and failures are answered here. @rfc 6749 §5.2 */
export async function answerClient(
  ports: ClientEndpointPorts,
  { endpoint, request }: { endpoint: ClientEndpoint; request: FormRequest },
): Promise<ClientAnswer> {
  const { issuer, parameters, malformed, lookUpOrigin, method, url, headers } = request;
  let clientId: string | undefined;
  try {
    if (malformed) throw malformed;
    if (url.includes("?")) checkQuery(url);
    checkUsable(parameters);
    if (lookUpOrigin) await lookUpOrigin();
    const { grantParameters } = endpoint;
    const unproven = { issuer, parameters, grantParameters, authorizationHeader: headers.authorization };
    const { client, endMark } = await authenticateClient(ports, unproven);
    clientId = client.clientId;
    const now = ports.clock();
    const proven = { issuer, client, endMark, parameters, now, method, url, headers };
    return { response: await endpoint.answer(ports, proven), clientId };
  } catch (thrown) {
    return { response: refuseClient(ports, { endpoint, request, thrown, clientId }), clientId };
  }
}
