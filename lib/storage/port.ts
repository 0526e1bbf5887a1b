/** The storage ports. A host may take each one from elsewhere. Values arrive as digests, times as absolute epoch seconds. */
import type { AccessToken } from "../protocol/access-token";
import type {
  Authorization,
  AuthorizationCode,
  RefreshToken,
  RefreshTokenUse,
} from "../protocol/authorization";
import type { Client } from "../protocol/client";
import type { Consent, ConsentKey } from "../protocol/consent";
import type { EndMark } from "../protocol/end-mark";
import type { EpochSeconds } from "../protocol/time";
import type { TokenDigest, TokenHandle } from "../protocol/token-value";
import type { ClientAssertionStore, ClientRegistrationStore, ParkedRequestStore } from "./client-ports";

/**
 * The registered clients. The library only reads them, so this is often the host's own table. A record of the wrong shape is
 * refused when it is read.
 */
export interface ClientStore {
  /** The client with exactly this id. `clientId` comes from the request: any 1 to 255 visible ASCII characters, `%` included. */
  find(clientId: string): Promise<Client | undefined>;
  /** True when a browser client has this origin (see `browserOriginsOf`). Its scripts may then read token answers. */
  isBrowserOrigin(origin: string): Promise<boolean>;
}

/** A table of clients that can be written, for hosts that have none. The server itself never writes it. */
export interface ClientRegistry extends ClientStore {
  /**
   * Stores the client, or replaces the one with this id, in one atomic step.
   *
   * @throws TypeError (as a rejection) when the record is wrong.
   */
  save(client: Client): Promise<void>;
  /**
   * Compare-and-set: stores `to` if the stored record still has the values of `from`, in whatever order their keys are; with `from: undefined`,
   * if there is none with this id. Of simultaneous calls that would change the same `from`, exactly one gets `"replaced"`. All others get
   * `"not-replaced"` and change nothing. Both records have the same `clientId`.
   *
   * @throws TypeError (as a rejection) when `to` is wrong.
   */
  replace(step: {
    readonly from: Client | undefined;
    readonly to: Client;
  }): Promise<"replaced" | "not-replaced">;
  /**
   * Deletes the client; nothing happens when there is none. After `revocationLagSeconds` at most, nothing that was issued to the client is
   * valid any more. It stores an end mark under `clientEndKey`, so that a later client with this id inherits nothing: in the same step, or
   * again after the deletion. A call that still finds the client must not have read that mark: what is issued to it then would belong to
   * the later client.
   */
  delete(clientId: string): Promise<void>;
  /** At most `limit` clients, in a fixed order that the store chooses; with `after`, those behind the client with this id. */
  list(page: { readonly after?: string; readonly limit: number }): Promise<readonly Client[]>;
}

/** Remembered consents, one for each (subject, client, API, context). The adapter removes expired ones. */
export interface ConsentStore {
  /** The consent with this key, unless it has expired at `now`. */
  find(key: ConsentKey, now: EpochSeconds): Promise<Consent | undefined>;
  /**
   * Stores the consent, or replaces the one with the same key, in one atomic step. Beyond `maxConsents` of this end user, expired ones
   * included or not, those that expire first or were saved first are deleted, never the new one; simultaneous calls may leave a few more.
   */
  save(consent: Consent, now: EpochSeconds): Promise<void>;
  /** Every consent of exactly this end user that has not expired at `now`, in any order. */
  list(subject: string, now: EpochSeconds): Promise<readonly Consent[]>;
  /**
   * Deletes the consents of this selection, except those whose `endMarks` contain `exceptEndMark`: they were given after the withdrawal
   * that this call belongs to. Comparing and deleting a consent is one atomic step. True when one was deleted. Those that have expired
   * at `now` are deleted too.
   */
  delete(
    withdrawal: { readonly selection: AuthorizationSelection; readonly exceptEndMark: string },
    now: EpochSeconds,
  ): Promise<boolean>;
}

