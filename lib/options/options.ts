/** The options of `createAuthServer`: what each one means, and its default. */
import type { RateLimit } from "../endpoints/rate-limit";
import type { ClientMetadataDocumentAdapter, ClientRegistrationAdapter } from "../clients/port";
import type { PagesOptions } from "../pages/pages";
import type { AuthMethod, ConsentAdapter } from "../interaction/port";
import type { OnEvent } from "../events/port";
import type { ExchangeSource, ScopeSentence } from "../protocol/issuer";
import type { Lifetimes } from "../protocol/issuer";
import type { SigningKeySource } from "../signing/signing-key";
import type { SigningAlgorithm } from "../signing/verification-key";
import type { Storage } from "../storage/port";
import type { IdentityAdapter, TokenAdapter } from "../tokens/port";

/** A scope with an explanation, or one that implies others. */
export interface ScopeOptions {
  /** The sentence that people read, in one language or in several. */
  readonly text: ScopeSentence;
  /** One more line beneath the sentence, which says what this means for the person. In one language or in several. */
  readonly explanation?: ScopeSentence;
  /**
   * Scopes of this API that are granted together with this one, as far as the client's subscription includes them. The consent
   * page shows them beneath it. A scope must not imply itself, directly or through others.
   */
  readonly implies?: readonly string[];
}

/**
 * True for `{ text, explanation, implies }`, false for a sentence or a record of sentences. The two cannot be confused: language
 * tags begin with two or three letters, so no language is called `text`.
 */
export function isScopeOptions(scope: ScopeSentence | ScopeOptions): scope is ScopeOptions {
  return typeof scope === "object" && "text" in scope;
}

/** Makes the issuers of an API OpenID providers: apps then sign people in with it. */
export interface OpenIdOptions extends IdentityAdapter {
  /**
   * Scopes besides `openid`, `profile`, `email`, `address` and `phone`, each with the claims that it opens: `{ groups: ["groups"] }`. Their
   * sentences stand in `scopes` of the API, as do yours in place of the built-in ones.
   */
  readonly scopes?: Readonly<Record<string, readonly string[]>>;
  /**
   * The algorithm of ID tokens. Default: `"RS256"`, which every relying party must know (OpenID Connect Core §15.1) and many know alone.
   * `signingKeys` must have such a key.
   */
  readonly idTokenAlgorithm?: SigningAlgorithm;
}

/** How tokens are bound to a key of the client (DPoP): a thief who has a token, but not the key, can do nothing with it. */
export interface DpopOptions {
  /** `"required"`: no token without a key is issued or accepted. Default: `"optional"`, where the client decides. */
  readonly tokens?: "optional" | "required";
  /**
   * The public URL that the root of the app has, without a trailing slash, if it is not the origin of `audience`. Proofs that come with
   * requests to the API name URLs below it.
   */
  readonly publicUrl?: string;
}

