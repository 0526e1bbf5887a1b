/** Is this access token good at this API? RFC 6750 §3.1, 9068 §4, 7662 §4 (caching). */
import type { AccessToken } from "../protocol/access-token";
import type { Api, Issuer } from "../protocol/issuer";
import type { Clock } from "../protocol/time";
import { digestToken, type TokenDigest } from "../protocol/token-value";
import type { AccessTokenSigner } from "../signing/port";
import { lagMemory } from "../storage/lag-memory";
import {
  accessTokenStands,
  type GenuineToken,
  readAccessToken,
  type TokenReadPorts,
} from "./read-access-token";

/** What verifying uses. */
export interface TokenVerifyPorts extends TokenReadPorts {
  readonly signer: Pick<AccessTokenSigner, "verify" | "trusts">;
  readonly clock: Clock;
}

/** What an access token is worth at an API. */
export type AccessTokenVerdict =
  | { readonly kind: "valid"; readonly accessToken: AccessToken }
  | { readonly kind: "invalid"; readonly reason: string };

/** For which API a verifier is, and how long it remembers. */
export interface AccessTokenVerifierOptions {
  readonly api: Api;
  /** The issuers of this API. */
  readonly issuers: readonly Issuer[];
  /** How long a good answer may be repeated without asking storage again. */
  readonly revocationLagSeconds: number;
}

type Invalid = Extract<AccessTokenVerdict, { readonly kind: "invalid" }>;

const otherApi =
  "the token is for another API, or from another authorization server (RFC 9068 §4): get one at a token endpoint of this API";

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
  ports: TokenVerifyPorts,
  { api, issuers, revocationLagSeconds: lagSeconds }: AccessTokenVerifierOptions,
): (token: string) => Promise<AccessTokenVerdict> {
  const { clock, signer } = ports;
  const recall = lagMemory<Checked>({ lagSeconds, clock }, ({ kind }) => kind === "valid");
  const issuerIds = new Set(issuers.map(({ identifier }) => identifier));

  async function check(
    token: string,
    { digest, stale }: { digest: TokenDigest; stale: Checked | undefined },
  ): Promise<Checked> {
    const now = clock();
    // a signature stays good while its key does
    const isSigned = stale?.kind === "valid" && stale.key && signer.trusts(stale.key);
    const genuine = isSigned ? stale : await readAccessToken(ports, { token, digest, api, now });
    if (genuine === "unknown")
      return invalid("the token is unknown, forged, or of a key that is no longer published");
    if (genuine === "other-audience") return invalid(otherApi);
    const { accessToken, key } = genuine;
    if (!issuerIds.has(accessToken.issuer)) return invalid(otherApi);
    if (accessToken.expiresAt <= now) return invalid("the token has expired");
    if (!(await accessTokenStands(ports, { accessToken, now }))) return invalid("the token was revoked");
    return { kind: "valid", accessToken, key };
  }

  return async (token) => {
    const digest = digestToken(token);
    const verdict = await recall(digest, (stale) => check(token, { digest, stale }));
    if (verdict.kind === "invalid" || clock() < verdict.accessToken.expiresAt) return verdict;
    return invalid("the token has expired");
  };
}
