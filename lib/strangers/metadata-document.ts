/** Makes a client of a client id metadata document. draft-ietf-oauth-client-id-metadata-document §4; RFC 7591 §2. */
import {
  assertionGrant,
  browserOriginsOf,
  type Client,
  flagsIn,
  type GrantType,
  type KeyClient,
  type Subscription,
} from "../protocol/client";
import { isTextList } from "../protocol/host-json";
import { hasOrigin } from "../protocol/issuer";
import { isRegistrableRedirectUri } from "../protocol/redirect-uri";
import { checkClient, isClientLink } from "../clients/client-record";
import { readClientName, selfDescriptionOf, withoutNulls } from "../clients/self-description";
import type { DocumentDecision } from "../clients/port";

/** What the host allows such a client. */
export interface DocumentRules {
  /** The id of the client: the URL of its document. */
  readonly clientId: string;
  /** The one API where the client may be used. */
  readonly apiId: string;
  readonly decision: Extract<DocumentDecision, { kind: "accepted" }>;
  /** Origins of scripts that are clients. */
  readonly browserOrigins: readonly string[];
  /** Origins of the host's that it may not name. */
  readonly reserved: readonly string[];
  /** The schemes without a dot that native clients may use. */
  readonly redirectSchemes: readonly string[];
}

/** A document without what is `null`. */
type Document = Readonly<Record<string, unknown>>;

/** Why a client id that is a URL stands for no client. No text repeats anything of the document. */
export const documentReasons = {
  "document-not-an-object": "the metadata document must be a JSON object with client_id and redirect_uris",
  "document-of-another-client": "client_id in the metadata document must be the URL of the document",
  "document-with-secret":
    "the metadata document has a client secret, which anyone can read: remove client_secret and client_secret_expires_at, and never use that secret again",
  "document-redirects-malformed": "redirect_uris in the metadata document must be a list of 1 to 20 strings",
  "document-without-code": "response_types in the metadata document must contain code, or be left out",
  "document-keys-of-this-server":
    "jwks_uri in the metadata document has the origin of baseUrl or of an audience: serve the keys at the client's own origin, or send jwks",
  "document-auth-method-unknown": "token_endpoint_auth_method must be none or private_key_jwt",
  "document-with-two-key-sets": "the metadata document has both jwks and jwks_uri: keep one of them",
  "document-without-keys":
    "token_endpoint_auth_method in the metadata document is private_key_jwt, but jwks and jwks_uri are missing: add one of them",
  "document-without-redirect":
    "none of redirect_uris in the metadata document is allowed. An https URI needs the origin of the client id, or one of redirectOrigins; http needs a loopback host; a custom scheme needs a dot, or an entry in redirectSchemes; the origin of baseUrl or of an audience must be in redirectOrigins",
  "document-unusable": "a key or URL in the metadata document is malformed or not allowed: correct it",
  "document-not-remembered":
    "this process does not remember the metadata document, and fetches it only for an authorization request, or for a code or refresh token of this client: start with one of these",
  "document-refused-by-host": "clientMetadataDocuments.accept refused this client id: accept it there",
  "document-of-this-server":
    "the client id has the origin of baseUrl or of an audience: list the origin under redirectOrigins if you want to allow it",
} as const;

/** Which of them. */
export type DocumentProblem = keyof typeof documentReasons;

function textsOf(value: unknown): readonly string[] | undefined {
  return isTextList(value) ? value : undefined;
}

/** Why the document cannot be used, or `undefined`. What it does not need to say is left to the rules for clients. */
function documentProblem(document: Document, clientId: string): DocumentProblem | undefined {
  const { client_id: id, redirect_uris: redirectUris, response_types: responseTypes } = document;
  if (id !== clientId) return "document-of-another-client";
  if ("client_secret" in document || "client_secret_expires_at" in document) return "document-with-secret";
  const uris = textsOf(redirectUris);
  if (!uris || uris.length === 0 || uris.length > 20) return "document-redirects-malformed";
  if (responseTypes !== undefined && !textsOf(responseTypes)?.includes("code"))
    return "document-without-code";
  return undefined;
}

/** True when the client proves itself with a key; or why the document does not say how it does. */
function readProof(document: Document, { decision, reserved }: DocumentRules): boolean | DocumentProblem {
  const { token_endpoint_auth_method: method = "none", jwks, jwks_uri: jwksUri } = document;
  if (typeof jwksUri === "string" && hasOrigin(jwksUri, reserved)) return "document-keys-of-this-server";
  const others = textsOf(document["token_endpoint_auth_methods_supported"]) ?? [];
  if (method !== "none" && method !== "private_key_jwt") return "document-auth-method-unknown";
  if (jwks !== undefined && jwksUri !== undefined) return "document-with-two-key-sets";
  const hasKey = (jwks ?? jwksUri) !== undefined;
  if (method === "private_key_jwt" && !hasKey) return "document-without-keys";
  const mayGoWithout = method === "none" || others.includes("none");
  return hasKey && !(mayGoWithout && decision.clientAuthentication === "none");
}

