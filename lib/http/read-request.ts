/** Reading what the library needs of an Express request, whatever the host did ahead of it. RFC 6749 §3.1, §3.2. */
import { isUtf8 } from "node:buffer";
import type { Request } from "express";
import { parseParameters, type Parameters, parametersFromObject } from "../protocol/parameters";

const maxFormBytes = 64 * 1024;

export type Form =
  | { readonly kind: "form"; readonly parameters: Parameters }
  | { readonly kind: "wrong-media-type" }
  | { readonly kind: "not-utf8" }
  | { readonly kind: "too-large" };

/** The path below the mount point. */
export function readPath({ url }: Request): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

export function readQuery({ url }: Request): Parameters {
  const query = url.indexOf("?");
  return parseParameters(query < 0 ? "" : url.slice(query + 1));
}

/** The interaction id that a page of the host was given: from its URL, or from the form it has posted. */
export function readInteractionId(req: Request): string | undefined {
  const body: unknown = req.body;
  const fromForm = typeof body === "object" && body !== null ? parametersFromObject(body) : undefined;
  return readQuery(req).get("interaction") ?? fromForm?.get("interaction");
}

function parseForm(bytes: Buffer): Form {
  if (bytes.length > maxFormBytes) return { kind: "too-large" };
  return isUtf8(bytes)
    ? { kind: "form", parameters: parseParameters(bytes.toString()) }
    : { kind: "not-utf8" };
}

/** At least this many bytes the form had: the host's parser may take more than we do. What is no text is unusable anyway. */
function leastBytes(fields: object): number {
  const pairs = Object.entries(fields).filter(
    (pair): pair is [string, string] => typeof pair[1] === "string",
  );
  return pairs.reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value) + 2,
    -1,
  );
}

/** What a body parser of the host has left: an object, text or bytes. */
function readParsed(body: unknown): Form {
  if (Buffer.isBuffer(body)) return parseForm(body);
  if (typeof body === "string") return parseForm(Buffer.from(body));
  const fields = typeof body === "object" && body !== null ? body : {};
  if (leastBytes(fields) > maxFormBytes) return { kind: "too-large" };
  return { kind: "form", parameters: parametersFromObject(fields) };
}

async function readStream(req: Request): Promise<Form> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxFormBytes) {
      // what still comes is thrown away, so that the client can read the answer
      req.resume();
      return { kind: "too-large" };
    }
    chunks.push(chunk);
  }
  return parseForm(Buffer.concat(chunks));
}

function isForm({ headers }: Request): boolean {
  const mediaType = headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  return mediaType === "application/x-www-form-urlencoded";
}

/** The form of a POST. A body that nobody has read yet is read here; otherwise the host's parser has. */
export async function readForm(req: Request): Promise<Form> {
  if (!isForm(req)) return { kind: "wrong-media-type" };
  if (Number(req.headers["content-length"]) > maxFormBytes) return { kind: "too-large" };
  if (req.readableDidRead) return readParsed(req.body);
  const encoding = req.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") return { kind: "wrong-media-type" };
  return readStream(req);
}

/** Node keeps the first of several `Authorization` headers; whoever sends two tries two credentials. */
export function hasSeveralAuthorizationHeaders(req: Request): boolean {
  return (req.headersDistinct["authorization"]?.length ?? 0) > 1;
}

/** True when a caller names JSON and not HTML: a program, not a person. */
export function prefersJson({ headers }: Request): boolean {
  const accept = headers.accept ?? "";
  return accept.includes("application/json") && !accept.includes("text/html");
}
