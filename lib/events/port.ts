/** Events: what happened, for the host's logs and alarms. No event contains a code, token, verifier or secret. */
import type { Clock, EpochSeconds } from "../protocol/time";
import type { GrantType } from "../protocol/client";
import { isFailure, type OAuthError, type OAuthErrorCode } from "../protocol/oauth-error";
import { ownRecord } from "../protocol/host-json";

/** What an event is about, as far as it was known at the time. */
export interface EventSubject {
  /** Identifier of the (authentication method, API) pair. */
  readonly issuer?: string;
  /** The id of a registered client. An unknown id is never repeated here: it is text from a stranger. */
  readonly clientId?: string;
  readonly subject?: string;
  readonly authorizationId?: string;
}

/** Why something was refused. `docs/reference/errors.md` lists both. */
export interface RefusalReason {
  /** Which reason it is, in kebab case. It never changes its meaning. */
  readonly code: string;
  /** The same in words, for a developer. They may change with any version. */
  readonly reason: string;
}

/** What was used a second time. */
export type Replayed = "authorization_code" | "device_code" | "refresh_token";

/** An event. `kind` tells the kinds apart; `at` is when it happened. */
export type AuthServerEvent = { readonly at: EpochSeconds } & EventSubject &
  /** The server was created. `rootDocuments` are the URLs at which clients look for what `auth.wellKnown` serves. */
  (
    | { readonly kind: "started"; readonly rootDocuments: readonly string[] }
    /** A client sent an authorization request, and it passed every check. The person has not been asked yet. */
    | { readonly kind: "authorization-requested"; readonly scopes: readonly string[] }
    /** A client has pushed an authorization request. Nobody has been asked, and nothing is stored. */
    | { readonly kind: "request-pushed" }
    /** The endpoint for pushed authorization requests refused one. */
    | ({ readonly kind: "push-refused"; readonly error: OAuthErrorCode } & RefusalReason)
    /** A device has asked for a code. Nobody has been asked, and what it asks for is stored for 15 minutes. */
    | { readonly kind: "device-requested"; readonly scopes: readonly string[] }
    /** The device authorization endpoint refused a request, or somebody has typed a code with which no device waits. */
    | ({ readonly kind: "device-refused"; readonly error: OAuthErrorCode } & RefusalReason)
    /**
     * Scopes that an API with `unknownScopes: "ignore"` dropped: the first 20 of `count`, each cut to 64 characters. They are text
     * from the client: escape them before you show them.
     */
    | { readonly kind: "scopes-ignored"; readonly scopes: readonly string[]; readonly count: number }
    /** The end user, a trusted client or a remembered consent allowed these scopes, and a code was issued. */
    | { readonly kind: "authorization-granted"; readonly scopes: readonly string[] }
    /** `authenticate` asked for a sign-in right after `auth.resume`: a second step, or a session that was not kept. `reason` says more. */
    | ({ readonly kind: "sign-in-repeated" } & RefusalReason)
    /** An authorization request was refused, by a rule, by the host or by the end user. `reason` names the rule and the fix. */
    | ({ readonly kind: "authorization-denied"; readonly error: OAuthErrorCode } & RefusalReason)
    /** Tokens were issued for a code or to a client for itself. */
    | { readonly kind: "token-issued"; readonly grantType: GrantType; readonly scopes: readonly string[] }
    /** A refresh token was rotated, and a new access token issued. */
    | { readonly kind: "token-refreshed"; readonly scopes: readonly string[] }
    /** A client repeated a refresh whose answer it had lost, and got the same refresh token again (`refreshRetrySeconds`). */
    | { readonly kind: "refresh-retried"; readonly scopes: readonly string[] }
    /** The token endpoint refused a request. `reason` names the rule and the fix; the client gets only `error` and a description. */
    | ({ readonly kind: "token-refused"; readonly error: OAuthErrorCode } & RefusalReason)
    /** A client revoked its token. A refresh token takes the whole authorization with it. */
    | { readonly kind: "token-revoked"; readonly revoked: "access_token" | "refresh_token" }
    /**
     * One authorization and everything that descends from it have ended: by `auth.authorizations.revoke`, or because `tokens.decide`
     * answered `refuse` with `revoke`.
     */
    | { readonly kind: "authorization-ended" }
    /** The revocation endpoint refused a request. */
    | ({ readonly kind: "revocation-refused"; readonly error: OAuthErrorCode } & RefusalReason)
    /** The introspection endpoint refused a request. */
    | ({ readonly kind: "introspection-refused"; readonly error: OAuthErrorCode } & RefusalReason)
    /** A code, device code or refresh token was used a second time: it was stolen, or a client repeats requests. The authorization is revoked. */
    | { readonly kind: "replay-detected"; readonly replayed: Replayed }
    /** A client did not prove who it is. The refusal of its request follows as an event. */
    | ({ readonly kind: "client-authentication-failed" } & RefusalReason)
    /** `auth.consents.revoke` ended a consent, and everything that descended from it. */
    | { readonly kind: "consent-revoked"; readonly apiId: string }
    /** `auth.consents.narrow` took back a part of what an end user had allowed. */
    | {
        readonly kind: "consent-narrowed";
        readonly apiId: string;
        /** What stays. */
        readonly scopes: readonly string[];
      }
    /** `auth.consents.narrow`, `auth.consents.revoke` or `auth.authorizations.revoke` found nothing of this end user to revoke. */
    | { readonly kind: "nothing-to-revoke"; readonly apiId?: string }
    /** `auth.subjects.revoke`: every authorization of this end user has ended. */
    | { readonly kind: "subject-ended" }
    /** `auth.subjects.erase`: the same, and the records that name this end user are deleted. */
    | { readonly kind: "subject-erased" }
    /** The metadata document of a client could not be used: the policy refused it, it could not be fetched, or it is wrong. */
    | ({ readonly kind: "client-document-refused" } & RefusalReason)
    /** A client has registered itself, and has the id `clientId`. Nothing that it says of itself is in the event. */
    | { readonly kind: "client-registered" }
    /** A registration was refused: its metadata is wrong, `approve` refused it, or there is no room. Nothing was stored. */
    | ({ readonly kind: "registration-refused"; readonly error: OAuthErrorCode } & RefusalReason)
    /** A client has used the second of its secrets, told once a minute and process. While this event stays away, the secret can go. */
    | { readonly kind: "old-secret-used" }
    /** `auth.clients.revoke`: everything that was issued to this client has ended. */
    | { readonly kind: "client-ended" }
    /** `auth.apis.revoke`: everything that was issued for this API has ended. */
    | { readonly kind: "api-ended"; readonly apiId: string }
    /** A person has signed out at the wish of a client. Their authorizations have not ended. */
    | { readonly kind: "signed-out" }
    /** The logout endpoint refused a request. Nobody was signed out. */
    | ({ readonly kind: "sign-out-refused"; readonly error: OAuthErrorCode } & RefusalReason)
    /** A protected route refused a request: no token, an invalid one, or one that is not enough for the route. */
    | ({ readonly kind: "bearer-refused"; readonly apiId: string } & RefusalReason)
    /**
     * Storage or a host callback failed, or did not answer in time. `cause` is what was thrown, or an error that says more and
     * has what was thrown as its own `cause`. The library cannot know what it contains.
     */
    | { readonly kind: "server-error"; readonly cause: unknown }
  );

