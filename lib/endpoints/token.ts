/** The token endpoint. RFC 6749 §3.2, §5; 8707 §2.2. */
import { grants } from "../grants/index";
import { type GrantType, grantTypes, grantUseProblem } from "../protocol/client";
import { because, OAuthError } from "../protocol/oauth-error";
import { checkResource, requireParameter } from "../requests/check-parameters";
import { type ClientEndpoint, endpointReasons } from "./client-endpoint";

function isGrantType(name: string): name is GrantType {
  return Object.hasOwn(grants, name);
}

/** Exchanges what an authenticated client presents (a code, a refresh token, its credentials) for tokens. @rfc 6749 §3.2 */
export const tokenEndpoint: ClientEndpoint = {
  refused: "token-refused",
  grantParameters: Object.values(grants).flatMap(({ presents }) => presents),
  async answer(ports, request) {
    const { issuer, client, parameters } = request;
    const grantType = requireParameter(parameters, "grant_type");
    if (!isGrantType(grantType)) {
      throw new OAuthError("unsupported_grant_type", {
        description: "The server does not know this grant_type.",
        ...because(endpointReasons, "grant-type-unknown", grantTypes),
      });
    }
    const problem = grantUseProblem(client, { apiId: issuer.api.apiId, grantType });
    if (problem !== undefined) {
      throw new OAuthError("unauthorized_client", {
        description: "The client may not use this grant at this API.",
        ...because(endpointReasons, "grant-not-allowed", client.clientId, problem),
      });
    }
    checkResource(parameters, issuer);
    return { kind: "json", status: 200, body: await grants[grantType].exchange(ports, request) };
  },
};
