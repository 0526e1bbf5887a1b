/** Mints access tokens as the server of these options would: by its functions, keys and storage. RFC 6749 §4.1, §4.4; 9068 §2. */
import { randomBytes } from "node:crypto";
import type { ClientRequest } from "../clients/authenticate-client";
import { clientLookup, type ClientLookup, type ListedClients } from "../clients/client-lookup";
import { findBasis } from "../end-user/approval-basis";
import { prepareExchange } from "../grants/token-exchange";
import type { ResolvedOptions } from "../options/resolve";
import { accessTokenType } from "../protocol/access-token";
import type { Authorization } from "../protocol/authorization";
import { mayUseGrant, registeredScopes, subscriptionOf } from "../protocol/client";
import { apisOf } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import { mistakesOf } from "../protocol/mistake";
import { withoutPeople } from "../protocol/openid";
import { parametersFromObject } from "../protocol/parameters";
import { withImplied } from "../protocol/requested-scopes";
import { formatScope, isSubset } from "../protocol/scope";
import type { Clock, EpochSeconds } from "../protocol/time";
import type { AccessTokenSigner } from "../signing/port";
import { jwtSigner, keyRing } from "../signing/jwt-signer";
import type { Storage } from "../storage/port";
import { type DecidedToken, decideToken } from "../tokens/decide-token";
import { newAuthorization } from "../tokens/issue-code";
import { type AccessTokenIssue, issueAccessToken } from "../tokens/issue-tokens";
import type { TokenDecision } from "../tokens/port";
import { accessTokenVerifier, type AccessTokenVerdict } from "../tokens/verify-access-token";
import type { AskedToken } from "./token-request";
import { list } from "./token-request";

/** What minting uses, all of it at one moment. */
export interface Mint {
  readonly options: ResolvedOptions;
  readonly storage: Storage;
  readonly clients: ClientLookup;
  readonly signer: AccessTokenSigner;
  readonly clock: Clock;
  readonly now: EpochSeconds;
  readonly randomId: () => string;
  readonly randomToken: () => string;
}

/** A mint over these options. Nothing is remembered between two tokens: the host may change its clients. */
export function mintOf(options: ResolvedOptions, now: EpochSeconds): Mint {
  const { storage, redirectSchemes, issuers, signingKeys, algorithms } = options;
  const clock = (): EpochSeconds => now;
  const tokenSeconds = Math.max(...issuers.map(({ api }) => api.accessTokenSeconds));
  return {
    options,
    storage,
    clients: clientLookup(storage, { lagSeconds: 0, clock, redirectSchemes, apis: apisOf(issuers) }),
    signer: jwtSigner(keyRing({ keys: signingKeys, tokenSeconds, ...algorithms }), clock),
    clock,
    now,
    randomId: () => randomBytes(16).toString("base64url"),
    randomToken: () => randomBytes(32).toString("base64url"),
  };
}

interface OfClient {
  readonly clientId: string;
  readonly apiId: string;
}

const mistake = mistakesOf({
  "signing-keys-missing": (by: string, api: string) =>
    `${by}: the API "${api}" has signed access tokens (JWT), and the options have no signingKeys: each server then makes a temporary key that nobody else knows. Write signingKeys: [generateSigningKey()] into the options that your app and your tests share.`,
  "signs-outside": (by: string, kid: string) =>
    `${by}: the key "${kid}" signs outside this process, and tests should not depend on that. Write signingKeys: [generateSigningKey()] into the options that your app and your tests share.`,
  "unknown-client": (by: string, clientId: string, others: string) =>
    `${by}: storage.clients has no client "${clientId}".${others}`,
  "no-subscription": (by: string, { clientId, apiId, has }: OfClient & { readonly has: string }) =>
    `${by}: the client "${clientId}" has no subscription to the API "${apiId}". It has: ${has}.`,
  "client-without-grant": (
    by: string,
    { clientId, apiId, grantType, fix }: OfClient & { readonly grantType: string; readonly fix: string },
  ) =>
    `${by}: the client "${clientId}" may not use ${grantType} at the API "${apiId}". ${fix}, or take another client.`,
  "scope-not-allowed": (
    by: string,
    { clientId, scopes, has }: Record<"clientId" | "scopes" | "has", string>,
  ) => `${by}: the subscription of the client "${clientId}" lacks a scope of: ${scopes}. It has: ${has}.`,
  "subject-of-token-is-client-id": (by: string) =>
    `${by}: subject is the id of a client. End users have other ids; leave subject out for a client's own token.`,
  "token-not-issued": (by: string, why: string) =>
    `${by}: tokens.decide of your options does not issue this token (${why}). Write claims, {} for none, to mint it without asking.`,
  "scopes-taken-away": (by: string, left: string) =>
    `${by}: tokens.decide of your options leaves only these scopes: ${left}. Ask for them, or write claims, {} for none, to mint the token without asking.`,
  "no-such-exchange": (by: string, actor: string, apiId: string) =>
    `${by}: tokenExchange of the API "${apiId}" names no client "${actor}" for an API with this authMethod, or there is no subject.`,
  "token-too-long": (by: string, most: number) =>
    `${by}: tokens.decide of your options gives this token ${most} seconds at most.`,
});

