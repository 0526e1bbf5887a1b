/** Finds mistakes in how the routers are mounted, from the first requests, in development. RFC 8414 §3.1, 9728 §3.1. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Request } from "express";
import { openedOrigin } from "../interaction/lost-interaction";
import { mountPathOf } from "../protocol/issuer";
import {
  maxShownPath,
  type Mistake,
  mountMistake,
  type MountWarningCode,
  notFoundReader,
  pageReader,
  type RouterSeen,
} from "./not-found";

/** What Express says about where a request was routed. Outside of Express there is nothing of it. */
type SeenRequest = Partial<Pick<Request, "baseUrl" | "originalUrl" | "headers" | "socket">>;

/** Looks at the requests that reach the two routers, and at those that reach neither. */
export interface MountCheck {
  /** To be called for every request that reaches `auth.router`. */
  readonly atRouter: (req: SeenRequest) => void;
  /** To be called for every request that reaches `auth.wellKnown`. */
  readonly atWellKnown: (req: SeenRequest, res: ServerResponse) => void;
  /** To be called for every answer of the process. */
  readonly atAnswer: (req: IncomingMessage & SeenRequest, res: ServerResponse) => void;
  /** To be called when the host reads `auth.wellKnown`, presumably to mount it. */
  readonly takeWellKnown: () => void;
}

function routerText({ baseUrl, mountPath }: { baseUrl: string; mountPath: string }): string {
  const [expected, actual] = [mountPathOf(baseUrl) || "/", mountPath || "/"];
  return `auth.router is mounted at "${actual}", but the path of baseUrl (${baseUrl}) is "${expected}". Write app.use("${expected}", auth.router). If a proxy in front of this app changes "${expected}" to "${actual}", the mount is right and you can ignore this warning.`;
}

const noWellKnown =
  "auth.wellKnown is not mounted: clients find no metadata at the root of the origin. Write app.use(auth.wellKnown).";

function wellKnownText(mountPath: string): string {
  return `auth.wellKnown is mounted at "${mountPath}", but clients look for its documents at the root of the origin. Write app.use(auth.wellKnown).`;
}

function openedText(opened: string, origin: string): string {
  return `A browser has opened ${opened}, but the origin of baseUrl is ${origin}: people are sent on to baseUrl, where their session and the pending request of the other address are missing. Open the site at baseUrl, or write the address that people use into baseUrl. If a proxy is in front of this app, let it send X-Forwarded-Host and X-Forwarded-Proto.`;
}

function preflightText(path: string): string {
  return `A page asked whether it may call ${path} with an access token, and the answer had no CORS headers, so its browser does not call. Put CORS middleware in front of the route, for OPTIONS too: app.use("${path}", cors({ origin: [/* yours */], allowedHeaders: ["Authorization"] })).`;
}

/** What the check knows. */
export interface MountCheckOptions {
  readonly baseUrl: string;
  /** Identifiers of the issuers: a request below one of their paths is for `auth.router`. */
  readonly issuers: readonly string[];
  /** URLs of the metadata that `auth.wellKnown` serves. */
  readonly documents: readonly string[];
  readonly warn: (code: MountWarningCode, message: string) => void;
}

/** Request → the server that it has reached. */
const reached = new WeakMap<object, { readonly baseUrl: string }>();

/** Gives a function that names the mistake behind an answer. */
function answerReader({
  baseUrl,
  issuers,
  documents,
}: MountCheckOptions): (
  url: string,
  seen: { res: ServerResponse; router: RouterSeen },
) => Mistake | undefined {
  const readNotFound = notFoundReader({ mountPath: mountPathOf(baseUrl), issuers, documents });
  const readPage = pageReader({ documents });
  const isOfApi = apiReader(documents);
  const judged = new WeakSet<ServerResponse>();
  return (url, { res, router }) => {
    // the router for metadata and the process may both show it
    if (judged.has(res)) return undefined;
    judged.add(res);
    const [path = ""] = url.split("?", 1);
    if (res.statusCode === 404) return readNotFound(path, router);
    if (isUnansweredPreflight(res) && isOfApi(path))
      return mountMistake("preflight-of-api-unanswered", preflightText(path.slice(0, maxShownPath)));
    const isPage = res.statusCode === 200 && String(res.getHeader("content-type")).startsWith("text/html");
    return isPage ? readPage(path) : undefined;
  };
}

