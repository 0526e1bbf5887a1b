/** The routes of an issuer: methods, endpoints, failures. RFC 6749 §3, 7009 §2, 7662 §2, 8414 §3; Fetch standard (CORS). */
import type { Request } from "express";
import type { ClientLookup } from "../clients/client-lookup";
import {
  adviseOfOrigin,
  answerClient,
  type ClientAnswer,
  type ClientEndpoint,
  type ClientEndpointPorts,
  type FormRequest,
  refuseClient,
} from "../endpoints/client-endpoint";
import { introspectionEndpoint } from "../endpoints/introspection";
import { serverMetadataEndpoint } from "../endpoints/documents";
import type { answerWithinLimit, LimitedRequest, RateLimit } from "../endpoints/rate-limit";
import { revocationEndpoint } from "../endpoints/revocation";
import { tokenEndpoint } from "../endpoints/token";
import type { AuthorizationFlow } from "../interaction/authorization-flow";
import type { Pages } from "../pages/pages";
import {
  type ClientEndpointName,
  type Endpoint,
  endpoints,
  type Issuer,
  metadataPath,
} from "../protocol/issuer";
import { because, OAuthError } from "../protocol/oauth-error";
import { parseParameters } from "../protocol/parameters";
import {
  type EmptyResponse,
  errorPage,
  jsonError,
  type JsonResponse,
  type ProtocolResponse,
  tooLarge,
} from "../protocol/protocol-response";
import { answerDocument, answerPreflight, exposedBy, readableBy, varyByOrigin } from "./cors";
import {
  answerProblem,
  formProblem,
  headerValues,
  type HttpRequest,
  readAddress,
  readForm,
  readQuery,
  httpReasons,
} from "./request";
import type { TracedEndpoint } from "./request-trace";

/** What the routes use to answer. */
export interface ServedParts {
  /** For the endpoints that clients call, and for CORS. */
  readonly ports: ClientEndpointPorts & { readonly clients: Pick<ClientLookup, "isBrowserOrigin"> };
  /** The host's limit on requests of clients, and what answers within it; `undefined` without one. */
  readonly rateLimit:
    { readonly ask: RateLimit; readonly answerWithinLimit: typeof answerWithinLimit } | undefined;
  /** For the authorization endpoint. */
  readonly flow: AuthorizationFlow;
  /** Renders error pages. */
  readonly pages: Pages;
  /** URL of the key set. */
  readonly jwksUri: string;
}

/** A request for a route, which is one of an issuer but for the page for devices. */
export interface RoutedRequest<Req extends HttpRequest, At extends Issuer | undefined = Issuer> {
  readonly req: Req;
  readonly issuer: At;
}

/** Answers a request for a route. */
export type RouteHandler<Req extends HttpRequest, At extends Issuer | undefined = Issuer> = (
  parts: ServedParts,
  request: RoutedRequest<Req, At>,
) => Promise<ProtocolResponse>;

/** What is served at one path. */
export interface Route<Req extends HttpRequest, At extends Issuer | undefined = Issuer> extends Endpoint {
  /** What those who watch requests are told. */
  readonly endpoint: TracedEndpoint;
  /** Method → handler. Any other method is answered with 405. */
  readonly methods: Readonly<Record<string, RouteHandler<Req, At>>>;
  /** The answer to a failure: a page for people, JSON for programs. */
  readonly failure: (error: OAuthError) => ProtocolResponse;
  /** Headers of all answers of this route. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The event that tells of a request by another method; without one nobody is told. */
  readonly refused?: ClientEndpoint["refused"];
}

/** A request at an endpoint that clients call. */
interface ClientArrival extends RoutedRequest<HttpRequest> {
  readonly name: ClientEndpointName;
  readonly endpoint: ClientEndpoint;
}

type ClientResponse = JsonResponse | EmptyResponse;

/** What the host's limit is asked about a request. */
function askedOf(rateLimit: RateLimit, { req, name }: ClientArrival): LimitedRequest["asked"] {
  return { rateLimit, req, ip: readAddress(req), name };
}

/** A preflight names no client, so it is answered by the origin alone. */
async function preflightClient(
  { ports, rateLimit }: ServedParts,
  arrival: ClientArrival,
): Promise<ClientResponse> {
  const { req, issuer, endpoint } = arrival;
  const { url = "/", headers } = req;
  const { origin } = headers;
  if (origin === undefined) return answerPreflight(req, { origin });
  const answer = async (): Promise<ClientAnswer<ClientResponse>> => {
    const isKnown = await ports.clients.isBrowserOrigin(origin);
    if (!isKnown) adviseOfOrigin(ports, { issuer, headers });
    return { response: answerPreflight(req, { origin: isKnown ? origin : undefined }), clientId: undefined };
  };
  if (!rateLimit) return (await answer()).response;
  const request = { issuer, url, headers, parameters: parseParameters("") };
  const asked = askedOf(rateLimit.ask, arrival);
  return rateLimit.answerWithinLimit(ports, { endpoint, request, answer, asked });
}

/** Two credentials in one request, of which Node shows only the first. */
function severalHeaders(): OAuthError {
  return new OAuthError("invalid_request", {
    description: "Use one client authentication method.",
    ...because(httpReasons, "several-authorization-headers"),
  });
}

