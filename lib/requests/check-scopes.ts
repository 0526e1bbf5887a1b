/** Refusals of the `scope` parameter. RFC 6749 §3.3, §4.1.2.1, §5.2. */
import { OAuthError } from "../protocol/oauth-error";
import {
  type Asker,
  readRequestedScopes,
  type RequestedScopes,
  type ScopeProblem,
  type ShownScopes,
  stillGrantable,
} from "../protocol/requested-scopes";

const refusals: Readonly<Record<ScopeProblem, { readonly description: string; readonly reason: string }>> = {
  missing: {
    description: "This API requires a scope.",
    reason: 'scope was left out and the API says scope: "required" (RFC 6749 §3.3): send scope',
  },
  malformed: {
    description: "The scope is malformed.",
    reason: "scope is a list of names with one space between (RFC 6749 §3.3): mend it",
  },
  "none-registered": {
    description: "The client may have no scope of these at this API.",
    reason:
      "scope names none that the API has and the client's subscription too (RFC 6749 §3.3): ask for one of them",
  },
  "not-registered": {
    description: "The client may not have this scope at this API.",
    reason:
      'scope names one that the API does not have, or the client\'s subscription does not (RFC 6749 §3.3): ask for less, widen subscriptions.<api>.scopes, or set unknownScopes: "ignore" for the API',
  },
  "no-longer-registered": {
    description: "The client may not have this scope at this API.",
    reason:
      "the API or the client's subscription has lost a scope since the request came (RFC 6749 §3.3): ask again",
  },
};

/** The refusal of a request that cannot have its scopes. */
export function invalidScope(problem: ScopeProblem): OAuthError {
  return new OAuthError("invalid_scope", refusals[problem]);
}

/** The scopes that a `scope` parameter asks for, the API's default scopes without one. @throws OAuthError `invalid_scope` */
export function checkRequestedScopes(scope: string | undefined, by: Asker): RequestedScopes {
  const scopes = readRequestedScopes(scope, by);
  if (typeof scopes === "string") throw invalidScope(scopes);
  return scopes;
}

/** The scopes that pages have shown, as far as the client may still have them. @throws OAuthError `invalid_scope` */
export function checkShownScopes(shown: ShownScopes, by: Asker): RequestedScopes {
  const scopes = stillGrantable(shown, by);
  if (typeof scopes === "string") throw invalidScope(scopes);
  return scopes;
}
