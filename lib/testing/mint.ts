/** Mints access tokens as the server of these options would: by its functions, keys and storage. RFC 6749 §4.1, §4.4; 9068 §2. */
import { randomBytes } from "node:crypto";
import type { ClientRequest } from "../clients/authenticate-client";
import { clientLookup, type ClientLookup, type ListedClients } from "../clients/client-lookup";
import { findStanding } from "../end-user/standing";
import type { ResolvedOptions } from "../options/resolve";
import type { Authorization } from "../protocol/authorization";
import { mayUseGrant, registeredScopes, subscriptionOf } from "../protocol/client";
import { OAuthError } from "../protocol/oauth-error";
import { parametersFromObject } from "../protocol/parameters";
import { withImplied } from "../protocol/requested-scopes";
import { isSubset } from "../protocol/scope";
import type { Clock, EpochSeconds } from "../protocol/time";
import type { AccessTokenSigner } from "../signing/port";
import { jwtSigner, keyRing } from "../signing/jwt-signer";
import type { Storage } from "../storage/port";
import { type DecidedToken, decideToken } from "../tokens/decide-token";
import { newAuthorization } from "../tokens/issue-code";
import type { AccessTokenIssue } from "../tokens/issue-tokens";
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
  const { storage, redirectSchemes, issuers, signingKeys } = options;
  const clock = (): EpochSeconds => now;
  const tokenSeconds = Math.max(...issuers.map(({ api }) => api.accessTokenSeconds));
  return {
    options,
    storage,
    clients: clientLookup(storage, { lagSeconds: 0, clock, redirectSchemes }),
    signer: jwtSigner(keyRing({ keys: signingKeys, tokenSeconds }), clock),
    clock,
    now,
    randomId: () => randomBytes(16).toString("base64url"),
    randomToken: () => randomBytes(32).toString("base64url"),
  };
}

function checkKeyed({ options: { temporary } }: Mint, { by, issuer: { api } }: AskedToken): void {
  if (api.accessTokenFormat !== "jwt" || !temporary.includes("signingKeys")) return;
  throw new TypeError(
    `${by}: the API "${api.apiId}" has signed access tokens (JWT), and the options have no signingKeys: each server then makes a temporary key that nobody else knows. Write signingKeys: [generateSigningKey()] into the options that your app and your tests share.`,
  );
}

/** The client as the token endpoint would see it, if it may have such a token. */
async function findClient(mint: Mint, asked: AskedToken): Promise<Pick<ClientRequest, "client" | "endMark">> {
  const { by, issuer, clientId, subject, scopes } = asked;
  const { apiId } = issuer.api;
  const found = await mint.clients.findRegistered(clientId, { issuer, mayFetch: () => false });
  if (!found) {
    const { records } = mint.storage.clients as Partial<ListedClients>;
    const others = records ? ` Write one of: ${list(records.map((one) => one.clientId))}.` : "";
    throw new TypeError(`${by}: storage.clients has no client "${clientId}".${others}`);
  }
  const { client } = found;
  if (!subscriptionOf(client, apiId))
    throw new TypeError(
      `${by}: the client "${clientId}" has no subscription to the API "${apiId}". It has: ${list(Object.keys(client.subscriptions))}.`,
    );
  const grantType = subject === undefined ? "client_credentials" : "authorization_code";
  if (!mayUseGrant(client, { apiId, grantType })) {
    const fix = subject === undefined ? "Name a subject" : "Leave the subject out";
    throw new TypeError(
      `${by}: the client "${clientId}" may not use ${grantType} at the API "${apiId}". ${fix}, or take another client.`,
    );
  }
  const registered = registeredScopes(client, issuer);
  if (!isSubset(scopes, registered))
    throw new TypeError(
      `${by}: the subscription of the client "${clientId}" lacks a scope of: ${list(scopes)}. It has: ${list(registered)}.`,
    );
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
  if (await clients.isTaken(subject))
    throw new TypeError(
      `${by}: subject is the id of a client. End users have other ids; leave subject out for a client's own token.`,
    );
  const { clientId } = request.client;
  const { apiId } = request.issuer.api;
  const contextKey = context?.key ?? "";
  const { endMarks } = await findStanding(
    { storage },
    {
      key: { subject, clientId, apiId, contextKey },
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
      throw new TypeError(
        `${by}: tokens.decide of your options does not issue this token (${error.message}). Write claims, {} for none, to mint it without asking.`,
      );
    },
  );
  if (isSubset(scopes, decided.scopes)) return decided;
  throw new TypeError(
    `${by}: tokens.decide of your options leaves only these scopes: ${list(decided.scopes)}. Ask for them, or write claims, {} for none, to mint the token without asking.`,
  );
}

/**
 * Everything about a good token, short of its text. What the person has allowed is stored.
 *
 * @throws TypeError when the server would not issue it. Rejects with whatever storage or the host's adapter rejects with.
 */
export async function prepareToken(mint: Mint, asked: AskedToken): Promise<AccessTokenIssue> {
  checkKeyed(mint, asked);
  const { by, issuer, subject, claims, seconds } = asked;
  const { client, endMark } = await findClient(mint, asked);
  const request: ClientRequest = {
    issuer,
    client,
    endMark,
    parameters: parametersFromObject({}),
    now: mint.now,
  };
  const scopes = withImplied(asked.scopes, request);
  const authorization =
    subject === undefined
      ? undefined
      : await storeAuthorization(mint, { ...asked, subject, request, allowed: scopes });
  const decided = await decide(mint, { request, authorization, scopes, claims, by });
  const most = decided.accessTokenSeconds;
  const accessTokenSeconds = seconds ?? most;
  if (accessTokenSeconds > most)
    throw new TypeError(`${by}: tokens.decide of your options gives this token ${most} seconds at most.`);
  return { request, authorization, decided: { ...decided, accessTokenSeconds } };
}

/** What the real `requireBearer` of a server with these options would find, with nothing remembered. */
export function verdictOn(
  mint: Mint,
  { token, issue }: { token: string; issue: AccessTokenIssue },
): Promise<AccessTokenVerdict> {
  const { api } = issue.request.issuer;
  return accessTokenVerifier(mint, { api, revocationLagSeconds: 0 })(token);
}
