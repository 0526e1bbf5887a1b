/** What a grant of the token endpoint is, and what the answers and refusals of all grants share. RFC 6749 §1.3, §4, §5; 9700 §4.14.2. */
import type { FetchKeys } from "../clients/assertion-keys";
import type { ClientRequest } from "../clients/authenticate-client";
import type { ClientLookup } from "../clients/client-lookup";
import type { Advise, EmitEvent, Replayed } from "../events/port";
import { tokenResponse, type TokenResponse } from "../protocol/access-token";
import { type GrantProblem, grantReasons } from "../protocol/authorization";
import { registeredScopes } from "../protocol/client";
import type { IdentityAssertion, VouchedPerson } from "../protocol/identity-assertion";
import type { Issuer } from "../protocol/issuer";
import type { TextParts } from "../protocol/mistake";
import { because, OAuthError } from "../protocol/oauth-error";
import { quoted } from "../protocol/parameters";
import { formatScope, intersect } from "../protocol/scope";
import type { Clock, EpochSeconds } from "../protocol/time";
import type { TokenDigest } from "../protocol/token-value";
import type { AccessTokenSigner } from "../signing/port";
import type { Storage } from "../storage/port";
import type { DecidedToken, TokenDecisionPorts } from "../tokens/decide-token";
import type { IssueIdToken } from "../tokens/identity";
import type { IssuedRefreshToken, TokenIssuePorts } from "../tokens/issue-tokens";

/** What exchanging identity assertions needs besides. */
export interface IdentityAssertionPorts {
  /** Identity provider → where its keys are; none where the issuer has no `identityAssertions`. */
  readonly providersOf: (issuer: Issuer) => Readonly<Record<string, { readonly jwksUri: string }>>;
  readonly fetchKeys: FetchKeys;
  readonly storage: Pick<Storage, "clientAssertions">;
  readonly clock: Clock;
  /** Asks the host who the person is here. @throws OAuthError `invalid_grant` */
  readonly vouch: (question: {
    assertion: IdentityAssertion;
    request: ClientRequest;
  }) => Promise<VouchedPerson>;
}

/** True when the device with this code asks too early: it then has to wait for longer. @rfc 8628 §3.5 */
export type PolledTooSoon = (code: TokenDigest, now: EpochSeconds) => boolean;

/** What the grants need: stored codes and tokens, issuing, and events. */
export interface GrantPorts extends TokenIssuePorts, TokenDecisionPorts {
  readonly storage: Pick<
    Storage,
    "authorizations" | "authorizationCodes" | "refreshTokens" | "accessTokens" | "endMarks" | "parkedRequests"
  >;
  /** Only where tokens are exchanged: those of other clients, which are read first. */
  readonly clients: Pick<ClientLookup, "findHolder">;
  readonly signer: Pick<AccessTokenSigner, "sign" | "verify">;
  readonly emit: EmitEvent;
  readonly advise?: Advise | undefined;
  readonly clock: Clock;
  /** Left out where no API has `openid`. */
  readonly issueIdToken?: IssueIdToken | undefined;
  /** Left out where no authentication method has `identityAssertions`. */
  readonly identityAssertions?: IdentityAssertionPorts | undefined;
  /** Remembers when a device has asked last. Left out where no API has `deviceAuthorization`. */
  readonly polledTooSoon?: PolledTooSoon | undefined;
}

/** A grant of the token endpoint. */
export interface Grant {
  /** The parameters with a code or refresh token of this server, or an assertion, that the client presents. None of them may be in a URL. */
  readonly presents: readonly string[];
  /** What else it reads that may not be in a URL. */
  readonly bodyOnly?: readonly string[];
  /**
   * Exchanges what the client presents for tokens. The caller has authenticated the client and checked that it may use the grant
   * at this API.
   *
   * @throws OAuthError when the request is refused. Tokens that were stored by then were given to nobody, and a replay revokes the
   * authorization. Anything else that is thrown is a failure of storage.
   */
  exchange(ports: GrantPorts, request: ClientRequest): Promise<TokenResponse>;
}

/** Other refusals of exchanges. */
export const exchangeReasons = {
  "code-verifier-malformed": "code_verifier is malformed (RFC 7636 §4.1): use 32 random bytes as base64url",
  "refresh-by-other-secrets":
    "the refresh token was used in a process with other secrets, so its answer cannot be repeated here: give all processes the same secrets",
  "refresh-beyond-grant": (granted: string): string =>
    `scope is not some or all of what was granted, ${granted} (RFC 6749 §6): leave it out, or start a new authorization request`,
  "granted-scopes-lost": (lost: string, apiId: string): string =>
    `API ${apiId}, or the client's subscription to it, has lost ${lost} since the end user granted them (RFC 6749 §5.2): widen subscriptions.${apiId}.scopes, or start a new authorization request`,
  "token-lifetime-used-up":
    "tokens.decide and storage took as long as the access token lives: make them faster, or accessTokenSeconds longer",
} as const;

