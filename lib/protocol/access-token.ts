/** The access token, its form as JWT claims, and the answers that tell of tokens. RFC 6749 §5.1; 7662 §2.2; 8693 §4.1; 9068 §2.2, §4; 9449 §6. */
import {
  type AuthenticationFacts,
  type Authorization,
  isThumbprint,
  type RefreshToken,
} from "./authorization";
import { type Actor, actorClaim, readActor } from "./actor";
import { type HostClaims, hostClaimsIn } from "./host-claims";
import type { EpochSeconds } from "./time";
import { formatScope, intersect, isSubset, parseScope } from "./scope";
import type { Issuer } from "./issuer";

/** What an access token stands for, whether it is sent as a JWT or stored under its digest. */
export interface AccessToken extends AuthenticationFacts {
  /** Unique id of the token (`jti`). It is not a secret. */
  readonly tokenId: string;
  /** Identifier of the issuer: the (authentication method, API) pair that issued it. */
  readonly issuer: string;
  /** The client that it was issued to. */
  readonly clientId: string;
  /** The end user; `undefined` for a token that a client got for itself (client credentials). */
  readonly subject?: string;
  /** What the token allows: the granted scopes, or fewer after a refresh. */
  readonly scopes: readonly string[];
  /** Who acts for the end user, in a token that a client got by token exchange: that client. */
  readonly actor?: Actor;
  /** Of which scopes of the authorization an exchanged token was made: it ends when the end user takes back one of them. */
  readonly authorizationScopes?: readonly string[];
  /** The end mark of its client at the time of issue, in a token that has no authorization of its own; `undefined` when there was none. */
  readonly clientEndMark?: string;
  /** The same of its API. */
  readonly apiEndMark?: string;
  /** Thumbprint of the key without which the token is worth nothing; `undefined` for a bearer token. RFC 9449 §6. */
  readonly boundKey?: string;
  readonly issuedAt: EpochSeconds;
  readonly expiresAt: EpochSeconds;
  /** The authorization that the token descends from; `undefined` without an end user. */
  readonly authorizationId?: string;
  /** What the host has added (`tokens.decide`); frozen. */
  readonly claims?: HostClaims;
}

/** An access token that an end user has approved. */
export interface EndUserAccessToken extends AccessToken {
  /** The end user. */
  readonly subject: string;
  /** The authorization that the token descends from. */
  readonly authorizationId: string;
}

/** The token with those of its scopes only that are also allowed; the same object where they all are. */
export function withinScopes(accessToken: AccessToken, allowed: readonly string[]): AccessToken {
  const { scopes } = accessToken;
  return isSubset(scopes, allowed) ? accessToken : { ...accessToken, scopes: intersect(scopes, allowed) };
}

/** The claims of an access token: its JWT payload, by their wire names. */
export type AccessTokenClaims = Readonly<Record<string, unknown>>;

/** The claims of an access token for this audience. An introspection response states the same ones. @rfc 9068 §2.2 */
export function accessTokenClaims(token: AccessToken, audience: string): AccessTokenClaims {
  return {
    iss: token.issuer,
    aud: audience,
    // RFC 9068 requires a sub: without an end user, the client itself is the subject
    sub: token.subject ?? token.clientId,
    client_id: token.clientId,
    jti: token.tokenId,
    iat: token.issuedAt,
    exp: token.expiresAt,
    ...(token.scopes.length > 0 && { scope: formatScope(token.scopes) }),
    ...(token.authorizationId !== undefined && { authorization_id: token.authorizationId }),
    ...(token.actor && { act: actorClaim(token.actor) }),
    ...(token.authorizationScopes && { authorization_scope: formatScope(token.authorizationScopes) }),
    ...(token.clientEndMark !== undefined && { client_end_mark: token.clientEndMark }),
    ...(token.apiEndMark !== undefined && { api_end_mark: token.apiEndMark }),
    ...(token.authTime !== undefined && { auth_time: token.authTime }),
    ...(token.acr !== undefined && { acr: token.acr }),
    ...(token.amr !== undefined && { amr: token.amr }),
    ...(token.boundKey !== undefined && { cnf: { jkt: token.boundKey } }),
    // none of them can have a name from above
    ...token.claims,
  };
}

