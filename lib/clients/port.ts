/** What the host decides about clients that it has not registered. RFC 7591 §3; draft-ietf-oauth-client-id-metadata-document. */
import type { IncomingMessage } from "node:http";
import type { GrantType, PublicKeySet } from "../protocol/client";
import type { ClientAuthenticationMethod } from "../protocol/client-authentication";

/** The host's answer about a client whose id is the URL of its metadata document. */
export type DocumentDecision =
  | {
      readonly kind: "accepted";
      /** The scopes that the client may request; all scopes of the API when left out. */
      readonly scopes?: readonly string[];
      /**
       * Origins that its https redirect URIs may have besides the origin of its id: `["https://app.example"]`. Left out: none, so that
       * a document cannot lead to somebody else's site.
       */
      readonly redirectOrigins?: readonly string[];
      /**
       * `"none"` for a client that publishes a key, but also says that it can do without: it then needs no key. Left out: a client that
       * publishes a key must use it.
       */
      readonly clientAuthentication?: "none";
      /** `true` also accepts assertions whose `aud` is the token endpoint, which some clients send instead of the issuer. */
      readonly allowTokenEndpointAudience?: boolean;
      /**
       * `true`: a client that proves itself with a key, and whose `grant_types` name the grant, may present identity assertions where the
       * authentication method has `identityAssertions`.
       */
      readonly identityAssertions?: boolean;
    }
  | { readonly kind: "refused" };

/** Clients whose id is the https URL of a JSON document that describes them. Nobody registers them, and none is ever trusted. */
export interface ClientMetadataDocumentAdapter {
  /**
   * Decides whether this client may be used at this API. It is asked before its document is fetched, and again for each authorization
   * and token request. It has five seconds, and what it throws is answered as `server_error`.
   */
  accept(clientId: string): DocumentDecision | Promise<DocumentDecision>;
  /**
   * Origins of web pages whose scripts are clients: `["http://localhost:6274"]`. A client without a key is a browser client if all its
   * redirect URIs have such origins: it gets no refresh tokens, and its scripts may read token answers (CORS). Left out: none.
   */
  readonly browserOrigins?: readonly string[];
}

/**
 * What a client says of itself when it registers, by its wire names, as it would be registered: checked, and without what this server
 * does not use. All of it is text from a stranger, and nothing proves it.
 *
 * @rfc 7591 §2
 */
export interface RegistrationMetadata {
  readonly redirect_uris: readonly string[];
  /** Without control characters and the like, at most 100 characters. */
  readonly client_name?: string;
  readonly client_uri?: string;
  readonly policy_uri?: string;
  readonly tos_uri?: string;
  readonly token_endpoint_auth_method: ClientAuthenticationMethod;
  readonly grant_types: readonly GrantType[];
  /** The scopes that it asked for, at least one of them of the API; `undefined` when it did not say. */
  readonly scope?: string;
  /** Public keys, where it proves itself with a key. */
  readonly jwks?: PublicKeySet;
  /** The URL of its public keys, in place of `jwks`. */
  readonly jwks_uri?: string;
  /** Where the API has `dpop`: it gets tokens for its key only. @rfc 9449 §5.2 */
  readonly dpop_bound_access_tokens?: true;
  /** Where the API has `pushedRequests`: it pushes its authorization requests. @rfc 9126 §6 */
  readonly require_pushed_authorization_requests?: true;
  /** Everything that the client sent, unchecked. */
  readonly sent: Readonly<Record<string, unknown>>;
}

/** The host's answer about a registration. */
export type RegistrationDecision =
  | {
      readonly kind: "approved";
      /** The scopes that the client may request, whatever it asked for; all scopes of the API when left out. */
      readonly scopes?: readonly string[];
    }
  /**
   * The client gets `access_denied` (403). `description` is its `error_description`, in the characters of RFC 6749 §5.2: ASCII
   * without " and \\.
   */
  | { readonly kind: "refused"; readonly description?: string };

/** Clients that register themselves at `{issuer}/register`. None is ever trusted. @rfc 7591 §3 */
export interface ClientRegistrationAdapter {
  /**
   * Decides about a registration that has passed every other check; nothing is stored yet. After a yes it fails only if it asks for none
   * of the allowed `scopes`, or if storage is full or cannot be reached. `req` is the request, for its address or an initial access token
   * in its `Authorization` header; its body has been read. It has five seconds, and what it throws is answered as `server_error`.
   */
  approve(
    req: IncomingMessage,
    metadata: RegistrationMetadata,
  ): RegistrationDecision | Promise<RegistrationDecision>;
  /**
   * Origins of web pages whose scripts are clients: `["http://localhost:6274"]`. A public client is a browser client if all its
   * redirect URIs have such origins: it gets no refresh tokens, and its scripts may read token answers (CORS). Scripts of these
   * origins may also register. Left out: none.
   */
  readonly browserOrigins?: readonly string[];
}
