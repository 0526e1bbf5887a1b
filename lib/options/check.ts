/** Checks the options when the server is created, so that a host's mistake does not wait for the first request. */
import { isPathId, protectedResourceMetadataUrl } from "../protocol/issuer";
import { isReservedClaim, standardClaims } from "../protocol/openid";
import { quoted, quotedUri } from "../protocol/parameters";
import { isDotlessPrivateScheme, isDotlessScheme } from "../protocol/redirect-uri";
import { formatScope, parseScope } from "../protocol/scope";
import { isFetchableUrl } from "../fetching/fetchable-url";
import type { ClientMetadataDocumentAdapter, ClientRegistrationAdapter } from "../clients/port";
import { scopesOf } from "../pages/identity-scopes";
import type { ApiOptions, AuthServerOptions } from "./options";
import { plainOptions, shapeProblems } from "./shape";
import { isProduction, resolveImplications, resolveLifetimes } from "./resolve";
import { fixes, optionSchema } from "./schema";
import { profileProblems, withProfile } from "./profile";
import { exchangeProblems } from "./token-exchange";
import { baseUrlProblem, optionError, type OptionProblem, urlProblem, wrong } from "./problem";
import { parseUrl } from "../protocol/parsed-url";

function* baseUrlProblems({ baseUrl }: AuthServerOptions): Iterable<OptionProblem> {
  const fix =
    'Write the public URL of the mount point without a trailing slash, such as "https://host/oauth".';
  const problem = baseUrlProblem(baseUrl);
  if (problem) yield { path: "baseUrl", ...problem, fix };
}

function* secretProblems({ secrets = [] }: AuthServerOptions): Iterable<OptionProblem> {
  const fix = fixes.secret;
  for (const [index, secret] of secrets.entries()) {
    const path = `secrets.${index}`;
    const code = secret === "" ? "variable-not-set" : "short-secret";
    if (secret.length < 32) yield { path, ...wrong(code), fix };
    if (secrets.indexOf(secret) < index) yield { path, ...wrong("listed-twice"), fix };
  }
}

function* idProblems({ authMethods, apis }: AuthServerOptions): Iterable<OptionProblem> {
  const fix = "Write 1 to 64 letters, digits, or - _ ~ . (not starting with a dot): the id is part of URLs.";
  for (const [option, record] of Object.entries({ authMethods, apis })) {
    for (const id of Object.keys(record)) {
      if (!isPathId(id)) yield { path: `${option}.${id}`, ...wrong("unusable-id"), fix };
    }
  }
}

const fixOfScopes = "Name only scopes that are listed under scopes.";

function* implicationProblems(path: string, api: ApiOptions): Iterable<OptionProblem> {
  for (const [name, implied] of resolveImplications(api)) {
    const at = `${path}.scopes.${name}.implies`;
    const unknown = implied.filter((scope) => !Object.hasOwn(scopesOf(api), scope));
    if (unknown.length > 0)
      yield {
        path: at,
        ...wrong("implies-unknown-scope", quoted(formatScope(unknown))),
        fix: fixOfScopes,
      };
    if (implied.includes(name)) {
      const fix = "Leave it out: two scopes that imply each other are one and the same.";
      yield { path: at, ...wrong("implies-itself"), fix };
    }
  }
}

function* scopeProblems(path: string, api: ApiOptions): Iterable<OptionProblem> {
  const { scopes, defaultScopes = [], scope } = api;
  for (const name of Object.keys(scopes)) {
    const fix = 'Write visible ASCII characters without spaces, " and \\ (RFC 6749 §3.3).';
    if (parseScope(name)?.length !== 1)
      yield { path: `${path}.scopes.${name}`, ...wrong("unusable-scope-name"), fix };
  }
  const unknown = defaultScopes.filter((name) => !Object.hasOwn(scopes, name));
  if (unknown.length > 0) {
    const problem = wrong("unknown-default-scope", quoted(formatScope(unknown)));
    yield { path: `${path}.defaultScopes`, ...problem, fix: fixOfScopes };
  }
  for (const [index, name] of defaultScopes.entries()) {
    const at = `${path}.defaultScopes.${index}`;
    if (defaultScopes.indexOf(name) < index)
      yield { path: at, ...wrong("listed-twice"), fix: "Leave it out." };
  }
  if (scope === "required" && defaultScopes.length > 0) {
    const fix = 'Leave out defaultScopes, or write scope: "optional".';
    yield { path: `${path}.defaultScopes`, ...wrong("unused-default-scopes"), fix };
  }
}

