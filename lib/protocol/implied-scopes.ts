/** Scopes that come with others: who may write may read. RFC 6749 §3.3. */
import { type Client, registeredScopes } from "./client";
import type { ImpliedScopes, Issuer } from "./issuer";
import { intersect } from "./scope";

/** All that follows from what each scope implies by itself. A scope that is in its own list implies itself, by a circle. */
export function followImplications(implies: ImpliedScopes): ImpliedScopes {
  const follow = (scope: string): readonly string[] => {
    const found = new Set<string>(implies.get(scope));
    // a set gives what is added to it while it is gone through
    for (const implied of found) for (const next of implies.get(implied) ?? []) found.add(next);
    return [...found];
  };
  return new Map([...implies.keys()].map((scope) => [scope, follow(scope)]));
}

/** The scopes, and those that come with them, as far as the client may have them. */
export function withImplied(
  scopes: readonly string[],
  { issuer, client }: { issuer: Issuer; client: Client },
): readonly string[] {
  const implied = scopes.flatMap((scope) => issuer.api.impliedScopes.get(scope) ?? []);
  if (implied.length === 0) return scopes;
  return [...new Set([...scopes, ...intersect(implied, registeredScopes(client, issuer))])];
}
