/** The option `tokenExchange` of an API: which tokens of other APIs may be exchanged, by whom, and for what. RFC 8693 §2.1, §5. */
import { listedClients } from "../clients/client-lookup";
import { exchangeGrant, grantUseProblem } from "../protocol/client";
import { type Api, type ExchangeSource, ownScopes } from "../protocol/issuer";
import { quoted } from "../protocol/parameters";
import { formatScope } from "../protocol/scope";
import { resolveOpenId } from "./openid";
import type { ApiOptions, AuthServerOptions } from "./options";
import { type OptionProblem, wrong } from "./problem";

/** The option as the rules see it. `apis` has all APIs of the server once they are resolved. */
export function resolveExchange(
  { tokenExchange }: ApiOptions,
  apis: ReadonlyMap<string, Api>,
): Pick<Api, "tokenExchange"> {
  return tokenExchange ? { tokenExchange: { sources: new Map(Object.entries(tokenExchange)), apis } } : {};
}

/** One table: where it stands, and the two APIs that it connects. */
interface Table {
  readonly path: string;
  readonly source: ExchangeSource;
  readonly from: string;
  readonly to: string;
}

function* tableProblems(
  { path, source, from, to }: Table,
  options: AuthServerOptions,
): Iterable<OptionProblem> {
  const { apis } = options;
  const unknownOf = (apiId: string, names: readonly string[]): readonly string[] => {
    const api = apis[apiId] as ApiOptions;
    const own = ownScopes({ scopes: api.scopes, openid: resolveOpenId(api, options) });
    return names.filter((name) => !own.includes(name));
  };
  for (const [name, targets] of Object.entries(source.scopes))
    for (const [apiId, names] of [[from, [name]] as const, [to, targets] as const]) {
      const unknown = unknownOf(apiId, names);
      if (unknown.length === 0) continue;
      const problem = wrong("exchange-of-unknown-scope", quoted(formatScope(unknown)), apiId);
      const fix = `Name only scopes that are listed under apis.${apiId}.scopes, and that open no claims.`;
      yield { path: `${path}.scopes.${name}`, ...problem, fix };
    }
  for (const apiId of [from, to].filter((id) => (apis[id] as ApiOptions).profile)) {
    const fix = "Leave one of the two out: FAPI 2.0 does not analyse token exchange.";
    yield { path, ...wrong("contradicts-profile", `apis.${apiId}.profile`), fix };
  }
}

/** The tables, in the order of the APIs. */
function tablesOf({ apis }: AuthServerOptions): readonly Table[] {
  return Object.entries(apis).flatMap(([to, { tokenExchange = {} }]) =>
    Object.entries(tokenExchange).map(([from, source]) => {
      const path = `apis.${to}.tokenExchange.${from}`;
      return { path, source, from, to };
    }),
  );
}

/** The clients in the tables that may not use them, as far as the storage lists its clients. */
export function exchangeClientProblems(options: AuthServerOptions): readonly OptionProblem[] {
  const clients = listedClients(options.storage.clients);
  return tablesOf(options).flatMap(({ path, source, to: apiId }) =>
    clients.flatMap((client) => {
      const index = source.clients.indexOf(client.clientId);
      const problem = index < 0 ? undefined : grantUseProblem(client, { apiId, grantType: exchangeGrant });
      if (problem === undefined) return [];
      const fix = `Write a confidential client that has ${exchangeGrant} in subscriptions.${apiId}.grantTypes.`;
      return [{ path: `${path}.clients.${index}`, ...wrong("exchange-by-unfit-client", problem), fix }];
    }),
  );
}

/** What is wrong with the tables. */
export function* exchangeProblems(options: AuthServerOptions): Iterable<OptionProblem> {
  for (const table of tablesOf(options)) {
    const others = Object.keys(options.apis).filter((apiId) => apiId !== table.to);
    const fix = `Write one of: ${others.join(", ")}.`;
    if (others.includes(table.from)) yield* tableProblems(table, options);
    else yield { path: table.path, ...wrong("exchange-from-no-other-api"), fix };
  }
  yield* exchangeClientProblems(options);
}