/**
 * End marks, one for each key: `protocol/end-mark.ts` says what they are. The adapter removes expired marks, and must never lose an
 * unexpired one: what was revoked would be valid again.
 */
export interface EndMarkStore {
  /**
   * The latest mark of each of these keys, in their order; `undefined` where there is none, or it has expired at `now`. Keys that are equal
   * up to their dot are read at one moment: a caller that sees the later of two marks also sees the earlier one.
   */
  find(keys: readonly string[], now: EpochSeconds): Promise<readonly (string | undefined)[]>;
  /** Stores the mark, or replaces the one with the same key. Once this resolves, every process must read the new mark. */
  save(endMark: EndMark, now: EpochSeconds): Promise<void>;
}

/** Which authorizations or consents of an end user: all of them, those for one client at one API, or only those of one context. */
export interface AuthorizationSelection {
  readonly subject: string;
  /** Given together with `apiId`, or not at all. */
  readonly clientId?: string;
  readonly apiId?: string;
  /** Given only with `clientId`; `""` for what has no context. */
  readonly contextKey?: string;
}

/** An authorization in a list. */
export interface ListedAuthorization extends Authorization {
  /** When its code was consumed, its refresh token last rotated, or a use was noted; `undefined` before that. */
  readonly lastUsedAt?: EpochSeconds;
}

/** A page of a list of authorizations. */
export interface AuthorizationPage {
  /**
   * Continue behind this authorization, the last of the page before. Left out: the first page. It may have been revoked since. When
   * the end user has none with this id any more, the page is empty.
   */
  readonly after?: string;
  readonly limit: number;
}

/** How many active authorizations an end user can have for one client, API and context: so many used ones, and as many unused ones. */
export const maxAuthorizations = 100;

/** Authorizations. The adapter removes those whose `expiresAt` has passed. */
export interface AuthorizationStore {
  /**
   * Stores a new authorization. Once this resolves, `find`, `revokeAll` and `list` of every process must find it. Of the active ones of
   * this end user for this client at this API in this context, `maxAuthorizations` that were used (`lastUsedAt`) then stay, and
   * `maxAuthorizations` that were not, the new one included. The others are revoked: of those used, the ones used longest ago; of the rest,
   * the oldest by `createdAt`. Simultaneous calls may leave a few too many until the next call.
   */
  create(authorization: Authorization, now: EpochSeconds): Promise<void>;
  /** The authorization with this id, revoked or not, unless it has expired at `now`. */
  find(authorizationId: string, now: EpochSeconds): Promise<Authorization | undefined>;
  /**
   * Sets `revoked` permanently, also where the authorization has expired at `now`: the clock of another process may be behind.
   * Idempotent; nothing happens when there is none. Every later `find` sees it.
   */
  revoke(authorizationId: string, now: EpochSeconds): Promise<void>;
  /**
   * Revokes every authorization of this selection, also those that have expired at `now`. Returns how many were not revoked before.
   * It need not be atomic as a whole: a call that failed half-way can be repeated.
   */
  revokeAll(selection: AuthorizationSelection, now: EpochSeconds): Promise<number>;
  /**
   * Of the scopes of each authorization of this selection that is not revoked, keeps only these, as `narrowed` says it: the first time
   * `approvedScopes` gets what was there, and one that keeps none is revoked. Later and simultaneous calls only take away more. An
   * authorization whose `create` has resolved before the call is always found, as by `revokeAll`. Returns how many were changed. It need
   * not be atomic as a whole.
   */
  narrowAll(
    step: { readonly selection: AuthorizationSelection; readonly scopes: readonly string[] },
    now: EpochSeconds,
  ): Promise<number>;
  /**
   * The active authorizations of this end user, neither revoked nor expired at `now`: the one that expires last comes first. A page with
   * fewer than `limit` is the last one. Reads no other end user's records.
   */
  list(subject: string, page: AuthorizationPage, now: EpochSeconds): Promise<readonly ListedAuthorization[]>;
  /**
   * Deletes the records of all authorizations of this end user, active or not; with `authorizationId` only that one. A deleted
   * authorization is treated as revoked. It need not be atomic as a whole. Returns how many were deleted.
   */
  erase(
    target: { readonly subject: string; readonly authorizationId?: string },
    now: EpochSeconds,
  ): Promise<number>;
  /**
   * Moves `lastUsedAt` to `now`, never back: of simultaneous calls, the latest `now` stays. Nothing happens when there is none with this
   * id, or it was revoked. The server calls it with `lastUses: "calls"` only, and nobody waits for it: it need not reach replicas.
   */
  noteUse(authorizationId: string, now: EpochSeconds): Promise<void>;
}

