/** Reads the text of an access token, and tells whether it was revoked. RFC 9068 §4, 6750 §5.2. */
import { type AccessToken, readAccessTokenClaims, withinScopes } from "../protocol/access-token";
import { type Authorization, isOfUnregistered } from "../protocol/authorization";
import type { ClientLookup } from "../clients/client-lookup";
import { ownHostClaims } from "../protocol/host-claims";
import { frozen } from "../protocol/host-json";
import type { Api } from "../protocol/issuer";
import type { EpochSeconds } from "../protocol/time";
import type { TokenDigest } from "../protocol/token-value";
import type { AccessTokenSigner } from "../signing/port";
import type { VerificationKey } from "../signing/verification-key";
import type { Storage } from "../storage/port";
import { authorizationStands, isBornUnderClient } from "./authorization-stands";

/** What reading an access token needs. */
export interface TokenReadPorts {
  readonly storage: Pick<Storage, "accessTokens">;
  readonly signer: Pick<AccessTokenSigner, "verify">;
}

/** What telling whether it was revoked needs. */
export interface RevocationPorts {
  readonly storage: Pick<Storage, "accessTokens" | "authorizations" | "endMarks">;
  readonly clients: Pick<ClientLookup, "findHolder">;
}

/** A JWT has dots, an opaque token has none. The format is not taken from the options, which may change while tokens live. */
export function isJwt(token: string): boolean {
  return token.includes(".");
}

/** An access token that the authorization server issued. */
export interface GenuineToken {
  readonly accessToken: AccessToken;
  /** The key that signed it; `undefined` for an opaque token. */
  readonly key: VerificationKey | undefined;
}

/** What a text may be instead: nothing that this server has issued, or a token for another audience. */
export type TokenProblem = "unknown" | "other-audience";

function readJwt(
  { signer }: TokenReadPorts,
  { token, api, now }: { token: string; api: Api; now: EpochSeconds },
): GenuineToken | TokenProblem {
  const verified = signer.verify(token, now);
  if (!verified) return "unknown";
  const accessToken = readAccessTokenClaims(verified.claims, api.audience);
  if (accessToken) return { accessToken, key: verified.key };
  return verified.claims["aud"] === api.audience ? "unknown" : "other-audience";
}

async function readOpaque(
  { storage }: TokenReadPorts,
  { digest, now }: { digest: TokenDigest; now: EpochSeconds },
): Promise<GenuineToken | TokenProblem> {
  const stored = await storage.accessTokens.find(digest, now);
  if (!stored) return "unknown";
  const { digest: _digest, claims: storedClaims, ...others } = stored;
  const claims = ownHostClaims(storedClaims);
  const actor = others.actor && { actor: frozen(structuredClone(others.actor)) };
  return { accessToken: { ...others, ...(claims && { claims }), ...actor }, key: undefined };
}

/**
 * The access token with this text, if this server issued it for this API, otherwise what is wrong with it. The caller checks
 * issuer, time and revocation.
 *
 * @throws whatever storage rejects with
 * @rfc 9068 §4
 */
export async function readAccessToken(
  ports: TokenReadPorts,
  { token, digest, api, now }: { token: string; digest: TokenDigest; api: Api; now: EpochSeconds },
): Promise<GenuineToken | TokenProblem> {
  return isJwt(token) ? readJwt(ports, { token, api, now }) : readOpaque(ports, { digest, now });
}

/** Why an access token is not valid. For events only: clients are not told it. */
export const tokenReasons = {
  "token-unknown":
    "the token is unknown, forged, or signed with a key that this process does not have (RFC 9068 §4): get a new one. If that does not help, give every process the same signingKeys, which also outlive a restart",
  "token-key-not-published":
    "the token is unknown, forged, or signed with a key that the authorization server does not publish (RFC 9068 §4): get a new one",
  "token-of-another-api": (api: string): string =>
    `the token is not for ${api}: it is for another API, or from another authorization server (RFC 9068 §4): get one at a token endpoint of this API`,
  "token-opaque":
    "the token is opaque, so only the authorization server can tell what it means (RFC 7662 §2): pass introspection to createResourceServer",
  "token-inactive":
    "the authorization server says that the token is not active, so it is unknown, expired or revoked (RFC 7662 §2.2): get a new one",
  "token-expired": ({ clientId, expiresAt }: AccessToken): string =>
    `the token of client ${clientId} expired at ${new Date(Math.max(0, expiresAt) * 1_000).toISOString()} (RFC 6750 §3.1): the client must refresh, or get a new one`,
  "token-revoked": ({ clientId }: AccessToken): string =>
    `the token of client ${clientId} was revoked: get a new one`,
  "token-client-deleted": ({ clientId }: AccessToken): string =>
    `client ${clientId} of the token was deleted or disabled: get a token for a client that is registered`,
  "token-subscription-lost": ({ clientId }: AccessToken): string =>
    `client ${clientId} of the token no longer has a subscription to this API: add it to the client's subscriptions`,
  "token-taken-back": ({ clientId }: AccessToken): string =>
    `the end user has taken back every scope of the token of client ${clientId}: the client must refresh`,
  "token-authorization-ended": ({ clientId }: AccessToken): string =>
    `the authorization of the token was revoked, alone or with all others of client ${clientId}, of the end user or of the API: the client must start a new authorization request`,
} as const;

