/** The options of `createResourceServer`: what each one means, and how they are checked. RFC 9728 §2, 7662 §2.1. */
import type { OnEvent } from "../events/port";
import {
  baseUrlProblem,
  optionError,
  type OptionProblem,
  urlProblem,
  type Wrong,
  wrong,
} from "../options/problem";
import type { DpopOptions } from "../options/options";
import { resolveDpop } from "../options/resolve";
import { plainOptionsOf, shapeProblems } from "../options/shape";
import { isIssuerBelow, type ProtectedApi, protectedResourceMetadataUrl } from "../protocol/issuer";
import { quoted } from "../protocol/parameters";
import { formatScope, parseScope } from "../protocol/scope";
import type { NamedSchema } from "../schemas/compile";
import type { PrivateKeySource } from "../signing/signing-key";

/** An API of this process. */
export interface ResourceApiOptions {
  /** The API's resource identifier: the same text as in the options of `createAuthServer`. */
  readonly audience: string;
  /** Names of the API's scopes, all that routes may ask for. */
  readonly scopes: readonly string[];
  /** Scopes that every request with `mcpScopes` needs, and that its first challenge names. Default: none. */
  readonly defaultScopes?: readonly string[];
  /** The name in the API's metadata. Default: the API's id. */
  readonly name?: string;
  /**
   * Identifiers of the issuers whose tokens are accepted. Default: those of the server at `baseUrl` that its metadata lists for this
   * audience, so that a new authentication method needs no change here. With `introspection`, issuers of that server only.
   */
  readonly issuers?: readonly string[];
  /** Accepts tokens that are bound to a key of the client (DPoP): as in the options of `createAuthServer`, with the `publicUrl` of this app. */
  readonly dpop?: DpopOptions;
  /**
   * `"fapi2"`: as at the authorization server. Tokens must be bound to keys (`dpop`), and each one is asked about by `introspection` with a
   * `privateKey`, so that revocations count.
   *
   * @rfc FAPI 2.0 Security Profile §5.3.4
   */
  readonly profile?: "fapi2";
}

/** How the authorization server is asked about tokens, by `clientSecret` or `privateKey`. The client is confidential and has a subscription to the APIs. @rfc 7662 §2.1 */
export interface IntrospectionOptions {
  /** Id of the client that this process is for the authorization server. */
  readonly clientId: string;
  /** Its secret, if it has one. */
  readonly clientSecret?: string;
  /** Its private key, if it has one: P-256, or RSA for RS256 or PS256. It signs an assertion for each question. @rfc 7523 §2.2 */
  readonly privateKey?: PrivateKeySource;
}

/** The options of `createResourceServer`. */
export interface ResourceServerOptions {
  /** The `baseUrl` of the authorization server, as in the options of its `createAuthServer`. */
  readonly baseUrl: string;
  /** API id → an API of this process. */
  readonly apis: Readonly<Record<string, ResourceApiOptions>>;
  /**
   * Asks the authorization server about every token: needed for opaque tokens, and to learn of revocations. Left out: JWTs are verified by
   * their signature and valid until they expire.
   */
  readonly introspection?: IntrospectionOptions;
  /**
   * For how many seconds a token that was found valid is accepted without introspection. 0 to 300, default 5. With 0, the
   * authorization server is asked every time.
   */
  readonly revocationLagSeconds?: number;
  /** Is called with the events `started`, `bearer-refused` and `server-error`. What it throws is ignored. */
  readonly onEvent?: OnEvent;
}

/** An API of this process, with the defaults filled in. */
export interface ResourceApi extends ProtectedApi {
  readonly name: string;
  readonly baseUrl: string;
  /** `undefined`: found by metadata. */
  readonly issuers: readonly string[] | undefined;
}