function checkKeyed({ options }: Mint, { by, issuer: { api } }: AskedToken): void {
  if (api.accessTokenFormat !== "jwt") return;
  if (options.temporary.includes("signingKeys")) throw mistake("signing-keys-missing", by, api.apiId);
  const outside = options.signingKeys.find((key) => !("privateKey" in key));
  if (outside) throw mistake("signs-outside", by, outside.kid);
}

/** The client as the token endpoint would see it, if it may have such a token. */
async function findClient(
  mint: Mint,
  asked: AskedToken,
): Promise<Pick<ClientRequest, "client" | "endMark" | "apiEnds">> {
  const { by, issuer, clientId, subject, scopes } = asked;
  const { apiId } = issuer.api;
  const found = await mint.clients.findRegistered(clientId, { issuer, mayFetch: () => false });
  if (!found) {
    const { records } = mint.storage.clients as Partial<ListedClients>;
    const others = records ? ` Write one of: ${list(records.map((one) => one.clientId))}.` : "";
    throw mistake("unknown-client", by, clientId, others);
  }
  const { client } = found;
  if (!subscriptionOf(client, apiId))
    throw mistake("no-subscription", by, { clientId, apiId, has: list(Object.keys(client.subscriptions)) });
  const grantType = subject === undefined ? "client_credentials" : "authorization_code";
  if (!mayUseGrant(client, { apiId, grantType })) {
    const fix = subject === undefined ? "Name a subject" : "Leave the subject out";
    throw mistake("client-without-grant", by, { clientId, apiId, grantType, fix });
  }
  const registered = registeredScopes(client, subject === undefined ? withoutPeople(issuer) : issuer);
  if (!isSubset(scopes, registered))
    throw mistake("scope-not-allowed", by, { clientId, scopes: list(scopes), has: list(registered) });
  return found;
}

/** Stores what the person has allowed, as the authorization endpoint does. */
async function storeAuthorization(
  { storage, clients, randomId, now }: Mint,
  asked: AskedToken & {
    readonly subject: string;
    readonly request: ClientRequest;
    readonly allowed: readonly string[];
  },
): Promise<Authorization> {
  const { by, subject, request, facts, context, allowed } = asked;
  if (await clients.isTaken(subject)) throw mistake("subject-of-token-is-client-id", by);
  const { clientId } = request.client;
  const { apiId, audience } = request.issuer.api;
  const contextKey = context?.key ?? "";
  const { endMarks } = await findBasis(
    { storage },
    {
      key: { subject, clientId, apiId, contextKey },
      audience,
      withConsent: false,
      clientDigest: undefined,
      now,
    },
  );
  const access = { request, subject, facts, grantedScopes: allowed, context, endMarks, now };
  const authorization = newAuthorization(randomId(), access);
  await storage.authorizations.create(authorization, now);
  return authorization;
}

/** What the host's adapter would make of the token, unless the test says which claims it has. */
async function decide(
  { options: { tokens }, storage }: Mint,
  asked: Omit<AccessTokenIssue, "decided"> & Pick<AskedToken, "claims" | "by" | "scopes">,
): Promise<DecidedToken> {
  const { request, authorization, scopes, claims, by } = asked;
  const { accessTokenSeconds } = request.issuer.api;
  if (claims) {
    const added = Object.keys(claims).length === 0 ? undefined : claims;
    return { scopes, accessTokenSeconds, claims: added };
  }
  const grantType = authorization ? "authorization_code" : "client_credentials";
  const ports = { storage, tokens, emit: () => undefined };
  const decided = await decideToken(ports, { grantType, request, authorization, scopes }).catch(
    (error: unknown) => {
      if (!(error instanceof OAuthError)) throw error;
      throw mistake("token-not-issued", by, error.message);
    },
  );
  if (isSubset(scopes, decided.scopes)) return decided;
  throw mistake("scopes-taken-away", by, list(decided.scopes));
}

