/** Which client sends an authorization request, and where its answer may go. RFC 6749 §3.1.2, §4.1.2.1; 9700 §4.11. */
import type { Client } from "../protocol/client";
import { hasOrigin, type Issuer } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import { type RedirectTarget, verifyRedirectUri } from "../protocol/redirect-uri";
import type { ClientLookup, RegisteredClient } from "./client-lookup";

/** What recognising a client and its redirect URI uses. */
export interface RecognitionPorts {
  readonly clients: Pick<ClientLookup, "findRegistered" | "findNewer">;
  /** The schemes without a dot that redirect URIs of native clients may use. */
  readonly redirectSchemes: readonly string[];
}

/** The client of an authorization request, and where its answer may go. */
export interface RecognisedClient {
  readonly client: Client;
  readonly target: RedirectTarget;
  /** The end mark of the client's id, as it was when the record was read. */
  readonly endMark: string | undefined;
}

/** A refusal that only the person sees. The reason tells the developer which rule was broken and what to do. */
function unredirectable(description: string, reason: string): OAuthError {
  return new OAuthError("invalid_request", { description, reason });
}

const unregisteredReason =
  "redirect_uri does not equal one of the client's redirectUris, character for character (RFC 6749 §3.1.2.3, 9700 §2.1): register it exactly as it is sent. A native client, or a confidential one that uses PKCE, registers http://localhost/…, http://127.0.0.1/… or http://[::1]/… without a port, and may then use any port on that host";
const omittedReason =
  'redirect_uri may be left out only if the API has redirectUri: "optional" and the client has registered exactly one (RFC 6749 §3.1.2.3): send it';

/** Where the answer may go, by this record of the client. */
function targetFor(
  client: Client,
  { issuer, parameters, dotless }: { issuer: Issuer; parameters: Parameters; dotless: readonly string[] },
): RedirectTarget | undefined {
  const { redirectUri: rule, ownOrigins } = issuer.api;
  const requested = parameters.get("redirect_uri");
  const withPkce = parameters.get("code_challenge") !== undefined;
  const target = verifyRedirectUri(client, { requested, rule, dotless, withPkce });
  if (!target || !client.selfDescription || client.redirectUris.includes(target.uri)) return target;
  // a program may listen on any port of the device, but a stranger's not on that of this server or of an API
  return hasOrigin(target.uri, ownOrigins) ? undefined : target;
}

/** The proven client and redirect URI. Until they are proven, nobody may be redirected. @rfc 6749 §4.1.2.1, 9700 §4.11 */
export async function recogniseClient(
  { clients, redirectSchemes: dotless }: RecognitionPorts,
  { issuer, parameters }: { issuer: Issuer; parameters: Parameters },
): Promise<RecognisedClient> {
  const clientId = parameters.get("client_id");
  if (clientId === undefined)
    throw unredirectable(
      "client_id is missing or repeated.",
      "every authorization request needs exactly one client_id (RFC 6749 §4.1.1): add it to the URL's query",
    );
  const registered = await clients.findRegistered(clientId, { issuer, mayFetch: () => true });
  if (!registered)
    throw unredirectable(
      "The client is unknown.",
      "storage.clients has no client with this client_id (RFC 6749 §2.2): register it, or fix client_id. If it is the URL of a metadata document, the event client-document-refused says more",
    );
  // before the value is used: a repeated one must not count as left out
  if (parameters.unusable.has("redirect_uri"))
    throw unredirectable(
      "redirect_uri is repeated.",
      "no parameter may be repeated (RFC 6749 §3.1): send one redirect_uri",
    );
  const requested = parameters.get("redirect_uri");
  const match = ({ client, endMark }: RegisteredClient): RecognisedClient | undefined => {
    const target = targetFor(client, { issuer, parameters, dotless });
    return target && { client, target, endMark };
  };
  const known = match(registered);
  const newer = known ? undefined : await clients.findNewer(registered);
  const recognised = known ?? (newer && match(newer));
  if (recognised) return recognised;
  throw unredirectable(
    requested === undefined
      ? "redirect_uri is missing."
      : "The redirect_uri is not registered for this client.",
    requested === undefined ? omittedReason : unregisteredReason,
  );
}
