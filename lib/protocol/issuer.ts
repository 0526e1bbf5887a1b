/** One valid (authentication method, API) pair acting as an authorization server. RFC 8414 §2, 9207 §2, 8707 §2. */

import type { ImpliedScopes } from "./implied-scopes";
import type { Lifetimes } from "./lifetimes";

/** What a scope allows, as people read it: a sentence, or language (BCP 47) → sentence. */
export type ScopeSentence = string | Readonly<Record<string, string>>;

/** An API as the rules see it: the host's options with every default filled in. */
export interface Api {
  readonly apiId: string;
  /** What the consent page calls it. */
  readonly name: string;
  /** Resource identifier: `aud` of its access tokens and the only `resource` it answers to. */
  readonly audience: string;
  /** Scope name → the sentence a person reads on the consent page. */
  readonly scopes: Readonly<Record<string, ScopeSentence>>;
  readonly impliedScopes: ImpliedScopes;
  readonly defaultScopes: readonly string[];
  readonly accessTokenSeconds: number;
  readonly accessTokenFormat: "jwt" | "opaque";
  readonly redirectUri: "required" | "optional";
  readonly scope: "required" | "optional";
  readonly unknownScopes: "refuse" | "ignore";
  readonly lifetimes: Lifetimes;
  /** RFC 9728 document of this API. */
  readonly metadataUrl: string;
}

export interface Issuer {
  /** The issuer identifier: `{baseUrl}/auth/{authMethodId}/api/{apiId}`. */
  readonly identifier: string;
  readonly authMethodId: string;
  readonly api: Api;
}

/** True for an id that stands in a URL path as it is. */
export function isPathId(id: string): boolean {
  return /^[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,63}$/.test(id);
}

/** What a stored record says about where it was issued. */
export interface Issued {
  readonly issuer?: string;
  readonly authMethodId: string;
  readonly apiId: string;
}

/**
 * True when a stored record belongs to this issuer: nothing issued at one pair works at another, nor at the same pair of
 * another server that shares the storage.
 */
export function belongsTo({ issuer, authMethodId, apiId }: Issued, at: Issuer): boolean {
  // a record of a version that did not store the issuer
  if (issuer === undefined) return authMethodId === at.authMethodId && apiId === at.api.apiId;
  return issuer === at.identifier;
}

/** An origin has an empty path and the path `/` for one thing (RFC 3986 §6.2.3), and clients write either. */
function withoutSlashOfOrigin(url: string): string {
  return url.replace(/^([a-z]+:\/\/[^/?#]+)\/$/, "$1");
}

/** True when a `resource` parameter names this issuer's API, or is absent. Nothing but the slash of an origin is overlooked. @rfc 8707 §2 */
export function isResourceOf(issuer: Issuer, resource: string | undefined): boolean {
  if (resource === undefined || resource === issuer.api.audience) return true;
  return withoutSlashOfOrigin(resource) === withoutSlashOfOrigin(issuer.api.audience);
}

/** The well-known part goes between origin and path. @rfc 8414 §3.1, 9728 §3.1 */
function wellKnownUrl(name: string, url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}/.well-known/${name}${pathname === "/" ? "" : pathname}`;
}

/** Where clients look for the metadata of an issuer. @rfc 8414 §3.1 */
export function serverMetadataUrl({ identifier }: Issuer): string {
  return wellKnownUrl("oauth-authorization-server", identifier);
}

/** Where clients look for the metadata of a resource. @rfc 9728 §3.1 */
export function protectedResourceMetadataUrl(audience: string): string {
  return wellKnownUrl("oauth-protected-resource", audience);
}
