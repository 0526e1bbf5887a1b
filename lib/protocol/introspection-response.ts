/** What introspection tells of a token. RFC 7662 §2.2, §4. */
import { type AccessToken, accessTokenClaims } from "./access-token";
import type { Authorization } from "./authorization";
import { formatScope } from "./scope";
import type { RefreshToken } from "./refresh-token";
import type { Issuer } from "./issuer";

export type IntrospectionResponse =
  { readonly active: false } | ({ readonly active: true } & Readonly<Record<string, unknown>>);

/** Of a token that is unknown, expired, revoked or none of the caller's business: nothing but that. @rfc 7662 §2.2 */
export const inactive: IntrospectionResponse = { active: false };

/** @rfc 7662 §2.2 */
export function activeAccessToken(token: AccessToken, { api }: Issuer): IntrospectionResponse {
  return { active: true, token_type: "bearer", ...accessTokenClaims(token, api.audience) };
}

/** @rfc 7662 §2.2 */
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
