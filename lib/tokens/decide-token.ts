/** Asks the host about a token, and holds it to its answer. RFC 6749 §5.2, §6; 8693 §2.2.2; 9068 §2.2; 9110 §10.2.3. */
import type { ClientRequest } from "../clients/authenticate-client";
import type { EmitEvent } from "../events/port";
import { type AnswerKeys, askHost, invalidAnswer as invalidAnswerOf } from "../host/ask";
import { type Authorization, isLive } from "../protocol/authorization";
import { type Client, exchangeGrant, type GrantType } from "../protocol/client";
import { type HostClaims, hostClaimsProblem } from "../protocol/host-claims";
import { parseHostObject } from "../protocol/host-json";
import { because, isErrorDescription, OAuthError, type OAuthErrorCode } from "../protocol/oauth-error";
import { intersect, isSubset } from "../protocol/scope";
import type { Storage } from "../storage/port";
import type { DecidedAuthorization, TokenAdapter, TokenDecision, TokenDecisionRequest } from "./port";

/** What a decision needs. */
export interface TokenDecisionPorts {
  readonly storage: Pick<Storage, "authorizations">;
  readonly emit: EmitEvent;
  /** The host's adapter; `undefined` to issue every token as it was asked for. */
  readonly tokens: TokenAdapter | undefined;
}

/** The token that may be issued. */
export interface TokenProposal {
  readonly grantType: GrantType;
  readonly request: ClientRequest;
  /** `undefined` when the client acts on its own behalf. */
  readonly authorization: Authorization | undefined;
  readonly scopes: readonly string[];
  /** `true` for an authorization that is not stored yet: nothing of it can be looked at again, or revoked. */
  readonly isNew?: true;
}

/** What the access token is, after the host's decision. */
export interface DecidedToken {
  readonly scopes: readonly string[];
  readonly accessTokenSeconds: number;
  readonly claims: HostClaims | undefined;
}

type Issue = Extract<TokenDecision, { kind: "issue" }>;
type Refuse = Extract<TokenDecision, { kind: "refuse" }>;
type Later = Extract<TokenDecision, { kind: "later" }>;

/** A signal that is made only when the host looks at it: most hosts answer at once, and it costs as much as their answer. */
export interface LateSignal {
  readonly signal: () => AbortSignal;
  readonly abort: () => void;
}

/** A new one. */
export function lateSignal(): LateSignal {
  let controller: AbortController | undefined;
  let isLate = false;
  return {
    signal() {
      controller ??= new AbortController();
      if (isLate) controller.abort();
      return controller.signal;
    },
    abort() {
      isLate = true;
      controller?.abort();
    },
  };
}

/** What the host is told of the client. */
export function askedClient(client: Client): TokenDecisionRequest["client"] {
  const { clientId, name, confidential, selfDescription } = client;
  const selfDescribed = selfDescription && { by: selfDescription.by };
  return { clientId, name, confidential, ...(selfDescribed && { selfDescribed }) };
}

function questionOf(
  { grantType, request, authorization, scopes }: TokenProposal,
  late: LateSignal,
): TokenDecisionRequest {
  const { issuer, client } = request;
  return {
    grantType,
    issuer: issuer.identifier,
    authMethodId: issuer.authMethodId,
    apiId: issuer.api.apiId,
    client: askedClient(client),
    scopes: [...scopes],
    get signal() {
      return late.signal();
    },
    ...(authorization && { subject: authorization.subject, authorization: approvalOf(authorization) }),
  };
}

function approvalOf(authorization: Authorization): DecidedAuthorization {
  const { authorizationId, createdAt, grantedScopes, context, authTime, amr, acr } = authorization;
  return {
    authorizationId,
    createdAt,
    grantedScopes: [...grantedScopes],
    ...(context && { context: structuredClone(context) }),
    ...(authTime !== undefined && { authTime }),
    ...(amr !== undefined && { amr: [...amr] }),
    ...(acr !== undefined && { acr }),
  };
}

/** Refusals that come of what the host decided, or of its thinking. */
export const decisionReasons = {
  "token-decision-refused": "tokens.decide refused the token",
  "token-decision-later": "tokens.decide asked the client to try again later (retryAfterSeconds)",
  "token-decision-without-scope":
    "tokens.decide left no scope (RFC 6749 §5.2): leave at least one, or refuse the token",
  "revoked-during-decision":
    "the authorization was revoked, or the client disabled, while tokens.decide or openid.claims ran: start a new request",
} as const;

function isSeconds(value: unknown, most: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most;
}

function invalidAnswer(problem: string): TypeError {
  return invalidAnswerOf("tokens.decide", problem);
}

const decisionKeys: AnswerKeys<TokenDecision> = {
  issue: { scopes: true, accessTokenSeconds: true, claims: true },
  refuse: { description: true, revoke: true },
  later: { retryAfterSeconds: true },
};

function narrowed(scopes: readonly string[], proposal: TokenProposal): readonly string[] {
  if (!Array.isArray(scopes) || !isSubset(scopes, proposal.scopes))
    throw invalidAnswer("scopes may only narrow the scopes of the request");
  const kept = intersect(proposal.scopes, scopes);
  if (kept.length > 0 || proposal.scopes.length === 0) return kept;
  throw new OAuthError("invalid_scope", {
    description: "The server grants none of these scopes.",
    ...because(decisionReasons, "token-decision-without-scope"),
  });
}

