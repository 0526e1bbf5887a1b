/** From checked options to the values that all other code works with. Every default is filled in here, and only here. */
import { createHmac, randomBytes } from "node:crypto";
import type { ConsentAdapter } from "../interaction/port";
import { scopesOf } from "../pages/identity-scopes";
import { followImplications } from "../protocol/requested-scopes";
import {
  type Api,
  type ImpliedScopes,
  type Issuer,
  issuerIdentifier,
  type Lifetimes,
  protectedResourceMetadataUrl,
} from "../protocol/issuer";
import type { EpochSeconds } from "../protocol/time";
import { generateSigningKey, type PrivateJwk, type SigningKey } from "../signing/signing-key";
import type { SigningAlgorithm } from "../signing/verification-key";
import {
  type ApiOptions,
  type AuthServerOptions,
  defaultLifetimes,
  type DpopOptions,
  isScopeOptions,
} from "./options";
import { idTokenAlgorithms, resolveOpenId } from "./openid";
import { accessAlgorithms, fapi2Rules } from "./profile";
import { readSigningKeys } from "./signing-keys";
import { resolveExchange } from "./token-exchange";

/** The options that need no resolving. */
type GivenAsTheyAre = Pick<
  AuthServerOptions,
  "baseUrl" | "storage" | "authMethods" | "onEvent" | "tokens" | "rateLimit" | "apis"
>;

/** The options with every default filled in, and everything that can be computed from them alone. */
export interface ResolvedOptions
  extends
    GivenAsTheyAre,
    Required<Pick<AuthServerOptions, "consent" | "pages" | "lastUses" | "insecureLoopbackClients">> {
  /** One issuer for each valid (authentication method, API) pair. */
  readonly issuers: readonly Issuer[];
  /** The secrets that seal pending requests, the newest first. Derived from the host's secrets for this `baseUrl`. */
  readonly secrets: readonly [string, ...string[]];
  /** The keys that sign and verify tokens, in the host's order. */
  readonly signingKeys: readonly SigningKey[];
  /** Those of ID tokens, none where no API has `openid`; and the only ones for access tokens, `undefined` for any. */
  readonly algorithms: Readonly<{
    idAlgorithms: readonly string[];
    accessAlgorithms: readonly string[] | undefined;
  }>;
  /** The options that the host left out and for which this process generated a value. */
  readonly temporary: readonly ("secrets" | "signingKeys")[];
  /** 0 when storage is asked every time. */
  readonly revocationLagSeconds: number;
  /** Lower-case schemes without a dot; empty when none is allowed. */
  readonly redirectSchemes: readonly string[];
}

const defaultAccessTokenSeconds = 3_600;
const defaultRevocationLagSeconds = 5;

/** The default adapter: people are asked on the built-in page. */
const askingConsent: ConsentAdapter = { decide: () => ({ kind: "ask" }) };

/** True when `NODE_ENV` is `production`. */
export function isProduction(): boolean {
  return process.env["NODE_ENV"] === "production";
}

/** The lifetimes of an API: its own override those of the server, which override the defaults. */
export function resolveLifetimes(
  { lifetimes }: Pick<AuthServerOptions, "lifetimes">,
  ofApi: Pick<ApiOptions, "lifetimes"> = {},
): Lifetimes {
  return { ...defaultLifetimes, ...lifetimes, ...ofApi.lifetimes };
}

/** Scope → every scope that it implies, directly or through others. */
export function resolveImplications(api: Pick<ApiOptions, "scopes" | "openid">): ImpliedScopes {
  const direct = Object.entries(scopesOf(api)).map(
    ([name, scope]) => [name, isScopeOptions(scope) ? (scope.implies ?? []) : []] as const,
  );
  return followImplications(new Map(direct));
}

/** The option `dpop` of an API, with its defaults. */
export function resolveDpop(dpop: DpopOptions | undefined): Pick<Api, "dpop"> {
  if (!dpop) return {};
  const { tokens, publicUrl } = dpop;
  return { dpop: { required: tokens === "required", ...(publicUrl !== undefined && { publicUrl }) } };
}

function originsOf({ baseUrl, apis }: Pick<AuthServerOptions, "baseUrl" | "apis">): readonly string[] {
  return [baseUrl, ...Object.values(apis).map(({ audience }) => audience)].map((url) => new URL(url).origin);
}

