/** Finds mistakes in how the routers are mounted, at the first request. RFC 8414 §3.1, 9728 §3.1. */

/** What is known when the first request arrives. */
export interface Mounting {
  /** The option, without a trailing slash. */
  readonly baseUrl: string;
  /** The path at which Express has mounted the router, empty for the root. */
  readonly mountPath: string;
  /** True once the host has read `auth.wellKnown`, presumably to mount it. */
  readonly isWellKnownTaken: boolean;
}

/** The path of a URL without a trailing slash, so empty for an origin. */
export function mountPathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, "");
}

/** What is wrong with the mounting and what to write instead, or `undefined` when nothing is. */
export function mountProblem({ baseUrl, mountPath, isWellKnownTaken }: Mounting): string | undefined {
  const expected = mountPathOf(baseUrl);
  if (mountPath !== expected) {
    return `auth.router is mounted at "${mountPath}", but baseUrl is ${baseUrl}: write app.use("${expected || "/"}", auth.router), unless a proxy rewrites paths.`;
  }
  if (isWellKnownTaken) return undefined;
  return "auth.wellKnown is not mounted: clients find no metadata at the root of the origin. Write app.use(auth.wellKnown).";
}
