/** The route at which clients register. Loaded only where an API has one. RFC 7591 §3; Fetch standard (CORS). */
import {
  registrationEndpoint,
  type RegistrationPorts,
  type RegistrationRequest,
} from "../endpoints/registration";
import type { ClientRegistrationAdapter } from "../clients/port";
import { endpoints, type Issuer } from "../protocol/issuer";
import { because, OAuthError } from "../protocol/oauth-error";
import { jsonError, type JsonResponse, tooLarge } from "../protocol/protocol-response";
import { answerPreflight, readableBy, varyByOrigin } from "./cors";
import { jsonProblem, readJson } from "./json-body";
import { headerValues, httpReasons, type HttpRequest } from "./request";
import type { Route, RoutedRequest, RouteHandler } from "./routes";

async function readMessage(
  req: HttpRequest,
): Promise<{ message: RegistrationRequest["message"]; isTooLarge: boolean }> {
  const body = await readJson(req);
  if (body.kind !== "json") {
    const message = { kind: "unreadable", error: jsonProblem(body) } as const;
    return { message, isTooLarge: body.kind === "too-large" };
  }
  if (headerValues(req, "authorization").length <= 1) return { message: body, isTooLarge: false };
  // the host would see only the first of them
  const error = new OAuthError("invalid_request", {
    description: "Send one Authorization header.",
    ...because(httpReasons, "several-authorization-headers"),
  });
  return { message: { kind: "unreadable", error }, isTooLarge: false };
}

async function answer(
  ports: RegistrationPorts,
  { req, issuer }: RoutedRequest<HttpRequest>,
): Promise<JsonResponse> {
  const { message, isTooLarge } = await readMessage(req);
  const response = await registrationEndpoint(ports, { issuer, req, message });
  return isTooLarge ? tooLarge(response) : response;
}

/** The route, for the APIs with these adapters. Only scripts of the origins that the host has listed for an API may call it there. */
export function registrationRoute(
  ports: Omit<RegistrationPorts, "adapter">,
  adapters: ReadonlyMap<string, ClientRegistrationAdapter>,
): Route<HttpRequest> {
  // the route is only where the API has an adapter
  const adapterOf = ({ api }: Issuer): ClientRegistrationAdapter =>
    adapters.get(api.apiId) as ClientRegistrationAdapter;
  const allowedOrigin = ({ req, issuer }: RoutedRequest<HttpRequest>): string | undefined =>
    adapterOf(issuer).browserOrigins?.find((allowed) => allowed === req.headers.origin);
  const post: RouteHandler<HttpRequest> = async (_, request) =>
    readableBy(
      allowedOrigin(request),
      await answer({ ...ports, adapter: adapterOf(request.issuer) }, request),
    );
  const preflight: RouteHandler<HttpRequest> = async (_, request) =>
    answerPreflight(request.req, { origin: allowedOrigin(request) });
  const methods = { POST: post, OPTIONS: preflight };
  return {
    ...endpoints.registration,
    endpoint: "registration",
    methods,
    failure: jsonError,
    headers: varyByOrigin,
  };
}
