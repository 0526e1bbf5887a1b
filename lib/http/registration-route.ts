/** The route at which clients register. Loaded only where an API has one. RFC 7591 §3; Fetch standard (CORS). */
import {
  registrationEndpoint,
  type RegistrationPorts,
  type RegistrationRequest,
} from "../endpoints/registration";
import { OAuthError } from "../protocol/oauth-error";
import { jsonError, type JsonResponse } from "../protocol/protocol-response";
import { allowScripts } from "./documents";
import { jsonProblem, readJson } from "./json-body";
import { hasSeveralAuthorizationHeaders, type HttpRequest } from "./request";
import type { Route, RoutedRequest, RouteHandler } from "./routes";

async function readMessage(
  req: HttpRequest,
): Promise<{ message: RegistrationRequest["message"]; isTooLarge: boolean }> {
  const body = await readJson(req);
  if (body.kind !== "json") {
    const message = { kind: "unreadable", error: jsonProblem(body) } as const;
    return { message, isTooLarge: body.kind === "too-large" };
  }
  if (!hasSeveralAuthorizationHeaders(req)) return { message: body, isTooLarge: false };
  // the host would see only the first of them
  const error = new OAuthError("invalid_request", { description: "Send one Authorization header." });
  return { message: { kind: "unreadable", error }, isTooLarge: false };
}

async function answer(
  ports: RegistrationPorts,
  { req, issuer }: RoutedRequest<HttpRequest>,
): Promise<JsonResponse> {
  const { message, isTooLarge } = await readMessage(req);
  const response = await registrationEndpoint(ports, { issuer, req, message });
  if (!isTooLarge) return response;
  // the rest of the body may still be on its way: closing the connection ends it
  return { ...response, status: 413, headers: { Connection: "close" } };
}

/** The route of one API. Only scripts of the origins that the host has listed for it may call it. */
export function registrationRoute(ports: RegistrationPorts): Route<HttpRequest> {
  const { browserOrigins } = ports.adapter;
  function corsHeaders({ headers: { origin } }: HttpRequest): Readonly<Record<string, string>> | undefined {
    return origin !== undefined && browserOrigins?.includes(origin)
      ? { "Access-Control-Allow-Origin": origin }
      : undefined;
  }
  const post: RouteHandler<HttpRequest> = async (_, request) => {
    const response = await answer(ports, request);
    const cors = corsHeaders(request.req);
    // scripts see only a few headers unless they are named
    const exposed = { "Access-Control-Expose-Headers": "Retry-After" };
    return cors ? { ...response, headers: { ...response.headers, ...cors, ...exposed } } : response;
  };
  const preflight: RouteHandler<HttpRequest> = async (_, { req }) => {
    const origin = corsHeaders(req)?.["Access-Control-Allow-Origin"];
    return origin === undefined
      ? { kind: "empty", status: 204 }
      : allowScripts(req, { origin, methods: "POST" });
  };
  const methods = { POST: post, OPTIONS: preflight };
  return { endpoint: "registration", methods, failure: jsonError, headers: { Vary: "Origin" } };
}
