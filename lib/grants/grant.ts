/** An exchange at the token endpoint, and what its refusals have in common. RFC 6749 §1.3, §4, §5.2; 9700 §4.14.2. */
import type { ClientRequest } from "../clients/authenticate-client";
import type { EmitEvent } from "../events/port";
import { OAuthError } from "../protocol/oauth-error";
import type { TokenResponse } from "../protocol/token-response";
import type { Storage } from "../storage/port";
import type { TokenIssuePorts } from "../tokens/issue-tokens";

/** What the grants use: stored codes and tokens, issuing, and events. */
export interface GrantPorts extends TokenIssuePorts {
  readonly storage: Pick<Storage, "authorizations" | "authorizationCodes" | "refreshTokens" | "accessTokens">;
  readonly emit: EmitEvent;
}

/** A grant of the token endpoint. */
export interface Grant {
  /**
   * Exchanges what the client presents for tokens. The client has proved itself, and may use the grant at this API.
   *
   * @throws OAuthError when the request is refused; nothing that anybody was given is stored then, and a replay revokes.
   */
  exchange(ports: GrantPorts, request: ClientRequest): Promise<TokenResponse>;
}

/** One text for every code and refresh token that buys nothing, so that it tells nothing of the others. */
export function invalidGrant(reason: string): OAuthError {
  return new OAuthError("invalid_grant", {
    description: "The code or refresh token is unknown, expired, used or not for this client.",
    reason,
  });
}

/** A code or refresh token that has come a second time. */
export interface Replay {
  readonly replayed: "authorization_code" | "refresh_token";
  readonly authorizationId: string;
  readonly request: ClientRequest;
}

/** Ends everything that descends from the authorization of a replayed code or refresh token; gives the refusal. @rfc 9700 §4.14.2 */
export async function revokeAfterReplay(
  { storage, emit }: Pick<GrantPorts, "storage" | "emit">,
  { authorizationId, replayed, request }: Replay,
): Promise<OAuthError> {
  await storage.authorizations.revoke(authorizationId, request.now);
  const { issuer, client } = request;
  emit({
    kind: "replay-detected",
    replayed,
    authorizationId,
    issuer: issuer.identifier,
    clientId: client.clientId,
  });
  return invalidGrant("it was used before: its authorization is revoked");
}
