/** The routes, and from HTTP to the endpoints. RFC 6749 §3.1, §3.2; 7009 §2; 7662 §2; 8414 §3; 7517 §5. */
import { Router, type NextFunction, type Request, type Response } from "express";
import { introspectionEndpoint } from "../endpoints/introspection";
import { revocationEndpoint } from "../endpoints/revocation";
import { tokenEndpoint } from "../endpoints/token";
import type { Issuer } from "../protocol/issuer";
import { serverError } from "../protocol/oauth-error";
import { errorPage, jsonError, type ProtocolResponse } from "../protocol/protocol-response";
import { serverMetadata } from "../protocol/server-metadata";
import { clientRoute, crossOriginClientRoute } from "./client-route";
import { type Endpoint, formProblem, methodNotAllowed, type Route, type RouterOptions } from "./exchange";
import { answerDocument, publicDocument } from "./public-document";
import { readForm, readPath, readQuery } from "./read-request";
import { writeResponse } from "./write-response";

// a link checker's HEAD must not use up anything, so it learns nothing either
const empty: Endpoint = async () => ({ kind: "empty", status: 200 });

const authorize: Endpoint = ({ flow }, { req, issuer }) =>
  flow.start(req, { issuer, parameters: readQuery(req) });

const resume: Endpoint = ({ flow }, { req, issuer }) =>
  flow.resume(req, { issuer, interactionId: readQuery(req).get("interaction") });

const submitConsent: Endpoint = async ({ flow }, { req, issuer }) => {
  const form = await readForm(req);
  if (form.kind !== "form") return errorPage(formProblem(form));
  return flow.submitConsent(req, { issuer, form: form.parameters });
};

const metadata: Endpoint = async ({ jwksUri }, { issuer }) => publicDocument(serverMetadata(issuer, jwksUri));

const routes: Readonly<Record<string, Route>> = {
  authorize: { methods: { GET: authorize, HEAD: empty }, failure: errorPage },
  "authorize/resume": { methods: { GET: resume, HEAD: empty }, failure: errorPage },
  "authorize/consent": { methods: { POST: submitConsent }, failure: errorPage },
  token: crossOriginClientRoute(tokenEndpoint),
  revoke: crossOriginClientRoute(revocationEndpoint),
  introspect: clientRoute(introspectionEndpoint),
  ".well-known/oauth-authorization-server": {
    methods: { GET: metadata, HEAD: metadata },
    failure: jsonError,
  },
};

const issuerPath = /^\/auth\/([^/]+)\/api\/([^/]+)\/(.+)$/;

const notFound: ProtocolResponse = {
  kind: "json",
  status: 404,
  body: { error: "not_found", error_description: "There is no authorization server at this address." },
};

async function answer(
  options: RouterOptions,
  { req, res, route, issuer }: { req: Request; res: Response; route: Route; issuer: Issuer | undefined },
): Promise<ProtocolResponse> {
  if (!issuer) return notFound;
  const endpoint = route.methods[req.method];
  if (!endpoint) return methodNotAllowed(route.methods);
  try {
    return await endpoint(options, { req, res, issuer });
  } catch (cause) {
    // a client that went away while it was sending is nobody's fault
    if (!req.readableAborted)
      options.context.emit({ kind: "server-error", issuer: issuer.identifier, cause });
    return route.failure(serverError(cause));
  }
}

/** The router of all issuers. What is not theirs goes on to the host's next handler. */
export function createRouter(options: RouterOptions): Router {
  const { pages } = options;
  const router = Router();
  router.use((req: Request, res: Response, next: NextFunction) => {
    const path = readPath(req);
    if (path === "/jwks") return writeResponse({ req, res }, answerDocument(req.method, options.jwks()));
    const [, authMethodId = "", apiId = "", name = ""] = issuerPath.exec(path) ?? [];
    const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
    if (!route) return next();
    answer(options, { req, res, route, issuer: options.findIssuer(authMethodId, apiId) })
      .then((response) => writeResponse({ req, res, pages }, response))
      .catch(next);
  });
  return router;
}
