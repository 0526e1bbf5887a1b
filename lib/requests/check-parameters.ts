/** Checks of parameters that more than one endpoint accepts. RFC 6749 §3.1, §3.2; 8707 §2. */
import { isResourceOf, type Issuer } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";

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
