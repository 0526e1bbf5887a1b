/** What a client that nobody registered says of itself, in short. RFC 7591 §2; draft-ietf-oauth-client-id-metadata-document §6. */
import { hash } from "node:crypto";
import type { Client, SelfDescription } from "../protocol/client";
import { isKeyClient } from "../protocol/client";
import { proofKindOf } from "../protocol/authorization";

/**
 * What a remembered consent is bound to: where answers may lead, how the client proves itself, and where its keys are. A person has
 * allowed a client that was like this. Its name or its links may change.
 */
export function selfDescriptionOf(client: Client, by: SelfDescription["by"]): SelfDescription {
  const keys = isKeyClient(client) ? (client.jwksUri ?? client.jwks) : undefined;
  const parts = [client.redirectUris.toSorted(), proofKindOf(client), keys];
  return { by, digest: hash("sha256", JSON.stringify(parts), "base64url") };
}

/** What a client sends about itself, without the members that are `null`: many programs write it for what they do not have. */
export function withoutNulls(sent: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== null));
}
