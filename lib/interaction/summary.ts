/** What pages and adapters may know of an authorization request. RFC 6749 §3.1, §10.2. */
import type { AuthorizationRequest } from "../protocol/authorization-request";
import type { Client } from "../protocol/client";
import type { AuthorizationSummary, ClientSummary } from "./port";

function summarizeClient({
  clientId,
  name,
  confidential,
  clientUri,
  policyUri,
  tosUri,
}: Client): ClientSummary {
  return {
    clientId,
    name,
    confidential,
    ...(clientUri !== undefined && { clientUri }),
    ...(policyUri !== undefined && { policyUri }),
    ...(tosUri !== undefined && { tosUri }),
  };
}

export function summarize(request: AuthorizationRequest): AuthorizationSummary {
  const { issuer, client, requestedScopes, prompt, maxAge, loginHint, uiLocales } = request;
  const { apiId, name, audience, scopes } = issuer.api;
  return {
    authMethodId: issuer.authMethodId,
    api: { apiId, name, audience },
    client: summarizeClient(client),
    scopes: Object.fromEntries(requestedScopes.map((scope) => [scope, scopes[scope] ?? scope])),
    prompt,
    maxAge,
    loginHint,
    uiLocales,
  };
}
