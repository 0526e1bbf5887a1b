/** Client authentication at the endpoints that clients call. RFC 6749 §2.3, §3.2.1, §5.2; 7521 §4.2, §4.2.1; 7523 §2.2. */
import type { IncomingHttpHeaders } from "node:http";
import type { Advise, EmitEvent } from "../events/port";
import { type Client, isKeyClient } from "../protocol/client";
import {
  type MalformedClientAuthentication,
  type PresentedClient,
  readClientAuthentication,
} from "../protocol/client-authentication";
import { type AssertionProblem, assertionReasons, claimsProblem } from "../protocol/client-assertion";
import type { Issuer } from "../protocol/issuer";
import { because, OAuthError } from "../protocol/oauth-error";
import type { Parameters } from "../protocol/parameters";
import { type Clock, clockDriftSeconds, type EpochSeconds } from "../protocol/time";
import type { Storage } from "../storage/port";
import type { FetchKeys } from "./assertion-keys";
import type { assertionProblem } from "./client-assertion";
import type { ClientLookup, ClientPlace, RegisteredClient } from "./client-lookup";
import { isClientSecret, type VerifyClientSecret } from "./client-secret";
import { type GrantStores, type IsVouchedFor, presentsOwnGrant } from "./presented-grant";

/** What client authentication uses. */
export interface ClientAuthenticationPorts {
  /** Client records, checked and remembered for a moment. */
  readonly clients: Pick<ClientLookup, "findRegistered" | "findNewer">;
  readonly verifySecret: VerifyClientSecret;
  /** The keys of clients that have a `jwksUri`. */
  readonly fetchKeys: FetchKeys;
  /** Left out where no identity provider vouches. */
  readonly isVouchedFor?: IsVouchedFor | undefined;
  readonly storage: GrantStores & Pick<Storage, "clientAssertions">;
  readonly emit: EmitEvent;
  readonly advise?: Advise | undefined;
  readonly clock: Clock;
}

/** A request to an endpoint that clients call. */
export interface EndpointRequest {
  readonly issuer: Issuer;
  /** With one `Authorization` header at most; requests with several are refused earlier. */
  readonly headers: IncomingHttpHeaders;
  /** Those of the form, never of the URL. */
  readonly parameters: Parameters;
}

/** A request whose client has not been authenticated yet. */
export interface UnprovenRequest extends EndpointRequest {
  /**
   * Those that can contain a code or a refresh token of the client: only with one may its metadata document be fetched. `"anyone"`: it may be
   * fetched for any request, as at the authorization endpoint.
   */
  readonly grantParameters: readonly string[] | "anyone";
}

/** A request of an authenticated client. A public client only names itself, as it has no secret. */
export interface ClientRequest
  extends EndpointRequest, Pick<RegisteredClient, "client" | "endMark" | "apiEnds"> {
  /** When the request was authenticated: one time for all of its rules. */
  readonly now: EpochSeconds;
  /** Thumbprint of the key that the request has proved, at an endpoint that binds tokens. @rfc 9449 §4 */
  readonly key?: string;
}

