/** Reads what a client says of itself when it registers. RFC 7591 §2, §2.1, §3.2.2. */
import { isFetchableUrl } from "../fetching/fetchable-url";
import type { Client, GrantType, PublicJwk, PublicKeySet } from "../protocol/client";
import {
  type ClientAuthenticationMethod,
  clientAuthenticationMethods,
} from "../protocol/client-authentication";
import { frozen, isTextList } from "../protocol/host-json";
import { hasOrigin } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import { isRegistrableRedirectUri } from "../protocol/redirect-uri";
import { parseScope } from "../protocol/scope";
import { isPrivateKey } from "./client-key";
import { readClientName } from "./client-name";
import { isClientLink } from "./client-record";
import type { RegistrationMetadata } from "./port";
import { withoutNulls } from "./self-description";

/** What the server and the API allow. */
export interface RegistrationRules {
  /** The schemes without a dot that native clients may use. */
  readonly redirectSchemes: readonly string[];
  /** Origins of scripts that are clients. */
  readonly browserOrigins: readonly string[];
  /** Origins of the host's that it may not name. */
  readonly reserved: readonly string[];
  /** Also allows keys at https URLs of this machine. For development and tests. */
  readonly insecureLoopback: boolean;
}

/** Metadata that has passed every check. */
export interface CheckedMetadata {
  /** Frozen: what the host is shown is what is registered. */
  readonly metadata: RegistrationMetadata;
  /** What a client without a proof of its own becomes. */
  readonly platform: "native" | "browser";
}

type Sent = Readonly<Record<string, unknown>>;

const maxRedirectUris = 10;
const maxUriLength = 2_000;
const maxKeys = 10;

function invalid(description: string): OAuthError {
  return new OAuthError("invalid_client_metadata", { description });
}

function invalidRedirect(description: string, reason = description): OAuthError {
  return new OAuthError("invalid_redirect_uri", { description, reason });
}

/** A text; `undefined` when it is left out. */
function readText(sent: Sent, name: string): string | undefined {
  const value = sent[name];
  if (value !== undefined && typeof value !== "string") throw invalid(`${name} must be a text.`);
  return value;
}

function readList(sent: Sent, name: string): readonly string[] | undefined {
  const value = sent[name];
  if (value === undefined) return undefined;
  if (isTextList(value)) return value;
  throw invalid(`${name} must be a list of texts.`);
}

function readMethod(sent: Sent): ClientAuthenticationMethod {
  const asked = readText(sent, "token_endpoint_auth_method") ?? "client_secret_basic";
  const method = clientAuthenticationMethods.find((known) => known === asked);
  if (method) return method;
  throw invalid(`token_endpoint_auth_method must be one of: ${clientAuthenticationMethods.join(", ")}.`);
}

const native = { confidential: false, platform: "native" } as Client;

/** Why the URI is refused. A server that dropped it instead would leave the client to find out in front of a person. */
function redirectProblem(uri: string, isPublic: boolean): OAuthError {
  if (!isRegistrableRedirectUri(native, { uri, dotless: "any" }))
    return invalidRedirect(
      "A redirect URI is neither https, nor http on a loopback host, nor a custom scheme of an app, or it has a fragment, user name or wildcard.",
    );
  return isPublic
    ? invalidRedirect(
        "This server does not accept a redirect URI with this custom scheme.",
        "a redirect URI has a scheme without a dot (RFC 8252 §7.1): if you know the app, list its scheme under redirectSchemes of createAuthServer",
      )
    : invalidRedirect(
        "Only a client with token_endpoint_auth_method none may have a redirect URI with a custom scheme.",
      );
}

function readRedirectUris(
  sent: Sent,
  { isPublic, rules }: { isPublic: boolean; rules: RegistrationRules },
): readonly string[] {
  const uris = sent["redirect_uris"];
  const isList = Array.isArray(uris) && uris.length >= 1 && uris.length <= maxRedirectUris;
  if (!isList || !uris.every((uri) => typeof uri === "string" && uri.length <= maxUriLength))
    throw invalidRedirect(
      `redirect_uris must be a list of 1 to ${maxRedirectUris} URIs of at most ${maxUriLength} characters.`,
    );
  const kind = isPublic ? native : ({ confidential: true } as Client);
  const { redirectSchemes: dotless, reserved } = rules;
  const refused = uris.find((uri: string) => !isRegistrableRedirectUri(kind, { uri, dotless }));
  if (refused !== undefined) throw redirectProblem(refused as string, isPublic);
  if (uris.some((uri: string) => hasOrigin(uri, reserved)))
    throw invalidRedirect(
      "A redirect URI has the origin of this server or of one of its APIs.",
      "a redirect URI has the origin of baseUrl or of an audience: if the page is yours, list the origin under browserOrigins of clientRegistration, or write a record for the client",
    );
  return [...new Set<string>(uris)];
}

/** A client whose answers all go to pages that the host has listed is a script on such a page. */
function platformOf(
  redirectUris: readonly string[],
  { browserOrigins }: RegistrationRules,
): CheckedMetadata["platform"] {
  return redirectUris.every((uri) => browserOrigins.includes(new URL(uri).origin)) ? "browser" : "native";
}

