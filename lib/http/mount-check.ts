/** Finds mistakes in how the routers are mounted, from the first requests, in development. RFC 8414 §3.1, 9728 §3.1. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Request } from "express";
import {
  maxShownPath,
  type Mistake,
  mountMistake,
  notFoundReader,
  pageReader,
  type RouterSeen,
} from "./not-found";

/** What Express says about where a request was routed. Outside of Express there is nothing of it. */
type SeenRequest = Partial<Pick<Request, "baseUrl" | "originalUrl">>;

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

/** The path of a URL without a trailing slash, so empty for an origin. */
export function mountPathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, "");
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

/** What the check knows. */
export interface MountCheckOptions {
  readonly baseUrl: string;
  /** Identifiers of the issuers: a request below one of their paths is for `auth.router`. */
  readonly issuers: readonly string[];
  /** URLs of the metadata that `auth.wellKnown` serves. */
  readonly documents: readonly string[];
  readonly warn: (code: string, message: string) => void;
}

/** Request → the server that it has reached. */
const reached = new WeakMap<object, { readonly baseUrl: string }>();

/** Warns once about each kind of mistake. */
export function mountCheck(options: MountCheckOptions): MountCheck {
  const check = mistakesOf(options);
  const { baseUrl } = options;
  const server = { baseUrl };
  return {
    ...check,
    atRouter(req) {
      reached.set(req, server);
      check.atRouter(req);
    },
    atWellKnown(req, res) {
      reached.set(req, server);
      check.atWellKnown(req, res);
    },
    atAnswer(req, res) {
      const found = reached.get(req) ?? server;
      // while a host changes from one server to the next, its routes still use the one before
      if (found === server || found.baseUrl !== baseUrl) check.atAnswer(req, res);
    },
  };
}

/** Looks for mistakes. Express compares paths without case. */
function mistakesOf({ baseUrl, issuers, documents, warn }: MountCheckOptions): MountCheck {
  const expected = mountPathOf(baseUrl);
  const { host } = new URL(baseUrl);
  const readNotFound = notFoundReader({ mountPath: expected, issuers, documents });
  const readPage = pageReader({ documents });
  const told = new Set<Mistake["kind"]>();
  let isTaken = false;
  let router: RouterSeen = "never";

  function warnOnce({ kind, code, message }: Mistake): void {
    if (!told.has(kind)) warn(code, message);
    told.add(kind);
  }

  function readAnswer(url: string, res: ServerResponse): void {
    const [path = ""] = url.split("?", 1);
    const isPage = res.statusCode === 200 && String(res.getHeader("content-type")).startsWith("text/html");
    const notFound = res.statusCode === 404 ? readNotFound(path, router) : undefined;
    const mistake = isPage ? readPage(path) : notFound;
    if (mistake) warnOnce(mistake);
  }

  return {
    takeWellKnown: () => void (isTaken = true),
    atRouter({ baseUrl: mountPath = "" }) {
      if (router !== "never") return;
      router = mountPath.toLowerCase() === expected.toLowerCase() ? "in-place" : "elsewhere";
      if (router === "elsewhere") {
        const shown = mountPath.slice(0, maxShownPath);
        warnOnce(mountMistake("router", routerText({ baseUrl, mountPath: shown })));
      } else if (!isTaken) warnOnce(mountMistake("wellKnown", noWellKnown));
    },
    atWellKnown({ baseUrl: mountPath = "", originalUrl = "" }, res) {
      if (mountPath !== "")
        warnOnce(mountMistake("wellKnown", wellKnownText(mountPath.slice(0, maxShownPath))));
      // the router may be mounted behind this one
      if (router === "never") res.once("finish", () => readAnswer(originalUrl, res));
    },
    atAnswer({ headers, url = "", originalUrl = url }, res) {
      // other servers of this process may have the same paths, in tests for example
      if (headers.host === host) readAnswer(originalUrl, res);
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
