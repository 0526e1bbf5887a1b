/** The revocation endpoint: a client ends its own tokens. RFC 7009 §2. */
import { type GrantContext, requireParameter, type TokenRequest } from "../grants/grant";
import { OAuthError } from "../protocol/oauth-error";
import { ownershipProblem } from "../protocol/refresh-token";
import { digestToken, parseToken, type TokenHandle } from "../protocol/token-value";
import type { ClientEndpoint } from "./client-request";
import { readAccessToken } from "./read-access-token";

/** With its refresh token an authorization ends, and every access token that descends from it. @rfc 7009 §2.1, §2.2.1 */
async function revokeRefreshToken(
  { storage, emit }: GrantContext,
  { request, handle }: { request: TokenRequest; handle: TokenHandle },
): Promise<void> {
  const { issuer, client, now } = request;
  const { authorizationId } = handle;
  const [token, code, authorization] = await Promise.all([
    storage.refreshTokens.find(handle, now),
    storage.authorizationCodes.find(handle, now),
    storage.authorizations.find(authorizationId, now),
  ]);
  if (!authorization || ownershipProblem(authorization, request) !== undefined) return;
  if (code) {
    throw new OAuthError("unsupported_token_type", {
      description: "An authorization code cannot be revoked.",
      reason: "only access and refresh tokens are revoked (RFC 7009 §2): let the code expire",
    });
  }
  if (!token) return;
  await storage.authorizations.revoke(authorizationId, now);
  const { clientId } = client;
  emit({
    kind: "token-revoked",
    revoked: "refresh_token",
    issuer: issuer.identifier,
    clientId,
    authorizationId,
  });
}

async function revokeAccessToken(
  context: GrantContext,
  { request, token }: { request: TokenRequest; token: string },
): Promise<void> {
  const { issuer, client, now } = request;
  const genuine = await readAccessToken(context, {
    token,
    digest: digestToken(token),
    api: issuer.api,
    at: now,
  });
  const accessToken = genuine?.accessToken;
  if (!accessToken || accessToken.issuer !== issuer.identifier || accessToken.clientId !== client.clientId)
    return;
  const { tokenId, expiresAt, clientId } = accessToken;
  if (expiresAt <= now) return;
  await context.storage.accessTokens.revoke({ tokenId, clientId, expiresAt }, now);
  context.emit({ kind: "token-revoked", revoked: "access_token", issuer: issuer.identifier, clientId });
}

export const revocationEndpoint: ClientEndpoint = {
  refused: "revocation-refused",
  async answer(context, request) {
    const token = requireParameter(request.parameters, "token");
    // the form of a token tells its kind: token_type_hint is not needed, and a wrong one must not matter
    const handle = parseToken(token);
    if (handle) await revokeRefreshToken(context, { request, handle });
    else await revokeAccessToken(context, { request, token });
    // a token that is unknown, or somebody else's, gets the same answer: there is nothing to be done
    return {};
  },
};
