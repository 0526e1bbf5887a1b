/** Routing: in Express, at an origin's root, in front of an app. RFC 6749 §3, 8414 §3.1, 9110 §15.5.6, 9728 §3.1. */
import type { RequestListener, ServerResponse } from "node:http";
import { type Request, type RequestHandler, Router } from "express";
import type { RootDocuments } from "../endpoints/documents";
import { endpoints, type Issuer } from "../protocol/issuer";
import { endpointReasons } from "../endpoints/client-endpoint";
import { because, serverError } from "../protocol/oauth-error";
import { type JsonResponse, methodNotAllowed, type ProtocolResponse } from "../protocol/protocol-response";
import { answerDocument } from "./cors";
import type { MountCheck } from "./mount-check";
import { type HttpRequest, readPath } from "./request";
import { type OpenTrace, tracedRequests, traceRequest } from "./request-trace";
import { writeResponse } from "./response";
import { clientRoutes, pageRoutes, type Route, type ServedParts } from "./routes";

/** What the routers use to answer. */
export interface RouterParts extends ServedParts {
  /** Every issuer of the server. */
  readonly issuers: readonly Issuer[];
  /** The path of `baseUrl`, without a trailing slash. */
  readonly mountPath: string;
  /** The current key set. */
  readonly keySet: () => JsonResponse;
  /** The routes for clients that only some APIs have, where one of them has it. */
  readonly someRoutes: readonly Route<HttpRequest>[];
  /** The same for the routes that browsers visit. They take the place of others with their path. */
  readonly somePageRoutes: readonly Route<Request>[];
  /** The page for devices; `undefined` where no API has `deviceAuthorization`. */
  readonly deviceRoute: Route<Request, undefined> | undefined;
}

/** A route at one issuer, or at none. */
interface Place<Req extends HttpRequest, At extends Issuer | undefined = Issuer> {
  readonly route: Route<Req, At>;
  readonly issuer: At;
  /** Its path with the names of the parameters, the same string for all issuers. */
  readonly template: string;
}

/** Path below the mount point → the route and its issuer: one look-up, however many issuers there are. */
function placesOf<Req extends HttpRequest>(
  { issuers, mountPath, someRoutes }: RouterParts,
  routes: readonly Route<Req>[],
): ReadonlyMap<string, Place<Req>> {
  const entries = [...routes, ...someRoutes].flatMap((route) => {
    const template = `${mountPath}/auth/:authMethodId/api/:apiId/${route.path}`;
    const having = issuers.filter((issuer) => !route.on || route.on(issuer));
    return having.map((issuer) => {
      const path = `/auth/${issuer.authMethodId}/api/${issuer.api.apiId}/${route.path}`;
      return [path, { route, issuer, template }] as const;
    });
  });
  return new Map(entries);
}

/** Tells the host why a client that used another method was refused. Many clients send the parameters by GET first. */
function reportMethod<Req extends HttpRequest, At extends Issuer | undefined>(
  { ports }: ServedParts,
  { route: { refused }, issuer }: Place<Req, At>,
): void {
  if (!refused || !issuer) return;
  ports.emit({
    kind: refused,
    issuer: issuer.identifier,
    error: "invalid_request",
    ...because(endpointReasons, "method-not-post"),
  });
}

/** A request for a known path. */
interface Arrival<Req extends HttpRequest, At extends Issuer | undefined> {
  readonly req: Req;
  readonly res: ServerResponse;
  readonly place: Place<Req, At>;
  readonly trace?: OpenTrace;
}

function openTrace<Req extends HttpRequest, At extends Issuer | undefined>({
  req,
  place,
}: Arrival<Req, At>): OpenTrace {
  const { route, issuer, template } = place;
  return {
    endpoint: route.endpoint,
    method: req.method ?? "",
    route: template,
    ...(issuer && { issuer: issuer.identifier, apiId: issuer.api.apiId }),
  };
}

/**
 * Answers a request for a known path, and tells those who watch requests. Never rejects because of a handler: failures become the route's
 * own error answer.
 */
async function serve<Req extends HttpRequest, At extends Issuer | undefined>(
  parts: ServedParts,
  arrival: Arrival<Req, At>,
): Promise<void> {
  const { req, res, place, trace } = arrival;
  if (tracedRequests.hasSubscribers && !trace)
    return traceRequest(openTrace(arrival), (opened) => serve(parts, { ...arrival, trace: opened }));
  const { route, issuer } = place;
  const handler = route.methods[req.method ?? ""];
  if (!handler) reportMethod(parts, place);
  let response: ProtocolResponse;
  try {
    response = handler ? await handler(parts, { req, issuer }) : methodNotAllowed(Object.keys(route.methods));
  } catch (cause) {
    // no event for a client that disconnected while it was sending: neither the host nor storage has failed
    if (!req.readableAborted)
      parts.ports.emit({ kind: "server-error", ...(issuer && { issuer: issuer.identifier }), cause });
    response = route.failure(serverError(cause));
  }
  writeResponse({ req, res, pages: parts.pages, headers: route.headers, trace }, response);
}

