/** Tells the host about scopes that a client requested but may not have. RFC 6749 §3.3. */
import type { Client } from "../protocol/client";
import type { Issuer } from "../protocol/issuer";
import type { EmitEvent, EventSubject } from "./port";

/** Ignored scopes are whatever the client sent, so an event holds only a few of them, each cut short. */
const maxScopes = 20;
const maxLength = 64;

/** Emits `scopes-ignored`, unless there are none. @rfc 6749 §3.3 */
export function reportIgnoredScopes(
  emit: EmitEvent,
  {
    request,
    ignoredScopes,
    about = {},
  }: {
    request: { readonly issuer: Issuer; readonly client: Client };
    ignoredScopes: readonly string[];
    about?: EventSubject;
  },
): void {
  if (ignoredScopes.length === 0) return;
  const { issuer, client } = request;
  emit({
    kind: "scopes-ignored",
    issuer: issuer.identifier,
    clientId: client.clientId,
    ...about,
    scopes: ignoredScopes.slice(0, maxScopes).map((scope) => scope.slice(0, maxLength)),
    count: ignoredScopes.length,
  });
}
