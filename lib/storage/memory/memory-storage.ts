/** Storage in the memory of one process: the built-in default, for development and for services with a single process. */
import { browserOriginsOf, type Client } from "../../protocol/client";
import type { Authorization, AuthorizationCode, RefreshToken } from "../../protocol/authorization";
import { type Consent, type ConsentKey, maxConsents } from "../../protocol/consent";
import { type EndMark, endsEverything, ownerOfMark } from "../../protocol/end-mark";
import type { EpochSeconds } from "../../protocol/time";
import type { TokenHandle } from "../../protocol/token-value";
import { checkClient, ownClient } from "../../clients/client-record";
import type { ListedClients } from "../../clients/client-lookup";
import { type ExpiringMap, expiringMap } from "./expiring-map";
import { markedInMemory } from "./in-memory";
import { groupsOf, memoryAuthorizations } from "./memory-authorizations";
import type { ClientAssertionStore } from "../client-ports";
import type {
  AccessTokenStore,
  AuthorizationCodeStore,
  ConsentStore,
  EndMarkStore,
  RefreshTokenStore,
  Storage,
  StoredAccessToken,
} from "../port";
import { memoryRegistrations } from "./memory-registrations";

/** The largest number of entries that a JavaScript `Map` can hold. */
const mostEntries = 2 ** 24;

/** The options of `memoryStorage`. */
export interface MemoryStorageOptions {
  /** The registered clients. */
  readonly clients: readonly Client[];
  /**
   * Limit for each kind of record; default 1,000,000. A full store refuses new records and never drops a living one. A client that
   * holds more authorizations, codes or tokens than there is room left is refused too, and so is a person with more consents, so that
   * nobody can fill the store for everyone: one alone gets half of the room.
   */
  readonly maxEntries?: number;
}

function memoryClients(records: readonly Client[]): ListedClients {
  const clients = new Map(records.map((record) => [checkClient(record).clientId, ownClient(record)]));
  if (clients.size !== records.length)
    throw new TypeError("memoryStorage: clients must have different clientIds.");
  const origins = new Set(records.flatMap(browserOriginsOf));
  const store = {
    find: async (clientId: string) => clients.get(clientId),
    isBrowserOrigin: async (origin: string) => origins.has(origin),
    records: [...clients.values()],
  };
  // not enumerable: code that iterates over a port must find its methods only
  return Object.defineProperty(store, "records", { enumerable: false });
}

function consentId({ subject, clientId, apiId, contextKey = "" }: ConsentKey): string {
  return JSON.stringify([subject, clientId, apiId, contextKey]);
}

function memoryConsents(consents: ExpiringMap<Consent>): ConsentStore {
  return {
    find: async (key, now) => consents.get(consentId(key), now),
    save: async (consent, now) => {
      consents.set(consentId(consent), consent, now);
      const { subject } = consent;
      const first = consents.groupSize(subject) > maxConsents ? consents.firstInGroup(subject) : undefined;
      if (first !== undefined) consents.delete(first);
    },
    list: async (subject, now) => consents.inGroup(subject, now),
    delete: async ({ selection, exceptEndMark }) => {
      const { subject, clientId, apiId, contextKey } = selection;
      const withdrawn = consents
        .inGroup(subject, -Infinity)
        .filter((one) => (clientId ?? one.clientId) === one.clientId && (apiId ?? one.apiId) === one.apiId)
        .filter((consent) => contextKey === undefined || (consent.contextKey ?? "") === contextKey)
        .filter(({ endMarks }) => endMarks?.includes(exceptEndMark) !== true);
      for (const consent of withdrawn) consents.delete(consentId(consent));
      return withdrawn.length > 0;
    },
  };
}

function memoryEndMarks(marks: ExpiringMap<EndMark>): EndMarkStore {
  return {
    find: async (keys, now) => keys.map((key) => marks.get(key, now)?.mark),
    save: async (endMark, now) => marks.set(endMark.key, endMark, now),
  };
}

/** What a code or refresh token needs of its authorization. */
type Authorizations = Pick<ExpiringMap<Authorization>, "use">;

// Within one process, a step without `await` is atomic: nothing else runs between its look and its write.

function memoryAuthorizationCodes(
  codes: ExpiringMap<AuthorizationCode>,
  authorizations: Authorizations,
): AuthorizationCodeStore {
  return {
    create: async (code, now) => codes.set(code.digest, code, now),
    find: async ({ digest }, now) => codes.get(digest, now),
    consume: async ({ authorizationId, digest }, now) => {
      const code = codes.get(digest, now);
      if (!code || code.consumed) return "not-consumed";
      codes.change(digest, { consumed: true });
      authorizations.use(authorizationId, now);
      return "consumed";
    },
  };
}