/** Authorization codes. The adapter removes those whose `expiresAt` has passed, consumed or not. */
export interface AuthorizationCodeStore {
  /** Stores a new code. Its digest has never been stored before. */
  create(code: AuthorizationCode, now: EpochSeconds): Promise<void>;
  /** The code with this handle, consumed or not, unless it has expired at `now`. A consumed one is how a replay is noticed. */
  find(handle: TokenHandle, now: EpochSeconds): Promise<AuthorizationCode | undefined>;
  /**
   * Compare-and-set: of any number of simultaneous calls in any number of processes, exactly one gets `"consumed"`. All others get
   * `"not-consumed"`, and so do calls for a code that does not exist or has expired at `now`. The same step sets the authorization's
   * `lastUsedAt` to `now`, where this store has the authorization.
   */
  consume(handle: TokenHandle, now: EpochSeconds): Promise<"consumed" | "not-consumed">;
}

/** Refresh tokens. The adapter removes those whose `expiresAt` has passed, used or not. */
export interface RefreshTokenStore {
  /** Stores a new refresh token. Its digest has never been stored before. */
  create(token: RefreshToken, now: EpochSeconds): Promise<void>;
  /** The token with this handle, used or not, unless it has expired at `now`. A used one is how a replay is noticed. */
  find(handle: TokenHandle, now: EpochSeconds): Promise<RefreshToken | undefined>;
  /**
   * Compare-and-set: marks `from` as used (with `use`, if there is one) and stores `to`, both or neither. Of any number of simultaneous
   * calls with the same `from`, exactly one gets `"rotated"`. All others get the `use` of the winner, or `"not-rotated"` when it had
   * none; calls for a token that does not exist or has expired at `now` get `"not-rotated"`. Each answer is as lasting as the first: an
   * adapter that waits for replicas waits again. `to` has the same `authorizationId` as
   * `from`. The same step sets the authorization's `lastUsedAt` to `now`, where this store has the authorization.
   */
  rotate(
    step: { from: TokenHandle; to: RefreshToken; use?: RefreshTokenUse },
    now: EpochSeconds,
  ): Promise<"rotated" | "not-rotated" | RefreshTokenUse>;
}

/** An access token that was revoked, and when it would have expired. */
export interface RevokedAccessToken {
  /** The `jti` of a JWT, or the id of an opaque token. */
  readonly tokenId: string;
  /** The client that the token was issued to. The server always passes it; an adapter need not store it. */
  readonly clientId?: string;
  readonly expiresAt: EpochSeconds;
}

/** An opaque access token as it is stored. */
export interface StoredAccessToken extends AccessToken {
  /** The digest of the token's text, under which it is found. */
  readonly digest: TokenDigest;
}

/**
 * Opaque access tokens, and the ids of individually revoked access tokens of either format. JWTs are never stored. The adapter
 * removes expired tokens and ids, and must never lose an unexpired revocation: a revoked token would be valid again.
 */
