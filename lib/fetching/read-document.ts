/** Reads a small JSON document from an HTTP answer, and how long it stays fresh. RFC 8259 §8.1 (UTF-8), RFC 6839 §3.1 (+json), RFC 9110 §8.4 (content codings), RFC 9111 §4.2, §5.1, §5.2.2. */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { because } from "../protocol/oauth-error";

/** Headers of an answer, each with all of its values. */
export type Headers = Readonly<Record<string, readonly string[] | undefined>>;

/** A name, and perhaps a value as a token or a quoted text. */
const directive = /([\w!#$%&'*+.^`|~-]+)(?:=(?:"((?:[^"\\]|\\.)*)"|([^\s,;"]+)))?/g;

/** More seconds mean the same to everybody. */
const longest = 2 ** 31;

function parseSeconds(text: string): number | undefined {
  return /^\d+$/.test(text) ? Math.min(Number(text), longest) : undefined;
}

/**
 * For how many more seconds the answer is fresh: `max-age` less its `Age`, 0 if it must not be stored or used without asking again,
 * `undefined` if it says nothing. A `max-age` that is not a number means 0, and of several the smallest is used.
 *
 * @rfc 9111 §4.2.1, §5.2.2
 */
export function readMaxAge(headers: Headers): number | undefined {
  const directives = [...(headers["cache-control"]?.join(",") ?? "").matchAll(directive)];
  const limits = directives.flatMap(([, name = "", quoted, token]) => {
    if (/^no-(?:store|cache)$/i.test(name)) return [0];
    return /^max-age$/i.test(name) ? [parseSeconds(quoted ?? token ?? "") ?? 0] : [];
  });
  if (limits.length === 0) return undefined;
  const age = parseSeconds(headers["age"]?.[0] ?? "") ?? 0;
  return Math.max(0, Math.min(...limits) - age);
}

/** Why there is no document. No text repeats anything of a URL or of an answer. */
export const fetchReasons = {
  "answer-status":
    "the answer has a status other than 200, and redirects are not followed: answer with the document and status 200 at this very URL",
  "answer-type": "the Content-Type of the answer is not JSON: send application/json or application/…+json",
  "answer-coding": "the answer has a Content-Encoding that was not asked for: send it uncompressed",
  "answer-cut-off":
    "the answer was cut off, or it is not HTTP/1.1: check the server that has the document, and the proxy in front of it",
  "answer-late": "the document did not arrive within five seconds: check why its server is slow",
  "document-too-large": "the document is larger than 5 KB: shorten it",
  "document-not-utf8": "the document is not UTF-8 (RFC 8259 §8.1): encode it as UTF-8",
  "document-not-json": "the document is not JSON (RFC 8259): check it with a JSON parser",
  "document-url-not-allowed":
    "the URL of the document must be https, as new URL(text).href writes it, with a host name that has a dot, and without port, user name and fragment: change the URL",
  "host-without-address": "DNS gave no address for the host of the document: check its name and records",
  "host-not-public": "the host of the document has a non-public address: serve it at public ones only",
  "address-not-looked-up":
    "the connection leads to an address that DNS did not give for the host: check for code that replaces net.connect",
  "no-connection":
    "the host of the document refused or cut off the connection, or its certificate is not valid for the host name: check its server and certificate",
  "too-many-fetches": "too many documents are being fetched at once: try again in a moment",
} as const;

/** One of them, or what a server that the host has named did wrong, in its own words. */
export interface FetchRefusal {
  readonly code: keyof typeof fetchReasons | "named-server-failed";
  readonly reason: string;
}

/** What a document is, or why there is none. */
export type ReadDocument =
  { readonly kind: "read"; readonly text: string } | ({ readonly kind: "failed" } & FetchRefusal);

const maxBytes = 5_120;
const jsonType = /^application\/(?:[\w!#$&^.+-]+\+)?json[ \t]*(?:;|$)/i;

/** A fetch that has brought no good document. */
export function failed(code: keyof typeof fetchReasons): FetchRefusal & { readonly kind: "failed" } {
  return { kind: "failed", ...because(fetchReasons, code) };
}

/** What is wrong with the answer before its body is read. */
function wrongHead(status: number | undefined, headers: Headers): keyof typeof fetchReasons | undefined {
  if (status !== 200) return "answer-status";
  const types = headers["content-type"];
  if (types?.length !== 1 || !jsonType.test(types.join())) return "answer-type";
  // nothing is ever unpacked: a few bytes could become gigabytes
  if (headers["content-encoding"]?.some((coding) => !/^identity$/i.test(coding))) return "answer-coding";
  return Number(headers["content-length"]?.[0] ?? 0) > maxBytes ? "document-too-large" : undefined;
}

async function readBody(answer: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    // leaving the loop also ends the connection
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * The value of a JSON text, and `undefined` if it is none. Members that are called `__proto__` are left out, on every level: a copy
 * that is made with `Object.assign` would otherwise get another prototype.
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, (name, value: unknown) => (name === "__proto__" ? undefined : value));
  } catch {
    return undefined;
  }
}

/**
 * The text of the document in an answer, which is UTF-8 and JSON. Rejects if the answer is cut off. If it fails, the caller ends the
 * connection.
 *
 * @rfc 8259 §8.1
 */
export async function readDocument(answer: IncomingMessage): Promise<ReadDocument> {
  const wrong = wrongHead(answer.statusCode, answer.headersDistinct);
  if (wrong !== undefined) return failed(wrong);
  const bytes = await readBody(answer);
  if (!bytes) return failed("document-too-large");
  if (!isUtf8(bytes)) return failed("document-not-utf8");
  const text = bytes.toString();
  return parseJson(text) === undefined ? failed("document-not-json") : { kind: "read", text };
}
