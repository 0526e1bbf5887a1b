/** The introspection endpoint: what a token means, for those that the API is for. RFC 7662 §2. */
import { type GrantContext, requireParameter, type TokenRequest } from "../grants/grant";
import { isLive } from "../protocol/authorization";
import { subscriptionOf } from "../protocol/client";
import {
  activeAccessToken,
  activeRefreshToken,
  inactive,
  type IntrospectionResponse,
} from "../protocol/introspection-response";
import { OAuthError } from "../protocol/oauth-error";
import { ownershipProblem } from "../protocol/refresh-token";
import { digestToken, parseToken, type TokenHandle } from "../protocol/token-value";
import type { ClientEndpoint } from "./client-request";
import { accessTokenStands, readAccessToken } from "./read-access-token";

/** Whoever may ask could try tokens one after the other, so asking takes a proof. @rfc 7662 §2.1 */
function checkCaller({ client, issuer }: TokenRequest): void {
  if (!client.confidential) {
    const description = "Introspection takes client authentication.";
    throw new OAuthError("invalid_client", { description, reason: "a public client asks for introspection" });
  }
  if (subscriptionOf(client, issuer.api.apiId)) return;
  throw new OAuthError("unauthorized_client", {
    description: "The client has no subscription to this API.",
    reason:
      "only a client with a subscription to the API may introspect its tokens (RFC 7662 §2.1): add the subscription",
  });
}

async function introspectAccessToken(
  context: GrantContext,
  { request, token }: { request: TokenRequest; token: string },
): Promise<IntrospectionResponse> {
  const { issuer, now: at } = request;
  const digest = digestToken(token);
  const accessToken = (await readAccessToken(context, { token, digest, api: issuer.api, at }))?.accessToken;
  if (!accessToken || accessToken.issuer !== issuer.identifier || accessToken.expiresAt <= at)
    return inactive;
  return (await accessTokenStands(context, { accessToken, at }))
    ? activeAccessToken(accessToken, issuer)
    : inactive;
}

/** A refresh token is a matter between its client and the server: nobody else is told of it. */
async function introspectRefreshToken(
  { storage }: GrantContext,
  { request, handle }: { request: TokenRequest; handle: TokenHandle },
): Promise<IntrospectionResponse> {
  const { now, issuer } = request;
  const [token, authorization] = await Promise.all([
    storage.refreshTokens.find(handle, now),
    storage.authorizations.find(handle.authorizationId, now),
  ]);
  if (!token || token.used || token.expiresAt <= now || !isLive(authorization, now)) return inactive;
  if (ownershipProblem(authorization, request) !== undefined) return inactive;
  return activeRefreshToken({ token, authorization }, issuer);
}

export const introspectionEndpoint: ClientEndpoint = {
  refused: "introspection-refused",
  async answer(context, request) {
    checkCaller(request);
    const token = requireParameter(request.parameters, "token");
    const handle = parseToken(token);
    return handle
      ? introspectRefreshToken(context, { request, handle })
      : introspectAccessToken(context, { request, token });
  },
};
