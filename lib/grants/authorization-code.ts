/** The authorization code grant: redeems the code. RFC 6749 §4.1.3, 7636 §4.6, 9700 §2.1.1, §4.14. */
import type { ClientRequest } from "../clients/authenticate-client";
import type { TokenResponse } from "../protocol/access-token";
import {
  type Authorization,
  type AuthorizationCode,
  isCodeVerifier,
  redemptionProblem,
} from "../protocol/authorization";
import { mayUseGrant } from "../protocol/client";
import { because, OAuthError } from "../protocol/oauth-error";
import { parseTokenHandle } from "../protocol/token-value";
import { requireParameter } from "../requests/check-parameters";
import { allStored } from "../storage/calls";
import { authorizationStands } from "../tokens/authorization-stands";
import { decideToken } from "../tokens/decide-token";
import { issueAccessToken, newRefreshToken } from "../tokens/issue-tokens";
import {
  checkAlive,
  exchangeReasons,
  type Grant,
  type GrantPorts,
  invalidGrant,
  revokeAfterReplay,
  stillRegistered,
  tokenAnswer,
} from "./grant";

/** The code and its authorization. */
interface Redeemable {
  readonly code: AuthorizationCode;
  readonly authorization: Authorization;
}

/**
 * The code and its authorization, after the client has proved that the code is its own. The proof comes before anything that
 * changes storage: without it, a thief can neither use up the code nor revoke the authorization.
 */
async function findRedeemable(ports: GrantPorts, request: ClientRequest): Promise<Redeemable> {
  const { storage } = ports;
  const { issuer, client, parameters, key, now } = request;
  const handle = parseTokenHandle(requireParameter(parameters, "code"));
  const codeVerifier = parameters.get("code_verifier");
  if (codeVerifier !== undefined && !isCodeVerifier(codeVerifier)) {
    throw new OAuthError("invalid_request", {
      description: "code_verifier must be 43 to 128 unreserved characters.",
      ...because(exchangeReasons, "code-verifier-malformed"),
    });
  }
  if (!handle) throw invalidGrant("code-not-of-this-server");
  const [code, authorization] = await Promise.all([
    storage.authorizationCodes.find(handle, now),
    storage.authorizations.find(handle.authorizationId, now),
  ]);
  if (!code || !authorization) throw invalidGrant("code-unknown");
  const redirectUri = parameters.get("redirect_uri");
  const redemption = { issuer, client, redirectUri, codeVerifier, key };
  const problem = redemptionProblem({ code, authorization }, redemption);
  if (problem !== undefined) throw invalidGrant(problem, { code, authorization, ...redemption });
  // before the expiry check: a replay after the code's own minute still reveals a theft
  if (code.consumed) throw await refuseReplay(ports, { code, request });
  if (code.redeemBefore <= now) throw invalidGrant("code-expired", now - code.redeemBefore);
  const { audience } = request.issuer.api;
  if (!(await authorizationStands(ports, { authorization, audience, registered: request, now })))
    throw invalidGrant("authorization-revoked");
  return { code, authorization };
}

function refuseReplay(
  ports: GrantPorts,
  { code: { authorizationId }, request }: { code: AuthorizationCode; request: ClientRequest },
): Promise<OAuthError> {
  return revokeAfterReplay(ports, { replayed: "authorization_code", authorizationId, request });
}

/** Stores the tokens before it consumes the code: if storing fails, the client can try again with the same code. */
async function exchange(ports: GrantPorts, request: ClientRequest): Promise<TokenResponse> {
  const { code, authorization } = await findRedeemable(ports, request);
  const { issuer, client } = request;
  // scopes that were removed from the subscription since the approval are not issued
  const scopes = stillRegistered(authorization.grantedScopes, request);
  const proposal = { grantType: "authorization_code", request, authorization, scopes } as const;
  // before anything is stored or spent
  const decided = await decideToken(ports, proposal);
  const { nonce } = code;
  const idToken = await ports.issueIdToken?.({ request, authorization, decided, nonce });
  // the client's kind or its subscription may have changed since the approval
  const mayRefresh = mayUseGrant(client, { apiId: issuer.api.apiId, grantType: "refresh_token" });
  const refreshToken = mayRefresh
    ? newRefreshToken(ports, { authorization, request, predecessor: undefined })
    : undefined;
  const [accessToken] = await allStored([
    issueAccessToken(ports, { request, authorization, decided }),
    refreshToken && ports.storage.refreshTokens.create(refreshToken.record, request.now),
  ]);
  checkAlive(ports, { request, decided });
  // of any number of simultaneous requests exactly one wins; the tokens that the others stored are given to nobody
  const outcome = await ports.storage.authorizationCodes.consume(code, request.now);
  if (outcome !== "consumed") throw await refuseReplay(ports, { code, request });
  ports.emit({
    kind: "token-issued",
    grantType: "authorization_code",
    issuer: issuer.identifier,
    clientId: client.clientId,
    subject: authorization.subject,
    authorizationId: authorization.authorizationId,
    scopes: decided.scopes,
  });
  return tokenAnswer(ports, { request, decided, accessToken, refreshToken, idToken });
}

/** The authorization code grant. @rfc 6749 §4.1.3 */
export const authorizationCodeGrant: Grant = { presents: ["code"], bodyOnly: ["code_verifier"], exchange };
