/** Telling the host of scopes that a client has asked for in vain. RFC 6749 §3.3. */
import type { Client } from "../protocol/client";
import type { Issuer } from "../protocol/issuer";
import type { EmitEvent, EventSubject } from "./port";

/** They are whatever the client has sent: an event holds a few of them, cut short. */
const maxScopes = 20;
const maxLength = 64;

/** Emits `scopes-ignored`, if there are any. */
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
