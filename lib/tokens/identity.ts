/** Tells relying parties of people: asks the host for claims, and makes ID tokens. OpenID Connect Core §2, §3.1.3.3, §5.3, §5.4. */
import type { ClientRequest } from "../clients/authenticate-client";
import type { ClientLookup } from "../clients/client-lookup";
import { inTime, invalidAnswer } from "../host/ask";
import type { AccessToken } from "../protocol/access-token";
import type { Authorization } from "../protocol/authorization";
import type { Client } from "../protocol/client";
import { isPlain, parseHostObject } from "../protocol/host-json";
import type { ApiOpenId, Issuer } from "../protocol/issuer";
import { hostMistake } from "../protocol/mistake";
import { because, OAuthError } from "../protocol/oauth-error";
import {
  idTokenClaims,
  identityClaimsProblem,
  isIdTokenSubject,
  isSignIn,
  openedClaims,
} from "../protocol/openid";
import { intersect } from "../protocol/scope";
import type { EpochSeconds } from "../protocol/time";
import type { IdTokenSigner } from "../signing/port";
import type { Storage } from "../storage/port";
import { authorizationStands } from "./authorization-stands";
import { askedClient, type DecidedToken, endedMeanwhile, lateSignal } from "./decide-token";
import type { IdentityAdapter, IdentityClaimsRequest } from "./port";

/** What telling of people needs. */
export interface IdentityPorts {
  readonly storage: Pick<Storage, "accessTokens" | "authorizations" | "endMarks">;
  readonly clients: Pick<ClientLookup, "findHolder">;
  readonly signer: Pick<IdTokenSigner, "sign">;
  /** API id → the host's adapter, for APIs with `openid`. */
  readonly adapters: ReadonlyMap<string, IdentityAdapter>;
}

/** Of whom, to whom, and by which scopes. */
export interface AskedIdentity {
  readonly issuer: Issuer;
  readonly client: Client;
  readonly authorization: Authorization;
  readonly scopes: readonly string[];
  readonly use: IdentityClaimsRequest["use"];
  /** What asks, where it is an access token. */
  readonly token?: Pick<AccessToken, "tokenId">;
  /** Read once the host has answered. */
  readonly now: () => EpochSeconds;
}

/** Refusals of ID tokens. */
export const identityReasons = {
  "end-user-gone": "openid.claims found no such end user: they were deleted, or return their claims",
} as const;

/** What the host knows of a person, checked and copied. */
function readClaims(answer: unknown): Readonly<Record<string, unknown>> {
  // a column of the host's table may be empty
  const given = isPlain(answer)
    ? Object.fromEntries(Object.entries(answer).filter(([, value]) => (value ?? undefined) !== undefined))
    : answer;
  const claims = parseHostObject(given);
  if (!claims) throw invalidAnswer("openid.claims", "it must be a plain object of JSON values, or undefined");
  const problem = identityClaimsProblem(claims);
  if (problem !== undefined) throw invalidAnswer("openid.claims", problem);
  return claims;
}

/** All that the host has told, and whether time has passed since the question. */
interface AnsweredClaims {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly hasWaited: boolean;
}

async function askClaims(
  { adapters }: Pick<IdentityPorts, "adapters">,
  { issuer, client, authorization, scopes, use }: AskedIdentity,
): Promise<AnsweredClaims | undefined> {
  const { apiId } = issuer.api;
  const { subject, context } = authorization;
  if (!isIdTokenSubject(subject))
    throw hostMistake(
      "subject-not-ascii",
      "The subject of an end user is no ASCII text of at most 255 characters, which OpenID Connect requires. Return another id from authenticate.",
    );
  const adapter = adapters.get(apiId) as IdentityAdapter;
  const late = lateSignal();
  let returned: unknown;
  const ask = (): unknown =>
    (returned = adapter.claims({
      subject,
      scopes: [...scopes],
      use,
      client: askedClient(client),
      apiId,
      authMethodId: issuer.authMethodId,
      ...(context && { context: structuredClone(context) }),
      get signal() {
        return late.signal();
      },
    }));
  const answer = await inTime("openid.claims", ask, late.abort);
  if (answer === undefined) return undefined;
  // what was read is an object, or came of a promise
  return { claims: readClaims(answer), hasWaited: "then" in (returned as object) };
}