/** Scopes that tell of people belong into a request: a default would tell clients that never asked. */
function* openIdProblems(path: string, api: ApiOptions): Iterable<OptionProblem> {
  const { openid, scopes, defaultScopes = [], redirectUri } = api;
  if (!openid) return;
  const { scopes: own = {} } = openid;
  const fixOfRedirect = 'Leave it out, or write "required".';
  if (redirectUri === "optional")
    yield { path: `${path}.redirectUri`, ...wrong("redirect-uri-optional-with-openid"), fix: fixOfRedirect };
  for (const [name, claims] of Object.entries(own)) {
    const at = `${path}.openid.scopes.${name}`;
    if (Object.hasOwn(standardClaims, name))
      yield { path: at, ...wrong("standard-identity-scope"), fix: "Take another name." };
    else if (!Object.hasOwn(scopes, name))
      yield { path: at, ...wrong("identity-scope-without-text"), fix: `Add ${name} to ${path}.scopes.` };
    const reserved = claims.find(isReservedClaim);
    if (reserved !== undefined)
      yield { path: at, ...wrong("reserved-identity-claim", quoted(reserved)), fix: "Leave it out." };
  }
  const identity = defaultScopes.find((name) => Object.hasOwn({ ...standardClaims, ...own }, name));
  if (identity !== undefined)
    yield {
      path: `${path}.defaultScopes`,
      ...wrong("default-identity-scope", identity),
      fix: "Leave it out.",
    };
}

/** Identity providers are named by URLs, as text. Keys on this machine are for development. */
function* identityProblems({
  authMethods,
  insecureLoopbackClients,
}: AuthServerOptions): Iterable<OptionProblem> {
  const rules = { insecureLoopback: insecureLoopbackClients ?? false };
  for (const [id, { identityAssertions }] of Object.entries(authMethods)) {
    for (const [issuer, { jwksUri }] of Object.entries(identityAssertions?.issuers ?? {})) {
      const path = `authMethods.${id}.identityAssertions.issuers.${issuer}`;
      const problem = urlProblem(issuer);
      if (problem) yield { path, ...problem, fix: fixes.identityIssuer };
      if (!isFetchableUrl(jwksUri, rules))
        yield { path: `${path}.jwksUri`, ...wrong("unfetchable-url"), fix: fixes.jwksUri };
    }
  }
}

/** A pushed request is used up in storage, and the request of a device waits there. */
function* parkProblems({ apis, storage }: AuthServerOptions): Iterable<OptionProblem> {
  if (storage.parkedRequests) return;
  const names = ["pushedRequests", "deviceAuthorization"] as const;
  const [needing] = Object.entries(apis).flatMap(([apiId, api]) =>
    names.filter((name) => withProfile(api)[name]).map((name) => `apis.${apiId}.${name}`),
  );
  if (needing === undefined) return;
  const fix = `${fixes.parkedRequests} ${needing} needs it.`;
  yield { path: "storage.parkedRequests", ...wrong("option-missing"), fix };
}

function* dpopProblems(path: string, { dpop }: ApiOptions): Iterable<OptionProblem> {
  const problem = dpop?.publicUrl === undefined ? undefined : baseUrlProblem(dpop.publicUrl);
  if (problem) yield { path: `${path}.dpop.publicUrl`, ...problem, fix: fixes.publicUrl };
}

