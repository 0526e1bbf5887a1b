/** A client without a secret, whose tokens are bound to a key, and the proofs that it signs. RFC 9449 §5. */
import type { PublicClient } from "../../lib";
import { proofKeys, proofOf } from "../../__tests__/requests/dpop-proofs";
import { publicRecord } from "../../__tests__/records/records";

/** The client of the key. */
export const boundClient: PublicClient = publicRecord("native", { clientId: "bound" });

/** The parameters that name it. */
export const naming: Readonly<Record<string, string>> = { client_id: boundClient.clientId };

/** The header that proves the key to the token endpoint of this issuer. */
export function proving({ issuer, now }: { issuer: string; now: number }): Readonly<Record<string, string>> {
  const url = `${issuer}/token`;
  return { dpop: proofOf({ method: "POST", url, key: proofKeys.ES256, claims: { iat: now } }) };
}
