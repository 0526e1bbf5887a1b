/** Mistakes of mounting that show with the first request. RFC 8414 §3.1, 9728 §3.1. */

/** What is known when the first request comes. */
export interface Mounting {
  readonly baseUrl: string;
  /** The path at which Express has mounted the router. */
  readonly mountPath: string;
  /** True once the host has taken `auth.wellKnown` to mount it. */
  readonly isWellKnownTaken: boolean;
}

/** The path of a URL, without a slash at its end. */
export function mountPathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, "");
}

/** What is wrong with the mounting and what to write, or `undefined`. */
export function mountProblem({ baseUrl, mountPath, isWellKnownTaken }: Mounting): string | undefined {
  const expected = mountPathOf(baseUrl);
  if (mountPath !== expected) {
    return `auth.router is mounted at "${mountPath}", but baseUrl is ${baseUrl}: write app.use("${expected || "/"}", auth.router), unless a proxy rewrites paths.`;
  }
  if (isWellKnownTaken) return undefined;
  return "auth.wellKnown is not mounted: clients find no metadata at the root of the origin. Write app.use(auth.wellKnown).";
}
