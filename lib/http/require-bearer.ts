/** The middleware that protects the host's API routes. RFC 6750 §2.1, §3; 9728 §5.1. */
import type { NextFunction, Request, Response } from "express";
import type { AccessTokenVerdict } from "../tokens/verify-access-token";
import type { EmitEvent, EventSubject } from "../events/port";
import type { AccessToken } from "../protocol/access-token";
import { formatChallenge, readBearerToken } from "../protocol/bearer-token";
import type { ProtectedApi } from "../protocol/issuer";
import { serverError } from "../protocol/oauth-error";
import { ownRecord } from "../protocol/own";
import { jsonError, type JsonResponse } from "../protocol/protocol-response";
import { formatScope, isSubset } from "../protocol/scope";
import type { AccessTokens } from "./access-tokens";
import { lacksScope, malformed, noToken, type Refusal, wrongSubject } from "./bearer-refusals";
import { hasSeveralAuthorizationHeaders, readQuery } from "./request";
import { isTraced, type OpenTrace, traceRequest } from "./request-trace";
import { exposing, writeResponse } from "./response";

/** What a guarded route checks, and with what. */
export interface BearerGuard {
  /** The API that the route belongs to. */
  readonly api: ProtectedApi;
  /** The scopes that a request needs, all of them. If it throws, that is the host's mistake: the answer is `server_error`. */
  readonly scopesFor: (req: Request) => readonly string[];
  /** Whether the token must have an end user, or must not have one. */
  readonly subject: "required" | "forbidden" | "either";
  /** Verifies a token for this API. It rejects when storage fails. */
  readonly verify: (token: string) => Promise<AccessTokenVerdict>;
  /** The tokens of requests that have passed. */
  readonly accessTokens: AccessTokens;
  readonly emit: EmitEvent;
}

/**
 * A handler behind `requireBearer`, where `req.auth` is always set. What it throws or rejects with goes to `next`. `Params` are the
 * parameters in the path of its route.
 */
export type BearerHandler<Token extends AccessToken = AccessToken, Params = Record<string, string>> = (
  req: Request<Params> & { auth: Token },
  res: Response,
  next: NextFunction,
) => unknown;

/** Middleware for any route. It is generic so that the handlers after it keep the types of `req.params` that the path gives them. */
export type BearerMiddleware = <Params, ResBody, ReqBody, Query>(
  req: Request<Params, ResBody, ReqBody, Query>,
  res: Response<ResBody>,
  next: NextFunction,
) => void;

/** True for a token in the body or query. These end up in logs and histories, so they are refused, even next to a header. */
function hasSecondToken(req: Request): boolean {
  const body: unknown = req.body;
  const inBody = typeof body === "object" && body !== null && Object.hasOwn(body, "access_token");
  const query = readQuery(req);
  return inBody || query.get("access_token") !== undefined || query.unusable.has("access_token");
}

/** The question of a browser whether a page may send a request. It never has a token. Fetch standard, CORS-preflight request. */
function isPreflight({ method, headers }: Request): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}

async function check(
  { subject, verify }: BearerGuard,
  { req, scopes }: { req: Request; scopes: readonly string[] },
): Promise<AccessToken | Refusal> {
  if (hasSeveralAuthorizationHeaders(req)) return malformed("several Authorization headers");
  const presented = readBearerToken(req.headers.authorization);
  if (presented.kind === "absent")
    return isPreflight(req)
      ? noToken(
          "no access token: a CORS preflight never has one, put your CORS middleware in front of requireBearer",
        )
      : noToken("no access token");
  if (presented.kind === "malformed") return malformed("the Authorization header is malformed");
  if (hasSecondToken(req)) return malformed("a second access token in the body or query");
  const verdict = await verify(presented.token);
  if (verdict.kind === "invalid") {
    const { reason } = verdict;
    return {
      status: 401,
      error: "invalid_token",
      description: "The access token is invalid, expired or revoked.",
      reason,
    };
  }
  const { accessToken } = verdict;
  // before the scope check: a token of the wrong kind stays wrong with any scope
  const kind = accessToken.subject === undefined ? "forbidden" : "required";
  if (subject !== "either" && subject !== kind) return wrongSubject(subject, accessToken);
  return isSubset(scopes, accessToken.scopes) ? accessToken : lacksScope(accessToken);
}

/** What the event says about the token that was refused. */
function eventSubject({ accessToken }: Refusal): EventSubject {
  if (!accessToken) return {};
  const { issuer, clientId, subject, authorizationId } = accessToken;
  return {
    issuer,
    clientId,
    ...(subject !== undefined && { subject }),
    ...(authorizationId !== undefined && { authorizationId }),
  };
}

