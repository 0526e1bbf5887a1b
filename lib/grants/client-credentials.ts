/** The client credentials grant: a client on its own behalf. RFC 6749 §4.4. */
import { reportIgnoredScopes } from "../events/ignored-scopes";
import { checkRequestedScopes } from "../protocol/requested-scopes";
import { tokenResponse, type TokenResponse } from "../protocol/token-response";
import type { Grant, GrantContext, TokenRequest } from "./grant";
import { issueAccessToken } from "./issue-tokens";

async function exchange(context: GrantContext, request: TokenRequest): Promise<TokenResponse> {
  const { issuer, client, parameters } = request;
  const { grantableScopes: scopes, ignoredScopes } = checkRequestedScopes(parameters.get("scope"), request);
  reportIgnoredScopes(context.emit, { request, ignoredScopes });
  const accessToken = await issueAccessToken(context, {
    request,
    grant: { authorization: undefined, scopes },
  });
  context.emit({
    kind: "token-issued",
    grantType: "client_credentials",
    issuer: issuer.identifier,
    clientId: client.clientId,
    scopes,
  });
  const { accessTokenSeconds } = issuer.api;
  return tokenResponse({ accessToken, accessTokenSeconds, refreshToken: undefined, scopes });
}

export const clientCredentialsGrant: Grant = { grantType: "client_credentials", exchange };
