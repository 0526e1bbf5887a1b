/** The documents at the root of an origin. RFC 8615, 8414 §3.1, 9728 §3.1. */
import type { Router } from "express";
import { type Issuer, serverMetadataUrl } from "../protocol/issuer";
import { protectedResourceMetadata } from "../protocol/protected-resource-metadata";
import { serverMetadata } from "../protocol/server-metadata";
import { directRouter } from "./direct-router";
import { answerDocument } from "./public-document";
import { readPath } from "./read-request";
import { writeResponse } from "./write-response";

/** URL → document. */
export type RootDocuments = ReadonlyMap<string, object>;

export function rootDocuments(issuers: readonly Issuer[], jwksUri: string): RootDocuments {
  const documents = new Map<string, object>();
  for (const issuer of issuers) {
    const [first = issuer, ...others] = issuers.filter(({ api }) => api === issuer.api);
    documents.set(serverMetadataUrl(issuer), serverMetadata(issuer, jwksUri));
    documents.set(issuer.api.metadataUrl, protectedResourceMetadata([first, ...others]));
  }
  return documents;
}

/** Serves the documents by their paths. Two APIs on different origins may have one path; the first one keeps it. */
export function createWellKnownRouter(documents: RootDocuments): Router {
  const byPath = new Map([...documents].toReversed().map(([url, body]) => [new URL(url).pathname, body]));
  return directRouter((req, res, next) => {
    const body = byPath.get(readPath(req));
    if (!body) return next();
    writeResponse({ req, res }, answerDocument(req.method, body));
  });
}
