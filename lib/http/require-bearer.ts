/** The middleware that protects the host's API routes. RFC 6750 §2.1, §3; 9728 §5.1. */
import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { AccessTokenVerdict } from "../endpoints/verify-access-token";
import type { EmitEvent, EventSubject } from "../events/port";
import type { AccessToken } from "../protocol/access-token";
import { type ChallengeParameters, formatChallenge, readBearerToken } from "../protocol/bearer-token";
import type { Api } from "../protocol/issuer";
import { serverError } from "../protocol/oauth-error";
import { ownRecord } from "../protocol/own";
import { jsonError, type JsonResponse } from "../protocol/protocol-response";
import { formatScope, isSubset } from "../protocol/scope";
import { hasSeveralAuthorizationHeaders, readQuery } from "./read-request";
import { writeResponse } from "./write-response";

export interface BearerGuard {
  readonly api: Api;
  /** All of them are required. */
  readonly scopes: readonly string[];
  readonly verify: (token: string) => Promise<AccessTokenVerdict>;
  readonly emit: EmitEvent;
}

interface Refusal {
  readonly status: 400 | 401 | 403;
  readonly error?: NonNullable<ChallengeParameters["error"]>;
  readonly description: string;
  readonly reason: string;
  /** The token, when it is good and only lacks a scope. */
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

async function check({ scopes, verify }: BearerGuard, req: Request): Promise<AccessToken | Refusal> {
  if (hasSeveralAuthorizationHeaders(req)) return malformed("several Authorization headers");
  const presented = readBearerToken(req.headers.authorization);
  if (presented.kind === "absent") {
    return { status: 401, description: "This request needs an access token.", reason: "no access token" };
  }
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
  if (isSubset(scopes, accessToken.scopes)) return accessToken;
  const reason = "the access token lacks a scope";
  const description = "The access token lacks a scope.";
  return { status: 403, error: "insufficient_scope", description, reason, accessToken };
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

/** @rfc 6750 §3 */
function challenge({ api, scopes }: BearerGuard, { status, error, description }: Refusal): JsonResponse {
  const value = formatChallenge("Bearer", {
    realm: api.audience,
    resource_metadata: api.metadataUrl,
    ...(error !== undefined && { error, error_description: description }),
    ...(error === "insufficient_scope" && { scope: formatScope(scopes) }),
  });
  const body = { ...(error !== undefined && { error }), error_description: description };
  return { kind: "json", status, body, headers: { "WWW-Authenticate": value } };
}

/** The answers to refused requests, each written once: there are as many as descriptions, and floods of refusals. */
function challenges(options: BearerGuard): (refusal: Refusal) => JsonResponse {
  const written = new Map<string, JsonResponse>();
  return (refusal) => {
    const response = written.get(refusal.description) ?? challenge(options, refusal);
    written.set(refusal.description, response);
    return response;
  };
}

interface Guarded extends BearerGuard {
  readonly challengeOf: (refusal: Refusal) => JsonResponse;
}

async function guard(
  options: Guarded,
  exchange: { req: Request; res: Response; next: NextFunction },
): Promise<void> {
  const { req, next } = exchange;
  const { emit, api } = options;
  try {
    const result = await check(options, req);
    if ("status" in result) {
      emit({ kind: "bearer-refused", ...eventSubject(result), apiId: api.apiId, reason: result.reason });
      return writeResponse(exchange, options.challengeOf(result));
    }
    // the handler may change it: what is remembered of the token must not change with it
    req.auth = ownRecord(result);
  } catch (cause) {
    emit({ kind: "server-error", cause });
    return writeResponse(exchange, jsonError(serverError(cause)));
  }
  next();
}

/** Lets a request pass with a valid access token for the API that has the scopes; sets `req.auth`. */
export function bearerMiddleware(options: BearerGuard): RequestHandler {
  const guarded = { ...options, challengeOf: challenges(options) };
  return (req, res, next) => {
    guard(guarded, { req, res, next }).catch(next);
  };
}
