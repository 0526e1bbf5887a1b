/** Requests to a server that the host has named itself. RFC 8414 §3.2 (metadata), RFC 7662 §2.1 (introspection), RFC 9110 §15.4 (redirects). */
import { type FetchRefusal, parseJson, readMaxAge } from "./read-document";
import type { FetchedDocument } from "./fetch-document";

/** A JSON answer, or why there is none. No reason repeats anything of a request or an answer. */
export type TrustedAnswer =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** JSON, as the server wrote it. */
      readonly text: string;
      readonly maxAgeSeconds: number | undefined;
    }
  | ({ readonly kind: "failed" } & FetchRefusal);

const limitMilliseconds = 5_000;
const maxBytes = 65_536;

/** What went wrong, in words for the host. */
export function failed(reason: string): FetchRefusal & { readonly kind: "failed" } {
  return { kind: "failed", code: "named-server-failed", reason };
}

/** The body, or `undefined` when it is too large. */
async function readText(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    // leaving the loop also ends the connection
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

async function readAnswer(response: Response): Promise<TrustedAnswer> {
  const text = await readText(response);
  if (text === undefined) return failed("the answer is larger than 64 KB");
  if (parseJson(text) === undefined) return failed(`the answer (status ${response.status}) is not JSON`);
  const headers = Object.fromEntries([...response.headers].map(([name, value]) => [name, [value]]));
  return { kind: "answered", status: response.status, text, maxAgeSeconds: readMaxAge(headers) };
}

/** The code of what went wrong below `fetch`, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`. */
function codeOf(error: unknown): string {
  const { code } = ((error as { cause?: unknown } | undefined)?.cause ?? {}) as { code?: unknown };
  return typeof code === "string" && /^\w{1,64}$/.test(code) ? ` (${code})` : "";
}

/**
 * Sends a request and reads a JSON answer of at most 64 KB within five seconds. Redirects are not followed: they could lead a secret
 * to another server. It never rejects.
 */
export async function fetchTrusted(
  url: string,
  request: {
    readonly method?: "POST";
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: URLSearchParams;
  } = {},
): Promise<TrustedAnswer> {
  const signal = AbortSignal.timeout(limitMilliseconds);
  try {
    const headers = { ...request.headers, Accept: "application/json", "User-Agent": "authmount" };
    return await readAnswer(await fetch(url, { ...request, headers, signal, redirect: "error" }));
  } catch (error) {
    return signal.aborted
      ? failed("no answer within five seconds")
      : failed(`no connection, a redirect, or an answer that was cut off${codeOf(error)}`);
  }
}

/** The document at a URL of a server that the host has named. It never rejects. */
export async function fetchTrustedDocument(url: string): Promise<FetchedDocument> {
  const answer = await fetchTrusted(url);
  if (answer.kind === "failed") return answer;
  const { status, text, maxAgeSeconds } = answer;
  return status === 200
    ? { kind: "fetched", text, maxAgeSeconds }
    : failed(`the answer has status ${status}`);
}
