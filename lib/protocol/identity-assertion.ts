/** Identity assertions (ID-JAG): the signed JWT by which an identity provider vouches for a person. draft-ietf-oauth-identity-assertion-authz-grant-03 §3, §4.4.1; RFC 7523 §3; 8725 §3.11. */
import {
  type AssertionProblem,
  isTime,
  oneAudience,
  readSigned,
  type SignedParts,
  toleranceSeconds,
} from "./client-assertion";
import type { SignInFacts } from "./authorization";
import type { AuthorizationContext } from "./authorization-context";
import type { EndKeys } from "./end-mark";
import { frozen, isTextList } from "./host-json";
import { type Issuer, isResourceOf } from "./issuer";
import type { TextParts } from "./mistake";
import { because, OAuthError } from "./oauth-error";
import { parseScope } from "./scope";
import type { JsonObject } from "./signed-jwt";
import type { EpochSeconds } from "./time";
import { digestToken, type TokenDigest } from "./token-value";

/** What an identity provider says of a person. Its signature and the rules for all of it were checked. It is frozen. */
export interface IdentityAssertion {
  /** The identity provider (`iss`): one of `issuers`. */
  readonly issuer: string;
  /** The person there (`sub`). Two tenants of one provider may use the same one for two people. */
  readonly subject: string;
  /** The tenant there (`tenant`), where the provider has several. */
  readonly tenant?: string;
  /** Not proof of who somebody is: a provider can write any address. */
  readonly email?: string;
  /** The person as your app knows them, if the provider has been told that (`aud_sub`, `aud_tenant`). */
  readonly localSubject?: { readonly subject: string; readonly tenant?: string };
  /** What the provider allows the client. Left out: it does not say. */
  readonly scopes?: readonly string[];
  /** When the person signed in there. */
  readonly authTime?: EpochSeconds;
  readonly acr?: string;
  readonly amr?: readonly string[];
}

/** The person of an assertion, as the host knows them. */
export interface VouchedPerson {
  readonly subject: string;
  readonly facts: SignInFacts;
  readonly context: AuthorizationContext | undefined;
  /** The keys of all marks that can end what is issued now, and those marks that are there. */
  readonly endKeys: EndKeys;
  readonly endMarks: readonly string[];
}

/** Why an identity assertion is refused. For events: the client gets the same answer for every one, and no text contains anything of it. */
export const identityAssertionReasons = {
  "identity-assertion-unreadable": (problem: AssertionProblem): string =>
    `the assertion is no ID-JAG (${problem}): it must be a signed JWT of at most 8192 characters with typ oauth-id-jag+jwt, an alg that client assertions may have, kid as a string and no crit. An ID token is none: the client must exchange it at its identity provider`,
  "identity-claim-malformed": (claim: string): string =>
    `${claim} of the assertion is missing or malformed (draft-ietf-oauth-identity-assertion-authz-grant-03 §3.1): iss, sub, aud, client_id, jti, exp and iat are required, and aud_tenant needs aud_sub`,
  "identity-issuer-unknown":
    "iss of the assertion is none of identityAssertions.issuers of this authentication method, character for character: add the identity provider there, or have the client ask another one",
  "identity-audience-wrong":
    "aud of the assertion is not this issuer, as text or a list of one: the client must name it as audience at its identity provider",
  "identity-client-differs":
    "client_id of the assertion is not the client that sent it: the identity provider must know the client by the id that it has here",
  "identity-assertion-expired": "the assertion has expired: the client must get a new one for each token",
  "identity-assertion-lives-too-long":
    "exp of the assertion is more than an hour ahead: let the identity provider issue shorter ones; it is in seconds, not milliseconds",
  "identity-assertion-from-the-future": "iat or nbf of the assertion is in the future: check both clocks",
  "identity-resource-differs":
    "resource of the assertion does not contain the audience of this API: the client must name it as resource at its identity provider, or leave it out",
  "identity-assertion-of-actor":
    "the assertion has act or authorization_details, which are not supported: what they restrict would be lost",
  "identity-key-not-proven":
    "the assertion has cnf, and the request has no DPoP proof of exactly that key (RFC 9449 §6.1): send one; the API must have dpop",
  "identity-assertion-kid-unknown":
    "no key at the identity provider's jwksUri has the kid of the assertion: check jwksUri in identityAssertions.issuers",
  "identity-assertion-fits-no-key":
    "no key at the identity provider's jwksUri fits alg of the assertion: check kty, crv, alg, use and key_ops there",
  "identity-assertion-signature-wrong":
    "no key at the identity provider's jwksUri verifies the signature of the assertion: check jwksUri in identityAssertions.issuers",
  "identity-assertion-used-before":
    "the assertion was used before: what was ended would come back, so the client must get a new one for each token",
  "identity-denied": "identityAssertions.accept denied the person",
  "identity-ended-meanwhile":
    "while this request was under way, the person, the client, the API or what the one allowed the other was ended: get a new assertion",
} as const;

