/** One valid (authentication method, API) pair acting as an authorization server. RFC 8414 §2, 9207 §2, 8707 §2. */
import { parseUrl } from "./parsed-url";

/** Lifetimes in seconds. RFC 6749 §4.1.2, §10.4. */
export interface Lifetimes {
  /** How long a code can be redeemed. */
  readonly authorizationCodeSeconds: number;
  /** How long the person may take for signing in and consent. */
  readonly interactionSeconds: number;
  /** How long a refresh token may stay unused. */
  readonly refreshTokenIdleSeconds: number;
  /** How long an authorization can be refreshed at most, counted from the approval. */
  readonly refreshTokenSeconds: number;
  /**
   * For how long a refresh can be repeated when its answer was lost, 0 to 60. Within that time of the first use, the same client gets
   * the same successor again. 0: a refresh token that is used twice always ends its authorization.
   */
  readonly refreshRetrySeconds: number;
  /** 0: no consent is remembered, and consents that were remembered before are not used. */
  readonly consentSeconds: number;
}

/** What a scope allows, in words for people: a sentence, or language tag (BCP 47) → sentence. */
export type ScopeSentence = string | Readonly<Record<string, string>>;

/** Scope → the scopes that it implies, directly or through other scopes. */
export type ImpliedScopes = ReadonlyMap<string, readonly string[]>;

/** What an API with `openid` tells of people. */
export interface ApiOpenId {
  /** Scope → the claims that it opens. Its names are the identity scopes of the API. */
  readonly claims: Readonly<Record<string, readonly string[]>>;
  /** The algorithm of its ID tokens, by its name in RFC 7518. */
  readonly idTokenAlgorithm: string;
  /** The audiences of all APIs of the server: a client with such an id could pass its ID tokens off as access tokens. */
  readonly audiences: readonly string[];
}

/** How an API binds tokens to keys of clients. @rfc 9449 §5, §7 */
export interface ApiDpop {
  /** `true`: no token without a key. */
  readonly required: boolean;
  /** The public URL of the root of the app; left out where it is the origin of the audience. */
  readonly publicUrl?: string;
}

/** Who may exchange tokens of another API, and for what. */
export interface ExchangeSource {
  /** Ids of the clients that may: the resource servers of that API. */
  readonly clients: readonly string[];
  /** Scope of that API → what it becomes here. Those that are not named become nothing. */
  readonly scopes: Readonly<Record<string, readonly string[]>>;
}

/** From which tokens those of an API can be made. @rfc 8693 §2.1 */
export interface ApiExchange {
  /** By the ids of the other APIs. */
  readonly sources: ReadonlyMap<string, ExchangeSource>;
  /** All APIs of the server, by their ids: a token that was exchanged more than once may begin at any of them. */
  readonly apis: ReadonlyMap<string, Api>;
}