function* apiProblems(options: AuthServerOptions): Iterable<OptionProblem> {
  const { authMethods, apis } = options;
  const pathByUrl = new Map<string, string>();
  for (const [apiId, apiOptions] of Object.entries(apis)) {
    const { audience, authMethods: ids } = apiOptions;
    const path = `apis.${apiId}`;
    const problem = urlProblem(audience);
    if (problem) yield { path: `${path}.audience`, ...problem, fix: fixes.audience };
    // https://a and https://a/ differ as text, but would share one RFC 9728 document
    const url = problem ? audience : protectedResourceMetadataUrl(audience);
    const twin = pathByUrl.get(url);
    pathByUrl.set(url, path);
    if (twin) {
      const fix = "Write a different URL for each API, or a token for one would also be valid at the other.";
      yield { path: `${path}.audience`, ...wrong("audience-of-two-apis", twin), fix };
    }
    for (const [index, id] of ids.entries()) {
      const at = `${path}.authMethods.${index}`;
      const fix = `Write one of: ${Object.keys(authMethods).join(", ")}.`;
      if (!Object.hasOwn(authMethods, id))
        yield { path: at, ...wrong("unknown-auth-method", quoted(id)), fix };
      if (ids.indexOf(id) < index) yield { path: at, ...wrong("listed-twice"), fix: "Leave it out." };
    }
    yield* scopeProblems(path, apiOptions);
    yield* implicationProblems(path, apiOptions);
    yield* openIdProblems(path, apiOptions);
    yield* dpopProblems(path, apiOptions);
    const lifetimes = resolveLifetimes(options, apiOptions);
    yield* profileProblems(path, { api: apiOptions, lifetimes, authMethods });
  }
}

function* lifetimeProblems(options: AuthServerOptions): Iterable<OptionProblem> {
  const fix = "Write an idle lifetime of at most refreshTokenSeconds.";
  const ofApis = Object.entries(options.apis).flatMap(([apiId, api]) =>
    api.lifetimes ? [[`apis.${apiId}.lifetimes`, api] as const] : [],
  );
  for (const [path, ofApi] of [["lifetimes", {}] as const, ...ofApis]) {
    const { refreshTokenIdleSeconds, refreshTokenSeconds } = resolveLifetimes(options, ofApi);
    if (refreshTokenIdleSeconds > refreshTokenSeconds)
      yield { path: `${path}.refreshTokenIdleSeconds`, ...wrong("idle-lifetime-too-long"), fix };
  }
}

function schemeProblem(
  scheme: string,
): "scheme-with-dot" | "scheme-of-browsers" | "unusable-scheme" | undefined {
  if (isDotlessPrivateScheme(scheme)) return undefined;
  if (scheme.includes(".")) return "scheme-with-dot";
  return isDotlessScheme(scheme) ? "scheme-of-browsers" : "unusable-scheme";
}

function* schemeProblems({ redirectSchemes = [] }: AuthServerOptions): Iterable<OptionProblem> {
  for (const [index, scheme] of redirectSchemes.entries()) {
    const code = schemeProblem(scheme);
    if (code) yield { path: `redirectSchemes.${index}`, ...wrong(code, quoted(scheme)), fix: fixes.schemes };
  }
}

/** Origins are compared as text with what browsers send. RFC 6454 §6.2. */
function isWebOrigin(text: string): boolean {
  return /^https?:/.test(text) && parseUrl(text)?.origin === text;
}

function* browserOriginProblems({ apis }: AuthServerOptions): Iterable<OptionProblem> {
  const adapters = Object.entries(apis).flatMap(([apiId, { clientMetadataDocuments, clientRegistration }]) =>
    Object.entries({ clientMetadataDocuments, clientRegistration }).map(
      ([option, adapter]) => [`apis.${apiId}.${option}`, adapter?.browserOrigins ?? []] as const,
    ),
  );
  for (const [option, origins] of adapters) {
    for (const [index, origin] of origins.entries()) {
      const path = `${option}.browserOrigins.${index}`;
      if (!isWebOrigin(origin))
        yield { path, ...wrong("unusable-origin", quotedUri(origin)), fix: fixes.origins };
    }
  }
}

