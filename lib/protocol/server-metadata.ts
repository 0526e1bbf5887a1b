/** The metadata document of an issuer: it says what is enabled for that pair and nothing else. RFC 8414 §2, 9207 §3, 9728 §4. */
import { prompts } from "./authorization-request";
import { grantTypes } from "./client";
import { type ClientAuthenticationMethod, clientAuthenticationMethods } from "./client-authentication";
import { type EndpointName, endpointPaths, type Issuer } from "./issuer";

type EndpointUrls = Readonly<Record<`${EndpointName}_endpoint`, string>>;

/** The metadata document of an issuer, by its wire names. @rfc 8414 §2 */
export interface ServerMetadata extends EndpointUrls {
  readonly issuer: string;
  /** Left out where access tokens are opaque. */
  readonly jwks_uri?: string;
  readonly scopes_supported: readonly string[];
  readonly response_types_supported: readonly string[];
  readonly response_modes_supported: readonly string[];
  readonly grant_types_supported: readonly string[];
  readonly token_endpoint_auth_methods_supported: readonly ClientAuthenticationMethod[];
  readonly revocation_endpoint_auth_methods_supported: readonly ClientAuthenticationMethod[];
  readonly introspection_endpoint_auth_methods_supported: readonly ClientAuthenticationMethod[];
  readonly code_challenge_methods_supported: readonly string[];
  readonly prompt_values_supported: readonly string[];
  readonly authorization_response_iss_parameter_supported: true;
  /** The one API of this issuer. @rfc 9728 §4 */
  readonly protected_resources: readonly string[];
}

/** Introspection requires authentication (RFC 7662 §2.1), so public clients cannot use it. They can use the other endpoints. */
const confidentialMethods = clientAuthenticationMethods.filter((method) => method !== "none");

function endpointUrls(identifier: string): EndpointUrls {
  const urls = Object.entries(endpointPaths).map(([name, path]) => [
    `${name}_endpoint`,
    `${identifier}/${path}`,
  ]);
  return Object.fromEntries(urls) as EndpointUrls;
}

/** The metadata document of an issuer. @rfc 8414 §2 */
export function serverMetadata({ identifier, api }: Issuer, jwksUri: string): ServerMetadata {
  return {
    issuer: identifier,
    ...endpointUrls(identifier),
    // an opaque token is checked by introspection: no key can verify it
    ...(api.accessTokenFormat === "jwt" && { jwks_uri: jwksUri }),
    scopes_supported: Object.keys(api.scopes),
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: grantTypes,
    token_endpoint_auth_methods_supported: clientAuthenticationMethods,
    revocation_endpoint_auth_methods_supported: clientAuthenticationMethods,
    introspection_endpoint_auth_methods_supported: confidentialMethods,
    code_challenge_methods_supported: ["S256"],
    prompt_values_supported: prompts,
    authorization_response_iss_parameter_supported: true,
    protected_resources: [api.audience],
  };
}
