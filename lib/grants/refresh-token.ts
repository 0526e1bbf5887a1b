/** The refresh token grant: one rotation by compare-and-set, and the same answer again where it was lost. RFC 6749 §6, 9449 §5, 9700 §4.14.2. */
import type { ClientRequest } from "../clients/authenticate-client";
import { reportIgnoredScopes } from "../events/ignored-scopes";
import type { TokenResponse } from "../protocol/access-token";
import {
  type Authorization,
  ownershipProblem,
  type RefreshToken,
  type RefreshTokenUse,
} from "../protocol/authorization";
import { because, OAuthError } from "../protocol/oauth-error";
import { quoted } from "../protocol/parameters";
import { readNamedScopes } from "../protocol/requested-scopes";
import { formatScope, intersect, isSubset } from "../protocol/scope";
import { clockDriftSeconds } from "../protocol/time";
import { digestToken, formatToken, parseTokenHandle } from "../protocol/token-value";
import { invalidScope, requireParameter } from "../requests/check-parameters";
import { authorizationStands } from "../tokens/authorization-stands";
import { decideToken } from "../tokens/decide-token";
import {
  issueAccessToken,
  type IssuedRefreshToken,
  type NewRefreshToken,
  newRefreshToken,
} from "../tokens/issue-tokens";
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

/** A refresh token that its own client has presented, used or not. */
interface Presented {
  readonly request: ClientRequest;
  /** The token's text. */
  readonly text: string;
  readonly token: RefreshToken;
  readonly authorization: Authorization;
}

/**
 * The presented token and its authorization, which stands. A token of another client changes nothing: a thief with half of the proof
 * must not be able to end a session.
 */
async function findPresented(ports: GrantPorts, request: ClientRequest): Promise<Presented> {
  const { storage } = ports;
  const { parameters, now } = request;
  const text = requireParameter(parameters, "refresh_token");
  const handle = parseTokenHandle(text);
  if (!handle) throw invalidGrant("refresh-token-not-of-this-server");
  const [token, authorization] = await Promise.all([
    storage.refreshTokens.find(handle, now),
    storage.authorizations.find(handle.authorizationId, now),
  ]);
  if (!token || !authorization || token.expiresAt <= now) throw invalidGrant("refresh-token-unknown");
  const problem = ownershipProblem(authorization, request);
  if (problem !== undefined) throw invalidGrant(problem, { authorization, ...request });
  // before anything that a replay would end: a thief without the key must not be able to end a session either
  if (token.boundKey !== undefined && token.boundKey !== request.key)
    throw invalidGrant("refresh-token-of-another-key");
  const { audience } = request.issuer.api;
  if (!(await authorizationStands(ports, { authorization, audience, registered: request, now })))
    throw invalidGrant("authorization-revoked");
  return { request, text, token, authorization };
}

/** True within the time in which this API repeats an answer. A time slightly ahead of this clock is taken as now. */
function mayRepeat({ usedAt }: RefreshTokenUse, { issuer, now }: ClientRequest): boolean {
  const { refreshRetrySeconds } = issuer.api.lifetimes;
  return refreshRetrySeconds > 0 && now - usedAt <= refreshRetrySeconds && usedAt <= now + clockDriftSeconds;
}

/**
 * The same successor again, if the used token is repeated in time, with the key of its successor, and that is still unused. Anything else
 * is a replay: the authorization is revoked.
 */
async function repeatSuccessor(
  ports: GrantPorts,
  { request, text, token }: Presented,
  use: RefreshTokenUse | undefined,
): Promise<IssuedRefreshToken> {
  const { authorizationId } = token;
  if (use && mayRepeat(use, request)) {
    const random = ports.successors.deriveAgain(text, use);
    if (random === undefined) throw notDerivable();
    const successor = formatToken(authorizationId, random);
    const handle = { authorizationId, digest: digestToken(successor) };
    const record = await ports.storage.refreshTokens.find(handle, request.now);
    const { used = true, boundKey = request.key } = record ?? {};
    if (record && !used && boundKey === request.key) return { token: successor, record };
  }
  throw await revokeAfterReplay(ports, { replayed: "refresh_token", authorizationId, request });
}

/** The refusal of a retry that another process could answer: nothing is revoked. */
function notDerivable(): OAuthError {
  return new OAuthError("temporarily_unavailable", {
    description: "Try again later.",
    ...because(exchangeReasons, "refresh-by-other-secrets"),
  });
}

/**
 * The scopes to issue: all granted ones or fewer, and never more than the client may have today. A client may go on naming what the person
 * has taken back since: it was originally granted. @rfc 6749 §6
 */
