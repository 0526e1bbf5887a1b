/** The right adapter, of one round trip a call, into which mistakes are planted, and the tables that its processes share. */
import {
  type Authorization,
  type AuthorizationCode,
  type AuthorizationSelection,
  browserOriginsOf,
  type Client,
  type ClientRegistration,
  type Consent,
  type ConsentKey,
  type EndMark,
  type EpochSeconds,
  type ListedAuthorization,
  maxAuthorizations,
  maxConsents,
  type ParkedRequest,
  type RefreshToken,
  type RevokedAccessToken,
  type Storage,
  type StoredAccessToken,
  type UsedAssertion,
} from "../../../../lib";
import { sameRecordAs } from "../../../../lib/clients/client-record";
import { narrowed } from "../../../../lib/protocol/authorization";
import { newClientEnd } from "../../../../lib/storage/end-marks";
import { surplusOf } from "../../../../lib/storage/ending-order";
import type { ClientRegistry, CompleteStorage, StepsAtOnce } from "../../../../lib/storage/port";
import { withSteps } from "../../../../lib/storage/steps";

/** What all processes share. It keeps and gives copies, as every database does. */
export interface Table<T> {
  get(key: string): Promise<T | undefined>;
  set(key: string, record: T): Promise<void>;
  delete(key: string): Promise<boolean>;
  all(): Promise<readonly T[]>;
  where(is: (record: T) => boolean): Promise<readonly T[]>;
  /** Look and write in one round trip: nobody comes in between. */
  update(key: string, change: (record: T) => T | undefined): Promise<boolean>;
  /** The same as a part of another table's round trip. */
  updateAlong(key: string, change: (record: T) => T): void;
  /** Write as a part of another round trip. */
  setAlong(key: string, record: T): void;
  /** Look and write in one round trip, where there is nothing yet. */
  add(key: string, record: T): Promise<boolean>;
  /** Look and delete in one round trip. */
  deleteWhere(is: (record: T) => boolean): Promise<number>;
  count(is: (record: T) => boolean): Promise<number>;
}

/** A registration as it is stored. */
export interface RegistrationRow extends ClientRegistration {
  readonly extended: boolean;
}

/** One table for each kind of record. */
export interface Database {
  readonly clients: Table<Client>;
  readonly consents: Table<Consent>;
  readonly authorizations: Table<ListedAuthorization>;
  readonly authorizationCodes: Table<AuthorizationCode>;
  readonly refreshTokens: Table<RefreshToken>;
  readonly accessTokens: Table<StoredAccessToken>;
  readonly revokedAccessTokens: Table<RevokedAccessToken>;
  readonly endMarks: Table<EndMark>;
  readonly usedAssertions: Table<UsedAssertion>;
  readonly clientRegistrations: Table<RegistrationRow>;
  readonly parkedRequests: Table<ParkedRequest>;
}

function newTable<T>(roundTrip: () => Promise<void>): Table<T> {
  const records = new Map<string, T>();
  return {
    async get(key) {
      await roundTrip();
      return structuredClone(records.get(key));
    },
    async set(key, record) {
      const sent = structuredClone(record);
      await roundTrip();
      records.set(key, sent);
    },
    async delete(key) {
      await roundTrip();
      return records.delete(key);
    },
    async all() {
      await roundTrip();
      return structuredClone([...records.values()]);
    },
    async where(is) {
      await roundTrip();
      return structuredClone([...records.values()].filter(is));
    },
    async update(key, change) {
      await roundTrip();
      const record = records.get(key);
      const changed = record && change(structuredClone(record));
      if (changed === undefined) return false;
      records.set(key, changed);
      return true;
    },
    updateAlong(key, change) {
      const record = records.get(key);
      if (record) records.set(key, change(structuredClone(record)));
    },
    setAlong(key, record) {
      records.set(key, structuredClone(record));
    },
    async add(key, record) {
      const sent = structuredClone(record);
      await roundTrip();
      if (records.has(key)) return false;
      records.set(key, sent);
      return true;
    },
    async deleteWhere(is) {
      await roundTrip();
      const found = [...records].filter(([, record]) => is(record));
      for (const [key] of found) records.delete(key);
      return found.length;
    },
    async count(is) {
      await roundTrip();
      return [...records.values()].filter(is).length;
    },
  };
}

