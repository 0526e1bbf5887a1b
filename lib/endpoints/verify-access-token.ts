/** Is this access token good at this API? RFC 6750 §3.1, 9068 §4, 7662 §4 (caching). */
import type { GrantContext } from "../grants/grant";
import type { AccessToken } from "../protocol/access-token";
import type { Api, Issuer } from "../protocol/issuer";
import { digestToken, type TokenDigest } from "../protocol/token-value";
import { lagMemory } from "../storage/lag-memory";
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

type Invalid = Extract<AccessTokenVerdict, { readonly kind: "invalid" }>;

function invalid(reason: string): Invalid {
  return { kind: "invalid", reason };
}

/** A verdict, and by which key the token was signed. */
type Checked = (GenuineToken & { readonly kind: "valid" }) | Invalid;

/**
 * A verifier for one API. Good tokens are remembered by the digest of their exact text, in a bounded cache, never past
 * `exp` and for `revocationLagSeconds` without a look at storage, which requests that come at once share; nothing is
 * remembered of a bad one.
 */
export function accessTokenVerifier(
  context: GrantContext,
  { api, issuers, revocationLagSeconds: lagSeconds }: AccessTokenVerifierOptions,
): (token: string) => Promise<AccessTokenVerdict> {
  const { now, signer } = context;
  const recall = lagMemory<Checked>({ lagSeconds, now }, ({ kind }) => kind === "valid");
  const issuerIds = new Set(issuers.map(({ identifier }) => identifier));

  async function check(
    token: string,
    { digest, stale }: { digest: TokenDigest; stale: Checked | undefined },
  ): Promise<Checked> {
    const at = now();
    // a signature stays good while its key does
    const isSigned = stale?.kind === "valid" && stale.key && signer.trusts(stale.key);
    const genuine = isSigned ? stale : await readAccessToken(context, { token, digest, api, at });
    if (!genuine) return invalid("the token is unknown, forged or for another API");
    const { accessToken, key } = genuine;
    if (!issuerIds.has(accessToken.issuer)) return invalid("the token is from another issuer");
    if (accessToken.expiresAt <= at) return invalid("the token has expired");
    if (!(await accessTokenStands(context, { accessToken, at }))) return invalid("the token was revoked");
    return { kind: "valid", accessToken, key };
  }

  return async (token) => {
    const digest = digestToken(token);
    const verdict = await recall(digest, (stale) => check(token, { digest, stale }));
    if (verdict.kind === "invalid" || now() < verdict.accessToken.expiresAt) return verdict;
    return invalid("the token has expired");
  };
}
