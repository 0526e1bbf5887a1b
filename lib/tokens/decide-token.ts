/** Asks the host about a token, and holds it to its answer. RFC 6749 §5.2, §6; 9068 §2.2; 9110 §10.2.3. */
import type { ClientRequest } from "../clients/authenticate-client";
import type { EmitEvent } from "../events/port";
import type { Authorization } from "../protocol/authorization";
import type { GrantType } from "../protocol/client";
import { type HostClaims, hostClaimsProblem, ownHostClaims } from "../protocol/host-claims";
import { isErrorDescription, OAuthError } from "../protocol/oauth-error";
import { intersect, isSubset } from "../protocol/scope";
import { inTime } from "../storage/calls";
import type { Storage } from "../storage/port";
import type { TokenAdapter, TokenDecision, TokenDecisionRequest } from "./port";

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
}

/** What the access token is, after the host's decision. */
export interface DecidedToken {
  readonly scopes: readonly string[];
  readonly accessTokenSeconds: number;
  readonly claims: HostClaims | undefined;
}

type Issue = Extract<TokenDecision, { kind: "issue" }>;
type Refuse = Extract<TokenDecision, { kind: "refuse" }>;

function questionOf(
  { grantType, request, authorization, scopes }: TokenProposal,
  controller: AbortController,
): TokenDecisionRequest {
  const { issuer, client } = request;
  const { clientId, name, confidential } = client;
  const { authorizationId, createdAt, subject, authTime, amr, acr, grantedScopes = [] } = authorization ?? {};
  return {
    grantType,
    issuer: issuer.identifier,
    authMethodId: issuer.authMethodId,
    apiId: issuer.api.apiId,
    client: { clientId, name, confidential },
    scopes: [...scopes],
    signal: controller.signal,
    ...(subject !== undefined && { subject }),
    ...(authorizationId !== undefined &&
      createdAt !== undefined && {
        authorization: {
          authorizationId,
          createdAt,
          grantedScopes: [...grantedScopes],
          ...(authTime !== undefined && { authTime }),
          ...(amr !== undefined && { amr: [...amr] }),
          ...(acr !== undefined && { acr }),
        },
      }),
  };
}

function isSeconds(value: unknown, most: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most;
}

/** The first name that is there and `undefined`: a misspelt constant must not count as "nothing changes". */
function undefinedName(answer: object): string | undefined {
  return Object.entries(answer).find(([, value]) => value === undefined)?.[0];
}

function issueProblem(
  { scopes, accessTokenSeconds, claims }: Issue,
  proposal: TokenProposal,
): string | undefined {
  const most = proposal.request.issuer.api.accessTokenSeconds;
  if (scopes !== undefined && !(Array.isArray(scopes) && isSubset(scopes, proposal.scopes)))
    return "scopes may only narrow the scopes of the request";
  if (accessTokenSeconds !== undefined && !isSeconds(accessTokenSeconds, most))
    return "accessTokenSeconds must be whole seconds, and not longer than the API's";
  return claims === undefined ? undefined : hostClaimsProblem(claims);
}

function refusalProblem({ description, revoke }: Refuse): string | undefined {
  if (description !== undefined && !isErrorDescription(description))
    return 'description must be ASCII without " and \\';
  return revoke === undefined || typeof revoke === "boolean" ? undefined : "revoke must be true or false";
}

function decisionProblem(answer: TokenDecision | undefined, proposal: TokenProposal): string | undefined {
  const missing = undefinedName(answer ?? {});
  if (missing !== undefined) return `${missing} is undefined: leave it out`;
  switch (answer?.kind) {
    case "issue":
      return issueProblem(answer, proposal);
    case "refuse":
      return refusalProblem(answer);
    case "later":
      return isSeconds(answer.retryAfterSeconds, 86_400)
        ? undefined
        : "retryAfterSeconds must be whole seconds from 1 to 86,400";
    default:
      return "kind must be issue, refuse or later";
  }
}

/** The refusal of the host. With `revoke` the authorization ends first, so that the refusal is never told without it. */
async function refusalOf(
  { storage, emit }: TokenDecisionPorts,
  { proposal, answer }: { proposal: TokenProposal; answer: Refuse },
): Promise<OAuthError> {
  const { grantType, request, authorization } = proposal;
  const { description = "The server does not issue this token." } = answer;
  if (answer.revoke === true && authorization) {
    const { authorizationId, subject } = authorization;
    await storage.authorizations.revoke(authorizationId, request.now);
    const issuer = request.issuer.identifier;
    emit({
      kind: "authorization-ended",
      issuer,
      clientId: request.client.clientId,
      subject,
      authorizationId,
    });
  }
  const code = grantType === "client_credentials" ? "unauthorized_client" : "invalid_grant";
  return new OAuthError(code, { description, reason: "tokens.decide refused the token" });
}

function narrowed({ scopes = [] }: Issue, proposal: TokenProposal): readonly string[] {
  const kept = intersect(proposal.scopes, scopes);
  if (kept.length > 0 || proposal.scopes.length === 0) return kept;
  throw new OAuthError("invalid_scope", {
    description: "The server grants none of these scopes.",
    reason: "tokens.decide left no scope (RFC 6749 §5.2): refuse the token instead, or leave one",
  });
}

/**
 * What the host decides about a token that passed every other check. To be called before anything is stored or spent: a refusal, a
 * failure or a late answer then costs nothing, and an answer that arrives too late has no effect.
 *
 * @throws OAuthError when the host refuses or asks the client to come later
 * @throws TypeError when its answer is invalid, and whatever it throws
 */
export async function decideToken(ports: TokenDecisionPorts, proposal: TokenProposal): Promise<DecidedToken> {
  const { tokens } = ports;
  const { scopes, request } = proposal;
  const { accessTokenSeconds } = request.issuer.api;
  if (!tokens) return { scopes, accessTokenSeconds, claims: undefined };
  const controller = new AbortController();
  const ask = (): unknown => tokens.decide(questionOf(proposal, controller));
  const answer = (await inTime("tokens.decide", ask, () => controller.abort())) as TokenDecision;
  const problem = decisionProblem(answer, proposal);
  if (problem !== undefined) throw new TypeError(`tokens.decide returned an invalid answer: ${problem}.`);
  switch (answer.kind) {
    case "issue":
      return {
        scopes: answer.scopes ? narrowed(answer, proposal) : scopes,
        accessTokenSeconds: answer.accessTokenSeconds ?? accessTokenSeconds,
        claims: ownHostClaims(answer.claims),
      };
    case "refuse":
      throw await refusalOf(ports, { proposal, answer });
    case "later":
      throw new OAuthError("temporarily_unavailable", {
        description: "Try again later.",
        reason: "tokens.decide asked the client to come later",
        retryAfterSeconds: answer.retryAfterSeconds,
      });
  }
}
