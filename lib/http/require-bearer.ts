/** The middleware that protects the host's API routes. RFC 6750 §2.1, §3; 9728 §5.1. */
import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { AccessTokenVerdict } from "../tokens/verify-access-token";
import type { EmitEvent, EventSubject } from "../events/port";
import type { AccessToken } from "../protocol/access-token";
import { type ChallengeParameters, formatChallenge, readBearerToken } from "../protocol/bearer-token";
import type { Api } from "../protocol/issuer";
import { serverError } from "../protocol/oauth-error";
import { ownRecord } from "../protocol/own";
import { jsonError, type JsonResponse } from "../protocol/protocol-response";
import { formatScope, isSubset } from "../protocol/scope";
import { hasSeveralAuthorizationHeaders, readQuery } from "./request";
import { writeResponse } from "./response";

/** What guards a route. */
export interface BearerGuard {
  readonly api: Api;
  /** The scopes that a request needs, all of them. What it throws is the host's mistake. */
  readonly scopesFor: (req: Request) => readonly string[];
  /** Whether the token must have an end user, or must have none. */
  readonly subject: "required" | "forbidden" | "either";
  readonly verify: (token: string) => Promise<AccessTokenVerdict>;
  readonly emit: EmitEvent;
}

/** A handler behind a guard: `req.auth` is there. */
export type BearerHandler<Token extends AccessToken = AccessToken> = (
  req: Request & { auth: Token },
  res: Response,
  next: NextFunction,
) => unknown;

interface Refusal {
  readonly status: 400 | 401 | 403;
  readonly error?: NonNullable<ChallengeParameters["error"]>;
  readonly description: string;
  readonly reason: string;
  /** The token, when it is good and not good enough. */
  readonly accessToken?: AccessToken;
}

/** Tokens in a body or query end up in logs and histories: they are never taken, and beside a header they are an attack. */
function hasSecondToken(req: Request): boolean {
  const body: unknown = req.body;
  const inBody = typeof body === "object" && body !== null && Object.hasOwn(body, "access_token");
  const query = readQuery(req);
  return inBody || query.get("access_token") !== undefined || query.unusable.has("access_token");
}

function malformed(reason: string): Refusal {
  return {
    status: 400,
    error: "invalid_request",
    description: "The request's access token is malformed.",
    reason,
  };
}

const noToken: Refusal = {
  status: 401,
  description: "This request needs an access token.",
  reason: "no access token",
};

function lacksScope(accessToken: AccessToken): Refusal {
  return {
    status: 403,
    error: "insufficient_scope",
    description: "The access token lacks a scope.",
    reason: "the access token lacks a scope",
    accessToken,
  };
}

/** A good token of the wrong kind: another one is needed, and more scope would not help. */
function wrongSubject(needed: "required" | "forbidden", accessToken: AccessToken): Refusal {
  const [description, reason] =
    needed === "required"
      ? ["This request needs an access token of an end user.", "the access token is a client's own"]
      : ["This request needs an access token of the client itself.", "the access token is an end user's"];
  return { status: 401, error: "invalid_token", description, reason, accessToken };
}

async function check(
  { subject, verify }: BearerGuard,
  { req, scopes }: { req: Request; scopes: readonly string[] },
): Promise<AccessToken | Refusal> {
  if (hasSeveralAuthorizationHeaders(req)) return malformed("several Authorization headers");
  const presented = readBearerToken(req.headers.authorization);
  if (presented.kind === "absent") return noToken;
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
  const kind = accessToken.subject === undefined ? "forbidden" : "required";
  if (subject !== "either" && subject !== kind) return wrongSubject(subject, accessToken);
  return isSubset(scopes, accessToken.scopes) ? accessToken : lacksScope(accessToken);
}

/** What is known of the token that was refused. */
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

/** The scope that is needed is named wherever another token would help. @rfc 6750 §3 */
function challenge(
  { api, scopes }: { api: Api; scopes: readonly string[] },
  { status, error, description }: Refusal,
): JsonResponse {
  const value = formatChallenge("Bearer", {
    realm: api.audience,
    resource_metadata: api.metadataUrl,
    ...(error !== undefined && { error, error_description: description }),
    ...(status !== 400 && scopes.length > 0 && { scope: formatScope(scopes) }),
  });
  const body = { ...(error !== undefined && { error }), error_description: description };
  return { kind: "json", status, body, headers: { "WWW-Authenticate": value } };
}

type Challenges = (scopes: readonly string[], refusal: Refusal) => JsonResponse;

/** As many as descriptions, times what a function may say of scopes. */
const maxWritten = 100;

/** The answers to refused requests, each written once: there are few, and floods of refusals. */
function challenges(api: Api): Challenges {
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
}

function refuse(
  guardedRequest: GuardedRequest,
  { guarded, scopes, refusal }: { guarded: Guarded; scopes: readonly string[]; refusal: Refusal },
): void {
  const { emit, api, challengeOf } = guarded;
  emit({ kind: "bearer-refused", ...eventSubject(refusal), apiId: api.apiId, reason: refusal.reason });
  writeResponse(guardedRequest, challengeOf(scopes, refusal));
}

/** True when the request may pass; otherwise it is answered. */
async function passes(guarded: Guarded, guardedRequest: GuardedRequest): Promise<boolean> {
  const { req } = guardedRequest;
  try {
    const scopes = guarded.scopesFor(req);
    const result = await check(guarded, { req, scopes });
    if ("status" in result) {
      refuse(guardedRequest, { guarded, scopes, refusal: result });
      return false;
    }
    // the handler may change it: what is remembered of the token must not change with it
    req.auth = ownRecord(result);
    return true;
  } catch (cause) {
    guarded.emit({ kind: "server-error", cause });
    writeResponse(guardedRequest, jsonError(serverError(cause)));
    return false;
  }
}

/** Lets a request pass with a valid access token for the API that has the scopes; sets `req.auth`. */
export function bearerMiddleware(options: BearerGuard, handler?: BearerHandler): RequestHandler {
  const guarded = { ...options, challengeOf: challenges(options.api) };
  const handle = async (guardedRequest: GuardedRequest & { next: NextFunction }): Promise<void> => {
    if (!(await passes(guarded, guardedRequest))) return;
    const { req, res, next } = guardedRequest;
    if (handler) await handler(req as Request & { auth: AccessToken }, res, next);
    else next();
  };
  return (req, res, next) => {
    handle({ req, res, next }).catch(next);
  };
}

/** For a handler that finds out by itself that a request needs more scope. @rfc 6750 §3.1 */
export function writeChallenge(
  guardedRequest: GuardedRequest,
  { api, scopes, emit }: { api: Api; scopes: readonly string[]; emit: EmitEvent },
): void {
  const { auth } = guardedRequest.req;
  const refusal = auth ? lacksScope(auth) : noToken;
  emit({ kind: "bearer-refused", ...eventSubject(refusal), apiId: api.apiId, reason: refusal.reason });
  writeResponse(guardedRequest, challenge({ api, scopes }, refusal));
}