function optional<T>(value: unknown, is: (value: unknown) => value is T): T | undefined {
  return is(value) ? value : undefined;
}

const isString = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): value is number => Number.isFinite(value);
const isStrings = (value: unknown): value is string[] => Array.isArray(value) && value.every(isString);

/** The key of a token; `undefined` when it is bound in a way that nobody here can check. @rfc 7800 §3.1, 9449 §6.1 */
function readConfirmation(cnf: unknown): string | undefined {
  if (typeof cnf !== "object" || cnf === null || Object.keys(cnf).join() !== "jkt") return undefined;
  const { jkt } = cnf as { readonly jkt: unknown };
  return isString(jkt) && isThumbprint(jkt) ? jkt : undefined;
}

/** Who has exchanged a token, and of what it was made; `undefined` when the claims do not say both. @rfc 8693 §4.1 */
function readExchange({
  act,
  authorization_scope: scope,
  client_id,
}: AccessTokenClaims): Pick<AccessToken, "actor" | "authorizationScopes"> | undefined {
  const actor = readActor(act);
  const authorizationScopes = isString(scope) ? parseScope(scope) : undefined;
  // who has exchanged the token acts, and nobody else
  if (!actor || actor.subject !== client_id || !authorizationScopes) return undefined;
  return { actor, authorizationScopes };
}

/**
 * The access token that these claims describe, or `undefined` when they do not describe an access token for this audience.
 * The caller verifies the signature first, and checks issuer and time afterwards.
 *
 * @rfc 9068 §4
 */
export function readAccessTokenClaims(claims: AccessTokenClaims, audience: string): AccessToken | undefined {
  const { iss, aud, sub, client_id, jti, iat, exp, nbf, cnf, authorization_id: authorizationId } = claims;
  if (!isString(iss) || aud !== audience || !isString(sub) || !isString(client_id)) return undefined;
  if (!isString(jti) || !isNumber(iat) || !isNumber(exp)) return undefined;
  const { scope = "" } = claims;
  const scopes = scope === "" ? [] : isString(scope) ? parseScope(scope) : undefined;
  // a token without an authorization is the client's own, so its sub must be the client: it must not name an end user
  if (!scopes || (authorizationId === undefined) !== (sub === client_id)) return undefined;
  // this server issues no nbf, and authorization ids are strings: anything else was not signed as an access token
  if (nbf !== undefined || (authorizationId !== undefined && !isString(authorizationId))) return undefined;
  const boundKey = cnf === undefined ? undefined : readConfirmation(cnf);
  if (cnf !== undefined && boundKey === undefined) return undefined;
  const exchange = claims["act"] === undefined ? {} : readExchange(claims);
  // only for an end user can anybody act
  if (!exchange || ("actor" in exchange && authorizationId === undefined)) return undefined;
  const clientEndMark = optional(claims["client_end_mark"], isString);
  const apiEndMark = optional(claims["api_end_mark"], isString);
  const authTime = optional(claims["auth_time"], isNumber);
  const acr = optional(claims["acr"], isString);
  const amr = optional(claims["amr"], isStrings);
  const added = hostClaimsIn(claims);
  return {
    tokenId: jti,
    issuer: iss,
    clientId: client_id,
    scopes,
    issuedAt: iat,
    expiresAt: exp,
    ...(authorizationId !== undefined && { authorizationId, subject: sub }),
    ...exchange,
    ...(clientEndMark !== undefined && { clientEndMark }),
    ...(apiEndMark !== undefined && { apiEndMark }),
    ...(authTime !== undefined && { authTime }),
    ...(acr !== undefined && { acr }),
    ...(amr !== undefined && { amr }),
    ...(boundKey !== undefined && { boundKey }),
    ...(added && { claims: added }),
  };
}

/** How a token is sent to an API. @rfc 6750 §2.1, 9449 §7.1 */
type TokenType = "bearer" | "DPoP";

