/** Finds mistakes in how the routers are mounted, at the first requests, in development. RFC 8414 §3.1, 9728 §3.1. */
import type { Request, Response } from "express";

/** Looks at the requests that reach the two routers. */
export interface MountCheck {
  /** To be called for every request that reaches `auth.router`. */
  readonly atRouter: (req: Request) => void;
  /** To be called for every request that reaches `auth.wellKnown`. */
  readonly atWellKnown: (req: Request, res: Response) => void;
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

/** Warns once of each mistake. */
export function mountCheck({
  baseUrl,
  warn,
}: {
  baseUrl: string;
  warn: (code: string, message: string) => void;
}): MountCheck {
  const expected = mountPathOf(baseUrl);
  const told = new Set<string>();
  let isTaken = false;
  let isReached = false;

  function warnOnce(message: string): void {
    if (!told.has(message)) warn("AUTHMOUNT_MOUNT", message);
    told.add(message);
  }

  return {
    takeWellKnown: () => void (isTaken = true),
    atRouter({ baseUrl: mountPath }) {
      if (isReached) return;
      isReached = true;
      if (mountPath !== expected) warnOnce(routerText({ baseUrl, mountPath }));
      else if (!isTaken) warnOnce(noWellKnown);
    },
    atWellKnown({ baseUrl: mountPath, originalUrl }, res) {
      if (mountPath !== "") warnOnce(wellKnownText(mountPath));
      if (isReached || !originalUrl.startsWith(`${expected}/auth/`)) return;
      // the router may stand behind this one
      res.once("finish", () => {
        if (!isReached && res.statusCode === 404) warnOnce(unreachedText(expected));
      });
    },
  };
}
