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
} from "../clients/new-registration";
import type { ClientRegistrationAdapter, RegistrationDecision, RegistrationMetadata } from "../clients/port";
import { registrationIdsOf } from "../clients/registered-clients";
import { checkRegistrationMetadata } from "../clients/registration-metadata";
import type { EmitEvent } from "../events/port";
import type { Client } from "../protocol/client";
import { undefinedKey } from "../protocol/host-json";
import { type Issuer, reservedOrigins } from "../protocol/issuer";
import { isErrorDescription, isFailure, OAuthError, toOAuthError } from "../protocol/oauth-error";
import { jsonError, type JsonResponse } from "../protocol/protocol-response";
import type { Clock } from "../protocol/time";
import { askHost } from "../storage/calls";
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
/** So many of them are for new ones: with fewer, two clients that register at once would end each other before anybody approves one. */
const reservedForNew = 1_000;

/** Ten thousand of these must not fill a server's memory. */
const maxRecordBytes = 16_384;

function tooLarge(): OAuthError {
  return new OAuthError("invalid_client_metadata", {
    description: "The metadata is too large: at most 16 KB are registered.",
  });
}

type Approved = Extract<RegistrationDecision, { kind: "approved" }>;

/** The host's yes. @throws OAuthError `access_denied` for a no @throws TypeError when the answer is invalid */
async function askForApproval(
  { adapter }: RegistrationPorts,
  { req, metadata }: { req: IncomingMessage; metadata: RegistrationMetadata },
): Promise<Approved> {
  const ask = (): unknown => adapter.approve(req, metadata);
  const decision = await askHost<RegistrationDecision>("clientRegistration.approve", ask);
  const missing = undefinedKey(decision);
  if (missing !== undefined)
    throw new TypeError(
      `clientRegistration.approve: ${missing} is undefined. Leave it out, or write a value.`,
    );
  if (decision.kind === "approved") return decision;
  if (decision.kind !== "refused")
    throw new TypeError(
      'clientRegistration.approve must return { kind: "approved" } or { kind: "refused" }.',
    );
  const { description = "The server does not register this client." } = decision;
  if (!isErrorDescription(description))
    throw new TypeError('clientRegistration.approve: description must be ASCII without " and \\.');
  throw new OAuthError("access_denied", {
    description,
    reason: "clientRegistration.approve refused the registration",
  });
}

function noRoom(): OAuthError {
  return new OAuthError("temporarily_unavailable", {
    description: "The server cannot register more clients now.",
    reason: `more than ${maxRegistrations - reservedForNew} registered clients are in use, so there is no room for another one (RFC 7591 §5)`,
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
  const rules = { redirectSchemes, insecureLoopback, browserOrigins, reserved };
  const checked = checkRegistrationMetadata(message.value, rules);
  const { metadata } = checked;
  const { apiId, scopes } = issuer.api;
  const reason = "scope names no scope of this API: the client may leave scope out";
  checkAskedScopes(metadata, { allowed: Object.keys(scopes), reason });
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
 * Checks, asks and stores, in this order: a refusal or a failure leaves nothing behind, and a host whose invitations count once spends none
 * for what is refused anyway.
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

function refusalOf(error: OAuthError): JsonResponse {
  const { code, retryAfterSeconds = 1 } = error;
  if (code === "temporarily_unavailable")
    return jsonError(error, { "Retry-After": String(retryAfterSeconds) });
  // the metadata is not to blame: other metadata would be refused as well
  return code === "access_denied" ? { ...jsonError(error), status: 403 } : jsonError(error);
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
    if (isFailure(error)) ports.emit({ kind: "server-error", issuer, cause: error.cause });
    else ports.emit({ kind: "registration-refused", issuer, error: error.code, reason: error.reason });
    return refusalOf(error);
  }
}
