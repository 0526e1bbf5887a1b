/** Which scopes a request is about: named, by default, implied, ignored. RFC 6749 §3.3. */
import { type Client, registeredScopes } from "./client";
import { withImplied } from "./implied-scopes";
import type { Issuer } from "./issuer";
import { intersect, isSubset, parseScope } from "./scope";

/** The scopes of a request. */
export interface RequestedScopes {
  /** As the client has asked. */
  readonly requestedScopes: readonly string[];
  /** Those and what they imply, as far as the client may have it: nothing beyond can be granted. */
  readonly grantableScopes: readonly string[];
  /** Those that an API with `unknownScopes: "ignore"` has left out. */
  readonly ignoredScopes: readonly string[];
}

/** The scopes of a request as people were shown them. */
export type ShownScopes = Omit<RequestedScopes, "ignoredScopes">;

/** The scopes that a client has named, without those that the API ignores. */
export type NamedScopes = Omit<RequestedScopes, "grantableScopes">;

/** Why a request cannot have the scopes that it asks for. */
export type ScopeProblem =
  "missing" | "malformed" | "none-registered" | "not-registered" | "no-longer-registered";

/** The client that asks, and where. */
export interface Asker {
  readonly issuer: Issuer;
  readonly client: Client;
}

/**
 * The scopes of a `scope` parameter; an API with `unknownScopes: "ignore"` leaves out those that the client may not have, as long as
 * one is left. With `unknownScopes: "refuse"` all of them, registered or not.
 *
 * @rfc 6749 §3.3
 */
export function readNamedScopes(scope: string, { issuer, client }: Asker): NamedScopes | ScopeProblem {
  const named = parseScope(scope);
  if (!named) return "malformed";
  if (issuer.api.unknownScopes === "refuse") return { requestedScopes: named, ignoredScopes: [] };
  const registered = registeredScopes(client, issuer);
  const requestedScopes = intersect(named, registered);
  if (requestedScopes.length === 0) return "none-registered";
  return { requestedScopes, ignoredScopes: named.filter((name) => !registered.includes(name)) };
}

/** The scopes that a `scope` parameter asks for; without one those of the API by default, as far as the client may have them. */
export function readRequestedScopes(scope: string | undefined, by: Asker): RequestedScopes | ScopeProblem {
  const { issuer, client } = by;
  if (scope === undefined && issuer.api.scope === "required") return "missing";
  const registered = registeredScopes(client, issuer);
  const named =
    scope === undefined
      ? { requestedScopes: intersect(issuer.api.defaultScopes, registered), ignoredScopes: [] }
      : readNamedScopes(scope, by);
  if (typeof named === "string") return named;
  const { requestedScopes, ignoredScopes } = named;
  if (!isSubset(requestedScopes, registered)) return "not-registered";
  return { requestedScopes, grantableScopes: withImplied(requestedScopes, by), ignoredScopes };
}

/** What the pages of a request have shown: no more than this, and only while the client may have it. */
export function stillGrantable(
  { requestedScopes, grantableScopes }: ShownScopes,
  { issuer, client }: Asker,
): RequestedScopes | ScopeProblem {
  const registered = registeredScopes(client, issuer);
  if (!isSubset(requestedScopes, registered)) return "no-longer-registered";
  return { requestedScopes, grantableScopes: intersect(grantableScopes, registered), ignoredScopes: [] };
}
