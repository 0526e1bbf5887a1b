/** Client registration: the message, the host's decision, the record. RFC 7591 §3.1, §3.2. */
import type { IncomingMessage } from "node:http";
import { generateClientSecret } from "../clients/client-secret";
import {
  checkAskedScopes,
  clientOfRegistration,
  narrowedTo,
  type NewRegistration,
  registrationResponse,
  scopesOfRegistration,
} from "../strangers/new-registration";
import type { ClientRegistrationAdapter, RegistrationDecision, RegistrationMetadata } from "../clients/port";
import { registrationIdsOf } from "../clients/registered-clients";
import { checkRegistrationMetadata, registrationReasons } from "../strangers/registration-metadata";
import { type EmitEvent, refusalEvent } from "../events/port";
import { type AnswerKeys, askHost, invalidAnswer } from "../host/ask";
import { type Client, clientFlags, flagOptions } from "../protocol/client";
import { type Issuer, reservedOrigins } from "../protocol/issuer";
import { because, isErrorDescription, OAuthError, toOAuthError } from "../protocol/oauth-error";
import { jsonError, type JsonResponse } from "../protocol/protocol-response";
import type { Clock } from "../protocol/time";
import type { Storage } from "../storage/port";

/** What a registration uses. */
export interface RegistrationPorts {
  readonly storage: Pick<Storage, "clientRegistrations">;
  /** The host's adapter of this API. */
  readonly adapter: ClientRegistrationAdapter;
  /** The schemes without a dot that native clients may use. */
  readonly redirectSchemes: readonly string[];
  /** Also allows keys at https URLs of this machine. For development and tests. */
  readonly insecureLoopback: boolean;
  readonly emit: EmitEvent;
  readonly clock: Clock;
  readonly randomId: () => string;
}

/** A registration request. */
export interface RegistrationRequest {
  readonly issuer: Issuer;
  /** For the host's adapter. Its body has been read. */
  readonly req: IncomingMessage;
  /** The body, or why it could not be read. */
  readonly message:
    { readonly kind: "json"; readonly value: unknown } | { readonly kind: "unreadable"; error: OAuthError };
}

/** How long a client has until a person approves it for the first time. */
const unusedSeconds = 3_600;
/** How many registrations are stored at most. Those that nobody has approved make room for new ones. */
const maxRegistrations = 10_000;
/** How many of them are for new ones: with fewer, two clients that register at once would end each other before anyone approves one. */
const reservedForNew = 1_000;

/** Ten thousand of these must not fill a server's memory. */
const maxRecordBytes = 16_384;

function tooLarge(): OAuthError {
  return new OAuthError("invalid_client_metadata", {
    description: registrationReasons["metadata-too-large"],
    code: "metadata-too-large",
  });
}

const decisionKeys: AnswerKeys<RegistrationDecision> = {
  approved: { scopes: true },
  refused: { description: true },
};

type Approved = Extract<RegistrationDecision, { kind: "approved" }>;

/** The host's yes. @throws OAuthError `access_denied` for a no @throws TypeError when the answer is invalid */
async function askForApproval(
  { adapter }: RegistrationPorts,
  { req, metadata }: { req: IncomingMessage; metadata: RegistrationMetadata },
): Promise<Approved> {
  const ask = (): unknown => adapter.approve(req, metadata);
  const by = "clientRegistration.approve";
  const decision = await askHost<RegistrationDecision>(by, { ask, keys: decisionKeys });
  if (decision.kind === "approved") return decision;
  const { description = "The server does not register this client." } = decision;
  if (!isErrorDescription(description)) throw invalidAnswer(by, 'description must be ASCII without " and \\');
  throw new OAuthError("access_denied", {
    description,
    ...because(registrationReasons, "registration-refused-by-host"),
  });
}

function noRoom(): OAuthError {
  return new OAuthError("temporarily_unavailable", {
    description: "The server cannot register more clients now.",
    ...because(registrationReasons, "too-many-registrations", maxRegistrations - reservedForNew),
    retryAfterSeconds: unusedSeconds,
  });
}

