/** Issuing access and refresh tokens. RFC 6749 §5.1, §6; 9068 §2; 9700 §4.14.2. */
import type { ClientRequest } from "../clients/authenticate-client";
import { type AccessToken, accessTokenClaims } from "../protocol/access-token";
import type { Authorization } from "../protocol/authorization";
import type { RefreshToken } from "../protocol/refresh-token";
import { digestToken, formatToken } from "../protocol/token-value";
import type { AccessTokenSigner } from "../signing/port";
import type { Storage } from "../storage/port";

/** What issuing uses. */
export interface TokenIssuePorts {
  readonly storage: Pick<Storage, "accessTokens">;
  readonly signer: Pick<AccessTokenSigner, "sign">;
  /** 128 random bits, base64url. */
  readonly randomId: () => string;
  /** 256 random bits, base64url. */
  readonly randomToken: () => string;
}

/** To whom an access token is issued, and for what. */
export interface AccessTokenIssue {
  readonly request: ClientRequest;
  /** `undefined` when the client asks for itself. */
  readonly authorization: Authorization | undefined;
  readonly scopes: readonly string[];
}

function newAccessToken(
  { request: { issuer, client, now }, authorization, scopes }: AccessTokenIssue,
  tokenId: string,
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
  { storage, signer, randomId, randomToken }: TokenIssuePorts,
  issue: AccessTokenIssue,
): Promise<string> {
  const accessToken = newAccessToken(issue, randomId());
  const { request } = issue;
  const { api } = request.issuer;
  if (api.accessTokenFormat === "jwt") return signer.sign(accessTokenClaims(accessToken, api.audience));
  const token = randomToken();
  await storage.accessTokens.create({ digest: digestToken(token), ...accessToken }, request.now);
  return token;
}

/** A new refresh token and the record to store, or `undefined` when the authorization has none (any more). */
export function newRefreshToken(
  { randomToken }: Pick<TokenIssuePorts, "randomToken">,
  { authorization, request }: { authorization: Authorization; request: ClientRequest },
): { readonly token: string; readonly record: RefreshToken } | undefined {
  const { authorizationId, refreshableUntil } = authorization;
  const { now, issuer } = request;
  if (refreshableUntil === undefined || refreshableUntil <= now) return undefined;
  const token = formatToken(authorizationId, randomToken());
  const expiresAt = Math.min(now + issuer.api.lifetimes.refreshTokenIdleSeconds, refreshableUntil);
  return { token, record: { authorizationId, digest: digestToken(token), expiresAt, used: false } };
}
