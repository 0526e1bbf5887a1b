/** The client record and what it is registered for. RFC 6749 §2. */
import { intersect } from "./scope";
import type { Issuer } from "./issuer";

/** The grants of the token endpoint. The union, the schema of client records, the metadata and the texts follow from this list. @rfc 6749 §4 */
export const grantTypes = ["authorization_code", "refresh_token", "client_credentials"] as const;

/** A grant of the token endpoint. @rfc 6749 §4 */
export type GrantType = (typeof grantTypes)[number];

/** What a client may do at one API. */
export interface Subscription {
  /** The scopes it may ask for; all scopes of the API when left out. */
  readonly scopes?: readonly string[];
  /** `true`: end users are not asked for consent to this API. */
  readonly trusted?: boolean;
  /** The grants it may use; every grant open to its kind when left out. */
  readonly grantTypes?: readonly GrantType[];
}

interface ClientBase {
  /** 1 to 255 visible ASCII characters. */
  readonly clientId: string;
  /** What people read on the consent page. */
  readonly name: string;
  /** Compared character for character (RFC 9700 §2.1), but for the port of a native client's `http` loopback redirect (RFC 8252 §7.3). */
  readonly redirectUris: readonly string[];
  /** `true`: end users are never asked for consent. For the host's own clients. */
  readonly trusted?: boolean;
  /** API id → what the client may do there. No entry, no access. */
  readonly subscriptions: Readonly<Record<string, Subscription>>;
  /** Shown on the consent page: a `data:image/…;base64,` URI of at most 24 KB, as pages request nothing. */
  readonly logo?: string;
  /** Links shown on the consent page. */
  readonly clientUri?: string;
  readonly policyUri?: string;
  readonly tosUri?: string;
}

/** A client that can keep a secret. */
export interface ConfidentialClient extends ClientBase {
  readonly confidential: true;
  /** Digests made by `generateClientSecret()` or `digestClientSecret()`; two during a rotation. */
  readonly secretDigests: readonly string[];
}

/** A client in the hands of its end user: it has no secret and must use PKCE. */
export interface PublicClient extends ClientBase {
  readonly confidential: false;
  readonly platform: "native" | "browser";
}

/** A registered client. @rfc 6749 §2 */
export type Client = ConfidentialClient | PublicClient;

/** 1 to 255 visible ASCII characters. @rfc 6749 Appendix A.1 */
export const clientIdPattern: RegExp = /^[\x21-\x7e]{1,255}$/;

/** True for a text that a registered client may have as its id. @rfc 6749 Appendix A.1 */
export function isClientId(text: string): boolean {
  return clientIdPattern.test(text);
}

type ClientKind = "confidential" | PublicClient["platform"];

/** The kinds of client that each grant is open to. RFC 6749 §4.4, 9700 §4.14. */
const clientKinds: Readonly<Record<GrantType, readonly ClientKind[]>> = {
  authorization_code: ["confidential", "native", "browser"],
  // a script cannot keep a refresh token from other scripts of its page: a browser client asks again with prompt=none
  refresh_token: ["confidential", "native"],
  client_credentials: ["confidential"],
};

/** What the client may do at this API, or `undefined` when it has no subscription there. */
export function subscriptionOf(client: Client, apiId: string): Subscription | undefined {
  return Object.hasOwn(client.subscriptions, apiId) ? client.subscriptions[apiId] : undefined;
}

/** True when the grant is open to this kind of client and its subscription to the API does not leave it out. */
export function mayUseGrant(
  client: Client,
  { apiId, grantType }: { apiId: string; grantType: GrantType },
): boolean {
  const subscription = subscriptionOf(client, apiId);
  const kind = client.confidential ? "confidential" : client.platform;
  if (!subscription || !clientKinds[grantType].includes(kind)) return false;
  return subscription.grantTypes?.includes(grantType) ?? true;
}

/** The scopes a client may ask for at this issuer's API. */
export function registeredScopes(client: Client, issuer: Issuer): readonly string[] {
  const ofApi = Object.keys(issuer.api.scopes);
  const subscription = subscriptionOf(client, issuer.api.apiId);
  if (!subscription) return [];
  return subscription.scopes ? intersect(subscription.scopes, ofApi) : ofApi;
}

/** True when the host vouches for this client, so that nobody is asked for consent. */
export function isTrusted(client: Client, apiId: string): boolean {
  return client.trusted === true || subscriptionOf(client, apiId)?.trusted === true;
}

/** Origins whose scripts may read token answers: those of a browser client's redirect URIs. Store them to find them fast. */
export function browserOriginsOf(client: Client): readonly string[] {
  if (client.confidential || client.platform !== "browser") return [];
  return [...new Set(client.redirectUris.map((uri) => new URL(uri).origin))];
}
