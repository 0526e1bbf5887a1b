/** What the record of a client, or the API, demands of requests. RFC 9449 §5, §5.2. */
import { assertionGrant, type Client, type ClientFlag, flagOptions, unmetFlags } from "../protocol/client";
import type { Issuer } from "../protocol/issuer";
import { because, OAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";

/** Refusals of what falls short of it. */
export const flagReasons = {
  "dpop-proof-missing": (why: string): string =>
    `the request has no DPoP header, and ${why} (RFC 9449 §5): send a proof for each request`,
  "client-flag-refused": (client: string, flag: ClientFlag, apiId: string): string =>
    `client ${client} has ${flag}, and API ${apiId} has no ${flagOptions[flag]}: add apis.${apiId}.${flagOptions[flag]}, or remove ${flag} from the client's record`,
} as const;

/**
 * The refusal of a token request without a proof. `why`: what demands one. The client of an identity assertion hears that it needs another
 * one, for its key.
 *
 * @rfc 9449 §5, draft-ietf-oauth-identity-assertion-authz-grant-03 §8.6
 */
export function proofMissing(parameters: Parameters, why: string): OAuthError {
  const error = parameters.get("grant_type") === assertionGrant ? "invalid_grant" : "invalid_dpop_proof";
  return new OAuthError(error, {
    description: "A DPoP proof is required.",
    ...because(flagReasons, "dpop-proof-missing", why),
  });
}

/** To be called for each flag that the client has. @throws OAuthError `invalid_request` where the API has no option for it */
export function checkFlag(
  flag: ClientFlag,
  { client, issuer: { api } }: { readonly client: Client; readonly issuer: Issuer },
): void {
  if (!unmetFlags(client, api).includes(flag)) return;
  throw new OAuthError("invalid_request", {
    description: "This API cannot do what the client's registration demands.",
    ...because(flagReasons, "client-flag-refused", client.clientId, flag, api.apiId),
  });
}
