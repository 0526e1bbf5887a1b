/** Reads what a client says of itself when it registers. RFC 7591 §2, §2.1, §3.2.2. */
import { isFetchableUrl } from "../fetching/fetchable-url";
import {
  type Client,
  type ClientFlag,
  flagMetadata,
  type GrantType,
  type PublicJwk,
  type PublicKeySet,
} from "../protocol/client";
import {
  type ClientAuthenticationMethod,
  clientAuthenticationMethods,
} from "../protocol/client-authentication";
import { frozen, isTextList } from "../protocol/host-json";
import { hasOrigin } from "../protocol/issuer";
import { because, OAuthError } from "../protocol/oauth-error";
import { isRegistrableRedirectUri } from "../protocol/redirect-uri";
import { parseScope } from "../protocol/scope";
import { isPrivateKey } from "../clients/client-key";
import { readClientName, withoutNulls } from "../clients/self-description";
import { isClientLink } from "../clients/client-record";
import type { RegistrationMetadata } from "../clients/port";

/** What the server and the API allow. */
export interface RegistrationRules {
  /** The schemes without a dot that native clients may use. */
  readonly redirectSchemes: readonly string[];
  /** Origins of scripts that are clients. */
  readonly browserOrigins: readonly string[];
  /** Origins of the host's that it may not name. */
  readonly reserved: readonly string[];
  /** The flags whose option the API has. */
  readonly flags: readonly ClientFlag[];
  /** Also allows keys at https URLs of this machine. For development and tests. */
  readonly insecureLoopback: boolean;
}

/** Metadata that has passed every check. */
export interface CheckedMetadata {
  /** Frozen: what the host is shown is what is registered. */
  readonly metadata: RegistrationMetadata;
  /** The platform of the client if it is public. */
  readonly platform: "native" | "browser";
}

type Sent = Readonly<Record<string, unknown>>;

const maxRedirectUris = 10;
const maxUriLength = 2_000;
const maxKeys = 10;

/** Why a registration is refused. Where the text is a sentence, it is the description too. */
export const registrationReasons = {
  "body-not-an-object": "The body must be a JSON object.",
  "software-statement": "This server approves no software statements: leave software_statement out.",
  "metadata-too-large": "The client metadata is larger than 16 KB: shorten it.",
  "metadata-unusable": "A key in jwks or a URL in the metadata cannot be used: check them.",
  "field-not-text": (name: string): string => `${name} must be a string.`,
  "field-not-a-list": (name: string): string => `${name} must be a list of strings.`,
  "auth-method-unknown": (known: readonly string[]): string =>
    `token_endpoint_auth_method must be one of: ${known.join(", ")}.`,
  "grant-types-without-code": "grant_types must contain authorization_code, or be left out.",
  "response-types-without-code": "response_types must contain code, or be left out.",
  "scope-not-names": "scope must be a list of scope names with one space between them.",
  "jwks-malformed": "jwks must be a JWK Set of 1 to 10 keys.",
  "jwks-with-private-key": "jwks has a private key: send public keys only, and replace the private key.",
  "jwks-key-without-kty": "Each key in jwks must have kty.",
  "jwks-and-jwks-uri": "Send either jwks or jwks_uri, not both.",
  "jwks-uri-malformed":
    "jwks_uri must be an https URL in normal form, of at most 2000 characters, with a host name, and without port, user name and fragment.",
  "jwks-uri-of-this-server": "jwks_uri must not have the origin of this server or of one of its APIs.",
  "private-key-jwt-without-keys": "private_key_jwt needs jwks or jwks_uri: send one of them.",
  "redirect-uris-malformed": "redirect_uris must be a list of 1 to 10 URIs of at most 2000 characters.",
  "redirect-uris-empty":
    "redirect_uris is empty: some clients, such as Gemini CLI, register again with redirect URIs right after it",
  "redirect-uri-unsafe":
    "Each redirect URI must be https, http on a loopback host, or have the custom scheme of an app, without fragment, user name and wildcard.",
  "redirect-scheme-of-confidential-client":
    "Only a client with token_endpoint_auth_method none may have a redirect URI with a custom scheme.",
  "redirect-scheme-without-dot":
    "a redirect URI has a scheme without a dot (RFC 8252 §7.1): if you know the app, list its scheme under redirectSchemes of createAuthServer",
  "redirect-uri-of-this-server":
    "a redirect URI has the origin of baseUrl or of an audience: if the page is yours, list the origin under browserOrigins of clientRegistration, or write a record for the client",
  "no-scope-of-api": "scope has none of this API's scopes: send some of scopes_supported, or none",
  "no-scope-allowed":
    "scope has none of the scopes that clientRegistration.approve allows: allow one of them, or let the client leave scope out",
  "registration-refused-by-host": "clientRegistration.approve refused the registration: approve it there",
  "too-many-registrations": (most: number): string =>
    `${most} clients that registered themselves are in use, and there is no room for more (RFC 7591 §5): let clientRegistration.approve refuse those that you do not need, and limit its rate`,
} as const;

/** Those of one text. */
export type RegistrationProblem = {
  [Code in keyof typeof registrationReasons]: (typeof registrationReasons)[Code] extends string
    ? Code
    : never;
}[keyof typeof registrationReasons];

function invalid(code: RegistrationProblem): OAuthError {
  return new OAuthError("invalid_client_metadata", { description: registrationReasons[code], code });
}

function invalidRedirect(
  code: RegistrationProblem,
  description: string = registrationReasons[code],
): OAuthError {
  return new OAuthError("invalid_redirect_uri", { description, ...because(registrationReasons, code) });
}