async function prepareOwn(mint: Mint, asked: AskedToken): Promise<AccessTokenIssue> {
  const { by, issuer, subject, claims, seconds, key } = asked;
  const { client, endMark, apiEnds } = await findClient(mint, asked);
  const request: ClientRequest = {
    issuer,
    client,
    endMark,
    apiEnds,
    headers: {},
    parameters: parametersFromObject({}),
    now: mint.now,
    ...(key !== undefined && { key }),
  };
  const scopes = withImplied(asked.scopes, request);
  const authorization =
    subject === undefined
      ? undefined
      : await storeAuthorization(mint, { ...asked, subject, request, allowed: scopes });
  const decided = await decide(mint, { request, authorization, scopes, claims, by });
  const most = decided.accessTokenSeconds;
  const accessTokenSeconds = seconds ?? most;
  if (accessTokenSeconds > most) throw mistake("token-too-long", by, most);
  return { request, authorization, decided: { ...decided, accessTokenSeconds } };
}

/** The token for which `actor` has exchanged one of the client, which is minted first, at the API that the table names. @rfc 8693 §2.1 */
async function prepareExchanged(
  mint: Mint,
  asked: AskedToken & { actor: string },
): Promise<AccessTokenIssue> {
  const { by, issuer, actor, scopes, claims, seconds, key } = asked;
  const { sources = [] } = issuer.api.tokenExchange ?? {};
  const [from, source] = [...sources].find(([, { clients }]) => clients.includes(actor)) ?? [];
  const at = mint.options.issuers.find(
    ({ authMethodId, api }) => authMethodId === issuer.authMethodId && api.apiId === from,
  );
  const found = await mint.clients.findRegistered(actor, { issuer, mayFetch: () => false });
  if (!source || !at || !found || asked.subject === undefined)
    throw mistake("no-such-exchange", by, actor, issuer.api.apiId);
  const held = Object.entries(source.scopes).filter(([, names]) =>
    names.some((name) => scopes.includes(name)),
  );
  const plain = { actor: undefined, claims: {}, seconds: undefined, key: undefined };
  const own = { ...asked, ...plain, issuer: at, scopes: held.map(([name]) => name) };
  checkKeyed(mint, own);
  const token = await issueAccessToken(mint, await prepareOwn(mint, own));
  const fields = { subject_token: token, subject_token_type: accessTokenType, scope: formatScope(scopes) };
  const request = { ...found, issuer, headers: {}, parameters: parametersFromObject(fields), now: mint.now };
  const { tokens: adapter } = mint.options;
  const tokens = claims ? { decide: (): TokenDecision => ({ kind: "issue", claims }) } : adapter;
  const ports = { ...mint, tokens, emit: () => undefined };
  const issue = await prepareExchange(ports, { ...request, ...(key !== undefined && { key }) }).catch(
    (error: unknown) => {
      throw error instanceof OAuthError ? mistake("token-not-issued", by, error.message) : error;
    },
  );
  const { decided } = issue;
  if (!isSubset(scopes, decided.scopes)) throw mistake("scopes-taken-away", by, list(decided.scopes));
  const accessTokenSeconds = seconds ?? decided.accessTokenSeconds;
  if (accessTokenSeconds > decided.accessTokenSeconds)
    throw mistake("token-too-long", by, decided.accessTokenSeconds);
  return { ...issue, decided: { ...decided, accessTokenSeconds } };
}

/**
 * Everything about a good token, short of its text. What the person has allowed is stored.
 *
 * @throws TypeError when the server would not issue it. Rejects with whatever storage or the host's adapter rejects with.
 */
export async function prepareToken(mint: Mint, asked: AskedToken): Promise<AccessTokenIssue> {
  checkKeyed(mint, asked);
  const { actor } = asked;
  return actor === undefined ? prepareOwn(mint, asked) : prepareExchanged(mint, { ...asked, actor });
}

const ofAnotherKey = {
  kind: "invalid",
  code: "token-unknown",
  reason: "it is not bound to the key: does the storage keep boundKey?",
} as const;

/** What the real `requireBearer` of a server with these options would find, with nothing remembered, and with a proof of the key. */
export async function verdictOn(
  mint: Mint,
  { token, issue }: { token: string; issue: AccessTokenIssue },
): Promise<AccessTokenVerdict> {
  const { issuer, key } = issue.request;
  const verdict = await accessTokenVerifier(mint, { api: issuer.api, revocationLagSeconds: 0 })(token);
  return verdict.kind === "invalid" || verdict.accessToken.boundKey === key ? verdict : ofAnotherKey;
}
