/** The token endpoint. RFC 6749 §3.2, §5; 8707 §2.2. */
import type { GrantContext } from "../grants/grant";
import { findGrant } from "../grants/index";
import { checkResource } from "../protocol/authorization-request";
import { formatChallenge } from "../protocol/bearer-token";
import { type Client, mayUseGrant } from "../protocol/client";
import type { Issuer } from "../protocol/issuer";
import { OAuthError, toOAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import { jsonError, type JsonResponse } from "../protocol/protocol-response";
import { authenticateClient } from "./authenticate-client";
import type { ClientSecretCheck } from "./client-secret-check";

export interface TokenEndpointContext extends GrantContext {
  readonly checkSecret: ClientSecretCheck;
}

export interface TokenEndpointRequest {
  readonly issuer: Issuer;
  /** The form body's. */
  readonly parameters: Parameters;
  /** The URL's, which must hold nothing of the request. */
  readonly urlParameters: Parameters;
  readonly authorizationHeader: string | undefined;
}

const bodyOnly = [
  "client_id",
  "client_secret",
  "code",
  "code_verifier",
  "refresh_token",
  "grant_type",
  "scope",
];

function checkMessage({ parameters, urlParameters }: TokenEndpointRequest): void {
  if (bodyOnly.some((name) => urlParameters.get(name) !== undefined || urlParameters.unusable.has(name))) {
    throw new OAuthError("invalid_request", {
      description: "Parameters belong in the body, not in the URL.",
    });
  }
  if (parameters.unusable.size > 0) {
    throw new OAuthError("invalid_request", { description: "A parameter is repeated or is not UTF-8 text." });
  }
}

async function answer(
  context: TokenEndpointContext,
  { request, onClient }: { request: TokenEndpointRequest; onClient: (client: Client) => void },
): Promise<JsonResponse> {
  checkMessage(request);
  const { issuer, parameters } = request;
  const { clients } = context.storage;
  const client = await authenticateClient({ ...context, clients }, request);
  onClient(client);
  const grantType = parameters.get("grant_type");
  if (grantType === undefined)
    throw new OAuthError("invalid_request", { description: "grant_type is missing." });
  const grant = findGrant(grantType);
  if (!grant) {
    throw new OAuthError("unsupported_grant_type", {
      description: "The server does not know this grant_type.",
    });
  }
  if (!mayUseGrant(client, { apiId: issuer.api.apiId, grantType: grant.grantType })) {
    throw new OAuthError("unauthorized_client", {
      description: "The client may not use this grant at this API.",
    });
  }
  checkResource(parameters, issuer);
  const body = await grant.exchange(context, { issuer, client, parameters, now: context.now() });
  return { kind: "json", status: 200, body };
}

/** Answers a token request; every refusal ends here. @rfc 6749 §5.2 */
export async function tokenEndpoint(
  context: TokenEndpointContext,
  request: TokenEndpointRequest,
): Promise<JsonResponse> {
  const issuer = request.issuer.identifier;
  let clientId: string | undefined;
  try {
    return await answer(context, { request, onClient: (client) => (clientId = client.clientId) });
  } catch (thrown) {
    const error = toOAuthError(thrown);
    const subject = { issuer, ...(clientId !== undefined && { clientId }) };
    if (error.code === "server_error") context.emit({ kind: "server-error", ...subject, cause: error.cause });
    else context.emit({ kind: "token-refused", ...subject, error: error.code, reason: error.reason });
    const basicTried = error.code === "invalid_client" && request.authorizationHeader !== undefined;
    return jsonError(
      error,
      basicTried ? { "WWW-Authenticate": formatChallenge("Basic", { realm: issuer }) } : {},
    );
  }
}
