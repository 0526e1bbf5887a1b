/** Refusals of parameters that more than one endpoint takes. RFC 6749 §3.1, §3.2; 8707 §2. */
import { isResourceOf, type Issuer } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";

/** @throws OAuthError `invalid_request` when a parameter is repeated or is not text */
export function checkUsable({ unusable }: Parameters): void {
  if (unusable.size === 0) return;
  throw new OAuthError("invalid_request", {
    description: "A parameter is repeated or is not UTF-8 text.",
    reason:
      "no parameter may come twice (RFC 6749 §3.1, §3.2), and all are UTF-8 (Appendix B): send each once, percent-encoded",
  });
}

/** The value of a parameter. @throws OAuthError `invalid_request` when it is missing */
export function requireParameter(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value !== undefined) return value;
  throw new OAuthError("invalid_request", {
    description: `${name} is missing.`,
    reason: `${name} is required here (RFC 6749 §4.1.3, §6, 7009 §2.1, 7662 §2.1): send it in the form`,
  });
}

/** @throws OAuthError `invalid_target` when `resource` names another API. @rfc 8707 §2 */
export function checkResource(parameters: Parameters, issuer: Issuer): void {
  const resource = parameters.get("resource");
  if (resource === undefined || isResourceOf(issuer, resource)) return;
  throw new OAuthError("invalid_target", {
    description: "The resource is not the API of this endpoint.",
    reason:
      "resource is not the audience of this endpoint's API (RFC 8707 §2): leave it out, or ask at the endpoint of that API",
  });
}
