/** The client record and what it is registered for. RFC 6749 §2. */
import { intersect } from "./scope";
import { type Issuer, ownScopes } from "./issuer";
import type { EpochSeconds } from "./time";

/**
 * The grants of the token endpoint. The union, the schema of client records, the metadata and the texts follow from this list.
 *
 * @rfc 6749 §4, 8693 §2.1
 */
export const grantTypes = [
  "authorization_code",
  "refresh_token",
  "client_credentials",
  "urn:ietf:params:oauth:grant-type:jwt-bearer",
  "urn:ietf:params:oauth:grant-type:device_code",
  "urn:ietf:params:oauth:grant-type:token-exchange",
] as const;

/** A grant of the token endpoint. @rfc 6749 §4 */
export type GrantType = (typeof grantTypes)[number];

/** The grant for which an identity provider vouches. @rfc 7523 §2.1, draft-ietf-oauth-identity-assertion-authz-grant §4.4 */
export const assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** The grant by which a device gets its tokens. @rfc 8628 §3.4 */
export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/** The grant by which an API calls another one for the same person. @rfc 8693 §2.1 */
export const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";

/** How an authorization answer reaches a client. The metadata publishes this list. @rfc OAuth 2.0 Multiple Response Types §2.1, Form Post §2 */
export const responseModes = ["query", "form_post"] as const;

/**
 * `query`: in the query of a redirect. `form_post`: in a form that the browser posts by itself, so that no code is in a URL. OAuth 2.0
 * Multiple Response Types §2.1, Form Post Response Mode §2.
 */
export type ResponseMode = (typeof responseModes)[number];

/** What a client may do at one API. */
export interface Subscription {
  /** The scopes that the client may request; all scopes of the API when left out. */
  readonly scopes?: readonly string[];
  /** `true`: end users are not asked for consent to this client at this API. */
  readonly trusted?: boolean;
  /**
   * The grants that the client may use. Left out: authorization_code, refresh_token and client_credentials, as far as they are open to its
   * kind. Others need an option of the API, and must be named here.
   */
  readonly grantTypes?: readonly GrantType[];
}

/** Marks a client that nobody registered. Only the server sets it; in records of `storage.clients` it is ignored. */
export interface SelfDescription {
  /** `document`: its id is the URL of its metadata document. `registration`: it has registered itself (RFC 7591). */
  readonly by: "document" | "registration";
  /** Stands for its redirect URIs, its client authentication and where its keys are. A remembered consent is bound to these. */
  readonly digest: string;
}

interface ClientBase {
  /** 1 to 255 visible ASCII characters. */
  readonly clientId: string;
  /** The name that people see on the consent page. */
  readonly name: string;
  /**
   * Compared character for character (RFC 9700 §2.1), except for the port of an `http` loopback redirect of a native client, or
   * of a confidential one that uses PKCE (RFC 8252 §7.3).
   */
  readonly redirectUris: readonly string[];
  /** The response modes that the client may ask for. Left out: both for a confidential client, `query` for any other. */
  readonly responseModes?: readonly ResponseMode[];
  /**
   * Where people may be sent after they have signed out here at the client's wish. By the same rules as redirect URIs, compared character for
   * character (OpenID Connect RP-Initiated Logout §3.1).
   */
  readonly postLogoutRedirectUris?: readonly string[];
  /**
   * `true`: the client pushes its authorization requests, and others in its name are refused (`require_pushed_authorization_requests`). APIs
   * without `pushedRequests` refuse it.
   *
   * @rfc 9126 §6
   */
  readonly requirePushedRequests?: boolean;
  /** `true`: end users are never asked for consent. For the host's own clients only. */
  readonly trusted?: boolean;
  /** API id → what the client may do there. Without an entry the client has no access to the API. */
  readonly subscriptions: Readonly<Record<string, Subscription>>;
  /** Shown on the consent page: a `data:image/…;base64,` URI of at most 24 KB, because the pages load nothing. */
  readonly logo?: string;
  /** The client's home page, linked on the consent page. */
  readonly clientUri?: string;
  /** How the client uses people's data, linked on the consent page. */
  readonly policyUri?: string;
  /** The client's terms of service, linked on the consent page. */
  readonly tosUri?: string;
  /**
   * `true`: the client gets tokens for its key only, by every grant (`dpop_bound_access_tokens`). APIs without `dpop` refuse it.
   *
   * @rfc 9449 §5.2
   */
  readonly dpopBound?: boolean;
  /** `true`: the client is unknown everywhere, and so are its tokens. Nothing of it is deleted, so that it can be enabled again. */
  readonly disabled?: boolean;
  /** Set by the server for clients that nobody registered. */
  readonly selfDescription?: SelfDescription;
}