function resolveApi(
  apiId: string,
  { api, options }: { api: ApiOptions; options: Pick<AuthServerOptions, "lifetimes" | "baseUrl" | "apis"> },
): Api {
  const scopes = Object.entries(scopesOf(api));
  const openid = resolveOpenId(api, options);
  const sentences = scopes.map(
    ([name, scope]) => [name, isScopeOptions(scope) ? scope.text : scope] as const,
  );
  const explanations = scopes.flatMap(([name, scope]) =>
    isScopeOptions(scope) && scope.explanation !== undefined ? [[name, scope.explanation] as const] : [],
  );
  return {
    apiId,
    name: api.name ?? apiId,
    audience: api.audience,
    scopes: Object.fromEntries(sentences),
    explanations: Object.fromEntries(explanations),
    impliedScopes: resolveImplications(api),
    defaultScopes: api.defaultScopes ?? [],
    acrValues: api.acrValues ?? [],
    accessTokenSeconds: api.accessTokenSeconds ?? defaultAccessTokenSeconds,
    accessTokenFormat: api.accessTokenFormat ?? "jwt",
    redirectUri: api.redirectUri ?? "required",
    scope: api.scope ?? "optional",
    ...(api.pushedRequests && { pushedRequests: api.pushedRequests }),
    ...(api.deviceAuthorization && { deviceAuthorization: true }),
    unknownScopes: api.unknownScopes ?? (openid ? "ignore" : "refuse"),
    refreshTokenExpiry: api.refreshTokenExpiry ?? "omit",
    lifetimes: resolveLifetimes(options, api),
    selfDescribed: {
      documents: api.clientMetadataDocuments !== undefined,
      registrations: api.clientRegistration !== undefined,
    },
    ownOrigins: originsOf(options),
    ...(openid && { openid }),
    ...resolveDpop(api.dpop),
    ...(api.profile && fapi2Rules),
    metadataUrl: protectedResourceMetadataUrl(api.audience),
    issuers: api.authMethods.map((authMethodId) =>
      issuerIdentifier(options.baseUrl, { authMethodId, apiId }),
    ),
  };
}

function resolveIssuers(options: AuthServerOptions): readonly Issuer[] {
  const apis = new Map<string, Api>();
  return Object.entries(options.apis).flatMap(([apiId, apiOptions]) => {
    const api = { ...resolveApi(apiId, { api: apiOptions, options }), ...resolveExchange(apiOptions, apis) };
    apis.set(apiId, api);
    return apiOptions.authMethods.map((authMethodId) => ({
      identifier: issuerIdentifier(options.baseUrl, { authMethodId, apiId }),
      authMethodId,
      api,
      ...(api.openid && options.authMethods[authMethodId]?.signOut && { signsOut: true }),
      ...(options.authMethods[authMethodId]?.identityAssertions && { identityAssertions: true }),
    }));
  });
}

/** Binds the secrets to `baseUrl`: what another server with the same secrets has sealed is not accepted here. */
function resolveSecrets({ secrets, baseUrl }: AuthServerOptions): ResolvedOptions["secrets"] {
  const given = secrets ?? [randomBytes(32).toString("base64url")];
  return given.map((secret) =>
    createHmac("sha256", secret).update(`authmount ${baseUrl}`).digest("base64url"),
  ) as [string, ...string[]];
}

/** A key for access tokens, and those that ID tokens need. */
function temporaryKeys(idAlgorithms: readonly SigningAlgorithm[]): readonly PrivateJwk[] {
  return [...new Set<SigningAlgorithm>(["ES256", ...idAlgorithms])].map(generateSigningKey);
}

/**
 * Fills in the defaults of options that `checkOptions` has accepted. Generates a secret or a signing key where none was given.
 *
 * @throws TypeError that names a signing key which cannot be used.
 */
export function resolveOptions(options: AuthServerOptions, now: EpochSeconds): ResolvedOptions {
  const { baseUrl, storage, authMethods, apis, onEvent, tokens, rateLimit, secrets, signingKeys } = options;
  const algorithms = {
    idAlgorithms: idTokenAlgorithms(options),
    accessAlgorithms: accessAlgorithms(options),
  };
  return {
    baseUrl,
    storage,
    authMethods,
    apis,
    ...(onEvent && { onEvent }),
    ...(tokens && { tokens }),
    ...(rateLimit && { rateLimit }),
    consent: options.consent ?? askingConsent,
    pages: options.pages ?? {},
    issuers: resolveIssuers(options),
    secrets: resolveSecrets(options),
    signingKeys: readSigningKeys(signingKeys ?? temporaryKeys(algorithms.idAlgorithms), {
      by: "createAuthServer",
      ...algorithms,
      now,
    }),
    algorithms,
    temporary: [secrets ? [] : ["secrets" as const], signingKeys ? [] : ["signingKeys" as const]].flat(),
    revocationLagSeconds: options.revocationLagSeconds ?? defaultRevocationLagSeconds,
    lastUses: options.lastUses ?? "refresh",
    redirectSchemes: options.redirectSchemes ?? [],
    insecureLoopbackClients: options.insecureLoopbackClients ?? false,
  };
}
