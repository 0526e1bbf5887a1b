/** The token endpoint's success answer. RFC 6749 §5.1. */
import { formatScope } from "./scope";

/** The success answer of the token endpoint, by its wire names. @rfc 6749 §5.1 */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: "bearer";
  /** Lifetime of the access token in seconds. */
  readonly expires_in: number;
  /** Left out when the client may not refresh. */
  readonly refresh_token?: string;
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
  scopes: readonly string[];
}): TokenResponse {
  return {
    access_token: issued.accessToken,
    token_type: "bearer",
    expires_in: issued.accessTokenSeconds,
    ...(issued.refreshToken === undefined ? {} : { refresh_token: issued.refreshToken }),
    ...(issued.scopes.length === 0 ? {} : { scope: formatScope(issued.scopes) }),
  };
}
