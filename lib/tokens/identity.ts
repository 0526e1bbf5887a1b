/** Tells relying parties of people: asks the host for claims, and makes ID tokens. OpenID Connect Core §2, §3.1.3.3, §5.3, §5.4. */
import type { ClientRequest } from "../clients/authenticate-client";
import { inTime, invalidAnswer } from "../host/ask";
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
import type { IdTokenSigner } from "../signing/port";
import type { Storage } from "../storage/port";
import { askedClient, checkNotEnded, type DecidedToken, lateSignal } from "./decide-token";
import type { IdentityAdapter, IdentityClaimsRequest } from "./port";

/** What telling of people needs. */
export interface IdentityPorts {
  readonly storage: Pick<Storage, "authorizations">;
  readonly signer: Pick<IdTokenSigner, "sign">;
  /** API id → the host's adapter, for APIs with `openid`. */
  readonly adapters: ReadonlyMap<string, IdentityAdapter>;
}

/** Of whom, to whom, and by which scopes. */
export interface AskedIdentity {
  readonly issuer: Issuer;
  readonly client: Client;
  readonly authorization: Pick<Authorization, "subject" | "context">;
  readonly scopes: readonly string[];
  readonly use: IdentityClaimsRequest["use"];
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

/** The claims, and whether time has passed since the question. */
interface FoundClaims {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly hasWaited: boolean;
}

/**
 * The claims that these scopes open, or `undefined` when the host has no such person any more.
 *
 * @throws TypeError (as a rejection) when the host's answer is invalid, and whatever it throws
 */
export async function findClaims(
  { adapters }: Pick<IdentityPorts, "adapters">,
  { issuer, client, authorization, scopes, use }: AskedIdentity,
): Promise<FoundClaims | undefined> {
  const { apiId, openid } = issuer.api;
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
  const claims = openedClaims(readClaims(answer), { scopes, openid: openid as ApiOpenId });
  // what was read is an object, or came of a promise
  return { claims, hasWaited: "then" in (returned as object) };
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
export function idTokenIssuer({ storage, signer, adapters }: IdentityPorts): IssueIdToken {
  return async ({ request, authorization, decided, nonce }) => {
    const { issuer, client, now } = request;
    const { scopes, accessTokenSeconds } = decided;
    const { openid } = issuer.api;
    if (!openid || !scopes.some((scope) => isSignIn(issuer.api, scope))) return undefined;
    const asked = { issuer, client, authorization, scopes, use: "id_token" } as const;
    const found = await findClaims({ adapters }, asked);
    if (!found)
      throw new OAuthError("invalid_grant", {
        description: "The end user no longer exists.",
        ...because(identityReasons, "end-user-gone"),
      });
    if (found.hasWaited) await checkNotEnded({ storage }, { authorization, request });
    const life = { issuedAt: now, expiresAt: now + accessTokenSeconds };
    const claims = idTokenClaims({ authorization, ...life, nonce, claims: found.claims });
    return signer.sign(claims, openid.idTokenAlgorithm);
  };
}