/** An empty database; `reachable: false` for one that is not there. */
export function newDatabase({ reachable = true } = {}): Database {
  async function roundTrip(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (!reachable) throw new Error("connect ECONNREFUSED");
  }
  return {
    clients: newTable(roundTrip),
    consents: newTable(roundTrip),
    authorizations: newTable(roundTrip),
    authorizationCodes: newTable(roundTrip),
    refreshTokens: newTable(roundTrip),
    accessTokens: newTable(roundTrip),
    revokedAccessTokens: newTable(roundTrip),
    endMarks: newTable(roundTrip),
    usedAssertions: newTable(roundTrip),
    clientRegistrations: newTable(roundTrip),
    parkedRequests: newTable(roundTrip),
  };
}

/** True for what has not ended by this time. */
export const isLive =
  (now: EpochSeconds) =>
  ({ expiresAt }: { readonly expiresAt: EpochSeconds }): boolean =>
    now < expiresAt;

/** The record, unless it has ended by this time. */
export function live<T extends { readonly expiresAt: EpochSeconds }>(
  record: T | undefined,
  now: EpochSeconds,
) {
  return record && isLive(now)(record) ? record : undefined;
}

/** One text for a whole key, by which its parts cannot run into each other. */
export const consentId = ({ subject, clientId, apiId, contextKey = "" }: ConsentKey): string =>
  JSON.stringify([subject, clientId, apiId, contextKey]);

/** The key as somebody would write it who forgets that its parts may hold the separator. */
export const joinedBy =
  (separator: string) =>
  ({ subject, clientId, apiId, contextKey }: ConsentKey): string =>
    [subject, clientId, apiId, ...(contextKey ? [contextKey] : [])].join(separator);

/** The key of the consent that an authorization would need. */
export const keyOf = ({ subject, clientId, apiId, context }: Authorization): ConsentKey => ({
  subject,
  clientId,
  apiId,
  contextKey: context?.key ?? "",
});

/** True for what belongs to this selection. What the selection leaves out may be anything. */
export const isSelected = (selection: AuthorizationSelection) => (record: ConsentKey) =>
  record.subject === selection.subject &&
  (selection.clientId === undefined || record.clientId === selection.clientId) &&
  (selection.apiId === undefined || record.apiId === selection.apiId) &&
  (selection.contextKey === undefined || (record.contextKey ?? "") === selection.contextKey);

/** The authorizations of a selection that are not revoked, as all of them are now. */
export const notRevoked = async (
  { authorizations }: Database,
  selection: AuthorizationSelection,
): Promise<readonly ListedAuthorization[]> => {
  const is = isSelected(selection);
  return authorizations.where((record) => !record.revoked && is(keyOf(record)));
};

/** The order of a list. */
export const inListOrder = (a: Authorization, b: Authorization): number =>
  b.expiresAt - a.expiresAt || b.authorizationId.localeCompare(a.authorizationId);

function tableAuthorizations(database: Database): Storage["authorizations"] {
  const { authorizations } = database;
  const revoke = async (id: string): Promise<void> =>
    void (await authorizations.update(id, (record) => ({ ...record, revoked: true })));
  return {
    async create(created, now) {
      const { authorizationId } = created;
      await authorizations.set(authorizationId, created);
      const is = isSelected(keyOf(created));
      const isLiving = (record: Authorization): boolean =>
        !record.revoked && isLive(now)(record) && is(keyOf(record));
      if ((await authorizations.count(isLiving)) <= maxAuthorizations) return;
      const living = await authorizations.where(isLiving);
      const ended = surplusOf(living, (record) => record.authorizationId === authorizationId);
      await Promise.all(ended.map((record) => revoke(record.authorizationId)));
    },
    async find(authorizationId, now) {
      const found = live(await authorizations.get(authorizationId), now);
      if (!found) return undefined;
      const { lastUsedAt: _, ...authorization } = found;
      return authorization;
    },
    revoke,
    async revokeAll(selection) {
      const own = await notRevoked(database, selection);
      await Promise.all(own.map(({ authorizationId }) => revoke(authorizationId)));
      return own.length;
    },
    async narrowAll({ selection, scopes }) {
      const own = (await notRevoked(database, selection)).filter((one) => narrowed(one, scopes));
      await Promise.all(
        own.map(({ authorizationId }) =>
          authorizations.update(authorizationId, (record) => ({ ...record, ...narrowed(record, scopes) })),
        ),
      );
      return own.length;
    },
    async list(subject, { after, limit }, now) {
      const own = await authorizations.where((one) => isLive(now)(one) && one.subject === subject);
      const last = own.find(({ authorizationId }) => authorizationId === after);
      if (after !== undefined && !last) return [];
      const behind = own.filter((one) => !one.revoked && (!last || inListOrder(last, one) < 0));
      return behind.toSorted(inListOrder).slice(0, limit);
    },
    erase: ({ subject, authorizationId }) =>
      authorizations.deleteWhere(
        (one) =>
          one.subject === subject &&
          (authorizationId === undefined || one.authorizationId === authorizationId),
      ),
    noteUse: async (id, now) =>
      void (await authorizations.update(id, (record) =>
        record.revoked || (record.lastUsedAt ?? 0) >= now ? undefined : { ...record, lastUsedAt: now },
      )),
  };
}

