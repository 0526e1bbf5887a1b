/** Client authentication at the endpoints that clients call. RFC 6749 §2.3, §3.2.1, §5.2; 7521 §4.2, §4.2.1; 7523 §2.2. */
import type { EmitEvent } from "../events/port";
import { type Client, isKeyClient } from "../protocol/client";
import {
  type MalformedClientAuthentication,
  type PresentedClient,
  readClientAuthentication,
} from "../protocol/client-authentication";
import { claimsProblem } from "../protocol/client-assertion";
import type { Issuer } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import type { Clock, EpochSeconds } from "../protocol/time";
import type { Storage } from "../storage/port";
import type { assertionProblem, FetchKeys } from "./client-assertion";
import type { ClientLookup, ClientPlace, RegisteredClient } from "./client-lookup";
import { isClientSecret, type VerifyClientSecret } from "./client-secret";
import { type GrantStores, presentsOwnGrant } from "./presented-grant";

/** What client authentication uses. */
export interface ClientAuthenticationPorts {
  /** Client records, checked and remembered for a moment. */
  readonly clients: Pick<ClientLookup, "findRegistered" | "findNewer">;
  readonly verifySecret: VerifyClientSecret;
  /** The keys of clients that have a `jwksUri`. */
  readonly fetchKeys: FetchKeys;
  readonly storage: GrantStores & Pick<Storage, "clientAssertions">;
  readonly emit: EmitEvent;
  readonly clock: Clock;
}

/** A request whose client has not been authenticated yet. */
export interface UnprovenRequest {
  readonly issuer: Issuer;
  /** Those of the form. */
  readonly parameters: Parameters;
  /** Those that can contain a code or a refresh token of the client: only with one may its metadata document be fetched. */
  readonly grantParameters: readonly string[];
  /** The one `Authorization` header; requests with several are refused earlier. */
  readonly authorizationHeader: string | undefined;
}

/** A request of an authenticated client. A public client only names itself, as it has no secret. */
export interface ClientRequest extends Pick<RegisteredClient, "client" | "endMark"> {
  readonly issuer: Issuer;
  /** Those of the form. */
  readonly parameters: Parameters;
  /** When the request was authenticated: one time for all of its rules. */
  readonly now: EpochSeconds;
}

/** One description for every failed proof, so that it does not reveal whether the client exists. */
function invalidClient(reason: string): OAuthError {
  return new OAuthError("invalid_client", { description: "Client authentication failed.", reason });
}

function refuseMalformed(problem: MalformedClientAuthentication): OAuthError {
  switch (problem) {
    case "missing-client-id":
      return new OAuthError("invalid_request", {
        description: "client_id is missing.",
        reason:
          "the client must name itself (RFC 6749 §3.2.1): send client_id in the form, or Basic authentication",
      });
    case "several-methods":
      return new OAuthError("invalid_request", {
        description: "Use one client authentication method.",
        reason:
          "the request has more than one of client_secret, client_assertion and the Authorization header (RFC 6749 §2.3, 7521 §4.2.1): send only one",
      });
    case "client-ids-differ":
      return new OAuthError("invalid_request", {
        description: "client_id differs from the Authorization header.",
        reason:
          "client_id and Basic authentication name different clients (RFC 6749 §2.3.1): leave client_id out",
      });
    case "unreadable-authorization-header":
      return invalidClient("the Authorization header is not valid Basic authentication");
    case "unsupported-assertion-type":
      return invalidClient(
        "client_assertion_type must be urn:ietf:params:oauth:client-assertion-type:jwt-bearer (RFC 7523 §2.2)",
      );
    case "assertion-of-another-client":
      return invalidClient(
        "client_id and sub of the assertion name different clients (RFC 7521 §4.2): leave client_id out",
      );
  }
}

/** Loaded with the first assertion: a server whose clients have secrets does not pay for it at start. */
function loadVerification(): { readonly assertionProblem: typeof assertionProblem } {
  return require("./client-assertion") as { assertionProblem: typeof assertionProblem };
}

/** What a client presents, and where. */
interface Presentation extends ClientPlace {
  readonly client: Client;
  readonly presented: PresentedClient;
}

