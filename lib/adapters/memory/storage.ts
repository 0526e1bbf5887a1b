/** Storage in the memory of one process: the built-in default, for development and for services with a single process. */
import type { ListedClients } from "../../clients/client-lookup";
import { checkClient, sameRecordAs } from "../../clients/client-record";
import type { Authorization, AuthorizationCode, RefreshToken } from "../../protocol/authorization";
import { browserOriginsOf, type Client } from "../../protocol/client";
import { type Consent, type ConsentKey, maxConsents } from "../../protocol/consent";
import { type EndMark, endsEverything, ownerOfMark } from "../../protocol/end-mark";
import { frozen } from "../../protocol/host-json";
import { mistakesOf } from "../../protocol/mistake";
import type { Clock, EpochSeconds } from "../../protocol/time";
import type { TokenHandle } from "../../protocol/token-value";
import type {
  ClientAssertionStore,
  ClientRegistration,
  ClientRegistrationStore,
  ParkedRequest,
  ParkedRequestStore,
  UsedAssertion,
} from "../../storage/client-ports";
import { newClientEnd } from "../../storage/end-marks";
import type {
  AccessTokenStore,
  AuthorizationCodeStore,
  ClientRegistry,
  CompleteStorage,
  ConsentStore,
  EndMarkStore,
  RefreshTokenStore,
  RevokedAccessToken,
  Storage,
  StoredAccessToken,
} from "../../storage/port";
import { groupsOf, type KeptAuthorizations, memoryAuthorizations, noteUse } from "./authorizations";
import { type ExpiringMap, expiringMap, frozenCopy } from "./expiring-map";

/** Registrations. The caller's limit bounds them. A `Map` keeps the order of creation, so the oldest is found without a search. */
function memoryRegistrations(): ClientRegistrationStore {
  const neverExtended = new Map<string, ClientRegistration>();
  const extended = new Map<string, ClientRegistration>();
  let sweptAt: EpochSeconds | undefined;

  function living(clientId: string, now: EpochSeconds): ClientRegistration | undefined {
    const known = extended.get(clientId) ?? neverExtended.get(clientId);
    return known && now < known.expiresAt ? known : undefined;
  }

  function dropExpired(now: EpochSeconds): void {
    // at most once a second: a flood must not make each call look at all registrations
    if (sweptAt === now) return;
    sweptAt = now;
    for (const registrations of [neverExtended, extended])
      for (const [clientId, { expiresAt }] of registrations)
        if (expiresAt <= now) registrations.delete(clientId);
  }

  return {
    create: async ({ client, expiresAt }, { limit, reserved = 1, now }) => {
      const isFull = (): boolean => extended.size > limit - reserved;
      if (isFull() || neverExtended.size + extended.size >= limit) dropExpired(now);
      if (isFull()) return "full";
      const surplus = Math.max(0, neverExtended.size + extended.size - limit + 1);
      for (const oldest of [...neverExtended.keys()].slice(0, surplus)) neverExtended.delete(oldest);
      // one that has already ended would take room from others until the next second
      if (now < expiresAt) neverExtended.set(client.clientId, { client: frozenCopy(client), expiresAt });
      return "created";
    },
    find: async (clientId, now) => living(clientId, now)?.client,
    extend: async ({ clientId, expiresAt }, now) => {
      const known = living(clientId, now);
      if (!known) return false;
      neverExtended.delete(clientId);
      extended.set(clientId, { client: known.client, expiresAt: Math.max(known.expiresAt, expiresAt) });
      return true;
    },
  };
}

// a registered symbol: a second copy of this package must know the ports too
const mark = Symbol.for("authmount.in-memory");

/** The same storage; its ports can be told by `isInMemory`. The clients are not marked: they are given anew at each start. */
export function markedInMemory<T extends Storage>(storage: T): T {
  for (const [name, port] of Object.entries(storage)) {
    // not enumerable: code that iterates over a port must find its methods only
    if (name !== "clients") Object.defineProperty(port, mark, { value: true });
  }
  return storage;
}

/** True for a port whose records are lost when the process ends. */
export function isInMemory(port: object): boolean {
  return Reflect.get(port, mark) === true;
}

/** The largest number of entries that a JavaScript `Map` can hold. */
const mostEntries = 2 ** 24;

const mistake = mistakesOf({
  "memory-clients-not-a-list": "memoryStorage: clients is missing or is not a list. Write a list of clients.",
  "memory-clients-with-one-id": "memoryStorage: clients must have different clientIds.",
  "memory-max-entries-wrong": `memoryStorage: maxEntries must be a whole number from 1 to ${mostEntries}.`,
});

