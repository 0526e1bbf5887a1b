/** Issues an authorization code and the authorization that it stands for. RFC 6749 §4.1.2; 9700 §4.14. */
import {
  type Authorization,
  type AuthorizationCode,
  proofKindOf,
  type SignInFacts,
} from "../protocol/authorization";
import type { AuthorizationContext } from "../protocol/authorization-context";
import type { AuthorizationRequest } from "../protocol/authorization-request";
import { mayUseGrant } from "../protocol/client";
import { type DeviceAnswering, deviceCodeSeconds } from "../protocol/device";
import type { Issuer } from "../protocol/issuer";
import { clockDriftSeconds, type EpochSeconds } from "../protocol/time";
import { digestToken, formatToken } from "../protocol/token-value";
import type { Storage } from "../storage/port";
import { approve } from "../storage/steps";

/** What issuing a code needs. */
export interface CodeIssuePorts {
  readonly storage: Pick<Storage, "authorizations" | "authorizationCodes" | "atOnce">;
  /** Returns 256 random bits as base64url: the secret part of a code. */
  readonly randomToken: () => string;
}

/** What an end user allows a client, however the client has asked. */
export interface AllowedAccess {
  /** Where, and to whom. */
  readonly request: Pick<AuthorizationRequest, "issuer" | "client"> &
    Partial<Pick<AuthorizationRequest, "target">>;
  /** The stable id of the end user. */
  readonly subject: string;
  readonly facts: SignInFacts;
  /** The scopes that the end user allowed, with those that they imply. */
  readonly grantedScopes: readonly string[];
  /** What the end user chose along the way. */
  readonly context: AuthorizationContext | undefined;
  /** The end marks that the approval is born under. */
  readonly endMarks: readonly string[];
  readonly now: EpochSeconds;
}

/** An end user's approval of a checked request. */
export interface Approval extends AllowedAccess {
  readonly request: AuthorizationRequest;
  /** A new id. */
  readonly authorizationId: string;
}

/** For how long, in seconds, anything that an approval at this issuer leads to can live. */
export function authorizationLifeSeconds({ api }: Issuer): number {
  const { accessTokenSeconds, lifetimes, deviceAuthorization } = api;
  const { authorizationCodeSeconds, refreshTokenSeconds } = lifetimes;
  const deviceSeconds = deviceAuthorization ? deviceCodeSeconds : 0;
  return Math.max(authorizationCodeSeconds, refreshTokenSeconds, deviceSeconds) + accessTokenSeconds;
}

/** The longest time, in seconds, that a pending request, a consent or an authorization can live, plus the drift of clocks. */
export function longestLifeSeconds(issuers: readonly Issuer[]): number {
  const lives = issuers.flatMap((issuer) => [
    authorizationLifeSeconds(issuer),
    issuer.api.lifetimes.consentSeconds,
    issuer.api.lifetimes.interactionSeconds,
  ]);
  return Math.max(...lives) + clockDriftSeconds;
}

/** When a code can no longer be redeemed: that of a device, when its device code ends. */
function redeemBefore({ request: { issuer, target }, now }: AllowedAccess): EpochSeconds {
  return target?.device?.expiresAt ?? now + issuer.api.lifetimes.authorizationCodeSeconds;
}

/** The record of an approval, which is not stored yet. */
export function newAuthorization(authorizationId: string, allowed: AllowedAccess): Authorization {
  const { request, subject, facts, grantedScopes, context, endMarks, now } = allowed;
  const { issuer, client } = request;
  const { apiId, accessTokenSeconds, lifetimes } = issuer.api;
  const refreshable = mayUseGrant(client, { apiId, grantType: "refresh_token" });
  // the authorization must outlive the last access token issued under it: a token without its authorization is treated as revoked
  const lastIssue = Math.max(redeemBefore(allowed), refreshable ? now + lifetimes.refreshTokenSeconds : 0);
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
    endMarks,
    ...(context && { context }),
    ...(client.selfDescription && { clientAuthentication: proofKindOf(client) }),
    ...(refreshable && { refreshableUntil: now + lifetimes.refreshTokenSeconds }),
    ...facts,
  };
}

/**
 * Stores the authorization and its code, and returns the code, which goes to the client and nowhere else. Of a device, which has its
 * code already, only the authorization is stored.
 *
 * @throws whatever storage rejects with
 * @rfc 6749 §4.1.2
 */
export async function issueAuthorizationCode(
  { storage, randomToken }: CodeIssuePorts,
  approval: Approval,
): Promise<string | undefined> {
  const { request, authorizationId, now } = approval;
  const { target, codeChallenge, boundKey, nonce } = request;
  const authorization = newAuthorization(authorizationId, approval);
  if (target.device) {
    await storage.authorizations.create(authorization, now);
    return undefined;
  }
  const code = formatToken(authorizationId, randomToken());
  const end = redeemBefore(approval);
  const record: AuthorizationCode = {
    authorizationId,
    digest: digestToken(code),
    redirectUri: target.uri,
    redeemBefore: end,
    // while the first access token lives, a replay still reveals that a thief redeemed the code first
    expiresAt: end + request.issuer.api.accessTokenSeconds,
    consumed: false,
    ...(codeChallenge !== undefined && { codeChallenge }),
    ...(boundKey !== undefined && { boundKey }),
    ...(nonce !== undefined && { nonce }),
  };
  await approve(storage, { authorization, code: record }, now);
  return code;
}

/**
 * Stores the code of a device. It is the last step of an approval: the device asks all the time, and gets tokens from then on.
 *
 * @throws whatever storage rejects with
 * @rfc 8628 §3.5
 */
export async function issueDeviceCode(
  { storage }: Pick<CodeIssuePorts, "storage">,
  approval: Approval & { readonly device: DeviceAnswering },
): Promise<void> {
  const { device, request, now } = approval;
  const expiresAt = device.expiresAt + request.issuer.api.accessTokenSeconds;
  const end = { redeemBefore: device.expiresAt, expiresAt, consumed: false };
  await storage.authorizationCodes.create({ ...device.code, kind: "device", ...end }, now);
}