/** The refusal of a code or refresh token. The client always gets the same text, so that it cannot probe for other tokens. */
export function invalidGrant<Code extends GrantProblem>(
  code: Code,
  ...parts: TextParts<(typeof grantReasons)[Code]>
): OAuthError {
  return new OAuthError("invalid_grant", {
    description: "The code or refresh token is unknown, expired, used or not for this client.",
    ...because(grantReasons, code, ...parts),
  });
}

/** A code or refresh token that arrived a second time. */
export interface Replay {
  readonly replayed: Replayed;
  readonly authorizationId: string;
  readonly request: ClientRequest;
}

/**
 * Revokes the authorization of a replayed code or refresh token, and with it everything that descends from it. The server cannot
 * tell the thief from the client, so neither keeps its tokens. Returns the refusal.
 *
 * @throws whatever storage rejects with: a replay is not reported before the revocation is stored
 * @rfc 9700 §4.14.2
 */
export async function revokeAfterReplay(
  { storage, emit }: Pick<GrantPorts, "storage" | "emit">,
  { authorizationId, replayed, request }: Replay,
): Promise<OAuthError> {
  await storage.authorizations.revoke(authorizationId, request.now);
  const { issuer, client } = request;
  emit({
    kind: "replay-detected",
    replayed,
    authorizationId,
    issuer: issuer.identifier,
    clientId: client.clientId,
  });
  return invalidGrant("used-before");
}

/**
 * Those of the granted scopes that the client may still have at this API. An answer can say that there are fewer, but not that there is
 * none: `scope` has no empty value, and a client that finds none takes what it has asked for as granted.
 *
 * @throws OAuthError `invalid_scope` when none is left
 * @rfc 6749 §3.3, §5.1, §5.2
 */
export function stillRegistered(
  scopes: readonly string[],
  { issuer, client }: ClientRequest,
): readonly string[] {
  const left = intersect(scopes, registeredScopes(client, issuer));
  if (left.length > 0 || scopes.length === 0) return left;
  throw new OAuthError("invalid_scope", {
    description: "The client may have none of these scopes at this API.",
    ...because(exchangeReasons, "granted-scopes-lost", quoted(formatScope(scopes)), issuer.api.apiId),
  });
}

/** What the life of an access token follows from. */
export interface Decided {
  readonly request: ClientRequest;
  readonly decided: DecidedToken;
}

/** Tokens that the client is given. */
export interface Issued extends Decided {
  readonly accessToken: string;
  /** `undefined` when the client may not refresh. */
  readonly refreshToken: IssuedRefreshToken | undefined;
  /** `undefined` without a sign-in. */
  readonly idToken?: string | undefined;
  /** The API, where the client has to be told for which the token is. */
  readonly resource?: string | undefined;
}

/** Seconds since the request came. One more second may be a moment, at its turn, and a clock that was set back makes nothing live longer. */
function secondsSince({ now }: ClientRequest, clock: Clock): number {
  const passed = clock() - now;
  return passed > 1 ? passed : 0;
}

/**
 * To be called before a code or refresh token is spent: the host's decision and storage may have taken as long as the access token
 * lives.
 *
 * @throws OAuthError `temporarily_unavailable` when nothing is left of it
 */
export function checkAlive({ clock }: Pick<GrantPorts, "clock">, { request, decided }: Decided): void {
  if (secondsSince(request, clock) < decided.accessTokenSeconds) return;
  throw new OAuthError("temporarily_unavailable", {
    description: "Try again later.",
    ...because(exchangeReasons, "token-lifetime-used-up"),
  });
}

/** The success answer. It states what is left of each life: all began with the request, and the answer may have taken a while. @rfc 6749 §5.1 */
export function tokenAnswer({ clock }: Pick<GrantPorts, "clock">, issued: Issued): TokenResponse {
  const { request, decided, accessToken, refreshToken, idToken, resource } = issued;
  const passed = secondsSince(request, clock);
  const { api } = request.issuer;
  const refreshUntil = api.refreshTokenExpiry === "state" ? refreshToken?.record.expiresAt : undefined;
  return tokenResponse({
    accessToken,
    // never 0, which some clients take for "no end"
    accessTokenSeconds: Math.max(1, decided.accessTokenSeconds - passed),
    refreshToken: refreshToken?.token,
    refreshTokenSeconds:
      refreshUntil === undefined ? undefined : Math.max(1, refreshUntil - request.now - passed),
    scopes: decided.scopes,
    boundKey: request.key,
    idToken,
    resource,
  });
}
