/** The routes that a client calls by itself. RFC 6749 §3.2, 7009 §2, 7662 §2, 8414 §3; Fetch standard (CORS). */
import { answerClient, type ClientEndpoint } from "../endpoints/client-request";
import { introspectionEndpoint } from "../endpoints/introspection";
import { revocationEndpoint } from "../endpoints/revocation";
import { tokenEndpoint } from "../endpoints/token";
import { OAuthError } from "../protocol/oauth-error";
import { jsonError, type JsonResponse } from "../protocol/protocol-response";
import { serverMetadata } from "../protocol/server-metadata";
import {
  type Endpoint,
  type Exchange,
  formProblem,
  type HttpRequest,
  type Route,
  type ServeOptions,
} from "./exchange";
import { publicDocument } from "./public-document";
import { hasSeveralAuthorizationHeaders, readForm, readQuery } from "./read-request";

/** Lets the scripts of registered browser clients read the answer, and no others; never with credentials. */
async function corsHeaders(
  { context }: ServeOptions,
  { headers: { origin } }: HttpRequest,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (origin === undefined || !(await context.storage.clients.isBrowserOrigin(origin))) return undefined;
  return { "Access-Control-Allow-Origin": origin };
}

const preflight: Endpoint<HttpRequest> = async (options, { req }) => {
  const cors = await corsHeaders(options, req);
  if (!cors) return { kind: "empty", status: 204 };
  const headers = {
    ...cors,
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "600",
  };
  return { kind: "empty", status: 204, headers };
};

async function answerForm(
  { context }: ServeOptions,
  { endpoint, exchange }: { endpoint: ClientEndpoint; exchange: Exchange<HttpRequest> },
): Promise<JsonResponse> {
  const { req, issuer } = exchange;
  const form = await readForm(req);
  if (form.kind === "too-large") {
    return { ...jsonError(formProblem(form), { Connection: "close" }), status: 413 };
  }
  if (form.kind !== "form") return jsonError(formProblem(form));
  if (hasSeveralAuthorizationHeaders(req)) {
    return jsonError(
      new OAuthError("invalid_request", {
        description: "Use one client authentication method.",
        reason: "several Authorization headers (RFC 6749 §2.3): send one",
      }),
    );
  }
  const { parameters } = form;
  const authorizationHeader = req.headers.authorization;
  const request = { issuer, parameters, urlParameters: readQuery(req), authorizationHeader };
  return answerClient(context, { endpoint, request });
}

/** A route that the scripts of browser clients use as well. */
function crossOriginRoute(endpoint: ClientEndpoint): Route<HttpRequest> {
  const post: Endpoint<HttpRequest> = async (options, exchange) => {
    const cors = await corsHeaders(options, exchange.req);
    const response = await answerForm(options, { endpoint, exchange });
    return cors ? { ...response, headers: { ...response.headers, ...cors } } : response;
  };
  return { methods: { POST: post, OPTIONS: preflight }, failure: jsonError, headers: { Vary: "Origin" } };
}

/** A route for confidential clients only: no script of a page has business there. */
function sameOriginRoute(endpoint: ClientEndpoint): Route<HttpRequest> {
  const post: Endpoint<HttpRequest> = (options, exchange) => answerForm(options, { endpoint, exchange });
  return { methods: { POST: post }, failure: jsonError };
}

const metadata: Endpoint<HttpRequest> = async ({ jwksUri }, { issuer }) =>
  publicDocument(serverMetadata(issuer, jwksUri));

/** Name of the endpoint → its route. */
export const clientRoutes: Readonly<Record<string, Route<HttpRequest>>> = {
  token: crossOriginRoute(tokenEndpoint),
  revoke: crossOriginRoute(revocationEndpoint),
  introspect: sameOriginRoute(introspectionEndpoint),
  ".well-known/oauth-authorization-server": {
    methods: { GET: metadata, HEAD: metadata },
    failure: jsonError,
  },
};
