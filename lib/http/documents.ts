/** How public documents are answered, to programs and to scripts in pages. RFC 8414 §3; 9728 §3; 9110 §15.5.6. */
import type { JsonResponse, ProtocolResponse } from "../protocol/protocol-response";
import { type HttpRequest, requestedHeaders } from "./request";

/** The answer to a method that the path does not have. @rfc 9110 §15.5.6 */
export function methodNotAllowed(allowed: readonly string[]): ProtocolResponse {
  return { kind: "empty", status: 405, headers: { Allow: allowed.join(", ") } };
}

/**
 * A document that anybody may read, also from a script that sends headers of its own (such as `MCP-Protocol-Version`), or the answer
 * to the preflight of such a script. Fetch standard, CORS-preflight request.
 */
export function answerDocument(req: HttpRequest, document: JsonResponse): ProtocolResponse {
  switch (req.method) {
    case "GET":
    case "HEAD":
      return document;
    case "OPTIONS": {
      const names = requestedHeaders(req);
      const headers = {
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Allow-Methods": "GET, HEAD",
        ...(names !== undefined && { "Access-Control-Allow-Headers": names }),
        "Access-Control-Max-Age": "600",
      };
      return { kind: "empty", status: 204, headers };
    }
    default:
      return methodNotAllowed(["GET", "HEAD", "OPTIONS"]);
  }
}
