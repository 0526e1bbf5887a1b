/** The documents at the root of an origin. RFC 8615, 9728 §3. */
import { Router, type NextFunction, type Request, type Response } from "express";
import type { Issuer } from "../protocol/issuer";
import { protectedResourceMetadata } from "../protocol/protected-resource-metadata";
import type { ProtocolResponse } from "../protocol/protocol-response";
import { readPath } from "./read-request";
import { writeResponse } from "./write-response";

/** Path → document. Two APIs on different origins may have one path; the first one keeps it. */
function documentsByPath(issuers: readonly Issuer[]): ReadonlyMap<string, object> {
  const documents = new Map<string, object>();
  for (const issuer of issuers) {
    const path = new URL(issuer.api.metadataUrl).pathname;
    const [first = issuer, ...others] = issuers.filter(({ api }) => api === issuer.api);
    if (!documents.has(path)) documents.set(path, protectedResourceMetadata([first, ...others]));
  }
  return documents;
}

export function createWellKnownRouter(issuers: readonly Issuer[]): Router {
  const documents = documentsByPath(issuers);
  const router = Router();
  router.use((req: Request, res: Response, next: NextFunction) => {
    const body = documents.get(readPath(req));
    if (!body) return next();
    const response: ProtocolResponse =
      req.method === "GET" || req.method === "HEAD"
        ? { kind: "json", status: 200, body, headers: { "Access-Control-Allow-Origin": "*" } }
        : { kind: "empty", status: 405, headers: { Allow: "GET, HEAD" } };
    writeResponse({ req, res }, response);
  });
  return router;
}