/** Why the client is not authenticated, or `undefined` when it is. */
async function proofProblem(
  ports: ClientAuthenticationPorts,
  { client, presented, issuer, mayFetch }: Presentation,
): Promise<string | undefined> {
  if (!client.confidential) {
    if (presented.kind === "none") return undefined;
    return `a public client must not send ${"assertion" in presented ? "an assertion" : "a secret"}`;
  }
  switch (presented.kind) {
    case "none":
      return isKeyClient(client)
        ? "the client must send a signed assertion (RFC 7523 §2.2)"
        : "the client secret is missing";
    case "private_key_jwt":
      if (!isKeyClient(client)) return "the client must send its secret: it has no key for assertions";
      return loadVerification().assertionProblem(ports, {
        client,
        assertion: presented.assertion,
        issuer,
        // where a registered client has its keys was said by the host, and not by who asks
        mayFetch: client.selfDescription ? mayFetch : () => true,
      });
    case "client_secret_basic":
    case "client_secret_post": {
      if (isKeyClient(client)) return "the client must send a signed assertion (RFC 7523 §2.2), not a secret";
      const { clientSecret } = presented;
      if (!isClientSecret(clientSecret))
        return "the client secret contains a control character, such as a trailing line feed (RFC 6749 Appendix A.2)";
      return (await ports.verifySecret(client, clientSecret)) ? undefined : "the client secret is wrong";
    }
  }
}

/**
 * The client with what it can prove itself by only now, or `undefined` if that is nothing: a secret that was tried may have cost a
 * derivation, and keys at a URL are asked for again in their own way.
 */
function withNewProof(client: Client, tried: Client): Client | undefined {
  if (isKeyClient(client) && isKeyClient(tried))
    return client.jwksUri !== undefined && client.jwksUri === tried.jwksUri ? undefined : client;
  if (!("secretDigests" in client && "secretDigests" in tried)) return client;
  const secretDigests = client.secretDigests.filter((digest) => !tried.secretDigests.includes(digest));
  return secretDigests.length > 0 ? { ...client, secretDigests } : undefined;
}

/** The client once it has proved itself, by what is remembered of it or by its record as it is now; otherwise why not. */
async function prove(
  ports: ClientAuthenticationPorts,
  { registered, ...place }: Omit<Presentation, "client"> & { registered: RegisteredClient },
): Promise<RegisteredClient | string> {
  const { client } = registered;
  const problem = await proofProblem(ports, { ...place, client });
  if (problem === undefined) return registered;
  const newer = await ports.clients.findNewer(registered);
  const withProof = newer && withNewProof(newer.client, client);
  return withProof ? ((await proofProblem(ports, { ...place, client: withProof })) ?? newer) : problem;
}

/** False for an assertion that no record of the client could make good. */
function couldProve(
  presented: PresentedClient,
  { issuer, now }: { issuer: Issuer; now: EpochSeconds },
): boolean {
  if (presented.kind !== "private_key_jwt") return true;
  const { clientId, assertion } = presented;
  const expected = { issuer, clientId, allowTokenEndpointAudience: true, now };
  return claimsProblem(assertion.claims, expected) === undefined;
}

/**
 * The authenticated client; a public one only names itself. A failed proof emits `client-authentication-failed`, with a client id
 * only if there is such a client: no input gets into events.
 *
 * @throws OAuthError `invalid_client` or `invalid_request`; `temporarily_unavailable` when too many secrets are being checked, or when
 * the client's metadata document or keys cannot be had.
 */
export async function authenticateClient(
  ports: ClientAuthenticationPorts,
  { issuer, parameters, grantParameters, authorizationHeader }: UnprovenRequest,
): Promise<RegisteredClient> {
  const { clients, emit, storage, clock } = ports;
  const presented = readClientAuthentication(parameters, authorizationHeader);
  if (presented.kind === "malformed") throw refuseMalformed(presented.problem);
  if (presented.kind === "unreadable") throw invalidClient(presented.reason);
  const { clientId } = presented;
  const mayFetch = (): boolean | Promise<boolean> => {
    const now = clock();
    if (!couldProve(presented, { issuer, now })) return false;
    return presentsOwnGrant(storage, { issuer, parameters, grantParameters, clientId, now });
  };
  const registered = await clients.findRegistered(clientId, { issuer, mayFetch, byGrant: true });
  const proven = registered && (await prove(ports, { registered, presented, issuer, mayFetch }));
  if (typeof proven === "object") return proven;
  const reason = proven ?? "the client is unknown";
  emit({
    kind: "client-authentication-failed",
    issuer: issuer.identifier,
    ...(registered && { clientId: registered.client.clientId }),
    reason,
  });
  throw invalidClient(reason);
}
