/** The routes, and from HTTP to the endpoints. RFC 6749 §3.1, §3.2; Fetch standard (CORS). */
import { Router, type NextFunction, type Request, type Response } from "express";
import { tokenEndpoint, type TokenEndpointContext } from "../endpoints/token";
import type { AuthorizationFlow } from "../interaction/authorization-flow";
import type { Issuer } from "../protocol/issuer";
import { OAuthError, serverError } from "../protocol/oauth-error";
import { errorPage, jsonError, type ProtocolResponse } from "../protocol/protocol-response";
import { type Form, hasSeveralAuthorizationHeaders, readForm, readPath, readQuery } from "./read-request";
import { writeResponse } from "./write-response";

export interface RouterOptions {
  readonly context: TokenEndpointContext;
  readonly flow: AuthorizationFlow;
  readonly findIssuer: (authMethodId: string, apiId: string) => Issuer | undefined;
}

interface Exchange {
  readonly req: Request;
  readonly res: Response;
  readonly issuer: Issuer;
}

type Endpoint = (options: RouterOptions, exchange: Exchange) => Promise<ProtocolResponse>;

interface Endpoints {
  /** Method → what it does; any other method is 405. */
  readonly methods: Readonly<Record<string, Endpoint>>;
  /** How people or programs are told of a failure. */
  readonly failure: (error: OAuthError) => ProtocolResponse;
}

const empty: Endpoint = async () => ({ kind: "empty", status: 200 });

const formProblems: Readonly<Record<Exclude<Form["kind"], "form">, string>> = {
  "too-large": "The body is too large.",
  "not-utf8": "A parameter is repeated or is not UTF-8 text.",
  "wrong-media-type": "The body must be application/x-www-form-urlencoded, without a content encoding.",
};

function formProblem({ kind }: Exclude<Form, { kind: "form" }>): OAuthError {
  return new OAuthError("invalid_request", { description: formProblems[kind] });
}

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

const token: Endpoint = async (options, exchange) => {
  const { req, res, issuer } = exchange;
  await setCorsHeaders(options, exchange);
  const form = await readForm(req);
  if (form.kind !== "form") {
    if (form.kind === "too-large") res.setHeader("Connection", "close");
    const refusal = jsonError(formProblem(form));
    return form.kind === "too-large" ? { ...refusal, status: 413 } : refusal;
  }
  if (hasSeveralAuthorizationHeaders(req)) {
    return jsonError(
      new OAuthError("invalid_request", { description: "Use one client authentication method." }),
    );
  }
  return tokenEndpoint(options.context, {
    issuer,
    parameters: form.parameters,
    urlParameters: readQuery(req),
    authorizationHeader: req.headers.authorization,
  });
};

const submitConsent: Endpoint = async ({ flow }, { req, issuer }) => {
  const form = await readForm(req);
  if (form.kind !== "form") return errorPage(formProblem(form));
  return flow.submitConsent(req, { issuer, form: form.parameters });
};

const endpointsByPath: Readonly<Record<string, Endpoints>> = {
  authorize: {
    methods: {
      GET: ({ flow }, { req, issuer }) => flow.start(req, { issuer, parameters: readQuery(req) }),
      // a link checker's HEAD must not use up anything, so it learns nothing either
      HEAD: empty,
    },
    failure: errorPage,
  },
  "authorize/resume": {
    methods: {
      GET: ({ flow }, { req, issuer }) =>
        flow.resume(req, { issuer, interactionId: readQuery(req).get("interaction") }),
      HEAD: empty,
    },
    failure: errorPage,
  },
  "authorize/consent": { methods: { POST: submitConsent }, failure: errorPage },
  token: { methods: { POST: token, OPTIONS: preflight }, failure: jsonError },
};

const route = /^\/auth\/([^/]+)\/api\/([^/]+)\/(.+)$/;

const notFound: ProtocolResponse = {
  kind: "json",
  status: 404,
  body: { error: "not_found", error_description: "There is no authorization server at this address." },
};

async function answer(
  options: RouterOptions,
  {
    req,
    res,
    endpoints,
    issuer,
  }: { req: Request; res: Response; endpoints: Endpoints; issuer: Issuer | undefined },
): Promise<ProtocolResponse> {
  if (!issuer) return notFound;
  const { methods, failure } = endpoints;
  const endpoint = methods[req.method];
  if (!endpoint) return { kind: "empty", status: 405, headers: { Allow: Object.keys(methods).join(", ") } };
  try {
    return await endpoint(options, { req, res, issuer });
  } catch (cause) {
    // a client that went away while it was sending is nobody's fault
    if (!req.readableAborted)
      options.context.emit({ kind: "server-error", issuer: issuer.identifier, cause });
    return failure(serverError(cause));
  }
}

/** The router of all issuers. What is not theirs goes on to the host's next handler. */
export function createRouter(options: RouterOptions): Router {
  const router = Router();
  router.use((req: Request, res: Response, next: NextFunction) => {
    const [, authMethodId = "", apiId = "", path = ""] = route.exec(readPath(req)) ?? [];
    const endpoints = Object.hasOwn(endpointsByPath, path) ? endpointsByPath[path] : undefined;
    if (!endpoints) return next();
    const issuer = options.findIssuer(authMethodId, apiId);
    answer(options, { req, res, endpoints, issuer })
      .then((response) => writeResponse({ req, res }, response))
      .catch(next);
  });
  return router;
}