/** Why a client is not authenticated, besides what is wrong with an assertion. */
export const clientReasons = {
  "missing-client-id":
    "client_id is missing (RFC 6749 §3.2.1): send client_id in the form, or Basic authentication",
  "several-authentication-methods":
    "the request has more than one of client_secret, client_assertion and the Authorization header (RFC 6749 §2.3, 7521 §4.2.1): send only one",
  "client-ids-differ":
    "client_id and Basic authentication name different clients (RFC 6749 §2.3.1): leave client_id out",
  "unreadable-authorization-header":
    "the Authorization header is not valid Basic authentication (RFC 6749 §2.3.1): send Basic and the base64 of client_id:client_secret, each form-encoded before",
  "unsupported-assertion-type":
    "client_assertion_type must be urn:ietf:params:oauth:client-assertion-type:jwt-bearer (RFC 7523 §2.2)",
  "assertion-of-another-client":
    "client_id and sub of the assertion name different clients (RFC 7521 §4.2): leave client_id out",
  "assertion-of-public-client":
    "the client sent an assertion, but its record has confidential: false (RFC 6749 §2.3): send only client_id, or register the client as confidential, with jwks or jwksUri",
  "secret-of-public-client":
    "the client sent a secret, but its record has confidential: false (RFC 6749 §2.3): send only client_id, or register the client as confidential, with secretDigests",
  "assertion-missing":
    "the client sent only its id, but its record has keys (RFC 7523 §2.2): send client_assertion and client_assertion_type (private_key_jwt)",
  "secret-missing":
    "the client sent only its id, but its record has secretDigests (RFC 6749 §2.3.1): send the secret in the form as client_secret, or by Basic authentication",
  "assertion-in-place-of-secret":
    "the client sent an assertion, but its record has secretDigests and no keys (RFC 6749 §2.3.1): send the secret, or register the client with jwks or jwksUri",
  "secret-in-place-of-assertion":
    "the client sent a secret, but its record has keys and no secretDigests (RFC 7523 §2.2): send a signed assertion (private_key_jwt)",
  "secret-with-control-character":
    "the client secret contains a control character, such as a trailing line feed (RFC 6749 Appendix A.2): remove it",
  "secret-wrong":
    "the client secret fits none of the client's secretDigests (RFC 6749 §2.3.1): it is mistyped or was replaced. Send the secret that generateClientSecret returned, not its digest",
  "client-without-key":
    'the API has profile: "fapi2", and the client has no key (FAPI 2.0 Security Profile §5.3.2.1): register it with jwks or jwksUri',
  "assertion-alg-outside-profile":
    'the API has profile: "fapi2", and the assertion is signed with RS256 (FAPI 2.0 Security Profile §5.4.1): sign with ES256, PS256 or EdDSA',
  "client-unknown":
    "storage.clients has no client with the client_id that was sent, or it is disabled (RFC 6749 §2.2): register or enable it, or fix client_id. If it is the URL of a metadata document, the event client-document-refused says more",
} as const;

type ProofProblem = AssertionProblem | keyof typeof clientReasons;
const proofReasons: Readonly<Record<ProofProblem, string>> = { ...assertionReasons, ...clientReasons };

/** One description for every failed proof, so that it does not reveal whether the client exists. */
function invalidClient(problem: ProofProblem): OAuthError {
  const description = "Client authentication failed.";
  return new OAuthError("invalid_client", { description, ...because(proofReasons, problem) });
}

