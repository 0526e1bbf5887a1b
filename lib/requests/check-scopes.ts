/** Checks of the `scope` parameter. RFC 6749 §3.3, §4.1.2.1, §5.2. */
import { OAuthError } from "../protocol/oauth-error";
import {
  type Asker,
  readRequestedScopes,
  type RequestedScopes,
  type ScopeProblem,
  type ShownScopes,
  stillGrantable,
} from "../protocol/requested-scopes";

/** The texts for each problem. The client gets `description`, the host's event gets `reason`. */
const refusals: Readonly<Record<ScopeProblem, { readonly description: string; readonly reason: string }>> = {
  missing: {
    description: "This API requires a scope.",
    reason: 'scope is missing, and the API has scope: "required" (RFC 6749 §3.3): send scope',
  },
  malformed: {
    description: "The scope is malformed.",
    reason: "scope must be a list of names separated by single spaces (RFC 6749 §3.3): fix it",
  },
  "none-registered": {
    description: "The client may have none of these scopes at this API.",
    reason:
      "scope names no scope that both the API and the client's subscription have (RFC 6749 §3.3): ask for one that both have",
  },
  "not-registered": {
    description: "The client may not have this scope at this API.",
    reason:
      'scope names a scope that the API or the client\'s subscription does not have (RFC 6749 §3.3): ask for less, widen subscriptions.<api>.scopes, or set unknownScopes: "ignore" for the API',
  },
  "no-longer-registered": {
    description: "The client may not have this scope at this API.",
    reason:
      "the API or the client's subscription has lost a scope since the request arrived (RFC 6749 §3.3): ask again",
  },
};

/** The refusal of a request that cannot have the scopes that it asks for. */
export function invalidScope(problem: ScopeProblem): OAuthError {
  return new OAuthError("invalid_scope", refusals[problem]);
}

/** The scopes that `scope` asks for; without the parameter, the API's default scopes. @throws OAuthError `invalid_scope` */
export function checkRequestedScopes(scope: string | undefined, by: Asker): RequestedScopes {
  const scopes = readRequestedScopes(scope, by);
  if (typeof scopes === "string") throw invalidScope(scopes);
  return scopes;
}

/**
 * The scopes that the pages of a request have shown. Nothing is computed again, so nothing can be granted that was not shown.
 *
 * @throws OAuthError `invalid_scope` when the client may no longer have a requested one.
 */
export function checkShownScopes(shown: ShownScopes, by: Asker): RequestedScopes {
  const scopes = stillGrantable(shown, by);
  if (typeof scopes === "string") throw invalidScope(scopes);
  return scopes;
}
