/** Mistakes of mounting that show with the first request. RFC 8414 §3.1, 9728 §3.1. */
import { Router, type NextFunction, type Request, type Response } from "express";

export interface MountCheckOptions {
  readonly baseUrl: string;
  /** True once the host has taken `auth.wellKnown` to mount it. */
  readonly isWellKnownTaken: () => boolean;
  readonly warn: (message: string) => void;
}

function mountProblem(
  { baseUrl, isWellKnownTaken }: MountCheckOptions,
  { baseUrl: mountPath }: Request,
): string | undefined {
  const expected = new URL(baseUrl).pathname.replace(/\/$/, "");
  if (mountPath !== expected) {
    return `auth.router is mounted at "${mountPath}", but baseUrl is ${baseUrl}: write app.use("${expected || "/"}", auth.router), unless a proxy rewrites paths.`;
  }
  if (isWellKnownTaken()) return undefined;
  return "auth.wellKnown is not mounted: clients find no metadata at the root of the origin. Write app.use(auth.wellKnown).";
}

/** The same router, which at its first request warns of what is wrong with the mounting. For development. */
export function checkingMount(router: Router, options: MountCheckOptions): Router {
  let checked = false;
  return Router().use((req: Request, _: Response, next: NextFunction) => {
    const problem = checked ? undefined : mountProblem(options, req);
    checked = true;
    if (problem !== undefined) options.warn(problem);
    next();
  }, router);
}
