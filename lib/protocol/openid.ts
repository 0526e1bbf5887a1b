/** OpenID Connect: the scopes that tell of a person, the claims that they open, and ID tokens. OpenID Connect Core §2, §3.1.3.3, §5.1, §5.4. */
import type { AuthenticationFacts, Authorization } from "./authorization";
import { type Api, type ApiOpenId, type Issuer, ownScopes } from "./issuer";
import type { EpochSeconds } from "./time";

/** The scope of a request for a sign-in. It opens `sub` alone. @rfc OpenID Connect Core §3.1.2.1 */
export const signInScope = "openid";

/** Scope → the claims that it opens. @rfc OpenID Connect Core §5.4 */
export const standardClaims = {
  openid: [],
  profile: [
    "name",
    "family_name",
    "given_name",
    "middle_name",
    "nickname",
    "preferred_username",
    "profile",
    "picture",
    "website",
    "gender",
    "birthdate",
    "zoneinfo",
    "locale",
    "updated_at",
  ],
  email: ["email", "email_verified"],
  address: ["address"],
  phone: ["phone_number", "phone_number_verified"],
} as const;

/** True where this scope asks for a sign-in, and not for what an API without `openid` may call so. */
export function isSignIn({ openid }: Pick<Api, "openid">, scope: string): boolean {
  return openid !== undefined && scope === signInScope;
}

/** The issuer as a client sees it that acts on its own behalf: nobody is there of whom it could be told. */
export function withoutPeople(issuer: Issuer): Issuer {
  const { api } = issuer;
  if (!api.openid) return issuer;
  const own = ownScopes(api);
  const scopes = Object.fromEntries(Object.entries(api.scopes).filter(([name]) => own.includes(name)));
  return { ...issuer, api: { ...api, scopes } };
}

/**
 * Claims about a person. Those of OpenID Connect Core §5.1 have their types there. One that is `undefined` is left out, and so is `null`.
 *
 * @rfc OpenID Connect Core §5.1
 */
export interface IdentityClaims {
  readonly email_verified?: boolean | undefined;
  readonly phone_number_verified?: boolean | undefined;
  /** Seconds since 1970. */
  readonly updated_at?: number | undefined;
  readonly address?: object | undefined;
  readonly [claim: string]: unknown;
}

/** The claims that only the server may state. */
const reserved = new Set(
  "iss sub aud exp nbf iat jti auth_time nonce acr amr azp at_hash c_hash s_hash sid cnf sub_jwk act may_act events __proto__".split(
    " ",
  ),
);

/** True for a claim that only the server may state. */
export function isReservedClaim(name: string): boolean {
  return reserved.has(name);
}

/** Of the JSON text of all claims. Relying parties keep ID tokens in cookies. */
const maxBytes = 4_096;

/** The types of claims whose name is in Core §5.1. A text `"false"` would be true at many relying parties. */
const typeOf: Readonly<Record<string, "string" | "boolean" | "number" | "object">> = {
  ...Object.fromEntries(
    Object.values(standardClaims)
      .flat()
      .map((name) => [name, "string"] as const),
  ),
  email_verified: "boolean",
  phone_number_verified: "boolean",
  updated_at: "number",
  address: "object",
};

/** What is wrong with claims about a person, or `undefined` when nothing is. */
export function identityClaimsProblem(claims: Readonly<Record<string, unknown>>): string | undefined {
  const taken = Object.keys(claims).find(isReservedClaim);
  if (taken !== undefined) return `${taken} is a claim that only the server may set`;
  const wrong = Object.keys(claims).find((name) => {
    const wanted = Object.hasOwn(typeOf, name) ? typeOf[name] : undefined;
    return wanted !== undefined && (typeof claims[name] !== wanted || Array.isArray(claims[name]));
  });
  if (wrong !== undefined) return `${wrong} must be of type ${typeOf[wrong]} (OpenID Connect Core §5.1)`;
  return Buffer.byteLength(JSON.stringify(claims)) > maxBytes
    ? `the claims must not be larger than ${maxBytes} bytes as JSON`
    : undefined;
}

/** Those of the claims that these scopes open. @rfc OpenID Connect Core §5.4 */
export function openedClaims(
  claims: Readonly<Record<string, unknown>>,
  { scopes, openid }: { readonly scopes: readonly string[]; readonly openid: ApiOpenId },
): Readonly<Record<string, unknown>> {
  const granted = Object.entries(openid.claims).filter(([scope]) => scopes.includes(scope));
  const opened = new Set(granted.flatMap(([, names]) => names));
  return Object.fromEntries(Object.entries(claims).filter(([name]) => opened.has(name)));
}

/** What an ID token is made of. */
export interface IdToken {
  readonly authorization: Pick<Authorization, "issuer" | "subject" | "clientId" | keyof AuthenticationFacts>;
  readonly issuedAt: EpochSeconds;
  readonly expiresAt: EpochSeconds;
  readonly nonce: string | undefined;
  /** About the person; none of them is reserved. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The payload of an ID token, by its wire names. JSON leaves out what is undefined. @rfc OpenID Connect Core §2 */
export function idTokenClaims({
  authorization,
  issuedAt,
  expiresAt,
  nonce,
  claims,
}: IdToken): Readonly<Record<string, unknown>> {
  const { issuer, subject, clientId, authTime, acr, amr } = authorization;
  return {
    iss: issuer,
    sub: subject,
    aud: clientId,
    iat: issuedAt,
    exp: expiresAt,
    auth_time: authTime,
    acr,
    amr,
    nonce,
    ...claims,
  };
}

/** Knows ID tokens of this server again. */
export interface IdTokenVerifier {
  /**
   * The claims of an ID token that a key of this server has signed, retired or not, or `undefined`. Does not check `exp`, issuer or audience.
   */
  verify(token: string): Readonly<Record<string, unknown>> | undefined;
  /** True for a text in the form of an ID token whose `kid` is of no key of this server, such as one that was dropped. */
  isOfNoKey(token: string): boolean;
}

/** True for a subject that an ID token can have. @rfc OpenID Connect Core §2 */
export function isIdTokenSubject(subject: string): boolean {
  return /^[\x20-\x7e]{1,255}$/.test(subject);
}
