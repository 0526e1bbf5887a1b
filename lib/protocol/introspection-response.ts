/** What introspection says about a token. RFC 7662 §2.2, §4. */
import { type AccessToken, accessTokenClaims } from "./access-token";
import type { Authorization, RefreshToken } from "./authorization";
import { formatScope } from "./scope";
import type { Issuer } from "./issuer";

/** The answer of the introspection endpoint. @rfc 7662 §2.2 */
export type IntrospectionResponse =
  { readonly active: false } | ({ readonly active: true } & Readonly<Record<string, unknown>>);

/**
 * The answer for a token that is unknown, expired, revoked or not for the caller to know. It says nothing else, so that the
 * endpoint does not tell these cases apart.
 *
 * @rfc 7662 §2.2
 */
export const inactive: IntrospectionResponse = { active: false };

/** The answer for an active access token: its claims. @rfc 7662 §2.2 */
export function activeAccessToken(token: AccessToken, { api }: Issuer): IntrospectionResponse {
  return { active: true, token_type: "bearer", ...accessTokenClaims(token, api.audience) };
}

/** The answer for an active refresh token. Only its own client gets it. @rfc 7662 §2.2 */
export function activeRefreshToken(
  { token, authorization }: { token: RefreshToken; authorization: Authorization },
  { identifier }: Issuer,
): IntrospectionResponse {
  const { clientId, subject, grantedScopes } = authorization;
  return {
    active: true,
    iss: identifier,
    client_id: clientId,
    sub: subject,
    exp: token.expiresAt,
    ...(grantedScopes.length > 0 && { scope: formatScope(grantedScopes) }),
  };
}
