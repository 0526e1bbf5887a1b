/** The metadata of an API: which issuers serve it. RFC 9728 §2, §3. */
import { type Api, ownScopes } from "./issuer";
import { proofAlgorithms } from "./signed-jwt";

/** The metadata document of an API, by its wire names. @rfc 9728 §2 */
export interface ProtectedResourceMetadata {
  readonly resource: string;
  readonly resource_name: string;
  /** The issuer identifiers of all valid pairs of this API. */
  readonly authorization_servers: readonly string[];
  /** Left out where there are none. @rfc 9728 §3.2 */
  readonly scopes_supported?: readonly string[];
  /** Headers only: a token in a URL ends up in logs (RFC 6750 §5.3). */
  readonly bearer_methods_supported: readonly ["header"];
  /** Where tokens can be bound to keys. */
  readonly dpop_signing_alg_values_supported?: readonly string[];
  /** Where every token must be. */
  readonly dpop_bound_access_tokens_required?: boolean;
}

/** The metadata document of an API. @rfc 9728 §2 */
export function protectedResourceMetadata(
  api: Pick<Api, "audience" | "name" | "scopes" | "openid" | "issuers" | "dpop">,
): ProtectedResourceMetadata {
  const { audience, name, issuers, dpop } = api;
  // clients that ask for all of these must not ask people for their address
  const names = ownScopes(api);
  return {
    resource: audience,
    resource_name: name,
    authorization_servers: issuers,
    ...(names.length > 0 && { scopes_supported: names }),
    bearer_methods_supported: ["header"],
    ...(dpop && {
      dpop_signing_alg_values_supported: proofAlgorithms,
      dpop_bound_access_tokens_required: dpop.required,
    }),
  };
}
