/** The authorization code grant: issuing the code and redeeming it. RFC 6749 §4.1, 7636, 9700 §2.1.1, §4.14. */
import { type AuthenticationFacts, type Authorization, isLive } from "../protocol/authorization";
import { type AuthorizationCode, redemptionProblem } from "../protocol/authorization-code";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { mayUseGrant, registeredScopes } from "../protocol/client";
import { clockDriftSeconds } from "../protocol/clock-drift";
import type { EpochSeconds } from "../protocol/epoch-seconds";
import type { Issuer } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import { isCodeVerifier } from "../protocol/pkce";
import { intersect } from "../protocol/scope";
import { tokenResponse, type TokenResponse } from "../protocol/token-response";
import { digestToken, formatToken, parseToken } from "../protocol/token-value";
import { allStored } from "../storage/all-stored";
import {
  type Grant,
  type GrantContext,
  invalidGrant,
  type Replay,
  requireParameter,
  revokeAfterReplay,
  type TokenRequest,
} from "./grant";
import { issueAccessToken, newRefreshToken } from "./issue-tokens";

/** An end user's approval of a checked request. */
export interface Approval {
  readonly request: AuthorizationRequest;
  readonly subject: string;
  readonly facts: AuthenticationFacts;
  readonly grantedScopes: readonly string[];
  readonly now: EpochSeconds;
}

/** How long, in seconds, a pending request, a consent or an authorization may live at most, with the drift of clocks. */
export function longestLifeSeconds(issuers: readonly Issuer[]): number {
  const lives = issuers.flatMap(({ api: { accessTokenSeconds, lifetimes } }) => [
    Math.max(lifetimes.authorizationCodeSeconds, lifetimes.refreshTokenSeconds) + accessTokenSeconds,
    lifetimes.consentSeconds,
    lifetimes.interactionSeconds,
  ]);
  return Math.max(...lives) + clockDriftSeconds;
}

function newAuthorization({ randomId }: GrantContext, approval: Approval): Authorization {
  const { request, subject, facts, grantedScopes, now } = approval;
  const { issuer, client } = request;
  const { apiId, accessTokenSeconds, lifetimes } = issuer.api;
  const refreshable = mayUseGrant(client, { apiId, grantType: "refresh_token" });
  const lastIssue =
    now + Math.max(lifetimes.authorizationCodeSeconds, refreshable ? lifetimes.refreshTokenSeconds : 0);
  return {
    authorizationId: randomId(),
    issuer: issuer.identifier,
    authMethodId: issuer.authMethodId,
    apiId,
    clientId: client.clientId,
    subject,
    grantedScopes,
    createdAt: now,
    expiresAt: lastIssue + accessTokenSeconds,
    revoked: false,
    ...(refreshable && { refreshableUntil: now + lifetimes.refreshTokenSeconds }),
    ...facts,
  };
}

/** What an approval has made. */
export interface IssuedCode {
  readonly code: string;
  readonly authorizationId: string;
}

/** Stores the authorization and its code, and gives the code. One without the other is worth nothing. @rfc 6749 §4.1.2 */
export async function issueAuthorizationCode(context: GrantContext, approval: Approval): Promise<IssuedCode> {
  const { storage, randomToken } = context;
  const { request, now } = approval;
  const { lifetimes, accessTokenSeconds } = request.issuer.api;
  const authorization = newAuthorization(context, approval);
  const { authorizationId } = authorization;
  const code = formatToken(authorizationId, randomToken());
  const redeemBefore = now + lifetimes.authorizationCodeSeconds;
  const record: AuthorizationCode = {
    authorizationId,
    digest: digestToken(code),
    redirectUri: request.target.uri,
    redeemBefore,
    // a thief who was first is still noticed while the first access token lives
    expiresAt: redeemBefore + accessTokenSeconds,
    consumed: false,
    ...(request.codeChallenge !== undefined && { codeChallenge: request.codeChallenge }),
  };
  await allStored([
    storage.authorizations.create(authorization, now),
    storage.authorizationCodes.create(record, now),
  ]);
  return { code, authorizationId };
}

function readCodeVerifier({ parameters }: TokenRequest): string | undefined {
  const codeVerifier = parameters.get("code_verifier");
  if (codeVerifier === undefined || isCodeVerifier(codeVerifier)) return codeVerifier;
  throw new OAuthError("invalid_request", {
    description: "code_verifier must be 43 to 128 unreserved characters.",
    reason: "code_verifier has another form (RFC 7636 §4.1): make it of 32 random bytes as base64url",
  });
}

/** The code and its authorization, once the client has proved that the code is its own. */
async function findProven(
  { storage }: GrantContext,
  request: TokenRequest,
): Promise<{ code: AuthorizationCode; authorization: Authorization }> {
  const { issuer, client, parameters, now } = request;
  const handle = parseToken(requireParameter(parameters, "code"));
  const codeVerifier = readCodeVerifier(request);
  if (!handle) throw invalidGrant("the code is none of ours");
  const [code, authorization] = await Promise.all([
    storage.authorizationCodes.find(handle, now),
    storage.authorizations.find(handle.authorizationId, now),
  ]);
  if (!code || !authorization) throw invalidGrant("the code is unknown");
  const redirectUri = parameters.get("redirect_uri");
  const problem = redemptionProblem({ code, authorization }, { issuer, client, redirectUri, codeVerifier });
  if (problem !== undefined) throw invalidGrant(problem);
  return { code, authorization };
}

/** Proof first, so that a thief without it can neither burn the code nor revoke the authorization. */
async function findRedeemable(
  context: GrantContext,
  request: TokenRequest,
): Promise<{ code: AuthorizationCode; authorization: Authorization }> {
  const { code, authorization } = await findProven(context, request);
  if (code.consumed) throw await revokeAfterReplay(context, replayOf(code, request));
  if (code.redeemBefore <= request.now) throw invalidGrant("the code has expired");
  if (!isLive(authorization, request.now)) throw invalidGrant("the authorization was revoked");
  return { code, authorization };
}

function replayOf({ authorizationId }: AuthorizationCode, request: TokenRequest): Replay {
  return { replayed: "authorization_code", authorizationId, request };
}

/** The tokens are stored before the code is spent: when storing fails, the client can try again with the same code. */
async function exchange(context: GrantContext, request: TokenRequest): Promise<TokenResponse> {
  const { code, authorization } = await findRedeemable(context, request);
  const { issuer, client } = request;
  // what was taken out of the subscription since then is not issued
  const scopes = intersect(authorization.grantedScopes, registeredScopes(client, issuer));
  const refreshToken = newRefreshToken(context, { authorization, request });
  const [accessToken] = await allStored([
    issueAccessToken(context, { request, grant: { authorization, scopes } }),
    refreshToken && context.storage.refreshTokens.create(refreshToken.record, request.now),
  ]);
  // exactly one of any number wins; nobody is given what the others have stored
  const outcome = await context.storage.authorizationCodes.consume(code, request.now);
  if (outcome !== "consumed") throw await revokeAfterReplay(context, replayOf(code, request));
  context.emit({
    kind: "token-issued",
    grantType: "authorization_code",
    issuer: issuer.identifier,
    clientId: client.clientId,
    subject: authorization.subject,
    authorizationId: authorization.authorizationId,
    scopes,
  });
  const { accessTokenSeconds } = issuer.api;
  return tokenResponse({ accessToken, accessTokenSeconds, refreshToken: refreshToken?.token, scopes });
}

export const authorizationCodeGrant: Grant = { grantType: "authorization_code", exchange };
