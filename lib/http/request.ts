/** Reads what the library needs from a request, whatever middleware the host has run before. RFC 6749 §3.1, §3.2. */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { because, OAuthError, type OAuthErrorDetails } from "../protocol/oauth-error";
import {
  parseParameters,
  type Parameters,
  parametersFromObject,
  parametersOfUrl,
} from "../protocol/parameters";

/** Larger bodies are refused, so that nobody can fill the memory with them. */
export const maxBodyBytes: number = 64 * 1024;

/** A request of Express, or of Node alone. */
export interface HttpRequest extends IncomingMessage {
  /** What a body parser of the host has left, if one has run. */
  readonly body?: unknown;
  /** Of Express: the caller's address, by its setting `trust proxy`. */
  readonly ip?: string | undefined;
}

/** A form, or why it cannot be read. */
export type Form =
  | { readonly kind: "form"; readonly parameters: Parameters }
  | { readonly kind: "wrong-media-type" }
  | { readonly kind: "not-utf8" }
  | { readonly kind: "too-large" }
  | { readonly kind: "taken" };

/** The body of a POST as bytes, as a parser of the host has left it, or why it cannot be read. */
export type Body =
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  | { readonly kind: "parsed"; readonly value: object }
  | { readonly kind: "wrong-media-type" }
  | { readonly kind: "too-large" }
  /** Something has read it, and left nothing in `req.body`. */
  | { readonly kind: "taken" };

/** An address with the port that some proxies write into `X-Forwarded-For`. An IPv6 address is then in brackets. */
const withPort = /^\[(.+)\](?::\d+)?$|^([\d.]+):\d+$/;

/** The address of the caller, as Express has it or of the connection, without a port. Empty where there is none. */
export function readAddress({ ip, socket }: HttpRequest): string {
  return (ip ?? socket.remoteAddress ?? "").replace(withPort, "$1$2");
}

/** Where the path of an absolute URL begins: behind a host that Express would find there too, and nothing else. */
const beforePath = /^https?:\/\/(?:[a-z\d.-]+|\[[\da-f:.]+\])(?::\d+)?(?=[/?]|$)/i;

/** The path of the request, without the query. The request target may also be an absolute URL. @rfc 9112 §3.2.1, §3.2.2 */
export function readPath({ url = "/" }: Pick<IncomingMessage, "url">): string {
  const target = url.startsWith("/") ? url : url.replace(beforePath, "");
  const query = target.indexOf("?");
  return query < 0 ? target : target.slice(0, query);
}

/** The parameters in the query of the URL. */
export function readQuery({ url = "/" }: IncomingMessage): Parameters {
  return parametersOfUrl(url);
}

/**
 * The interaction id that a page of the host received: from the page's URL, or from the form that it has posted. One that is repeated
 * or empty is none.
 */
export function readInteractionId(req: HttpRequest): string | undefined {
  return readQuery(req).get("interaction") ?? textIn(req.body, "interaction");
}

/** One field of a parsed form. The others are not looked at: a parser of the host may have made millions of them. */
function textIn(body: unknown, name: string): string | undefined {
  if (typeof body !== "object" || body === null || !Object.hasOwn(body, name)) return undefined;
  const value: unknown = Reflect.get(body, name);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function limited(bytes: Buffer): Body {
  return bytes.length > maxBodyBytes ? { kind: "too-large" } : { kind: "bytes", bytes };
}

/** The least number of bytes that the form had: a host's parser may accept more. Values that are not text are left out. */
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
function parsedBody({ body, headers }: HttpRequest): Body {
  if (Buffer.isBuffer(body)) return limited(body);
  if (typeof body === "string") return limited(Buffer.from(body));
  const value = typeof body === "object" && body !== null ? body : {};
  // "{}" and "&&" have nothing in them
  const isLong = headers["transfer-encoding"] !== undefined || Number(headers["content-length"]) > 2;
  return isLong && Object.keys(value).length === 0 ? { kind: "taken" } : { kind: "parsed", value };
}

/** A chunk as bytes. It is text where the host has called `req.setEncoding`. */
function bytesOf(chunk: Buffer | string, { readableEncoding }: IncomingMessage): Buffer {
  return typeof chunk === "string" ? Buffer.from(chunk, readableEncoding ?? "utf8") : chunk;
}

/** What a listener throws would end the process. */
function readArriving(req: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const gone = (): void => reject(new Error("the client disconnected while it was sending the request"));
    const done = (): void => resolve(limited(Buffer.concat(chunks)));
    // an empty body, for which a parser or listener of the host has waited
    if (req.readableEnded) return done();
    if (req.destroyed) return gone();
    req.on("data", (chunk: Buffer | string) => {
      const arrived = bytesOf(chunk, req);
      bytes += arrived.length;
      if (bytes <= maxBodyBytes) chunks.push(arrived);
      // the rest is read and dropped, so that the client can finish sending and read the answer
      else resolve({ kind: "too-large" });
    });
    req.on("end", done);
    req.on("close", gone);
  });
}

