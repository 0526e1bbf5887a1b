/** The key that a request proves. Loaded where an API has `dpop`. RFC 9449 §4.3, §5, §10.1. */
import type { IncomingHttpHeaders } from "node:http";
import { endpoints } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import type { EpochSeconds } from "../protocol/time";
import { proofMissing } from "../requests/check-flags";
import type { EndpointRequest } from "./authenticate-client";
import { verifyProof } from "./verify-proof";

/** The values of all `DPoP` headers. Node joins repeated ones by commas, and no proof has a comma. */
function proofHeaders({ dpop = [] }: IncomingHttpHeaders): readonly string[] {
  return [dpop].flat().flatMap((joined) => joined.split(","));
}

/** The endpoints that read proofs. */
export type ProofEndpointName = "token" | "pushed_authorization_request";

/**
 * Thumbprint of the key that the request proves; `undefined` for a request without a proof, where that is allowed: a code can be bound to its
 * key when it is exchanged.
 *
 * @throws OAuthError `invalid_dpop_proof`
 * @rfc 9449 §5, §10.1
 */
export function provenKey(
  { issuer, headers, parameters }: EndpointRequest,
  { proofsFor, now }: { proofsFor: ProofEndpointName; now: EpochSeconds },
): string | undefined {
  const url = `${issuer.identifier}/${endpoints[proofsFor].path}`;
  const verdict = verifyProof(proofHeaders(headers), { method: "POST", url, now });
  switch (verdict.kind) {
    case "proven":
      return verdict.thumbprint;
    case "absent":
      if (issuer.api.dpop?.required && proofsFor === "token")
        throw proofMissing(parameters, `API ${issuer.api.apiId} has dpop.tokens: "required"`);
      return undefined;
    case "invalid": {
      const { code, reason } = verdict;
      const description = "The DPoP proof is malformed, too old, or not for this request.";
      throw new OAuthError("invalid_dpop_proof", { description, code, reason });
    }
  }
}
