/** How public documents are answered, to programs and to scripts in pages. RFC 8414 §3; 9728 §3; 9110 §15.5.6. */
import type { EmptyResponse, JsonResponse, ProtocolResponse } from "../protocol/protocol-response";
import { type HttpRequest, requestedHeaders } from "./request";

/** The answer to a method that the path does not have. @rfc 9110 §15.5.6 */
export function methodNotAllowed(allowed: readonly string[]): ProtocolResponse {
  return { kind: "empty", status: 405, headers: { Allow: allowed.join(", ") } };
}

/**
 * Lets scripts of this origin send the request that a preflight asks about, with the headers that it names and never with credentials.
 * Fetch standard, CORS-preflight request.
 */
export function allowScripts(
  req: HttpRequest,
  { origin, methods }: { origin: string; methods: string },
): EmptyResponse {
  const names = requestedHeaders(req);
  const headers = {
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Methods": methods,
    ...(names !== undefined && { "Access-Control-Allow-Headers": names }),
    "Access-Control-Max-Age": "600",
  };
  return { kind: "empty", status: 204, headers };
}

/**
 * A document that anybody may read, also from a script that sends headers of its own (such as `MCP-Protocol-Version`), or the answer
 * to the preflight of such a script.
 */
export function answerDocument(req: HttpRequest, document: JsonResponse): ProtocolResponse {
  switch (req.method) {
    case "GET":
    case "HEAD":
      return document;
    case "OPTIONS":
      return allowScripts(req, { origin: "*", methods: "GET, HEAD" });
    default:
      return methodNotAllowed(["GET", "HEAD", "OPTIONS"]);
  }
}
