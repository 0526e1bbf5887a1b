/** What all endpoints that clients call share: message, client authentication, refusal. RFC 6749 §3.2, §5.2. */
import {
  authenticateClient,
  type ClientAuthenticationPorts,
  type ClientRequest,
  type EndpointRequest,
} from "../clients/authenticate-client";
import type * as Proofs from "../clients/check-proof";
import type { ProofEndpointName } from "../clients/check-proof";
import type { ClientLookup } from "../clients/client-lookup";
import { type RefusalKind, refusalEvent } from "../events/port";
import type { GrantPorts } from "../grants/grant";
import { grants } from "../grants/index";
import { formatChallenge } from "../protocol/bearer-token";
import { browserOriginsOf, type Client } from "../protocol/client";
import { proofParameters } from "../protocol/client-authentication";
import { because, OAuthError, toOAuthError } from "../protocol/oauth-error";
import { parametersOfUrl } from "../protocol/parameters";
import { parseUrl } from "../protocol/parsed-url";
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

/** A request as it came. */
export interface FormRequest extends EndpointRequest {
  /** The path and the query, behind Express without the mount path. */
  readonly url: string;
  /** Why it is refused before its client is looked up. */
  readonly malformed?: OAuthError | undefined;
  /** Looks up whether the script that asks may read the answer, once the request itself is good. Left out where no script asks. */
  readonly lookUpOrigin?: (() => Promise<boolean>) | undefined;
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
  readonly refused: RefusalKind;
  /** Its name where a proof is read, to bind what is issued to its key. */
  readonly proofsFor?: ProofEndpointName;
  /**
   * The parameters that can contain a code or refresh token for which a client's metadata document may be fetched; `"anyone"` where it may be
   * fetched for any request.
   */
  readonly grantParameters: readonly string[] | "anyone";
  /** The answer to an authenticated client. @throws OAuthError for a refusal; anything else becomes `server_error` */
  answer(ports: ClientEndpointPorts, request: ClientRequest): Promise<JsonResponse>;
}

/** Refusals of the endpoints that clients call. */
export const endpointReasons = {
  "parameters-in-url": (names: string): string =>
    `the URL has ${names}, and URLs end up in logs (RFC 6749 §2.3.1, §3.2): send all parameters in the form`,
  "grant-type-unknown": (known: readonly string[]): string =>
    `grant_type is not one of ${known.join(", ")} (RFC 6749 §5.2): send one of them`,
  "grant-not-allowed": (client: string, why: string): string =>
    `client ${client} ${why} (RFC 6749 §5.2): fix the client's record, or ask for another grant`,
  "code-not-revocable": "only access and refresh tokens are revoked (RFC 7009 §2): let the code expire",
  "introspection-by-public-client":
    "a public client asked for introspection, and only confidential clients may (RFC 7662 §2.1): use a client with a secret or a key",
  "introspection-without-subscription": (client: string, apiId: string): string =>
    `client ${client} has no subscription to API ${apiId}, and only with one may it introspect tokens of the API (RFC 7662 §2.1): add subscriptions.${apiId}`,
  "rate-limited":
    "rateLimit refused the request (RFC 6585 §4): the client may come back when Retry-After says",
  "method-not-post":
    "this endpoint accepts only POST (RFC 6749 §3.2, 7009 §2.1, 7662 §2.1): send the parameters in a form",
} as const;

/** Credentials, tokens and what belongs to them must not be in a URL. */
const bodyOnly = [
  "client_id",
  ...proofParameters,
  "grant_type",
  ...Object.values(grants).flatMap((grant) => [...grant.presents, ...(grant.bodyOnly ?? [])]),
  "scope",
  "token",
];

function checkQuery(url: string): void {
  const ofUrl = parametersOfUrl(url);
  const found = bodyOnly.filter((name) => ofUrl.get(name) !== undefined || ofUrl.unusable.has(name));
  if (found.length === 0) return;
  throw new OAuthError("invalid_request", {
    description: "Parameters belong in the body, not in the URL.",
    ...because(endpointReasons, "parameters-in-url", found.join(", ")),
  });
}

