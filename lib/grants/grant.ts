/** What a grant of the token endpoint is, and what the refusals of all grants share. RFC 6749 §1.3, §4, §5.2; 9700 §4.14.2. */
import type { ClientRequest } from "../clients/authenticate-client";
import type { EmitEvent } from "../events/port";
import { OAuthError } from "../protocol/oauth-error";
import type { TokenResponse } from "../protocol/protocol-response";
import type { Storage } from "../storage/port";
import type { TokenDecisionPorts } from "../tokens/decide-token";
import type { TokenIssuePorts } from "../tokens/issue-tokens";

/** What the grants need: stored codes and tokens, issuing, and events. */
export interface GrantPorts extends TokenIssuePorts, TokenDecisionPorts {
  readonly storage: Pick<
    Storage,
    "authorizations" | "authorizationCodes" | "refreshTokens" | "accessTokens" | "endMarks"
  >;
  readonly emit: EmitEvent;
}

/** A grant of the token endpoint. */
export interface Grant {
  /**
   * Exchanges what the client presents for tokens. The caller has authenticated the client and checked that it may use the grant
   * at this API.
   *
   * @throws OAuthError when the request is refused. Tokens that were stored by then were given to nobody, and a replay revokes the
   * authorization. Anything else that is thrown is a failure of storage.
   */
  exchange(ports: GrantPorts, request: ClientRequest): Promise<TokenResponse>;
}

/** The refusal of a code or refresh token. The client always gets the same text, so that it cannot probe for other tokens. */
export function invalidGrant(reason: string): OAuthError {
  return new OAuthError("invalid_grant", {
    description: "The code or refresh token is unknown, expired, used or not for this client.",
    reason,
  });
}

/** A code or refresh token that arrived a second time. */
export interface Replay {
  readonly replayed: "authorization_code" | "refresh_token";
  readonly authorizationId: string;
  readonly request: ClientRequest;
}

/**
 * Revokes the authorization of a replayed code or refresh token, and with it everything that descends from it. The server cannot
 * tell the thief from the client, so neither keeps its tokens. Returns the refusal.
 *
 * @throws whatever storage rejects with: a replay is not reported before the revocation is stored
 * @rfc 9700 §4.14.2
 */
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
  return invalidGrant("it was used before, so its authorization was revoked");
}
