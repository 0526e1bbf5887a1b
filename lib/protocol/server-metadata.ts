/** The metadata document of an issuer: it says what is enabled for that pair and nothing else. RFC 8414 §2, 9207 §3, 9728 §4. */
import { prompts } from "./authorization-request";
import type { Issuer } from "./issuer";

/** @rfc 8414 §2 */
export interface ServerMetadata {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly revocation_endpoint: string;
  readonly introspection_endpoint: string;
  readonly jwks_uri?: string;
  readonly scopes_supported: readonly string[];
  readonly response_types_supported: readonly string[];
  readonly response_modes_supported: readonly string[];
  readonly grant_types_supported: readonly string[];
  readonly token_endpoint_auth_methods_supported: readonly string[];
  readonly revocation_endpoint_auth_methods_supported: readonly string[];
  readonly introspection_endpoint_auth_methods_supported: readonly string[];
  readonly code_challenge_methods_supported: readonly string[];
  readonly prompt_values_supported: readonly string[];
  readonly authorization_response_iss_parameter_supported: true;
  readonly protected_resources: readonly string[];
}

const confidentialMethods = ["client_secret_basic", "client_secret_post"];
const clientMethods = [...confidentialMethods, "none"];

export function serverMetadata({ identifier, api }: Issuer, jwksUri: string): ServerMetadata {
  return {
    issuer: identifier,
    authorization_endpoint: `${identifier}/authorize`,
    token_endpoint: `${identifier}/token`,
    revocation_endpoint: `${identifier}/revoke`,
    introspection_endpoint: `${identifier}/introspect`,
    // an opaque token is checked by introspection: there is nothing to verify with a key
    ...(api.accessTokenFormat === "jwt" && { jwks_uri: jwksUri }),
    scopes_supported: Object.keys(api.scopes),
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
    token_endpoint_auth_methods_supported: clientMethods,
    revocation_endpoint_auth_methods_supported: clientMethods,
    introspection_endpoint_auth_methods_supported: confidentialMethods,
    code_challenge_methods_supported: ["S256"],
    prompt_values_supported: prompts,
    authorization_response_iss_parameter_supported: true,
    protected_resources: [api.audience],
  };
}