/** Which of them. */
export type IdentityProblem = keyof typeof identityAssertionReasons;

/** The refusal of an assertion: the client always gets the same text. */
export function identityRefusal<Code extends IdentityProblem>(
  code: Code,
  ...parts: TextParts<(typeof identityAssertionReasons)[Code]>
): OAuthError {
  return new OAuthError("invalid_grant", {
    description: "The assertion is invalid, expired, used or not for this client.",
    ...because(identityAssertionReasons, code, ...parts),
  });
}

/** Claims that have the right form. */
interface Claims {
  readonly aud: unknown;
  readonly client_id: string;
  readonly jti: string;
  readonly exp: number;
  readonly iat: number;
  readonly nbf?: number;
  readonly resource?: string | readonly string[];
}

/** An assertion that has the right form. Neither what it says nor its signature has been checked. */
export interface PresentedIdentity extends Omit<SignedParts, "payload"> {
  readonly claims: Claims;
  readonly assertion: IdentityAssertion;
  /** Thumbprint of the key that the client must prove. */
  readonly boundKey: string | undefined;
}

/** Why a text is not an identity assertion. */
export type UnreadableIdentity = { readonly unreadable: AssertionProblem } | { readonly malformed: string };

const maxTextCharacters = 255;
const maxSecondsAhead = 3_600;

/** No database stores other text unchanged, and two people must not become one. */
function isText(value: unknown): value is string {
  return (
    typeof value === "string" && /^[^\0\p{Surrogate}]+$/u.test(value) && value.length <= maxTextCharacters
  );
}

/** Where the key is named in another way than by `jkt`, nothing here could compare it. @rfc 9449 §6.1 */
function readBoundKey(cnf: unknown): string | undefined {
  const { jkt, ...others } = (cnf ?? {}) as JsonObject;
  return typeof jkt === "string" && Object.keys(others).length === 0 ? jkt : undefined;
}

type Form = (value: unknown, payload: JsonObject) => boolean;

const optional =
  (isGood: (value: unknown) => boolean): Form =>
  (value) =>
    value === undefined || isGood(value);

/** Claim → whether it has the form that it must have. */
const forms: Readonly<Record<string, Form>> = {
  iss: (value) => typeof value === "string",
  sub: isText,
  aud: (value) => oneAudience(value) !== undefined,
  client_id: isText,
  jti: isText,
  exp: isTime,
  iat: isTime,
  nbf: optional(isTime),
  resource: optional((value) => isTextList([value].flat())),
  scope: optional((value) => typeof value === "string" && parseScope(value) !== undefined),
  tenant: optional(isText),
  email: optional(isText),
  aud_sub: (value, { aud_tenant: tenant }) => (value === undefined ? tenant === undefined : isText(value)),
  aud_tenant: optional(isText),
  auth_time: optional(Number.isSafeInteger),
  acr: optional(isText),
  amr: optional(isTextList),
  cnf: optional((value) => readBoundKey(value) !== undefined),
};