/** The order in which registrations go, the first ones first. */
export const inRegistrationOrder = (a: ClientRegistration, b: ClientRegistration): number =>
  a.expiresAt - b.expiresAt;

function tableRegistrations({ clientRegistrations }: Database): Storage["clientRegistrations"] {
  return {
    async create({ client, expiresAt }, { limit, reserved = 1, now }) {
      const living = await clientRegistrations.where(isLive(now));
      const room = limit - living.filter(({ extended }) => extended).length;
      if (room < reserved) return "full";
      await clientRegistrations.set(client.clientId, { client, expiresAt, extended: false });
      const others = living.filter(({ extended }) => !extended).toSorted(inRegistrationOrder);
      const surplus = others.slice(0, Math.max(0, others.length - room + 1));
      const ids = new Set(surplus.map((one) => one.client.clientId));
      if (ids.size > 0)
        await clientRegistrations.deleteWhere((one) => !one.extended && ids.has(one.client.clientId));
      return "created";
    },
    find: async (clientId, now) => live(await clientRegistrations.get(clientId), now)?.client,
    extend: ({ clientId, expiresAt }, now) =>
      clientRegistrations.update(clientId, (one) =>
        isLive(now)(one)
          ? { ...one, extended: true, expiresAt: Math.max(one.expiresAt, expiresAt) }
          : undefined,
      ),
  };
}

/** True for two clients of the same values, or two times none. */
export const isSameClient = (one: Client | undefined, other: Client | undefined): boolean =>
  // JSON first: what `structuredClone` gives has other prototypes in Jest
  sameRecordAs(other)(one && (JSON.parse(JSON.stringify(one)) as Client));

/** The table of clients. Its end mark comes behind the deletion: nobody finds the client with it. */
function tableClients({ clients, endMarks }: Database): ClientRegistry {
  return {
    find: (clientId) => clients.get(clientId),
    isBrowserOrigin: async (origin) => (await clients.all()).flatMap(browserOriginsOf).includes(origin),
    save: (client) => clients.set(client.clientId, client),
    async replace({ from, to }) {
      const sent = structuredClone(to);
      const won = await (from === undefined
        ? clients.add(to.clientId, to)
        : clients.update(to.clientId, (stored) => (isSameClient(stored, from) ? sent : undefined)));
      return won ? "replaced" : "not-replaced";
    },
    async delete(clientId) {
      const endMark = newEnd(clientId);
      if (await clients.delete(clientId)) await endMarks.set(endMark.key, endMark);
    },
    list: async ({ after = "", limit }) =>
      (await clients.where(({ clientId }) => clientId > after))
        .toSorted((a, b) => (a.clientId < b.clientId ? -1 : 1))
        .slice(0, limit),
  };
}

/** A mark that ends everything of this client. */
export const newEnd = (clientId: string): EndMark => newClientEnd(clientId, Math.floor(Date.now() / 1000));

/** A storage that has everything. */
export type TableStorage = CompleteStorage & { readonly atOnce: Required<StepsAtOnce> };

/** The right adapter, as one process has it. */
export function tableStorage(database: Database): TableStorage {
  const storage = tablePorts(database);
  return withSteps(storage, {
    async approve({ authorization, code }, now) {
      // in the round trip of the authorization, which it cannot be without
      database.authorizationCodes.setAlong(code.digest, code);
      await storage.authorizations.create(authorization, now);
    },
    async redeem({ code: { digest, authorizationId }, refreshToken, accessToken }, now) {
      const won = await database.authorizationCodes.update(digest, (code) => {
        if (code.consumed || !isLive(now)(code)) return undefined;
        if (refreshToken) database.refreshTokens.setAlong(refreshToken.digest, refreshToken);
        if (accessToken) database.accessTokens.setAlong(accessToken.digest, accessToken);
        database.authorizations.updateAlong(authorizationId, (record) => ({ ...record, lastUsedAt: now }));
        return { ...code, consumed: true };
      });
      return won ? "consumed" : "not-consumed";
    },
  }) as TableStorage;
}

