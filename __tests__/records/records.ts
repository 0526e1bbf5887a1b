/** Plain records for tests of rules and ports, without a server: each takes what the test is about. */
import type {
  Authorization,
  AuthorizationCode,
  ConfidentialClient,
  Consent,
  PublicClient,
  RefreshToken,
  Storage,
} from "../../lib";
import type { AccessToken } from "../../lib/protocol/access-token";
import { defaultLifetimes } from "../../lib";
import { generateClientSecret } from "../../lib/clients/client-secret";
import type { RegistrationMetadata } from "../../lib/clients/port";
import type { PendingRequest } from "../../lib/interaction/pending-request";
import type { Api, Issuer } from "../../lib/protocol/issuer";
import { digestToken, parseTokenHandle } from "../../lib/protocol/token-value";
import type { ResourceApi } from "../../lib/resource-server/options";

/** The digest of a secret that nobody knows. */
export const { digest: secretDigest } = generateClientSecret();

/** A web client with a secret. */
export function confidentialRecord(changes: Partial<ConfidentialClient> = {}): ConfidentialClient {
  return {
    clientId: "web",
    name: "Web Shop",
    confidential: true,
    secretDigests: [secretDigest],
    redirectUris: ["https://web.example/callback"],
    subscriptions: { orders: {} },
    ...changes,
  };
}

/** A client without a secret, on this platform. */
export function publicRecord(
  platform: PublicClient["platform"],
  changes: Partial<PublicClient> = {},
): PublicClient {
  return {
    clientId: platform === "native" ? "phone" : "spa",
    name: "Public App",
    confidential: false,
    platform,
    redirectUris: ["https://public.example/callback"],
    subscriptions: { orders: {} },
    ...changes,
  };
}

/** An API with two scopes. */
export function apiRecord(changes: Partial<Api> = {}): Api {
  return {
    apiId: "orders",
    name: "Orders",
    audience: "https://api.example/orders",
    scopes: { "orders:read": "See your orders", "orders:write": "Change your orders" },
    explanations: {},
    impliedScopes: new Map(),
    defaultScopes: ["orders:read"],
    accessTokenSeconds: 600,
    accessTokenFormat: "jwt",
    redirectUri: "required",
    scope: "optional",
    unknownScopes: "refuse",
    refreshTokenExpiry: "omit",
    lifetimes: defaultLifetimes,
    selfDescribed: { documents: false, registrations: false },
    ownOrigins: ["https://host.example", "https://api.example"],
    metadataUrl: "https://api.example/.well-known/oauth-protected-resource/orders",
    issuers: ["https://host.example/login/auth/password/api/orders"],
    ...changes,
  };
}

/** The issuer of an API; another `authMethodId` makes it another issuer of that API. */
export function issuerRecord(api: Partial<Api> = {}, authMethodId = "password"): Issuer {
  const { apiId } = apiRecord(api);
  const identifier = `https://host.example/login/auth/${authMethodId}/api/${apiId}`;
  return { identifier, authMethodId, api: apiRecord({ issuers: [identifier], ...api }) };
}

/** That API in a process of its own, which finds its issuers by metadata. */
export function resourceApiRecord(changes: Partial<ResourceApi> = {}): ResourceApi {
  const { apiId, name, audience, metadataUrl } = apiRecord();
  return {
    apiId,
    name,
    audience,
    metadataUrl,
    baseUrl: "https://host.example/login",
    scopes: { "orders:read": "orders:read", "orders:write": "orders:write" },
    defaultScopes: [],
    issuers: undefined,
    ...changes,
  };
}

/** What a browser keeps of a request of `web` at that issuer. */
export function pendingRecord(changes: Partial<PendingRequest> = {}): PendingRequest {
  return {
    interactionId: "I".repeat(22),
    authMethodId: "password",
    apiId: "orders",
    parameters: {},
    shownScopes: [],
    began: 1_000,
    expiresAt: 2_000,
    ...changes,
  };
}

/** What Alice allows `web` at that API until further notice. */
export function consentRecord(changes: Partial<Consent> = {}): Consent {
  return {
    subject: "alice",
    clientId: "web",
    apiId: "orders",
    scopes: ["orders:read"],
    grantedAt: 900,
    expiresAt: 9_000,
    endMarks: [],
    ...changes,
  };
}

/** What Alice has approved for `web` at that API. */
export function authorizationRecord(changes: Partial<Authorization> = {}): Authorization {
  return {
    authorizationId: "A".repeat(22),
    issuer: "https://host.example/login/auth/password/api/orders",
    authMethodId: "password",
    apiId: "orders",
    clientId: "web",
    subject: "alice",
    grantedScopes: ["orders:read"],
    createdAt: 1_000,
    expiresAt: 9_000,
    endMarks: [],
    revoked: false,
    ...changes,
  };
}

/** A code of `authorizationRecord()`, named by `token`. */
export function codeRecord(token = "a code", changes: Partial<AuthorizationCode> = {}): AuthorizationCode {
  return {
    authorizationId: "A".repeat(22),
    digest: digestToken(token),
    redirectUri: "https://web.example/callback",
    redeemBefore: 1_060,
    expiresAt: 1_660,
    consumed: false,
    ...changes,
  };
}

/** A refresh token of `authorizationRecord()`, named by `token`. */
export function refreshTokenRecord(
  token = "a refresh token",
  changes: Partial<RefreshToken> = {},
): RefreshToken {
  return {
    authorizationId: "A".repeat(22),
    digest: digestToken(token),
    expiresAt: 2_000,
    used: false,
    ...changes,
  };
}

/** An access token of that authorization. */
export function accessTokenRecord(changes: Partial<AccessToken> = {}): AccessToken {
  return {
    tokenId: "T".repeat(22),
    issuer: "https://host.example/login/auth/password/api/orders",
    clientId: "web",
    subject: "alice",
    scopes: ["orders:read"],
    issuedAt: 1_000,
    expiresAt: 1_600,
    authorizationId: "A".repeat(22),
    ...changes,
  };
}

/** What a web app has sent to be registered, checked. */
export function checkedMetadata(changes: Partial<RegistrationMetadata> = {}): RegistrationMetadata {
  return {
    redirect_uris: ["https://app.example/callback"],
    token_endpoint_auth_method: "client_secret_basic",
    grant_types: ["authorization_code"],
    sent: {},
    ...changes,
  };
}

/** Stores this text as an unused code and as an unused refresh token, both of the authorization that it names. */
export async function storeGrants(
  { authorizationCodes, refreshTokens }: Pick<Storage, "authorizationCodes" | "refreshTokens">,
  { text, now }: { text: string; now: number },
): Promise<void> {
  const handle = parseTokenHandle(text);
  if (!handle) throw new Error("the text has not the form of a code");
  const stored = { ...handle, expiresAt: now + 60 };
  const redirectUri = "https://web.example/callback";
  await authorizationCodes.create({ ...stored, redirectUri, redeemBefore: now + 60, consumed: false }, now);
  await refreshTokens.create({ ...stored, used: false }, now);
}
