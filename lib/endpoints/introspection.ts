/** The introspection endpoint: says what a token means to those who may know. RFC 7662 §2. */
import type { ClientRequest } from "../clients/authenticate-client";
import { ownershipProblem } from "../protocol/authorization";
import { subscriptionOf } from "../protocol/client";
import {
  activeAccessToken,
  activeRefreshToken,
  inactive,
  type IntrospectionResponse,
} from "../protocol/access-token";
import { because, OAuthError } from "../protocol/oauth-error";
import { digestToken, parseTokenHandle, type TokenHandle } from "../protocol/token-value";
import { requireParameter } from "../requests/check-parameters";
import type { Storage } from "../storage/port";
import { authorizationStands } from "../tokens/authorization-stands";
import {
  readAccessToken,
  validityOf,
  type RevocationPorts,
  type TokenReadPorts,
} from "../tokens/read-access-token";
import { type ClientEndpoint, endpointReasons } from "./client-endpoint";

/** Refuses callers without client authentication: anyone could try one token after the other (token scanning). @rfc 7662 §2.1 */
function checkCaller({ client, issuer }: ClientRequest): void {
  if (!client.confidential) {
    throw new OAuthError("invalid_client", {
      description: "Introspection requires client authentication.",
      ...because(endpointReasons, "introspection-by-public-client"),
    });
  }
  if (subscriptionOf(client, issuer.api.apiId)) return;
  throw new OAuthError("unauthorized_client", {
    description: "The client has no subscription to this API.",
    ...because(endpointReasons, "introspection-without-subscription", client.clientId, issuer.api.apiId),
  });
}

/**
 * Access tokens are described to every caller that the host has registered, whichever client they are for: a resource server is a client
 * too, and a caller that has the text of a token can use it anyway. Anyone can become a client that nobody registered, so such a client
 * learns of its own tokens only. Each issuer of an API knows the tokens of all of them, and `iss` says whose a token is: an API accepts
 * them all, and cannot tell from an opaque token whom to ask. A token of another API is inactive here.
 */
async function introspectAccessToken(
  ports: TokenReadPorts & RevocationPorts,
  { request, token }: { request: ClientRequest; token: string },
): Promise<IntrospectionResponse> {
  const { client, issuer, now } = request;
  const digest = digestToken(token);
  const genuine = await readAccessToken(ports, { token, digest, api: issuer.api, now });
  if (typeof genuine === "string") return inactive;
  const { accessToken } = genuine;
  if (!issuer.api.issuers.includes(accessToken.issuer) || accessToken.expiresAt <= now) return inactive;
  if (client.selfDescription && accessToken.clientId !== client.clientId) return inactive;
  // fresh, because the resource server remembers the answer for its own lag
  const validity = await validityOf(ports, { accessToken, api: issuer.api, now, fresh: true });
  return validity.kind === "valid" ? activeAccessToken(validity.accessToken, issuer) : inactive;
}

/** A refresh token concerns only its own client and the server, so to all others it is inactive. */
async function introspectRefreshToken(
  { storage }: { readonly storage: Pick<Storage, "refreshTokens" | "authorizations" | "endMarks"> },
  { request, handle }: { request: ClientRequest; handle: TokenHandle },
): Promise<IntrospectionResponse> {
  const { now, issuer } = request;
  const [token, authorization] = await Promise.all([
    storage.refreshTokens.find(handle, now),
    storage.authorizations.find(handle.authorizationId, now),
  ]);
  if (!token || token.used || token.expiresAt <= now || !authorization) return inactive;
  if (ownershipProblem(authorization, request) !== undefined) return inactive;
  const { audience } = issuer.api;
  if (!(await authorizationStands({ storage }, { authorization, audience, registered: request, now })))
    return inactive;
  return activeRefreshToken({ token, authorization }, issuer);
}

/**
 * Says what a token means, to a confidential client with a subscription to the API. All tokens that the caller may not know about
 * get the same answer, `active: false`.
 *
 * @rfc 7662 §2
 */
export const introspectionEndpoint: ClientEndpoint = {
  refused: "introspection-refused",
  grantParameters: [],
  async answer(ports, request) {
    checkCaller(request);
    const token = requireParameter(request.parameters, "token");
    // the form of a token shows its kind, so token_type_hint is not needed
    const handle = parseTokenHandle(token);
    const body = handle
      ? await introspectRefreshToken(ports, { request, handle })
      : await introspectAccessToken(ports, { request, token });
    return { kind: "json", status: 200, body };
  },
};
