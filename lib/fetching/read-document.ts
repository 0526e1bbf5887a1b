/** Reads a small JSON document from an HTTP answer. RFC 8259 §8.1 (UTF-8), RFC 6839 §3.1 (+json), RFC 9110 §8.4 (content codings). */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Headers } from "./max-age";

/** What a document is, or why there is none. */
export type ReadDocument =
  { readonly kind: "read"; readonly text: string } | { readonly kind: "failed"; readonly reason: string };

const maxBytes = 5_120;
const jsonType = /^application\/(?:[\w!#$&^.+-]+\+)?json[ \t]*(?:;|$)/i;

const reasons = {
  status: "the answer has another status than 200, and redirects are not followed",
  type: "the Content-Type of the answer is not application/json or application/…+json",
  coding: "the answer has a Content-Encoding, although the request asks for none",
  size: "the document is larger than 5 KB",
  utf8: "the document is not UTF-8",
  json: "the document is not JSON",
};

function failed(reason: keyof typeof reasons): ReadDocument {
  return { kind: "failed", reason: reasons[reason] };
}

/** What is wrong with the answer before its body is read. */
function wrongHead(status: number | undefined, headers: Headers): keyof typeof reasons | undefined {
  if (status !== 200) return "status";
  const types = headers["content-type"];
  if (types?.length !== 1 || !jsonType.test(types.join())) return "type";
  // nothing is ever unpacked: a few bytes could become gigabytes
  if (headers["content-encoding"]?.some((coding) => !/^identity$/i.test(coding))) return "coding";
  return Number(headers["content-length"]?.[0] ?? 0) > maxBytes ? "size" : undefined;
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
  if (!bytes) return failed("size");
  if (!isUtf8(bytes)) return failed("utf8");
  const text = bytes.toString();
  return parseJson(text) === undefined ? failed("json") : { kind: "read", text };
}
