/** Which client sends an authorization request, and where its answer may go. RFC 6749 §3.1.2, §4.1.2.1; 9700 §4.11. */
import type { Client } from "../protocol/client";
import { hasOrigin, type Issuer } from "../protocol/issuer";
import { because, OAuthError } from "../protocol/oauth-error";
import { type Parameters, quoted } from "../protocol/parameters";
import { type RedirectTarget, redirectUriProblem, verifyRedirectUri } from "../protocol/redirect-uri";
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

/** What is known of a client whose redirect URI is not proven yet. */
type Recognisable = Pick<RegisteredClient, "client" | "endMark">;

/** Refusals that only the person sees. */
export const recognitionReasons = {
  "client-id-not-sent":
    "every authorization request needs exactly one client_id (RFC 6749 §4.1.1): add it to the URL's query",
  "no-such-client":
    "storage.clients has no client with this client_id (RFC 6749 §2.2): register it, or fix client_id. If it is the URL of a metadata document, the event client-document-refused says more",
  "redirect-uri-repeated": "no parameter may be repeated (RFC 6749 §3.1): send one redirect_uri",
  "redirect-uri-left-out":
    'redirect_uri is missing. It may be left out only if the API has redirectUri: "optional" and the client has registered exactly one (RFC 6749 §3.1.2.3): send it',
  "redirect-uri-not-https":
    'the API has profile: "fapi2", and redirect_uri is not https (FAPI 2.0 Security Profile §5.3.2.2): register an https redirect URI',
  "redirect-uri-not-registered": (why: string): string =>
    `redirect_uri ${why} (RFC 6749 §3.1.2.3, 9700 §2.1): send it exactly as it is registered, or register it exactly as it is sent. An app that listens on any port of its device registers http://localhost/…, http://127.0.0.1/… or http://[::1]/… without a port. Native clients may do so, and confidential clients that use PKCE`,
} as const;

type RecognitionProblem = Exclude<keyof typeof recognitionReasons, "redirect-uri-not-registered">;

function unredirectable(description: string, code: RecognitionProblem): OAuthError {
  return new OAuthError("invalid_request", { description, ...because(recognitionReasons, code) });
}

/** Why the answer may not go there: the end of a sentence. It never quotes what came, which the error page would show to anyone. */
function notRegistered(client: Client, by: { uri: string; redirectSchemes: readonly string[] }): string {
  const listed = client.redirectUris.slice(0, 5).map(quoted).join(", ");
  return (
    redirectUriProblem(client, by) ?? `is none of the redirectUris of client ${client.clientId}, ${listed}`
  );
}

/** Where the answer may go, by this record of the client. */
function targetFor(
  client: Client,
  {
    issuer,
    parameters,
    redirectSchemes,
  }: { issuer: Issuer; parameters: Parameters; redirectSchemes: readonly string[] },
): RedirectTarget | undefined {
  const { redirectUri: rule, ownOrigins } = issuer.api;
  const requested = parameters.get("redirect_uri");
  const withPkce = parameters.get("code_challenge") !== undefined;
  const target = verifyRedirectUri(client, { requested, rule, redirectSchemes, withPkce });
  if (!target || !client.selfDescription || client.redirectUris.includes(target.uri)) return target;
  // a program may listen on any port of the device, but a stranger's not on that of this server or of an API
  return hasOrigin(target.uri, ownOrigins) ? undefined : target;
}

/** The proven redirect URI of a client that is known. @throws OAuthError `invalid_request` */
export async function recogniseTarget(
  { clients, redirectSchemes }: RecognitionPorts,
  { registered, issuer, parameters }: { registered: Recognisable; issuer: Issuer; parameters: Parameters },
): Promise<RecognisedClient> {
  // before the value is used: a repeated one must not look like one that was left out
  if (parameters.unusable.has("redirect_uri"))
    throw unredirectable("redirect_uri is repeated.", "redirect-uri-repeated");
  const requested = parameters.get("redirect_uri");
  const match = ({ client, endMark }: Recognisable): RecognisedClient | undefined => {
    const target = targetFor(client, { issuer, parameters, redirectSchemes });
    return target && { client, target, endMark };
  };
  const known = match(registered);
  const newer = known ? undefined : await clients.findNewer(registered);
  const recognised = known ?? (newer && match(newer));
  if (recognised && issuer.api.redirects && !recognised.target.source.startsWith("https:"))
    throw unredirectable("The redirect_uri must be https.", "redirect-uri-not-https");
  if (recognised) return recognised;
  if (requested === undefined) throw unredirectable("redirect_uri is missing.", "redirect-uri-left-out");
  const why = notRegistered((newer ?? registered).client, { uri: requested, redirectSchemes });
  throw new OAuthError("invalid_request", {
    description: "The redirect_uri is not registered for this client.",
    ...because(recognitionReasons, "redirect-uri-not-registered", why),
  });
}

/** The proven client and redirect URI. Until they are proven, nobody may be redirected. @rfc 6749 §4.1.2.1, 9700 §4.11 */
export async function recogniseClient(
  ports: RecognitionPorts,
  { issuer, parameters }: { issuer: Issuer; parameters: Parameters },
): Promise<RecognisedClient> {
  const clientId = parameters.get("client_id");
  if (clientId === undefined) throw unredirectable("client_id is missing or repeated.", "client-id-not-sent");
  const registered = await ports.clients.findRegistered(clientId, { issuer, mayFetch: () => true });
  if (!registered) throw unredirectable("The client is unknown.", "no-such-client");
  return recogniseTarget(ports, { registered, issuer, parameters });
}
