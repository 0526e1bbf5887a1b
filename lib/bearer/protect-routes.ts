/** Checks what the host passes to `requireBearer`, `mcpScopes` and `challenge`; the files beside it do the work. RFC 6750 §3. */
import type { Request, RequestHandler, Response } from "express";
import type { EmitEvent } from "../events/port";
import type { AccessToken, EndUserAccessToken } from "../protocol/access-token";
import type { ProtectedApi } from "../protocol/issuer";
import { checkKeys, keyProblem } from "../host/plain";
import { hostMistake, mistakesOf } from "../protocol/mistake";
import { isSubset } from "../protocol/scope";
import { accessTokenReader, newAccessTokens, type ReadAccessToken } from "./access-tokens";
import { mcpAuthReader, type ReadMcpAuth } from "./mcp-auth";
import { noScopes, scopesByTools } from "./mcp-scopes";
import type { NoteUse } from "./note-use";
import type { Clock } from "../protocol/time";
import { readSignIn, type SignInOptions } from "./step-up";
import {
  type BearerGuard,
  type BearerHandler,
  bearerMiddleware,
  type BearerMiddleware,
  writeChallenge,
} from "./require-bearer";

const mistake = mistakesOf({
  "unknown-api-of-route": (by: string, known: string) =>
    `${by}: api is not an id in apis. Write one of: ${known}.`,
  "unknown-scope-of-route": (by: string, path: string, rule: string) => `${by}: ${path} ${rule}`,
  "no-scopes-from-function": (rule: string) =>
    `requireBearer: the scope function returned no scopes, or a wrong value (it must not be async): scope ${rule}`,
  "sign-in-of-machine-route":
    'requireBearer: acr and maxAge are about people, and subject: "forbidden" lets none pass. Leave out one of them.',
  "unknown-subject-of-route":
    'requireBearer: subject is neither "required" nor "forbidden". Leave it out to accept both kinds of token.',
  "handler-not-a-function":
    "requireBearer: the handler is not a function. Leave it out, or write (req, res) => { … }.",
});

/** Scopes of an API: a list, or one string separated by spaces. */
type ScopesOfRoute = string | readonly string[];

/**
 * What a route requires of an access token. A key that is present but `undefined` is refused: a misspelt constant must not remove
 * the check from a route.
 */
export interface RequireBearerOptions extends SignInOptions {
  /** Id of the API that the route belongs to. */
  readonly api: string;
  /**
   * The scopes that the token must have, all of them. Default: none. A function chooses them for each request. It is called
   * before the token is verified, so `req.auth` is not set, and it must not be async. If it throws, or returns an empty list or
   * anything but scopes of the API, the answer is `server_error`.
   */
  readonly scope?: ScopesOfRoute | ((req: Request) => ScopesOfRoute);
  /**
   * `"required"`: only tokens of an end user pass, so `req.auth.subject` is set. `"forbidden"`: only tokens that a client got for
   * itself pass (client credentials). Default: both.
   */
  readonly subject?: "required" | "forbidden";
}

/** What a handler found to be missing: scopes, another sign-in, or both. */
export interface ChallengeOptions extends SignInOptions {
  /** Id of the API that the route belongs to. */
  readonly api: string;
  /** The scopes that the token must have. */
  readonly scope?: ScopesOfRoute;
}

/** Which scopes the tools of an MCP server need. */
export interface McpScopesOptions {
  /** Id of the API that the MCP server belongs to. */
  readonly api: string;
  /**
   * Name of the tool → the scopes that a call of it needs besides the `defaultScopes` of the API. A tool that is not listed needs every
   * scope of the API.
   */
  readonly tools: Readonly<Record<string, ScopesOfRoute>>;
}

/** The type of `AuthServer.mcpScopes`. */
export type McpScopes = (options: McpScopesOptions) => (req: Request) => readonly string[];

/** The type of `AuthServer.requireBearer`. */
export interface RequireBearer {
  /** Without a handler, the next one of the route is called. */
  (options: RequireBearerOptions): BearerMiddleware;
  /**
   * With a handler: `req.auth.subject` is a string there. `Params` are the parameters of the path, strings unless you name them:
   * `requireBearer<{ id: string }>(…)`.
   */
  <Params = Record<string, string>>(
    options: RequireBearerOptions & { readonly subject: "required" },
    handler: BearerHandler<EndUserAccessToken, Params>,
  ): RequestHandler<Params>;
  /** With a handler for any kind of token. */
  <Params = Record<string, string>>(
    options: RequireBearerOptions,
    handler: BearerHandler<AccessToken, Params>,
  ): RequestHandler<Params>;
}

/** The functions for the host's routes. */
export interface RouteProtection {
  /** See `AuthServer.requireBearer`. */
  readonly requireBearer: RequireBearer;
  /** See `AuthServer.accessToken`. */
  readonly accessToken: ReadAccessToken;
  /** See `AuthServer.mcpAuth`. */
  readonly mcpAuth: ReadMcpAuth;
  /** See `AuthServer.mcpScopes`. */
  readonly mcpScopes: McpScopes;
  /** See `AuthServer.challenge`. */
  readonly challenge: (req: Request, res: Response, options: ChallengeOptions) => void;
}

/** The scopes that a value names, or `undefined` unless all of them are scopes of the API. */
function readScopes(scope: unknown, api: ProtectedApi): readonly string[] | undefined {
  const given: unknown = typeof scope === "string" ? scope.split(" ") : scope;
  if (!Array.isArray(given)) return undefined;
  // copied first, because a check of the host's list would skip its holes
  const names: readonly string[] = [...given];
  return isSubset(names, Object.keys(api.scopes)) ? names : undefined;
}

