/** Where rules about weak options look: at every API, every lifetime that is written, and every client that is known from the start. RFC 9700 §2. */
import { isInMemory } from "../adapters/memory/storage";
import { listedClients, listsRecords } from "../clients/client-lookup";
import type { ApiOptions, AuthServerOptions } from "../options/options";
import { resolveLifetimes } from "../options/resolve";
import { scopesOf } from "../pages/identity-scopes";
import {
  type Client,
  flagOptions,
  isKeyClient,
  type Subscription,
  subscriptionOf,
  unmetFlags,
} from "../protocol/client";
import type { Lifetimes } from "../protocol/issuer";
import { isSubset } from "../protocol/scope";
import { storagePortNames } from "../storage/port";
import { risksOf } from "../storage/risks";

/** A place where options are weak. */
export interface Place {
  /** The option, such as `apis.orders.accessTokenSeconds`. */
  readonly path: string;
  /** What is so, where a rule says it for each place. */
  readonly problem?: string;
  /** What to write instead, where a rule says it for each place. */
  readonly fix?: string;
}

/** Looks at options that `createAuthServer` accepts, and connects to nothing. */
export type Find = (options: AuthServerOptions) => readonly Place[];

/** One option: it is weak when this is so. */
export function option(path: keyof AuthServerOptions, isWeak: (options: AuthServerOptions) => boolean): Find {
  return (options) => (isWeak(options) ? [{ path }] : []);
}

/** In each API, the options that `names` gives. */
export function inApis(names: (api: ApiOptions, options: AuthServerOptions) => readonly string[]): Find {
  return (options) =>
    Object.entries(options.apis).flatMap(([apiId, api]) =>
      names(api, options).map((name) => ({ path: `apis.${apiId}.${name}` })),
    );
}

/** A lifetime that is longer, for all APIs or for one. */
export function lifetimeAbove(seconds: number, name: keyof Lifetimes): Find {
  return ({ lifetimes = {}, apis }) =>
    [
      { path: "lifetimes", written: lifetimes },
      ...Object.entries(apis).map(([apiId, api]) => ({
        path: `apis.${apiId}.lifetimes`,
        written: api.lifetimes ?? {},
      })),
    ]
      .filter(({ written }) => (written[name] ?? 0) > seconds)
      .map(({ path }) => ({ path: `${path}.${name}` }));
}

/** In each client, the parts that `names` gives. Those of a database are not looked at, as nothing connects to it. */
export function inClients(names: (client: Client, options: AuthServerOptions) => readonly string[]): Find {
  return (options) =>
    listedClients(options.storage.clients).flatMap((client) =>
      names(client, options).map((name) => ({ path: `client "${client.clientId}": ${name}` })),
    );
}

/** The URLs that are http. */
export const httpUrls: Find = (options) => [
  ...option("baseUrl", ({ baseUrl }) => baseUrl.startsWith("http:"))(options),
  ...inApis(({ audience }) => (audience.startsWith("http:") ? ["audience"] : []))(options),
];

/** The digests of secrets that a person may have chosen: of others, a fast hash is enough. */
export const chosenClientSecrets: Find = inClients((client) =>
  client.confidential && !isKeyClient(client)
    ? client.secretDigests.flatMap((digest, index) =>
        digest.startsWith("scrypt:") ? [`secretDigests.${index}`] : [],
      )
    : [],
);

/** False when the storage keeps clients that it does not list. */
export function listsClients({ storage }: AuthServerOptions): boolean {
  return listsRecords(storage.clients);
}

/** The redirect URIs of clients that are of this kind. */
export function redirectUris(isWeak: (uri: string, client: Client) => boolean): Find {
  return inClients((client) =>
    client.redirectUris.flatMap((uri, index) => (isWeak(uri, client) ? [`redirectUris.${index}`] : [])),
  );
}

/** The subscriptions of clients that are of this kind, or a part of them. `undefined` is an API that the options do not have. */
export function subscriptions(
  isWeak: (at: Subscription, api: ApiOptions | undefined, client: Client) => boolean,
  part?: keyof Subscription,
): Find {
  return inClients((client, { apis }) =>
    Object.entries(client.subscriptions).flatMap(([apiId, at]) => {
      const api = Object.hasOwn(apis, apiId) ? apis[apiId] : undefined;
      return isWeak(at, api, client) ? [["subscriptions", apiId, part ?? []].flat().join(".")] : [];
    }),
  );
}

/** The scopes of subscriptions that the API does not have. */
export const scopesOfNoApi: Find = subscriptions(
  ({ scopes = [] }, api) => api !== undefined && !scopes.every((name) => Object.hasOwn(scopesOf(api), name)),
  "scopes",
);

/** The flags of clients at APIs without the option that they need. */
export const unmetClientFlags: Find = ({ storage, apis }) =>
  listedClients(storage.clients).flatMap((client) =>
    Object.entries(apis).flatMap(([apiId, api]) =>
      (subscriptionOf(client, apiId) ? unmetFlags(client, api) : []).map((flag) => ({
        path: `client "${client.clientId}": ${flag}`,
        problem: `needs apis.${apiId}.${flagOptions[flag]}, which is left out`,
      })),
    ),
  );

/** The tables of token exchange that give every scope of their API, where it has several. */
export const exchangesForAll: Find = inApis(({ scopes, tokenExchange = {} }) => {
  const all = Object.keys(scopes);
  return Object.entries(tokenExchange).flatMap(([from, source]) => {
    const given = Object.values(source.scopes).flat();
    return all.length > 1 && isSubset(all, given) ? [`tokenExchange.${from}`] : [];
  });
});

/** The ports that are in the memory of the process. */
export const storageInMemory: Find = ({ storage }) => {
  const names = storagePortNames.filter((name) => isInMemory(storage[name] ?? {}));
  if (names.length === 0) return [];
  // clients are never kept there: they are given anew at each start
  const isAll = names.length === storagePortNames.filter((name) => storage[name]).length - 1;
  return [{ path: isAll ? "storage" : `storage.${names.join(", storage.")}` }];
};

/** The storage, if a crash of its database may lose what it has acknowledged. */
export const storageAtRisk: Find = ({ storage }) => {
  const risks = storagePortNames.flatMap((name) => risksOf(storage[name] ?? {}));
  const all = (of: "problem" | "fix", between: string): string =>
    [...new Set(risks.map((risk) => risk[of]))].join(between);
  const problem = `may lose what it has acknowledged: ${all("problem", ", ")}`;
  return risks.length === 0 ? [] : [{ path: "storage", problem, fix: all("fix", " ") }];
};

/** The lifetimes of codes that are more than a minute. */
export const codesOverAMinute: Find = (options) =>
  Object.entries(options.apis).flatMap(([apiId, api]) => {
    if (resolveLifetimes(options, api).authorizationCodeSeconds <= 60) return [];
    const isOwn = api.lifetimes?.authorizationCodeSeconds !== undefined;
    return [{ path: `${isOwn ? `apis.${apiId}.` : ""}lifetimes.authorizationCodeSeconds` }];
  });
