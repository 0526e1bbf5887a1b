/** Events: what happened, for the host's logs and alarms. No event contains a code, token, verifier or secret. */
import type { Clock, EpochSeconds } from "../protocol/time";
import type { GrantType } from "../protocol/client";
import type { OAuthErrorCode } from "../protocol/oauth-error";
import { ownRecord } from "../protocol/own";

/** What an event is about, as far as it was known at the time. */
export interface EventSubject {
  /** Identifier of the (authentication method, API) pair. */
  readonly issuer?: string;
  /** The id of a registered client. An unknown id is never repeated here: it is text from a stranger. */
  readonly clientId?: string;
  readonly subject?: string;
  readonly authorizationId?: string;
}

/** An event. `kind` tells the kinds apart; `at` is when it happened. */
export type AuthServerEvent = { readonly at: EpochSeconds } & EventSubject &
  /** The server was created. `rootDocuments` are the URLs at which clients look for what `auth.wellKnown` serves. */
  (
    | { readonly kind: "started"; readonly rootDocuments: readonly string[] }
    | { readonly kind: "authorization-requested"; readonly scopes: readonly string[] }
    /**
     * Scopes that an API with `unknownScopes: "ignore"` dropped: the first 20 of `count`, each cut to 64 characters. They are text
     * from the client: escape them before you show them.
     */
    | { readonly kind: "scopes-ignored"; readonly scopes: readonly string[]; readonly count: number }
    | { readonly kind: "authorization-granted"; readonly scopes: readonly string[] }
    | { readonly kind: "authorization-denied"; readonly error: OAuthErrorCode; readonly reason: string }
    | { readonly kind: "token-issued"; readonly grantType: GrantType; readonly scopes: readonly string[] }
    | { readonly kind: "token-refreshed"; readonly scopes: readonly string[] }
    | { readonly kind: "token-refused"; readonly error: OAuthErrorCode; readonly reason: string }
    | { readonly kind: "token-revoked"; readonly revoked: "access_token" | "refresh_token" }
    | { readonly kind: "revocation-refused"; readonly error: OAuthErrorCode; readonly reason: string }
    | { readonly kind: "introspection-refused"; readonly error: OAuthErrorCode; readonly reason: string }
    | { readonly kind: "replay-detected"; readonly replayed: "authorization_code" | "refresh_token" }
    | { readonly kind: "client-authentication-failed"; readonly reason: string }
    | { readonly kind: "consent-revoked"; readonly apiId: string }
    /** `auth.consents.revoke` was called for an end user who had allowed this client nothing at this API. */
    | { readonly kind: "nothing-to-revoke"; readonly apiId: string }
    | { readonly kind: "bearer-refused"; readonly apiId: string; readonly reason: string }
    /**
     * Storage or a host callback failed, or storage did not answer in time. `cause` is what was thrown, unchanged: the library
     * cannot know what it contains.
     */
    | { readonly kind: "server-error"; readonly cause: unknown }
  );

type WithoutTime<Event> = Event extends unknown ? Omit<Event, "at"> : never;

/** An event whose time is not set yet. */
export type NewEvent = WithoutTime<AuthServerEvent>;

/**
 * The host's handler. Each event is a copy, lists included, which the handler may keep. Whatever it throws or rejects with is
 * ignored: an event can never break a request.
 */
export type OnEvent = (event: AuthServerEvent) => void | Promise<void>;

/** Reports an event to the host. It never throws. */
export type EmitEvent = (event: NewEvent) => void;

/** An emitter that adds the time to each event and ignores failures of the handler. */
export function eventEmitter(onEvent: OnEvent | undefined, clock: Clock): EmitEvent {
  if (!onEvent) return () => undefined;
  return (event) => {
    try {
      Promise.resolve(onEvent(Object.assign({ at: clock() }, ownRecord(event)))).catch(() => undefined);
    } catch {
      // there is nobody to report the failure of a handler to
    }
  };
}
