/** The one place that writes to `res`. RFC 6749 §5.1, 9700 §4.12, §4.16. */
import type { ServerResponse } from "node:http";
import { pageHeaders } from "../pages/page-frame";
import { type Pages, pagesOf } from "../pages/pages";
import { jsonError, type ErrorPageResponse, type ProtocolResponse } from "../protocol/protocol-response";
import { type HttpRequest, prefersJson } from "./request";

interface Written {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function asJson({
  status,
  body,
  headers,
}: {
  status: number;
  body: object;
  headers?: Written["headers"];
}): Written {
  return { status, headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) };
}

/** What an answer is written to; `pages` where one may be an error page. */
interface Destination {
  readonly req: HttpRequest;
  readonly res: ServerResponse;
  readonly pages?: Pages;
  /** Headers of the route, which a host may have said more by. */
  readonly headers?: Written["headers"] | undefined;
}

function asErrorPage({ req, pages = pagesOf() }: Destination, response: ErrorPageResponse): Written {
  if (prefersJson(req)) return asJson(jsonError(response.error));
  const body = pages.error(req, response.error);
  return { status: response.status, headers: pageHeaders(body, []), body };
}

function toWritten(destination: Destination, response: ProtocolResponse): Written {
  switch (response.kind) {
    case "json":
      return asJson(response);
    case "redirect":
      // 307 would send the form, with what it holds, on to the client
      return {
        status: destination.req.method === "POST" ? 303 : 302,
        // the URL that is left holds the client's request: the page that follows need not read it (9700 §4.2.4)
        headers: { Location: response.location, "Referrer-Policy": "no-referrer" },
        body: "",
      };
    case "page":
      return { status: 200, headers: pageHeaders(response.html, response.formTargets), body: response.html };
    case "error-page":
      return asErrorPage(destination, response);
    case "empty":
      return { status: response.status, headers: response.headers ?? {}, body: "" };
  }
}

/** Headers that a host sets on everything, and that would keep a silent refresh out of its iframe. */
const framingHeaders = ["X-Frame-Options", "Content-Security-Policy"];

const always = ["X-Content-Type-Options", "nosniff"];
const notStored = ["Cache-Control", "no-store", "Pragma", "no-cache"];

/** All headers as Node takes them fastest: name, value, name, value. */
function headerLines({ res, headers: ofRoute }: Destination, { status, headers, body }: Written): string[] {
  const lines = headers["Cache-Control"] === undefined ? [...always, ...notStored] : [...always];
  for (const [name, value] of Object.entries(ofRoute ?? {})) {
    // beside what the host says by the same header
    const before = res.getHeader(name);
    lines.push(name, before === undefined ? value : `${String(before)}, ${value}`);
  }
  for (const [name, value] of Object.entries(headers)) lines.push(name, value);
  if (status !== 204) lines.push("Content-Length", String(Buffer.byteLength(body)));
  return lines;
}

/** Writes the answer of an endpoint. */
export function writeResponse(destination: Destination, response: ProtocolResponse): void {
  const { res } = destination;
  // a host that has answered meanwhile, by a time limit say, has the last word
  if (res.headersSent) return;
  const written = toWritten(destination, response);
  if ("cookies" in response)
    for (const cookie of response.cookies ?? []) res.appendHeader("Set-Cookie", cookie);
  if (response.kind === "redirect") for (const name of framingHeaders) res.removeHeader(name);
  res.writeHead(written.status, headerLines(destination, written));
  res.end(written.body);
}
