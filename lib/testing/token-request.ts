/** The kinds of token for tests, and what a test asks for a token, checked against the options of the server. RFC 6749 §3.3, 6750 §3.1, 9068 §2.2. */
import { endUserProblem } from "../end-user/check-host-answer";
import { type AuthenticationFacts, isThumbprint } from "../protocol/authorization";
import { type AuthorizationContext, readContext } from "../protocol/authorization-context";
import { type HostClaims, hostClaimsProblem } from "../protocol/host-claims";
import { parseHostObject } from "../protocol/host-json";
import type { Issuer } from "../protocol/issuer";
import { mistakesOf } from "../protocol/mistake";
import { parseScope } from "../protocol/scope";
import type { EpochSeconds } from "../protocol/time";
import { checkKeys } from "../host/plain";
import type { TestKey } from "./test-key";

const mistake = mistakesOf({
  "unknown-api-of-token": (by: string, known: string) =>
    `${by}: api is not an id in apis. Write one of: ${known}.`,
  "unknown-auth-method-of-token": (by: string, api: string, known: string) =>
    `${by}: authMethod is not one of the API "${api}". Write one of: ${known}.`,
  "malformed-scope-of-token": (by: string, api: string, known: string) =>
    `${by}: scope must name scopes of the API "${api}": ${known}. Leave it out for a token without scopes.`,
  "unknown-scope-of-token": (by: string, api: string, unknown: string, known: string) =>
    `${by}: the API "${api}" has no scope "${unknown}". Write some of: ${known}.`,
  "wrong-claims": (by: string, problem: string) => `${by}: ${problem}.`,
  "wrong-seconds-of-token": (by: string, most: number) =>
    `${by}: seconds must be whole seconds from 1 to ${most}, the lifetime of the API.`,
  "wrong-key-of-token": (by: string) => `${by}: key must be what testKey() gives.`,
  "key-without-dpop": (by: string, api: string) =>
    `${by}: the API "${api}" has no dpop, so its tokens are bound to no key. Leave key out, or write dpop into the options of the API.`,
  "key-of-token-missing": (by: string, api: string) =>
    `${by}: the API "${api}" has dpop.tokens: "required". Write key: testKey().`,
  "client-missing": (by: string) => `${by}: client must be the id of a client of storage.clients.`,
  "wrong-person-of-token": (by: string, problem: string) => `${by}: ${problem}.`,
});

/**
 * The token to mint. A key that is not known, or that is present but `undefined`, is refused: a misspelt constant must not mint another
 * token than you meant.
 */
export interface TestTokenRequest extends AuthenticationFacts {
  /** Id of the API that the token is for. */
  readonly api: string;
  /** Id of a client of `storage.clients`. It must be able to get such a token: it needs a subscription to the API. */
  readonly client: string;
  /** The end user who allows it. Left out: the client acts for itself (client credentials). */
  readonly subject?: string;
  /**
   * The scopes: a list, or one string separated by spaces. As at the server, those that they imply are added. Left out: the token
   * has no scope.
   */
  readonly scope?: string | readonly string[];
  /** How the end user signs in: the id of an authentication method of the API. Default: the API's first. */
  readonly authMethod?: string;
  /** What the end user chose along the way, such as an organization. */
  readonly context?: AuthorizationContext;
  /** The claims that your app adds. `tokens.decide` is then not asked; `{}` for none. Default: `tokens.decide` is asked. */
  readonly claims?: HostClaims;
  /** The lifetime in whole seconds, at most the one that the server would give. Default: that one. */
  readonly seconds?: number;
  /**
   * Id of a client that has exchanged a token of `client` for this one (RFC 8693): one that `tokenExchange` of the API names. The token is
   * then of that client, and acts for the subject. Left out: the token was not exchanged.
   */
  readonly actor?: string;
  /** The key that the token is bound to, where the API has `dpop`. Send it with `key.headers(…)`. Left out: a bearer token. */
  readonly key?: TestKey;
}

/** What was asked for, after every check that needs no storage. */
export interface AskedToken {
  readonly issuer: Issuer;
  readonly clientId: string;
  /** `undefined`: the client acts for itself. */
  readonly subject: string | undefined;
  readonly scopes: readonly string[];
  readonly facts: AuthenticationFacts;
  readonly context: AuthorizationContext | undefined;
  /** `undefined` to ask the host's adapter. */
  readonly claims: HostClaims | undefined;
  readonly seconds: number | undefined;
  /** The client that has exchanged it; `undefined` where none has. */
  readonly actor: string | undefined;
  /** Thumbprint of the key that the token is bound to. */
  readonly key: string | undefined;
  /** The function that was called, for errors. */
  readonly by: string;
}

const aboutPerson = ["context", "authTime", "acr", "amr"] as const;
const aboutToken = ["api", "client", "subject", "scope", "authMethod", "claims", "seconds", "actor", "key"];
const known = [...aboutToken, ...aboutPerson];

/** A list of names for an error. */
export function list(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.join(", ");
}

type Asked = TestTokenRequest & { readonly by: string };

