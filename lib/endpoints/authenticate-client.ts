/** Client authentication at the token endpoint. RFC 6749 §2.3, §3.2.1, §5.2. */
import type { EmitEvent } from "../events/port";
import type { Client } from "../protocol/client";
import {
  type ClientAuthentication,
  type MalformedClientAuthentication,
  readClientAuthentication,
} from "../protocol/client-authentication";
import type { Issuer } from "../protocol/issuer";
import { OAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import type { ClientStore } from "../storage/port";
import type { ClientSecretCheck } from "./client-secret-check";

export interface ClientAuthenticationPorts {
  readonly storage: { readonly clients: Pick<ClientStore, "find"> };
  readonly checkSecret: ClientSecretCheck;
  readonly emit: EmitEvent;
}

export interface ClientAuthenticationRequest {
  readonly issuer: Issuer;
  readonly parameters: Parameters;
  readonly authorizationHeader: string | undefined;
}

/** One text for every failed proof, so that it does not tell whether the client exists. */
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
        reason: "client_secret came beside an Authorization header (RFC 6749 §2.3): send one of them",
      });
    case "client-ids-differ":
      return new OAuthError("invalid_request", {
        description: "client_id differs from the Authorization header.",
        reason: "client_id and Basic authentication name two clients (RFC 6749 §2.3.1): leave client_id out",
      });
    case "unreadable-authorization-header":
      return invalidClient("the Authorization header is not readable as Basic");
  }
}

type PresentedClient = Exclude<ClientAuthentication, { kind: "malformed" }>;

/** Why the client is not proved, or `undefined` when it is. */
async function proofProblem(
  checkSecret: ClientSecretCheck,
  { client, presented }: { client: Client | undefined; presented: PresentedClient },
): Promise<string | undefined> {
  if (!client) return "the client is unknown";
  if (!client.confidential) {
    return presented.kind === "none" ? undefined : "a public client must not send a secret";
  }
  if (presented.kind === "none") return "the client secret is missing";
  return (await checkSecret(client, presented.clientSecret)) ? undefined : "the client secret is wrong";
}

/** The client that has proved itself; a public one has nothing to prove here. @throws OAuthError */
export async function authenticateClient(
  { storage, checkSecret, emit }: ClientAuthenticationPorts,
  { issuer, parameters, authorizationHeader }: ClientAuthenticationRequest,
): Promise<Client> {
  const presented = readClientAuthentication(parameters, authorizationHeader);
  if (presented.kind === "malformed") throw refuseMalformed(presented.problem);
  const client = await storage.clients.find(presented.clientId);
  const problem = await proofProblem(checkSecret, { client, presented });
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
