/** The revocation endpoint: a client ends its own tokens. RFC 7009 §2. */
import type { ClientRequest } from "../clients/authenticate-client";
import type { EmitEvent } from "../events/port";
import { because, OAuthError } from "../protocol/oauth-error";
import { belongsTo } from "../protocol/authorization";
import { bySlowestClock } from "../protocol/time";
import { digestToken, parseTokenHandle, type TokenHandle } from "../protocol/token-value";
import { requireParameter } from "../requests/check-parameters";
import type { Storage } from "../storage/port";
import { readAccessToken, type TokenReadPorts } from "../tokens/read-access-token";
import { type ClientEndpoint, endpointReasons } from "./client-endpoint";

interface RefreshTokenRevocationPorts {
  readonly storage: Pick<Storage, "refreshTokens" | "authorizationCodes" | "authorizations">;
  readonly emit: EmitEvent;
}

/** Revoking a refresh token revokes its authorization, and with it every access token from it. @rfc 7009 §2.1, §2.2.1 */
async function revokeRefreshToken(
  { storage, emit }: RefreshTokenRevocationPorts,
  { request, handle }: { request: ClientRequest; handle: TokenHandle },
): Promise<void> {
  const { issuer, client, now } = request;
  const { authorizationId } = handle;
  const slowest = bySlowestClock(now);
  const [token, code, authorization] = await Promise.all([
    storage.refreshTokens.find(handle, slowest),
    storage.authorizationCodes.find(handle, slowest),
    storage.authorizations.find(authorizationId, slowest),
  ]);
  // its client may end it however it proves itself by now: only for a use must that be as it was at the approval
  if (!authorization || !belongsTo(authorization, issuer) || authorization.clientId !== client.clientId)
    return;
  // a code has the form of a refresh token: without this, a client would believe that it has ended one
  if (code) {
    throw new OAuthError("unsupported_token_type", {
      description: "An authorization code cannot be revoked.",
      ...because(endpointReasons, "code-not-revocable"),
    });
  }
  if (!token) return;
  await storage.authorizations.revoke(authorizationId, now);
  const { clientId } = client;
  emit({
    kind: "token-revoked",
    revoked: "refresh_token",
    issuer: issuer.identifier,
    clientId,
    authorizationId,
  });
}

/** Revoking an access token ends that token only. One that has expired by every clock needs no record. */
async function revokeAccessToken(
  ports: TokenReadPorts & { readonly emit: EmitEvent },
  { request, token }: { request: ClientRequest; token: string },
): Promise<void> {
  const { issuer, client, now } = request;
  const slowest = bySlowestClock(now);
  const genuine = await readAccessToken(ports, {
    token,
    digest: digestToken(token),
    api: issuer.api,
    now: slowest,
  });
  if (typeof genuine === "string") return;
  const { accessToken } = genuine;
  if (accessToken.issuer !== issuer.identifier || accessToken.clientId !== client.clientId) return;
  const { tokenId, expiresAt, clientId } = accessToken;
  if (expiresAt <= slowest) return;
  await ports.storage.accessTokens.revoke({ tokenId, clientId, expiresAt }, now);
  ports.emit({ kind: "token-revoked", revoked: "access_token", issuer: issuer.identifier, clientId });
}

/** Revokes a token of the client that asks. @rfc 7009 §2 */
export const revocationEndpoint: ClientEndpoint = {
  refused: "revocation-refused",
  grantParameters: ["token"],
  async answer(ports, request) {
    const token = requireParameter(request.parameters, "token");
    // the form of a token shows its kind, so token_type_hint is not needed, and a wrong one does no harm
    const handle = parseTokenHandle(token);
    if (handle) await revokeRefreshToken(ports, { request, handle });
    else await revokeAccessToken(ports, { request, token });
    // the same answer for an unknown token and for one of another client: the caller learns nothing about it
    return { kind: "json", status: 200, body: {} };
  },
};
