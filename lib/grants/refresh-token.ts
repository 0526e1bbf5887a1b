/** The refresh token grant: one rotation by compare-and-set. RFC 6749 §6, 9700 §4.14.2. */
import type { ClientRequest } from "../clients/authenticate-client";
import { reportIgnoredScopes } from "../events/ignored-scopes";
import { type Authorization, isLive } from "../protocol/authorization";
import { registeredScopes } from "../protocol/client";
import { OAuthError } from "../protocol/oauth-error";
import { ownershipProblem, type RefreshToken } from "../protocol/refresh-token";
import { readNamedScopes } from "../protocol/requested-scopes";
import { intersect, isSubset } from "../protocol/scope";
import { tokenResponse, type TokenResponse } from "../protocol/token-response";
import { parseTokenHandle } from "../protocol/token-value";
import { requireParameter } from "../requests/check-parameters";
import { invalidScope } from "../requests/check-scopes";
import { decideToken } from "../tokens/decide-token";
import { issueAccessToken, newRefreshToken } from "../tokens/issue-tokens";
import { type Grant, type GrantPorts, invalidGrant, revokeAfterReplay } from "./grant";

/**
 * The usable token and its authorization. If the token's own client presents a used one, the authorization is revoked. A token of
 * another client changes nothing: a thief with half of the proof must not be able to end a session.
 */
async function findUsable(
  ports: GrantPorts,
  request: ClientRequest,
): Promise<{ token: RefreshToken; authorization: Authorization }> {
  const { storage } = ports;
  const { parameters, now } = request;
  const handle = parseTokenHandle(requireParameter(parameters, "refresh_token"));
  if (!handle) throw invalidGrant("the refresh token was not issued by this server");
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
  throw await revokeAfterReplay(ports, {
    replayed: "refresh_token",
    authorizationId: token.authorizationId,
    request,
  });
}

/** The scopes to issue: all granted ones or fewer, and never more than the client may have today. @rfc 6749 §6 */
function scopesToIssue(
  { emit }: GrantPorts,
  { request, authorization }: { request: ClientRequest; authorization: Authorization },
): readonly string[] {
  const { issuer, client, parameters } = request;
  const { grantedScopes, subject, authorizationId } = authorization;
  const scope = parameters.get("scope");
  const registered = registeredScopes(client, issuer);
  if (scope === undefined) return intersect(grantedScopes, registered);
  const named = readNamedScopes(scope, request);
  if (named === "none-registered") throw invalidScope(named);
  if (typeof named === "string" || !isSubset(named.requestedScopes, grantedScopes)) {
    throw new OAuthError("invalid_scope", {
      description: "The scope is malformed or goes beyond what the end user granted.",
      reason:
        "the scope of a refresh must be some or all of what was granted (RFC 6749 §6): leave it out, or start a new authorization request",
    });
  }
  reportIgnoredScopes(emit, {
    request,
    ignoredScopes: named.ignoredScopes,
    about: { subject, authorizationId },
  });
  return intersect(named.requestedScopes, registered);
}

/** Rotates the token. Of any number of simultaneous refreshes exactly one wins; the others count as replays. */
async function rotate(
  ports: GrantPorts,
  { from, to, request }: { from: RefreshToken; to: RefreshToken; request: ClientRequest },
): Promise<void> {
  const outcome = await ports.storage.refreshTokens.rotate({ from, to }, request.now);
  if (outcome === "rotated") return;
  const { authorizationId } = from;
  throw await revokeAfterReplay(ports, { replayed: "refresh_token", authorizationId, request });
}

async function exchange(ports: GrantPorts, request: ClientRequest): Promise<TokenResponse> {
  const { token: from, authorization } = await findUsable(ports, request);
  const asked = scopesToIssue(ports, { request, authorization });
  const next = newRefreshToken(ports, { authorization, request });
  if (!next) throw invalidGrant("the authorization can no longer be refreshed");
  const proposal = { grantType: "refresh_token", request, authorization, scopes: asked } as const;
  // before anything is stored or spent
  const decided = await decideToken(ports, proposal);
  // stored before the refresh token is spent: if this fails, the client can try again. A lost race leaves behind an opaque
  // access token that was given to nobody
  const accessToken = await issueAccessToken(ports, { request, authorization, decided });
  await rotate(ports, { from, to: next.record, request });
  const { issuer, client } = request;
  ports.emit({
    kind: "token-refreshed",
    issuer: issuer.identifier,
    clientId: client.clientId,
    subject: authorization.subject,
    authorizationId: authorization.authorizationId,
    scopes: decided.scopes,
  });
  const { scopes, accessTokenSeconds } = decided;
  return tokenResponse({
    accessToken,
    accessTokenSeconds,
    refreshToken: next.token,
    refreshTokenSeconds: next.statedSeconds,
    scopes,
  });
}

/** The refresh token grant. @rfc 6749 §6 */
export const refreshTokenGrant: Grant = { exchange };
