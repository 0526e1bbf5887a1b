/** From HTTP to the endpoints and back. RFC 9110 §15.5.6. */
import type { ServerResponse } from "node:http";
import { serverError } from "../protocol/oauth-error";
import type { ProtocolResponse } from "../protocol/protocol-response";
import { type HttpRequest, methodNotAllowed, type ServeOptions } from "./exchange";
import type { Place } from "./places";
import { writeResponse } from "./write-response";

/** A request for a place. */
interface Visit<Req extends HttpRequest> {
  readonly req: Req;
  readonly res: ServerResponse;
  readonly place: Place<Req>;
}

async function answer<Req extends HttpRequest>(
  options: ServeOptions,
  { req, res, place: { route, issuer } }: Visit<Req>,
): Promise<ProtocolResponse> {
  const endpoint = route.methods[req.method ?? ""];
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

/** Answers a request for a place. */
export async function serve<Req extends HttpRequest>(
  options: ServeOptions,
  visit: Visit<Req>,
): Promise<void> {
  const response = await answer(options, visit);
  const { req, res, place } = visit;
  writeResponse({ req, res, pages: options.pages, headers: place.route.headers }, response);
}
