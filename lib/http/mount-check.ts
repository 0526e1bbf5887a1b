/** Mistakes of mounting that show with the first requests, in development. RFC 8414 §3.1, 9728 §3.1. */
import type { Request, Response } from "express";

/** Looks at requests as they come to the two routers. */
export interface MountCheck {
  /** At every request that comes to `auth.router`. */
  readonly atRouter: (req: Request) => void;
  /** At every request that comes to `auth.wellKnown`. */
  readonly atWellKnown: (req: Request, res: Response) => void;
  /** The host has taken `auth.wellKnown`, to mount it. */
  readonly takeWellKnown: () => void;
}

/** The path of a URL, without a slash at its end. */
export function mountPathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, "");
}

function routerText({ baseUrl, mountPath }: { baseUrl: string; mountPath: string }): string {
  const [expected, actual] = [mountPathOf(baseUrl) || "/", mountPath || "/"];
  return `auth.router is mounted at "${actual}", but the path of baseUrl (${baseUrl}) is "${expected}". Write app.use("${expected}", auth.router). Only if a proxy in front of this app changes "${expected}" to "${actual}", the mounting is right: leave it then.`;
}

const noWellKnown =
  "auth.wellKnown is not mounted: clients find no metadata at the root of the origin. Write app.use(auth.wellKnown).";

function wellKnownText(mountPath: string): string {
  return `auth.wellKnown is mounted at "${mountPath}", where no client looks for it: its documents are at the root of the origin. Write app.use(auth.wellKnown).`;
}

function unreachedText(expected: string): string {
  return `A request for ${expected}/auth/… was answered 404 and has not come to auth.router. Write app.use("${expected || "/"}", auth.router), ahead of the handler that answers 404.`;
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
