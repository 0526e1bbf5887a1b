/** The metadata document of an issuer: it says what is enabled for that pair and nothing else. RFC 8414 §2, 9126 §5, 9207 §3, 9449 §5.1, 9728 §4; OpenID Connect Discovery §3. */
import { prompts } from "./authorization-request";
import { grantTypesOf, responseModes } from "./client";
import { assertionAlgorithms } from "./client-assertion";
import { type ClientAuthenticationMethod, clientAuthenticationMethods } from "./client-authentication";
import { type ApiOpenId, type EndpointName, endpoints, type Issuer } from "./issuer";
import { proofAlgorithms } from "./signed-jwt";

/** Those of the endpoints that the issuer has. */
type EndpointUrls = { readonly [Name in EndpointName as `${Name}_endpoint`]?: string };

/** What relying parties need, where the API has `openid`. @rfc OpenID Connect Discovery §3 */
interface OpenIdMetadata {
  readonly subject_types_supported: readonly ["public"];
  readonly id_token_signing_alg_values_supported: readonly string[];
  readonly claims_supported: readonly string[];
  readonly claims_parameter_supported: false;
  readonly request_parameter_supported: false;
  /** Left out, it would mean `true`. */
  readonly request_uri_parameter_supported: false;
}

/** The metadata document of an issuer, by its wire names. @rfc 8414 §2 */
export interface ServerMetadata extends EndpointUrls, Partial<OpenIdMetadata> {
  readonly issuer: string;
  /** Left out where no token of the issuer is signed. */
  readonly jwks_uri?: string;
  /** Left out where there are none. @rfc 8414 §3.2 */
  readonly scopes_supported?: readonly string[];
  readonly response_types_supported: readonly string[];
  readonly response_modes_supported: readonly string[];
  readonly grant_types_supported: readonly string[];
  /** Only where identity providers vouch for people. @rfc draft-ietf-oauth-identity-assertion-authz-grant-03 §7.2 */
  readonly authorization_grant_profiles_supported?: readonly string[];
  readonly token_endpoint_auth_methods_supported: readonly ClientAuthenticationMethod[];
  readonly token_endpoint_auth_signing_alg_values_supported: readonly string[];
  readonly revocation_endpoint_auth_methods_supported: readonly ClientAuthenticationMethod[];
  readonly revocation_endpoint_auth_signing_alg_values_supported: readonly string[];
  readonly introspection_endpoint_auth_methods_supported: readonly ClientAuthenticationMethod[];
  readonly introspection_endpoint_auth_signing_alg_values_supported: readonly string[];
  readonly code_challenge_methods_supported: readonly string[];
  readonly prompt_values_supported: readonly string[];
  /** Only where the API has `acrValues`. @rfc 9470 §7, OpenID Connect Discovery §3 */
  readonly acr_values_supported?: readonly string[];
  /** Only where tokens are bound to keys. @rfc 9449 §5.1 */
  readonly dpop_signing_alg_values_supported?: readonly string[];
  readonly authorization_response_iss_parameter_supported: true;
  /** Only where every request must be pushed. @rfc 9126 §5 */
  readonly require_pushed_authorization_requests?: true;
  /** Only where client ids may be URLs of metadata documents. @rfc draft-ietf-oauth-client-id-metadata-document §5 */
  readonly client_id_metadata_document_supported?: true;
  /** The one API of this issuer. @rfc 9728 §4 */
  readonly protected_resources: readonly string[];
}

const keyMethods = ["private_key_jwt"] as const satisfies readonly ClientAuthenticationMethod[];

function openidMetadata({ claims, idTokenAlgorithm }: ApiOpenId): OpenIdMetadata {
  return {
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [idTokenAlgorithm],
    claims_supported: [...new Set(["sub", ...Object.values(claims).flat()])],
    claims_parameter_supported: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  };
}

function endpointUrls(issuer: Issuer): EndpointUrls {
  const here = Object.entries(endpoints).filter(([, { on }]) => !on || on(issuer));
  return Object.fromEntries(
    here.map(([name, { path }]) => [`${name}_endpoint`, `${issuer.identifier}/${path}`]),
  );
}

/** The metadata document of an issuer. @rfc 8414 §2 */
export function serverMetadata(issuer: Issuer, jwksUri: string): ServerMetadata {
  const { identifier, api } = issuer;
  const { acrValues = [] } = api;
  const names = Object.keys(api.scopes);
  const { assertionAlgorithms: algorithms = assertionAlgorithms } = api;
  const methods = api.clientProof ? keyMethods : clientAuthenticationMethods;
  return {
    issuer: identifier,
    ...endpointUrls(issuer),
    // an opaque token is checked by introspection: no key can verify it
    ...((api.accessTokenFormat === "jwt" || api.openid) && { jwks_uri: jwksUri }),
    ...(names.length > 0 && { scopes_supported: names }),
    response_types_supported: ["code"],
    response_modes_supported: responseModes,
    grant_types_supported: grantTypesOf(issuer),
    ...(issuer.identityAssertions && {
      authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"],
    }),
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
    // it requires authentication (RFC 7662 §2.1), so public clients cannot use it. They can use the other endpoints
    introspection_endpoint_auth_methods_supported: methods.filter((method) => method !== "none"),
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
    code_challenge_methods_supported: ["S256"],
    prompt_values_supported: prompts,
    ...(acrValues.length > 0 && { acr_values_supported: acrValues }),
    ...(api.dpop && { dpop_signing_alg_values_supported: proofAlgorithms }),
    authorization_response_iss_parameter_supported: true,
    ...(api.pushedRequests === "required" && { require_pushed_authorization_requests: true }),
    ...(api.selfDescribed.documents && { client_id_metadata_document_supported: true }),
    protected_resources: [api.audience],
    ...(api.openid && openidMetadata(api.openid)),
  };
}
