/** Which scopes a request is about: named, by default, implied, ignored. RFC 6749 §3.3. */
import { type Client, registeredScopes } from "./client";
import { withImplied } from "./implied-scopes";
import type { Issuer } from "./issuer";
import { OAuthError } from "./oauth-error";
import { intersect, isSubset, parseScope } from "./scope";

/** What a `scope` parameter comes to. */
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

/** The scopes that count, of those that a client names; all of them where the API does not ignore any. @rfc 6749 §3.3 */
export function ignoreUnknownScopes(
  named: readonly string[],
  { issuer, client }: { issuer: Issuer; client: Client },
): Omit<RequestedScopes, "grantableScopes"> {
  if (issuer.api.unknownScopes === "refuse") return { requestedScopes: named, ignoredScopes: [] };
  const registered = registeredScopes(client, issuer);
  const requestedScopes = intersect(named, registered);
  if (requestedScopes.length > 0)
    return { requestedScopes, ignoredScopes: named.filter((scope) => !registered.includes(scope)) };
  throw new OAuthError("invalid_scope", {
    description: "The client may have no scope of these at this API.",
    reason:
      "scope names none that the API has and the client's subscription too (RFC 6749 §3.3): ask for one of them",
  });
}

function readRequestedScopes(
  scope: string | undefined,
  { issuer, client }: { issuer: Issuer; client: Client },
): Omit<RequestedScopes, "grantableScopes"> {
  const registered = registeredScopes(client, issuer);
  if (scope === undefined) {
    if (issuer.api.scope === "optional")
      return { requestedScopes: intersect(issuer.api.defaultScopes, registered), ignoredScopes: [] };
    throw new OAuthError("invalid_scope", {
      description: "This API requires a scope.",
      reason: 'scope was left out and the API says scope: "required" (RFC 6749 §3.3): send scope',
    });
  }
  const named = parseScope(scope);
  if (!named)
    throw new OAuthError("invalid_scope", {
      description: "The scope is malformed.",
      reason: "scope is a list of names with one space between (RFC 6749 §3.3): mend it",
    });
  const resolved = ignoreUnknownScopes(named, { issuer, client });
  if (isSubset(resolved.requestedScopes, registered)) return resolved;
  throw new OAuthError("invalid_scope", {
    description: "The client may not have this scope at this API.",
    reason:
      'scope names one that the API does not have, or the client\'s subscription does not (RFC 6749 §3.3): ask for less, widen subscriptions.<api>.scopes, or set unknownScopes: "ignore" for the API',
  });
}

/** The scopes that a `scope` parameter asks for; those of the API by default, as far as the client may have them. */
export function checkRequestedScopes(
  scope: string | undefined,
  by: { issuer: Issuer; client: Client },
): RequestedScopes {
  const { requestedScopes, ignoredScopes } = readRequestedScopes(scope, by);
  return { requestedScopes, grantableScopes: withImplied(requestedScopes, by), ignoredScopes };
}

/** What the pages of a request have shown: no more than this, and only while the client may have it. */
export function checkShownScopes(
  { requestedScopes, grantableScopes }: ShownScopes,
  { issuer, client }: { issuer: Issuer; client: Client },
): RequestedScopes {
  const registered = registeredScopes(client, issuer);
  if (isSubset(requestedScopes, registered))
    return { requestedScopes, grantableScopes: intersect(grantableScopes, registered), ignoredScopes: [] };
  throw new OAuthError("invalid_scope", {
    description: "The client may not have this scope at this API.",
    reason:
      "the API or the client's subscription has lost a scope since the request came (RFC 6749 §3.3): ask again",
  });
}
