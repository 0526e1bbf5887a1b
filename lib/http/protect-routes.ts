/** `requireBearer` and `challenge`: what the host asks of them is checked here, and done in `require-bearer`. RFC 6750 §3. */
import type { Request, RequestHandler, Response } from "express";
import type { EmitEvent } from "../events/port";
import type { EndUserAccessToken } from "../protocol/access-token";
import type { Api, Issuer } from "../protocol/issuer";
import { isSubset } from "../protocol/scope";
import { accessTokenVerifier, type TokenVerifyPorts } from "../tokens/verify-access-token";
import { bearerMiddleware, type BearerGuard, type BearerHandler, writeChallenge } from "./require-bearer";

/** Scopes of an API: a list, or one text with spaces. */
type ScopesOfRoute = string | readonly string[];

/** What a route asks of an access token. A key that is there and `undefined` is refused. */
export interface RequireBearerOptions {
  /** Id of the API that the route belongs to. */
  readonly api: string;
  /**
   * Scopes that the token must have, all of them. Default: none. A function says them by request: it is called before the token is
   * known, so `req.auth` is not there; it must not be async, and what it throws, or anything but scopes of the API, is a
   * `server_error`.
   */
  readonly scope?: ScopesOfRoute | ((req: Request) => ScopesOfRoute);
  /**
   * `"required"`: only tokens of an end user pass, so `req.auth.subject` is there. `"forbidden"`: only tokens that a client has got
   * for itself (client credentials). Default: both.
   */
  readonly subject?: "required" | "forbidden";
}

/** What a handler asks for that finds out by itself. */
export interface ChallengeOptions {
  /** Id of the API that the route belongs to. */
  readonly api: string;
  /** Scopes that the token must have, at least one. */
  readonly scope: ScopesOfRoute;
}

/** See `AuthServer.requireBearer`. */
export interface RequireBearer {
  (
    options: RequireBearerOptions & { readonly subject: "required" },
    handler: BearerHandler<EndUserAccessToken>,
  ): RequestHandler;
  (options: RequireBearerOptions, handler?: BearerHandler): RequestHandler;
}

/** What protects the host's routes. */
export interface RouteProtection {
  readonly requireBearer: RequireBearer;
  readonly challenge: (req: Request, res: Response, options: ChallengeOptions) => void;
}

/** The scopes that a value names, or `undefined` when they are not all scopes of the API. */
function readScopes(scope: unknown, api: Api): readonly string[] | undefined {
  const names: unknown = typeof scope === "string" ? scope.split(" ") : scope;
  const listed = Array.isArray(names) && names.every((name): name is string => typeof name === "string");
  return listed && isSubset(names, Object.keys(api.scopes)) ? [...names] : undefined;
}

function scopeProblem({ apiId, scopes }: Api): string {
  return `scope is not made of scopes of ${apiId}. Known: ${Object.keys(scopes).join(", ")}.`;
}

/** What narrows a route must not be overlooked: no key is unknown, and none is there and undefined. */
function keyProblem(options: object, known: readonly string[]): string | undefined {
  for (const [name, value] of Object.entries(options)) {
    if (!known.includes(name)) return `${name} is not an option. Known here: ${known.join(", ")}.`;
    if (value === undefined) return `${name} is undefined. Leave the key out, or write a value.`;
  }
  return undefined;
}

function subjectProblem({ subject }: RequireBearerOptions): string | undefined {
  if (subject === undefined || subject === "required" || subject === "forbidden") return undefined;
  return 'subject is neither "required" nor "forbidden". Leave it out where both kinds of token are welcome.';
}

/** The scopes that each request needs. */
function scopesOf(
  { scope = [] }: RequireBearerOptions,
  api: Api,
): ((req: Request) => readonly string[]) | undefined {
  if (typeof scope !== "function") {
    const scopes = readScopes(scope, api);
    return scopes && (() => scopes);
  }
  return (req) => {
    const answer: unknown = scope(req);
    const scopes = readScopes(answer, api);
    if (scopes) return scopes;
    // a promise that nobody waits for must not end the process
    Promise.resolve(answer).catch(() => undefined);
    throw new TypeError(
      `requireBearer: what the scope function gave is wrong (it must not be async): ${scopeProblem(api)}`,
    );
  };
}

interface ProtectedApi {
  readonly api: Api;
  readonly verify: BearerGuard["verify"];
}

/** Id → API. */
type ProtectedApis = ReadonlyMap<string, ProtectedApi>;

/** The options, once their keys and their API are known to be right. */
function findApi(
  options: { readonly api: string } | undefined,
  { apis, by, known }: { apis: ProtectedApis; by: string; known: readonly string[] },
): ProtectedApi {
  const problem = keyProblem(options ?? {}, known);
  if (problem !== undefined) throw new TypeError(`${by}: ${problem}`);
  const found = apis.get(options?.api ?? "");
  if (found) return found;
  throw new TypeError(`${by}: api is no id of apis. Write one of: ${[...apis.keys()].join(", ")}.`);
}

function readGuard(options: RequireBearerOptions, apis: ProtectedApis): Omit<BearerGuard, "emit"> {
  const by = "requireBearer";
  const found = findApi(options, { apis, by, known: ["api", "scope", "subject"] });
  const problem = subjectProblem(options);
  if (problem !== undefined) throw new TypeError(`${by}: ${problem}`);
  const scopesFor = scopesOf(options, found.api);
  if (!scopesFor) throw new TypeError(`${by}: ${scopeProblem(found.api)}`);
  return { ...found, scopesFor, subject: options.subject ?? "either" };
}

/** The handler that may stand behind the options; one that is there and `undefined`, a misspelt import say, is none. */
function readHandler(handlers: readonly unknown[]): BearerHandler | undefined {
  if (handlers.length === 0) return undefined;
  if (typeof handlers[0] === "function") return handlers[0] as BearerHandler;
  throw new TypeError(
    "requireBearer: the handler is no function. Leave it out, or write (req, res) => { … }.",
  );
}

/** The middleware and the challenge of every API. */
export function protectRoutes(
  ports: TokenVerifyPorts & { readonly emit: EmitEvent },
  { issuers, revocationLagSeconds }: { issuers: readonly Issuer[]; revocationLagSeconds: number },
): RouteProtection {
  const { emit } = ports;
  const apis: ProtectedApis = new Map(
    [...new Set(issuers.map(({ api }) => api))].map((api) => {
      const ofApi = issuers.filter((issuer) => issuer.api === api);
      const verify = accessTokenVerifier(ports, { api, issuers: ofApi, revocationLagSeconds });
      return [api.apiId, { api, verify }];
    }),
  );
  return {
    requireBearer: (options: RequireBearerOptions, ...handlers: readonly unknown[]) =>
      bearerMiddleware({ ...readGuard(options, apis), emit }, readHandler(handlers)),
    challenge(req, res, options) {
      const { api } = findApi(options, { apis, by: "challenge", known: ["api", "scope"] });
      const scopes = readScopes(options.scope, api);
      if (!scopes || scopes.length === 0) throw new TypeError(`challenge: ${scopeProblem(api)}`);
      writeChallenge({ req, res }, { api, scopes, emit });
    },
  };
}