/** What the host is told. The forms were checked. */
function toAssertion(payload: JsonObject): IdentityAssertion {
  const { iss, sub, tenant, email, aud_sub: local, aud_tenant: localTenant, ...claims } = payload;
  const { scope, auth_time: authTime, acr, amr } = claims;
  const localSubject = local !== undefined && {
    localSubject: { subject: local, ...(localTenant !== undefined && { tenant: localTenant }) },
  };
  return frozen({
    issuer: iss,
    subject: sub,
    ...(tenant !== undefined && { tenant }),
    ...(email !== undefined && { email }),
    ...localSubject,
    ...(scope !== undefined && { scopes: parseScope(scope as string) }),
    ...(authTime !== undefined && { authTime }),
    ...(acr !== undefined && { acr }),
    ...(amr !== undefined && { amr }),
  }) as IdentityAssertion;
}

/** Reads the form of an identity assertion. @rfc 7515 §5.2, 8725 §3.11, draft-ietf-oauth-identity-assertion-authz-grant-03 §3.1 */
export function parseIdentityAssertion(text: string): PresentedIdentity | UnreadableIdentity {
  const read = readSigned(text, (typ) => typ === "oauth-id-jag+jwt");
  if ("problem" in read) return { unreadable: read.problem };
  const { payload, ...signed } = read;
  const [malformed] = Object.entries(forms).find(([name, isGood]) => !isGood(payload[name], payload)) ?? [];
  if (malformed !== undefined) return { malformed };
  const claims = payload as unknown as Claims;
  return { ...signed, claims, assertion: toAssertion(payload), boundKey: readBoundKey(payload["cnf"]) };
}

/** What the claims must say. */
export interface ExpectedIdentity {
  readonly issuer: Issuer;
  readonly clientId: string;
  /** The identity providers that may vouch for people here. */
  readonly providers: Readonly<Record<string, unknown>>;
  readonly now: EpochSeconds;
}

/** Which rule the claims break, or `undefined` when they are good. Whether the client has the key of `boundKey` is for the caller. */
export function identityProblem(
  { assertion, claims }: PresentedIdentity,
  { issuer, clientId, providers, now }: ExpectedIdentity,
): IdentityProblem | undefined {
  const { aud, client_id: ofClient, exp, iat, nbf = iat, resource } = claims;
  const latest = now + toleranceSeconds;
  if (!Object.hasOwn(providers, assertion.issuer)) return "identity-issuer-unknown";
  if (oneAudience(aud) !== issuer.identifier) return "identity-audience-wrong";
  if (ofClient !== clientId) return "identity-client-differs";
  if (now >= exp + toleranceSeconds) return "identity-assertion-expired";
  if (exp > latest + maxSecondsAhead) return "identity-assertion-lives-too-long";
  if (iat > latest || nbf > latest) return "identity-assertion-from-the-future";
  if (resource !== undefined && ![resource].flat().some((name) => isResourceOf(issuer, name)))
    return "identity-resource-differs";
  return "act" in claims || "authorization_details" in claims ? "identity-assertion-of-actor" : undefined;
}

/**
 * What is stored of an identity assertion that has been used: a digest that stands for the provider and its `jti`, and the moment from
 * which the assertion is refused because of its age. Client assertions have digests of two texts, so the two never meet.
 *
 * @rfc 7523 §3
 */
export function usedIdentity({ assertion: { issuer }, claims }: PresentedIdentity): {
  readonly digest: TokenDigest;
  readonly clientId: string;
  readonly expiresAt: EpochSeconds;
} {
  const { jti, client_id: clientId, exp } = claims;
  const digest = digestToken(JSON.stringify(["identity assertion", issuer, jti]));
  return { digest, clientId, expiresAt: Math.ceil(exp) + toleranceSeconds };
}