/** One API: which access tokens it gets, and which authentication methods it accepts. */
export interface ApiOptions {
  /** The name that the consent page shows. Default: the API's id. */
  readonly name?: string;
  /** The API's resource identifier, an absolute https URL. It is the `aud` of its access tokens (RFC 8707, 9068). */
  readonly audience: string;
  /**
   * Ids of the authentication methods that are valid for this API, at least one. Each of them makes one issuer. Clients that find their
   * authorization server by the API's metadata, such as MCP clients, take the first.
   */
  readonly authMethods: readonly string[];
  /**
   * Scope → the sentence that people read on the consent page, in one language or in several: `{ en: "…", de: "…" }`. A scope
   * with a line of explanation, or one that implies others, is written as
   * `{ text: "…", explanation: "…", implies: ["orders:read"] }`.
   */
  readonly scopes: Readonly<Record<string, ScopeSentence | ScopeOptions>>;
  /** The scopes that a request without `scope` gets, as far as the client's subscription includes them. Default: none. */
  readonly defaultScopes?: readonly string[];
  /** Lifetime of access tokens for this API in seconds, 1 to 86,400. Default: 3,600. */
  readonly accessTokenSeconds?: number;
  /** `"jwt"` (RFC 9068, the default), or `"opaque"`: a random text whose meaning is kept in storage. */
  readonly accessTokenFormat?: "jwt" | "opaque";
  /**
   * Whether an authorization request must contain `redirect_uri`. Default: `"required"`. With `"optional"`, a client that has
   * registered exactly one may leave it out.
   */
  readonly redirectUri?: "required" | "optional";
  /**
   * The `acr` values that `authenticate` of its methods can return, such as `["pwd", "otp"]`: what clients may ask for (`acr_values`) and what
   * `requireBearer` may require (RFC 9470). Default: none, and `acr_values` is not read.
   */
  readonly acrValues?: readonly string[];
  /**
   * Lets clients push their authorization requests to `{issuer}/par` and send people on with a `request_uri` (RFC 9126): nothing of the request
   * can be changed or read on its way through the browser. `"required"` refuses all others; switch it on when every process runs a version
   * that has it. Needs `storage.parkedRequests`. Left out: there is no such endpoint.
   *
   * @rfc 9126 §2
   */
  readonly pushedRequests?: "optional" | "required";
  /**
   * `true`: devices without a browser, such as televisions and command lines, can ask at `{issuer}/device_authorization`, and people answer at
   * `{baseUrl}/device` on another screen (RFC 8628). People are always asked, also where a client is trusted or they have allowed it before:
   * the code of a device may come from anyone. For clients whose subscription names the grant in `grantTypes`. Needs
   * `storage.parkedRequests`, and a `rateLimit` for clients without a secret. Switch it on when every process runs a version that has it.
   *
   * @rfc 8628 §3.1
   */
  readonly deviceAuthorization?: true;
  /** Whether a request must contain `scope`. Default: `"optional"`, which falls back to `defaultScopes`. */
  readonly scope?: "required" | "optional";
  /**
   * What happens to requested scopes that the API or the client's subscription does not have. `"refuse"` (default) answers
   * `invalid_scope`. `"ignore"` (default where the API has `openid`) drops them and emits an event: some clients ask for `openid` or `offline_access` at every server.
   * If nothing is left, the answer is `invalid_scope`, unless the API has none of the scopes and has `defaultScopes`, which then apply.
   */
  readonly unknownScopes?: "refuse" | "ignore";
  /**
   * `"state"` adds `refresh_token_expires_in` to token answers with a refresh token: how long it is valid if it is not used, in seconds
   * (draft-ietf-oauth-refresh-token-expiration). Default: `"omit"`, as old clients may not expect it.
   */
  readonly refreshTokenExpiry?: "omit" | "state";
  /**
   * Accepts clients whose `client_id` is the https URL of a metadata document
   * (draft-ietf-oauth-client-id-metadata-document): nobody has to register them. Left out: refused.
   */
  readonly clientMetadataDocuments?: ClientMetadataDocumentAdapter;
  /** Lets clients register themselves at `{issuer}/register` (RFC 7591). Left out: there is no such endpoint. */
  readonly clientRegistration?: ClientRegistrationAdapter;
  /**
   * Signs people in to other apps (OpenID Connect): ID tokens, userinfo, `/.well-known/openid-configuration`, and the scopes `openid`,
   * `profile`, `email`, `address` and `phone`. For partners that only sign people in, write an API of its own with `scopes: {}`. Left out:
   * the issuers of this API are OAuth servers only.
   *
   * @rfc OpenID Connect Core §3.1
   */
  readonly openid?: OpenIdOptions;
  /**
   * Binds tokens to a key of the client (DPoP). Switch it on when every process runs this version: an older one accepts bound tokens from
   * anybody. At API routes, a proof counts once per process. Left out: the `DPoP` header is ignored, and tokens that are bound are refused.
   *
   * @rfc 9449 §5, §7
   */
  readonly dpop?: DpopOptions;
  /**
   * Lets resource servers of other APIs of this server exchange the tokens that they are called with for tokens of this API, so that they
   * can call it for the same person: API id → who may, and what each scope of that API becomes here:
   * `{ orders: { clients: ["orders-api"], scopes: { "orders:write": ["stock:reserve"] } } }`. The clients are confidential, and their
   * subscription to this API names the grant. The person must have signed in by a method that this API has too. What a scope implies is
   * not added. Switch it on when every process runs a version that has it. Left out: no token is exchanged for one of this API.
   *
   * @rfc 8693 §2
   */
  readonly tokenExchange?: Readonly<Record<string, ExchangeSource>>;
  /**
   * `"fapi2"`: built to the FAPI 2.0 Security Profile, for banks and health. Clients prove themselves with keys, push their requests, use
   * PKCE and redirect to https; tokens are bound to keys (`dpop`), refresh tokens stay the same, and strangers are refused. Options that
   * contradict it are refused. Switch it on when every process runs a version that has it.
   *
   * @rfc FAPI 2.0 Security Profile §5.3.2
   */
  readonly profile?: "fapi2";
  /** Lifetimes in seconds for this API. They override those of the server. */
  readonly lifetimes?: Partial<Lifetimes>;
}

