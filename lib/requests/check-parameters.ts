/** Checks of parameters that more than one endpoint accepts. RFC 6749 §3.1, §3.2, §3.3, §4.1.2.1, §5.2; 8707 §2. */
import { registeredScopes } from "../protocol/client";
import { isResourceOf, type Issuer } from "../protocol/issuer";
import { because, OAuthError } from "../protocol/oauth-error";
import { type Parameters, quoted } from "../protocol/parameters";
import {
  type Asker,
  readRequestedScopes,
  type RequestedScopes,
  type ScopeProblem,
  type ShownScopes,
  stillGrantable,
} from "../protocol/requested-scopes";
import { formatScope, parseScope } from "../protocol/scope";

/** What the texts about scopes name. */
type Lacking = Readonly<Record<"lacking" | "client" | "apiId" | "allowed", string>>;

/** Refusals by the rules for parameters. They quote nothing that was sent: clients put secrets and tokens into wrong places. */
export const parameterReasons = {
  "parameter-unusable": (names: string): string =>
    `${names} came more than once, or is not UTF-8 (RFC 6749 §3.1, §3.2, Appendix B): send each parameter once, percent-encoded`,
  "parameter-missing": (name: string): string =>
    `${name} is required here (RFC 6749 §4.1.3, §6, 7009 §2.1, 7662 §2.1): send it in the form`,
  "resource-of-another-api": (audience: string): string =>
    `resource is not ${audience}, the audience of this endpoint's API (RFC 8707 §2): leave it out, or ask at the endpoint of that API`,
  "scope-missing": ({ apiId, allowed }: Lacking): string =>
    `scope is missing, and API ${apiId} has scope: "required" (RFC 6749 §3.3): send some of ${allowed}`,
  "scope-malformed": ({ allowed }: Lacking): string =>
    `scope is not a list of names with one space between them (RFC 6749 §3.3, §A.4): send some of ${allowed}`,
  "no-scope-registered": ({ client, apiId, allowed }: Lacking): string =>
    `scope has nothing that client ${client} may have at API ${apiId} (RFC 6749 §3.3): ask for some of ${allowed}, or widen subscriptions.${apiId}.scopes`,
  "scope-not-registered": ({ lacking, client, apiId, allowed }: Lacking): string =>
    `client ${client} asks API ${apiId} for ${lacking}; it may have ${allowed} (RFC 6749 §3.3): ask for less, widen subscriptions.${apiId}.scopes or the API's scopes, or set unknownScopes: "ignore" for the API`,
  "scope-lost": ({ lacking, client, apiId }: Lacking): string =>
    `client ${client} has lost ${lacking} at API ${apiId} since the request arrived (RFC 6749 §3.3): ask again`,
} as const;

/** The names that look like those of parameters. */
function namesOf(unusable: ReadonlySet<string>): string {
  const names = [...unusable].filter((name) => /^[a-z_]{1,40}$/.test(name)).slice(0, 5);
  return names.length === 0 ? "a parameter" : names.join(", ");
}

/**
 * Refuses repeated parameters and those that are not UTF-8 text: two parsers could read two different values.
 *
 * @throws OAuthError `invalid_request`
 */
export function checkUsable({ unusable }: Parameters): void {
  if (unusable.size === 0) return;
  throw new OAuthError("invalid_request", {
    description: "A parameter is repeated or is not UTF-8 text.",
    ...because(parameterReasons, "parameter-unusable", namesOf(unusable)),
  });
}

/** The value of a required parameter. @throws OAuthError `invalid_request` when it is missing or empty */
export function requireParameter(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value !== undefined) return value;
  throw new OAuthError("invalid_request", {
    description: `${name} is missing.`,
    ...because(parameterReasons, "parameter-missing", name),
  });
}

/** Accepts a `resource` only for the API of this issuer. @throws OAuthError `invalid_target` for any other. @rfc 8707 §2 */
export function checkResource(resource: string | undefined, issuer: Issuer): void {
  if (resource === undefined || isResourceOf(issuer, resource)) return;
  throw new OAuthError("invalid_target", {
    description: "The resource is not the API of this endpoint.",
    ...because(parameterReasons, "resource-of-another-api", issuer.api.audience),
  });
}

/** The description of each problem of `scope`, for the client. */
const scopeDescriptions: Readonly<Record<ScopeProblem, string>> = {
  "scope-missing": "This API requires a scope.",
  "scope-malformed": "The scope is malformed.",
  "no-scope-registered": "The client may have none of these scopes at this API.",
  "scope-not-registered": "The client may not have this scope at this API.",
  "scope-lost": "The client may not have this scope at this API.",
};

/** The refusal of a request that cannot have the scopes that it asks for. */
export function invalidScope(
  problem: ScopeProblem,
  { scope = "", by: { client, issuer } }: { scope: string | undefined; by: Asker },
): OAuthError {
  const registered = registeredScopes(client, issuer);
  const { scopes } = issuer.api;
  const lacking =
    parseScope(scope)?.filter((name) => Object.hasOwn(scopes, name) && !registered.includes(name)) ?? [];
  return new OAuthError("invalid_scope", {
    description: scopeDescriptions[problem],
    ...because(parameterReasons, problem, {
      lacking: lacking.length === 0 ? "a scope that the API does not have" : quoted(formatScope(lacking)),
      client: client.clientId,
      apiId: issuer.api.apiId,
      allowed: registered.length === 0 ? "no scope" : quoted(formatScope(registered)),
    }),
  });
}

/** The scopes that `scope` asks for; without the parameter, the API's default scopes. @throws OAuthError `invalid_scope` */
export function checkRequestedScopes(scope: string | undefined, by: Asker): RequestedScopes {
  const scopes = readRequestedScopes(scope, by);
  if (typeof scopes === "string") throw invalidScope(scopes, { scope, by });
  return scopes;
}

/**
 * The scopes that the pages of a request have shown. Nothing is computed again, so nothing can be granted that was not shown.
 *
 * @throws OAuthError `invalid_scope` when the client may no longer have a requested one.
 */
export function checkShownScopes(shown: ShownScopes, by: Asker): RequestedScopes {
  const scopes = stillGrantable(shown, by);
  if (typeof scopes === "string")
    throw invalidScope(scopes, { scope: formatScope(shown.requestedScopes), by });
  return scopes;
}
