/** Why a request that was meant for this library was answered with 404. For developers. RFC 8414 §3.1, 9728 §3.1. */
import { endpoints } from "../protocol/issuer";

/** How the routers can be mounted or asked wrongly. */
export type MountWarningCode =
  | "router-mounted-elsewhere"
  | "well-known-not-mounted"
  | "router-never-reached"
  | "base-path-missing"
  | "unknown-address"
  | "openid-metadata-asked"
  | "opened-at-other-address"
  | "preflight-of-api-unanswered";

/** A mistake in how the routers are mounted or asked, and the warning about it. */
export interface Mistake {
  readonly code: MountWarningCode;
  readonly message: string;
}

/** A mistake with its id. */
export function mountMistake(code: MountWarningCode, message: string): Mistake {
  return { code, message };
}

/** Where `auth.router` was found: no request has reached it, or one has, at the path of `baseUrl` or at another one. */
export type RouterSeen = "never" | "in-place" | "elsewhere";

/** Where everything of a server is. */
export interface Addresses {
  /** The path of `baseUrl` without a trailing slash. */
  readonly mountPath: string;
  /** Identifiers of the issuers. There is at least one. */
  readonly issuers: readonly string[];
  /** URLs of the metadata at the root of the origin. */
  readonly documents: readonly string[];
}

/** A path in a warning: it comes from a request. */
export const maxShownPath = 100;

const pathOf = (url: string): string => new URL(url).pathname.toLowerCase();

function unservedText(path: string, answer: "404" | "an HTML page"): string {
  return `A request for ${path} was answered with ${answer}. Clients look there for metadata: write app.use(auth.wellKnown), without a path and before the handler that answers ${answer}.`;
}

function openidText(path: string, [document]: readonly string[]): string {
  return `A client asked for ${path}, the metadata of OpenID Connect, and the answer was 404: no API has openid at this address. Set the client to OAuth 2.0 and have it read ${document}, or give its API the option openid.`;
}

function unreachedText(mountPath: string): string {
  return `A request for ${mountPath}/auth/… was answered with 404 and never reached auth.router. Write app.use("${mountPath || "/"}", auth.router), before the handler that answers 404.`;
}

function strippedText(mountPath: string): string {
  return `A request for /auth/… was answered with 404, because the path of baseUrl is "${mountPath}". If the client left out "${mountPath}", correct the client. If a proxy in front of this app removes it, write app.use("/", auth.router), or let the proxy keep the path.`;
}

function endpointText(path: string, { issuers, documents: [document] }: Addresses): string {
  return `A request for ${path} was answered with 404: there is no such address. Endpoints are directly below an issuer, such as ${issuers[0]}/token; its metadata is at ${document}. Issuers: ${issuers.join(", ")}.`;
}

/** Gives a function that names the mistake behind an HTML page: a handler for every path that shows an app in the place of metadata. */
export function pageReader({
  documents,
}: Pick<Addresses, "documents">): (path: string) => Mistake | undefined {
  const documentPaths = new Set(documents.map(pathOf));
  return (shown) =>
    documentPaths.has(shown.toLowerCase())
      ? mountMistake("well-known-not-mounted", unservedText(shown.slice(0, maxShownPath), "an HTML page"))
      : undefined;
}

/**
 * Gives a function that names the mistake behind a 404, or `undefined` for a request that has nothing to do with this server.
 * Express compares paths without case.
 */
export function notFoundReader(
  addresses: Addresses,
): (path: string, router: RouterSeen) => Mistake | undefined {
  const { mountPath, issuers, documents } = addresses;
  const mount = mountPath.toLowerCase();
  const documentPaths = new Set(documents.map(pathOf));
  const issuerPaths = issuers.map((identifier) => `${pathOf(identifier)}/`);
  // where only some issuers have an endpoint, the path may be the host's own
  const everywhere = Object.values(endpoints).filter(({ on }) => !on);
  const bare = new Set([mount, ""].flatMap((start) => everywhere.map(({ path }) => `${start}/${path}`)));

  const openid = "/.well-known/openid-configuration";

  /** True for metadata at the root of the origin, of no issuer or of one below `baseUrl`. */
  function isMetadata(path: string, part: string): boolean {
    const issuer = path.startsWith(part) ? path.slice(part.length) : undefined;
    return issuer === "" || issuer?.startsWith(`${mount}/`) === true;
  }

  return (shown, router) => {
    const path = shown.toLowerCase();
    const short = shown.slice(0, maxShownPath);
    const isAtIssuer = issuerPaths.some((start) => path.startsWith(start));
    const endpoint = mountMistake("unknown-address", endpointText(short, addresses));
    if (documentPaths.has(path)) return mountMistake("well-known-not-mounted", unservedText(short, "404"));
    if (isAtIssuer && router === "never")
      return mountMistake("router-never-reached", unreachedText(mountPath));
    if (isMetadata(path, openid) || (isAtIssuer && path.endsWith(openid)))
      return mountMistake("openid-metadata-asked", openidText(short, documents));
    if (isAtIssuer) return router === "in-place" ? endpoint : undefined;
    if (issuerPaths.some((start) => path.startsWith(start.slice(mount.length))))
      return router === "elsewhere" ? undefined : mountMistake("base-path-missing", strippedText(mountPath));
    const isLikeIssuer = path.startsWith(mount) && /^\/+auth\/+[^/]+\/+api\//.test(path.slice(mount.length));
    const isLike =
      isLikeIssuer || bare.has(path) || isMetadata(path, "/.well-known/oauth-authorization-server");
    return isLike ? endpoint : undefined;
  };
}