/** The options of `memoryStorage`. */
export interface MemoryStorageOptions {
  /** The clients that are registered from the start. */
  readonly clients: readonly Client[];
  /**
   * Limit for each kind of record; default 1,000,000. A full store refuses new records and never drops an unexpired one. A client that
   * holds more authorizations, codes or tokens than there is room left is refused too, and so is a person with more consents, so that
   * nobody can fill the store for everyone: one alone gets half of the room.
   */
  readonly maxEntries?: number;
}

/** Storage in the memory of this process. */
export interface MemoryStorage extends CompleteStorage {
  /** The registered clients, which can be saved, listed and deleted here. */
  readonly clients: ClientRegistry;
}

// Within one process, a step without `await` is atomic: nothing else runs between its look and its write.

/** Clients by their ids, and the origins of those that are there. */
function keptClients() {
  const clients = new Map<string, Client>();
  let origins: ReadonlySet<string> | undefined;
  const all = (): readonly Client[] => [...clients.values()];
  return {
    all,
    get: (clientId: string): Client | undefined => clients.get(clientId),
    set(client: Client): void {
      clients.set(checkClient(client).clientId, frozen(JSON.parse(JSON.stringify(client)) as Client));
      origins = undefined;
    },
    delete(clientId: string): void {
      clients.delete(clientId);
      origins = undefined;
    },
    hasOrigin(origin: string): boolean {
      origins ??= new Set(all().flatMap(browserOriginsOf));
      return origins.has(origin);
    },
  };
}

function memoryClients(
  records: readonly Client[],
  { endMarks, clock }: { endMarks: ExpiringMap<EndMark>; clock: Clock },
): ClientRegistry {
  const clients = keptClients();
  for (const record of records) clients.set(record);
  if (clients.all().length !== records.length) throw mistake("memory-clients-with-one-id");
  const store: ClientRegistry = {
    find: async (clientId) => clients.get(clientId),
    isBrowserOrigin: async (origin) => clients.hasOrigin(origin),
    save: async (client) => clients.set(client),
    replace: async ({ from, to }) => {
      if (!sameRecordAs(from)(clients.get(checkClient(to).clientId))) return "not-replaced";
      clients.set(to);
      return "replaced";
    },
    delete: async (clientId) => {
      if (!clients.get(clientId)) return;
      const now = clock();
      const endMark = newClientEnd(clientId, now);
      // the step that can fail comes first
      endMarks.set(endMark.key, endMark, now);
      clients.delete(clientId);
    },
    list: async ({ after = "", limit }) =>
      clients
        .all()
        .filter(({ clientId }) => clientId > after)
        .toSorted((a, b) => (a.clientId < b.clientId ? -1 : 1))
        .slice(0, limit),
  };
  // not enumerable: code that iterates over a port must find its methods only
  return Object.defineProperty(store, "records" satisfies keyof ListedClients, { get: clients.all });
}

function consentId({ subject, clientId, apiId, contextKey = "" }: ConsentKey): string {
  return JSON.stringify([subject, clientId, apiId, contextKey]);
}

