/** An identity provider that vouches for Alice, and the one assertion that is presented again and again (ID-JAG). */
import { generateKeyPairSync } from "node:crypto";
import type { IdentityAssertionPorts } from "../../lib/grants/grant";
import { assertionGrant } from "../../lib/protocol/client";
import { assertionOf, jwkOf } from "../../__tests__/requests/client-assertions";
import { foundKeys } from "../../__tests__/records/found-documents";

const provider = "https://idp.example";
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const keys = foundKeys({ keys: [jwkOf(publicKey)] });

/** How the server finds the provider's keys. */
export const listedProvider: Pick<IdentityAssertionPorts, "providersOf" | "fetchKeys"> = {
  providersOf: () => ({ [provider]: { jwksUri: `${provider}/keys` } }),
  fetchKeys: async () => keys,
};

/** The parameters that present the assertion for this client at this issuer. It is good for five minutes. */
export function vouching({
  issuer,
  clientId,
  now,
}: Readonly<Record<"issuer" | "clientId", string>> & { readonly now: number }): Record<string, string> {
  const claims = {
    iss: provider,
    sub: "alice",
    aud: issuer,
    client_id: clientId,
    scope: "orders:read",
    jti: "the same each time",
    iat: now,
    exp: now + 300,
  };
  const header = { typ: "oauth-id-jag+jwt" };
  return { grant_type: assertionGrant, assertion: assertionOf({ key: privateKey, header, claims }) };
}
