/** What `openid` says of an API: claims by scope, and the keys that ID tokens need. OpenID Connect Core §5.4, §15.1. */
import type { ApiOpenId } from "../protocol/issuer";
import { standardClaims } from "../protocol/openid";
import type { SigningAlgorithm } from "../signing/verification-key";
import type { ApiOptions, AuthServerOptions } from "./options";

/** The algorithm of the API's ID tokens. */
function algorithmOf({ idTokenAlgorithm = "RS256" }: NonNullable<ApiOptions["openid"]>): SigningAlgorithm {
  return idTokenAlgorithm;
}

/** What the API tells of people; `undefined` where it is no OpenID provider. */
export function resolveOpenId(
  { openid }: ApiOptions,
  { apis }: Pick<AuthServerOptions, "apis">,
): ApiOpenId | undefined {
  return (
    openid && {
      claims: { ...standardClaims, ...openid.scopes },
      idTokenAlgorithm: algorithmOf(openid),
      audiences: Object.values(apis).map(({ audience }) => audience),
    }
  );
}

/** The algorithms of the ID tokens of all APIs, each once. */
export function idTokenAlgorithms({ apis }: Pick<AuthServerOptions, "apis">): readonly SigningAlgorithm[] {
  return [...new Set(Object.values(apis).flatMap(({ openid }) => (openid ? algorithmOf(openid) : [])))];
}