/** Reads the form of a POST, and answers it where the host's limit allows it. */
async function answerPost(
  { ports, rateLimit }: ServedParts,
  arrival: ClientArrival & Pick<FormRequest, "lookUpOrigin">,
): Promise<ClientResponse> {
  const { req, issuer, endpoint, lookUpOrigin } = arrival;
  const { url = "/", headers } = req;
  const form = await readForm(req);
  if (form.kind !== "form") {
    // no endpoint can read it, and the host hears of it all the same
    const thrown = formProblem(form);
    const refusal = refuseClient(ports, { endpoint, request: { issuer, headers }, thrown });
    return form.kind === "too-large" ? tooLarge(refusal) : refusal;
  }
  const malformed = headerValues(req, "authorization").length > 1 ? severalHeaders() : undefined;
  const request = { issuer, url, headers, parameters: form.parameters, malformed, lookUpOrigin };
  if (!rateLimit) return (await answerClient(ports, { endpoint, request })).response;
  const answer = (): Promise<ClientAnswer> => answerClient(ports, { endpoint, request });
  const asked = askedOf(rateLimit.ask, arrival);
  return rateLimit.answerWithinLimit(ports, { endpoint, request, answer, asked });
}

/** The same for the script of a page. */
async function answerScript(
  parts: ServedParts,
  { origin, ...arrival }: ClientArrival & { readonly origin: string },
): Promise<ClientResponse> {
  // an answer before any look-up reveals nothing about anyone: every script may read it
  let readers: string | undefined = "*";
  const lookUpOrigin = async (): Promise<boolean> => {
    readers = (await parts.ports.clients.isBrowserOrigin(origin)) ? origin : undefined;
    return readers !== undefined;
  };
  const response = await answerPost(parts, { ...arrival, lookUpOrigin });
  // not before the answer is there: by then the origin may have been looked up
  return exposedBy(arrival.issuer.api, readableBy(readers, response));
}

/** A route that browser clients' scripts also call. */
export function crossOriginRoute(name: ClientEndpointName, endpoint: ClientEndpoint): Route<HttpRequest> {
  const post: RouteHandler<HttpRequest> = (parts, { req, issuer }) => {
    const { origin } = req.headers;
    const arrival = { req, issuer, name, endpoint };
    return origin === undefined ? answerPost(parts, arrival) : answerScript(parts, { ...arrival, origin });
  };
  const { refused } = endpoint;
  const preflight: RouteHandler<HttpRequest> = (parts, request) =>
    preflightClient(parts, { ...request, name, endpoint });
  const methods = { POST: post, OPTIONS: preflight };
  return { ...endpoints[name], endpoint: name, methods, failure: jsonError, headers: varyByOrigin, refused };
}

/** A route for confidential clients only: scripts in pages cannot keep a secret, so there is no CORS. */
export function sameOriginRoute(name: ClientEndpointName, endpoint: ClientEndpoint): Route<HttpRequest> {
  const post: RouteHandler<HttpRequest> = (parts, { req, issuer }) =>
    answerPost(parts, { req, issuer, name, endpoint });
  const { refused } = endpoint;
  return { ...endpoints[name], endpoint: name, methods: { POST: post }, failure: jsonError, refused };
}

const metadata: RouteHandler<HttpRequest> = async ({ jwksUri }, { req, issuer }) =>
  answerDocument(req, serverMetadataEndpoint(issuer, jwksUri));

/** The route of a document that describes an issuer. */
export function metadataRoute(at: Endpoint): Route<HttpRequest> {
  const methods = { GET: metadata, HEAD: metadata, OPTIONS: metadata };
  return { ...at, endpoint: "metadata", methods, failure: jsonError };
}

type EverywhereName = Exclude<ClientEndpointName, "pushed_authorization_request" | "device_authorization">;

const clientEndpointRoutes: Readonly<Record<EverywhereName, Route<HttpRequest>>> = {
  token: crossOriginRoute("token", tokenEndpoint),
  revocation: crossOriginRoute("revocation", revocationEndpoint),
  introspection: sameOriginRoute("introspection", introspectionEndpoint),
};

/** The routes that clients call themselves, without a browser page in between. */
export const clientRoutes: readonly Route<HttpRequest>[] = [
  metadataRoute({ path: metadataPath }),
  ...Object.values(clientEndpointRoutes),
];

/** The answer to HEAD: link checkers and previews send it, and it must neither start nor use up a request. */
export const empty: RouteHandler<Request, Issuer | undefined> = async () => ({ kind: "empty", status: 200 });

const authorize: RouteHandler<Request> = ({ flow }, { req, issuer }) =>
  flow.start(req, { issuer, parameters: readQuery(req) });

const resume: RouteHandler<Request> = ({ flow }, { req, issuer }) =>
  flow.resume(req, { issuer, interactionId: readQuery(req).get("interaction") });

const submitConsent: RouteHandler<Request> = async ({ flow }, { req, issuer }) => {
  const form = await readForm(req);
  if (form.kind !== "form") return errorPage(answerProblem(form));
  return flow.submitConsent(req, { issuer, form: form.parameters });
};

/** The authorization endpoint. @rfc 6749 §3.1 */
export const authorizationRoute: Route<Request> = {
  ...endpoints.authorization,
  endpoint: "authorization",
  methods: { GET: authorize, HEAD: empty },
  failure: errorPage,
};

/** The routes that a person's browser visits. */
export const pageRoutes: readonly Route<Request>[] = [
  authorizationRoute,
  {
    path: `${endpoints.authorization.path}/resume`,
    endpoint: "resume",
    methods: { GET: resume, HEAD: empty },
    failure: errorPage,
  },
  {
    path: `${endpoints.authorization.path}/consent`,
    endpoint: "consent",
    methods: { POST: submitConsent },
    failure: errorPage,
  },
];
