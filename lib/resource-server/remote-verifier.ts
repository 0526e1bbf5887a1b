/** Decides in another process whether an access token is valid at an API. RFC 9068 §4, 7662 §2.2, 7519 §4.1.1. */
import {
  type AccessToken,
  type AccessTokenClaims,
  readAccessTokenClaims,
  withinScopes,
} from "../protocol/access-token";
import { hostMistake } from "../protocol/mistake";
import { metadataUrlBelow } from "../protocol/issuer";
import type { Clock } from "../protocol/time";
import { isRandomToken } from "../protocol/token-value";
import { claimsOf, isSignedBy, parseJwt, type PresentedJwt } from "../signing/verify-jwt";
import { isJwt, type Validity } from "../tokens/read-access-token";
import {
  type AccessTokenVerdict,
  invalid,
  ofAnotherApi,
  type ReadToken,
  rememberingVerifier,
  type TokenChecks,
} from "../tokens/verify-access-token";
import type { Introspect } from "./introspect";
import type { ResourceApi } from "./options";
import {
  type ApiIssuers,
  isIssuerOf,
  type Published,
  type RemoteIssuer,
  type RemoteKey,
} from "./remote-issuers";

/** How to ask about tokens. Two ways, so that made-up texts, which anyone can send, do not delay tokens with a good signature. */
export interface Introspection {
  /** Asks about a text in the form of an opaque token. */
  readonly opaque: Introspect;
  /** Asks about a JWT, once its signature is verified. */
  readonly signed: Introspect;
}

/** What verifying tokens of another server needs. */
export interface RemoteVerifyPorts {
  readonly published: Published;
  /** The issuers of the API. */
  readonly issuers: ApiIssuers;
  /** `undefined` when the options have no `introspection`. */
  readonly introspection: Introspection | undefined;
  readonly clock: Clock;
  readonly revocationLagSeconds: number;
}

const unknownToken = invalid("token-key-not-published");

/** The issuer's metadata. @throws Error when it can't be had, or is that of an issuer of another API */
async function metadataOf(
  { issuers }: Published,
  { issuer, api }: { issuer: string; api: ResourceApi },
): Promise<RemoteIssuer> {
  const metadata = await issuers.find(metadataUrlBelow(issuer));
  const { resources } = metadata;
  if (!resources || resources.includes(api.audience)) return metadata;
  throw hostMistake(
    "issuer-of-another-api",
    `resource server: the issuer ${issuer} serves another API than ${api.audience} (protected_resources, RFC 9728 §4). Compare audience and issuers with the options of createAuthServer.`,
  );
}

/** The key that a JWT names, from the issuer's key set. An unknown `kid` has the set asked for again. @rfc 7517 §4.5 */
async function keyFor(
  { keySets }: Published,
  { jwt, jwksUri }: { jwt: PresentedJwt; jwksUri: string },
): Promise<RemoteKey | undefined> {
  if (typeof jwt.kid !== "string") return undefined;
  const known = (await keySets.find(jwksUri)).get(jwt.kid);
  return known ?? (await keySets.refresh(jwksUri)).get(jwt.kid);
}

function toToken(claims: AccessTokenClaims, { api, key }: { api: ResourceApi; key?: RemoteKey }): ReadToken {
  const accessToken = readAccessTokenClaims(claims, api.audience);
  if (accessToken) return { kind: "genuine", accessToken, key };
  return claims["aud"] === api.audience ? unknownToken : ofAnotherApi;
}

interface PresentedToken {
  readonly token: string;
  readonly api: ResourceApi;
}

async function readJwt(
  { published, issuers }: RemoteVerifyPorts,
  { token, api }: PresentedToken,
): Promise<ReadToken> {
  const jwt = parseJwt(token);
  const claims = jwt && claimsOf(jwt);
  if (!jwt || !claims) return unknownToken;
  const { iss } = claims;
  const { baseUrl } = api;
  // it chooses among known issuers: what a stranger writes there is never asked for
  if (typeof iss !== "string" || !(await isIssuerOf(issuers, { identifier: iss, baseUrl })))
    return ofAnotherApi;
  const { jwksUri } = await metadataOf(published, { issuer: iss, api });
  const key = jwksUri === undefined ? undefined : await keyFor(published, { jwt, jwksUri });
  return key && isSignedBy(jwt, key) ? toToken(claims, { api, key }) : unknownToken;
}