function memoryRefreshTokens(
  tokens: ExpiringMap<RefreshToken>,
  authorizations: Authorizations,
): RefreshTokenStore {
  return {
    create: async (token, now) => tokens.set(token.digest, token, now),
    find: async ({ digest }, now) => tokens.get(digest, now),
    rotate: async ({ from, to, use }, now) => {
      const token = tokens.get(from.digest, now);
      if (!token) return "not-rotated";
      if (token.used) return token.use ?? "not-rotated";
      // the step that can fail comes first, so that a full store leaves the old token usable
      tokens.set(to.digest, to, now);
      tokens.change(from.digest, { used: true, ...(use && { use }) });
      authorizations.use(from.authorizationId, now);
      return "rotated";
    },
  };
}

/** The owner of a record: its client. */
const clientOf = ({ clientId }: { readonly clientId?: string | undefined }): string | undefined => clientId;

/** The owner of a consent: its person, who may allow any number of clients in any number of contexts. */
const personOf = ({ subject }: Consent): string => subject;

/** The owner of an end mark. However much somebody has withdrawn, everything of theirs can still be ended at once. */
const holderOf = (mark: EndMark): string | undefined =>
  endsEverything(mark) ? undefined : ownerOfMark(mark);

/** A revoked token or a used assertion: its key says which, so that only its client and its end are kept. */
interface Remembered {
  readonly clientId: string | undefined;
  readonly expiresAt: EpochSeconds;
}

interface AccessTokenMaps {
  readonly tokens: ExpiringMap<StoredAccessToken>;
  readonly revoked: ExpiringMap<Remembered>;
}

function memoryAccessTokens({ tokens, revoked }: AccessTokenMaps): AccessTokenStore {
  return {
    create: async (token, now) => tokens.set(token.digest, token, now),
    find: async (digest, now) => tokens.get(digest, now),
    revoke: async ({ tokenId, clientId, expiresAt }, now) =>
      revoked.set(tokenId, { clientId, expiresAt }, now),
    isRevoked: async (tokenId, now) => revoked.get(tokenId, now) !== undefined,
  };
}

function memoryAssertions(assertions: ExpiringMap<Remembered>): ClientAssertionStore {
  return {
    use: async ({ digest, clientId, expiresAt }, now) => {
      if (assertions.get(digest, now)) return "used-before";
      assertions.set(digest, { clientId, expiresAt }, now);
      return "used";
    },
  };
}

/**
 * Storage in the memory of this process. Its records are lost when the process ends, and two processes do not share them.
 *
 * @throws TypeError when an option or a client record is wrong.
 */
export function memoryStorage(options: MemoryStorageOptions): Storage {
  const { clients, maxEntries = 1_000_000 } = options ?? {};
  if (!Array.isArray(clients))
    throw new TypeError("memoryStorage: clients is missing or is not a list. Write a list of clients.");
  if (!Number.isSafeInteger(maxEntries) || maxEntries < 1 || maxEntries > mostEntries) {
    throw new TypeError(`memoryStorage: maxEntries must be a whole number from 1 to ${mostEntries}.`);
  }
  const authorizations = expiringMap<Authorization>({ maxEntries, groupsOf, ownerOf: clientOf });
  // a host may keep authorizations in another storage: then each one counts as an owner itself
  const ownerOf = ({ authorizationId }: TokenHandle, now: EpochSeconds): string =>
    authorizations.get(authorizationId, now)?.clientId ?? authorizationId;
  return markedInMemory({
    clients: memoryClients(clients),
    consents: memoryConsents(
      expiringMap<Consent>({ maxEntries, groupsOf: (consent) => [personOf(consent)], ownerOf: personOf }),
    ),
    authorizations: memoryAuthorizations(authorizations),
    authorizationCodes: memoryAuthorizationCodes(
      expiringMap<AuthorizationCode>({ maxEntries, ownerOf }),
      authorizations,
    ),
    refreshTokens: memoryRefreshTokens(expiringMap<RefreshToken>({ maxEntries, ownerOf }), authorizations),
    accessTokens: memoryAccessTokens({
      tokens: expiringMap<StoredAccessToken>({ maxEntries, ownerOf: clientOf }),
      revoked: expiringMap<Remembered>({ maxEntries, ownerOf: clientOf }),
    }),
    endMarks: memoryEndMarks(expiringMap<EndMark>({ maxEntries, ownerOf: holderOf })),
    clientAssertions: memoryAssertions(expiringMap<Remembered>({ maxEntries, ownerOf: clientOf })),
    clientRegistrations: memoryRegistrations(),
  });
}
