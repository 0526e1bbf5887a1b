/** From the text of an access token to what it stands for, and whether it still stands. RFC 9068 §4, 6750 §5.2. */
import type { GrantContext } from "../grants/grant";
import { type AccessToken, readAccessTokenClaims } from "../protocol/access-token";
import { isLive } from "../protocol/authorization";
import type { EpochSeconds } from "../protocol/epoch-seconds";
import type { Api } from "../protocol/issuer";
import { digestToken, type TokenDigest } from "../protocol/token-value";

/** A JWT has dots, an opaque token has none; an API may have changed its format while tokens live. */
function isJwt(token: string): boolean {
  return token.includes(".");
}

function readJwt(
  { signer }: GrantContext,
  { token, api }: { token: string; api: Api },
): AccessToken | undefined {
  const claims = signer.verify(token);
  return claims && readAccessTokenClaims(claims, api.audience);
}

async function readOpaque(
  { storage }: GrantContext,
  { digest, at }: { digest: TokenDigest; at: EpochSeconds },
): Promise<AccessToken | undefined> {
  const stored = await storage.accessTokens.find(digest, at);
  if (!stored) return undefined;
  const { digest: _digest, ...accessToken } = stored;
  return accessToken;
}

/** The genuine access token with this text; issuer, time and revocation are the caller's to check. */
export async function readAccessToken(
  context: GrantContext,
  { token, api, at }: { token: string; api: Api; at: EpochSeconds },
): Promise<AccessToken | undefined> {
  return isJwt(token)
    ? readJwt(context, { token, api })
    : readOpaque(context, { digest: digestToken(token), at });
}

/** False once the token itself or the authorization that it descends from was revoked. */
export async function accessTokenStands(
  { storage }: GrantContext,
  { accessToken, at }: { accessToken: AccessToken; at: EpochSeconds },
): Promise<boolean> {
  const { tokenId, authorizationId } = accessToken;
  const [isRevoked, authorization] = await Promise.all([
    storage.accessTokens.isRevoked(tokenId, at),
    authorizationId === undefined ? undefined : storage.authorizations.find(authorizationId, at),
  ]);
  // a client's own token descends from no authorization
  return !isRevoked && (authorizationId === undefined || isLive(authorization, at));
}