function tablePorts(database: Database): CompleteStorage {
  const { authorizations, authorizationCodes, refreshTokens, accessTokens, consents } = database;
  const { revokedAccessTokens, endMarks, usedAssertions, parkedRequests } = database;
  const use = <T extends { readonly authorizationId: string }>(used: T, now: EpochSeconds): T => {
    authorizations.updateAlong(used.authorizationId, (record) => ({ ...record, lastUsedAt: now }));
    return used;
  };
  return {
    clients: tableClients(database),
    consents: {
      find: async (key, now) => live(await consents.get(consentId(key)), now),
      async save(consent) {
        await consents.set(consentId(consent), consent);
        if ((await consents.count(({ subject }) => subject === consent.subject)) <= maxConsents) return;
        const others = await consents.where(
          (one) => one.subject === consent.subject && consentId(one) !== consentId(consent),
        );
        const surplus = others.toSorted((a, b) => b.expiresAt - a.expiresAt).slice(maxConsents - 1);
        const ids = new Set(surplus.map(consentId));
        await consents.deleteWhere((one) => ids.has(consentId(one)));
      },
      list: async (subject, now) =>
        consents.where((consent) => isLive(now)(consent) && consent.subject === subject),
      async delete({ selection, exceptEndMark }) {
        const is = isSelected(selection);
        const isWithdrawn = (consent: Consent): boolean => !consent.endMarks?.includes(exceptEndMark);
        return (await consents.deleteWhere((consent) => is(consent) && isWithdrawn(consent))) > 0;
      },
    },
    authorizations: tableAuthorizations(database),
    authorizationCodes: {
      create: (code) => authorizationCodes.set(code.digest, code),
      find: async ({ digest }, now) => live(await authorizationCodes.get(digest), now),
      async consume({ digest }, now) {
        const won = await authorizationCodes.update(digest, (code) =>
          code.consumed || !isLive(now)(code) ? undefined : { ...use(code, now), consumed: true },
        );
        return won ? "consumed" : "not-consumed";
      },
    },
    refreshTokens: {
      create: (token) => refreshTokens.set(token.digest, token),
      find: async ({ digest }, now) => live(await refreshTokens.get(digest), now),
      async rotate({ from, to, use: kept }, now) {
        const won = await refreshTokens.update(from.digest, (token) => {
          if (token.used || !isLive(now)(token)) return undefined;
          refreshTokens.setAlong(to.digest, to);
          return { ...use(token, now), used: true, ...(kept && { use: kept }) };
        });
        return won ? "rotated" : (live(await refreshTokens.get(from.digest), now)?.use ?? "not-rotated");
      },
    },
    accessTokens: {
      create: (token) => accessTokens.set(token.digest, token),
      find: async (digest, now) => live(await accessTokens.get(digest), now),
      revoke: ({ tokenId, expiresAt }) => revokedAccessTokens.set(tokenId, { tokenId, expiresAt }),
      isRevoked: async (tokenId, now) => live(await revokedAccessTokens.get(tokenId), now) !== undefined,
    },
    endMarks: {
      async find(keys, now) {
        const found = await endMarks.where((endMark) => isLive(now)(endMark) && keys.includes(endMark.key));
        return keys.map((key) => found.find((endMark) => endMark.key === key)?.mark);
      },
      save: (endMark) => endMarks.set(endMark.key, endMark),
    },
    clientAssertions: {
      use: async (assertion) =>
        (await usedAssertions.add(assertion.digest, assertion)) ? "used" : "used-before",
    },
    clientRegistrations: tableRegistrations(database),
    parkedRequests: {
      async create(request, { limit = Infinity, now }) {
        const isOpen = ({ owner, state }: ParkedRequest): boolean =>
          owner === request.owner && state === "open";
        const open = await parkedRequests.count((one) => isOpen(one) && isLive(now)(one));
        if (isOpen(request) && open >= limit) return "full";
        return (await parkedRequests.add(request.key, request)) ? "created" : "taken";
      },
      find: async (key, now) => live(await parkedRequests.get(key), now),
      async close({ key, as: state, by }, now) {
        const won = await parkedRequests.update(key, (one) =>
          one.state === "open" && isLive(now)(one) ? { ...one, state, by } : undefined,
        );
        return won ? "closed" : "not-open";
      },
    },
  };
}