function scopesToIssue(
  { emit }: GrantPorts,
  { request, authorization }: { request: ClientRequest; authorization: Authorization },
): readonly string[] {
  const { grantedScopes, approvedScopes = grantedScopes, subject, authorizationId } = authorization;
  const scope = request.parameters.get("scope");
  // left out, it stands for all that was granted
  if (scope === undefined) return stillRegistered(grantedScopes, request);
  const named = readNamedScopes(scope, request);
  if (named === "no-scope-registered") throw invalidScope(named, { scope, by: request });
  const asked = typeof named === "string" ? [] : named.requestedScopes;
  const left = intersect(asked, grantedScopes);
  if (typeof named === "string" || !isSubset(asked, approvedScopes) || left.length === 0) {
    throw new OAuthError("invalid_scope", {
      description: "The scope is malformed or goes beyond what the end user granted.",
      ...because(exchangeReasons, "refresh-beyond-grant", quoted(formatScope(grantedScopes))),
    });
  }
  reportIgnoredScopes(emit, {
    request,
    ignoredScopes: named.ignoredScopes,
    about: { subject, authorizationId },
  });
  return stillRegistered(left, request);
}

/** Rotates the token. Of any number of simultaneous refreshes exactly one wins; the others repeat its answer, or are treated as replays. */
async function rotate(
  ports: GrantPorts,
  { presented, next }: { presented: Presented; next: NewRefreshToken },
): Promise<IssuedRefreshToken> {
  const { token: from, request } = presented;
  // the host has thought since the request came: the time in which the answer is repeated begins with the use
  const use = next.use && { ...next.use, usedAt: ports.clock() };
  const step = { from, to: next.record, ...(use && { use }) };
  const outcome = await ports.storage.refreshTokens.rotate(step, request.now);
  if (outcome === "rotated") return next;
  return repeatSuccessor(ports, presented, typeof outcome === "object" ? outcome : undefined);
}

/**
 * Makes the rotation of a used token again: the first call may have failed after its write, before a replica had it, and this one waits for
 * the replicas. The host has thought meanwhile, so the successor must still be unused.
 */
async function rotateAgain(
  ports: GrantPorts,
  { presented, repeated }: { presented: Presented; repeated: IssuedRefreshToken },
): Promise<IssuedRefreshToken> {
  const { token: from, request } = presented;
  const { use } = from;
  const step = { from, to: repeated.record, ...(use && { use }) };
  await ports.storage.refreshTokens.rotate(step, request.now);
  return repeatSuccessor(ports, presented, use);
}

/** The same token again, where the API does not rotate. Nobody waits for the note of its use. @rfc FAPI 2.0 Security Profile §5.3.2.1 */
function keep({ storage }: GrantPorts, { request, text, token }: Presented): IssuedRefreshToken | undefined {
  if (request.issuer.api.refreshRotation !== "keep") return undefined;
  storage.authorizations.noteUse(token.authorizationId, request.now).catch(() => undefined);
  return { token: text, record: token };
}

async function exchange(ports: GrantPorts, request: ClientRequest): Promise<TokenResponse> {
  const presented = await findPresented(ports, request);
  const { text, token, authorization } = presented;
  const repeated = token.used ? await repeatSuccessor(ports, presented, token.use) : undefined;
  const asked = scopesToIssue(ports, presented);
  const next = repeated ? undefined : newRefreshToken(ports, { authorization, request, predecessor: text });
  if (!repeated && !next) throw invalidGrant("refreshing-over");
  const proposal = { grantType: "refresh_token", request, authorization, scopes: asked } as const;
  // before anything is stored or spent
  const decided = await decideToken(ports, proposal);
  const idToken = await ports.issueIdToken?.({ request, authorization, decided, nonce: undefined });
  // stored before the refresh token is spent: if this fails, the client can try again. A lost race leaves behind an opaque
  // access token that was given to nobody
  const accessToken = await issueAccessToken(ports, { request, authorization, decided });
  checkAlive(ports, { request, decided });
  const kept = keep(ports, presented);
  const refreshToken =
    kept ??
    (next
      ? await rotate(ports, { presented, next })
      : repeated && (await rotateAgain(ports, { presented, repeated })));
  const { issuer, client } = request;
  ports.emit({
    kind: refreshToken === (kept ?? next) ? "token-refreshed" : "refresh-retried",
    issuer: issuer.identifier,
    clientId: client.clientId,
    subject: authorization.subject,
    authorizationId: authorization.authorizationId,
    scopes: decided.scopes,
  });
  return tokenAnswer(ports, { request, decided, accessToken, refreshToken, idToken });
}

/** The refresh token grant. @rfc 6749 §6 */
export const refreshTokenGrant: Grant = { presents: ["refresh_token"], exchange };
