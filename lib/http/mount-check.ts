/** Finds mistakes in how the routers are mounted, at the first requests, in development. RFC 8414 §3.1, 9728 §3.1. */
import type { Request, Response } from "express";

/** What Express says about where a request was routed. Outside of Express there is nothing of it. */
type SeenRequest = Partial<Pick<Request, "baseUrl" | "originalUrl">>;

/** Looks at the requests that reach the two routers. */
export interface MountCheck {
  /** To be called for every request that reaches `auth.router`. */
  readonly atRouter: (req: SeenRequest) => void;
  /** To be called for every request that reaches `auth.wellKnown`. */
  readonly atWellKnown: (req: SeenRequest, res: Response) => void;
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

function unreachedText(expected: string): string {
  return `A request for ${expected}/auth/… was answered with 404 and never reached auth.router. Write app.use("${expected || "/"}", auth.router), before the handler that answers 404.`;
}

function strippedText(expected: string): string {
  return `A request for /auth/… was answered with 404. A proxy in front of this app seems to remove "${expected}" from the path: write app.use("/", auth.router), or let the proxy keep the path.`;
}

/** What the check knows. */
export interface MountCheckOptions {
  readonly baseUrl: string;
  /** Identifiers of the issuers: a request below one of their paths is for `auth.router`. */
  readonly issuers: readonly string[];
  readonly warn: (code: string, message: string) => void;
}

type Mistake = "router" | "wellKnown" | "unreached" | "stripped";

/** The path in a warning: it may come from a request, where a host mounts at a pattern. */
const maxPath = 100;

/** Warns once about each kind of mistake. Express compares paths without case. */
export function mountCheck({ baseUrl, issuers, warn }: MountCheckOptions): MountCheck {
  const expected = mountPathOf(baseUrl);
  const issuerPaths = issuers.map((identifier) => `${new URL(identifier).pathname}/`.toLowerCase());
  const told = new Set<Mistake>();
  let isTaken = false;
  let isReached = false;

  function warnOnce(mistake: Mistake, message: string): void {
    if (!told.has(mistake)) warn("AUTHMOUNT_MOUNT", message);
    told.add(mistake);
  }

  return {
    takeWellKnown: () => void (isTaken = true),
    atRouter({ baseUrl: mountPath = "" }) {
      if (isReached) return;
      isReached = true;
      if (mountPath.toLowerCase() !== expected.toLowerCase())
        warnOnce("router", routerText({ baseUrl, mountPath: mountPath.slice(0, maxPath) }));
      else if (!isTaken) warnOnce("wellKnown", noWellKnown);
    },
    atWellKnown({ baseUrl: mountPath = "", originalUrl = "" }, res) {
      if (mountPath !== "") warnOnce("wellKnown", wellKnownText(mountPath.slice(0, maxPath)));
      if (isReached) return;
      const path = originalUrl.toLowerCase();
      const isWhole = issuerPaths.some((issuer) => path.startsWith(issuer));
      const isStripped = issuerPaths.some((issuer) => path.startsWith(issuer.slice(expected.length)));
      if (!isWhole && !isStripped) return;
      // the router may be mounted behind this one
      res.once("finish", () => {
        if (isReached || res.statusCode !== 404) return;
        if (isWhole) warnOnce("unreached", unreachedText(expected));
        else warnOnce("stripped", strippedText(expected));
      });
    },
  };
}
