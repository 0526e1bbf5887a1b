/** Is this access token good at this API? RFC 6750 §3.1, 9068 §4, 7662 §4 (caching). */
import { LRUCache } from "lru-cache";
import type { GrantContext } from "../grants/grant";
import { type AccessToken, readAccessTokenClaims } from "../protocol/access-token";
import { isLive } from "../protocol/authorization";
import type { EpochSeconds } from "../protocol/epoch-seconds";
import type { Api, Issuer } from "../protocol/issuer";
import { digestToken } from "../protocol/token-value";

export type AccessTokenVerdict =
  | { readonly kind: "valid"; readonly accessToken: AccessToken }
  | { readonly kind: "invalid"; readonly reason: string };

export interface AccessTokenVerifierOptions {
  readonly api: Api;
  /** The issuers of this API. */
  readonly issuers: readonly Issuer[];
  /** How long a good answer may be repeated without asking storage again. */
  readonly revocationLagSeconds: number;
}

interface Remembered {
  readonly accessToken: AccessToken;
  readonly checkedAt: EpochSeconds;
}

const maxRemembered = 10_000;

/**
 * A verifier for one API. Good tokens are remembered by the digest of their exact text, in a bounded cache, never past
 * `exp` and for `revocationLagSeconds` without a look at storage; nothing is remembered of a bad one.
 */
export function accessTokenVerifier(
  { storage, signer, now }: GrantContext,
  { api, issuers, revocationLagSeconds }: AccessTokenVerifierOptions,
): (token: string) => Promise<AccessTokenVerdict> {
  const remembered = new LRUCache<string, Remembered>({ max: maxRemembered });
  const issuerIds = new Set(issuers.map(({ identifier }) => identifier));

  async function readStored(token: string, at: EpochSeconds): Promise<AccessToken | undefined> {
    const stored = await storage.accessTokens.find(digestToken(token), at);
    if (!stored) return undefined;
    const { digest: _digest, ...accessToken } = stored;
    return accessToken;
  }

  /** A JWT has dots, an opaque token has none; the API may have changed its format while tokens live. */
  async function read(token: string, at: EpochSeconds): Promise<AccessToken | undefined> {
    if (!token.includes(".")) return readStored(token, at);
    const claims = signer.verify(token);
    return claims && readAccessTokenClaims(claims, api.audience);
  }

  async function authorizationStands({ authorizationId }: AccessToken, at: EpochSeconds): Promise<boolean> {
    if (authorizationId === undefined) return true;
    return isLive(await storage.authorizations.find(authorizationId, at), at);
  }

  return async (token) => {
    const at = now();
    const key = digestToken(token);
    const known = remembered.get(key);
    if (known && at < known.accessToken.expiresAt && at - known.checkedAt < revocationLagSeconds) {
      return { kind: "valid", accessToken: known.accessToken };
    }
    remembered.delete(key);
    const accessToken = known && token.includes(".") ? known.accessToken : await read(token, at);
    if (!accessToken) return { kind: "invalid", reason: "the token is unknown, forged or for another API" };
    if (!issuerIds.has(accessToken.issuer))
      return { kind: "invalid", reason: "the token is from another issuer" };
    if (accessToken.expiresAt <= at) return { kind: "invalid", reason: "the token has expired" };
    if (!(await authorizationStands(accessToken, at))) {
      return { kind: "invalid", reason: "the authorization was revoked" };
    }
    remembered.set(key, { accessToken, checkedAt: at });
    return { kind: "valid", accessToken };
  };
}
