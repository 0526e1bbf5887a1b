/** The routes of an issuer: methods, endpoints, failures. RFC 6749 §3, 7009 §2, 7662 §2, 8414 §3; Fetch standard (CORS). */
import type { Request } from "express";
import type { ClientLookup } from "../clients/client-lookup";
import {
  answerClient,
  type ClientEndpoint,
  type ClientEndpointPorts,
  refuseClient,
} from "../endpoints/client-endpoint";
import { introspectionEndpoint } from "../endpoints/introspection";
import { serverMetadataEndpoint } from "../endpoints/metadata";
import { answerWithinLimit, type RateLimit } from "../endpoints/rate-limit";
import { revocationEndpoint } from "../endpoints/revocation";
import { tokenEndpoint } from "../endpoints/token";
import type { AuthorizationFlow } from "../interaction/authorization-flow";
import type { Pages } from "../pages/pages";
import { type ClientEndpointName, endpointPaths, type Issuer, metadataPath } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import {
  errorPage,
  jsonError,
  type JsonResponse,
  type ProtocolResponse,
} from "../protocol/protocol-response";
import { answerDocument } from "./documents";
import {
  type Form,
  formProblem,
  hasSeveralAuthorizationHeaders,
  type HttpRequest,
  readAddress,
  readForm,
  readQuery,
} from "./request";
import type { TracedEndpoint } from "./request-trace";

/** What the routes use to answer. */
export interface ServedParts {
  /** For the endpoints that clients call, and for CORS. */
  readonly ports: ClientEndpointPorts & { readonly clients: Pick<ClientLookup, "isBrowserOrigin"> };
  /** The host's limit on requests of clients; `undefined` without one. */
  readonly rateLimit: RateLimit | undefined;
  /** For the authorization endpoint. */
  readonly flow: AuthorizationFlow;
  /** Renders error pages. */
  readonly pages: Pages;
  /** URL of the key set. */
  readonly jwksUri: string;
}

/** A request for a route of an issuer. */
export interface RoutedRequest<Req extends HttpRequest> {
  readonly req: Req;
  readonly issuer: Issuer;
}

/** Answers a request for a route. */
export type RouteHandler<Req extends HttpRequest> = (
  parts: ServedParts,
  request: RoutedRequest<Req>,
) => Promise<ProtocolResponse>;

/** What is served at one path of an issuer. */
export interface Route<Req extends HttpRequest> {
  /** What those who watch requests are told. */
  readonly endpoint: TracedEndpoint;
  /** Method → handler. Any other method is answered with 405. */
  readonly methods: Readonly<Record<string, RouteHandler<Req>>>;
  /** The answer to a failure: a page for people, JSON for programs. */
  readonly failure: (error: OAuthError) => ProtocolResponse;
  /** Headers of all answers of this route. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The event that tells of a request by another method; without one nobody is told. */
  readonly refused?: ClientEndpoint["refused"];
}

/** Path below the issuer identifier → the route there. */
export type Routes<Req extends HttpRequest> = Readonly<Record<string, Route<Req>>>;

/** Allows only the scripts of registered browser clients to read the answer, and never with credentials. */
async function corsHeaders(
  { ports }: ServedParts,
  origin: string | undefined,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (origin === undefined || !(await ports.clients.isBrowserOrigin(origin))) return undefined;
  return { "Access-Control-Allow-Origin": origin };
}

/** A preflight names no client, so it is answered by the origin alone. */
const preflight: RouteHandler<HttpRequest> = async (parts, { req }) => {
  const cors = await corsHeaders(parts, req.headers.origin);
  if (!cors) return { kind: "empty", status: 204 };
  const headers = {
    ...cors,
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "600",
  };
  return { kind: "empty", status: 204, headers };
};

/** A request at an endpoint that clients call. */
interface ClientArrival extends RoutedRequest<HttpRequest> {
  readonly name: ClientEndpointName;
  readonly endpoint: ClientEndpoint;
  readonly form: Form;
  /** What asks the host, and the caller's address. */
  readonly limit: { readonly rateLimit: RateLimit; readonly ip: string } | undefined;
}

/** To be called before anything is awaited: the connection of a client that has gone has no address. */
function limitOf({ rateLimit }: ServedParts, req: HttpRequest): ClientArrival["limit"] {
  return rateLimit && { rateLimit, ip: readAddress(req) };
}

/** Two credentials in one request, of which Node shows only the first. */
function severalHeaders(): OAuthError {
  return new OAuthError("invalid_request", {
    description: "Use one client authentication method.",
    reason: "several Authorization headers (RFC 6749 §2.3): send one",
  });
}

