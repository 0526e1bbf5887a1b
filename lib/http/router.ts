/** The router of all issuers. RFC 6749 §3.1, §3.2; 7009 §2; 7662 §2; 8414 §3; 7517 §5. */
import type { Request, Router } from "express";
import type { ProtocolResponse } from "../protocol/protocol-response";
import { clientRoutes } from "./client-route";
import { directRouter } from "./direct-router";
import type { ServeOptions } from "./exchange";
import { pageRoutes } from "./page-route";
import { placesOf } from "./places";
import { answerDocument } from "./public-document";
import { readPath } from "./read-request";
import { serve } from "./serve";
import { writeResponse } from "./write-response";

const names = new Set([...Object.keys(clientRoutes), ...Object.keys(pageRoutes)]);
const issuerPath = /^\/auth\/[^/]+\/api\/[^/]+\/(.+)$/;

const notFound: ProtocolResponse = {
  kind: "json",
  status: 404,
  body: { error: "not_found", error_description: "There is no authorization server at this address." },
};

/** What is not for the issuers goes on to the host's next handler. */
export function createRouter(options: ServeOptions): Router {
  const places = placesOf<Request>(options.issuers, { ...clientRoutes, ...pageRoutes });
  return directRouter((req, res, next) => {
    const path = readPath(req);
    const place = places.get(path);
    if (place) return void serve(options, { req, res, place }).catch(next);
    if (path === "/jwks") return writeResponse({ req, res }, answerDocument(req.method, options.jwks()));
    const name = issuerPath.exec(path)?.[1];
    if (name === undefined || !names.has(name)) return next();
    writeResponse({ req, res }, notFound);
  });
}