/** A client that may be registered, if the host allows it. */
interface Candidate {
  readonly registration: NewRegistration;
  /** With all scopes of the API. */
  readonly client: Client;
  readonly secret: string | undefined;
}

/** The client as the message describes it. @throws OAuthError when it cannot be registered, whatever the host says */
function readCandidate(
  { adapter, redirectSchemes, insecureLoopback, randomId }: RegistrationPorts,
  { issuer, message }: Pick<RegistrationRequest, "issuer" | "message">,
): Candidate {
  if (message.kind === "unreadable") throw message.error;
  const { browserOrigins = [] } = adapter;
  const reserved = reservedOrigins(issuer, browserOrigins);
  const flags = clientFlags.filter((flag) => issuer.api[flagOptions[flag]]);
  const rules = { redirectSchemes, insecureLoopback, browserOrigins, reserved, flags };
  const checked = checkRegistrationMetadata(message.value, rules);
  const { metadata } = checked;
  const { apiId, scopes } = issuer.api;
  checkAskedScopes(metadata, { allowed: Object.keys(scopes), code: "no-scope-of-api" });
  const hasSecret = metadata.token_endpoint_auth_method.startsWith("client_secret_");
  const { secret, digest } = hasSecret ? generateClientSecret() : {};
  const registration: NewRegistration = {
    ...checked,
    clientId: `${registrationIdsOf(issuer)}${randomId()}`,
    apiId,
    secretDigest: digest,
  };
  const client = clientOfRegistration(registration);
  if (Buffer.byteLength(JSON.stringify(client)) > maxRecordBytes) throw tooLarge();
  return { registration, client, secret };
}

/**
 * Checks, asks and stores, in this order: a refusal or a failure leaves nothing behind, and a host with invitations that can be used once
 * spends none on what is refused anyway.
 */
async function register(
  ports: RegistrationPorts,
  { issuer, req, message }: RegistrationRequest,
): Promise<{ clientId: string; body: object }> {
  const { registration, client: widest, secret } = readCandidate(ports, { issuer, message });
  const { metadata } = registration;
  const decision = await askForApproval(ports, { req, metadata });
  const ofApi = Object.keys(issuer.api.scopes);
  const client = narrowedTo(scopesOfRegistration(metadata, { decision, ofApi }), widest);
  // the host may have taken its time
  const now = ports.clock();
  const expiresAt = now + unusedSeconds;
  const bound = { limit: maxRegistrations, reserved: reservedForNew, now };
  const stored = await ports.storage.clientRegistrations.create({ client, expiresAt }, bound);
  if (stored === "full") throw noRoom();
  const body = registrationResponse(registration, { client, secret, ofApi, issuedAt: now });
  return { clientId: client.clientId, body };
}

function refusalOf(refusal: OAuthError): JsonResponse {
  const { error, retryAfterSeconds = 1 } = refusal;
  if (error === "temporarily_unavailable")
    return jsonError(refusal, { "Retry-After": String(retryAfterSeconds) });
  // the metadata is not to blame: other metadata would be refused as well
  return error === "access_denied" ? { ...jsonError(refusal), status: 403 } : jsonError(refusal);
}

/** Registers a client, or says why not. Refusals and failures are answered here. @rfc 7591 §3.2 */
export async function registrationEndpoint(
  ports: RegistrationPorts,
  request: RegistrationRequest,
): Promise<JsonResponse> {
  const issuer = request.issuer.identifier;
  try {
    const { clientId, body } = await register(ports, request);
    ports.emit({ kind: "client-registered", issuer, clientId });
    return { kind: "json", status: 201, body };
  } catch (thrown) {
    const error = toOAuthError(thrown);
    ports.emit(refusalEvent("registration-refused", { error, subject: { issuer } }));
    return refusalOf(error);
  }
}