/** The success answer of the token endpoint, by its wire names. @rfc 6749 §5.1 */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: TokenType;
  /** Lifetime of the access token in seconds. */
  readonly expires_in: number;
  /** What an exchanged token is. @rfc 8693 §2.2.1 */
  readonly issued_token_type?: string;
  /** Left out when the client may not refresh. */
  readonly refresh_token?: string;
  /**
   * How long the refresh token lives if it is not used, in seconds. Stated where the API says so
   * (draft-ietf-oauth-refresh-token-expiration).
   */
  readonly refresh_token_expires_in?: number;
  /** The granted scopes, separated by spaces. */
  readonly scope?: string;
  /** Where they contain `openid`. @rfc OpenID Connect Core §3.1.3.3 */
  readonly id_token?: string;
  /** Where an assertion names it. @rfc draft-ietf-oauth-identity-assertion-authz-grant-03 §4.4.1 */
  readonly resource?: string;
}

/**
 * The success answer for issued tokens. It always states `scope`, so that clients need not remember what they asked for, unless
 * no scope was granted: RFC 6749 §3.3 has no syntax for an empty one.
 *
 * @rfc 6749 §5.1
 */
export function tokenResponse(issued: {
  accessToken: string;
  accessTokenSeconds: number;
  refreshToken: string | undefined;
  /** `undefined` where the API does not state it. */
  refreshTokenSeconds?: number | undefined;
  scopes: readonly string[];
  /** `undefined` for a bearer token. */
  boundKey?: string | undefined;
  /** `undefined` without a sign-in. */
  idToken?: string | undefined;
  /** `undefined` where no assertion names it. */
  resource?: string | undefined;
}): TokenResponse {
  return {
    access_token: issued.accessToken,
    token_type: issued.boundKey === undefined ? "bearer" : "DPoP",
    expires_in: issued.accessTokenSeconds,
    ...(issued.refreshToken === undefined ? {} : { refresh_token: issued.refreshToken }),
    ...(issued.refreshTokenSeconds !== undefined && { refresh_token_expires_in: issued.refreshTokenSeconds }),
    ...(issued.scopes.length === 0 ? {} : { scope: formatScope(issued.scopes) }),
    ...(issued.idToken !== undefined && { id_token: issued.idToken }),
    ...(issued.resource !== undefined && { resource: issued.resource }),
  };
}

/** The type of access tokens, of either format. @rfc 8693 §3 */
export const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";

/** The same answer for a token that was exchanged. @rfc 8693 §2.2.1 */
export function exchangeResponse(answer: TokenResponse): TokenResponse {
  return { ...answer, issued_token_type: accessTokenType };
}

/** The answer of the introspection endpoint. @rfc 7662 §2.2 */
export type IntrospectionResponse =
  { readonly active: false } | ({ readonly active: true } & Readonly<Record<string, unknown>>);

/**
 * The answer for a token that is unknown, expired, revoked or not for the caller to know. It says nothing else, so that the
 * endpoint does not tell these cases apart.
 *
 * @rfc 7662 §2.2
 */
export const inactive: IntrospectionResponse = { active: false };

/** The answer for an active access token: its claims. @rfc 7662 §2.2 */
export function activeAccessToken(token: AccessToken, { api }: Issuer): IntrospectionResponse {
  const type: TokenType = token.boundKey === undefined ? "bearer" : "DPoP";
  return { active: true, token_type: type, ...accessTokenClaims(token, api.audience) };
}

/** The answer for an active refresh token. Only its own client gets it. @rfc 7662 §2.2 */
export function activeRefreshToken(
  { token, authorization }: { token: RefreshToken; authorization: Authorization },
  { identifier }: Issuer,
): IntrospectionResponse {
  const { clientId, subject, grantedScopes } = authorization;
  return {
    active: true,
    iss: identifier,
    client_id: clientId,
    sub: subject,
    exp: token.expiresAt,
    ...(grantedScopes.length > 0 && { scope: formatScope(grantedScopes) }),
  };
}
