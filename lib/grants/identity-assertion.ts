/** The JWT bearer grant for identity assertions (ID-JAG): an identity provider vouches for a person, and no page is shown. RFC 7521 §4.1, §5.2; 7523 §2.1, §3; draft-ietf-oauth-identity-assertion-authz-grant-03 §4.4. */
import { isFirstUse, signatureProblemAt } from "../clients/assertion-keys";
import type { ClientRequest } from "../clients/authenticate-client";
import type { IsVouchedFor } from "../clients/presented-grant";
import { reportIgnoredScopes } from "../events/ignored-scopes";
import type { TokenResponse } from "../protocol/access-token";
import type { Authorization } from "../protocol/authorization";
import { assertionGrant, registeredScopes } from "../protocol/client";
import {
  identityProblem,
  identityRefusal,
  parseIdentityAssertion,
  type PresentedIdentity,
  usedIdentity,
} from "../protocol/identity-assertion";
import { because, OAuthError } from "../protocol/oauth-error";
import { withImplied } from "../protocol/requested-scopes";
import { intersect } from "../protocol/scope";
import { checkRequestedScopes, requireParameter } from "../requests/check-parameters";
import { allStored } from "../storage/calls";
import { type Birth, checkBirth, eraseAfter } from "../storage/end-marks";
import { decideToken, type DecidedToken } from "../tokens/decide-token";
import { newAuthorization } from "../tokens/issue-code";
import { issueAccessToken } from "../tokens/issue-tokens";
import { checkAlive, type GrantPorts, type IdentityAssertionPorts, tokenAnswer } from "./grant";

/**
 * The assertion, which a provider of this issuer has signed for this client. The claims come first: keys are fetched only from providers
 * that the host has listed.
 *
 * @throws OAuthError `invalid_grant`; `temporarily_unavailable` when the keys cannot be had
 * @rfc 7523 §3, draft-ietf-oauth-identity-assertion-authz-grant-03 §4.4.1
 */
async function provenIdentity(
  { providersOf, fetchKeys, clock }: IdentityAssertionPorts,
  { text, issuer, clientId }: Parameters<IsVouchedFor>[0],
): Promise<PresentedIdentity> {
  const presented = parseIdentityAssertion(text);
  if ("unreadable" in presented) throw identityRefusal("identity-assertion-unreadable", presented.unreadable);
  if ("malformed" in presented) throw identityRefusal("identity-claim-malformed", presented.malformed);
  const providers = providersOf(issuer);
  const problem = identityProblem(presented, { issuer, clientId, providers, now: clock() });
  if (problem !== undefined) throw identityRefusal(problem);
  // it is listed: that was looked at just now
  const { jwksUri } = providers[presented.assertion.issuer] as { readonly jwksUri: string };
  const ofHost = { isStranger: false, mayFetch: () => true } as const;
  const wrong = await signatureProblemAt(
    (question) => fetchKeys(jwksUri, { ...question, ...ofHost }),
    presented,
  );
  if (wrong !== undefined) throw identityRefusal(`identity-${wrong}`);
  return presented;
}

/** True for an assertion that is proven. @throws OAuthError `temporarily_unavailable` when the keys cannot be had */
export function isVouchedFor(
  ports: IdentityAssertionPorts,
  presented: Parameters<IsVouchedFor>[0],
): Promise<boolean> {
  return provenIdentity(ports, presented).then(
    () => true,
    (thrown: unknown) => {
      if (thrown instanceof OAuthError && thrown.error === "invalid_grant") return false;
      throw thrown;
    },
  );
}

/** Refusals of what the assertion leaves to the client. */
export const vouchedScopeReasons = {
  "identity-scopes-without-common":
    "the assertion and the request have no scope in common that the client may have at this API. Where the assertion has no scope, it allows defaultScopes of the API",
} as const;

