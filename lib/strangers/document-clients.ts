/** Clients whose id is the URL of their metadata document. draft-ietf-oauth-client-id-metadata-document §3 to §6. */
import type { EmitEvent } from "../events/port";
import { type AnswerKeys, askHost, invalidAnswer } from "../host/ask";
import { isFetchableUrl } from "../fetching/fetchable-url";
import type { FoundDocument, RememberedDocuments } from "../fetching/remembered-documents";
import type { Client } from "../protocol/client";
import { isTextList } from "../protocol/host-json";
import { hasOrigin, reservedOrigins } from "../protocol/issuer";
import { because, OAuthError, type RefusalCode } from "../protocol/oauth-error";
import type { ClientPlace, SelfDescribedClients } from "../clients/client-lookup";
import { clientOfDocument, type DocumentProblem, documentReasons } from "./metadata-document";
import type {
  ClientMetadataDocumentAdapter,
  ClientRegistrationAdapter,
  DocumentDecision,
} from "../clients/port";
import type { Clock } from "../protocol/time";
import type { Storage } from "../storage/port";
import { findRegistration, isRegistrationId, registrationIdsOf } from "../clients/registered-clients";

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
  readonly code: RefusalCode;
  readonly reason: string;
  /** True when the client may work again soon. */
  readonly mayPass?: boolean;
}

/** True for a client id that can be the URL of a document. @rfc draft-ietf-oauth-client-id-metadata-document §3 */
export function isDocumentUrl(clientId: string, by: { readonly insecureLoopback: boolean }): boolean {
  return isFetchableUrl(clientId, by) && new URL(clientId).pathname !== "/";
}

const decisionKeys: AnswerKeys<DocumentDecision> = {
  accepted: {
    scopes: true,
    redirectOrigins: true,
    clientAuthentication: true,
    allowTokenEndpointAudience: true,
    identityAssertions: true,
  },
  refused: {},
};

/** What is wrong with the host's answer, or `undefined`. Each of these mistakes would let a stranger have more than was meant. */
function decisionProblem(decision: DocumentDecision): string | undefined {
  if (decision.kind === "refused") return undefined;
  const { scopes = [], redirectOrigins = [], clientAuthentication = "none" } = decision;
  // includes() would search a string for a part of it, and null would be taken as left out
  if (!isTextList(scopes)) return "scopes must be a list of scope names";
  if (!isTextList(redirectOrigins)) return "redirectOrigins must be a list of origins";
  if (clientAuthentication !== "none") return 'clientAuthentication must be "none", or be left out';
  const { allowTokenEndpointAudience = false, identityAssertions = false } = decision;
  const flags: Readonly<Record<string, unknown>> = { allowTokenEndpointAudience, identityAssertions };
  const wrong = Object.keys(flags).find((name) => typeof flags[name] !== "boolean");
  return wrong === undefined ? undefined : `${wrong} must be true or false`;
}

/** The host's answer. @throws TypeError when it is wrong */
async function askPolicy(
  adapter: ClientMetadataDocumentAdapter,
  clientId: string,
): Promise<DocumentDecision> {
  const by = "clientMetadataDocuments.accept";
  const ask = (): unknown => adapter.accept(clientId);
  const decision = await askHost<DocumentDecision>(by, { ask, keys: decisionKeys });
  const problem = decisionProblem(decision);
  if (problem !== undefined) throw invalidAnswer(by, problem);
  return decision;
}

/** Refusals while documents are being fetched. */
export const documentFetchReasons = {
  "too-many-documents":
    "too many client metadata documents are being fetched at once: the client may try again in a moment",
  "document-unreachable":
    "the client's metadata document cannot be fetched now: the event client-document-refused says why. Its own server must be fixed",
} as const;

function tooMany(): OAuthError {
  return new OAuthError("temporarily_unavailable", {
    description: "Too many client metadata documents are being fetched.",
    ...because(documentFetchReasons, "too-many-documents"),
  });
}

/** As much as lies between two attempts to fetch a document. */
const retryAfterSeconds = 30;

/** The client must keep its tokens: `invalid_client` would have it throw all credentials away. @rfc 6749 §5.2 */
function notNow(): OAuthError {
  return new OAuthError("temporarily_unavailable", {
    description: "The client's metadata document cannot be fetched now.",
    ...because(documentFetchReasons, "document-unreachable"),
    situation: "unreached",
    retryAfterSeconds,
  });
}

function noClient(problem: DocumentProblem): NoClient {
  return because(documentReasons, problem);
}

/** The document, fetched if it must be and may be, or why there is none. */
async function findDocument(
  { documents }: Pick<DocumentClientPorts, "documents">,
  { clientId, mayFetch, byGrant = false }: Sought,
): Promise<FoundDocument | NoClient> {
  const asker = byGrant ? "known" : "anyone";
  const fresh = documents.fresh(clientId, asker);
  if (fresh) return fresh;
  if (!(await mayFetch())) return documents.peek(clientId) ?? noClient("document-not-remembered");
  const answer = await documents.find(clientId, asker);
  if (answer.kind === "too-many") throw tooMany();
  if (answer.kind === "found") return answer;
  return { code: answer.code, reason: answer.reason, mayPass: answer.kind === "failed" };
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
  if (decision.kind === "refused") return noClient("document-refused-by-host");
  const { redirectSchemes } = ports;
  const { browserOrigins = [] } = adapter;
  const reserved = reservedOrigins(issuer, [...browserOrigins, ...(decision.redirectOrigins ?? [])]);
  if (hasOrigin(clientId, reserved)) return noClient("document-of-this-server");
  const document = await findDocument(ports, sought);
  if ("reason" in document) return document;
  const rules = { clientId, apiId, decision, browserOrigins, reserved, redirectSchemes };
  const found = clientOfDocument(document.value, rules);
  return "problem" in found ? noClient(found.problem) : found;
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
  if (!found || !("reason" in found)) return found;
  const { code, reason } = found;
  ports.emit({ kind: "client-document-refused", issuer: sought.issuer.identifier, code, reason });
  if (found.mayPass) throw notNow();
  return undefined;
}

/** What finding them uses. */
export interface SelfDescribedPorts extends DocumentClientPorts {
  readonly storage: Pick<Storage, "clientRegistrations">;
  readonly clock: Clock;
  /** API id → the host's adapter, for APIs where clients may register. */
  readonly registrars: ReadonlyMap<string, ClientRegistrationAdapter>;
}

/** Finds clients by their metadata documents, and those that have registered themselves. */
export function selfDescribedClients(ports: SelfDescribedPorts): SelfDescribedClients {
  const { adapters, registrars } = ports;
  const listed = [...adapters.values(), ...registrars.values()].flatMap(
    ({ browserOrigins = [] }) => browserOrigins,
  );
  const origins = new Set(listed);
  return {
    async find(clientId, at) {
      if (!isRegistrationId(clientId)) return findDocumentClient(ports, { clientId, ...at });
      const { apiId } = at.issuer.api;
      if (!registrars.has(apiId) || !clientId.startsWith(registrationIdsOf(at.issuer))) return undefined;
      return findRegistration(ports, { clientId, apiId });
    },
    async mayHoldTokens(clientId, apiId) {
      if (!isRegistrationId(clientId)) return adapters.has(apiId) && isDocumentUrl(clientId, ports);
      return registrars.has(apiId) && (await findRegistration(ports, { clientId, apiId })) !== undefined;
    },
    isBrowserOrigin: (origin) => origins.has(origin),
  };
}
