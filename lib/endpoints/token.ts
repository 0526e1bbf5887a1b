/** The token endpoint. RFC 6749 §3.2, §5; 8707 §2.2; 9449 §5. */
import { grants } from "../grants/index";
import { clientFlags, grantTypesOf, grantUseProblem, hasGrant } from "../protocol/client";
import { because, OAuthError } from "../protocol/oauth-error";
import { checkFlag, proofMissing } from "../requests/check-flags";
import { checkResource, requireParameter } from "../requests/check-parameters";
import { type ClientEndpoint, endpointReasons } from "./client-endpoint";

/** Exchanges what an authenticated client presents (a code, a refresh token, its credentials) for tokens. @rfc 6749 §3.2 */
export const tokenEndpoint: ClientEndpoint = {
  refused: "token-refused",
  proofsFor: "token",
  grantParameters: Object.values(grants).flatMap(({ presents }) => presents),
  async answer(ports, request) {
    const { issuer, client, parameters, key } = request;
    const grantType = requireParameter(parameters, "grant_type");
    if (!hasGrant(issuer, grantType)) {
      throw new OAuthError("unsupported_grant_type", {
        description: "The server does not know this grant_type.",
        ...because(endpointReasons, "grant-type-unknown", grantTypesOf(issuer)),
      });
    }
    for (const flag of clientFlags) if (client[flag]) checkFlag(flag, request);
    if (issuer.api.dpop && client.dpopBound && key === undefined)
      throw proofMissing(parameters, `client ${client.clientId} has dpopBound`);
    const problem = grantUseProblem(client, { apiId: issuer.api.apiId, grantType });
    if (problem !== undefined) {
      throw new OAuthError("unauthorized_client", {
        description: "The client may not use this grant at this API.",
        ...because(endpointReasons, "grant-not-allowed", client.clientId, problem),
      });
    }
    checkResource(parameters.get("resource"), issuer);
    return { kind: "json", status: 200, body: await grants[grantType].exchange(ports, request) };
  },
};
