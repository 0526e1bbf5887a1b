/** The adapter by which the host decides every token. RFC 6749 §5.1, §6; 9068 §2.2. */
import type { AuthenticationFacts } from "../protocol/authorization";
import type { AuthorizationContext } from "../protocol/authorization-context";
import type { GrantType, SelfDescription } from "../protocol/client";
import type { HostClaims } from "../protocol/host-claims";
import type { IdentityClaims } from "../protocol/openid";
import type { EpochSeconds } from "../protocol/time";

/** The end user's approval that a token descends from. */
export interface DecidedAuthorization extends AuthenticationFacts {
  readonly authorizationId: string;
  /** When the end user approved. */
  readonly createdAt: EpochSeconds;
  /** What the end user approved. A refresh may ask for less. */
  readonly grantedScopes: readonly string[];
  /** What the end user chose along the way, such as an organization. APIs see it only through the claims that you make of it. */
  readonly context?: AuthorizationContext;
}

/** What `decide` is asked about. It is a copy: changing it changes nothing. */
export interface TokenDecisionRequest {
  readonly grantType: GrantType;
  /** Identifier of the issuer. */
  readonly issuer: string;
  readonly authMethodId: string;
  readonly apiId: string;
  readonly client: {
    readonly clientId: string;
    readonly name: string;
    readonly confidential: boolean;
    /** Set for a client that nobody registered: its name is its own choice. */
    readonly selfDescribed?: { readonly by: SelfDescription["by"] };
  };
  /** The end user; `undefined` when the client asks for itself (client credentials). */
  readonly subject?: string;
  /**
   * The end user's approval; `undefined` when the client asks for itself. With token exchange, it is that of the client which has called the
   * API whose resource server asks now.
   */
  readonly authorization?: DecidedAuthorization;
  /** The scopes that the access token gets if you do not narrow them. */
  readonly scopes: readonly string[];
  /** Aborts when the server no longer waits for the answer: after five seconds. */
  readonly signal: AbortSignal;
}

/** What `decide` answers. */
export type TokenDecision =
  | {
      readonly kind: "issue";
      /**
       * Claims for this access token: in the JWT or beside the opaque token, in `req.auth.claims`, and in introspection. The client
       * can read them. At most 4 KB as JSON; names of OAuth and of this library are refused.
       */
      readonly claims?: HostClaims;
      /** Fewer scopes, for this access token only. None is `invalid_scope`. */
      readonly scopes?: readonly string[];
      /** A shorter lifetime in seconds, for this access token only. */
      readonly accessTokenSeconds?: number;
    }
  | {
      /**
       * The client hears `invalid_grant`, or `unauthorized_client` where it asks for itself, or `invalid_request` where it exchanges a token.
       * Nothing is spent.
       */
      readonly kind: "refuse";
      /** Sent to the client as `error_description`: ASCII without `"` and `\`. */
      readonly description?: string;
      /** Also ends the authorization and everything that descends from it. */
      readonly revoke?: boolean;
    }
  | {
      /** Not now: 503 with `Retry-After`. Nothing is spent, so the client can repeat its request. */
      readonly kind: "later";
      /** Whole seconds, 1 to 86,400. */
      readonly retryAfterSeconds: number;
    };

/**
 * Decides every token. It is asked for each request of the token endpoint that passed every other check, before anything is spent or
 * stored. Simultaneous requests each ask, so it must not have side effects. If it throws, rejects, or takes longer than five seconds,
 * the request fails, and nothing is spent.
 */
export interface TokenAdapter {
  decide(request: TokenDecisionRequest): TokenDecision | Promise<TokenDecision>;
}

/** What `openid.claims` is asked about. It is a copy: changing it changes nothing. */
export interface IdentityClaimsRequest {
  /** The end user. */
  readonly subject: string;
  /** The scopes of the token. What they do not name is left out of your answer. */
  readonly scopes: readonly string[];
  /** Where the claims go. */
  readonly use: "id_token" | "userinfo";
  readonly client: TokenDecisionRequest["client"];
  readonly apiId: string;
  readonly authMethodId: string;
  /** What the end user chose along the way, such as an organization. */
  readonly context?: AuthorizationContext;
  /** Aborts when the server no longer waits for the answer: after five seconds. */
  readonly signal: AbortSignal;
}

/** Tells of people, where an API has `openid`. */
export interface IdentityAdapter {
  /**
   * The claims about this person, such as `{ name, email, email_verified }`; `undefined` when there is no such person any more. Return all
   * that you have: those that the granted scopes do not name are left out. It is asked before anything is spent, also when the only scope is
   * `openid`. Simultaneous requests each ask. It has five seconds; what it throws is answered as `server_error`.
   *
   * @rfc OpenID Connect Core §5.1, §5.4
   */
  readonly claims: (
    request: IdentityClaimsRequest,
  ) => IdentityClaims | undefined | Promise<IdentityClaims | undefined>;
}
