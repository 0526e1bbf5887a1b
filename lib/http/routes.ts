/** The routes of an issuer: methods, endpoints, failures. RFC 6749 §3, 7009 §2, 7662 §2, 8414 §3; Fetch standard (CORS). */
import type { Request } from "express";
import type { ClientLookup } from "../clients/client-lookup";
import {
  answerClient,
  type ClientAnswer,
  type ClientEndpoint,
  type ClientEndpointPorts,
  type FormRequest,
  refuseClient,
} from "../endpoints/client-endpoint";
import { introspectionEndpoint } from "../endpoints/introspection";
import { serverMetadataEndpoint } from "../endpoints/metadata";
import { answerWithinLimit, type LimitedRequest, type RateLimit } from "../endpoints/rate-limit";
import { revocationEndpoint } from "../endpoints/revocation";
import { tokenEndpoint } from "../endpoints/token";
import type { AuthorizationFlow } from "../interaction/authorization-flow";
import type { Pages } from "../pages/pages";
import { type ClientEndpointName, endpointPaths, type Issuer, metadataPath } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import { parseParameters } from "../protocol/parameters";
import {
  type EmptyResponse,
  errorPage,
  jsonError,
  type JsonResponse,
  type ProtocolResponse,
} from "../protocol/protocol-response";
import { allowScripts, answerDocument } from "./documents";
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

/** A request at an endpoint that clients call. */
interface ClientArrival extends RoutedRequest<HttpRequest> {
  readonly name: ClientEndpointName;
  readonly endpoint: ClientEndpoint;
}

type ClientResponse = JsonResponse | EmptyResponse;

/** Answers a request where the host's limit allows it, and else says so. */
async function answerIfAllowed(
  { ports, rateLimit }: ServedParts,
  { req, name, answer, ...asked }: ClientArrival & Pick<LimitedRequest, "request" | "answer">,
): Promise<ClientResponse> {
  if (!rateLimit) return (await answer()).response;
  return answerWithinLimit(ports, {
    ...asked,
    answer,
    asked: { rateLimit, req, ip: readAddress(req), name },
  });
}

/** A preflight names no client, so it is answered by the origin alone. */
async function answerPreflight(parts: ServedParts, arrival: ClientArrival): Promise<ClientResponse> {
  const { req, issuer } = arrival;
  const { method = "", url = "/", headers } = req;
  const { origin } = headers;
  const refused = { kind: "empty", status: 204 } as const;
  if (origin === undefined) return refused;
  const answer = async (): Promise<ClientAnswer<ClientResponse>> => {
    const isKnown = await parts.ports.clients.isBrowserOrigin(origin);
    return {
      response: isKnown ? allowScripts(req, { origin, methods: "POST" }) : refused,
      clientId: undefined,
    };
  };
  const request = { issuer, method, url, headers, parameters: parseParameters("") };
  return answerIfAllowed(parts, { ...arrival, request, answer });
}

/** Two credentials in one request, of which Node shows only the first. */
function severalHeaders(): OAuthError {
  return new OAuthError("invalid_request", {
    description: "Use one client authentication method.",
    reason: "several Authorization headers (RFC 6749 §2.3): send one",
  });
}

async function answerForm(
  parts: ServedParts,
  { form, lookUpOrigin, ...arrival }: ClientArrival & Pick<FormRequest, "lookUpOrigin"> & { form: Form },
): Promise<ClientResponse> {
  const { ports } = parts;
  const { req, issuer, endpoint } = arrival;
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
  const request = { issuer, method, url, headers, parameters: form.parameters, malformed, lookUpOrigin };
  return answerIfAllowed(parts, {
    ...arrival,
    request,
    answer: () => answerClient(ports, { endpoint, request }),
  });
}

/** A route that browser clients' scripts also call. `Vary` keeps caches from giving one origin's answer to another. */
function crossOriginRoute(name: ClientEndpointName, endpoint: ClientEndpoint): Route<HttpRequest> {
  const post: RouteHandler<HttpRequest> = async (parts, { req, issuer }) => {
    const { origin } = req.headers;
    // what is said before anything is looked up says nothing of anybody: every script may read it
    let readers = origin === undefined ? undefined : "*";
    const lookUp = async (asking: string): Promise<void> =>
      void (readers = (await parts.ports.clients.isBrowserOrigin(asking)) ? asking : undefined);
    const lookUpOrigin = origin === undefined ? undefined : () => lookUp(origin);
    const form = await readForm(req);
    const response = await answerForm(parts, { req, issuer, name, endpoint, form, lookUpOrigin });
    if (readers === undefined) return response;
    // scripts see only a few headers unless they are named
    const cors = { "Access-Control-Allow-Origin": readers, "Access-Control-Expose-Headers": "Retry-After" };
    return { ...response, headers: { ...response.headers, ...cors } };
  };
  const headers = { Vary: "Origin" };
  const { refused } = endpoint;
  const preflight: RouteHandler<HttpRequest> = (parts, request) =>
    answerPreflight(parts, { ...request, name, endpoint });
  const methods = { POST: post, OPTIONS: preflight };
  return { endpoint: name, methods, failure: jsonError, headers, refused };
}

/** A route for confidential clients only: scripts in pages cannot keep a secret, so there is no CORS. */
function sameOriginRoute(name: ClientEndpointName, endpoint: ClientEndpoint): Route<HttpRequest> {
  const post: RouteHandler<HttpRequest> = async (parts, { req, issuer }) => {
    const form = await readForm(req);
    return answerForm(parts, { req, issuer, name, endpoint, form });
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
