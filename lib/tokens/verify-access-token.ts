/** Decides whether an access token is valid at an API. RFC 6750 §3.1, 9068 §4, 7662 §4 (caching). */
import type { AccessToken } from "../protocol/access-token";
import type { Api, Issuer } from "../protocol/issuer";
import type { Clock, EpochSeconds } from "../protocol/time";
import { digestToken, type TokenDigest } from "../protocol/token-value";
import type { AccessTokenSigner } from "../signing/port";
import { lagMemory } from "../storage/lag-memory";
import { type GenuineToken, readAccessToken, validityOf, type RevocationPorts } from "./read-access-token";

/** What verifying access tokens needs. */
export interface TokenVerifyPorts extends RevocationPorts {
  readonly signer: Pick<AccessTokenSigner, "verify" | "trusts">;
  readonly clock: Clock;
}

/** Whether an access token is valid at an API. The reason is for the event; clients are not told it. */
export type AccessTokenVerdict =
  | { readonly kind: "valid"; readonly accessToken: AccessToken }
  | { readonly kind: "invalid"; readonly reason: string };

/** The API of a verifier, and how long it remembers results. */
export interface AccessTokenVerifierOptions {
  readonly api: Api;
  /** The issuers of this API. Tokens of any other issuer are invalid. */
  readonly issuers: readonly Issuer[];
  /** How long, in seconds, a valid token may be accepted without asking storage again. */
  readonly revocationLagSeconds: number;
}

type Invalid = Extract<AccessTokenVerdict, { readonly kind: "invalid" }>;

const unknownToken =
  "the token is unknown, forged, or signed with a key that this process does not have (RFC 9068 §4): get a new one. If that does not help, give every process the same signingKeys, which also outlive a restart";
const otherApi =
  "the token is for another API, or from another authorization server (RFC 9068 §4): get one at a token endpoint of this API";

function invalid(reason: string): Invalid {
  return { kind: "invalid", reason };
}

/** A verdict, the key that signed the token, and when the oldest of what the verdict relies on was read. */
type Checked = (GenuineToken & { readonly kind: "valid"; readonly asOf: EpochSeconds }) | Invalid;

/** A token without claims takes one place in the memory, and each kilobyte of claims another one. */
function placesOf(checked: Checked): number {
  if (checked.kind === "invalid") return 0;
  const { claims } = checked.accessToken;
  return claims ? 1 + Math.ceil(JSON.stringify(claims).length / 1_024) : 1;
}

/**
 * A verifier for one API. It remembers valid tokens in a bounded cache by the digest of their exact text, never past `exp`, and
 * accepts them for `revocationLagSeconds` without asking storage. Simultaneous requests with one token share a look-up. Nothing
 * about an invalid token is remembered: otherwise forged tokens could push valid ones out of the cache.
 *
 * The verifier throws whatever storage rejects with.
 */
export function accessTokenVerifier(
  ports: TokenVerifyPorts,
  { api, issuers, revocationLagSeconds: lagSeconds }: AccessTokenVerifierOptions,
): (token: string) => Promise<AccessTokenVerdict> {
  const { clock, signer } = ports;
  const recall = lagMemory<Checked>(
    { lagSeconds, clock },
    {
      worth: placesOf,
      asOf: (checked) => (checked.kind === "valid" ? checked.asOf : Infinity),
    },
  );
  const issuerIds = new Set(issuers.map(({ identifier }) => identifier));

  async function check(
    token: string,
    { digest, stale }: { digest: TokenDigest; stale: Checked | undefined },
  ): Promise<Checked> {
    const now = clock();
    // a verified signature remains valid as long as its key is trusted: only revocation has to be checked again
    const isSigned = stale?.kind === "valid" && stale.key && signer.trusts(stale.key);
    const genuine = isSigned ? stale : await readAccessToken(ports, { token, digest, api, now });
    if (genuine === "unknown") return invalid(unknownToken);
    if (genuine === "other-audience") return invalid(otherApi);
    const { accessToken, key } = genuine;
    if (!issuerIds.has(accessToken.issuer)) return invalid(otherApi);
    if (accessToken.expiresAt <= now) return invalid("the token has expired");
    const validity = await validityOf(ports, { accessToken, apiId: api.apiId, now });
    return validity.kind === "valid"
      ? { kind: "valid", accessToken, key, asOf: validity.asOf }
      : invalid(validity.reason);
  }

  return async (token) => {
    const digest = digestToken(token);
    const verdict = await recall(digest, (stale) => check(token, { digest, stale }));
    // a remembered token may have expired since it was checked
    if (verdict.kind === "invalid" || clock() < verdict.accessToken.expiresAt) return verdict;
    return invalid("the token has expired");
  };
}