/** The grants to be registered. A client cannot register for acting without an end user. @rfc 7591 §2.1 */
function readGrantTypes(sent: Sent, mayRefresh: boolean): readonly GrantType[] {
  const asked = readList(sent, "grant_types") ?? ["authorization_code"];
  if (!asked.includes("authorization_code")) throw invalid("grant_types must contain authorization_code.");
  const responseTypes = readList(sent, "response_types") ?? ["code"];
  if (!responseTypes.includes("code")) throw invalid("response_types must contain code.");
  return mayRefresh && asked.includes("refresh_token")
    ? ["authorization_code", "refresh_token"]
    : ["authorization_code"];
}

const publicMembers = ["kty", "crv", "x", "y", "n", "e", "kid", "alg", "use"];

/** The public members alone: a stranger's key must not bring along text that is then stored. @rfc 7517 §4 */
function publicPart(key: Sent): PublicJwk {
  const members = Object.entries(key).filter(
    ([name, value]) =>
      publicMembers.includes(name) && typeof value === "string" && value.length <= maxUriLength,
  );
  return Object.fromEntries(members) as PublicJwk;
}

function readKeySet(value: unknown): PublicKeySet {
  const { keys } = value as { readonly keys?: unknown };
  const isList = Array.isArray(keys) && keys.length >= 1 && keys.length <= maxKeys;
  if (!isList || !keys.every((key: unknown) => typeof key === "object" && key !== null))
    throw invalid(`jwks must be a JWK Set of 1 to ${maxKeys} keys.`);
  if ((keys as readonly object[]).some(isPrivateKey))
    throw invalid("jwks must contain public keys only: replace the private key that was sent.");
  const set = { keys: (keys as readonly Sent[]).map(publicPart) };
  if (set.keys.some(({ kty }) => kty === undefined)) throw invalid("Each key of jwks needs a kty.");
  return set;
}

/** The keys of a client that proves itself with one. Those of other clients are checked, but not registered. @rfc 7591 §2 */
function readKeys(
  sent: Sent,
  {
    method,
    rules: { insecureLoopback, reserved },
  }: { method: ClientAuthenticationMethod; rules: RegistrationRules },
): Pick<RegistrationMetadata, "jwks" | "jwks_uri"> {
  const jwks = sent["jwks"] === undefined ? undefined : readKeySet(sent["jwks"]);
  const jwksUri = readText(sent, "jwks_uri");
  if (jwks && jwksUri !== undefined) throw invalid("Send either jwks or jwks_uri, not both.");
  if (method !== "private_key_jwt") return {};
  if (jwksUri !== undefined && !(isClientLink(jwksUri) && isFetchableUrl(jwksUri, { insecureLoopback })))
    throw invalid(
      "jwks_uri must be an https URL in normal form, without port, user name and fragment, with a host name, of at most 2000 characters.",
    );
  if (jwksUri !== undefined && hasOrigin(jwksUri, reserved))
    throw invalid("jwks_uri has the origin of this server or of one of its APIs.");
  if (jwks) return { jwks };
  if (jwksUri === undefined) throw invalid("private_key_jwt needs jwks or jwks_uri.");
  return { jwks_uri: jwksUri };
}

/** Names that people see, and links. What cannot be used is left out. */
function readDescription(
  sent: Sent,
  { reserved }: RegistrationRules,
): Pick<RegistrationMetadata, "client_name" | "client_uri" | "policy_uri" | "tos_uri"> {
  const name = readClientName(sent["client_name"]);
  const links = ["client_uri", "policy_uri", "tos_uri"].filter((each) => isClientLink(sent[each], reserved));
  return {
    ...(name !== undefined && { client_name: name }),
    ...Object.fromEntries(links.map((each) => [each, sent[each] as string])),
  };
}

function readScope(sent: Sent): string | undefined {
  const scope = readText(sent, "scope")?.trim();
  if (scope === undefined || scope === "") return undefined;
  if (parseScope(scope)) return scope;
  throw invalid("scope must be scope names with one space between them.");
}

/**
 * The metadata of a registration, with defaults for what is left out. Fields and grants that this server does not know are ignored.
 *
 * @param sent the JSON of the message.
 * @throws OAuthError `invalid_redirect_uri`, `invalid_client_metadata` or `unapproved_software_statement`
 * @rfc 7591 §2, §3.2.2
 */
export function checkRegistrationMetadata(sent: unknown, rules: RegistrationRules): CheckedMetadata {
  if (typeof sent !== "object" || sent === null || Array.isArray(sent))
    throw invalid("The body must be a JSON object.");
  const message = withoutNulls(sent as Sent);
  if (message["software_statement"] !== undefined)
    throw new OAuthError("unapproved_software_statement", {
      description: "This server approves no software statements: leave software_statement out.",
    });
  const method = readMethod(message);
  const isPublic = method === "none";
  const redirectUris = readRedirectUris(message, { isPublic, rules });
  const platform = platformOf(redirectUris, rules);
  const scope = readScope(message);
  const metadata: RegistrationMetadata = {
    redirect_uris: redirectUris,
    ...readDescription(message, rules),
    token_endpoint_auth_method: method,
    // a script cannot protect a refresh token from other scripts on its page
    grant_types: readGrantTypes(message, !isPublic || platform === "native"),
    ...(scope !== undefined && { scope }),
    ...readKeys(message, { method, rules }),
    sent: sent as Sent,
  };
  return { metadata: frozen(metadata), platform };
}