/** An API as the rules see it: the host's options with all defaults filled in. */
export interface Api {
  readonly apiId: string;
  /** The API's name on the consent page. */
  readonly name: string;
  /** Resource identifier: the `aud` of its access tokens and the only `resource` that the API accepts. */
  readonly audience: string;
  /** Scope name → the sentence that people read on the consent page. */
  readonly scopes: Readonly<Record<string, ScopeSentence>>;
  /** Scope name → one more line that explains it; not all scopes have one. */
  readonly explanations: Readonly<Record<string, ScopeSentence>>;
  /** Scope name → all scopes that it implies. */
  readonly impliedScopes: ImpliedScopes;
  /** The scopes of a request without `scope`. */
  readonly defaultScopes: readonly string[];
  readonly accessTokenSeconds: number;
  readonly accessTokenFormat: "jwt" | "opaque";
  /** Whether a request may leave out `redirect_uri`. */
  readonly redirectUri: "required" | "optional";
  /** Whether a request may leave out `scope`. */
  readonly scope: "required" | "optional";
  /** Whether authorization requests may or must be pushed (RFC 9126); left out where there is no such endpoint. */
  readonly pushedRequests?: "optional" | "required";
  /** `true` where devices can ask (RFC 8628). */
  readonly deviceAuthorization?: true;
  /** `"key"`: clients must prove themselves with a key. Left out, as all that follow: as their records say. */
  readonly clientProof?: "key";
  /** `"text"`: `aud` of assertions is the issuer, and no list of one. */
  readonly assertionAudience?: "text";
  /** The algorithms of assertions. Left out: all that are known. */
  readonly assertionAlgorithms?: readonly string[];
  /** `"all"`: confidential clients must use PKCE too. */
  readonly pkce?: "all";
  /** `"keep"`: refresh tokens are not replaced when they are used. */
  readonly refreshRotation?: "keep";
  /** `"https"`: redirect URIs must be https. */
  readonly redirects?: "https";
  /** What happens to a request for scopes that the client may not have. */
  readonly unknownScopes: "refuse" | "ignore";
  readonly refreshTokenExpiry: "omit" | "state";
  readonly lifetimes: Lifetimes;
  /** Which clients that the host has not registered may come. */
  readonly selfDescribed: {
    /** Those with a client id metadata document. */
    readonly documents: boolean;
    /** Those that register themselves (RFC 7591). */
    readonly registrations: boolean;
  };
  /** What its issuers tell of people; left out where they are no OpenID providers. */
  readonly openid?: ApiOpenId | undefined;
  /** How its tokens are bound to keys; left out where they are not. */
  readonly dpop?: ApiDpop;
  /** From which tokens its own can be made; left out where from none. */
  readonly tokenExchange?: ApiExchange;
  /** The origins of `baseUrl` and of the audiences of all APIs. */
  readonly ownOrigins: readonly string[];
  /** URL of the protected resource metadata of this API (RFC 9728). */
  readonly metadataUrl: string;
  /** Identifiers of its issuers, in the order of `authMethods`. */
  readonly issuers: readonly string[];
  /** How its people can sign in, as `acr`; left out for an API of another server, where nobody here knows. */
  readonly acrValues?: readonly string[];
}

/** What protecting the routes of an API needs to know of it. */
export type ProtectedApi = Pick<
  Api,
  "apiId" | "audience" | "metadataUrl" | "scopes" | "defaultScopes" | "openid" | "acrValues" | "dpop"
>;

/** The scopes of an API that open its routes, and no claims. */
export function ownScopes({
  scopes,
  openid,
}: Pick<Api, "openid"> & { readonly scopes: Readonly<Record<string, unknown>> }): readonly string[] {
  const names = Object.keys(scopes);
  return openid ? names.filter((name) => !Object.hasOwn(openid.claims, name)) : names;
}

/** A pair of an authentication method and an API that acts as an authorization server. */
export interface Issuer {
  /** The issuer identifier: `{baseUrl}/auth/{authMethodId}/api/{apiId}`. */
  readonly identifier: string;
  readonly authMethodId: string;
  readonly api: Api;
  /** `true` where relying parties can have people signed out. */
  readonly signsOut?: boolean;
  /** `true` where identity providers can vouch for people. */
  readonly identityAssertions?: boolean;
}

/** The APIs of these issuers, each one once. */
export function apisOf(issuers: readonly Issuer[]): readonly Api[] {
  return [...new Set(issuers.map(({ api }) => api))];
}

/** True for a URL of one of these origins. A dot at the end of the host leads to the same server. */
export function hasOrigin(url: string, origins: readonly string[]): boolean {
  const origin = parseUrl(url)?.origin.replace(/\.(?=:\d+$|$)/, "");
  return origin !== undefined && origins.includes(origin);
}

/**
 * The origins that a client may not name if nobody registered it, unless the host lists them. With such an origin, people would think that
 * the host itself asks, and a redirect there, even for a no, is a GET with the cookies of the host's site.
 */
export function reservedOrigins({ api }: Issuer, named: readonly string[]): readonly string[] {
  return api.ownOrigins.filter((origin) => !named.includes(origin));
}

/** The identifier of the issuer of a pair. */
export function issuerIdentifier(
  baseUrl: string,
  { authMethodId, apiId }: { readonly authMethodId: string; readonly apiId: string },
): string {
  return `${baseUrl}/auth/${authMethodId}/api/${apiId}`;
}

/** The `baseUrl` of the server that an issuer belongs to. */
export function baseUrlOf({ identifier, authMethodId, api: { apiId } }: Issuer): string {
  return identifier.slice(0, -`/auth/${authMethodId}/api/${apiId}`.length);
}

/** The path of a URL without a trailing slash, so empty for an origin. */
export function mountPathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, "");
}

