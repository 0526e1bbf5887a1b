/** The routes that a client calls by itself, with a form. RFC 6749 §3.2, 7009 §2, 7662 §2; Fetch standard (CORS). */
import { answerClient, type ClientEndpoint } from "../endpoints/client-request";
import { OAuthError } from "../protocol/oauth-error";
import { jsonError } from "../protocol/protocol-response";
import { type Endpoint, type Exchange, formProblem, type Route, type RouterOptions } from "./exchange";
import { hasSeveralAuthorizationHeaders, readForm, readQuery } from "./read-request";

/** Lets the scripts of registered browser clients read the answer, and no others; never with credentials. */
async function setCorsHeaders({ context }: RouterOptions, { req, res }: Exchange): Promise<boolean> {
  res.vary("Origin");
  const { origin } = req.headers;
  if (origin === undefined || !(await context.storage.clients.isBrowserOrigin(origin))) return false;
  res.setHeader("Access-Control-Allow-Origin", origin);
  return true;
}

const preflight: Endpoint = async (options, exchange) => {
  if (!(await setCorsHeaders(options, exchange))) return { kind: "empty", status: 204 };
  const headers = {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "600",
  };
  return { kind: "empty", status: 204, headers };
};

function post(endpoint: ClientEndpoint): Endpoint {
  return async ({ context }, { req, res, issuer }) => {
    const form = await readForm(req);
    if (form.kind !== "form") {
      const refusal = jsonError(formProblem(form));
      if (form.kind !== "too-large") return refusal;
      res.setHeader("Connection", "close");
      return { ...refusal, status: 413 };
    }
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
  };
}

/** A route for confidential clients only: no script of a page has business there. */
export function clientRoute(endpoint: ClientEndpoint): Route {
  return { methods: { POST: post(endpoint) }, failure: jsonError };
}

/** A route that the scripts of browser clients use as well. */
export function crossOriginClientRoute(endpoint: ClientEndpoint): Route {
  const answer = post(endpoint);
  const postWithCors: Endpoint = async (options, exchange) => {
    await setCorsHeaders(options, exchange);
    return answer(options, exchange);
  };
  return { methods: { POST: postWithCors, OPTIONS: preflight }, failure: jsonError };
}
