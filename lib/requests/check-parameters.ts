/** Checks of parameters that more than one endpoint accepts. RFC 6749 §3.1, §3.2, §3.3, §4.1.2.1, §5.2; 8707 §2. */
import { isResourceOf, type Issuer } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import {
  type Asker,
  readRequestedScopes,
  type RequestedScopes,
  type ScopeProblem,
  type ShownScopes,
  stillGrantable,
} from "../protocol/requested-scopes";

/**
 * Refuses repeated parameters and those that are not UTF-8 text: two parsers could read two different values.
 *
 * @throws OAuthError `invalid_request`
 */
export function checkUsable({ unusable }: Parameters): void {
  if (unusable.size === 0) return;
  throw new OAuthError("invalid_request", {
    description: "A parameter is repeated or is not UTF-8 text.",
    reason:
      "no parameter may be repeated (RFC 6749 §3.1, §3.2), and all must be UTF-8 (Appendix B): send each once, percent-encoded",
  });
}

/** The value of a required parameter. @throws OAuthError `invalid_request` when it is missing or empty */
export function requireParameter(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value !== undefined) return value;
  throw new OAuthError("invalid_request", {
    description: `${name} is missing.`,
    reason: `${name} is required here (RFC 6749 §4.1.3, §6, 7009 §2.1, 7662 §2.1): send it in the form`,
  });
}

/** Accepts `resource` only for the API of this issuer. @throws OAuthError `invalid_target` for any other. @rfc 8707 §2 */
export function checkResource(parameters: Parameters, issuer: Issuer): void {
  const resource = parameters.get("resource");
  if (resource === undefined || isResourceOf(issuer, resource)) return;
  throw new OAuthError("invalid_target", {
    description: "The resource is not the API of this endpoint.",
    reason:
      "resource is not the audience of this endpoint's API (RFC 8707 §2): leave it out, or ask at the endpoint of that API",
  });
}

/** The texts for each problem of `scope`. The client gets `description`, the host's event gets `reason`. */
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
