/** The token endpoint. RFC 6749 §3.2, §5; 8707 §2.2. */
import { findGrant } from "../grants/index";
import { requireParameter } from "../grants/grant";
import { checkResource } from "../protocol/authorization-request";
import { mayUseGrant } from "../protocol/client";
import { OAuthError } from "../protocol/oauth-error";
import type { ClientEndpoint } from "./client-request";

export const tokenEndpoint: ClientEndpoint = {
  refused: "token-refused",
  async answer(context, request) {
    const { issuer, client, parameters } = request;
    const grant = findGrant(requireParameter(parameters, "grant_type"));
    if (!grant) {
      throw new OAuthError("unsupported_grant_type", {
        description: "The server does not know this grant_type.",
        reason:
          "grant_type is none of authorization_code, refresh_token and client_credentials (RFC 6749 §5.2): send one of them",
      });
    }
    if (!mayUseGrant(client, { apiId: issuer.api.apiId, grantType: grant.grantType })) {
      throw new OAuthError("unauthorized_client", {
        description: "The client may not use this grant at this API.",
        reason:
          "the client has no subscription to this API, its grantTypes leave this grant out, or it is not for this kind of client (RFC 6749 §5.2): mend the client's record",
      });
    }
    checkResource(parameters, issuer);
    return grant.exchange(context, request);
  },
};
