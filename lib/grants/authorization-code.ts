/** The authorization code grant. RFC 6749 §4.1.3, 7636 §4.6, 9700 §2.1.1. */
import type { ClientRequest } from "../clients/authenticate-client";
import type { TokenResponse } from "../protocol/access-token";
import { isCodeVerifier } from "../protocol/authorization";
import { because, OAuthError } from "../protocol/oauth-error";
import { parseTokenHandle } from "../protocol/token-value";
import { requireParameter } from "../requests/check-parameters";
import { exchangeReasons, type Grant, type GrantPorts, invalidGrant } from "./grant";
import { redeemCode } from "./redeem-code";

async function exchange(ports: GrantPorts, request: ClientRequest): Promise<TokenResponse> {
  const { parameters } = request;
  const handle = parseTokenHandle(requireParameter(parameters, "code"));
  const codeVerifier = parameters.get("code_verifier");
  if (codeVerifier !== undefined && !isCodeVerifier(codeVerifier)) {
    throw new OAuthError("invalid_request", {
      description: "code_verifier must be 43 to 128 unreserved characters.",
      ...because(exchangeReasons, "code-verifier-malformed"),
    });
  }
  if (!handle) throw invalidGrant("code-not-of-this-server");
  const presented = {
    grantType: "authorization_code",
    replayed: "authorization_code",
    handle,
    redemption: { redirectUri: parameters.get("redirect_uri"), codeVerifier },
    unknown: () => invalidGrant("code-unknown"),
    expired: (seconds: number) => invalidGrant("code-expired", seconds),
  } as const;
  return redeemCode(ports, { presented, request });
}

/** The authorization code grant. @rfc 6749 §4.1.3 */
export const authorizationCodeGrant: Grant = { presents: ["code"], bodyOnly: ["code_verifier"], exchange };
