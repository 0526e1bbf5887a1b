/** The middleware that protects the host's API routes. RFC 6750 §2.1, §3; 9449 §7; 9728 §5.1. */
import type { NextFunction, Request, Response } from "express";
import type { AccessTokenVerdict } from "../tokens/verify-access-token";
import type { EmitEvent, EventSubject, NewEvent } from "../events/port";
import type { AccessToken } from "../protocol/access-token";
import {
  type ChallengeParameters,
  formatChallenge,
  readBearerToken,
  schemeOf,
  type TokenScheme,
} from "../protocol/bearer-token";
import type { ProtectedApi } from "../protocol/issuer";
import { because, type RefusalCode, serverError } from "../protocol/oauth-error";
import { ownRecord } from "../protocol/host-json";
import { quoted } from "../protocol/parameters";
import { jsonError, type JsonResponse } from "../protocol/protocol-response";
import { formatScope, isSubset } from "../protocol/scope";
import type { AccessTokens } from "./access-tokens";
import type { NoteUse } from "./note-use";
import type { SignInRule } from "./step-up";
import { headerValues, type HttpRequest, readQuery } from "../http/request";
import { type OpenTrace, tracedRequests, traceRequest } from "../http/request-trace";
import { exposing, writeResponse } from "../http/response";

/** Refusals that are not about what the token says. */
export const bearerReasons = {
  "several-bearer-headers": "the request has several Authorization headers (RFC 6750 §2): send one",
  "bearer-header-malformed":
    "the Authorization header is not Bearer, one space and an access token (RFC 6750 §2.1): send Authorization: Bearer <token>",
  "second-access-token":
    "a second access token in the body or query (RFC 6750 §2): send only the one in the Authorization header",
  "no-access-token":
    "no access token: the request has no Authorization header with Bearer (RFC 6750 §2.1): send Authorization: Bearer <token>",
  "no-access-token-in-preflight":
    "no access token: a CORS preflight never has one. Put your CORS middleware in front of requireBearer",
  "access-token-bound":
    "the access token is bound to a key, and the API takes no such tokens (RFC 9449 §7): write dpop into the options of the API, of createResourceServer too",
  "access-token-lacks-scope": (lacking: string, held: string): string =>
    `the access token lacks ${quoted(lacking)} and has ${quoted(held)} (RFC 6750 §3.1): the client must ask for the scopes of this route, and its subscription must have them`,
  "access-token-without-end-user":
    'the access token is of a client itself (client_credentials), and the route has subject: "required": get a token by the authorization code grant',
  "access-token-with-end-user":
    'the access token is of an end user, and the route has subject: "forbidden": get a token by the client_credentials grant',
} as const;

type BearerProblem = Exclude<keyof typeof bearerReasons, "access-token-lacks-scope">;

/** Why a request does not pass: `description` goes to the client, `code` and `reason` to the event. */
export interface Refusal {
  readonly status: 400 | 401 | 403;
  /** Left out when no token was sent. @rfc 6750 §3 */
  readonly error?: NonNullable<ChallengeParameters["error"]>;
  readonly description: string;
  readonly code: RefusalCode;
  readonly reason: string;
  /** The token, when it is valid but not sufficient here. */
  readonly accessToken?: AccessToken;
}

/** No token can be read in the request. @rfc 6750 §3.1 */
export function malformed(code: BearerProblem): Refusal {
  return {
    status: 400,
    error: "invalid_request",
    description: "The request's access token is malformed.",
    ...because(bearerReasons, code),
  };
}

/** The request has no token. @rfc 6750 §3 */
export function noToken(code: BearerProblem): Refusal {
  return { status: 401, description: "This request needs an access token.", ...because(bearerReasons, code) };
}

/** For a valid token with too few scopes. @rfc 6750 §3.1 */
export function lacksScope(accessToken: AccessToken, needed: readonly string[]): Refusal {
  const { scopes } = accessToken;
  const lacking = needed.filter((name) => !scopes.includes(name));
  return {
    status: 403,
    error: "insufficient_scope",
    description: "The access token lacks a scope.",
    ...because(bearerReasons, "access-token-lacks-scope", formatScope(lacking), formatScope(scopes)),
    accessToken,
  };
}

/** For a valid token of the wrong kind. Not `insufficient_scope`: the client would ask for more scope, which does not help. */
export function wrongSubject(needed: "required" | "forbidden", accessToken: AccessToken): Refusal {
  const [description, code] =
    needed === "required"
      ? (["This request needs an access token of an end user.", "access-token-without-end-user"] as const)
      : (["This request needs an access token of the client itself.", "access-token-with-end-user"] as const);
  return { status: 401, error: "invalid_token", description, ...because(bearerReasons, code), accessToken };
}

/** For a valid token of a person who has to sign in again, or in another way. @rfc 9470 §3 */
function weakSignIn(signIn: SignInRule, accessToken: AccessToken): Refusal {
  return {
    status: 401,
    error: "insufficient_user_authentication",
    description: "The end user has to sign in again, or in a stronger way.",
    ...signIn.why(accessToken),
    accessToken,
  };
}

