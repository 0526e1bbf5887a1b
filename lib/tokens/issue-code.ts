/** Issuing an authorization code, and the authorization that it stands for. RFC 6749 §4.1.2; 9700 §4.14. */
import type { AuthenticationFacts, Authorization } from "../protocol/authorization";
import type { AuthorizationCode } from "../protocol/authorization-code";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { mayUseGrant } from "../protocol/client";
import type { Issuer } from "../protocol/issuer";
import { clockDriftSeconds, type EpochSeconds } from "../protocol/time";
import { digestToken, formatToken } from "../protocol/token-value";
import { allStored } from "../storage/calls";
import type { Storage } from "../storage/port";

/** What issuing a code uses. */
export interface CodeIssuePorts {
  readonly storage: Pick<Storage, "authorizations" | "authorizationCodes">;
  /** 128 random bits, base64url. */
  readonly randomId: () => string;
  /** 256 random bits, base64url. */
  readonly randomToken: () => string;
}

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

function newAuthorization(authorizationId: string, approval: Approval): Authorization {
  const { request, subject, facts, grantedScopes, now } = approval;
  const { issuer, client } = request;
  const { apiId, accessTokenSeconds, lifetimes } = issuer.api;
  const refreshable = mayUseGrant(client, { apiId, grantType: "refresh_token" });
  const lastIssue =
    now + Math.max(lifetimes.authorizationCodeSeconds, refreshable ? lifetimes.refreshTokenSeconds : 0);
  return {
    authorizationId,
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
export async function issueAuthorizationCode(
  { storage, randomId, randomToken }: CodeIssuePorts,
  approval: Approval,
): Promise<IssuedCode> {
  const { request, now } = approval;
  const { lifetimes, accessTokenSeconds } = request.issuer.api;
  const authorizationId = randomId();
  const authorization = newAuthorization(authorizationId, approval);
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