/**
 * The body of a POST of this media type. If no parser of the host has read it, it is read here. Rejects when the client disconnects.
 */
export async function readBody(req: HttpRequest, expected: string): Promise<Body> {
  const { "content-type": contentType, "content-length": contentLength } = req.headers;
  const mediaType = contentType?.split(";")[0]?.trim().toLowerCase();
  if (mediaType !== expected) return { kind: "wrong-media-type" };
  const length = Number(contentLength);
  if (length > maxBodyBytes) return { kind: "too-large" };
  if (req.readableDidRead) return parsedBody(req);
  // nothing is decompressed here; a parser of the host may have done that above
  const encoding = req.headers["content-encoding"]?.toLowerCase();
  if (encoding !== undefined && encoding !== "identity") return { kind: "wrong-media-type" };
  // a listener of the host would take the body in the meantime; and the length of text is not that of its bytes
  if (req.readableFlowing === true || req.readableEncoding !== null) return readArriving(req);
  // most bodies arrive in one packet with the headers, so they can be read at once after the HTTP parser has run
  await Promise.resolve();
  if (req.readableLength !== length) return readArriving(req);
  const body: unknown = req.read();
  // without this the stream never ends
  req.resume();
  return { kind: "bytes", bytes: Buffer.isBuffer(body) ? body : Buffer.alloc(0) };
}

/** The form of a POST. Rejects when the client disconnects. */
export async function readForm(req: HttpRequest): Promise<Form> {
  const body = await readBody(req, "application/x-www-form-urlencoded");
  switch (body.kind) {
    case "bytes":
      return isUtf8(body.bytes)
        ? { kind: "form", parameters: parseParameters(body.bytes.toString()) }
        : { kind: "not-utf8" };
    case "parsed": {
      // a list is no form, and may be long
      const fields = Array.isArray(body.value) ? {} : body.value;
      return leastBytes(fields) > maxBodyBytes
        ? { kind: "too-large" }
        : { kind: "form", parameters: parametersFromObject(fields) };
    }
    case "wrong-media-type":
    case "too-large":
    case "taken":
      return body;
  }
}

/** Refusals of requests that cannot be read. */
export const httpReasons = {
  "several-authorization-headers": "the request has several Authorization headers (RFC 6749 §2.3): send one",
  "body-taken":
    "something ahead of auth.router, or of pages of authmount/portal, has read the body and left nothing in req.body (req.rawBody and req.fields are not looked at): mount them ahead of it",
  "form-too-large":
    "the body is larger than 64 KB, which no request of RFC 6749 needs: send only the parameters",
  "form-not-utf8":
    "the form is not UTF-8 (RFC 6749 Appendix B): encode it with encodeURIComponent or URLSearchParams",
  "body-not-a-form":
    "the body is not a form, such as JSON, or it is compressed (RFC 6749 §3.2, Appendix B): send application/x-www-form-urlencoded, in JavaScript body: new URLSearchParams({ … })",
  "json-too-large": "the body is larger than 64 KB: send only the metadata",
  "json-malformed": "the body is not JSON in UTF-8 (RFC 8259), or it is nested more than 10 levels deep",
  "body-not-json":
    "the body is not JSON, such as a form, or it is compressed (RFC 7591 §3.1): send application/json",
} as const;

/** For the developer of the host: the client can do nothing. */
export const takenProblem: OAuthErrorDetails = {
  description: "Other code of this server has read the body before.",
  ...because(httpReasons, "body-taken"),
};

const formProblems: Readonly<Record<Exclude<Form["kind"], "form">, OAuthErrorDetails>> = {
  taken: takenProblem,
  "too-large": {
    description: "The body is too large.",
    ...because(httpReasons, "form-too-large"),
  },
  "not-utf8": {
    description: "A parameter is repeated or is not UTF-8 text.",
    ...because(httpReasons, "form-not-utf8"),
  },
  "wrong-media-type": {
    description: "The body must be application/x-www-form-urlencoded, without a content encoding.",
    ...because(httpReasons, "body-not-a-form"),
  },
};

type NoForm = Exclude<Form, { kind: "form" }>;

/** The refusal of a body of a client that cannot be read as a form. */
export function formProblem({ kind }: NoForm): OAuthError {
  return new OAuthError("invalid_request", formProblems[kind]);
}

/** The refusal of a form that a person has filled in. */
export function answerProblem({ kind }: NoForm): OAuthError {
  return new OAuthError("invalid_request", { ...formProblems[kind], situation: "answer" });
}

/** The values of all headers of this lower-case name. Node's `headers` show only the first `Authorization`, and join others. */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? "");
  }
  return values;
}

/** True when the caller accepts JSON and does not name HTML: a program, not a person at a browser. */
export function prefersJson({ headers }: IncomingMessage): boolean {
  const accept = headers.accept?.toLowerCase();
  return accept?.includes("application/json") === true && !accept.includes("text/html");
}