const fixes = {
  baseUrl: 'Write the baseUrl of the authorization server, such as "https://host/oauth".',
  audience: 'Write the audience of the API as createAuthServer has it, such as "https://host/orders".',
  scopes: 'List the names of the API\'s scopes: ["read", "write"].',
  defaultScopes: "List names from scopes of this API, or leave it out.",
  issuers: 'List issuer identifiers, such as "https://host/oauth/auth/account/api/orders", or leave it out.',
  dpop: "Write {}, or an object with any of tokens and publicUrl.",
  profile: 'Write "fapi2", or leave it out.',
  tokens: 'Write "optional" or "required", or leave it out.',
  publicUrl:
    'Write the public URL of the root of this app without a trailing slash, such as "https://api.example.com".',
  introspection:
    "Write { clientId, clientSecret } or { clientId, privateKey } of a confidential client, or leave it out.",
  lag: "Write whole seconds, 0 to 300.",
};

const text = { type: "string", minLength: 1 };

const apiSchema = {
  type: "object",
  required: ["audience", "scopes"],
  additionalProperties: false,
  properties: {
    audience: { ...text, description: fixes.audience },
    scopes: { type: "array", items: text, description: fixes.scopes },
    defaultScopes: { type: "array", items: text, description: fixes.defaultScopes },
    name: { ...text, description: "Write a name, or leave it out." },
    issuers: { type: "array", minItems: 1, items: text, description: fixes.issuers },
    dpop: {
      type: "object",
      additionalProperties: false,
      description: fixes.dpop,
      properties: {
        tokens: { enum: ["optional", "required"], description: fixes.tokens },
        publicUrl: { ...text, description: fixes.publicUrl },
      },
    },
    profile: { enum: ["fapi2"], description: fixes.profile },
  },
};

const introspectionSchema = {
  type: "object",
  required: ["clientId"],
  additionalProperties: false,
  description: fixes.introspection,
  properties: {
    clientId: { ...text, description: fixes.introspection },
    clientSecret: { ...text, description: `${fixes.introspection} Is the environment variable set?` },
    privateKey: {},
  },
};

const schema = {
  $id: "resourceServer",
  type: "object",
  required: ["baseUrl", "apis"],
  additionalProperties: false,
  properties: {
    baseUrl: { ...text, description: fixes.baseUrl },
    apis: {
      type: "object",
      minProperties: 1,
      description: "Write at least one API: { orders: { audience, scopes } }.",
      additionalProperties: apiSchema,
    },
    introspection: introspectionSchema,
    revocationLagSeconds: { type: "integer", minimum: 0, maximum: 300, description: fixes.lag },
    onEvent: { isFunction: true, description: "Write (event) => { … }, or leave it out." },
  },
};

/** The options of `createResourceServer` as JSON Schema. */
export const resourceServerSchema: NamedSchema = schema;

/** What is wrong with an issuer. The client of `introspection` is known to the server at `baseUrl`, and its secret is for no other. */
function issuerProblem(issuer: string, { baseUrl, introspection }: ResourceServerOptions): Wrong | undefined {
  const problem = urlProblem(issuer);
  if (problem !== undefined || !introspection || isIssuerBelow(baseUrl, issuer)) return problem;
  return wrong("issuer-of-another-server");
}

/** What contradicts the profile of an API. @rfc FAPI 2.0 Security Profile §5.3.4 */
function* profileProblems({ apis, introspection }: ResourceServerOptions): Iterable<OptionProblem> {
  for (const [apiId, { profile, dpop }] of Object.entries(apis)) {
    if (!profile) continue;
    const contradiction = wrong("contradicts-profile", `apis.${apiId}.profile`);
    if (dpop?.tokens === "optional")
      yield {
        path: `apis.${apiId}.dpop.tokens`,
        ...contradiction,
        fix: 'Leave it out, or write "required".',
      };
    if (introspection?.privateKey === undefined)
      yield { path: "introspection", ...contradiction, fix: "Write { clientId, privateKey }." };
  }
}