/** The options of `createAuthServer`. */
export interface AuthServerOptions {
  /**
   * The public URL of the path where the router is mounted, without a trailing slash: `https://host/oauth` for
   * `app.use("/oauth", auth.router)`. Every URL in an answer is made from this one, never from the request, so a forged `Host`
   * header changes nothing.
   */
  readonly baseUrl: string;
  /**
   * Secrets of at least 32 characters that seal pending requests. The first one seals, all of them open. Give every process the
   * same list. Default: a temporary secret, with a warning; in production it is an error to leave them out, or to use white space.
   */
  readonly secrets?: readonly string[];
  /**
   * Private keys (PEM, JWK or KeyObject) that sign access tokens, or a `RemoteSigner` for a key in a KMS. The first one signs, all
   * of them verify. P-256 keys sign ES256; RSA keys sign RS256 unless their JWK names another `alg`. `{ key, signsFrom }` publishes
   * a key before it signs (see `auth.rotateKeys`). `{ key, for: "id_token" }` signs ID tokens only. Default: a temporary key, with a warning; in production it is an error to leave them out.
   */
  readonly signingKeys?: readonly SigningKeySource[];
  /** Where clients, consents, authorizations, codes and tokens are kept. */
  readonly storage: Storage;
  /** Authentication method id → how end users sign in. */
  readonly authMethods: Readonly<Record<string, AuthMethod>>;
  /** API id → the API. */
  readonly apis: Readonly<Record<string, ApiOptions>>;
  /** Decides every token: claims, fewer scopes, a shorter life, or no token. Default: every token as it was asked for. */
  readonly tokens?: TokenAdapter;
  /** Decides about consent. Default: the built-in consent page asks. */
  readonly consent?: ConsentAdapter;
  /**
   * Limits requests of clients at the token, revocation, introspection, pushed request and device authorization endpoint, and codes of devices
   * that people type, before anything is looked up or compared, and hears how each was answered. Default: no limit.
   *
   * @rfc 6749 §10.10, 6585 §4
   */
  readonly rateLimit?: RateLimit;
  /** The look and the texts of the built-in pages. */
  readonly pages?: PagesOptions;
  /** Lifetimes in seconds. Default: `defaultLifetimes`. */
  readonly lifetimes?: Partial<Lifetimes>;
  /**
   * For how many seconds the server may rely on what it has read from storage: `requireBearer` on a token that it has accepted,
   * and every endpoint on a client that it has found. 0 to 300, default 5. With 0, storage is asked every time.
   */
  readonly revocationLagSeconds?: number;
  /**
   * What moves `lastUsedAt` of `auth.authorizations.list`. `"refresh"` (default): only what issues tokens. `"calls"`: also requests that
   * pass `requireBearer` of this server. Each process writes that once an hour for each authorization, and no request waits for it.
   */
  readonly lastUses?: "refresh" | "calls";
  /**
   * Lower-case schemes without a dot that native clients may use in their redirect URIs: `["cursor"]` for `cursor://…`.
   * Default: none, because RFC 8252 §7.1 asks for a reversed domain name, which has a dot. Schemes that browsers know
   * (`javascript`, `data`, `file`, `mailto` …) are refused.
   */
  readonly redirectSchemes?: readonly string[];
  /**
   * `true`, for tests and development only: metadata documents and key sets of clients may be on this machine
   * (`http://localhost:…`, or https with a certificate that Node trusts). Refused in production.
   */
  readonly insecureLoopbackClients?: boolean;
  /** Is called with every event of the server. What it throws is ignored. */
  readonly onEvent?: OnEvent;
}

/** The default lifetimes: codes 1 minute, interactions 10 minutes, refresh tokens 14 days idle and 90 in all, without retries, consents 1 year. */
export const defaultLifetimes: Lifetimes = {
  authorizationCodeSeconds: 60,
  interactionSeconds: 600,
  refreshTokenIdleSeconds: 1_209_600,
  refreshTokenSeconds: 7_776_000,
  refreshRetrySeconds: 0,
  consentSeconds: 31_536_000,
};