/** What the provider allows, the client asks for and its subscription has, with what that implies. A provider that names none allows the API's defaults. */
function scopesOf(
  { emit }: GrantPorts,
  { request, scopes }: { request: ClientRequest; scopes: readonly string[] | undefined },
): readonly string[] {
  const { issuer, client, parameters } = request;
  const sent = parameters.get("scope");
  const { requestedScopes, ignoredScopes } =
    sent === undefined && scopes
      ? { requestedScopes: scopes, ignoredScopes: [] }
      : checkRequestedScopes(sent, request);
  reportIgnoredScopes(emit, { request, ignoredScopes });
  const allowed = intersect(scopes ?? issuer.api.defaultScopes, registeredScopes(client, issuer));
  const left = intersect(requestedScopes, allowed);
  if (left.length > 0 || requestedScopes.length === 0) return withImplied(left, request);
  throw new OAuthError("invalid_scope", {
    description: "The assertion allows the client none of these scopes.",
    ...because(vouchedScopeReasons, "identity-scopes-without-common"),
  });
}

/** Stores the authorization, looks again whether anything has ended it, and makes its token. Otherwise nothing of it stays. */
async function bear(
  ports: GrantPorts,
  {
    birth,
    ...issue
  }: { birth: Birth; request: ClientRequest; authorization: Authorization; decided: DecidedToken },
): Promise<string> {
  const { authorizations } = ports.storage;
  const { authorizationId, now } = birth;
  try {
    await authorizations.create(issue.authorization, now);
    // as a code that was redeemed: those that nobody has used push out each other
    await allStored([checkBirth(ports, birth), authorizations.noteUse(authorizationId, now)]);
    return await issueAccessToken(ports, issue);
  } catch (failure) {
    await eraseAfter(failure, { ...ports, birth });
    throw failure;
  }
}

/**
 * One assertion is one authorization, which account pages list and every end reaches. It lives as long as its token, for there is no refresh
 * token (§4.4.3): the provider is asked again, who may have ended its trust. The assertion is spent before anything is stored, so a lost
 * answer costs the client a new one.
 */
export async function exchangeIdentityAssertion(
  ports: GrantPorts,
  request: ClientRequest,
): Promise<TokenResponse> {
  const { clock, emit } = ports;
  // an issuer has the grant only with them
  const by = ports.identityAssertions as IdentityAssertionPorts;
  const { issuer, client, parameters, key, now } = request;
  const { clientId } = client;
  const text = requireParameter(parameters, "assertion");
  const presented = await provenIdentity(by, { text, issuer, clientId });
  const { assertion, claims, boundKey } = presented;
  if (boundKey !== undefined && boundKey !== key) throw identityRefusal("identity-key-not-proven");
  const grantedScopes = scopesOf(ports, { request, scopes: assertion.scopes });
  const person = await by.vouch({ assertion, request });
  const allowed = { ...person, request, grantedScopes, now };
  const { refreshableUntil: _, ...record } = newAuthorization(ports.randomId(), allowed);
  const authorization = { ...record, expiresAt: now + issuer.api.accessTokenSeconds };
  const proposal = { grantType: assertionGrant, request, authorization, scopes: grantedScopes } as const;
  const decided = await decideToken(ports, { ...proposal, isNew: true });
  checkAlive(ports, { request, decided });
  const used = usedIdentity(presented);
  // the host has thought meanwhile: an assertion that has expired could have been used and forgotten
  const spentAt = clock();
  if (spentAt >= used.expiresAt) throw identityRefusal("identity-assertion-expired");
  if (!(await isFirstUse(by.storage, { used, now: spentAt })))
    throw identityRefusal("identity-assertion-used-before");
  const { authorizationId, subject } = authorization;
  const birth = {
    ...person,
    authorizationId,
    now,
    refusal: () => identityRefusal("identity-ended-meanwhile"),
  };
  const accessToken = await bear(ports, { birth, request, authorization, decided });
  const { scopes } = decided;
  const event = { kind: "token-issued", grantType: assertionGrant, issuer: issuer.identifier } as const;
  emit({ ...event, clientId, subject, authorizationId, scopes });
  const resource = claims.resource === undefined ? undefined : issuer.api.audience;
  return tokenAnswer(ports, { request, decided, accessToken, refreshToken: undefined, resource });
}
