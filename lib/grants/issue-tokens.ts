/** Issuing access and refresh tokens. RFC 6749 §5.1, §6; 9068 §2; 9700 §4.14.2. */
import { type AccessToken, accessTokenClaims } from "../protocol/access-token";
import type { Authorization } from "../protocol/authorization";
import type { RefreshToken } from "../protocol/refresh-token";
import { digestToken, formatToken } from "../protocol/token-value";
import type { GrantContext, TokenRequest } from "./grant";

export interface AccessTokenGrant {
  /** `undefined` when the client asks for itself. */
  readonly authorization: Authorization | undefined;
  readonly scopes: readonly string[];
}

function describeAccessToken(
  { issuer, client, now }: TokenRequest,
  { authorization, scopes, tokenId }: AccessTokenGrant & { tokenId: string },
): AccessToken {
  const { authorizationId, subject, authTime, amr, acr } = authorization ?? {};
  return {
    tokenId,
    issuer: issuer.identifier,
    clientId: client.clientId,
    scopes,
    issuedAt: now,
    expiresAt: now + issuer.api.accessTokenSeconds,
    ...(authorizationId !== undefined && { authorizationId }),
    ...(subject !== undefined && { subject }),
    ...(authTime !== undefined && { authTime }),
    ...(amr !== undefined && { amr }),
    ...(acr !== undefined && { acr }),
  };
}

/** A new access token in the API's format. Only an opaque one is stored, as its digest. */
export async function issueAccessToken(
  { storage, signer, randomId, randomToken }: GrantContext,
  { request, grant }: { request: TokenRequest; grant: AccessTokenGrant },
): Promise<string> {
  const accessToken = describeAccessToken(request, { tokenId: randomId(), ...grant });
  const { api } = request.issuer;
  if (api.accessTokenFormat === "jwt") return signer.sign(accessTokenClaims(accessToken, api.audience));
  const token = randomToken();
  await storage.accessTokens.create({ digest: digestToken(token), ...accessToken }, request.now);
  return token;
}

/** A new refresh token and the record to store, or `undefined` when the authorization has none (any more). */
export function newRefreshToken(
  { randomToken }: GrantContext,
  { authorization, request }: { authorization: Authorization; request: TokenRequest },
): { readonly token: string; readonly record: RefreshToken } | undefined {
  const { authorizationId, refreshableUntil } = authorization;
  const { now, issuer } = request;
  if (refreshableUntil === undefined || refreshableUntil <= now) return undefined;
  const token = formatToken(authorizationId, randomToken());
  const expiresAt = Math.min(now + issuer.api.lifetimes.refreshTokenIdleSeconds, refreshableUntil);
  return { token, record: { authorizationId, digest: digestToken(token), expiresAt, used: false } };
}
