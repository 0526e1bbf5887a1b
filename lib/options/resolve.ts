/** From checked options to what everything else works with: every default is filled in here, and only here. */
import { createHmac, randomBytes } from "node:crypto";
import type { ConsentAdapter } from "../interaction/port";
import { followImplications } from "../protocol/implied-scopes";
import {
  type Api,
  type ImpliedScopes,
  type Issuer,
  type Lifetimes,
  protectedResourceMetadataUrl,
} from "../protocol/issuer";
import type { EpochSeconds } from "../protocol/time";
import { generateSigningKey, type SigningKey } from "../signing/signing-key";
import { type ApiOptions, type AuthServerOptions, defaultLifetimes, isScopeOptions } from "./options";
import { readSigningKeys } from "./signing-keys";

type GivenAsTheyAre = Pick<AuthServerOptions, "baseUrl" | "storage" | "authMethods" | "onEvent">;

/** The options with every default, and what follows from them alone. */
export interface ResolvedOptions
  extends GivenAsTheyAre, Required<Pick<AuthServerOptions, "consent" | "pages">> {
  /** One issuer for each valid pair. */
  readonly issuers: readonly Issuer[];
  /** What seals pending requests, the newest first. */
  readonly secrets: readonly [string, ...string[]];
  readonly signingKeys: readonly SigningKey[];
  /** The options for which secrets or keys were made for this process alone, as the host gave none. */
  readonly temporary: readonly ("secrets" | "signingKeys")[];
  readonly revocationLagSeconds: number;
  readonly redirectSchemes: readonly string[];
}

const defaultAccessTokenSeconds = 3_600;
const defaultRevocationLagSeconds = 5;

/** Without a consent adapter the built-in page asks. */
const askingConsent: ConsentAdapter = { decide: () => ({ kind: "ask" }) };

/** True with `NODE_ENV=production`. */
export function isProduction(): boolean {
  return process.env["NODE_ENV"] === "production";
}

/** The lifetimes of an API over those of the server over the defaults. */
export function resolveLifetimes(
  { lifetimes }: Pick<AuthServerOptions, "lifetimes">,
  ofApi: Pick<ApiOptions, "lifetimes"> = {},
): Lifetimes {
  return { ...defaultLifetimes, ...lifetimes, ...ofApi.lifetimes };
}

/** What each scope comes with. */
export function resolveImplications({ scopes }: Pick<ApiOptions, "scopes">): ImpliedScopes {
  const direct = Object.entries(scopes).map(
    ([name, scope]) => [name, isScopeOptions(scope) ? (scope.implies ?? []) : []] as const,
  );
  return followImplications(new Map(direct));
}

function resolveApi(
  apiId: string,
  { api, options }: { api: ApiOptions; options: Pick<AuthServerOptions, "lifetimes"> },
): Api {
  const sentences = Object.entries(api.scopes).map(
    ([name, scope]) => [name, isScopeOptions(scope) ? scope.text : scope] as const,
  );
  return {
    apiId,
    name: api.name ?? apiId,
    audience: api.audience,
    scopes: Object.fromEntries(sentences),
    impliedScopes: resolveImplications(api),
    defaultScopes: api.defaultScopes ?? [],
    accessTokenSeconds: api.accessTokenSeconds ?? defaultAccessTokenSeconds,
    accessTokenFormat: api.accessTokenFormat ?? "jwt",
    redirectUri: api.redirectUri ?? "required",
    scope: api.scope ?? "optional",
    unknownScopes: api.unknownScopes ?? "refuse",
    lifetimes: resolveLifetimes(options, api),
    metadataUrl: protectedResourceMetadataUrl(api.audience),
  };
}

function resolveIssuers({ baseUrl, apis, ...options }: AuthServerOptions): readonly Issuer[] {
  return Object.entries(apis).flatMap(([apiId, apiOptions]) => {
    const api = resolveApi(apiId, { api: apiOptions, options });
    return apiOptions.authMethods.map((authMethodId) => ({
      identifier: `${baseUrl}/auth/${authMethodId}/api/${apiId}`,
      authMethodId,
      api,
    }));
  });
}

/** Of this server alone: what another one with the same secrets has sealed is worth nothing here. */
function resolveSecrets({ secrets, baseUrl }: AuthServerOptions): ResolvedOptions["secrets"] {
  const given = secrets ?? [randomBytes(32).toString("base64url")];
  return given.map((secret) =>
    createHmac("sha256", secret).update(`authmount ${baseUrl}`).digest("base64url"),
  ) as [string, ...string[]];
}

/** @throws TypeError that names a signing key which cannot be used */
export function resolveOptions(options: AuthServerOptions, now: EpochSeconds): ResolvedOptions {
  const { baseUrl, storage, authMethods, onEvent, secrets, signingKeys } = options;
  return {
    baseUrl,
    storage,
    authMethods,
    ...(onEvent && { onEvent }),
    consent: options.consent ?? askingConsent,
    pages: options.pages ?? {},
    issuers: resolveIssuers(options),
    secrets: resolveSecrets(options),
    signingKeys: readSigningKeys(signingKeys ?? [generateSigningKey()], { by: "createAuthServer", now }),
    temporary: [secrets ? [] : ["secrets" as const], signingKeys ? [] : ["signingKeys" as const]].flat(),
    revocationLagSeconds: options.revocationLagSeconds ?? defaultRevocationLagSeconds,
    redirectSchemes: options.redirectSchemes ?? [],
  };
}