/** A valid token, and how it was sent. */
export interface SentToken {
  readonly req: HttpRequest;
  /** The URL of an endpoint of this server; `undefined` for a route of the host. */
  readonly url?: string | undefined;
  readonly scheme: TokenScheme;
  readonly token: string;
  readonly accessToken: AccessToken;
}

/** What an API with `dpop` does besides. @rfc 9449 §7.1 */
export interface DpopGuard {
  /** Why the token may not be used by whoever has sent it, or `undefined`. */
  readonly refusalOf: (sent: SentToken) => Refusal | undefined;
  /** The challenge: where the API is described, and what is said about the request, which was sent with this scheme. */
  readonly challenge: (
    parts: Readonly<Record<"place" | "said", ChallengeParameters>> & { readonly scheme: TokenScheme },
  ) => string;
}

/** What a guarded route checks, and with what. */
export interface BearerGuard {
  /** The API that the route belongs to. */
  readonly api: ProtectedApi;
  /** The scopes that a request needs, all of them. If it throws, that is the host's mistake: the answer is `server_error`. */
  readonly scopesFor: (req: Request) => readonly string[];
  /** Whether the token must have an end user, or must not have one. */
  readonly subject: "required" | "forbidden" | "either";
  /** How and when the end user must have signed in. */
  readonly signIn?: SignInRule | undefined;
  /** Verifies a token for this API. It rejects when storage fails. */
  readonly verify: (token: string) => Promise<AccessTokenVerdict>;
  /** Left out where the API has no `dpop`: then no token that is bound to a key is accepted. */
  readonly dpop?: DpopGuard | undefined;
  /** The tokens of requests that have passed. */
  readonly accessTokens: AccessTokens;
  /** Is told of each request that has passed. Left out where nobody wants to know. */
  readonly noteUse?: NoteUse | undefined;
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
function hasSecondToken(req: HttpRequest): boolean {
  const body: unknown = req.body;
  const inBody = typeof body === "object" && body !== null && Object.hasOwn(body, "access_token");
  const query = readQuery(req);
  return inBody || query.get("access_token") !== undefined || query.unusable.has("access_token");
}

/** The question of a browser whether a page may send a request. It never has a token. Fetch standard, CORS-preflight request. */
function isPreflight({ method, headers }: HttpRequest): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}

/** For a token that is not valid. */
export function invalidToken({
  code,
  reason,
}: {
  readonly code: RefusalCode;
  readonly reason: string;
}): Refusal {
  const description = "The access token is invalid, expired or revoked.";
  return { status: 401, error: "invalid_token", description, code, reason };
}

/** A request, and what it needs. */
interface BearerRequest extends Pick<SentToken, "req" | "url"> {
  readonly scopes: readonly string[];
}

