/** The scopes of a request: named, default, implied and ignored ones. RFC 6749 §3.3. */
import { type Client, registeredScopes } from "./client";
import type { ImpliedScopes, Issuer } from "./issuer";
import { intersect, isSubset, parseScope } from "./scope";

/** The scopes of a checked request. */
export interface RequestedScopes {
  /** The scopes that the client asked for. */
  readonly requestedScopes: readonly string[];
  /** The requested scopes and what they imply, limited to what the client may have. Nothing else can be granted. */
  readonly grantableScopes: readonly string[];
  /** The scopes that were dropped by an API with `unknownScopes: "ignore"`. */
  readonly ignoredScopes: readonly string[];
}

/** The scopes of a request as they were shown to the person. */
export type ShownScopes = Omit<RequestedScopes, "ignoredScopes">;

/** The scopes that a client named, without those that the API ignores. */
export type NamedScopes = Omit<RequestedScopes, "grantableScopes">;

/** Why a request cannot have the scopes that it asks for. What error this is depends on the endpoint. */
export type ScopeProblem =
  "scope-missing" | "scope-malformed" | "no-scope-registered" | "scope-not-registered" | "scope-lost";

/** The client that asks, and the issuer that it asks. */
export interface Asker {
  readonly issuer: Issuer;
  readonly client: Client;
}

/**
 * The scopes of a `scope` parameter. An API with `unknownScopes: "ignore"` drops those that the client may not have, provided that
 * at least one remains. With `unknownScopes: "refuse"` the result contains all of them, registered or not.
 *
 * @rfc 6749 §3.3
 */
export function readNamedScopes(scope: string, { issuer, client }: Asker): NamedScopes | ScopeProblem {
  const named = parseScope(scope);
  if (!named) return "scope-malformed";
  if (issuer.api.unknownScopes === "refuse") return { requestedScopes: named, ignoredScopes: [] };
  const registered = registeredScopes(client, issuer);
  const requestedScopes = intersect(named, registered);
  if (requestedScopes.length === 0) return "no-scope-registered";
  return { requestedScopes, ignoredScopes: named.filter((name) => !registered.includes(name)) };
}

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
export function withImplied(scopes: readonly string[], { issuer, client }: Asker): readonly string[] {
  const implied = scopes.flatMap((scope) => issuer.api.impliedScopes.get(scope) ?? []);
  return [...new Set([...scopes, ...intersect(implied, registeredScopes(client, issuer))])];
}

/** True where the API ignores all of these: some clients ask for `openid` wherever they have no scope of their own. */
function namesNothing(scope: string, { api }: Issuer): boolean {
  const named = parseScope(scope);
  if (!named || api.unknownScopes === "refuse" || api.defaultScopes.length === 0) return false;
  return !named.some((name) => Object.hasOwn(api.scopes, name));
}

/**
 * The scopes that a `scope` parameter asks for. Without the parameter, or where the API ignores all that it names: the API's default
 * scopes, limited to what the client may have.
 *
 * @rfc 6749 §3.3
 */
export function readRequestedScopes(scope: string | undefined, by: Asker): RequestedScopes | ScopeProblem {
  const { issuer, client } = by;
  if (scope === undefined && issuer.api.scope === "required") return "scope-missing";
  const registered = registeredScopes(client, issuer);
  const named =
    scope === undefined || namesNothing(scope, issuer)
      ? {
          requestedScopes: intersect(issuer.api.defaultScopes, registered),
          ignoredScopes: parseScope(scope ?? "") ?? [],
        }
      : readNamedScopes(scope, by);
  if (typeof named === "string") return named;
  const { requestedScopes, ignoredScopes } = named;
  if (!isSubset(requestedScopes, registered)) return "scope-not-registered";
  return { requestedScopes, grantableScopes: withImplied(requestedScopes, by), ignoredScopes };
}

/**
 * The scopes that the pages of a pending request have shown, provided that the client may still have them. They are not computed
 * again: if a default changed while a page was open, the person would grant something that the page never showed.
 */
export function stillGrantable(
  { requestedScopes, grantableScopes }: ShownScopes,
  { issuer, client }: Asker,
): RequestedScopes | ScopeProblem {
  const registered = registeredScopes(client, issuer);
  if (!isSubset(requestedScopes, registered)) return "scope-lost";
  return { requestedScopes, grantableScopes: intersect(grantableScopes, registered), ignoredScopes: [] };
}
