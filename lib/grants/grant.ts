/** An exchange at the token endpoint. RFC 6749 §1.3, §4. */
import type { EmitEvent } from "../events/port";
import type { Client, GrantType } from "../protocol/client";
import type { EpochSeconds } from "../protocol/epoch-seconds";
import type { Issuer } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import type { TokenResponse } from "../protocol/token-response";
import type { AccessTokenSigner } from "../signing/port";
import type { CheckedClients } from "../storage/checked-clients";
import type { Storage } from "../storage/port";

/** Everything that reaches the rules from outside: storage, keys, time and chance. */
export interface GrantContext {
  readonly storage: Storage & { readonly clients: CheckedClients };
  readonly signer: AccessTokenSigner;
  readonly emit: EmitEvent;
  /** The schemes without a dot that redirect URIs of native clients may have. */
  readonly redirectSchemes: readonly string[];
  readonly now: () => EpochSeconds;
  /** 256 random bits, base64url. */
  readonly randomToken: () => string;
  /** 128 random bits, base64url. */
  readonly randomId: () => string;
}

/** A token request of an authenticated client that may use the grant. */
export interface TokenRequest {
  readonly issuer: Issuer;
  readonly client: Client;
  readonly parameters: Parameters;
  readonly now: EpochSeconds;
}

export interface Grant {
  readonly grantType: GrantType;
  /** @throws OAuthError when the request is refused; nothing that anybody was given is stored then, and a replay revokes. */
  exchange(context: GrantContext, request: TokenRequest): Promise<TokenResponse>;
}

export function requireParameter(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value !== undefined) return value;
  throw new OAuthError("invalid_request", {
    description: `${name} is missing.`,
    reason: `${name} is required here (RFC 6749 §4.1.3, §6, 7009 §2.1, 7662 §2.1): send it in the form`,
  });
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
  readonly request: TokenRequest;
}

/** Ends everything that descends from the authorization of a replayed code or refresh token. @rfc 9700 §4.14.2 */
export async function revokeAfterReplay(
  { storage, emit }: GrantContext,
  replay: Replay,
): Promise<OAuthError> {
  const { authorizationId, replayed, request } = replay;
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
