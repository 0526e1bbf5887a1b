/** Is this access token good at this API? RFC 6750 §3.1, 9068 §4, 7662 §4 (caching). */
import { LRUCache } from "lru-cache";
import type { GrantContext } from "../grants/grant";
import type { AccessToken } from "../protocol/access-token";
import type { EpochSeconds } from "../protocol/epoch-seconds";
import type { Api, Issuer } from "../protocol/issuer";
import { digestToken } from "../protocol/token-value";
import { accessTokenStands, type GenuineToken, readAccessToken } from "./read-access-token";

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

interface Remembered extends GenuineToken {
  readonly checkedAt: EpochSeconds;
}

const maxRemembered = 10_000;

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
    // a clock that was set back makes nothing last longer
    const isFresh = known && Math.abs(at - known.checkedAt) < revocationLagSeconds;
    if (isFresh && at < known.accessToken.expiresAt) {
      return { kind: "valid", accessToken: known.accessToken };
    }
    if (known) remembered.delete(digest);
    // a signature stays good while its key does
    const isSigned = known?.key && context.signer.trusts(known.key);
    const genuine = isSigned ? known : await readAccessToken(context, { token, digest, api, at });
    if (!genuine) return invalid("the token is unknown, forged or for another API");
    const { accessToken, key } = genuine;
    if (!issuerIds.has(accessToken.issuer)) return invalid("the token is from another issuer");
    if (accessToken.expiresAt <= at) return invalid("the token has expired");
    if (!(await accessTokenStands(context, { accessToken, at }))) return invalid("the token was revoked");
    remembered.set(digest, { accessToken, key, checkedAt: at });
    return { kind: "valid", accessToken };
  };
}