/** The token of a request, if it is valid, used by whom it was issued to, of the right kind and with these scopes. */
export async function checkBearer(
  { subject, signIn, verify, dpop }: Pick<BearerGuard, "subject" | "signIn" | "verify" | "dpop">,
  { req, url, scopes }: BearerRequest,
): Promise<AccessToken | Refusal> {
  if (headerValues(req, "authorization").length > 1) return malformed("several-bearer-headers");
  const scheme = dpop ? schemeOf(req.headers.authorization) : "Bearer";
  const presented = readBearerToken(req.headers.authorization, scheme);
  if (presented.kind === "absent")
    return noToken(isPreflight(req) ? "no-access-token-in-preflight" : "no-access-token");
  if (presented.kind === "malformed") return malformed("bearer-header-malformed");
  if (hasSecondToken(req)) return malformed("second-access-token");
  const { token } = presented;
  const verdict = await verify(token);
  if (verdict.kind === "invalid") return invalidToken(verdict);
  const { accessToken } = verdict;
  if (!dpop && accessToken.boundKey !== undefined)
    return invalidToken(because(bearerReasons, "access-token-bound"));
  const refusal = dpop?.refusalOf({ req, url, scheme, token, accessToken });
  if (refusal) return refusal;
  // before the scope check: a token of the wrong kind stays wrong with any scope
  const kind = accessToken.subject === undefined ? "forbidden" : "required";
  if (subject !== "either" && subject !== kind) return wrongSubject(subject, accessToken);
  // before it too: the person has to come back anyway, and can then allow more scopes
  if (signIn && !signIn.isMet(accessToken)) return weakSignIn(signIn, accessToken);
  return isSubset(scopes, accessToken.scopes) ? accessToken : lacksScope(accessToken, scopes);
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

/** Tells the host of a refusal. */
export function refusedEvent({ apiId }: ProtectedApi, refusal: Refusal): NewEvent {
  const { code, reason } = refusal;
  return { kind: "bearer-refused", ...eventSubject(refusal), apiId, code, reason };
}

/** What a request needs. */
export interface Needed extends Pick<BearerGuard, "api" | "dpop"> {
  readonly scopes: readonly string[];
  readonly signIn?: SignInRule | undefined;
}

/** A refusal, and the scheme of the request. */
interface Refused {
  readonly scheme: TokenScheme;
  readonly refusal: Refusal;
}

/**
 * The refusal as an answer to a request. It names the needed scope, unless the request is malformed: no token would help.
 *
 * @rfc 6750 §3, 9449 §7.1, 9470 §3
 */
export function challenge(
  { api, scopes, signIn, dpop }: Needed,
  { scheme, refusal: { status, error, description } }: Refused,
): JsonResponse {
  const place = { realm: api.audience, resource_metadata: api.metadataUrl };
  const said = {
    ...(error !== undefined && { error, error_description: description }),
    ...(status !== 400 && scopes.length > 0 && { scope: formatScope(scopes) }),
    ...(error === "insufficient_user_authentication" && signIn?.parameters),
  };
  const value = dpop?.challenge({ place, said, scheme }) ?? formatChallenge("Bearer", { ...place, ...said });
  // JSON leaves out an error that is undefined
  const body = { error, error_description: description };
  return { kind: "json", status, body, headers: { "WWW-Authenticate": value } };
}

type Challenges = (scopes: readonly string[], refused: Refused) => JsonResponse;

/** Enough for every description with many lists of scopes; a scope function may produce any number of lists. */
const maxWritten = 100;

/** The answers to refused requests, each formatted once: there are few different ones, and an attacker may cause many. */
function challenges(guard: Pick<BearerGuard, "api" | "signIn" | "dpop">): Challenges {
  const written = new Map<string, JsonResponse>();
  return (scopes, refused) => {
    const key = `${refused.scheme} ${refused.refusal.description} ${formatScope(scopes)}`;
    const response = written.get(key) ?? challenge({ ...guard, scopes }, refused);
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
  emit(refusedEvent(api, refusal));
  const scheme = schemeOf(guardedRequest.req.headers.authorization);
  writeChallengeOf(guardedRequest, challengeOf(scopes, { scheme, refusal }));
}

type AuthorizedRequest = Parameters<BearerHandler>[0];

/** True when the request may pass. Otherwise this function has answered it. */
async function passes(guarded: Guarded, guardedRequest: GuardedRequest): Promise<boolean> {
  const { req } = guardedRequest;
  try {
    const scopes = guarded.scopesFor(req);
    const result = await checkBearer(guarded, { req, scopes });
    if ("status" in result) {
      refuse(guardedRequest, { guarded, scopes, refusal: result });
      return false;
    }
    // a copy: the handler may change it, and what is remembered about the token must stay as it is
    const accessToken = ownRecord(result);
    guarded.accessTokens.set(req, { accessToken, audience: guarded.api.audience });
    (req as AuthorizedRequest).auth = accessToken;
    guarded.noteUse?.(result);
    return true;
  } catch (cause) {
    guarded.emit({ kind: "server-error", cause });
    writeResponse(guardedRequest, jsonError(serverError(cause)));
    return false;
  }
}

/** The same, told to those who watch requests. What the host does with a request that passes is not part of it. */
function passesTraced(guarded: Guarded, guardedRequest: GuardedRequest): Promise<boolean> {
  if (!tracedRequests.hasSubscribers) return passes(guarded, guardedRequest);
  const { req, res } = guardedRequest;
  const begin = { endpoint: "bearer", method: req.method, apiId: guarded.api.apiId } as const;
  return traceRequest(begin, (trace) => passes(guarded, { req, res, trace }));
}

/**
 * Lets a request pass when it has a valid access token for the API, of the right kind and with the needed scopes, and sets
 * `req.auth`. Any other request is answered with a challenge and emits `bearer-refused`; a failure is a `server_error`.
 */
export function bearerMiddleware(options: BearerGuard, handler?: BearerHandler): BearerMiddleware {
  const guarded = { ...options, challengeOf: challenges(options) };
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

type ChallengeParts = Pick<BearerGuard, "accessTokens" | "emit"> & Needed;

/** Why a handler refuses a token that has passed. */
function handlersRefusal(accessToken: AccessToken, { scopes, signIn }: Needed): Refusal {
  if (!signIn) return lacksScope(accessToken, scopes);
  if (accessToken.subject === undefined) return wrongSubject("required", accessToken);
  // where nothing else is named, the handler may know more of the sign-in than the rule says
  const isEnough = scopes.length > 0 && signIn.isMet(accessToken);
  return isEnough ? lacksScope(accessToken, scopes) : weakSignIn(signIn, accessToken);
}

/** Refuses a request because the handler needs more scope or another sign-in than the token has, or any token at all. @rfc 6750 §3.1, 9470 §3 */
export function writeChallenge(
  guardedRequest: GuardedRequest,
  { accessTokens, emit, ...needed }: ChallengeParts,
): void {
  const accessToken = accessTokens.get(guardedRequest.req)?.accessToken;
  const refusal = accessToken ? handlersRefusal(accessToken, needed) : noToken("no-access-token");
  emit(refusedEvent(needed.api, refusal));
  const scheme = schemeOf(guardedRequest.req.headers.authorization);
  writeChallengeOf(guardedRequest, challenge(needed, { scheme, refusal }));
}