/** True for a preflight of a call with an access token that Express has answered, which it does for every route. */
function isUnansweredPreflight(res: ServerResponse): boolean {
  const { method, headers } = res.req;
  if (method !== "OPTIONS" || res.statusCode !== 200 || !res.hasHeader("allow")) return false;
  const asksForToken = /\bauthorization\b/i.test(headers["access-control-request-headers"] ?? "");
  return asksForToken && !res.hasHeader("access-control-allow-origin");
}

/** True for paths of APIs, as the documents about them have these. */
function apiReader(documents: readonly string[]): (path: string) => boolean {
  const start = "/.well-known/oauth-protected-resource/";
  const paths = documents
    .map((url) => new URL(url).pathname.toLowerCase())
    .filter((path) => path.startsWith(start) && path.length > start.length)
    .map((path) => path.slice(start.length - 1).replace(/\/?$/, "/"));
  return (shown) => paths.some((path) => `${shown.toLowerCase()}/`.startsWith(path));
}

/** Names the address where a browser has opened a page, if it is not that of `baseUrl`. Programs may well call another one. */
function addressMistake({ headers = {}, socket }: SeenRequest, origin: string): Mistake | undefined {
  const isPage = headers.accept?.includes("text/html") && headers["user-agent"]?.startsWith("Mozilla/");
  const opened = isPage && socket ? openedOrigin({ headers, socket }, origin) : origin;
  return opened === origin
    ? undefined
    : mountMistake("opened-at-other-address", openedText(opened.slice(0, maxShownPath), origin));
}

/** Warns of mistakes: once of how something is mounted, and of each answer that shows one. Express compares paths without case. */
export function mountCheck(options: MountCheckOptions): MountCheck {
  const { baseUrl, warn } = options;
  const [expected, { host, origin }, server] = [mountPathOf(baseUrl), new URL(baseUrl), { baseUrl }];
  const mistakeIn = answerReader(options);
  let isTaken = false;
  let isMisplaced = false;
  let router: RouterSeen = "never";

  const tell = (mistake: Mistake | undefined): void => mistake && warn(mistake.code, mistake.message);

  return {
    takeWellKnown: () => void (isTaken = true),
    atRouter(req) {
      reached.set(req, server);
      tell(addressMistake(req, origin));
      if (router !== "never") return;
      const { baseUrl: mountPath = "" } = req;
      router = mountPath.toLowerCase() === expected.toLowerCase() ? "in-place" : "elsewhere";
      if (router === "elsewhere") {
        const shown = mountPath.slice(0, maxShownPath);
        tell(mountMistake("router-mounted-elsewhere", routerText({ baseUrl, mountPath: shown })));
      } else if (!isTaken) tell(mountMistake("well-known-not-mounted", noWellKnown));
    },
    atWellKnown(req, res) {
      reached.set(req, server);
      const { baseUrl: mountPath = "", originalUrl = "" } = req;
      if (mountPath !== "" && !isMisplaced) {
        isMisplaced = true;
        tell(mountMistake("well-known-not-mounted", wellKnownText(mountPath.slice(0, maxShownPath))));
      }
      // the router may be mounted behind this one
      if (router === "never") res.once("finish", () => tell(mistakeIn(originalUrl, { res, router })));
    },
    atAnswer(req, res) {
      const { url = "", originalUrl = url } = req;
      const found = reached.get(req) ?? server;
      // while a host changes from one server to the next, its routes still use the one before
      const isOfAnother = found !== server && found.baseUrl === baseUrl;
      // other servers of this process may have the same paths, in tests for example
      if (req.headers.host === host && !isOfAnother) tell(mistakeIn(originalUrl, { res, router }));
    },
  };
}

const answers = "http.server.response.finish";
/** Base URL → the check of the newest server with it. Node tells of answers for the whole process, so this is kept for the process. */
const watched = new Map<string, WeakRef<MountCheck>>();

function showAnswer(message: unknown): void {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
  for (const [baseUrl, held] of watched) {
    const check = held.deref();
    if (check) check.atAnswer(request, response);
    else watched.delete(baseUrl);
  }
  if (watched.size === 0) unsubscribe(answers, showAnswer);
}

/**
 * Shows the check every answer of the process, as a router that is mounted in the wrong place sees no request. It is held weakly:
 * an authorization server that is no longer used is not kept, and one that is made anew replaces the one before.
 */
export function watchAnswers(check: MountCheck, baseUrl: string): void {
  if (watched.size === 0) subscribe(answers, showAnswer);
  watched.set(baseUrl, new WeakRef(check));
}