/** The authorization as it is now; `undefined` when it or the token was ended, everything of its client or API, or the client itself. */
async function standing(
  { storage, clients }: Pick<IdentityPorts, "storage" | "clients">,
  { issuer, authorization: { authorizationId, clientId }, token, now: clock }: AskedIdentity,
): Promise<Authorization | undefined> {
  const now = clock();
  const { apiId, audience } = issuer.api;
  const [authorization, holder, isRevoked] = await Promise.all([
    storage.authorizations.find(authorizationId, now),
    clients.findHolder(clientId, { apiId, fresh: true }),
    token && storage.accessTokens.isRevoked(token.tokenId, now),
  ]);
  if (isRevoked || !holder?.hasSubscription) return undefined;
  const question = { authorization, registered: holder, audience, now };
  return (await authorizationStands({ storage }, question)) ? authorization : undefined;
}

/** What may be told of a person, or why nothing may. */
export type FoundClaims =
  | { readonly kind: "claims"; readonly claims: Readonly<Record<string, unknown>> }
  | { readonly kind: "end-user-gone" | "ended" | "no-sign-in" };

/**
 * The claims that these scopes open. Where the host answers later, storage is asked once more: what was ended or taken back meanwhile is
 * told no more.
 *
 * @throws TypeError (as a rejection) when the host's answer is invalid, and whatever it or storage throws
 */
export async function findClaims(
  { adapters, ...ports }: Pick<IdentityPorts, "storage" | "clients" | "adapters">,
  asked: AskedIdentity,
): Promise<FoundClaims> {
  const { api } = asked.issuer;
  const answered = await askClaims({ adapters }, asked);
  if (!answered) return { kind: "end-user-gone" };
  const { claims, hasWaited } = answered;
  const last = hasWaited ? await standing(ports, asked) : asked.authorization;
  if (!last) return { kind: "ended" };
  const scopes = intersect(asked.scopes, last.grantedScopes);
  if (!scopes.some((scope) => isSignIn(api, scope))) return { kind: "no-sign-in" };
  return { kind: "claims", claims: openedClaims(claims, { scopes, openid: api.openid as ApiOpenId }) };
}

function endUserGone(): OAuthError {
  return new OAuthError("invalid_grant", {
    description: "The end user no longer exists.",
    ...because(identityReasons, "end-user-gone"),
  });
}

/** A request for tokens, and what they will be. */
export interface IdTokenIssue {
  readonly request: ClientRequest;
  readonly authorization: Authorization;
  readonly decided: DecidedToken;
  /** Of the authorization request. A refresh has none. */
  readonly nonce: string | undefined;
}

/** An ID token, or `undefined` where the scopes ask for no sign-in. */
export type IssueIdToken = (issue: IdTokenIssue) => Promise<string | undefined>;

/**
 * Makes ID tokens. To be called before anything is stored or spent. An ID token lives as long as the access token beside it.
 *
 * @rfc OpenID Connect Core §2, §3.1.3.3, §12.2
 */
export function idTokenIssuer({ signer, ...ports }: IdentityPorts): IssueIdToken {
  return async ({ request, authorization, decided, nonce }) => {
    const { issuer, client, now } = request;
    const { scopes, accessTokenSeconds } = decided;
    const { openid } = issuer.api;
    if (!openid || !scopes.some((scope) => isSignIn(issuer.api, scope))) return undefined;
    const asked = { issuer, client, authorization, scopes, use: "id_token", now: () => now } as const;
    const found = await findClaims(ports, asked);
    switch (found.kind) {
      case "end-user-gone":
        throw endUserGone();
      case "ended":
        throw endedMeanwhile();
      case "no-sign-in":
        return undefined;
      case "claims":
    }
    const life = { issuedAt: now, expiresAt: now + accessTokenSeconds };
    const claims = idTokenClaims({ authorization, ...life, nonce, claims: found.claims });
    return signer.sign(claims, openid.idTokenAlgorithm);
  };
}
