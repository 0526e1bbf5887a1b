/** Reads the text of an access token, and tells whether it was revoked. RFC 9068 §4, 6750 §5.2. */
import { type AccessToken, readAccessTokenClaims } from "../protocol/access-token";
import { isLive } from "../protocol/authorization";
import { ownHostClaims } from "../protocol/host-claims";
import type { Api } from "../protocol/issuer";
import type { EpochSeconds } from "../protocol/time";
import type { TokenDigest } from "../protocol/token-value";
import type { AccessTokenSigner } from "../signing/port";
import type { SigningKey } from "../signing/signing-key";
import type { Storage } from "../storage/port";

/** What reading an access token needs. */
export interface TokenReadPorts {
  readonly storage: Pick<Storage, "accessTokens" | "authorizations">;
  readonly signer: Pick<AccessTokenSigner, "verify">;
}

/** A JWT has dots, an opaque token has none. The format is not taken from the options, which may change while tokens live. */
function isJwt(token: string): boolean {
  return token.includes(".");
}

/** An access token that this server issued. */
export interface GenuineToken {
  readonly accessToken: AccessToken;
  /** The key that signed it; `undefined` for an opaque token. */
  readonly key: SigningKey | undefined;
}

/** What a text may be instead: nothing that this server has issued, or a token for another audience. */
export type TokenProblem = "unknown" | "other-audience";

function readJwt(
  { signer }: TokenReadPorts,
  { token, api }: { token: string; api: Api },
): GenuineToken | TokenProblem {
  const verified = signer.verify(token);
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
  return { accessToken: { ...others, ...(claims && { claims }) }, key: undefined };
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
  return isJwt(token) ? readJwt(ports, { token, api }) : readOpaque(ports, { digest, now });
}

/**
 * False once the token itself was revoked, or the authorization that it descends from. A missing authorization counts as revoked.
 *
 * @throws whatever storage rejects with: a failure must not pass for "not revoked"
 */
export async function accessTokenStands(
  { storage }: Pick<TokenReadPorts, "storage">,
  { accessToken, now }: { accessToken: AccessToken; now: EpochSeconds },
): Promise<boolean> {
  const { tokenId, authorizationId } = accessToken;
  const [isRevoked, authorization] = await Promise.all([
    storage.accessTokens.isRevoked(tokenId, now),
    authorizationId === undefined ? undefined : storage.authorizations.find(authorizationId, now),
  ]);
  // a client's own token has no authorization
  return !isRevoked && (authorizationId === undefined || isLive(authorization, now));
}
