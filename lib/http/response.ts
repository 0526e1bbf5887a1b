/** The only place that writes to `res`. RFC 6749 §5.1, 9700 §2.6, §4.12, §4.16. */
import { ServerResponse } from "node:http";
import type { Advise } from "../events/port";
import { formPostHeaders } from "../pages/form-post-page";
import { pageHeaders } from "../pages/page-frame";
import { type Pages, pagesOf } from "../pages/pages";
import {
  errorOf,
  jsonError,
  type ProtocolResponse,
  type RedirectResponse,
} from "../protocol/protocol-response";
import { maxShownPath } from "./not-found";
import { type HttpRequest, prefersJson } from "./request";
import type { OpenTrace } from "./request-trace";

/** An answer in the terms of HTTP. */
interface Written {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Where an answer is written to. `pages` renders error pages; without it the built-in pages do. */
interface Destination {
  readonly req: HttpRequest;
  readonly res: ServerResponse;
  readonly pages?: Pages;
  /** Headers of the route, added to values that the host has set for the same names. */
  readonly headers?: Written["headers"] | undefined;
  /** Learns how the request was answered. */
  readonly trace?: OpenTrace | undefined;
}

function toWritten(destination: Destination, response: ProtocolResponse): Written {
  switch (response.kind) {
    case "json":
      return {
        status: response.status,
        headers: { "Content-Type": "application/json", ...response.headers },
        body: JSON.stringify(response.body),
      };
    case "redirect":
      // not 307: the browser would repeat the POST, with the form's contents, at the client (RFC 9700 §4.12)
      return {
        status: destination.req.method === "POST" ? 303 : 302,
        // the URL before the redirect contains the client's request, which the next site must not see as Referer (9700 §4.2.4)
        headers: { Location: response.location, "Referrer-Policy": "no-referrer" },
        body: "",
      };
    case "form-post": {
      const { req, pages = pagesOf() } = destination;
      return { status: 200, headers: formPostHeaders, body: pages.formPost(req, response) };
    }
    case "device-end": {
      const { req, pages = pagesOf() } = destination;
      const html = pages.deviceEnd(req, response);
      return { status: 200, headers: pageHeaders(html, []), body: html };
    }
    case "page":
      return {
        status: response.status ?? 200,
        headers: pageHeaders(response.html, response.formTargets),
        body: response.html,
      };
    case "error-page": {
      const { req, pages = pagesOf() } = destination;
      const { status, error } = response;
      if (prefersJson(req)) return toWritten(destination, { ...jsonError(error), status });
      const html = pages.error(req, error);
      return { status, headers: pageHeaders(html, []), body: html };
    }
    case "empty":
      return { status: response.status, headers: response.headers ?? {}, body: "" };
  }
}

/** Headers that hosts often set on all answers. On an answer to the client they would keep a silent refresh in an iframe from working. */
const framingHeaders = ["X-Frame-Options", "Content-Security-Policy"];
/** Headers by which a host that allows CORS everywhere would let scripts of others read the pages of a person (RFC 9700 §2.6). */
const corsHeaders = ["Access-Control-Allow-Origin", "Access-Control-Allow-Credentials"];

/** Headers of the host that an answer must not have. */
const unwantedHeaders: Readonly<Record<ProtocolResponse["kind"], readonly string[]>> = {
  redirect: [...framingHeaders, ...corsHeaders],
  // in its sandbox, the page has another origin than its URL
  "form-post": [...framingHeaders, ...corsHeaders, "Origin-Agent-Cluster"],
  "device-end": corsHeaders,
  page: corsHeaders,
  "error-page": corsHeaders,
  json: [],
  empty: [],
};

/** True where a source allows the URL. What it says of schemes and ports is not compared: better no warning than a wrong one. */
function allows(source: string, { target, origin }: { target: URL; origin: string }): boolean {
  if (source === "'self'") return target.origin === origin;
  if (!/^https?:$/.test(target.protocol)) return source.startsWith(target.protocol);
  const end = source.replace(/^(?:https?:)?(?:\/\/)?\*?/, "").replace(/(?::(?:\d+|\*))?(?:\/.*)?$/, "");
  return target.hostname.endsWith(end);
}

/** A redirect that answers a form of the host. */
interface FormAnswer {
  /** The path of the form's address. */
  readonly sentTo: string;
  readonly res: ServerResponse;
  readonly redirect: RedirectResponse;
  /** The origin of `baseUrl`. */
  readonly origin: string;
}

/**
 * Warns where the policy on the answer to a form does not allow what the redirect leads to: the page with the form most likely has the same
 * one, and browsers apply it to every redirect that follows.
 */
export function adviseOfFormAction(advise: Advise, { sentTo, res, redirect, origin }: FormAnswer): void {
  const policies = [res.getHeader("Content-Security-Policy") ?? []].flat().join(",").toLowerCase().split(",");
  const actions = policies.flatMap((policy) => /\bform-action\b([^;]*)/.exec(policy)?.[1]?.trim() ?? []);
  for (const url of [redirect.location, redirect.destination ?? ""]) {
    const target = new URL(url, origin);
    const refusing = actions.find(
      (list) => !list.split(/\s+/).some((one) => one && allows(one, { target, origin })),
    );
    if (refusing === undefined) continue;
    const source = target.origin === "null" ? target.protocol : target.origin;
    return advise(
      "form-action-blocks-redirect",
      `The form sent to ${sentTo.slice(0, maxShownPath)} leads to ${source}, but the Content-Security-Policy of this site says form-action ${refusing}, so browsers may stay on the page without a word. Allow ${source} on your pages with such forms, or leave form-action out: formAction: null in helmet's contentSecurityPolicy.directives.`,
    );
  }
}

const always = ["X-Content-Type-Options", "nosniff"];
// answers may contain codes and tokens (RFC 6749 §5.1); public documents set their own Cache-Control
const notStored = ["Cache-Control", "no-store", "Pragma", "no-cache"];

// middleware and adapters of the host may have put their own in the place of these
const [nodesHead, nodesEnd] = ["writeHead", "end"].map((name): unknown =>
  Reflect.get(ServerResponse.prototype, name),
);

/** True where middleware may still add headers while the answer is written. */
function isWatched(res: ServerResponse): boolean {
  return res.writeHead !== nodesHead || res.end !== nodesEnd;
}

/** A shared cache would hand a cookie of the host, such as a visitor's session, to everybody. @rfc 9111 §7.3 */
function cachingOf(res: ServerResponse, value: string): string {
  return isWatched(res) || res.hasHeader("Set-Cookie") ? value.replace("public", "private") : value;
}

/** All headers as one list of names and values, each name once: the form that Node writes fastest. */
function headerLines({ res, headers: ofRoute }: Destination, { status, headers, body }: Written): string[] {
  const lines = headers["Cache-Control"] === undefined ? [...always, ...notStored] : [...always];
  for (const [name, value] of Object.entries(ofRoute ?? {})) {
    // keep what the host has set for this header, such as its own Vary
    const before = res.getHeader(name);
    lines.push(name, before === undefined ? value : `${String(before)}, ${value}`);
  }
  for (const [name, value] of Object.entries(headers))
    lines.push(name, name === "Cache-Control" ? cachingOf(res, value) : value);
  if (status !== 204) lines.push("Content-Length", String(Buffer.byteLength(body)));
  return lines;
}

/**
 * For `headers` of a destination: lets scripts read a header of the answer where the host lets them read the answer, which its CORS
 * middleware has done by now.
 */
export function exposing(res: ServerResponse, name: string): Written["headers"] | undefined {
  return res.hasHeader("Access-Control-Allow-Origin") ? { "Access-Control-Expose-Headers": name } : undefined;
}

function closeTrace({ req, res, trace }: Destination, error: string | undefined): void {
  // a client that has disconnected while it was sending got no answer
  if (!trace || req.readableAborted) return;
  trace.status = res.statusCode;
  if (error !== undefined) trace.oauthError = error;
}

/**
 * Writes the answer of an endpoint. Does nothing when something else has already answered the request. Where the host watches, Node writes
 * the headers when the answer ends, as behind Express: middleware may set headers in its `end`, and a list of headers would mean something
 * else to the `writeHead` of `on-headers` before 1.1 and of `serverless-http`.
 */
export function writeResponse(destination: Destination, response: ProtocolResponse): void {
  const { res } = destination;
  // the host may have answered in the meantime, for example after a timeout
  if (res.headersSent) return closeTrace(destination, undefined);
  const written = toWritten(destination, response);
  const { status, body } = written;
  const { cookies = [] } = response as { readonly cookies?: readonly string[] };
  for (const cookie of cookies) res.appendHeader("Set-Cookie", cookie);
  for (const name of unwantedHeaders[response.kind]) res.removeHeader(name);
  const lines = headerLines(destination, written);
  try {
    if (isWatched(res)) {
      for (let at = 0; at < lines.length; at += 2)
        res.setHeader(lines[at] as string, lines[at + 1] as string);
      res.statusCode = status;
    } else res.writeHead(status, lines);
    res.end(body);
  } catch (failure) {
    // otherwise the client waits for the rest for ever, or for as much as the length says of another answer of the host
    if (!res.headersSent) res.removeHeader("Content-Length");
    else if (!res.writableEnded) res.destroy();
    throw failure;
  }
  if (destination.trace) closeTrace(destination, errorOf(response));
}