async function answerForm(
  { ports }: ServedParts,
  { req, issuer, name, endpoint, form, limit }: ClientArrival,
): Promise<JsonResponse> {
  const { method = "", url = "/", headers } = req;
  if (form.kind !== "form") {
    // no endpoint can read it, and the host hears of it all the same
    const refusal = refuseClient(ports, {
      endpoint,
      request: { issuer, headers },
      thrown: formProblem(form),
    });
    if (form.kind !== "too-large") return refusal;
    // the rest of the body may still be on its way: closing the connection ends it
    return { ...refusal, status: 413, headers: { Connection: "close" } };
  }
  const malformed = hasSeveralAuthorizationHeaders(req) ? severalHeaders() : undefined;
  const request = { issuer, method, url, headers, parameters: form.parameters, malformed };
  if (!limit) return (await answerClient(ports, { endpoint, request })).response;
  return answerWithinLimit(ports, { endpoint, request, asked: { ...limit, req, name } });
}

/** A route that browser clients' scripts also call. `Vary` keeps caches from giving one origin's answer to another. */
function crossOriginRoute(name: ClientEndpointName, endpoint: ClientEndpoint): Route<HttpRequest> {
  const post: RouteHandler<HttpRequest> = async (parts, request) => {
    const { req, issuer } = request;
    const limit = limitOf(parts, req);
    // the body is read before anything is awaited: where the host has a listener, it is gone afterwards
    const [form, cors] = await Promise.all([readForm(req), corsHeaders(parts, req.headers.origin)]);
    const response = await answerForm(parts, { req, issuer, name, endpoint, form, limit });
    if (!cors) return response;
    // scripts see only a few headers unless they are named
    const exposed = { "Access-Control-Expose-Headers": "Retry-After" };
    return { ...response, headers: { ...response.headers, ...cors, ...exposed } };
  };
  const headers = { Vary: "Origin" };
  const { refused } = endpoint;
  const methods = { POST: post, OPTIONS: preflight };
  return { endpoint: name, methods, failure: jsonError, headers, refused };
}

/** A route for confidential clients only: scripts in pages cannot keep a secret, so there is no CORS. */
function sameOriginRoute(name: ClientEndpointName, endpoint: ClientEndpoint): Route<HttpRequest> {
  const post: RouteHandler<HttpRequest> = async (parts, { req, issuer }) => {
    const limit = limitOf(parts, req);
    const form = await readForm(req);
    return answerForm(parts, { req, issuer, name, endpoint, form, limit });
  };
  return { endpoint: name, methods: { POST: post }, failure: jsonError, refused: endpoint.refused };
}

const metadata: RouteHandler<HttpRequest> = async ({ jwksUri }, { req, issuer }) =>
  answerDocument(req, serverMetadataEndpoint(issuer, jwksUri));

const clientEndpointRoutes: Readonly<Record<ClientEndpointName, Route<HttpRequest>>> = {
  token: crossOriginRoute("token", tokenEndpoint),
  revocation: crossOriginRoute("revocation", revocationEndpoint),
  introspection: sameOriginRoute("introspection", introspectionEndpoint),
};

const byPath = Object.entries(clientEndpointRoutes).map(
  ([name, route]) => [endpointPaths[name as ClientEndpointName], route] as const,
);

/** The routes that clients call themselves, without a browser page in between. */
export const clientRoutes: Routes<HttpRequest> = {
  [metadataPath]: {
    endpoint: "metadata",
    methods: { GET: metadata, HEAD: metadata, OPTIONS: metadata },
    failure: jsonError,
  },
  ...Object.fromEntries(byPath),
};

// HEAD does nothing: link checkers and previews send it, and it must neither start nor use up a request
const empty: RouteHandler<Request> = async () => ({ kind: "empty", status: 200 });

const authorize: RouteHandler<Request> = ({ flow }, { req, issuer }) =>
  flow.start(req, { issuer, parameters: readQuery(req) });

const resume: RouteHandler<Request> = ({ flow }, { req, issuer }) =>
  flow.resume(req, { issuer, interactionId: readQuery(req).get("interaction") });

const submitConsent: RouteHandler<Request> = async ({ flow }, { req, issuer }) => {
  const form = await readForm(req);
  if (form.kind !== "form") return errorPage(formProblem(form));
  return flow.submitConsent(req, { issuer, form: form.parameters });
};

/** The routes that a person's browser visits. @rfc 6749 §3.1 */
export const pageRoutes: Routes<Request> = {
  [endpointPaths.authorization]: {
    endpoint: "authorization",
    methods: { GET: authorize, HEAD: empty },
    failure: errorPage,
  },
  [`${endpointPaths.authorization}/resume`]: {
    endpoint: "resume",
    methods: { GET: resume, HEAD: empty },
    failure: errorPage,
  },
  [`${endpointPaths.authorization}/consent`]: {
    endpoint: "consent",
    methods: { POST: submitConsent },
    failure: errorPage,
  },
};
