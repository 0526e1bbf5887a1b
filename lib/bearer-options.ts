/** What is checked of the options of `requireBearer`, when the route is made. */
import type { RequireBearerOptions } from "./auth-server";
import { isSubset } from "./protocol/scope";
import type { Api } from "./protocol/issuer";

export function requiredScopes({ scope = [] }: RequireBearerOptions): readonly string[] {
  return typeof scope === "string" ? scope.split(" ") : scope;
}

const optionNames = ["api", "scope"];

/** An option that is unknown, or there and undefined: what is meant to narrow a route must not be overlooked. */
function keyProblem(options: object): string | undefined {
  for (const [name, value] of Object.entries(options)) {
    if (!optionNames.includes(name))
      return `${name} is not an option. Known here: ${optionNames.join(", ")}.`;
    if (value === undefined) return `${name} is undefined. Leave the key out, or write a value.`;
  }
  return undefined;
}

/** What is wrong with the options of `requireBearer`, and what to write instead. */
export function bearerOptionProblem(options: RequireBearerOptions, apis: readonly Api[]): string | undefined {
  const problem = keyProblem(options ?? {});
  if (problem !== undefined) return problem;
  const api = apis.find(({ apiId }) => apiId === options?.api);
  if (!api) return `api is no id of apis. Write one of: ${apis.map(({ apiId }) => apiId).join(", ")}.`;
  const known = Object.keys(api.scopes);
  const { scope = [] } = options;
  const listed =
    typeof scope === "string" || (Array.isArray(scope) && scope.every((name) => typeof name === "string"));
  if (listed && isSubset(requiredScopes(options), known)) return undefined;
  return `scope is not made of scopes of ${api.apiId}. Known: ${known.join(", ")}.`;
}