/** A client that can keep a secret, and proves itself with it. @rfc 6749 §2.3.1 */
export interface ConfidentialClient extends ClientBase {
  readonly confidential: true;
  /** Digests from `generateClientSecret()` or `digestClientSecret()`. Two during a rotation, the newest first: either secret works. */
  readonly secretDigests: readonly string[];
  /** When the second secret stops working, in seconds since 1970. Left out: when its digest is removed. */
  readonly oldSecretUntil?: EpochSeconds;
}

/** A public key as a JWK. @rfc 7517 §4 */
export type PublicJwk = Readonly<Record<string, unknown>> & { readonly kty: string };

/** Public keys. @rfc 7517 §5 */
export interface PublicKeySet {
  readonly keys: readonly PublicJwk[];
}

/** A confidential client that signs assertions with a private key (`private_key_jwt`). @rfc 7523 §2.2, §3 */
export interface KeyClient extends ClientBase {
  readonly confidential: true;
  /** Its public keys, from `generateClientKey()` or its own. Two during a rotation. Give either this or `jwksUri`. */
  readonly jwks?: PublicKeySet;
  /**
   * The https URL of its public keys, as `new URL(text).href` has it, with a host name and without port; on loopback also http, and any
   * port. They are fetched when the client authenticates, and remembered for as long as the answer allows, from
   * a minute to an hour; for a day while they cannot be fetched. They are fetched again for a key that is not among them.
   */
  readonly jwksUri?: string;
  /**
   * `true` also accepts assertions whose `aud` is the token endpoint. Some clients send that instead of the issuer, but an assertion for
   * one server may then be accepted at another (draft-ietf-oauth-rfc7523bis).
   */
  readonly allowTokenEndpointAudience?: boolean;
}

/** A client that runs in its end user's hands: it has no secret and must use PKCE. */
export interface PublicClient extends ClientBase {
  readonly confidential: false;
  /** `native`: an app on the device, with custom schemes and loopback. `browser`: a script on a web page, which needs CORS. */
  readonly platform: "native" | "browser";
}

/** A registered client. @rfc 6749 §2 */
export type Client = ConfidentialClient | KeyClient | PublicClient;

/** The form of a client id: 1 to 255 visible ASCII characters. @rfc 6749 Appendix A.1 */
export const clientIdPattern: RegExp = /^[\x21-\x7e]{1,255}$/;

/** True for text that can be the id of a registered client. @rfc 6749 Appendix A.1 */
export function isClientId(text: string): boolean {
  return clientIdPattern.test(text);
}

/** True when the client proves itself with a private key. */
export function isKeyClient(client: Client): client is KeyClient {
  return client.confidential && (client as Partial<ConfidentialClient>).secretDigests === undefined;
}

/** The client without a second secret whose time is over. */
export function withCurrentSecrets(client: Client, now: EpochSeconds): Client {
  const { secretDigests = [], oldSecretUntil } = client as Partial<ConfidentialClient>;
  if (oldSecretUntil === undefined || now < oldSecretUntil) return client;
  return { ...client, secretDigests: secretDigests.slice(0, 1) } as ConfidentialClient;
}

/** The flags of client records that need an option of the API. Where it is left out, nothing could keep what the flag promises. */
export const flagOptions = { dpopBound: "dpop", requirePushedRequests: "pushedRequests" } as const;

/** A flag of a client record. A row of the host's may have `null` for one that is left out. */
export type ClientFlag = keyof typeof flagOptions;

/** The options of APIs that flags need. */
export type FlagOption = (typeof flagOptions)[ClientFlag];

/** The names of all of them. */
export const clientFlags = Object.keys(flagOptions) as readonly ClientFlag[];

/** What clients that nobody registered call them. @rfc 9126 §6, 9449 §5.2 */
export const flagMetadata = {
  dpopBound: "dpop_bound_access_tokens",
  requirePushedRequests: "require_pushed_authorization_requests",
} as const;

/** The flags that metadata of a client sets. */
export function flagsIn(metadata: object): Readonly<Partial<Record<ClientFlag, true>>> {
  const set = clientFlags.filter((flag) => Reflect.get(metadata, flagMetadata[flag]) === true);
  return Object.fromEntries(set.map((flag) => [flag, true]));
}

