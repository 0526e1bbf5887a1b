/** The token endpoint's success answer. RFC 6749 §5.1; draft-ietf-oauth-refresh-token-expiration. */
import { formatScope } from "./scope";

/** The success answer of the token endpoint, by its wire names. @rfc 6749 §5.1 */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: "bearer";
  /** Lifetime of the access token in seconds. */
  readonly expires_in: number;
  /** Left out when the client may not refresh. */
  readonly refresh_token?: string;
  /** How long the refresh token lives if it is not used, in seconds. Stated where the API says so. */
  readonly refresh_token_expires_in?: number;
  /** The granted scopes, separated by spaces. */
  readonly scope?: string;
}

/**
 * The success answer for issued tokens. It always states `scope`, so that clients need not remember what they asked for, unless
 * no scope was granted: RFC 6749 §3.3 has no syntax for an empty one.
 *
 * @rfc 6749 §5.1
 */
export function tokenResponse(issued: {
  accessToken: string;
  accessTokenSeconds: number;
  refreshToken: string | undefined;
  /** `undefined` where the API does not state it. */
  refreshTokenSeconds?: number | undefined;
  scopes: readonly string[];
}): TokenResponse {
  return {
    access_token: issued.accessToken,
    token_type: "bearer",
    expires_in: issued.accessTokenSeconds,
    ...(issued.refreshToken === undefined ? {} : { refresh_token: issued.refreshToken }),
    ...(issued.refreshTokenSeconds !== undefined && { refresh_token_expires_in: issued.refreshTokenSeconds }),
    ...(issued.scopes.length === 0 ? {} : { scope: formatScope(issued.scopes) }),
  };
}