/** The refusal of a field, whose name is in the text. */
function invalidField(code: "field-not-text" | "field-not-a-list", name: string): OAuthError {
  return new OAuthError("invalid_client_metadata", { description: registrationReasons[code](name), code });
}

/** A text; `undefined` when it is left out. */
function readText(sent: Sent, name: string): string | undefined {
  const value = sent[name];
  if (value !== undefined && typeof value !== "string") throw invalidField("field-not-text", name);
  return value;
}

function readList(sent: Sent, name: string): readonly string[] | undefined {
  const value = sent[name];
  if (value === undefined) return undefined;
  if (isTextList(value)) return value;
  throw invalidField("field-not-a-list", name);
}

function readMethod(sent: Sent): ClientAuthenticationMethod {
  const asked = readText(sent, "token_endpoint_auth_method") ?? "client_secret_basic";
  const method = clientAuthenticationMethods.find((known) => known === asked);
  if (method) return method;
  const description = registrationReasons["auth-method-unknown"](clientAuthenticationMethods);
  throw new OAuthError("invalid_client_metadata", { description, code: "auth-method-unknown" });
}

const native = { confidential: false, platform: "native" } as Client;

/** Why the URI is refused. A server that dropped it instead would leave the client to find out in front of a person. */
function redirectProblem(uri: string, isPublic: boolean): OAuthError {
  if (!isRegistrableRedirectUri(native, { uri, redirectSchemes: "any" }))
    return invalidRedirect("redirect-uri-unsafe");
  return isPublic
    ? invalidRedirect(
        "redirect-scheme-without-dot",
        "This server does not accept a redirect URI with this custom scheme.",
      )
    : invalidRedirect("redirect-scheme-of-confidential-client");
}

function readRedirectUris(
  sent: Sent,
  { isPublic, rules }: { isPublic: boolean; rules: RegistrationRules },
): readonly string[] {
  const uris = sent["redirect_uris"];
  if (Array.isArray(uris) && uris.length === 0)
    throw invalidRedirect("redirect-uris-empty", registrationReasons["redirect-uris-malformed"]);
  const isList = Array.isArray(uris) && uris.length <= maxRedirectUris;
  if (!isList || !uris.every((uri) => typeof uri === "string" && uri.length <= maxUriLength))
    throw invalidRedirect("redirect-uris-malformed");
  const kind = isPublic ? native : ({ confidential: true } as Client);
  const { redirectSchemes, reserved } = rules;
  const refused = uris.find((uri: string) => !isRegistrableRedirectUri(kind, { uri, redirectSchemes }));
  if (refused !== undefined) throw redirectProblem(refused as string, isPublic);
  if (uris.some((uri: string) => hasOrigin(uri, reserved)))
    throw invalidRedirect(
      "redirect-uri-of-this-server",
      "A redirect URI has the origin of this server or of one of its APIs.",
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
  if (!asked.includes("authorization_code")) throw invalid("grant-types-without-code");
  const responseTypes = readList(sent, "response_types") ?? ["code"];
  if (!responseTypes.includes("code")) throw invalid("response-types-without-code");
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
    throw invalid("jwks-malformed");
  if ((keys as readonly object[]).some(isPrivateKey)) throw invalid("jwks-with-private-key");
  const set = { keys: (keys as readonly Sent[]).map(publicPart) };
  if (set.keys.some(({ kty }) => kty === undefined)) throw invalid("jwks-key-without-kty");
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
  if (jwks && jwksUri !== undefined) throw invalid("jwks-and-jwks-uri");
  if (method !== "private_key_jwt") return {};
  if (jwksUri !== undefined && !(isClientLink(jwksUri) && isFetchableUrl(jwksUri, { insecureLoopback })))
    throw invalid("jwks-uri-malformed");
  if (jwksUri !== undefined && hasOrigin(jwksUri, reserved)) throw invalid("jwks-uri-of-this-server");
  if (jwks) return { jwks };
  if (jwksUri === undefined) throw invalid("private-key-jwt-without-keys");
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

function readFlags(
  sent: Sent,
  { flags }: RegistrationRules,
): Readonly<Partial<Record<(typeof flagMetadata)[ClientFlag], true>>> {
  const set = flags.filter((flag) => sent[flagMetadata[flag]] === true);
  return Object.fromEntries(set.map((flag) => [flagMetadata[flag], true]));
}

function readScope(sent: Sent): string | undefined {
  const scope = readText(sent, "scope")?.trim();
  if (scope === undefined || scope === "") return undefined;
  if (parseScope(scope)) return scope;
  throw invalid("scope-not-names");
}

/**
 * The metadata of a registration, with defaults for what is left out. Fields and grants that this server does not know are ignored.
 *
 * @param sent the JSON of the message.
 * @throws OAuthError `invalid_redirect_uri`, `invalid_client_metadata` or `unapproved_software_statement`
 * @rfc 7591 §2, §3.2.2
 */
export function checkRegistrationMetadata(sent: unknown, rules: RegistrationRules): CheckedMetadata {
  if (typeof sent !== "object" || sent === null || Array.isArray(sent)) throw invalid("body-not-an-object");
  const message = withoutNulls(sent as Sent);
  if (message["software_statement"] !== undefined)
    throw new OAuthError("unapproved_software_statement", {
      description: registrationReasons["software-statement"],
      code: "software-statement",
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
    ...readFlags(message, rules),
    sent: sent as Sent,
  };
  return { metadata: frozen(metadata), platform };
}