/** What a list of scopes must be. The end of a sentence that names it. */
function scopeRule({ apiId, scopes }: ProtectedApi): string {
  return `must name scopes of ${apiId}, and no others. Known scopes: ${Object.keys(scopes).join(", ")}.`;
}

/** A function that gives the scopes that a request needs, or `undefined` when the option is wrong. */
function scopesOf(
  { scope = [] }: RequireBearerOptions,
  api: ProtectedApi,
): ((req: Request) => readonly string[]) | undefined {
  if (typeof scope !== "function") {
    const scopes = readScopes(scope, api);
    return scopes && (() => scopes);
  }
  return (req) => {
    const answer: unknown = scope(req);
    const scopes = readScopes(answer, api);
    // none at all would let every token of the API pass: a misspelt constant that was filtered out, for example
    if (scopes && (scopes.length > 0 || answer === noScopes)) return scopes;
    // an async function returned a promise; if that rejects with nobody waiting for it, Node ends the process
    Promise.resolve(answer).catch(() => undefined);
    throw mistake("no-scopes-from-function", scopeRule(api));
  };
}

/** An API with the verifier of its tokens. */
export type VerifiedApi = Pick<BearerGuard, "api" | "verify" | "dpop">;

/** Id → API. */
type VerifiedApis = ReadonlyMap<string, VerifiedApi>;

/** The API that the options name. @throws TypeError when the API or a key of the options is unknown */
function findApi(
  options: { readonly api: string } | undefined,
  { apis, by, known }: { apis: VerifiedApis; by: string; known: readonly string[] },
): VerifiedApi {
  checkKeys(options ?? {}, { by, known });
  const found = apis.get(options?.api ?? "");
  if (found) return found;
  throw mistake("unknown-api-of-route", by, [...apis.keys()].join(", "));
}

function readGuard(
  options: RequireBearerOptions,
  { apis, clock }: { apis: VerifiedApis; clock: Clock },
): Omit<BearerGuard, "accessTokens" | "emit"> {
  const by = "requireBearer";
  const found = findApi(options, { apis, by, known: ["api", "scope", "subject", "acr", "maxAge"] });
  const { subject } = options;
  if (subject !== undefined && subject !== "required" && subject !== "forbidden")
    throw mistake("unknown-subject-of-route");
  const scopesFor = scopesOf(options, found.api);
  if (!scopesFor) throw mistake("unknown-scope-of-route", by, "scope", scopeRule(found.api));
  const signIn = readSignIn(options, { api: found.api, by, clock });
  if (signIn && subject === "forbidden") throw mistake("sign-in-of-machine-route");
  return { ...found, scopesFor, signIn, subject: signIn ? "required" : (subject ?? "either") };
}

/** The scope function of `mcpScopes`. */
function readMcpScopes(options: McpScopesOptions, apis: VerifiedApis): ReturnType<McpScopes> {
  const by = "mcpScopes";
  const { api } = findApi(options, { apis, by, known: ["api", "tools"] });
  const named = Object.keys(Object(options.tools));
  const problem = keyProblem(options.tools, { name: "tools", known: named });
  if (problem) throw hostMistake(problem.code, `${by}: ${problem.text}.`);
  const tools = Object.entries(options.tools).map(([tool, scope]) => {
    const scopes = readScopes(scope, api);
    if (!scopes) throw mistake("unknown-scope-of-route", by, `tools.${tool}`, scopeRule(api));
    return [tool, scopes] as const;
  });
  return scopesByTools(api, new Map(tools));
}

/** The handler that may follow the options. One that is passed but `undefined`, such as a misspelt import, is an error. */
function readHandler(handlers: readonly unknown[]): BearerHandler | undefined {
  if (handlers.length === 0) return undefined;
  if (typeof handlers[0] === "function") return handlers[0] as BearerHandler;
  throw mistake("handler-not-a-function");
}

/** What protecting routes needs. */
export interface ProtectionPorts {
  /** Every API. Routes of one API share what its verifier remembers. */
  readonly apis: readonly VerifiedApi[];
  /** Is told of each request that has passed. Left out where nobody wants to know. */
  readonly noteUse?: NoteUse | undefined;
  readonly emit: EmitEvent;
  readonly clock: Clock;
}

/** `requireBearer`, `accessToken`, `mcpAuth`, `mcpScopes` and `challenge` for every API. */
export function protectRoutes({ apis: listed, noteUse, emit, clock }: ProtectionPorts): RouteProtection {
  const apis: VerifiedApis = new Map(listed.map((each) => [each.api.apiId, each]));
  const accessTokens = newAccessTokens();
  return {
    requireBearer: (options: RequireBearerOptions, ...handlers: readonly unknown[]) =>
      bearerMiddleware(
        { ...readGuard(options, { apis, clock }), accessTokens, noteUse, emit },
        readHandler(handlers),
      ),
    accessToken: accessTokenReader(accessTokens),
    mcpAuth: mcpAuthReader(accessTokens),
    mcpScopes: (options) => readMcpScopes(options, apis),
    challenge(req, res, options) {
      const by = "challenge";
      const { api, dpop } = findApi(options, { apis, by, known: ["api", "scope", "acr", "maxAge"] });
      const signIn = readSignIn(options, { api, by, clock });
      const scopes = signIn && options.scope === undefined ? [] : readScopes(options.scope, api);
      if (!scopes || (scopes.length === 0 && !signIn))
        throw mistake("unknown-scope-of-route", by, "scope", scopeRule(api));
      writeChallenge({ req, res }, { api, dpop, scopes, signIn, accessTokens, emit });
    },
  };
}