/** Answers a request for a document that is at hand. */
function serveDocument(
  destination: { readonly req: Request; readonly res: ServerResponse },
  { document, ...asked }: { document: JsonResponse; endpoint: "keys" | "metadata"; route: string },
): Promise<void> | undefined {
  const { req } = destination;
  const response = answerDocument(req, document);
  if (!tracedRequests.hasSubscribers) {
    writeResponse(destination, response);
    return undefined;
  }
  return traceRequest({ ...asked, method: req.method }, async (trace) =>
    writeResponse({ ...destination, trace }, response),
  );
}

/**
 * A Router that answers before it walks through its layers. When no layer of a Router answers, Express passes the request on in a
 * later turn of the event loop, and most requests of a host are not for this library. Layers that the host adds come afterwards.
 */
function directRouter(handler: RequestHandler): Router {
  const router = Router().use(handler) as Router & { handle: RequestHandler };
  const walk = router.handle.bind(router);
  // one layer is this library's own; with more, the host has added some and they must be walked through
  router.handle = (req, res, next) => (router.stack.length > 1 ? walk : handler)(req, res, next);
  return router;
}

const routePaths = new Set(
  [...clientRoutes, ...pageRoutes, ...Object.values(endpoints)].map(({ path }) => path),
);
const issuerPath = /^\/auth\/[^/]+\/api\/[^/]+\/(.+)$/;

const notFound: ProtocolResponse = {
  kind: "json",
  status: 404,
  body: { error: "not_found", error_description: "There is no authorization server at this address." },
};

/**
 * True where a request has matched the mount path in another case. Express mounts without case, and so a rule by path in a proxy could be
 * walked around. A proxy may have removed the beginning of the path.
 */
function isInOtherCase(matched: string, mountPath: string): boolean {
  const written = mountPath.slice(-matched.length);
  return matched !== written && matched.toLowerCase() === written.toLowerCase();
}

/**
 * The router of all issuers. Requests that are not for them go on to the host's next handler.
 *
 * @param check looks at how the router is mounted, in development.
 */
export function createRouter(parts: RouterParts, check?: MountCheck): Router {
  const places = placesOf<Request>(parts, [...clientRoutes, ...pageRoutes, ...parts.somePageRoutes]);
  const keys = { endpoint: "keys", route: new URL(parts.jwksUri).pathname } as const;
  const { deviceRoute: route, mountPath } = parts;
  const device = route && { route, issuer: undefined, template: `${mountPath}/${route.path}` };
  return directRouter((req, res, next) => {
    check?.atRouter(req);
    if (req.baseUrl !== parts.mountPath && isInOtherCase(req.baseUrl, parts.mountPath)) return next();
    const path = readPath(req);
    const place = places.get(path);
    if (place) return void serve(parts, { req, res, place }).catch(next);
    if (path === "/jwks")
      return void serveDocument({ req, res }, { ...keys, document: parts.keySet() })?.catch(next);
    if (device && path === "/device") return void serve(parts, { req, res, place: device }).catch(next);
    // a pair that is not valid gets an OAuth answer, not the host's page: client developers see what is wrong
    const name = issuerPath.exec(path)?.[1];
    if (name === undefined || !routePaths.has(name)) return next();
    writeResponse({ req, res }, notFound);
  });
}

/** Serves the documents by their paths. Two APIs on different origins may share a path; then the first one is served. */
export function createWellKnownRouter(documents: RootDocuments, check?: MountCheck): Router {
  const byPath = new Map(
    [...documents].toReversed().map(([url, document]) => [new URL(url).pathname, document]),
  );
  return directRouter((req, res, next) => {
    check?.atWellKnown(req, res);
    const route = readPath(req);
    const document = byPath.get(route);
    if (!document) return next();
    serveDocument({ req, res }, { endpoint: "metadata", route, document })?.catch(next);
  });
}

/**
 * A listener that answers the endpoints for clients itself and passes everything else to the app. The authorization endpoint is
 * passed on too: it needs the host's sessions, which the app's middleware reads.
 */
export function listenInFront(parts: RouterParts, app: RequestListener): RequestListener {
  const { mountPath } = parts;
  const places = placesOf(parts, clientRoutes);
  return (req, res) => {
    const path = readPath(req);
    const place = path.startsWith(mountPath) ? places.get(path.slice(mountPath.length)) : undefined;
    if (!place) return app(req, res);
    serve(parts, { req, res, place }).catch(() => res.destroy());
  };
}
