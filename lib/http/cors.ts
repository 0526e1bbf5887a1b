/** What scripts of pages may send and read, and the documents that all of them may. Fetch standard (CORS); RFC 8414 §3; 9728 §3. */
import {
  type EmptyResponse,
  type JsonResponse,
  methodNotAllowed,
  type ProtocolResponse,
} from "../protocol/protocol-response";
import type { Api } from "../protocol/issuer";
import type { HttpRequest } from "./request";

/** Header of a route that answers the scripts of some origins only: it keeps caches from giving one origin's answer to another. */
export const varyByOrigin: Readonly<Record<string, string>> = { Vary: "Origin" };

/**
 * The header names that a preflight asks for, or `undefined` when there are none or they are not names. They are reflected where anyone may
 * read the answer: `*` would do as well, but older browsers do not know it.
 */
function requestedHeaders({ headers }: HttpRequest): string | undefined {
  const names = headers["access-control-request-headers"];
  return names !== undefined && /^[\w-]+(?:[ \t]*,[ \t]*[\w-]+)*$/.test(names) && names.length <= 1_000
    ? names
    : undefined;
}

/**
 * Lets scripts of this origin send the request that a preflight asks about, with the headers that it names and never with credentials.
 * `undefined` allows none.
 */
export function answerPreflight(
  req: HttpRequest,
  { origin, methods = "POST" }: { origin: string | undefined; methods?: string },
): EmptyResponse {
  if (origin === undefined) return { kind: "empty", status: 204 };
  const names = requestedHeaders(req);
  const headers = {
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Methods": methods,
    ...(names !== undefined && { "Access-Control-Allow-Headers": names }),
    "Access-Control-Max-Age": "600",
  };
  return { kind: "empty", status: 204, headers };
}

/** The same answer, which scripts of this origin may read; none for `undefined`. They see only a few headers unless they are named. */
export function readableBy<Response extends JsonResponse | EmptyResponse>(
  origin: string | undefined,
  response: Response,
): Response {
  if (origin === undefined) return response;
  const cors = { "Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": "Retry-After" };
  return { ...response, headers: { ...response.headers, ...cors } };
}

const exposedWithKeys = { "Access-Control-Expose-Headers": "Retry-After, DPoP-Nonce, WWW-Authenticate" };

/** The same answer of an API. Where its tokens are bound to keys, scripts need to see more of it. @rfc 9449 §8.2 */
export function exposedBy<Response extends JsonResponse | EmptyResponse>(
  { dpop }: Pick<Api, "dpop">,
  response: Response,
): Response {
  return dpop ? { ...response, headers: { ...response.headers, ...exposedWithKeys } } : response;
}

/**
 * A document that anyone may read, also a script that adds headers (such as `MCP-Protocol-Version`), or the answer to the preflight of such
 * a script.
 */
export function answerDocument(req: HttpRequest, document: JsonResponse): ProtocolResponse {
  switch (req.method) {
    case "GET":
    case "HEAD":
      return document;
    case "OPTIONS":
      return answerPreflight(req, { origin: "*", methods: "GET, HEAD" });
    default:
      return methodNotAllowed(["GET", "HEAD", "OPTIONS"]);
  }
}
