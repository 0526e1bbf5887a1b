/** Is this access token good at this API? RFC 6750 §3.1, 9068 §4, 7662 §4 (caching). */
import { LRUCache } from "lru-cache";
import type { GrantContext } from "../grants/grant";
import { type AccessToken, readAccessTokenClaims } from "../protocol/access-token";
import { isLive } from "../protocol/authorization";
import type { EpochSeconds } from "../protocol/epoch-seconds";
import type { Api, Issuer } from "../protocol/issuer";
import { digestToken, type TokenDigest } from "../protocol/token-value";

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

function invalid(reason: string): AccessTokenVerdict {
  return { kind: "invalid", reason };
}

interface Remembered {
  readonly accessToken: AccessToken;
  readonly checkedAt: EpochSeconds;
}

const maxRemembered = 10_000;

async function readOpaque(
  { storage }: GrantContext,
  { digest, at }: { digest: TokenDigest; at: EpochSeconds },
): Promise<AccessToken | undefined> {
  const stored = await storage.accessTokens.find(digest, at);
  if (!stored) return undefined;
  const { digest: _digest, ...accessToken } = stored;
  return accessToken;
}

function readJwt(
  { signer }: GrantContext,
  { token, api }: { token: string; api: Api },
): AccessToken | undefined {
  const claims = signer.verify(token);
  return claims && readAccessTokenClaims(claims, api.audience);
}

/** A client's own token descends from no authorization: it ends by `exp` alone. */
async function authorizationStands(
  { storage }: GrantContext,
  { accessToken, at }: { accessToken: AccessToken; at: EpochSeconds },
): Promise<boolean> {
  const { authorizationId } = accessToken;
  return authorizationId === undefined || isLive(await storage.authorizations.find(authorizationId, at), at);
}

/**
 * A verifier for one API. Good tokens are remembered by the digest of their exact text, in a bounded cache, never past
 * `exp` and for `revocationLagSeconds` without a look at storage; nothing is remembered of a bad one.
 */
export function accessTokenVerifier(
  context: GrantContext,
  { api, issuers, revocationLagSeconds }: AccessTokenVerifierOptions,
): (token: string) => Promise<AccessTokenVerdict> {
  const remembered = new LRUCache<string, Remembered>({ max: maxRemembered });
  const issuerIds = new Set(issuers.map(({ identifier }) => identifier));

  return async (token) => {
    const at = context.now();
    const digest = digestToken(token);
    const known = remembered.get(digest);
    if (known && at < known.accessToken.expiresAt && at - known.checkedAt < revocationLagSeconds) {
      return { kind: "valid", accessToken: known.accessToken };
    }
    remembered.delete(digest);
    // a JWT has dots, an opaque token has none; the API may have changed its format while tokens live
    const isJwt = token.includes(".");
    const accessToken = isJwt
      ? (known?.accessToken ?? readJwt(context, { token, api }))
      : await readOpaque(context, { digest, at });
    if (!accessToken) return invalid("the token is unknown, forged or for another API");
    if (!issuerIds.has(accessToken.issuer)) return invalid("the token is from another issuer");
    if (accessToken.expiresAt <= at) return invalid("the token has expired");
    if (!(await authorizationStands(context, { accessToken, at })))
      return invalid("the authorization was revoked");
    remembered.set(digest, { accessToken, checkedAt: at });
    return { kind: "valid", accessToken };
  };
}
