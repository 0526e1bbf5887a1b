/** Reads a JSON body, whatever parser the host has run before. RFC 7591 §3.1, 8259 §9. */
import { isUtf8 } from "node:buffer";
import { because, OAuthError, type OAuthErrorDetails } from "../protocol/oauth-error";
import { type Body, type HttpRequest, httpReasons, maxBodyBytes, readBody, takenProblem } from "./request";

/** A value of JSON, or why there is none. */
export type JsonBody =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "not-json" }
  | Extract<Body, { kind: "wrong-media-type" | "too-large" | "taken" }>;

/** No metadata is nested more deeply, and code that walks through a value by recursion must not run out of stack. */
const maxDepth = 10;

/**
 * A copy with plain objects, or `undefined` when the value is nested too deeply. `__proto__` is left out: code of the host that copies
 * the properties one by one would set the prototype with it.
 */
function plainCopy(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth >= maxDepth) return undefined;
  const pairs = Object.entries(value)
    .filter(([name]) => name !== "__proto__")
    .map(([name, inner]) => [name, plainCopy(inner, depth + 1)] as const);
  if (pairs.some(([, inner]) => inner === undefined)) return undefined;
  return Array.isArray(value) ? pairs.map(([, inner]) => inner) : Object.fromEntries(pairs);
}

function jsonOf(parsed: unknown): JsonBody {
  const value = plainCopy(parsed);
  return value === undefined ? { kind: "not-json" } : { kind: "json", value };
}

function parseJson(bytes: Buffer): JsonBody {
  if (!isUtf8(bytes)) return { kind: "not-json" };
  try {
    return jsonOf(JSON.parse(bytes.toString()));
  } catch {
    return { kind: "not-json" };
  }
}

/** What a parser of the host has left; it may accept more than this library, so its size comes first. */
function limitedJson(parsed: object): JsonBody {
  try {
    if (Buffer.byteLength(JSON.stringify(parsed)) > maxBodyBytes) return { kind: "too-large" };
  } catch {
    // so deep that it cannot be written, or no JSON at all
    return { kind: "not-json" };
  }
  return jsonOf(parsed);
}

/** The JSON of a POST. Of keys that are repeated in an object, the last one is used. Rejects when the client disconnects. */
export async function readJson(req: HttpRequest): Promise<JsonBody> {
  const body = await readBody(req, "application/json");
  switch (body.kind) {
    case "bytes":
      return parseJson(body.bytes);
    case "parsed":
      return limitedJson(body.value);
    case "wrong-media-type":
    case "too-large":
    case "taken":
      return body;
  }
}

const problems: Readonly<Record<Exclude<JsonBody["kind"], "json">, OAuthErrorDetails>> = {
  taken: takenProblem,
  "too-large": {
    description: "The body is too large.",
    ...because(httpReasons, "json-too-large"),
  },
  "not-json": {
    description: "The body is not JSON, or it is nested too deeply.",
    ...because(httpReasons, "json-malformed"),
  },
  "wrong-media-type": {
    description: "The body must be application/json, without a content encoding.",
    ...because(httpReasons, "body-not-json"),
  },
};

/** The refusal of a body that cannot be read as JSON. */
export function jsonProblem({ kind }: Exclude<JsonBody, { kind: "json" }>): OAuthError {
  return new OAuthError("invalid_request", problems[kind]);
}
