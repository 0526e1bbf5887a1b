/** Documents that anybody may read and keep for a while. RFC 8414 §3, 9728 §3, 7517 §5; 9111 §5.2.2. */
import type { JsonResponse, ProtocolResponse } from "../protocol/protocol-response";
import { methodNotAllowed } from "./exchange";

/** A new key must not sign before every copy of the key set that lacks it is this old. */
export const documentSeconds = 300;

export function publicDocument(body: object): JsonResponse {
  const headers = {
    "Access-Control-Allow-Origin": "*",
    "Cache-Control": `public, max-age=${documentSeconds}`,
  };
  return { kind: "json", status: 200, body, headers };
}

/** The answer of a place where nothing but a document is. */
export function answerDocument(method: string, body: object): ProtocolResponse {
  return method === "GET" || method === "HEAD"
    ? publicDocument(body)
    : methodNotAllowed({ GET: true, HEAD: true });
}
