/** Reading what the library needs of a request, whatever the host did ahead of it. RFC 6749 §3.1, §3.2. */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { OAuthError, type OAuthErrorDetails } from "../protocol/oauth-error";
import {
  parseParameters,
  type Parameters,
  parametersFromObject,
  parametersOfUrl,
} from "../protocol/parameters";

const maxFormBytes = 64 * 1024;
const authorization = "authorization";

/** A request, of Express or of Node alone; `body` is what a parser of the host has left. */
export interface HttpRequest extends IncomingMessage {
  readonly body?: unknown;
}

/** The form of a POST, or why there is none. */
export type Form =
  | { readonly kind: "form"; readonly parameters: Parameters }
  | { readonly kind: "wrong-media-type" }
  | { readonly kind: "not-utf8" }
  | { readonly kind: "too-large" };

/** The path below the mount point. @rfc 9112 §3.2.1, §3.2.2 */
export function readPath({ url = "/" }: IncomingMessage): string {
  const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*/i, "");
  const query = target.indexOf("?");
  return query < 0 ? target : target.slice(0, query);
}

/** The parameters of the query. */
export function readQuery({ url = "/" }: IncomingMessage): Parameters {
  return parametersOfUrl(url);
}

/** The interaction id that a page of the host was given: from its URL, or from the form it has posted. */
export function readInteractionId(req: HttpRequest): string | undefined {
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

function readArriving(req: IncomingMessage): Promise<Form> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const gone = (): void => reject(new Error("the client has gone away while it was sending"));
    if (req.destroyed) return gone();
    req.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxFormBytes) chunks.push(chunk);
      // what still comes is thrown away, so that the client can read the answer
      else resolve({ kind: "too-large" });
    });
    req.on("end", () => resolve(parseForm(Buffer.concat(chunks))));
    req.on("close", gone);
  });
}

/** Most bodies come in one packet with the headers: they are here once the parser has had its turn. */
async function readBody(req: IncomingMessage): Promise<Form> {
  await Promise.resolve();
  if (req.readableLength !== Number(req.headers["content-length"])) return readArriving(req);
  const body: unknown = req.read();
  // so that the stream ends
  req.resume();
  return parseForm(Buffer.isBuffer(body) ? body : Buffer.alloc(0));
}

/** The form of a POST. A body that nobody has read yet is read here; otherwise the host's parser has. */
export async function readForm(req: HttpRequest): Promise<Form> {
  const mediaType = req.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (mediaType !== "application/x-www-form-urlencoded") return { kind: "wrong-media-type" };
  if (Number(req.headers["content-length"]) > maxFormBytes) return { kind: "too-large" };
  if (req.readableDidRead) return readParsed(req.body);
  const encoding = req.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") return { kind: "wrong-media-type" };
  return readBody(req);
}

const formProblems: Readonly<Record<Exclude<Form["kind"], "form">, OAuthErrorDetails>> = {
  "too-large": {
    description: "The body is too large.",
    reason: "the body has more than 64 KB, which no request of RFC 6749 needs: send the parameters alone",
  },
  "not-utf8": {
    description: "A parameter is repeated or is not UTF-8 text.",
    reason:
      "the form is not UTF-8 (RFC 6749 Appendix B): encode it with encodeURIComponent or URLSearchParams",
  },
  "wrong-media-type": {
    description: "The body must be application/x-www-form-urlencoded, without a content encoding.",
    reason:
      "the body is not a form, such as JSON, or it is compressed (RFC 6749 §3.2, Appendix B): send application/x-www-form-urlencoded, in JavaScript body: new URLSearchParams({ … })",
  },
};

/** The refusal of a body that is no form. */
export function formProblem({ kind }: Exclude<Form, { kind: "form" }>): OAuthError {
  return new OAuthError("invalid_request", formProblems[kind]);
}

/**
 * The header names that a preflight asks for, or `undefined` when there are none or they are not names. They are reflected where
 * anybody may read the answer: `*` would do as well, but older browsers do not know it.
 */
export function requestedHeaders({ headers }: IncomingMessage): string | undefined {
  const names = headers["access-control-request-headers"];
  return names !== undefined && /^[\w-]+(?:[ \t]*,[ \t]*[\w-]+)*$/.test(names) && names.length <= 1_000
    ? names
    : undefined;
}

/** Node keeps the first of several `Authorization` headers; whoever sends two tries two credentials. */
export function hasSeveralAuthorizationHeaders({ rawHeaders }: IncomingMessage): boolean {
  let found = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === authorization.length && name.toLowerCase() === authorization) found += 1;
  }
  return found > 1;
}

/** True when a caller names JSON and not HTML: a program, not a person. */
export function prefersJson({ headers }: IncomingMessage): boolean {
  const accept = headers.accept ?? "";
  return accept.includes("application/json") && !accept.includes("text/html");
}