/** The refusal as an answer. It names the needed scope, unless the request is malformed: no token would help. @rfc 6750 §3 */
function challenge(
  { api, scopes }: { api: ProtectedApi; scopes: readonly string[] },
  { status, error, description }: Refusal,
): JsonResponse {
  const value = formatChallenge("Bearer", {
    realm: api.audience,
    resource_metadata: api.metadataUrl,
    ...(error !== undefined && { error, error_description: description }),
    ...(status !== 400 && scopes.length > 0 && { scope: formatScope(scopes) }),
  });
  // JSON leaves out an error that is undefined
  const body = { error, error_description: description };
  return { kind: "json", status, body, headers: { "WWW-Authenticate": value } };
}

type Challenges = (scopes: readonly string[], refusal: Refusal) => JsonResponse;

/** Enough for every description with many lists of scopes; a scope function may produce any number of lists. */
const maxWritten = 100;

/** The answers to refused requests, each formatted once: there are few different ones, and an attacker may cause many. */
function challenges(api: ProtectedApi): Challenges {
  const written = new Map<string, JsonResponse>();
  return (scopes, refusal) => {
    const key = `${refusal.description} ${formatScope(scopes)}`;
    const response = written.get(key) ?? challenge({ api, scopes }, refusal);
    if (written.size < maxWritten) written.set(key, response);
    return response;
  };
}

interface Guarded extends BearerGuard {
  readonly challengeOf: Challenges;
}

interface GuardedRequest {
  readonly req: Request;
  readonly res: Response;
  readonly trace?: OpenTrace;
}

/** A page that the host lets read the answer may read the challenge, too: MCP clients in browsers find the server by it. */
function writeChallengeOf({ req, res, trace }: GuardedRequest, response: JsonResponse): void {
  writeResponse({ req, res, trace, headers: exposing(res, "WWW-Authenticate") }, response);
}

function refuse(
  guardedRequest: GuardedRequest,
  { guarded, scopes, refusal }: { guarded: Guarded; scopes: readonly string[]; refusal: Refusal },
): void {
  const { emit, api, challengeOf } = guarded;
  emit({ kind: "bearer-refused", ...eventSubject(refusal), apiId: api.apiId, reason: refusal.reason });
  writeChallengeOf(guardedRequest, challengeOf(scopes, refusal));
}

type AuthorizedRequest = Parameters<BearerHandler>[0];

/** True when the request may pass. Otherwise this function has answered it. */
async function passes(guarded: Guarded, guardedRequest: GuardedRequest): Promise<boolean> {
  const { req } = guardedRequest;
  try {
    const scopes = guarded.scopesFor(req);
    const result = await check(guarded, { req, scopes });
    if ("status" in result) {
      refuse(guardedRequest, { guarded, scopes, refusal: result });
      return false;
    }
    // a copy: the handler may change it, and what is remembered about the token must stay as it is
    const accessToken = ownRecord(result);
    guarded.accessTokens.set(req, { accessToken, audience: guarded.api.audience });
    (req as AuthorizedRequest).auth = accessToken;
    return true;
  } catch (cause) {
    guarded.emit({ kind: "server-error", cause });
    writeResponse(guardedRequest, jsonError(serverError(cause)));
    return false;
  }
}

/** The same, told to those who watch requests. What the host does with a request that passes is not part of it. */
function passesTraced(guarded: Guarded, guardedRequest: GuardedRequest): Promise<boolean> {
  if (!isTraced()) return passes(guarded, guardedRequest);
  const { req, res } = guardedRequest;
  const begin = { endpoint: "bearer", method: req.method, apiId: guarded.api.apiId } as const;
  return traceRequest(begin, (trace) => passes(guarded, { req, res, trace }));
}

/**
 * Lets a request pass when it has a valid access token for the API, of the right kind and with the needed scopes, and sets
 * `req.auth`. Any other request is answered with a challenge and emits `bearer-refused`; a failure is a `server_error`.
 */
export function bearerMiddleware(options: BearerGuard, handler?: BearerHandler): BearerMiddleware {
  const guarded = { ...options, challengeOf: challenges(options.api) };
  const handle = async (guardedRequest: GuardedRequest & { next: NextFunction }): Promise<void> => {
    if (!(await passesTraced(guarded, guardedRequest))) return;
    const { req, res, next } = guardedRequest;
    if (handler) await handler(req as AuthorizedRequest, res, next);
    else next();
  };
  return (req, res, next) => {
    // the route knows the types of its parameters, body and query; nothing here relies on them
    handle({ req: req as Request, res: res as Response, next }).catch(next);
  };
}

type ChallengeParts = Pick<BearerGuard, "api" | "accessTokens" | "emit"> & {
  readonly scopes: readonly string[];
};

/** Refuses a request because the handler needs more scope than the token has, or any token at all. @rfc 6750 §3.1 */
export function writeChallenge(
  guardedRequest: GuardedRequest,
  { api, scopes, accessTokens, emit }: ChallengeParts,
): void {
  const accessToken = accessTokens.get(guardedRequest.req)?.accessToken;
  const refusal = accessToken ? lacksScope(accessToken) : noToken("no access token");
  emit({ kind: "bearer-refused", ...eventSubject(refusal), apiId: api.apiId, reason: refusal.reason });
  writeChallengeOf(guardedRequest, challenge({ api, scopes }, refusal));
}
