/** Scopes that other scopes imply: whoever may write may read. RFC 6749 §3.3. */
import { type Client, registeredScopes } from "./client";
import type { ImpliedScopes, Issuer } from "./issuer";
import { intersect } from "./scope";

/** Adds the indirect implications to the direct ones. A scope that ends up in its own list is part of a circle. */
export function followImplications(implies: ImpliedScopes): ImpliedScopes {
  const follow = (scope: string): readonly string[] => {
    const found = new Set<string>(implies.get(scope));
    // iterating a set also visits what is added to it on the way
    for (const implied of found) for (const next of implies.get(implied) ?? []) found.add(next);
    return [...found];
  };
  return new Map([...implies.keys()].map((scope) => [scope, follow(scope)]));
}

/** The scopes and those that they imply, limited to what the client is registered for. */
export function withImplied(
  scopes: readonly string[],
  { issuer, client }: { issuer: Issuer; client: Client },
): readonly string[] {
  const implied = scopes.flatMap((scope) => issuer.api.impliedScopes.get(scope) ?? []);
  if (implied.length === 0) return scopes;
  return [...new Set([...scopes, ...intersect(implied, registeredScopes(client, issuer))])];
}
