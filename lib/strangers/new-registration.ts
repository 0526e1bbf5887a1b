/** What becomes of a registration: the client record, what the host leaves of it, and the answer. RFC 7591 §2, §3.2.1. */
import { type Client, flagsIn, subscriptionOf } from "../protocol/client";
import { hostMistake } from "../protocol/mistake";
import { because, OAuthError } from "../protocol/oauth-error";
import { formatScope, intersect, isSubset } from "../protocol/scope";
import type { EpochSeconds } from "../protocol/time";
import { readClientName } from "../clients/self-description";
import { checkClient } from "../clients/client-record";
import type { RegistrationDecision, RegistrationMetadata } from "../clients/port";
import { type CheckedMetadata, type RegistrationProblem, registrationReasons } from "./registration-metadata";

/** What the server adds to the metadata. */
export interface NewRegistration extends CheckedMetadata {
  readonly clientId: string;
  readonly apiId: string;
  /** The digest of the secret, for a client that has one. */
  readonly secretDigest: string | undefined;
}

/**
 * Checks that the client may have a scope that it has asked for, if it has asked for any.
 *
 * @throws OAuthError `invalid_client_metadata`, with this code
 */
export function checkAskedScopes(
  { scope }: RegistrationMetadata,
  { allowed, code }: { readonly allowed: readonly string[]; readonly code: RegistrationProblem },
): void {
  // checked: scope names with one space between them
  if (scope === undefined || intersect(scope.split(" "), allowed).length > 0) return;
  const description = "This client may have none of these scopes.";
  throw new OAuthError("invalid_client_metadata", { description, ...because(registrationReasons, code) });
}

/**
 * The scopes that the client may request: those that the host allows; `undefined` for all. What it asked for is no limit: MCP clients
 * register with the scopes of their first challenge, and could not ask for more with the next. People are asked for each scope.
 *
 * @throws OAuthError `invalid_client_metadata` when none remains of those that it asked for
 * @throws TypeError when the host allows a scope that the API does not have
 */
export function scopesOfRegistration(
  metadata: RegistrationMetadata,
  {
    decision,
    ofApi,
  }: { decision: Extract<RegistrationDecision, { kind: "approved" }>; ofApi: readonly string[] },
): readonly string[] | undefined {
  const { scopes: allowed = ofApi } = decision;
  if (!Array.isArray(allowed) || !isSubset(allowed, ofApi))
    throw hostMistake(
      "wrong-scopes-of-registration",
      "clientRegistration.approve: scopes must be a list of scopes of this API.",
    );
  checkAskedScopes(metadata, { allowed, code: "no-scope-allowed" });
  // each once, without holes: nothing that the host answers makes the record larger than the API is
  return decision.scopes && [...new Set(intersect(decision.scopes, ofApi))];
}

/** A name for a client that gives itself none: the host that its answers go to, or its id. */
function nameOf({ client_name, redirect_uris }: RegistrationMetadata, clientId: string): string {
  const https = redirect_uris.find((uri) => /^https:/i.test(uri));
  return client_name ?? readClientName(https === undefined ? clientId : new URL(https).host) ?? clientId;
}

/** The proof of the record: a digest, keys, or none. */
function proofOf({ metadata, platform, secretDigest }: NewRegistration): object {
  const { token_endpoint_auth_method: method, jwks, jwks_uri: jwksUri } = metadata;
  switch (method) {
    case "none":
      return { confidential: false, platform };
    case "private_key_jwt":
      return { confidential: true, ...(jwks && { jwks }), ...(jwksUri !== undefined && { jwksUri }) };
    case "client_secret_basic":
    case "client_secret_post":
      return { confidential: true, secretDigests: [secretDigest] };
  }
}

/** The record of the client, with a subscription to the one API and all of its scopes. @throws OAuthError when a key in it is of no use */
export function clientOfRegistration(registration: NewRegistration): Client {
  const { metadata, clientId, apiId } = registration;
  const { client_uri: clientUri, policy_uri: policyUri, tos_uri: tosUri } = metadata;
  const client = {
    clientId,
    name: nameOf(metadata, clientId),
    redirectUris: metadata.redirect_uris,
    ...(clientUri !== undefined && { clientUri }),
    ...(policyUri !== undefined && { policyUri }),
    ...(tosUri !== undefined && { tosUri }),
    subscriptions: { [apiId]: { grantTypes: metadata.grant_types } },
    ...flagsIn(metadata),
    ...proofOf(registration),
  };
  try {
    return checkClient(client);
  } catch {
    throw new OAuthError("invalid_client_metadata", {
      description: registrationReasons["metadata-unusable"],
      code: "metadata-unusable",
    });
  }
}

/** The same client, which may request these scopes only; all of the API for `undefined`. */
export function narrowedTo(scopes: readonly string[] | undefined, client: Client): Client {
  if (!scopes) return client;
  const subscriptions = Object.entries(client.subscriptions).map(
    ([apiId, subscription]) => [apiId, { ...subscription, scopes }] as const,
  );
  return { ...client, subscriptions: Object.fromEntries(subscriptions) };
}

/**
 * The answer: everything that was registered, and the secret, which is not told again. It has neither a `registration_access_token` nor
 * a `registration_client_uri`: a registration cannot be read or changed (RFC 7592).
 *
 * @rfc 7591 §3.2.1
 */
export function registrationResponse(
  { metadata, clientId, apiId }: NewRegistration,
  {
    client,
    secret,
    ofApi,
    issuedAt,
  }: { client: Client; secret: string | undefined; ofApi: readonly string[]; issuedAt: EpochSeconds },
): object {
  const { sent: _, scope: __, ...registered } = metadata;
  const granted = formatScope(subscriptionOf(client, apiId)?.scopes ?? ofApi);
  return {
    client_id: clientId,
    client_id_issued_at: issuedAt,
    // 0: it does not expire by itself
    ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
    ...registered,
    client_name: client.name,
    response_types: ["code"],
    ...(granted !== "" && { scope: granted }),
  };
}
