/** The token endpoint. RFC 6749 §3.2, §5; 8707 §2.2. */
import { grants } from "../grants/index";
import { type GrantType, grantTypes, mayUseGrant } from "../protocol/client";
import { OAuthError } from "../protocol/oauth-error";
import { checkResource, requireParameter } from "../requests/check-parameters";
import type { ClientEndpoint } from "./client-endpoint";

function isGrantType(name: string): name is GrantType {
  return Object.hasOwn(grants, name);
}

/** Exchanges what an authenticated client presents (a code, a refresh token, its credentials) for tokens. @rfc 6749 §3.2 */
export const tokenEndpoint: ClientEndpoint = {
  refused: "token-refused",
  grantParameters: ["code", "refresh_token"],
  async answer(ports, request) {
    const { issuer, client, parameters } = request;
    const grantType = requireParameter(parameters, "grant_type");
    if (!isGrantType(grantType)) {
      throw new OAuthError("unsupported_grant_type", {
        description: "The server does not know this grant_type.",
        reason: `grant_type is not one of ${grantTypes.join(", ")} (RFC 6749 §5.2): send one of them`,
      });
    }
    if (!mayUseGrant(client, { apiId: issuer.api.apiId, grantType })) {
      throw new OAuthError("unauthorized_client", {
        description: "The client may not use this grant at this API.",
        reason:
          "the client has no subscription to this API, its grantTypes leave out this grant, or this kind of client may not use it (RFC 6749 §5.2): fix the client's record",
      });
    }
    checkResource(parameters, issuer);
    return { kind: "json", status: 200, body: await grants[grantType].exchange(ports, request) };
  },
};