/** The flags of the client whose option this API lacks. Clients that nobody registered write theirs for many servers. */
export function unmetFlags(
  client: Client,
  api: Readonly<Partial<Record<FlagOption, unknown>>>,
): readonly ClientFlag[] {
  return client.selfDescription
    ? []
    : clientFlags.filter((flag) => client[flag] === true && !api[flagOptions[flag]]);
}

type ClientKind = "confidential" | PublicClient["platform"];

/** The kinds of client that may use each grant. RFC 6749 §4.4, 9700 §4.14. */
const clientKinds: Readonly<Record<GrantType, readonly ClientKind[]>> = {
  authorization_code: ["confidential", "native", "browser"],
  // a script cannot protect a refresh token from other scripts on its page: a browser client asks again with prompt=none
  refresh_token: ["confidential", "native"],
  client_credentials: ["confidential"],
  [assertionGrant]: ["confidential"],
  [deviceGrant]: ["confidential", "native"],
  [exchangeGrant]: ["confidential"],
};

/** Which issuers have a grant that an option of the API brings. All others are at every issuer. */
const grantsByOption: Readonly<Partial<Record<GrantType, (issuer: Issuer) => boolean>>> = {
  [assertionGrant]: ({ identityAssertions = false }) => identityAssertions,
  [deviceGrant]: ({ api }) => api.deviceAuthorization === true,
  [exchangeGrant]: ({ api }) => api.tokenExchange !== undefined,
};

/** True for the name of a grant that the issuer has. */
export function hasGrant(issuer: Issuer, name: string): name is GrantType {
  return Object.hasOwn(clientKinds, name) && (grantsByOption[name as GrantType]?.(issuer) ?? true);
}

/** The grants of an issuer. */
export function grantTypesOf(issuer: Issuer): readonly GrantType[] {
  return grantTypes.filter((each) => hasGrant(issuer, each));
}

/** The grants of a subscription that names none. It does not grow with `grantTypes`: an upgrade must give nobody a new grant. */
const unnamedGrantTypes: readonly GrantType[] = ["authorization_code", "refresh_token", "client_credentials"];

/** What the client may do at this API, or `undefined` when it has no subscription there. */
export function subscriptionOf(client: Client, apiId: string): Subscription | undefined {
  // an own property only: an API may have an id that every object inherits, such as "constructor"
  return Object.hasOwn(client.subscriptions, apiId) ? client.subscriptions[apiId] : undefined;
}

type GrantUse = Readonly<{ apiId: string; grantType: GrantType }>;

/** Why the client may not use the grant at this API, or `undefined`. The end of a sentence that begins with the client. */
export function grantUseProblem(client: Client, { apiId, grantType }: GrantUse): string | undefined {
  const subscription = subscriptionOf(client, apiId);
  if (!subscription) {
    const others = Object.keys(client.subscriptions).slice(0, 5).join(", ");
    return `has no subscription to API ${apiId}${others === "" ? "" : `, only to ${others}`}`;
  }
  const kind = client.confidential ? "confidential" : client.platform;
  if (!clientKinds[grantType].includes(kind))
    return `is a ${kind} client, and ${grantType} is only for ${clientKinds[grantType].join(" and ")} clients`;
  if ((subscription.grantTypes ?? unnamedGrantTypes).includes(grantType)) return undefined;
  return `has no ${grantType} in subscriptions.${apiId}.grantTypes`;
}

/** True when the grant is open to this kind of client and its subscription to the API does not exclude it. */
export function mayUseGrant(client: Client, use: GrantUse): boolean {
  return grantUseProblem(client, use) === undefined;
}

/**
 * The scopes that a client may request at this issuer's API; empty without a subscription. For a client that nobody registered, "all scopes"
 * are none that tell of people: its policy must name those.
 */
export function registeredScopes(client: Client, issuer: Issuer): readonly string[] {
  const ofApi = Object.keys(issuer.api.scopes);
  const subscription = subscriptionOf(client, issuer.api.apiId);
  if (!subscription) return [];
  if (subscription.scopes) return intersect(subscription.scopes, ofApi);
  return client.selfDescription ? ownScopes(issuer.api) : ofApi;
}

/** True when the host vouches for this client, so that end users are not asked for consent. */
export function isTrusted(client: Client, apiId: string): boolean {
  return client.trusted === true || subscriptionOf(client, apiId)?.trusted === true;
}

/**
 * The origins whose scripts may read token answers: those of a browser client's redirect URIs. Storage adapters can store them, so
 * that `isBrowserOrigin` is a look-up.
 */
export function browserOriginsOf(client: Client): readonly string[] {
  if (client.confidential || client.platform !== "browser") return [];
  return [...new Set(client.redirectUris.map((uri) => new URL(uri).origin))];
}