function* productionProblems({
  secrets,
  signingKeys,
  insecureLoopbackClients,
}: AuthServerOptions): Iterable<OptionProblem> {
  if (!isProduction()) return;
  const missing = wrong("missing-in-production");
  if (!secrets) yield { path: "secrets", ...missing, fix: fixes.secrets };
  for (const [index, secret] of (secrets ?? []).entries())
    if (/\s/.test(secret))
      yield { path: `secrets.${index}`, ...wrong("secret-with-white-space"), fix: fixes.secret };
  if (!signingKeys) yield { path: "signingKeys", ...missing, fix: fixes.signingKeys };
  if (insecureLoopbackClients)
    yield { path: "insecureLoopbackClients", ...wrong("refused-in-production"), fix: "Leave it out." };
}

/** The paths of the properties that are present but undefined, at any depth. */
function* undefinedIn(value: unknown, path: string): Iterable<string> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    const at = `${path}.${name}`;
    if (inner === undefined) yield at;
    else yield* undefinedIn(inner, at);
  }
}

/** The options of an adapter. What else it holds is the host's own, such as a connection, and may lead back to it. */
function adapterOptions(adapter: ClientMetadataDocumentAdapter | ClientRegistrationAdapter): object {
  return "browserOrigins" in adapter ? { browserOrigins: adapter.browserOrigins } : {};
}

/** The same API, with nothing of its adapters but their options. */
function plainApi(api: ApiOptions): object {
  const { clientMetadataDocuments: documents, clientRegistration: registration } = api;
  return {
    ...api,
    ...(documents && { clientMetadataDocuments: adapterOptions(documents) }),
    ...(registration && { clientRegistration: adapterOptions(registration) }),
  };
}

/** The paths of the options that are present but undefined. */
function* undefinedOptions(options: AuthServerOptions): Iterable<string> {
  const names = [
    "consent",
    "tokens",
    "rateLimit",
    "lifetimes",
    "revocationLagSeconds",
    "lastUses",
    "redirectSchemes",
  ] as const;
  yield* names.filter((name) => name in options && options[name] === undefined);
  yield* undefinedIn(options.lifetimes, "lifetimes");
  for (const [apiId, api] of Object.entries(options.apis)) yield* undefinedIn(plainApi(api), `apis.${apiId}`);
}

/** An option that is undefined by mistake, such as a misspelt constant, would silently take its default. */
function* undefinedProblems(options: AuthServerOptions): Iterable<OptionProblem> {
  const fix = "Leave the key out for the default, or write a value.";
  for (const path of undefinedOptions(options)) yield { path, ...wrong("option-undefined"), fix };
}

/** The rules for the values of options whose shape is right, in the order in which they are told. */
export const valueRules: readonly ((options: AuthServerOptions) => Iterable<OptionProblem>)[] = [
  undefinedProblems,
  baseUrlProblems,
  secretProblems,
  idProblems,
  apiProblems,
  identityProblems,
  parkProblems,
  exchangeProblems,
  lifetimeProblems,
  schemeProblems,
  browserOriginProblems,
  productionProblems,
];

function firstProblem(options: AuthServerOptions): OptionProblem | undefined {
  for (const rule of valueRules) for (const problem of rule(options)) return problem;
  return undefined;
}

/**
 * Checks shape, then values. Gives the copy that was checked, with what profiles fill in.
 *
 * @throws TypeError that names the first wrong option by its path and says what to write instead.
 */
export function checkOptions(given: AuthServerOptions): AuthServerOptions {
  const { options, problems } = plainOptions(given);
  const found = problems[0] ?? shapeProblems(optionSchema, options)[0] ?? firstProblem(options);
  if (found) throw optionError("createAuthServer", found);
  const apis = Object.entries(options.apis).map(([apiId, api]) => [apiId, withProfile(api)] as const);
  return { ...options, apis: Object.fromEntries(apis) };
}
