/** Decides whether an access token is valid at an API. RFC 6750 §3.1, 9068 §4, 7662 §4 (caching). */
import type { AccessToken } from "../protocol/access-token";
import type { Api } from "../protocol/issuer";
import type { TextParts } from "../protocol/mistake";
import { because } from "../protocol/oauth-error";
import type { Clock, EpochSeconds } from "../protocol/time";
import { digestToken, type TokenDigest } from "../protocol/token-value";
import type { AccessTokenSigner } from "../signing/port";
import { type Lag, lagMemory } from "../recall/lag-memory";
import type { VerificationKey } from "../signing/verification-key";
import {
  type GenuineToken,
  type InvalidTokenProblem,
  readAccessToken,
  type RevocationPorts,
  tokenReasons,
  type Validity,
  validityOf,
} from "./read-access-token";

/** What verifying access tokens needs. */
export interface TokenVerifyPorts extends RevocationPorts {
  readonly signer: Pick<AccessTokenSigner, "verify" | "trusts">;
  readonly clock: Clock;
}

/** Whether an access token is valid at an API. Code and reason are for the event; clients are not told them. */
export type AccessTokenVerdict =
  | { readonly kind: "valid"; readonly accessToken: AccessToken }
  | { readonly kind: "invalid"; readonly code: InvalidTokenProblem; readonly reason: string };

/** The API of a verifier, and how long it remembers results. */
export interface AccessTokenVerifierOptions {
  /** Tokens of any other API, and of issuers that it no longer has, are invalid. */
  readonly api: Api;
  /** How long, in seconds, a valid token may be accepted without asking storage again. */
  readonly revocationLagSeconds: number;
}

type Invalid = Extract<AccessTokenVerdict, { readonly kind: "invalid" }>;

/** A verdict on a token that is not valid. */
export function invalid<Code extends InvalidTokenProblem>(
  code: Code,
  ...parts: TextParts<(typeof tokenReasons)[Code]>
): Invalid {
  return { kind: "invalid", ...because(tokenReasons, code, ...parts) };
}

/** The verdict on a token of another API or another authorization server. */
export const ofAnotherApi: Invalid = invalid("token-of-another-api", "this API");

/** A token that was read and is genuine, or the verdict on one that is not. */
export type ReadToken = (GenuineToken & { readonly kind: "genuine" }) | Invalid;

/** How tokens are checked, by this server or by an API in another process. */
export interface TokenChecks {
  /** Reads a token. Its time and whether it was revoked are checked by others. */
  readonly read: (
    token: string,
    by: { readonly digest: TokenDigest; readonly now: EpochSeconds },
  ) => Promise<ReadToken>;
  /** True while a verified signature of this key stays valid, and need not be verified again. */
  readonly trusts: (key: VerificationKey) => boolean;
  /** Whether a genuine token still stands. */
  readonly validityOf: (
    accessToken: AccessToken,
    by: { readonly token: string; readonly now: EpochSeconds },
  ) => Promise<Validity>;
}

/** A valid token, the key that signed it, and when the oldest of what the verdict relies on was read. */
type CheckedToken = GenuineToken & { readonly kind: "valid"; readonly asOf: EpochSeconds };
type Checked = CheckedToken | Invalid;

/** A token without claims takes one place in the memory, and each kilobyte of claims another one. */
function placesOf(checked: Checked): number {
  if (checked.kind === "invalid") return 0;
  const { claims } = checked.accessToken;
  return claims ? 1 + Math.ceil(JSON.stringify(claims).length / 1_024) : 1;
}

/**
 * A verifier by these checks. It remembers valid tokens in a bounded cache by the digest of their exact text, never past `exp`, and
 * accepts them for `lagSeconds` without asking again. Simultaneous requests with one token share a look-up. Nothing about an invalid
 * token is remembered: otherwise forged tokens could push valid ones out of the cache.
 *
 * The verifier throws whatever a check rejects with.
 */
export function rememberingVerifier(
  checks: TokenChecks,
  { clock, lagSeconds }: Lag,
): (token: string) => Promise<AccessTokenVerdict> {
  const recall = lagMemory<Checked>(
    { lagSeconds, clock },
    { placesOf, asOf: (checked) => (checked as CheckedToken).asOf },
  );

  async function check(
    token: string,
    { digest, stale }: { digest: TokenDigest; stale: Checked | undefined },
  ): Promise<Checked> {
    const now = clock();
    // a verified signature remains valid as long as its key is trusted: only revocation has to be checked again
    const isSigned = stale?.kind === "valid" && stale.key && checks.trusts(stale.key);
    const genuine = isSigned ? stale : await checks.read(token, { digest, now });
    if (genuine.kind === "invalid") return genuine;
    const { accessToken, key } = genuine;
    if (accessToken.expiresAt <= now) return invalid("token-expired", accessToken);
    const validity = await checks.validityOf(accessToken, { token, now });
    return validity.kind === "valid"
      ? { kind: "valid", accessToken: validity.accessToken, key, asOf: validity.asOf }
      : validity.code === ofAnotherApi.code
        ? ofAnotherApi
        : invalid(validity.code, accessToken);
  }

  return async (token) => {
    const digest = digestToken(token);
    const verdict = await recall(digest, (_, stale) => check(token, { digest, stale }));
    // a remembered token may have expired since it was checked
    if (verdict.kind === "invalid" || clock() < verdict.accessToken.expiresAt) return verdict;
    return invalid("token-expired", verdict.accessToken);
  };
}

/** A verifier for one API of this server. It throws whatever storage rejects with. */
export function accessTokenVerifier(
  ports: TokenVerifyPorts,
  { api, revocationLagSeconds: lagSeconds }: AccessTokenVerifierOptions,
): (token: string) => Promise<AccessTokenVerdict> {
  const { clock, signer } = ports;
  const checks: TokenChecks = {
    async read(token, by) {
      const genuine = await readAccessToken(ports, { token, api, ...by });
      if (genuine === "unknown") return invalid("token-unknown");
      if (genuine === "other-audience" || !api.issuers.includes(genuine.accessToken.issuer))
        return invalid("token-of-another-api", api.audience);
      return { kind: "genuine", ...genuine };
    },
    trusts: signer.trusts,
    validityOf: (accessToken, { now }) => validityOf(ports, { accessToken, api, now }),
  };
  return rememberingVerifier(checks, { lagSeconds, clock });
}