type WithoutTime<Event> = Event extends unknown ? Omit<Event, "at"> : never;

/** An event whose time is not set yet. */
export type NewEvent = WithoutTime<AuthServerEvent>;

/**
 * The host's event handler. Each event is a copy, lists included, which the handler may keep. The handler cannot break a request: what it
 * throws or rejects with is ignored, except for one process warning that names the error's class.
 */
export type OnEvent = (event: AuthServerEvent) => void | Promise<void>;

/** Reports an event to the host. It never throws. */
export type EmitEvent = (event: NewEvent) => void;

/** Mistakes that no answer shows. */
type AdviceCode =
  | "interaction-id-missing"
  | "form-action-blocks-redirect"
  | "answer-hidden-from-page"
  | "subscription-misspelt"
  | "client-flag-without-option"
  | "token-without-scope"
  | "device-codes-unlimited"
  | "clocks-differ";

/** Warns the developer of a likely mistake. There is none in production. */
export type Advise = (code: AdviceCode, message: string) => void;

/** The kind of an event that tells of a refused request. */
export type RefusalKind = Extract<NewEvent, { error: unknown }>["kind"];

/** The event of a refusal, which may say more than the description that the client gets; of a failure, `server-error`. */
export function refusalEvent(
  kind: RefusalKind,
  { error, subject }: { error: OAuthError; subject: EventSubject },
): NewEvent {
  if (isFailure(error)) return { kind: "server-error", ...subject, cause: error.cause };
  return { kind, ...subject, error: error.error, code: error.code, reason: error.reason };
}

/** A copy of an event, lists included, with its time. */
export function timed(event: NewEvent, clock: Clock): AuthServerEvent {
  return Object.assign({ at: clock() }, ownRecord(event));
}

/** An emitter that adds the time to each event, and tells of a failure of the handler when it fails for the first time. */
export function eventEmitter(
  onEvent: OnEvent,
  { clock, onFailure }: { clock: Clock; onFailure: (thrown: unknown) => void },
): EmitEvent {
  let hasFailed = false;
  const fail = (thrown: unknown): void => {
    if (!hasFailed) onFailure(thrown);
    hasFailed = true;
  };
  return (event) => {
    try {
      Promise.resolve(onEvent(timed(event, clock))).catch(fail);
    } catch (thrown) {
      fail(thrown);
    }
  };
}
