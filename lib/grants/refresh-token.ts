/** The refresh grant: one rotation by compare-and-set. RFC 6749 §6, 9700 §4.14.2. */
import { type Authorization, isLive } from "../protocol/authorization";
import { reportIgnoredScopes } from "../events/ignored-scopes";
import { registeredScopes } from "../protocol/client";
import { OAuthError } from "../protocol/oauth-error";
import { ownershipProblem, type RefreshToken } from "../protocol/refresh-token";
import { ignoreUnknownScopes } from "../protocol/requested-scopes";
import { intersect, isSubset, parseScope } from "../protocol/scope";
import { tokenResponse, type TokenResponse } from "../protocol/token-response";
import { parseToken } from "../protocol/token-value";
import {
  type Grant,
  type GrantContext,
  invalidGrant,
  requireParameter,
  revokeAfterReplay,
  type TokenRequest,
} from "./grant";
import { issueAccessToken, newRefreshToken } from "./issue-tokens";

/** The usable token and its authorization. A used one that its own client sends again revokes the authorization. */
async function findUsable(
  context: GrantContext,
  request: TokenRequest,
): Promise<{ token: RefreshToken; authorization: Authorization }> {
  const { storage } = context;
  const { parameters, now } = request;
  const handle = parseToken(requireParameter(parameters, "refresh_token"));
  if (!handle) throw invalidGrant("the refresh token is none of ours");
  const [token, authorization] = await Promise.all([
    storage.refreshTokens.find(handle, now),
    storage.authorizations.find(handle.authorizationId, now),
  ]);
  if (!token || !authorization || token.expiresAt <= now)
    throw invalidGrant("the refresh token is unknown or expired");
  const problem = ownershipProblem(authorization, request);
  if (problem !== undefined) throw invalidGrant(problem);
  if (!isLive(authorization, now)) throw invalidGrant("the authorization was revoked");
  if (!token.used) return { token, authorization };
  throw await revokeAfterReplay(context, {
    replayed: "refresh_token",
    authorizationId: token.authorizationId,
    request,
  });
}

/** Narrower than or equal to what was granted, and never more than the client may have today. @rfc 6749 §6 */
function scopesToIssue(
  { emit }: GrantContext,
  { request, authorization }: { request: TokenRequest; authorization: Authorization },
): readonly string[] {
  const { issuer, client, parameters } = request;
  const { grantedScopes, subject, authorizationId } = authorization;
  const scope = parameters.get("scope");
  const registered = registeredScopes(client, issuer);
  if (scope === undefined) return intersect(grantedScopes, registered);
  const named = parseScope(scope);
  const resolved = named && ignoreUnknownScopes(named, request);
  if (!resolved || !isSubset(resolved.requestedScopes, grantedScopes)) {
    throw new OAuthError("invalid_scope", {
      description: "The scope is malformed or goes beyond what the end user granted.",
      reason:
        "scope of a refresh is some or all of what was granted (RFC 6749 §6): leave it out, or ask anew",
    });
  }
  reportIgnoredScopes(emit, { request, ...resolved, about: { subject, authorizationId } });
  return intersect(resolved.requestedScopes, registered);
}

/** Exactly one of any number of simultaneous refreshes wins; the others are replays. */
async function rotate(
  context: GrantContext,
  { from, to, request }: { from: RefreshToken; to: RefreshToken; request: TokenRequest },
): Promise<void> {
  const outcome = await context.storage.refreshTokens.rotate({ from, to }, request.now);
  if (outcome === "rotated") return;
  const { authorizationId } = from;
  throw await revokeAfterReplay(context, { replayed: "refresh_token", authorizationId, request });
}

async function exchange(context: GrantContext, request: TokenRequest): Promise<TokenResponse> {
  const { token: from, authorization } = await findUsable(context, request);
  const scopes = scopesToIssue(context, { request, authorization });
  const next = newRefreshToken(context, { authorization, request });
  if (!next) throw invalidGrant("the authorization can no longer be refreshed");
  // stored before the refresh token is spent: when this fails, the client can try again. Of a lost race an opaque access
  // token stays behind that nobody was given
  const accessToken = await issueAccessToken(context, { request, grant: { authorization, scopes } });
  await rotate(context, { from, to: next.record, request });
  const { issuer, client } = request;
  context.emit({
    kind: "token-refreshed",
    issuer: issuer.identifier,
    clientId: client.clientId,
    subject: authorization.subject,
    authorizationId: authorization.authorizationId,
    scopes,
  });
  return tokenResponse({
    accessToken,
    accessTokenSeconds: issuer.api.accessTokenSeconds,
    refreshToken: next.token,
    scopes,
  });
}

export const refreshTokenGrant: Grant = { grantType: "refresh_token", exchange };
