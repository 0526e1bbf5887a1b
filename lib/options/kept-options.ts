/** The options as they were at the start. The host may change its objects later, and the server does not. */
import { ownAnswer } from "../protocol/own";
import type { ApiOptions, AuthServerOptions } from "./options";
import { optionSchema } from "./schema";

/** What the object holds, with what it inherits. */
function copyOf<T extends object>(given: T): T {
  const names: string[] = [];
  for (const name in given) names.push(name);
  return Object.fromEntries(names.map((name) => [name, Reflect.get(given, name)])) as T;
}

function keptApi(api: ApiOptions): ApiOptions {
  return { ...copyOf(api), ...(api.lifetimes && { lifetimes: ownAnswer(api.lifetimes) }) };
}

/** A copy of options that `checkOptions` has accepted. Functions, keys and storage are the host's own. */
export function keptOptions(options: AuthServerOptions): AuthServerOptions {
  const { properties } = optionSchema as { readonly properties: object };
  const written = Object.keys(properties)
    .map((name) => [name, Reflect.get(options, name)] as const)
    .filter(([, value]) => value !== undefined);
  const { lifetimes, apis } = options;
  return {
    ...(Object.fromEntries(written) as unknown as AuthServerOptions),
    ...(lifetimes && { lifetimes: ownAnswer(lifetimes) }),
    apis: Object.fromEntries(Object.entries(apis).map(([apiId, api]) => [apiId, keptApi(api)])),
  };
}
