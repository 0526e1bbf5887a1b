/** A good authorization request, and the verifier that its code is redeemed with. */
import { createHash, randomBytes } from "node:crypto";
import type { Client } from "../../lib";
import { type ClientName, clients } from "../hosts/clients";

/** The PKCE verifier of every request below. */
export const codeVerifier = randomBytes(32).toString("base64url");
/** The S256 challenge of that verifier. */
export const codeChallenge = createHash("sha256").update(codeVerifier).digest("base64url");

/** The parameters of a good authorization request of this client, with PKCE. */
export function authorizationParameters(client: ClientName): Record<string, string> {
  return { ...authorizationParametersOf(clients[client]), state: "a state" };
}

/** The same for any record, without a state. */
export function authorizationParametersOf(client: Client): Record<string, string> {
  return {
    client_id: client.clientId,
    response_type: "code",
    redirect_uri: client.redirectUris[0] ?? "",
    scope: "orders:read",
    code_challenge: codeChallenge,
    code_challenge_method: "S256",
  };
}