function* apiProblems(options: ResourceServerOptions): Iterable<OptionProblem> {
  const pathOf = new Map<string, string>();
  for (const [apiId, { audience, scopes, defaultScopes = [], issuers = [], dpop }] of Object.entries(
    options.apis,
  )) {
    const path = `apis.${apiId}`;
    const problem = urlProblem(audience);
    if (problem) yield { path: `${path}.audience`, ...problem, fix: fixes.audience };
    const url = problem ? audience : protectedResourceMetadataUrl(audience);
    const twin = pathOf.get(url);
    if (twin) yield { path: `${path}.audience`, ...wrong("audience-of-two-apis", twin), fix: fixes.audience };
    pathOf.set(url, path);
    const unnamed = scopes.findIndex((name) => parseScope(name)?.length !== 1);
    if (unnamed >= 0)
      yield { path: `${path}.scopes.${unnamed}`, ...wrong("unusable-scope-name"), fix: fixes.scopes };
    const unknown = defaultScopes.filter((name) => !scopes.includes(name));
    if (unknown.length > 0) {
      const wrongScopes = wrong("unknown-default-scope", quoted(formatScope(unknown)));
      yield { path: `${path}.defaultScopes`, ...wrongScopes, fix: fixes.defaultScopes };
    }
    const wrongUrl = dpop?.publicUrl === undefined ? undefined : baseUrlProblem(dpop.publicUrl);
    if (wrongUrl) yield { path: `${path}.dpop.publicUrl`, ...wrongUrl, fix: fixes.publicUrl };
    for (const [index, issuer] of issuers.entries()) {
      const wrongIssuer = issuerProblem(issuer, options);
      if (wrongIssuer) yield { path: `${path}.issuers.${index}`, ...wrongIssuer, fix: fixes.issuers };
    }
  }
}

function* valueProblems(options: ResourceServerOptions): Iterable<OptionProblem> {
  const { baseUrl, apis, introspection } = options;
  // a misspelt constant must not switch introspection off, or make its answers last longer
  const missing = Object.entries(options).find(([, value]) => value === undefined)?.[0];
  const fix = "Leave the key out, or write a value.";
  if (missing !== undefined) yield { path: missing, ...wrong("option-undefined"), fix };
  for (const [apiId, api] of Object.entries(apis)) {
    const inside = Object.entries(api.dpop ?? {}).map(([name, value]) => [`dpop.${name}`, value] as const);
    for (const [name, value] of [...Object.entries(api), ...inside])
      if (value === undefined) yield { path: `apis.${apiId}.${name}`, ...wrong("option-undefined"), fix };
  }
  const credentials = Object.entries(introspection ?? {}).filter(([name]) => name !== "clientId");
  if (introspection && (credentials.length !== 1 || credentials[0]?.[1] === undefined))
    yield { path: "introspection", ...wrong("not-one-credential"), fix: fixes.introspection };
  const problem = baseUrlProblem(baseUrl);
  if (problem !== undefined) yield { path: "baseUrl", ...problem, fix: fixes.baseUrl };
  yield* apiProblems(options);
  yield* profileProblems(options);
  if (options.revocationLagSeconds !== undefined && !introspection) {
    const fixOfLag = "Leave it out, or write introspection.";
    yield { path: "revocationLagSeconds", ...wrong("lag-without-introspection"), fix: fixOfLag };
  }
}

/**
 * Checks shape, then values. Gives the copy that was checked.
 *
 * @throws TypeError that names the first wrong option by its path and says what to write instead.
 */
export function checkResourceServerOptions(given: ResourceServerOptions): ResourceServerOptions {
  const { options, problems } = plainOptionsOf(given, { apis: { "*": { dpop: {} } }, introspection: {} });
  const found =
    problems[0] ?? shapeProblems(resourceServerSchema, options)[0] ?? [...valueProblems(options)][0];
  if (found) throw optionError("createResourceServer", found);
  return options;
}

/** The APIs of checked options. */
export function resolveResourceApis({ baseUrl, apis }: ResourceServerOptions): readonly ResourceApi[] {
  return Object.entries(apis).map(
    ([apiId, { audience, scopes, defaultScopes = [], name = apiId, issuers, dpop, profile }]) => ({
      apiId,
      name,
      audience,
      baseUrl,
      // no page shows their sentences here
      scopes: Object.fromEntries(scopes.map((scope) => [scope, scope])),
      defaultScopes,
      issuers,
      metadataUrl: protectedResourceMetadataUrl(audience),
      ...resolveDpop(profile ? { ...dpop, tokens: "required" } : dpop),
    }),
  );
}