/** A request that is not answered as it was asked. */
export interface Refused {
  readonly endpoint: ClientEndpoint;
  readonly request: Pick<EndpointRequest, "issuer" | "headers">;
  readonly thrown: unknown;
  /** The client that asked, only once it is proven: anyone can send its id. */
  readonly clientId?: string | undefined;
}

/** `WWW-Authenticate` only for clients that sent an Authorization header. @rfc 6749 §5.2, 9110 §10.2.3 */
function refusalHeaders(
  { error, retryAfterSeconds = 1 }: OAuthError,
  { issuer, headers }: Refused["request"],
): Readonly<Record<string, string>> {
  if (error === "temporarily_unavailable") return { "Retry-After": String(retryAfterSeconds) };
  if (error !== "invalid_client" || headers.authorization === undefined) return {};
  return { "WWW-Authenticate": formatChallenge("Basic", { realm: issuer.identifier }) };
}

/** The answer to a refusal or a failure, of which the host hears by an event. @rfc 6749 §5.2 */
export function refuseClient(
  { emit }: Pick<ClientEndpointPorts, "emit">,
  { endpoint, request, thrown, clientId }: Refused,
): JsonResponse {
  const error = toOAuthError(thrown);
  const subject = { issuer: request.issuer.identifier, ...(clientId !== undefined && { clientId }) };
  emit(refusalEvent(endpoint.refused, { error, subject }));
  return jsonError(error, refusalHeaders(error, request));
}

/**
 * A script of an origin that nobody registered gets its answer, but its browser does not let it read that, or does not even ask for it. No
 * browser sends what is no origin. The client is named once it is proven.
 */
export function adviseOfOrigin(
  { advise }: Pick<ClientEndpointPorts, "advise">,
  { issuer, headers, client }: Pick<EndpointRequest, "issuer" | "headers"> & { client?: Client | undefined },
): void {
  if (!advise) return;
  const { origin = "" } = headers;
  const isOrigin = origin === "null" || parseUrl(origin)?.origin === origin;
  if (!isOrigin || origin === new URL(issuer.identifier).origin) return;
  const registered = client ? browserOriginsOf(client).join(", ") : "";
  const has = registered === "" ? 'it has no platform: "browser"' : `its redirectUris have ${registered}`;
  const [caller, why] = client ? [` for the client ${client.clientId}`, ` (${has})`] : ["", ""];
  advise(
    "answer-hidden-from-page",
    `A page at ${origin} called${caller} and cannot read the answer, because no browser client has a redirect URI with this origin${why}. Register one, or call from a server, which sends no Origin.`,
  );
}

/** Loaded with the first request for tokens that can be bound. */
function loadProofs(): typeof Proofs {
  return require("../clients/check-proof") as typeof Proofs;
}

/** Checks the message, authenticates the client and asks the endpoint. Refusals and failures are answered here. @rfc 6749 §5.2 */
export async function answerClient(
  ports: ClientEndpointPorts,
  { endpoint, request }: { endpoint: ClientEndpoint; request: FormRequest },
): Promise<ClientAnswer> {
  const { issuer, headers, parameters, url, malformed, lookUpOrigin } = request;
  let client: Client | undefined;
  let isReadable = true;
  try {
    if (malformed) throw malformed;
    if (url.includes("?")) checkQuery(url);
    checkUsable(parameters);
    if (lookUpOrigin) isReadable = await lookUpOrigin();
    const { grantParameters, proofsFor } = endpoint;
    const asked = { issuer, headers, parameters };
    // before the client is authenticated: a bad proof must use up no assertion
    const key =
      issuer.api.dpop && proofsFor && loadProofs().provenKey(asked, { proofsFor, now: ports.clock() });
    const registered = await authenticateClient(ports, { ...asked, grantParameters });
    client = registered.client;
    const { endMark, apiEnds } = registered;
    const proven = { issuer, headers, parameters, client, endMark, apiEnds, now: ports.clock() };
    const response = await endpoint.answer(ports, key === undefined ? proven : { ...proven, key });
    return { response, clientId: client.clientId };
  } catch (thrown) {
    const clientId = client?.clientId;
    return { response: refuseClient(ports, { endpoint, request, thrown, clientId }), clientId };
  } finally {
    if (!isReadable) adviseOfOrigin(ports, { issuer, headers, client });
  }
}
