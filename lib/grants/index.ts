/** The grants of the token endpoint. RFC 6749 §4.1.3, §4.4.2, §6. */
import { authorizationCodeGrant } from "./authorization-code";
import { clientCredentialsGrant } from "./client-credentials";
import type { Grant } from "./grant";
import { refreshTokenGrant } from "./refresh-token";

const grants: readonly Grant[] = [authorizationCodeGrant, refreshTokenGrant, clientCredentialsGrant];

export function findGrant(grantType: string): Grant | undefined {
  return grants.find((grant) => grant.grantType === grantType);
}
