/** The token endpoint's success answer. RFC 6749 §5.1. */
import { formatScope } from "./scope";

export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: "bearer";
  /** Seconds. */
  readonly expires_in: number;
  readonly refresh_token?: string;
  readonly scope?: string;
}

/** `scope` is always said, except when there is none: an empty one has no form in RFC 6749 §3.3. */
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
