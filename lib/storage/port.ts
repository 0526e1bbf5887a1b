/** The storage ports. A host may bring each from elsewhere. Values arrive as digests, times as absolute epoch seconds. */
import type { AccessToken } from "../protocol/access-token";
import type { Authorization } from "../protocol/authorization";
import type { AuthorizationCode } from "../protocol/authorization-code";
import type { Client } from "../protocol/client";
import type { Consent, ConsentKey } from "../protocol/consent";
import type { EndMark } from "../protocol/end-mark";
import type { EpochSeconds } from "../protocol/time";
import type { RefreshToken } from "../protocol/refresh-token";
import type { TokenDigest, TokenHandle } from "../protocol/token-value";

/**
 * The registered clients. The library only reads them, so this is often the host's own table.
 * A record of the wrong shape is refused when it is read.
 */
export interface ClientStore {
  /** The client with this id. `clientId` comes from the request: 1 to 255 visible ASCII characters, otherwise anything. */
  find(clientId: string): Promise<Client | undefined>;
  /** True when a browser client has this origin (see `browserOriginsOf`): its scripts may read token answers. */
  isBrowserOrigin(origin: string): Promise<boolean>;
}

/** A table of clients that can be written, for hosts that have none of their own. */
export interface ClientRegistry extends ClientStore {
  /**
   * Stores or replaces the client with this id.
   *
   * @throws TypeError (as a rejection) when the record is wrong.
   */
  save(client: Client): Promise<void>;
  /**
   * Forgets the client; nothing happens when there is none. Within `revocationLagSeconds` what was issued to it can no longer be
   * redeemed or refreshed.
   */
  delete(clientId: string): Promise<void>;
}

/** Remembered consents, one per (subject, client, API). The adapter removes expired ones. */
export interface ConsentStore {
  /** The consent that has not expired at `now`. */
  find(key: ConsentKey, now: EpochSeconds): Promise<Consent | undefined>;
  /** Stores or replaces the consent with the same key. */
  save(consent: Consent, now: EpochSeconds): Promise<void>;
  /** Every consent of this end user that has not expired at `now`. */
  list(subject: string, now: EpochSeconds): Promise<readonly Consent[]>;
  /**
   * Forgets the consent with this key, unless its `endMark` is `exceptEndMark`: then it was given after the withdrawal that this
   * call belongs to. One atomic step. True when there was one to forget.
   */
  delete(
    withdrawal: { readonly key: ConsentKey; readonly exceptEndMark: string },
    now: EpochSeconds,
  ): Promise<boolean>;
}

/**
 * End marks, one per key. An ending stores its mark and then ends what it finds; an approval stores what it makes and then
 * looks at the mark. So one of the two always sees the other. The adapter removes expired marks, and never an unexpired one.
 */
export interface EndMarkStore {
  /** The mark of the last ending under this key that has not expired at `now`. */
  find(key: string, now: EpochSeconds): Promise<string | undefined>;
  /** Stores or replaces the mark of this key. */
  save(endMark: EndMark, now: EpochSeconds): Promise<void>;
}

/** Authorizations. The adapter removes those whose `expiresAt` has passed. */
export interface AuthorizationStore {
  create(authorization: Authorization, now: EpochSeconds): Promise<void>;
  /** The authorization, revoked or not, that has not expired at `now`. */
  find(authorizationId: string, now: EpochSeconds): Promise<Authorization | undefined>;
  /** Sets `revoked` for good. Idempotent; nothing happens when there is none. */
  revoke(authorizationId: string, now: EpochSeconds): Promise<void>;
  /** Revokes every authorization of this end user for this client at this API; gives the number of those that were not revoked before. */
  revokeAll(key: ConsentKey, now: EpochSeconds): Promise<number>;
}

/** Authorization codes. The adapter removes those whose `expiresAt` has passed, consumed or not. */
export interface AuthorizationCodeStore {
  create(code: AuthorizationCode, now: EpochSeconds): Promise<void>;
  /** The code, consumed or not, that has not expired at `now`. */
  find(handle: TokenHandle, now: EpochSeconds): Promise<AuthorizationCode | undefined>;
  /**
   * Compare-and-set: of any number of simultaneous calls, over any number of processes, exactly one is told `"consumed"`.
   * All others, and calls for a code that is not there, are told `"not-consumed"`.
   */
  consume(handle: TokenHandle, now: EpochSeconds): Promise<"consumed" | "not-consumed">;
}

/** Refresh tokens. The adapter removes those whose `expiresAt` has passed, used or not. */
export interface RefreshTokenStore {
  create(token: RefreshToken, now: EpochSeconds): Promise<void>;
  /** The token, used or not, that has not expired at `now`. */
  find(handle: TokenHandle, now: EpochSeconds): Promise<RefreshToken | undefined>;
  /**
   * Compare-and-set: marks `from` as used and stores `to`, both or neither. Of any number of simultaneous calls with the
   * same `from`, exactly one is told `"rotated"`; all others, and calls for a token that is not there, `"not-rotated"`.
   * `to` has the same `authorizationId`.
   */
  rotate(
    step: { from: TokenHandle; to: RefreshToken },
    now: EpochSeconds,
  ): Promise<"rotated" | "not-rotated">;
}

/** An access token that was revoked, and when it would have ended by itself. */
export interface RevokedAccessToken {
  readonly tokenId: string;
  /** The client that it was issued to. The server always says it; an adapter need not keep it. */
  readonly clientId?: string;
  readonly expiresAt: EpochSeconds;
}

/** An opaque access token as it is stored. */
export interface StoredAccessToken extends AccessToken {
  readonly digest: TokenDigest;
}

/**
 * Opaque access tokens, and the ids of access tokens of either format that were revoked one by one. A JWT is never stored.
 * The adapter removes expired ones.
 */
export interface AccessTokenStore {
  create(token: StoredAccessToken, now: EpochSeconds): Promise<void>;
  /** The token, revoked or not, that has not expired at `now`. */
  find(digest: TokenDigest, now: EpochSeconds): Promise<StoredAccessToken | undefined>;
  /** Remembers until `expiresAt` that the token with this id is revoked. Idempotent. */
  revoke(token: RevokedAccessToken, now: EpochSeconds): Promise<void>;
  isRevoked(tokenId: string, now: EpochSeconds): Promise<boolean>;
}

/** Everything the server keeps. A call that starts after another one has resolved sees what it did, in every process. */
export interface Storage {
  readonly clients: ClientStore;
  readonly consents: ConsentStore;
  readonly authorizations: AuthorizationStore;
  readonly authorizationCodes: AuthorizationCodeStore;
  readonly refreshTokens: RefreshTokenStore;
  readonly accessTokens: AccessTokenStore;
  readonly endMarks: EndMarkStore;
}

/** A port of storage. */
export type StoragePortName = keyof Storage;

/**
 * Every method that the server calls. The check of options and the time limit go through this list; the compiler refuses one that
 * leaves a method out.
 */
export const storageMethods: {
  readonly [Port in StoragePortName]: Readonly<Record<keyof Storage[Port], true>>;
} = {
  clients: { find: true, isBrowserOrigin: true },
  consents: { find: true, save: true, list: true, delete: true },
  authorizations: { create: true, find: true, revoke: true, revokeAll: true },
  authorizationCodes: { create: true, find: true, consume: true },
  refreshTokens: { create: true, find: true, rotate: true },
  accessTokens: { create: true, find: true, revoke: true, isRevoked: true },
  endMarks: { find: true, save: true },
};

/** Every port of storage. */
export const storagePortNames = Object.keys(storageMethods) as readonly StoragePortName[];