/** The name of an endpoint that clients call themselves, by a form with their credentials. */
export type ClientEndpointName =
  "token" | "revocation" | "pushed_authorization_request" | "device_authorization" | "introspection";

/** The name of an endpoint of an issuer. */
export type EndpointName = "authorization" | ClientEndpointName | "registration" | "userinfo" | "end_session";

/** Where an endpoint is, and which issuers have it. */
export interface Endpoint {
  /** Below the issuer identifier. */
  readonly path: string;
  /** True for the issuers that have it. Left out: all of them. */
  readonly on?: (issuer: Issuer) => boolean;
}

/**
 * The endpoints of an issuer by their names in the metadata. The routes and the metadata follow from this list.
 *
 * @rfc 6749 §3, 7009 §2, 7591 §3, 7662 §2, 8414 §2, 8628 §3.1, 9126 §2, OpenID Connect Core §5.3, RP-Initiated Logout §2.1
 */
export const endpoints: Readonly<Record<EndpointName, Endpoint>> = {
  authorization: { path: "authorize" },
  token: { path: "token" },
  revocation: { path: "revoke" },
  pushed_authorization_request: { path: "par", on: ({ api }) => api.pushedRequests !== undefined },
  device_authorization: {
    path: "device_authorization",
    on: ({ api }) => api.deviceAuthorization === true,
  },
  introspection: { path: "introspect" },
  registration: { path: "register", on: ({ api }) => api.selfDescribed.registrations },
  userinfo: { path: "userinfo", on: ({ api }) => api.openid !== undefined },
  end_session: { path: "logout", on: ({ signsOut }) => signsOut === true },
};

/** True for an id that needs no encoding in a URL path. A leading dot is refused: browsers and proxies resolve `.` and `..`. */
export function isPathId(id: string): boolean {
  return /^[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,63}$/.test(id);
}

/** True for the identifier of an issuer of the server at `baseUrl`. */
export function isIssuerBelow(baseUrl: string, identifier: string): boolean {
  if (!identifier.startsWith(`${baseUrl}/`)) return false;
  const [auth, authMethodId = "", api, apiId = "", ...more] = identifier.slice(baseUrl.length + 1).split("/");
  return auth === "auth" && api === "api" && more.length === 0 && isPathId(authMethodId) && isPathId(apiId);
}

/** For an origin, an empty path and `/` mean the same (RFC 3986 §6.2.3), and clients write either. */
function withoutSlashOfOrigin(url: string): string {
  return url.replace(/^([a-z]+:\/\/[^/?#]+)\/$/, "$1");
}

/**
 * True when a `resource` parameter names this issuer's API. Apart from the slash after an origin, the comparison is exact.
 *
 * @rfc 8707 §2
 */
export function isResourceOf(issuer: Issuer, resource: string): boolean {
  return withoutSlashOfOrigin(resource) === withoutSlashOfOrigin(issuer.api.audience);
}

/** Inserts the well-known part between origin and path. @rfc 8414 §3.1, 9728 §3.1 */
function wellKnownUrl(name: string, url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}/.well-known/${name}${pathname === "/" ? "" : pathname}`;
}

/** Where clients look for the metadata of an issuer. @rfc 8414 §3.1 */
export function serverMetadataUrl({ identifier }: Issuer): string {
  return wellKnownUrl("oauth-authorization-server", identifier);
}

/** The path of the metadata below an issuer. It needs nothing at the root of the origin. */
export const metadataPath = ".well-known/oauth-authorization-server";

/** The same document where relying parties look for it. @rfc OpenID Connect Discovery §4 */
export const openidMetadataPath = ".well-known/openid-configuration";

/** The metadata of an issuer, where the router itself serves it. */
export function metadataUrlBelow(identifier: string): string {
  return `${identifier}/${metadataPath}`;
}

/** Where clients look for it that ask at the root of the origin for OpenID Connect. @rfc 8414 §5 */
export function openidMetadataUrl({ identifier }: Issuer): string {
  return wellKnownUrl("openid-configuration", identifier);
}

/** Where clients look for the metadata of a resource. @rfc 9728 §3.1 */
export function protectedResourceMetadataUrl(audience: string): string {
  return wellKnownUrl("oauth-protected-resource", audience);
}
