/** The client credentials grant: a client acts on its own behalf. RFC 6749 §4.4. */
import type { ClientRequest } from "../clients/authenticate-client";
import { reportIgnoredScopes } from "../events/ignored-scopes";
import type { TokenResponse } from "../protocol/access-token";
import { checkRequestedScopes } from "../requests/check-parameters";
import { decideToken } from "../tokens/decide-token";
import { issueAccessToken } from "../tokens/issue-tokens";
import { checkAlive, type Grant, type GrantPorts, tokenAnswer } from "./grant";

async function exchange(ports: GrantPorts, request: ClientRequest): Promise<TokenResponse> {
  const { issuer, client, parameters } = request;
  const { grantableScopes, ignoredScopes } = checkRequestedScopes(parameters.get("scope"), request);
  reportIgnoredScopes(ports.emit, { request, ignoredScopes });
  const own = { request, authorization: undefined } as const;
  const proposal = { grantType: "client_credentials", ...own, scopes: grantableScopes } as const;
  const decided = await decideToken(ports, proposal);
  const accessToken = await issueAccessToken(ports, { ...own, decided });
  checkAlive(ports, { request, decided });
  ports.emit({
    kind: "token-issued",
    grantType: "client_credentials",
    issuer: issuer.identifier,
    clientId: client.clientId,
    scopes: decided.scopes,
  });
  // no refresh token (RFC 6749 §4.4.3): the client can authenticate again at any time
  return tokenAnswer(ports, { request, decided, accessToken, refreshToken: undefined });
}

/** The client credentials grant. Its tokens have no authorization, so each ends by expiry or its own revocation. @rfc 6749 §4.4 */
export const clientCredentialsGrant: Grant = { presents: [], exchange };