/** The grants that the client has named and may use: never one without an end user, and without a page only at the host's word. */
function readGrantTypes(
  { grant_types: named }: Document,
  { decision: { identityAssertions = false } }: DocumentRules,
): readonly GrantType[] {
  const grantTypes = named === undefined ? ["authorization_code"] : (textsOf(named) ?? []);
  const open: readonly GrantType[] = ["authorization_code", "refresh_token"];
  const all: readonly GrantType[] = identityAssertions ? [...open, assertionGrant] : open;
  return all.filter((each) => grantTypes.includes(each));
}

function linksOf(
  document: Document,
  { reserved }: DocumentRules,
): Pick<Client, "clientUri" | "policyUri" | "tosUri"> {
  const isLink = (value: unknown): value is string => isClientLink(value, reserved);
  const { client_uri: clientUri, policy_uri: policyUri, tos_uri: tosUri } = document;
  return {
    ...(isLink(clientUri) && { clientUri }),
    ...(isLink(policyUri) && { policyUri }),
    ...(isLink(tosUri) && { tosUri }),
  };
}

/** An https redirect must have the origin of the id: a document must not lead people's codes to somebody else's site. */
function isOwnRedirect(uri: string, { clientId, decision, reserved }: DocumentRules): boolean {
  if (hasOrigin(uri, reserved)) return false;
  // parsed, because a scheme may also be written in upper case
  const { protocol, origin } = new URL(uri);
  if (protocol !== "https:") return true;
  return origin === new URL(clientId).origin || (decision.redirectOrigins ?? []).includes(origin);
}

/** The client's redirect URIs that may be used. Others are left out, because a document is written for many servers. */
function usableRedirects(client: Client, rules: DocumentRules): Client {
  const { redirectSchemes } = rules;
  const redirectUris = client.redirectUris.filter(
    (uri) => isRegistrableRedirectUri(client, { uri, redirectSchemes }) && isOwnRedirect(uri, rules),
  );
  return { ...client, redirectUris };
}

function asBrowserClient(client: Client, { browserOrigins }: DocumentRules): Client {
  if (client.confidential) return client;
  const asBrowser = { ...client, platform: "browser" } as const;
  return browserOriginsOf(asBrowser).every((origin) => browserOrigins.includes(origin)) ? asBrowser : client;
}

/** The client as its document describes it, with everything that the document lists. */
function describedClient(
  document: Document,
  { rules, hasProof }: { rules: DocumentRules; hasProof: boolean },
): Client {
  const { clientId, apiId, decision } = rules;
  const subscription: Subscription = {
    grantTypes: readGrantTypes(document, rules),
    ...(decision.scopes && { scopes: decision.scopes }),
  };
  const described = {
    clientId,
    name: readClientName(document["client_name"]) ?? new URL(clientId).host,
    redirectUris: document["redirect_uris"] as readonly string[],
    subscriptions: { [apiId]: subscription },
    ...linksOf(document, rules),
    ...flagsIn(document),
  };
  if (!hasProof) return { ...described, confidential: false, platform: "native" };
  const { jwks, jwks_uri: jwksUri } = document;
  return {
    ...described,
    confidential: true,
    ...(jwks !== undefined && { jwks }),
    ...(jwksUri !== undefined && { jwksUri }),
    ...(decision.allowTokenEndpointAudience && { allowTokenEndpointAudience: true }),
  } as KeyClient;
}

/** The client at one API, or why the document cannot be used there. */
export function clientOfDocument(
  value: unknown,
  rules: DocumentRules,
): Client | { readonly problem: DocumentProblem } {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { problem: "document-not-an-object" };
  const document = withoutNulls(value as Document);
  const problem = documentProblem(document, rules.clientId);
  if (problem !== undefined) return { problem };
  const hasProof = readProof(document, rules);
  if (typeof hasProof === "string") return { problem: hasProof };
  const client = describedClient(document, { rules, hasProof });
  // bound to all that the document lists, also to what is not used here
  const selfDescription = selfDescriptionOf(client, "document");
  const usable = asBrowserClient(usableRedirects(client, rules), rules);
  if (usable.redirectUris.length === 0) return { problem: "document-without-redirect" };
  try {
    return { ...checkClient(usable), selfDescription };
  } catch {
    return { problem: "document-unusable" };
  }
}
