/** Clients whose id is the URL of their metadata document. draft-ietf-oauth-client-id-metadata-document §3 to §6. */
import type { EmitEvent } from "../events/port";
import { isFetchableUrl } from "../fetching/fetchable-url";
import type { FoundDocument, RememberedDocuments } from "../fetching/remembered-documents";
import type { Client } from "../protocol/client";
import { isTextList, undefinedKey } from "../protocol/host-json";
import { hasOrigin, reservedOrigins } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import { askHost } from "../storage/calls";
import type { ClientPlace } from "./client-lookup";
import { clientOfDocument } from "./metadata-document";
import type { ClientMetadataDocumentAdapter, DocumentDecision } from "./port";

/** What finding them uses. */
export interface DocumentClientPorts {
  /** API id → the host's adapter, for APIs that accept such clients. */
  readonly adapters: ReadonlyMap<string, ClientMetadataDocumentAdapter>;
  readonly documents: Pick<RememberedDocuments, "find" | "fresh" | "peek">;
  readonly emit: EmitEvent;
  /** The schemes without a dot that native clients may use. */
  readonly redirectSchemes: readonly string[];
  readonly insecureLoopback: boolean;
}

/** A client id to be found at an issuer. */
interface Sought extends ClientPlace {
  readonly clientId: string;
}

/** Why there is no client. */
interface NoClient {
  readonly problem: string;
  /** True when the client may work again soon. */
  readonly mayPass?: boolean;
}

/** True for a client id that can be the URL of a document. @rfc draft-ietf-oauth-client-id-metadata-document §3 */
export function isDocumentUrl(clientId: string, by: { readonly insecureLoopback: boolean }): boolean {
  return isFetchableUrl(clientId, by) && new URL(clientId).pathname !== "/";
}

/** What is wrong with the host's answer, or `undefined`. Each of these mistakes would let a stranger have more than was meant. */
function decisionProblem(decision: DocumentDecision): string | undefined {
  if (decision.kind === "refused") return undefined;
  if (decision.kind !== "accepted") return 'return { kind: "accepted" } or { kind: "refused" }';
  const missing = undefinedKey(decision);
  if (missing !== undefined) return `${missing} is undefined. Leave it out, or write a value`;
  const { scopes = [], redirectOrigins = [], clientAuthentication = "none" } = decision;
  // a text would be searched for a part of it, and null would count as left out
  if (!isTextList(scopes)) return "scopes must be a list of scope names";
  if (!isTextList(redirectOrigins)) return "redirectOrigins must be a list of origins";
  if (clientAuthentication !== "none") return 'clientAuthentication must be "none", or be left out';
  const { allowTokenEndpointAudience = false } = decision;
  return typeof allowTokenEndpointAudience === "boolean"
    ? undefined
    : "allowTokenEndpointAudience must be true or false";
}

/** The host's answer. @throws TypeError when it is wrong */
async function askPolicy(
  adapter: ClientMetadataDocumentAdapter,
  clientId: string,
): Promise<DocumentDecision> {
  const by = "clientMetadataDocuments.accept";
  const decision = await askHost<DocumentDecision>(by, () => adapter.accept(clientId));
  const problem = decisionProblem(decision);
  if (problem === undefined) return decision;
  throw new TypeError(`${by}: ${problem}.`);
}

function tooMany(): OAuthError {
  return new OAuthError("temporarily_unavailable", {
    description: "Too many client metadata documents are being fetched.",
    reason:
      "too many client metadata documents are being fetched at once: the client may try again in a moment",
  });
}

/** As much as lies between two attempts to fetch a document. */
const retryAfterSeconds = 30;

/** The client must keep its tokens: `invalid_client` would have it throw all credentials away. @rfc 6749 §5.2 */
function notNow(): OAuthError {
  return new OAuthError("temporarily_unavailable", {
    description: "The client's metadata document cannot be fetched now.",
    reason:
      "the metadata document of the client cannot be fetched now, which is up to the client's server: the event client-document-refused says why",
    situation: "unreached",
    retryAfterSeconds,
  });
}

const notRemembered =
  "the document is not remembered by this process, and only an authorization request, or a code or refresh token of this client, makes the server fetch it";

/** The document, fetched if it must be and may be, or why there is none. */
async function findDocument(
  { documents }: Pick<DocumentClientPorts, "documents">,
  { clientId, mayFetch, byGrant = false }: Sought,
): Promise<FoundDocument | NoClient> {
  const asker = byGrant ? "known" : "anyone";
  const fresh = documents.fresh(clientId, asker);
  if (fresh) return fresh;
  if (!(await mayFetch())) return documents.peek(clientId) ?? { problem: notRemembered };
  const answer = await documents.find(clientId, asker);
  if (answer.kind === "too-many") throw tooMany();
  if (answer.kind === "found") return answer;
  return { problem: answer.reason, mayPass: answer.kind === "failed" };
}

/** The client, or why there is none. */
async function findClient(
  ports: DocumentClientPorts,
  sought: Sought,
): Promise<Client | NoClient | undefined> {
  const { clientId, issuer } = sought;
  const { apiId } = issuer.api;
  const adapter = ports.adapters.get(apiId);
  if (!adapter || !isDocumentUrl(clientId, ports)) return undefined;
  // before anything is looked up or fetched
  const decision = await askPolicy(adapter, clientId);
  if (decision.kind === "refused")
    return { problem: "clientMetadataDocuments.accept refused this client id" };
  const { redirectSchemes } = ports;
  const { browserOrigins = [] } = adapter;
  const reserved = reservedOrigins(issuer, [...browserOrigins, ...(decision.redirectOrigins ?? [])]);
  if (hasOrigin(clientId, reserved))
    return {
      problem:
        "the client id has the origin of baseUrl or of an audience, and redirectOrigins does not name it",
    };
  const document = await findDocument(ports, sought);
  if ("problem" in document) return document;
  const rules = { clientId, apiId, decision, browserOrigins, reserved, redirectSchemes };
  return clientOfDocument(document.value, rules);
}

/**
 * The client with this id, if its document describes one that may be used at this issuer. Otherwise an event says why not.
 *
 * @throws OAuthError `temporarily_unavailable` when too many documents are being fetched, or when this one cannot be fetched now
 * @throws TypeError when the host's answer is wrong
 */
export async function findDocumentClient(
  ports: DocumentClientPorts,
  sought: Sought,
): Promise<Client | undefined> {
  const found = await findClient(ports, sought);
  if (!found || !("problem" in found)) return found;
  ports.emit({ kind: "client-document-refused", issuer: sought.issuer.identifier, reason: found.problem });
  if (found.mayPass) throw notNow();
  return undefined;
}
