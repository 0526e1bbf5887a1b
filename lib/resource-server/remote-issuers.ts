/** The issuers of an API and their keys, as the authorization server publishes them. RFC 8414 §3.3; 9728 §3.3, §4; 7517 §5. */
import { isIssuerBelow, metadataUrlBelow, protectedResourceMetadataUrl } from "../protocol/issuer";
import { parseUrl } from "../protocol/parsed-url";
import type { Clock } from "../protocol/time";
import { readVerificationKey, type VerificationKey } from "../signing/verification-key";
import type { ResourceApi } from "./options";
import { type ParsedDocument, type RemoteDocuments, remoteDocuments, wrong } from "./remote-documents";

/** What an API needs to know of an issuer. */
export interface RemoteIssuer {
  /** `undefined` where access tokens are opaque. */
  readonly jwksUri: string | undefined;
  readonly introspectionEndpoint: string | undefined;
  /** The audiences of its APIs, if the issuer says. @rfc 9728 §4 */
  readonly resources: readonly unknown[] | undefined;
}

/** A key, and the URL of the key set that has it. */
export interface RemoteKey extends VerificationKey {
  readonly publishedAt: string;
}

/** The keys of a key set by their `kid`. */
export type RemoteKeys = ReadonlyMap<string, RemoteKey>;

/** What issuers publish. */
export interface Published {
  /** Server metadata, by URL. */
  readonly issuers: RemoteDocuments<RemoteIssuer>;
  /** Key sets, by URL. */
  readonly keySets: RemoteDocuments<RemoteKeys>;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** An endpoint at the origin of the issuer: secrets and tokens are sent to no other server. */
function endpointOf(issuer: string, url: unknown): string | undefined {
  if (!isText(url)) return undefined;
  return parseUrl(url)?.origin === new URL(issuer).origin ? url : undefined;
}

function parseIssuer(value: object, url: string): ParsedDocument<RemoteIssuer> {
  const { issuer, jwks_uri, introspection_endpoint, protected_resources } = value as Record<string, unknown>;
  // who answers for another issuer would decide about its tokens
  if (!isText(issuer) || metadataUrlBelow(issuer) !== url)
    return wrong("its issuer is another one (RFC 8414 §3.3)");
  return {
    kind: "parsed",
    value: {
      jwksUri: endpointOf(issuer, jwks_uri),
      introspectionEndpoint: endpointOf(issuer, introspection_endpoint),
      resources: Array.isArray(protected_resources) ? protected_resources : undefined,
    },
  };
}

function parseKeySet(value: object, url: string): ParsedDocument<RemoteKeys> {
  const { keys } = value as { readonly keys?: unknown };
  const found = new Map<string, RemoteKey>();
  for (const jwk of listIn(keys)) {
    // what is no object has no kid
    const key = readVerificationKey((jwk ?? {}) as Readonly<Record<string, unknown>>);
    // of two keys with one kid, the first one is used, at every reading
    if (key && !found.has(key.kid)) found.set(key.kid, { ...key, publishedAt: url });
  }
  return found.size > 0
    ? { kind: "parsed", value: found }
    : wrong("it has no key that verifies access tokens (RFC 7517 §5, 7518 §3.1)");
}

/** What issuers publish, as far as it was fetched. */
export function publications(clock: Clock): Published {
  return {
    issuers: remoteDocuments({ name: "the metadata of an issuer", clock, parse: parseIssuer }),
    keySets: remoteDocuments({ name: "the key set", clock, parse: parseKeySet }),
  };
}

/** The issuers of an API. Both throw an Error that leads to 503 when they can't be found. */
export type ApiIssuers = Readonly<Record<"find" | "refresh", () => Promise<readonly string[]>>>;

/**
 * Whether an API has an issuer with this identifier. An unknown one below `baseUrl` may be new: it has the list asked for again, at most
 * every 30 seconds. The list can hold no other.
 */
export async function isIssuerOf(
  issuers: ApiIssuers,
  { identifier, baseUrl }: { identifier: string; baseUrl: string },
): Promise<boolean> {
  if ((await issuers.find()).includes(identifier)) return true;
  return isIssuerBelow(baseUrl, identifier) && (await issuers.refresh()).includes(identifier);
}

/**
 * Gives the issuers in the options of an API, or those that the authorization server lists for it: below its own origin, wherever the API
 * is. Issuers of other servers are ignored.
 *
 * @rfc 9728 §3.3
 */
export function issuersOf({ issuers, baseUrl, audience, apiId }: ResourceApi, clock: Clock): ApiIssuers {
  if (issuers) {
    const find = async (): Promise<readonly string[]> => issuers;
    return { find, refresh: find };
  }
  function parse(value: object): ParsedDocument<readonly string[]> {
    const { resource, authorization_servers: listed } = value as Record<string, unknown>;
    const own = listIn(listed)
      .filter(isText)
      .filter((id) => isIssuerBelow(baseUrl, id));
    // two APIs on different origins may share the path of this document
    return resource === audience && own.length > 0
      ? { kind: "parsed", value: own }
      : wrong(`it lists no issuer of ${baseUrl} for the audience ${audience}`);
  }
  const fix = `Compare baseUrl and audience (${audience}) with the options of createAuthServer, and mount auth.wellKnown there; or list the issuers in apis.${apiId}.issuers`;
  const documents = remoteDocuments({ name: "the metadata of the API", clock, parse, fix });
  const url = `${new URL(baseUrl).origin}${new URL(protectedResourceMetadataUrl(audience)).pathname}`;
  return { find: () => documents.find(url), refresh: () => documents.refresh(url) };
}
