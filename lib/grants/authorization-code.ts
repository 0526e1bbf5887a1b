/** The authorization code grant, and how a code that a person has approved is redeemed, also that of a device. RFC 6749 §4.1.3, 7636 §4.6, 8628 §3.4, 9700 §2.1.1, §4.14. */
import type { ClientRequest } from "../clients/authenticate-client";
import type { TokenResponse } from "../protocol/access-token";
import {
  type Authorization,
  type AuthorizationCode,
  isCodeVerifier,
  type Redemption,
  redemptionProblem,
} from "../protocol/authorization";
import { type GrantType, mayUseGrant } from "../protocol/client";
import { because, OAuthError } from "../protocol/oauth-error";
import { parseTokenHandle, type TokenHandle } from "../protocol/token-value";
import { requireParameter } from "../requests/check-parameters";
import { redeem } from "../storage/steps";
import { authorizationStands } from "../tokens/authorization-stands";
import { decideToken } from "../tokens/decide-token";
import { newAccessToken, newRefreshToken } from "../tokens/issue-tokens";
import {
  checkAlive,
  exchangeReasons,
  type Grant,
  type GrantPorts,
  invalidGrant,
  type Replay,
  revokeAfterReplay,
  stillRegistered,
  tokenAnswer,
} from "./grant";

/** A code as a grant presents it, and how that grant refuses. */
export interface PresentedCode {
  readonly grantType: GrantType;
  readonly replayed: Replay["replayed"];
  readonly handle: TokenHandle;
  readonly redemption: Pick<Redemption, "as" | "redirectUri" | "codeVerifier">;
  /** The refusal when storage has no such code. */
  readonly unknown: () => OAuthError;
  /** The refusal of one whose time is over, by so many seconds. */
  readonly expired: (seconds: number) => OAuthError;
  /** The refusal of all but one of several requests that have found it unspent; left out where that is a replay. */
  readonly raced?: () => OAuthError;
}

interface Presentation {
  readonly presented: PresentedCode;
  readonly request: ClientRequest;
}

/** The code and its authorization. */
interface Redeemable {
  readonly code: AuthorizationCode;
  readonly authorization: Authorization;
}

function refuseReplay(ports: GrantPorts, { presented, request }: Presentation): Promise<OAuthError> {
  const { replayed, handle } = presented;
  return revokeAfterReplay(ports, { replayed, authorizationId: handle.authorizationId, request });
}

/**
 * The code and its authorization, after the client has proved that the code is its own. The proof comes before anything that
 * changes storage: without it, a thief can neither use up the code nor revoke the authorization.
 */
async function findRedeemable(ports: GrantPorts, presentation: Presentation): Promise<Redeemable> {
  const { storage } = ports;
  const { presented, request } = presentation;
  const { handle } = presented;
  const { issuer, client, key, now } = request;
  const [code, authorization] = await Promise.all([
    storage.authorizationCodes.find(handle, now),
    storage.authorizations.find(handle.authorizationId, now),
  ]);
  if (!code || !authorization) throw presented.unknown();
  const redemption = { issuer, client, key, ...presented.redemption };
  const problem = redemptionProblem({ code, authorization }, redemption);
  if (problem !== undefined) throw invalidGrant(problem, { code, authorization, ...redemption });
  // before the expiry check: a replay after the code's own time still reveals a theft
  if (code.consumed) throw await refuseReplay(ports, presentation);
  if (code.redeemBefore <= now) throw presented.expired(now - code.redeemBefore);
  const { audience } = issuer.api;
  if (!(await authorizationStands(ports, { authorization, audience, registered: request, now })))
    throw invalidGrant("authorization-revoked");
  return { code, authorization };
}

/** Redeems a code: every check, then its tokens. @throws OAuthError when it is refused */
export async function redeemCode(ports: GrantPorts, presentation: Presentation): Promise<TokenResponse> {
  const { presented, request } = presentation;
  const { grantType } = presented;
  const { code, authorization } = await findRedeemable(ports, presentation);
  const { issuer, client } = request;
  // scopes that were removed from the subscription since the approval are not issued
  const scopes = stillRegistered(authorization.grantedScopes, request);
  const proposal = { grantType, request, authorization, scopes } as const;
  // before anything is stored or spent
  const decided = await decideToken(ports, proposal);
  const { nonce } = code;
  const idToken = await ports.issueIdToken?.({ request, authorization, decided, nonce });
  // the client's kind or its subscription may have changed since the approval
  const mayRefresh = mayUseGrant(client, { apiId: issuer.api.apiId, grantType: "refresh_token" });
  const refreshToken = mayRefresh
    ? newRefreshToken(ports, { authorization, request, predecessor: undefined })
    : undefined;
  const { token: accessToken, record } = await newAccessToken(ports, { request, authorization, decided });
  const outcome = await redeem(
    ports.storage,
    { code, refreshToken: refreshToken?.record, accessToken: record },
    { now: request.now, proceed: () => checkAlive(ports, { request, decided }) },
  );
  if (outcome !== "consumed") throw presented.raced?.() ?? (await refuseReplay(ports, presentation));
  ports.emit({
    kind: "token-issued",
    grantType,
    issuer: issuer.identifier,
    clientId: client.clientId,
    subject: authorization.subject,
    authorizationId: authorization.authorizationId,
    scopes: decided.scopes,
  });
  return tokenAnswer(ports, { request, decided, accessToken, refreshToken, idToken });
}

async function exchange(ports: GrantPorts, request: ClientRequest): Promise<TokenResponse> {
  const { parameters } = request;
  const handle = parseTokenHandle(requireParameter(parameters, "code"));
  const codeVerifier = parameters.get("code_verifier");
  if (codeVerifier !== undefined && !isCodeVerifier(codeVerifier)) {
    throw new OAuthError("invalid_request", {
      description: "code_verifier must be 43 to 128 unreserved characters.",
      ...because(exchangeReasons, "code-verifier-malformed"),
    });
  }
  if (!handle) throw invalidGrant("code-not-of-this-server");
  const presented = {
    grantType: "authorization_code",
    replayed: "authorization_code",
    handle,
    redemption: { redirectUri: parameters.get("redirect_uri"), codeVerifier },
    unknown: () => invalidGrant("code-unknown"),
    expired: (seconds: number) => invalidGrant("code-expired", seconds),
  } as const;
  return redeemCode(ports, { presented, request });
}

/** The authorization code grant. @rfc 6749 §4.1.3 */
export const authorizationCodeGrant: Grant = { presents: ["code"], bodyOnly: ["code_verifier"], exchange };
