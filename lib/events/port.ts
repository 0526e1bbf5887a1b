/** What happened, for the host's logs and alarms. No event carries a code, token, verifier or secret. */
import type { Clock, EpochSeconds } from "../protocol/time";
import type { GrantType } from "../protocol/client";
import type { OAuthErrorCode } from "../protocol/oauth-error";
import { ownRecord } from "../protocol/own";

/** What an event is about, as far as it was known when it happened. */
export interface EventSubject {
  readonly issuer?: string;
  /** A registered client's id; an unknown one is never repeated here. */
  readonly clientId?: string;
  readonly subject?: string;
  readonly authorizationId?: string;
}

/** An event, told apart by `kind`. */
export type AuthServerEvent = { readonly at: EpochSeconds } & EventSubject &
  /** The server was made; `rootDocuments` are the URLs at which clients look for what `auth.wellKnown` serves. */
  (
    | { readonly kind: "started"; readonly rootDocuments: readonly string[] }
    | { readonly kind: "authorization-requested"; readonly scopes: readonly string[] }
    /**
     * Scopes that an API with `unknownScopes: "ignore"` has left out: the first 20 of `count`, of each the first 64 characters. They
     * are text of the client.
     */
    | { readonly kind: "scopes-ignored"; readonly scopes: readonly string[]; readonly count: number }
    | { readonly kind: "authorization-granted"; readonly scopes: readonly string[] }
    /** `authenticate` has asked for a sign-in although the person has just come back from one; `reason` says what to look at. */
    | { readonly kind: "sign-in-repeated"; readonly reason: string }
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
    /** `auth.consents.revoke` was called for somebody who had allowed this client nothing at this API. */
    | { readonly kind: "nothing-to-revoke"; readonly apiId: string }
    | { readonly kind: "bearer-refused"; readonly apiId: string; readonly reason: string }
    /** Storage or a host callback failed, or storage did not answer in time. `cause` is what was thrown, unchanged: the library cannot know what is in it. */
    | { readonly kind: "server-error"; readonly cause: unknown }
  );

type WithoutTime<Event> = Event extends unknown ? Omit<Event, "at"> : never;

/** An event before its time is set. */
export type NewEvent = WithoutTime<AuthServerEvent>;

/** The host's handler. An event is a copy, lists and all, and the handler's to keep. What it throws or rejects with is ignored: an event can never break a request. */
export type OnEvent = (event: AuthServerEvent) => void | Promise<void>;

/** Tells the host of an event; it never throws. */
export type EmitEvent = (event: NewEvent) => void;

/** An emitter that sets the time of each event and survives what the handler throws. */
export function eventEmitter(onEvent: OnEvent, clock: Clock): EmitEvent {
  return (event) => {
    try {
      Promise.resolve(onEvent(Object.assign({ at: clock() }, ownRecord(event)))).catch(() => undefined);
    } catch {
      // a handler that fails has no one to tell
    }
  };
}
