/** The client credentials grant: a client acts on its own behalf. RFC 6749 §4.4. */
import type { ClientRequest } from "../clients/authenticate-client";
import { reportIgnoredScopes } from "../events/ignored-scopes";
import type { Advise } from "../events/port";
import type { TokenResponse } from "../protocol/access-token";
import { registeredScopes } from "../protocol/client";
import { withoutPeople } from "../protocol/openid";
import { checkRequestedScopes } from "../requests/check-parameters";
import { decideToken } from "../tokens/decide-token";
import { issueAccessToken } from "../tokens/issue-tokens";
import { checkAlive, type Grant, type GrantPorts, tokenAnswer } from "./grant";

/** A client that forgets `scope` gets a token that no route with a scope accepts. */
function adviseOfScope(advise: Advise, { issuer, client }: ClientRequest): void {
  const [scope] = registeredScopes(client, withoutPeople(issuer));
  if (scope !== undefined)
    advise(
      "token-without-scope",
      `Client ${client.clientId} got a token without any scope: it sent none, and the API ${issuer.api.apiId} has no defaultScopes for it. Let the client send scope=${scope}, for example, or set defaultScopes.`,
    );
}

async function exchange(ports: GrantPorts, request: ClientRequest): Promise<TokenResponse> {
  const { issuer, client, parameters } = request;
  const asker = { client, issuer: withoutPeople(issuer) };
  const { grantableScopes, ignoredScopes } = checkRequestedScopes(parameters.get("scope"), asker);
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
  if (ports.advise && grantableScopes.length === 0) adviseOfScope(ports.advise, request);
  // no refresh token (RFC 6749 §4.4.3): the client can authenticate again at any time
  return tokenAnswer(ports, { request, decided, accessToken, refreshToken: undefined });
}

/** The client credentials grant. Its tokens have no authorization, so each ends by expiry or its own revocation. @rfc 6749 §4.4 */
export const clientCredentialsGrant: Grant = { presents: [], exchange };