function memoryConsents(consents: ExpiringMap<Consent>): ConsentStore {
  return {
    find: async (key, now) => consents.get(consentId(key), now),
    save: async (consent, now) => {
      consents.set(consentId(consent), consent, now);
      const stored = consents.inGroup(consent.subject, -Infinity);
      if (stored[0] && stored.length > maxConsents) consents.delete(consentId(stored[0]));
    },
    list: async (subject, now) => consents.inGroup(subject, now),
    delete: async ({ selection, exceptEndMark }) => {
      const { subject, clientId, apiId, contextKey } = selection;
      const withdrawn = consents
        .inGroup(subject, -Infinity)
        .filter((one) => (clientId ?? one.clientId) === one.clientId && (apiId ?? one.apiId) === one.apiId)
        .filter((consent) => contextKey === undefined || (consent.contextKey ?? "") === contextKey)
        .filter(({ endMarks }) => !endMarks.includes(exceptEndMark));
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

function memoryAuthorizationCodes(
  codes: ExpiringMap<AuthorizationCode>,
  authorizations: KeptAuthorizations,
): AuthorizationCodeStore {
  return {
    create: async (code, now) => codes.set(code.digest, code, now),
    find: async ({ digest }, now) => codes.get(digest, now),
    consume: async ({ authorizationId, digest }, now) => {
      const code = codes.get(digest, now);
      if (!code || code.consumed) return "not-consumed";
      codes.change(digest, { consumed: true });
      noteUse(authorizations, { authorizationId, now });
      return "consumed";
    },
  };
}

function memoryRefreshTokens(
  tokens: ExpiringMap<RefreshToken>,
  authorizations: KeptAuthorizations,
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
      noteUse(authorizations, { authorizationId: from.authorizationId, now });
      return "rotated";
    },
  };
}

/** The owner of a record: its client. */
const clientOf = ({ clientId }: { readonly clientId?: string | undefined }): string | undefined => clientId;

/** The owner of a consent: its person, who may allow any number of clients in any number of contexts. */
const personOf = ({ subject }: Consent): string => subject;

/** The owner of an end mark. However much somebody has withdrawn, everything of theirs can still be ended at once. */
const holderOf = (endMark: EndMark): string | undefined =>
  endsEverything(endMark) ? undefined : ownerOfMark(endMark);

interface AccessTokenMaps {
  readonly tokens: ExpiringMap<StoredAccessToken>;
  readonly revoked: ExpiringMap<RevokedAccessToken>;
}

function memoryAccessTokens({ tokens, revoked }: AccessTokenMaps): AccessTokenStore {
  return {
    create: async (token, now) => tokens.set(token.digest, token, now),
    find: async (digest, now) => tokens.get(digest, now),
    revoke: async (token, now) => revoked.set(token.tokenId, token, now),
    isRevoked: async (tokenId, now) => revoked.get(tokenId, now) !== undefined,
  };
}

function memoryAssertions(assertions: ExpiringMap<UsedAssertion>): ClientAssertionStore {
  return {
    use: async (assertion, now) => {
      if (assertions.get(assertion.digest, now)) return "used-before";
      assertions.set(assertion.digest, assertion, now);
      return "used";
    },
  };
}

function memoryParkedRequests(requests: ExpiringMap<ParkedRequest>): ParkedRequestStore {
  return {
    create: async (request, { limit = Infinity, now }) => {
      if (requests.get(request.key, now)) return "taken";
      if (request.state === "open" && requests.inGroup(request.owner, now).length >= limit) return "full";
      requests.set(request.key, request, now);
      return "created";
    },
    find: async (key, now) => requests.get(key, now),
    close: async ({ key, as: state, by }, now) => {
      if (requests.get(key, now)?.state !== "open") return "not-open";
      requests.change(key, { state, by });
      return "closed";
    },
  };
}

/**
 * Storage in the memory of this process. Its records are lost when the process ends, and two processes do not share them.
 *
 * @throws TypeError when an option or a client record is wrong.
 */
export function memoryStorage(options: MemoryStorageOptions): MemoryStorage {
  const { clients, maxEntries = 1_000_000 } = options ?? {};
  if (!Array.isArray(clients)) throw mistake("memory-clients-not-a-list");
  if (!Number.isSafeInteger(maxEntries) || maxEntries < 1 || maxEntries > mostEntries)
    throw mistake("memory-max-entries-wrong");
  const records = expiringMap<Authorization>({ maxEntries, groupsOf, ownerOf: clientOf });
  const authorizations: KeptAuthorizations = { records, lastUses: new WeakMap() };
  // a host may keep authorizations in another storage: then each one is its own owner
  const ownerOf = ({ authorizationId }: TokenHandle, now: EpochSeconds): string =>
    records.get(authorizationId, now)?.clientId ?? authorizationId;
  const endMarks = expiringMap<EndMark>({ maxEntries, ownerOf: holderOf });
  return markedInMemory({
    clients: memoryClients(clients, { endMarks, clock: () => Math.floor(Date.now() / 1000) }),
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
      revoked: expiringMap<RevokedAccessToken>({ maxEntries, ownerOf: clientOf }),
    }),
    endMarks: memoryEndMarks(endMarks),
    clientAssertions: memoryAssertions(expiringMap<UsedAssertion>({ maxEntries, ownerOf: clientOf })),
    clientRegistrations: memoryRegistrations(),
    parkedRequests: memoryParkedRequests(
      expiringMap<ParkedRequest>({
        maxEntries,
        groupsOf: ({ state, owner }) => (state === "open" ? [owner] : []),
        ownerOf: ({ owner }) => owner,
      }),
    ),
  });
}