async function ask(
  { published, introspection }: RemoteVerifyPorts,
  { token, api, issuer }: PresentedToken & { issuer: string },
): ReturnType<Introspect> {
  const { introspectionEndpoint } = await metadataOf(published, { issuer, api });
  const introspect = introspection?.[isJwt(token) ? "signed" : "opaque"];
  if (introspect && introspectionEndpoint !== undefined)
    return introspect(introspectionEndpoint, { issuer, token });
  throw hostMistake(
    "introspection-endpoint-missing",
    `resource server: the metadata of the issuer ${issuer} has no introspection_endpoint below the issuer. Compare baseUrl and issuers with the options of createAuthServer.`,
  );
}

/** Any issuer of the API knows the tokens of all of them. When asking the first one fails, it may have gone since. */
async function askFirst(ports: RemoteVerifyPorts, presented: PresentedToken): ReturnType<Introspect> {
  const [issuer = ""] = await ports.issuers.find();
  try {
    return await ask(ports, { ...presented, issuer });
  } catch (failure) {
    const [first = ""] = await ports.issuers.refresh();
    if (first === issuer) throw failure;
    return ask(ports, { ...presented, issuer: first });
  }
}

async function readOpaque(ports: RemoteVerifyPorts, presented: PresentedToken): Promise<ReadToken> {
  // nothing else was ever issued as an opaque token, so nobody needs to be asked
  if (!isRandomToken(presented.token)) return unknownToken;
  if (!ports.introspection) return invalid("token-opaque");
  const { api } = presented;
  const introspected = await askFirst(ports, presented);
  if (!introspected.active) return invalid("token-inactive");
  const read = toToken(introspected.claims, { api });
  if (read.kind === "invalid") return read;
  const identifier = read.accessToken.issuer;
  return (await isIssuerOf(ports.issuers, { identifier, baseUrl: api.baseUrl })) ? read : ofAnotherApi;
}

/** The token as the authorization server tells of it now, which may be of fewer scopes; `undefined` when it has ended. */
async function asItStands(
  ports: RemoteVerifyPorts,
  { accessToken, ...presented }: PresentedToken & { accessToken: AccessToken },
): Promise<AccessToken | undefined> {
  const introspected = await ask(ports, { ...presented, issuer: accessToken.issuer });
  if (!introspected.active) return undefined;
  const told = readAccessTokenClaims(introspected.claims, presented.api.audience);
  // the answer is about this token, or it is worth nothing
  return told?.tokenId === accessToken.tokenId ? withinScopes(accessToken, told.scopes) : undefined;
}

/** A verifier for one API. It throws when the authorization server is needed and does not answer. */
export function remoteVerifier(
  ports: RemoteVerifyPorts,
  api: ResourceApi,
): (token: string) => Promise<AccessTokenVerdict> {
  const { published, introspection, clock, revocationLagSeconds: lagSeconds } = ports;
  const checks: TokenChecks = {
    read: (token) => (isJwt(token) ? readJwt(ports, { token, api }) : readOpaque(ports, { token, api })),
    trusts(key) {
      // every key of this verifier is from a key set
      const { publishedAt, kid } = key as RemoteKey;
      return published.keySets.fresh(publishedAt)?.get(kid) === key;
    },
    async validityOf(accessToken, { token, now }): Promise<Validity> {
      const valid = { kind: "valid", accessToken, asOf: now } as const;
      // what was asked about an opaque token has said so
      if (!isJwt(token)) return valid;
      // a JWT that is remembered is not read again, and its issuer may have gone since
      const identifier = accessToken.issuer;
      if (!(await isIssuerOf(ports.issuers, { identifier, baseUrl: api.baseUrl })))
        return { kind: "ended", code: ofAnotherApi.code };
      if (!introspection) return valid;
      const left = await asItStands(ports, { token, api, accessToken });
      return left ? { ...valid, accessToken: left } : { kind: "ended", code: "token-inactive" };
    },
  };
  return rememberingVerifier(checks, { lagSeconds, clock });
}