function refuseMalformed(problem: MalformedClientAuthentication): OAuthError {
  const why = because(clientReasons, problem);
  switch (problem) {
    case "missing-client-id":
      return new OAuthError("invalid_request", { description: "client_id is missing.", ...why });
    case "several-authentication-methods":
      return new OAuthError("invalid_request", {
        description: "Use one client authentication method.",
        ...why,
      });
    case "client-ids-differ":
      return new OAuthError("invalid_request", {
        description: "client_id differs from the Authorization header.",
        ...why,
      });
    default:
      return invalidClient(problem);
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
): Promise<ProofProblem | undefined> {
  const { clientProof, assertionAlgorithms } = issuer.api;
  if (clientProof && !isKeyClient(client)) return "client-without-key";
  if (!client.confidential) {
    if (presented.kind === "none") return undefined;
    return "assertion" in presented ? "assertion-of-public-client" : "secret-of-public-client";
  }
  switch (presented.kind) {
    case "none":
      return isKeyClient(client) ? "assertion-missing" : "secret-missing";
    case "private_key_jwt":
      if (!isKeyClient(client)) return "assertion-in-place-of-secret";
      if (assertionAlgorithms?.includes(presented.assertion.algorithm) === false)
        return "assertion-alg-outside-profile";
      return loadVerification().assertionProblem(ports, {
        client,
        assertion: presented.assertion,
        issuer,
        // where a registered client has its keys was said by the host, and not by who asks
        mayFetch: client.selfDescription ? mayFetch : () => true,
      });
    case "client_secret_basic":
    case "client_secret_post": {
      if (isKeyClient(client)) return "secret-in-place-of-assertion";
      const { clientSecret } = presented;
      if (!isClientSecret(clientSecret)) return "secret-with-control-character";
      return (await ports.verifySecret(client, clientSecret)) ? undefined : "secret-wrong";
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

/** The client by its record as it is now, if that proves it where what was remembered of it did not. */
async function proveAnew(
  ports: ClientAuthenticationPorts,
  { refused, ...place }: Omit<Presentation, "client"> & { refused: RegisteredClient },
): Promise<RegisteredClient | ProofProblem | undefined> {
  const newer = await ports.clients.findNewer(refused);
  const client = newer && withNewProof(newer.client, refused.client);
  return client && ((await proofProblem(ports, { ...place, client })) ?? newer);
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

/** Warns of a client that signs by a clock which is far from this one, or in another unit. */
function adviseOfClocks(
  { advise, clock }: ClientAuthenticationPorts,
  { clientId, assertion }: Extract<PresentedClient, { kind: "private_key_jwt" }>,
): void {
  const now = clock();
  const ahead = (assertion.claims.iat ?? Math.min(assertion.claims.exp, now)) - now;
  if (Math.abs(ahead) <= clockDriftSeconds) return;
  const minutes = Math.round(Math.abs(ahead) / 60);
  const about = minutes < 100 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
  advise?.(
    "clocks-differ",
    `The clocks differ by about ${about}: that of client ${clientId} is ${ahead < 0 ? "behind" : "ahead of"} this one, or the client sends an old assertion again. Set both clocks by NTP. iat and exp are seconds since 1970 in UTC, neither milliseconds nor local time.`,
  );
}

/**
 * The authenticated client; a public one only names itself. A failed proof emits `client-authentication-failed`, with a client id
 * only if there is such a client: people mix up their id and their secret.
 *
 * @throws OAuthError `invalid_client` or `invalid_request`; `temporarily_unavailable` when too many secrets are being checked, or when
 * the client's metadata document or keys cannot be had.
 */
export async function authenticateClient(
  ports: ClientAuthenticationPorts,
  { issuer, headers, parameters, grantParameters }: UnprovenRequest,
): Promise<RegisteredClient> {
  const { clients, emit, storage, clock, isVouchedFor } = ports;
  const presented = readClientAuthentication(parameters, headers.authorization);
  if (presented.kind === "malformed") throw refuseMalformed(presented.problem);
  if (presented.kind === "unreadable") throw invalidClient(presented.problem);
  const { clientId } = presented;
  const mayFetch = (): boolean | Promise<boolean> => {
    const now = clock();
    if (!couldProve(presented, { issuer, now })) return false;
    if (grantParameters === "anyone") return true;
    return presentsOwnGrant(storage, { issuer, parameters, grantParameters, clientId, now, isVouchedFor });
  };
  const registered = await clients.findRegistered(clientId, {
    issuer,
    mayFetch,
    byGrant: grantParameters !== "anyone",
  });
  let problem: ProofProblem | "client-unknown" = "client-unknown";
  if (registered) {
    const place = { presented, issuer, mayFetch };
    const refused = await proofProblem(ports, { client: registered.client, ...place });
    if (refused === undefined) return registered;
    const proven = (await proveAnew(ports, { refused: registered, ...place })) ?? refused;
    if (typeof proven === "object") return proven;
    problem = proven;
    if (ports.advise && presented.kind === "private_key_jwt") adviseOfClocks(ports, presented);
  }
  emit({
    kind: "client-authentication-failed",
    issuer: issuer.identifier,
    ...(registered && { clientId: registered.client.clientId }),
    ...because(proofReasons, problem),
  });
  throw invalidClient(problem);
}
