/** The access token and its form as JWT claims. RFC 9068 §2.2, §4. */
import type { AuthenticationFacts } from "./authorization";
import { type HostClaims, hostClaimsIn } from "./host-claims";
import type { EpochSeconds } from "./time";
import { formatScope, parseScope } from "./scope";

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
  /** The end mark of its client at the time of issue, in a token that a client got for itself; `undefined` when there was none. */
  readonly clientEndMark?: string;
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
    ...(token.clientEndMark !== undefined && { client_end_mark: token.clientEndMark }),
    ...(token.authTime !== undefined && { auth_time: token.authTime }),
    ...(token.acr !== undefined && { acr: token.acr }),
    ...(token.amr !== undefined && { amr: token.amr }),
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

/**
 * The access token that these claims describe, or `undefined` when they do not describe an access token for this audience.
 * The caller verifies the signature first, and checks issuer and time afterwards.
 *
 * @rfc 9068 §4
 */
export function readAccessTokenClaims(claims: AccessTokenClaims, audience: string): AccessToken | undefined {
  const { iss, aud, sub, client_id, jti, iat, exp, nbf, authorization_id: authorizationId } = claims;
  if (!isString(iss) || aud !== audience || !isString(sub) || !isString(client_id)) return undefined;
  if (!isString(jti) || !isNumber(iat) || !isNumber(exp)) return undefined;
  const { scope = "" } = claims;
  const scopes = scope === "" ? [] : isString(scope) ? parseScope(scope) : undefined;
  // a token without an authorization is the client's own, so its sub must be the client: it must not name an end user
  if (!scopes || (authorizationId === undefined) !== (sub === client_id)) return undefined;
  // this server issues no nbf, and authorization ids are strings: whoever signed anything else did not mean an access token
  if (nbf !== undefined || (authorizationId !== undefined && !isString(authorizationId))) return undefined;
  const clientEndMark = optional(claims["client_end_mark"], isString);
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
    ...(clientEndMark !== undefined && { clientEndMark }),
    ...(authTime !== undefined && { authTime }),
    ...(acr !== undefined && { acr }),
    ...(amr !== undefined && { amr }),
    ...(added && { claims: added }),
  };
}