export interface AccessTokenStore {
  /** Stores a new opaque access token. Its digest has never been stored before. */
  create(token: StoredAccessToken, now: EpochSeconds): Promise<void>;
  /** The token with this digest, revoked or not, unless it has expired at `now`. */
  find(digest: TokenDigest, now: EpochSeconds): Promise<StoredAccessToken | undefined>;
  /**
   * Remembers until `expiresAt` that the token with this id is revoked, also where it has expired at `now`. Idempotent. Every later
   * `isRevoked` sees it.
   */
  revoke(token: RevokedAccessToken, now: EpochSeconds): Promise<void>;
  /** True when the token with exactly this id was revoked and its `expiresAt` has not passed at `now`. */
  isRevoked(tokenId: string, now: EpochSeconds): Promise<boolean>;
}

/** Calls of several ports as one step each, for fewer round trips. What it leaves out is called port by port. */
export interface StepsAtOnce {
  /**
   * Copies of the ports whose calls these are. The server takes the steps only while the storage has exactly these methods: whoever
   * replaces a port, or one of its methods, gets every call of it.
   */
  readonly of: Pick<Storage, "authorizations" | "authorizationCodes" | "refreshTokens" | "accessTokens">;
  /** `authorizations.create` and `authorizationCodes.create`, both or neither. */
  approve?(
    step: { readonly authorization: Authorization; readonly code: AuthorizationCode },
    now: EpochSeconds,
  ): Promise<void>;
  /**
   * `authorizationCodes.consume`, and for the one call that gets `"consumed"` what the code pays for: `refreshTokens.create` and
   * `accessTokens.create`, in the same step. The access token may be stored a moment earlier, and for losers too.
   */
  redeem?(
    step: {
      readonly code: TokenHandle;
      readonly refreshToken?: RefreshToken | undefined;
      readonly accessToken?: StoredAccessToken | undefined;
    },
    now: EpochSeconds,
  ): Promise<"consumed" | "not-consumed">;
}

/**
 * Everything that the server stores. Tokens arrive as digests, and times as absolute epoch seconds. A call that starts after another one
 * has resolved sees what that one did, in every process. A call that does not know the answer must reject, and not guess. Records that are
 * passed in or returned stay independent of what is stored.
 */
export interface Storage {
  readonly clients: ClientStore;
  readonly consents: ConsentStore;
  readonly authorizations: AuthorizationStore;
  readonly authorizationCodes: AuthorizationCodeStore;
  readonly refreshTokens: RefreshTokenStore;
  readonly accessTokens: AccessTokenStore;
  readonly endMarks: EndMarkStore;
  readonly clientAssertions: ClientAssertionStore;
  readonly clientRegistrations: ClientRegistrationStore;
  /** Needed only where an API takes pushed authorization requests, or requests of devices. */
  readonly parkedRequests?: ParkedRequestStore;
  /** Optional: fewer round trips where the database can do several things in one step. */
  readonly atOnce?: StepsAtOnce;
}

/** A storage with every port. */
export interface CompleteStorage extends Storage {
  readonly parkedRequests: ParkedRequestStore;
}

/** The name of a storage port. */
export type StoragePortName = Exclude<keyof Storage, "atOnce">;

/** Every method that the server calls, for the check of options and the time limit. The compiler refuses it if one is missing. */
export const storageMethods: {
  readonly [Port in StoragePortName]-?: Readonly<Record<keyof Required<Storage>[Port], true>>;
} = {
  clients: { find: true, isBrowserOrigin: true },
  consents: { find: true, save: true, list: true, delete: true },
  authorizations: {
    create: true,
    find: true,
    revoke: true,
    revokeAll: true,
    narrowAll: true,
    list: true,
    erase: true,
    noteUse: true,
  },
  authorizationCodes: { create: true, find: true, consume: true },
  refreshTokens: { create: true, find: true, rotate: true },
  accessTokens: { create: true, find: true, revoke: true, isRevoked: true },
  endMarks: { find: true, save: true },
  clientAssertions: { use: true },
  clientRegistrations: { create: true, find: true, extend: true },
  parkedRequests: { create: true, find: true, close: true },
};

/** The names of all storage ports. */
export const storagePortNames = Object.keys(storageMethods) as readonly StoragePortName[];
