/** One valid (authentication method, API) pair acting as an authorization server. RFC 8414 §2, 9207 §2, 8707 §2. */

/** Lifetimes in seconds. RFC 6749 §4.1.2, §10.4. */
export interface Lifetimes {
  readonly authorizationCodeSeconds: number;
  readonly interactionSeconds: number;
  readonly refreshTokenIdleSeconds: number;
  readonly refreshTokenSeconds: number;
  /** 0: no consent is remembered, and none that was is looked up. */
  readonly consentSeconds: number;
}

/** What a scope allows, as people read it: a sentence, or language (BCP 47) → sentence. */
export type ScopeSentence = string | Readonly<Record<string, string>>;

/** Scope → the scopes that come with it, and those that come with these. */
export type ImpliedScopes = ReadonlyMap<string, readonly string[]>;

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

/** A pair of an authentication method and an API, which acts as an authorization server. */
export interface Issuer {
  /** The issuer identifier: `{baseUrl}/auth/{authMethodId}/api/{apiId}`. */
  readonly identifier: string;
  readonly authMethodId: string;
  readonly api: Api;
}

/**
 * The endpoints of an issuer, by the names that its metadata gives them → their paths below the issuer identifier. The routes and
 * the metadata follow from this list.
 *
 * @rfc 6749 §3, 7009 §2, 7662 §2, 8414 §2
 */
export const endpointPaths = {
  authorization: "authorize",
  token: "token",
  revocation: "revoke",
  introspection: "introspect",
} as const;

/** An endpoint of an issuer. */
export type EndpointName = keyof typeof endpointPaths;

/** True for an id that stands in a URL path as it is. */
export function isPathId(id: string): boolean {
  return /^[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,63}$/.test(id);
}

/** An origin has an empty path and the path `/` for one thing (RFC 3986 §6.2.3), and clients write either. */
function withoutSlashOfOrigin(url: string): string {
  return url.replace(/^([a-z]+:\/\/[^/?#]+)\/$/, "$1");
}

/** True when a `resource` parameter names this issuer's API. Nothing but the slash of an origin is overlooked. @rfc 8707 §2 */
export function isResourceOf(issuer: Issuer, resource: string): boolean {
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