function findIssuer({ by, api, authMethod }: Asked, issuers: readonly Issuer[]): Issuer {
  const ofApi = issuers.filter((issuer) => issuer.api.apiId === api);
  if (ofApi.length === 0) {
    const apiIds = [...new Set(issuers.map((issuer) => issuer.api.apiId))];
    throw mistake("unknown-api-of-token", by, list(apiIds));
  }
  const found = ofApi.find(({ authMethodId }) => authMethod === undefined || authMethodId === authMethod);
  if (found) return found;
  const methods = ofApi.map(({ authMethodId }) => authMethodId);
  throw mistake("unknown-auth-method-of-token", by, api, list(methods));
}

/** The distinct scopes of a list or a text, or `undefined` when they are missing or malformed. */
export function namedScopes(scope: unknown): readonly string[] | undefined {
  const text: unknown = Array.isArray(scope) ? scope.join(" ") : scope;
  return typeof text === "string" ? parseScope(text) : undefined;
}

function readScopes({ by, scope }: Asked, { api }: Issuer): readonly string[] {
  if (scope === undefined) return [];
  const scopes = namedScopes(scope);
  const names = list(Object.keys(api.scopes));
  if (!scopes) throw mistake("malformed-scope-of-token", by, api.apiId, names);
  const unknown = scopes.find((name) => !Object.hasOwn(api.scopes, name));
  if (unknown === undefined) return scopes;
  throw mistake("unknown-scope-of-token", by, api.apiId, unknown, names);
}

function personProblem(asked: Asked, now: EpochSeconds): string | undefined {
  const { subject, context } = asked;
  if (subject === undefined) {
    const name = aboutPerson.find((one) => asked[one] !== undefined);
    return (
      name && `${name} is about an end user, and there is no subject. Write the subject, or leave it out`
    );
  }
  const read = context === undefined ? undefined : readContext(context);
  return typeof read === "string" ? read : endUserProblem({ ...asked, subject }, now);
}

function readFacts({ authTime, acr, amr }: Asked): AuthenticationFacts {
  return {
    ...(authTime !== undefined && { authTime }),
    ...(amr !== undefined && { amr: [...amr] }),
    ...(acr !== undefined && { acr }),
  };
}

function readClaims({ by, claims }: Asked): HostClaims | undefined {
  if (claims === undefined) return undefined;
  const copy = parseHostObject(claims) as HostClaims | undefined;
  const problem = copy ? hostClaimsProblem(copy) : "claims must be a plain object of JSON values";
  if (problem !== undefined) throw mistake("wrong-claims", by, problem);
  return copy;
}

function checkSeconds({ by, seconds }: Asked, { api }: Issuer): void {
  const most = api.accessTokenSeconds;
  if (seconds === undefined || (Number.isSafeInteger(seconds) && seconds >= 1 && seconds <= most)) return;
  throw mistake("wrong-seconds-of-token", by, most);
}

function readKey({ by, key }: Asked, { api: { apiId, dpop } }: Issuer): string | undefined {
  if (key === undefined) {
    if (dpop?.required) throw mistake("key-of-token-missing", by, apiId);
    return undefined;
  }
  const thumbprint: unknown = Object(key).thumbprint;
  if (typeof thumbprint !== "string" || !isThumbprint(thumbprint)) throw mistake("wrong-key-of-token", by);
  if (!dpop) throw mistake("key-without-dpop", by, apiId);
  return thumbprint;
}

/**
 * What a test asks for.
 *
 * @throws TypeError when something is missing, unknown or `undefined`; it lists what is known.
 */
export function readTokenRequest(
  given: TestTokenRequest,
  { by, issuers, now }: { by: string; issuers: readonly Issuer[]; now: EpochSeconds },
): AskedToken {
  checkKeys(given, { by, known });
  const asked: Asked = { ...given, by };
  const issuer = findIssuer(asked, issuers);
  const { client, subject, context, seconds } = asked;
  if (typeof client !== "string") throw mistake("client-missing", by);
  const problem = personProblem(asked, now);
  if (problem !== undefined) throw mistake("wrong-person-of-token", by, problem);
  checkSeconds(asked, issuer);
  return {
    issuer,
    clientId: client,
    subject,
    scopes: readScopes(asked, issuer),
    facts: readFacts(asked),
    context: context === undefined ? undefined : (readContext(context) as AuthorizationContext),
    claims: readClaims(asked),
    seconds,
    actor: asked.actor,
    key: readKey(asked, issuer),
    by,
  };
}

/** The kinds of token that every route must refuse with 401 `invalid_token`: each is a function of `TestTokens`. */
export const refusedKinds: readonly ["expired", "revoked", "withdrawn", "disabled", "foreign"] = [
  "expired",
  "revoked",
  "withdrawn",
  "disabled",
  "foreign",
];

/** A kind of token that every route must refuse. */
export type RefusedKind = (typeof refusedKinds)[number];

/**
 * Mints one token. The promise rejects with a `TypeError` when the server would not issue it: an unknown API, client or scope, no
 * subscription. This holds for the refused kinds too: without its one fault, each token would be accepted.
 */
export type MintToken = (request: TestTokenRequest) => Promise<string>;