/** Which of them. */
export type InvalidTokenProblem = keyof typeof tokenReasons;

/** Whether an access token is still valid. */
export type Validity =
  | {
      readonly kind: "valid";
      /** The token, with fewer scopes if the end user has taken back a part of them. */
      readonly accessToken: AccessToken;
      /** When the oldest of what was looked at was read: a remembered client may be as old as the lag. */
      readonly asOf: EpochSeconds;
    }
  | { readonly kind: "ended"; readonly code: InvalidTokenProblem };

function ended(code: InvalidTokenProblem): Validity {
  return { kind: "ended", code };
}

/** The token with those of its scopes that are still granted, or `undefined` when it had some and has none left. */
function stillAllowed(accessToken: AccessToken, grantedScopes: readonly string[]): AccessToken | undefined {
  const left = withinScopes(accessToken, grantedScopes);
  return left === accessToken || left.scopes.length > 0 ? left : undefined;
}

/** The end marks that a token was born under whose client has no authorization of its own. */
function ownMarks({ clientEndMark, apiEndMark }: AccessToken): readonly string[] {
  return [clientEndMark, apiEndMark].filter((mark) => mark !== undefined);
}

/** A token, and how its client is looked up. */
export interface ValidityQuestion {
  readonly accessToken: AccessToken;
  readonly api: Pick<Api, "apiId" | "audience" | "tokenExchange">;
  readonly now: EpochSeconds;
  /** `true`: the client as it is now, for those who remember the answer themselves. Left out: it may be as old as the lag. */
  readonly fresh?: boolean;
}

/** An exchanged token that its own client could still have, and the authorization that it names. */
interface ExchangedQuestion extends ValidityQuestion {
  readonly authorization: Authorization | undefined;
  readonly asOf: EpochSeconds;
}

/** It is valid while the client of the authorization could have a token with all scopes that it was made of. @rfc 8693 §1.1 */
async function exchangedValidity(
  ports: RevocationPorts,
  { authorization, asOf, ...question }: ExchangedQuestion,
): Promise<Validity> {
  const { actor: _actor, ...others } = question.accessToken;
  const api = authorization && question.api.tokenExchange?.apis.get(authorization.apiId);
  if (!authorization || !api?.issuers.includes(authorization.issuer))
    return ended("token-authorization-ended");
  const { clientId } = authorization;
  const origin = { ...others, clientId, scopes: others.authorizationScopes as readonly string[] };
  const validity = await validityOf(ports, { ...question, accessToken: origin, api });
  if (validity.kind === "ended" && validity.code !== "token-taken-back")
    return ended("token-authorization-ended");
  if (validity.kind === "ended" || validity.accessToken !== origin) return ended("token-taken-back");
  return { ...validity, accessToken: question.accessToken, asOf: Math.min(asOf, validity.asOf) };
}

/**
 * Whether the token is still valid. It ends when it is revoked itself, with the authorization that it descends from, with everything of its
 * client or API, and when its client may no longer use the API. A missing authorization is treated as revoked. A token that was exchanged
 * also ends with the client of the authorization, and with the API that this one was allowed to use.
 *
 * @throws whatever storage rejects with: a failure must not pass for "not revoked"
 */
export async function validityOf(
  { storage, clients }: RevocationPorts,
  question: ValidityQuestion,
): Promise<Validity> {
  const { accessToken, api, now, fresh = false } = question;
  const { apiId, audience } = api;
  const { tokenId, clientId, authorizationId, actor } = accessToken;
  const [isRevoked, authorization, holder] = await Promise.all([
    storage.accessTokens.isRevoked(tokenId, now),
    authorizationId === undefined ? undefined : storage.authorizations.find(authorizationId, now),
    clients.findHolder(clientId, { apiId, fresh }),
  ]);
  if (isRevoked) return ended("token-revoked");
  if (!holder || (holder.isSelfDescribed && (actor || !isOfUnregistered(authorization))))
    return ended("token-client-deleted");
  if (!holder.hasSubscription) return ended("token-subscription-lost");
  const place = { audience, now };
  // a client's own token has no authorization, and one that it has exchanged has that of another client
  const stands = await (authorizationId === undefined || actor
    ? isBornUnderClient({ storage }, { born: ownMarks(accessToken), clientId, remembered: holder, ...place })
    : authorizationStands({ storage }, { authorization, registered: holder, ...place }));
  if (!stands) return ended("token-authorization-ended");
  if (actor)
    return exchangedValidity({ storage, clients }, { ...question, authorization, asOf: holder.asOf });
  const left = authorization?.approvedScopes
    ? stillAllowed(accessToken, authorization.grantedScopes)
    : accessToken;
  return left ? { kind: "valid", accessToken: left, asOf: holder.asOf } : ended("token-taken-back");
}
