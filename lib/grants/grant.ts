/** What a grant of the token endpoint is, and what the refusals of all grants share. RFC 6749 §1.3, §4, §5.2; 9700 §4.14.2. */
import type { ClientRequest } from "../clients/authenticate-client";
import type { EmitEvent } from "../events/port";
import { registeredScopes } from "../protocol/client";
import { OAuthError } from "../protocol/oauth-error";
import type { TokenResponse } from "../protocol/protocol-response";
import { intersect } from "../protocol/scope";
import type { Clock } from "../protocol/time";
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
  readonly clock: Clock;
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

/**
 * Those of the granted scopes that the client may still have at this API. An answer can say that there are fewer, but not that there is
 * none: `scope` has no empty value, and a client that finds none takes what it has asked for as granted.
 *
 * @throws OAuthError `invalid_scope` when none is left
 * @rfc 6749 §3.3, §5.1, §5.2
 */
export function stillRegistered(
  scopes: readonly string[],
  { issuer, client }: ClientRequest,
): readonly string[] {
  const left = intersect(scopes, registeredScopes(client, issuer));
  if (left.length > 0 || scopes.length === 0) return left;
  throw new OAuthError("invalid_scope", {
    description: "The client may have none of these scopes at this API.",
    reason:
      "the API or the client's subscription has lost all of these scopes since the end user granted them (RFC 6749 §5.2): widen subscriptions.<api>.scopes, or start a new authorization request",
  });
}