function checkedClaims(claims: unknown): HostClaims | undefined {
  const copy = parseHostObject(claims) as HostClaims | undefined;
  if (!copy)
    throw invalidAnswer(
      "claims must be a plain object of JSON values, at every depth: no undefined, NaN, function, promise, Map, Set or class",
    );
  const problem = hostClaimsProblem(copy);
  if (problem !== undefined) throw invalidAnswer(problem);
  return Object.keys(copy).length === 0 ? undefined : copy;
}

/** The token as the host wants it. */
function decidedToken({ scopes, accessTokenSeconds, claims }: Issue, proposal: TokenProposal): DecidedToken {
  const most = proposal.request.issuer.api.accessTokenSeconds;
  if (accessTokenSeconds !== undefined && !isSeconds(accessTokenSeconds, most))
    throw invalidAnswer("accessTokenSeconds must be whole seconds, and not longer than the API's");
  return {
    scopes: scopes === undefined ? proposal.scopes : narrowed(scopes, proposal),
    accessTokenSeconds: accessTokenSeconds ?? most,
    claims: claims === undefined ? undefined : checkedClaims(claims),
  };
}

/** What a client hears where the grant is not good, or not by the will of the host. @rfc 6749 §5.2, 8693 §2.2.2 */
const refusalErrors: Readonly<Partial<Record<GrantType, OAuthErrorCode>>> = {
  client_credentials: "unauthorized_client",
  [exchangeGrant]: "invalid_request",
};

/**
 * Looks again at the authorization: while the host was thinking, the end user may have withdrawn, or the client may have revoked its
 * tokens. Tokens would then open nothing, and the client has to hear that now.
 */
export async function checkNotEnded(
  { storage }: Pick<TokenDecisionPorts, "storage">,
  {
    grantType,
    authorization,
    request: { now },
    isNew,
  }: Pick<TokenProposal, "grantType" | "authorization" | "request" | "isNew">,
): Promise<void> {
  if (
    !authorization ||
    isNew ||
    isLive(await storage.authorizations.find(authorization.authorizationId, now), now)
  )
    return;
  throw endedMeanwhile(refusalErrors[grantType]);
}

/** The refusal where the authorization has ended while the host was thinking. */
export function endedMeanwhile(error: OAuthErrorCode = "invalid_grant"): OAuthError {
  return new OAuthError(error, {
    description: "The authorization has ended.",
    ...because(decisionReasons, "revoked-during-decision"),
  });
}

/** The refusal of the host. With `revoke` the authorization ends first, so that the refusal is never told without it. */
async function refusalOf(
  { storage, emit }: TokenDecisionPorts,
  { proposal, answer }: { proposal: TokenProposal; answer: Refuse },
): Promise<OAuthError> {
  const { grantType, request, authorization, isNew } = proposal;
  const { description = "The server does not issue this token.", revoke = false } = answer;
  if (!isErrorDescription(description)) throw invalidAnswer('description must be ASCII without " and \\');
  if (typeof revoke !== "boolean") throw invalidAnswer("revoke must be true or false");
  if (revoke && authorization && !isNew) {
    const { authorizationId, issuer, clientId, subject } = authorization;
    await storage.authorizations.revoke(authorizationId, request.now);
    emit({ kind: "authorization-ended", issuer, clientId, subject, authorizationId });
  }
  const error = refusalErrors[grantType] ?? "invalid_grant";
  return new OAuthError(error, { description, ...because(decisionReasons, "token-decision-refused") });
}

function laterBy({ retryAfterSeconds }: Later): OAuthError {
  if (!isSeconds(retryAfterSeconds, 86_400))
    throw invalidAnswer("retryAfterSeconds must be whole seconds from 1 to 86,400");
  return new OAuthError("temporarily_unavailable", {
    description: "Try again later.",
    ...because(decisionReasons, "token-decision-later"),
    retryAfterSeconds,
  });
}

/**
 * What the host decides about a token that passed every other check. To be called before anything is stored or spent: a refusal, a
 * failure or a late answer then costs nothing, and an answer that arrives too late has no effect.
 *
 * @throws OAuthError when the host refuses or asks the client to come later, or when the authorization has ended meanwhile
 * @throws TypeError when its answer is invalid, and whatever it throws
 */
export async function decideToken(ports: TokenDecisionPorts, proposal: TokenProposal): Promise<DecidedToken> {
  const { tokens } = ports;
  const { scopes, request } = proposal;
  const { accessTokenSeconds } = request.issuer.api;
  if (!tokens) return { scopes, accessTokenSeconds, claims: undefined };
  const late = lateSignal();
  let returned: TokenDecision | Promise<TokenDecision> | undefined;
  const ask = (): unknown => (returned = tokens.decide(questionOf(proposal, late)));
  const question = { ask, keys: decisionKeys, onLate: late.abort };
  const answer = await askHost<TokenDecision>("tokens.decide", question);
  switch (answer.kind) {
    case "issue": {
      const decided = decidedToken(answer, proposal);
      // without a promise no time has passed, and the trip to storage is saved
      if (returned && "then" in returned) await checkNotEnded(ports, proposal);
      return decided;
    }
    case "refuse":
      throw await refusalOf(ports, { proposal, answer });
    case "later":
      throw laterBy(answer);
  }
}
