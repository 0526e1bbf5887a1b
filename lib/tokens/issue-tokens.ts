/** Issues access and refresh tokens. RFC 6749 §5.1, §6; 8693 §4.1; 9068 §2; 9449 §5; 9700 §4.14.2. */
import type { ClientRequest } from "../clients/authenticate-client";
import { type AccessToken, accessTokenClaims } from "../protocol/access-token";
import type { Authorization, RefreshToken, RefreshTokenUse } from "../protocol/authorization";
import { digestToken, formatToken } from "../protocol/token-value";
import type { AccessTokenSigner } from "../signing/port";
import type { Storage, StoredAccessToken } from "../storage/port";
import type { DecidedToken } from "./decide-token";
import type { RefreshSuccessors } from "./refresh-successor";

/** What issuing access tokens needs. */
export interface AccessTokenIssuePorts {
  readonly storage: Pick<Storage, "accessTokens">;
  readonly signer: Pick<AccessTokenSigner, "sign">;
  /** Returns 128 random bits as base64url: the id of an access token. */
  readonly randomId: () => string;
  /** Returns 256 random bits as base64url: the secret part of a token. */
  readonly randomToken: () => string;
}

/** What issuing tokens needs. */
export interface TokenIssuePorts extends AccessTokenIssuePorts {
  /** Derives refresh tokens that can be repeated. */
  readonly successors: RefreshSuccessors;
}

/** Who gets an access token, and for what. */
export interface AccessTokenIssue {
  /** The token request; its client has authenticated. */
  readonly request: ClientRequest;
  /** The end user's approval; `undefined` when the client acts on its own behalf. */
  readonly authorization: Authorization | undefined;
  /** What the host has decided about it. */
  readonly decided: DecidedToken;
  /** Who acts, and of what the token is made, where the authorization is of another client. @rfc 8693 §4.1 */
  readonly exchanged?: Required<Pick<AccessToken, "actor" | "authorizationScopes">> | undefined;
}

/** An access token for an answer. */
export interface NewAccessToken {
  readonly token: string;
  /** What is to be stored of an opaque one: its digest, not its text. A JWT is not stored at all. */
  readonly record?: StoredAccessToken;
}

/** A new access token in the API's format, which is not stored yet. @rfc 9068 §2 */
export async function newAccessToken(
  { signer, randomId, randomToken }: Omit<AccessTokenIssuePorts, "storage">,
  { request, authorization, decided, exchanged }: AccessTokenIssue,
): Promise<NewAccessToken> {
  const { issuer, client, endMark, apiEnds, key, now } = request;
  const { authorizationId, subject, authTime, amr, acr } = authorization ?? {};
  const { scopes, accessTokenSeconds, claims } = decided;
  const { api } = issuer;
  const apiEndMark = apiEnds.get(api.audience);
  const hasMarks = authorizationId === undefined || exchanged !== undefined;
  const accessToken: AccessToken = {
    tokenId: randomId(),
    issuer: issuer.identifier,
    clientId: client.clientId,
    scopes,
    issuedAt: now,
    expiresAt: now + accessTokenSeconds,
    ...(authorizationId !== undefined && { authorizationId }),
    ...exchanged,
    // an authorization has those of its own client and API
    ...(hasMarks && endMark !== undefined && { clientEndMark: endMark }),
    ...(hasMarks && apiEndMark !== undefined && { apiEndMark }),
    ...(subject !== undefined && { subject }),
    ...(authTime !== undefined && { authTime }),
    ...(amr !== undefined && { amr }),
    ...(acr !== undefined && { acr }),
    ...(key !== undefined && { boundKey: key }),
    ...(claims && { claims }),
  };
  if (api.accessTokenFormat === "jwt")
    return { token: await signer.sign(accessTokenClaims(accessToken, api.audience)) };
  const token = randomToken();
  return { token, record: { digest: digestToken(token), ...accessToken } };
}

/** The same, and stored. @throws whatever storage rejects with */
export async function issueAccessToken(
  ports: AccessTokenIssuePorts,
  issue: AccessTokenIssue,
): Promise<string> {
  const { token, record } = await newAccessToken(ports, issue);
  if (record) await ports.storage.accessTokens.create(record, issue.request.now);
  return token;
}

/** A refresh token for an answer, with its record. */
export interface IssuedRefreshToken {
  readonly token: string;
  readonly record: RefreshToken;
}

/** A refresh token that is not stored yet. */
export interface NewRefreshToken extends IssuedRefreshToken {
  /** What is stored with its predecessor, so that it can be derived again; `undefined` when it is a random one. */
  readonly use: RefreshTokenUse | undefined;
}

/**
 * A new refresh token with the record to store, or `undefined` when the authorization has no refresh tokens, or none any more.
 * Rotation renews the idle time, but never past `refreshableUntil`: otherwise a client could refresh forever.
 *
 * @param issue `predecessor`: the token that was presented, if this is its successor.
 */
export function newRefreshToken(
  { randomToken, successors }: Pick<TokenIssuePorts, "randomToken" | "successors">,
  issue: { authorization: Authorization; request: ClientRequest; predecessor: string | undefined },
): NewRefreshToken | undefined {
  const { authorization, request, predecessor } = issue;
  const { authorizationId, refreshableUntil } = authorization;
  const { now, issuer, client, key } = request;
  if (refreshableUntil === undefined || refreshableUntil <= now) return undefined;
  const { refreshTokenIdleSeconds, refreshRetrySeconds } = issuer.api.lifetimes;
  const isDerived = predecessor !== undefined && refreshRetrySeconds > 0;
  const derived = isDerived ? successors.derive(predecessor, now) : undefined;
  const token = formatToken(authorizationId, derived?.random ?? randomToken());
  // one that is kept has no use from which to count
  const isKept = issuer.api.refreshRotation === "keep";
  const expiresAt = isKept ? refreshableUntil : Math.min(now + refreshTokenIdleSeconds, refreshableUntil);
  const record = {
    authorizationId,
    digest: digestToken(token),
    expiresAt,
    used: false,
    // that of a confidential client is bound by its authentication (RFC 9449 §5)
    ...(key !== undefined && !client.confidential && { boundKey: key }),
  };
  return { token, record, use: derived?.use };
}
