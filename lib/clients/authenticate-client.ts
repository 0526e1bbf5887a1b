/** Client authentication at the endpoints that clients call. RFC 6749 §2.3, §3.2.1, §5.2; 7521 §4.2.1. */
import type { EmitEvent } from "../events/port";
import type { Client } from "../protocol/client";
import {
  type MalformedClientAuthentication,
  type PresentedClient,
  readClientAuthentication,
} from "../protocol/client-authentication";
import type { Issuer } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import type { EpochSeconds } from "../protocol/time";
import type { ClientLookup } from "./client-lookup";
import { isClientSecret, type VerifyClientSecret } from "./client-secret";

/** What client authentication uses. */
export interface ClientAuthenticationPorts {
  /** Client records, checked and remembered for a moment. */
  readonly clients: Pick<ClientLookup, "find">;
  readonly verifySecret: VerifyClientSecret;
  readonly emit: EmitEvent;
}

/** A request whose client has not been authenticated yet. */
export interface UnprovenRequest {
  readonly issuer: Issuer;
  /** Those of the form. */
  readonly parameters: Parameters;
  /** The one `Authorization` header; requests with several are refused earlier. */
  readonly authorizationHeader: string | undefined;
}

/** A request of an authenticated client. A public client only names itself, as it has no secret. */
export interface ClientRequest {
  readonly issuer: Issuer;
  readonly client: Client;
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
  }
}

/** Why the client is not authenticated, or `undefined` when it is. */
async function proofProblem(
  verifySecret: VerifyClientSecret,
  { client, presented }: { client: Client; presented: PresentedClient },
): Promise<string | undefined> {
  if (!client.confidential)
    return "clientSecret" in presented ? "a public client must not send a secret" : undefined;
  switch (presented.kind) {
    case "none":
      return "the client secret is missing";
    case "client_assertion":
      return "client assertions are not supported (RFC 7521 §4.2): send client_secret";
    case "client_secret_basic":
    case "client_secret_post": {
      const { clientSecret } = presented;
      if (!isClientSecret(clientSecret))
        return "the client secret contains a control character, such as a trailing line feed (RFC 6749 Appendix A.2)";
      return (await verifySecret(client, clientSecret)) ? undefined : "the client secret is wrong";
    }
  }
}

/**
 * The authenticated client; a public one only names itself. A failed proof emits `client-authentication-failed`, with a client id
 * only if there is such a client: no input gets into events.
 *
 * @throws OAuthError `invalid_client` or `invalid_request`; `temporarily_unavailable` when too many secrets are being checked.
 */
export async function authenticateClient(
  { clients, verifySecret, emit }: ClientAuthenticationPorts,
  { issuer, parameters, authorizationHeader }: UnprovenRequest,
): Promise<Client> {
  const presented = readClientAuthentication(parameters, authorizationHeader);
  if (presented.kind === "malformed") throw refuseMalformed(presented.problem);
  const client = await clients.find(presented.clientId);
  const problem = client && (await proofProblem(verifySecret, { client, presented }));
  if (client && problem === undefined) return client;
  const reason = problem ?? "the client is unknown";
  emit({
    kind: "client-authentication-failed",
    issuer: issuer.identifier,
    ...(client && { clientId: client.clientId }),
    reason,
  });
  throw invalidClient(reason);
}
