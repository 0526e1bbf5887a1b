/** The right adapter, of one round trip a call, into which mistakes are planted, and the tables that its processes share. */
import {
  type Authorization,
  type AuthorizationCode,
  browserOriginsOf,
  type Client,
  type Consent,
  type ConsentKey,
  type EndMark,
  type EpochSeconds,
  type RefreshToken,
  type RevokedAccessToken,
  type Storage,
  type StoredAccessToken,
} from "../../../lib";

/** What all processes share. It keeps and gives copies, as every database does. */
export interface Table<T> {
  get(key: string): Promise<T | undefined>;
  set(key: string, record: T): Promise<void>;
  delete(key: string): Promise<boolean>;
  all(): Promise<readonly T[]>;
  /** Look and write in one round trip: nobody comes in between. */
  update(key: string, change: (record: T) => T | undefined): Promise<boolean>;
}

/** One table for each kind of record. */
export interface Database {
  readonly clients: Table<Client>;
  readonly consents: Table<Consent>;
  readonly authorizations: Table<Authorization>;
  readonly authorizationCodes: Table<AuthorizationCode>;
  readonly refreshTokens: Table<RefreshToken>;
  readonly accessTokens: Table<StoredAccessToken>;
  readonly revokedAccessTokens: Table<RevokedAccessToken>;
  readonly endMarks: Table<EndMark>;
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
    async update(key, change) {
      await roundTrip();
      const record = records.get(key);
      const changed = record && change(structuredClone(record));
      if (changed === undefined) return false;
      records.set(key, changed);
      return true;
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
export const consentId = ({ subject, clientId, apiId }: ConsentKey): string =>
  JSON.stringify([subject, clientId, apiId]);

/** The key as somebody would write it who forgets that its parts may hold the separator. */
export const joinedBy =
  (separator: string) =>
  ({ subject, clientId, apiId }: ConsentKey): string =>
    [subject, clientId, apiId].join(separator);

/** True for what belongs to the same end user, client and API. */
export const hasKey = (key: ConsentKey) => (record: ConsentKey) => consentId(record) === consentId(key);

/** The right adapter, as one process has it. */
export function tableStorage(database: Database): Storage {
  const { authorizations, authorizationCodes, refreshTokens, accessTokens, consents } = database;
  const { clients, revokedAccessTokens, endMarks } = database;
  const revoke = async (id: string): Promise<void> =>
    void (await authorizations.update(id, (record) => ({ ...record, revoked: true })));
  return {
    clients: {
      find: (clientId) => clients.get(clientId),
      isBrowserOrigin: async (origin) => (await clients.all()).flatMap(browserOriginsOf).includes(origin),
    },
    consents: {
      find: async (key, now) => live(await consents.get(consentId(key)), now),
      save: (consent) => consents.set(consentId(consent), consent),
      list: async (subject, now) =>
        (await consents.all()).filter(isLive(now)).filter((consent) => consent.subject === subject),
      async delete({ key, exceptEndMark }) {
        const consent = await consents.get(consentId(key));
        if (!consent || consent.endMark === exceptEndMark) return false;
        await consents.delete(consentId(key));
        return true;
      },
    },
    authorizations: {
      create: (authorization) => authorizations.set(authorization.authorizationId, authorization),
      find: async (authorizationId, now) => live(await authorizations.get(authorizationId), now),
      revoke,
      async revokeAll(key) {
        const own = (await authorizations.all()).filter(hasKey(key)).filter(({ revoked }) => !revoked);
        await Promise.all(own.map(({ authorizationId }) => revoke(authorizationId)));
        return own.length;
      },
    },
    authorizationCodes: {
      create: (code) => authorizationCodes.set(code.digest, code),
      find: async ({ digest }, now) => live(await authorizationCodes.get(digest), now),
      async consume({ digest }, now) {
        const won = await authorizationCodes.update(digest, (code) =>
          code.consumed || !isLive(now)(code) ? undefined : { ...code, consumed: true },
        );
        return won ? "consumed" : "not-consumed";
      },
    },
    refreshTokens: {
      create: (token) => refreshTokens.set(token.digest, token),
      find: async ({ digest }, now) => live(await refreshTokens.get(digest), now),
      async rotate({ from, to }, now) {
        const won = await refreshTokens.update(from.digest, (token) =>
          token.used || !isLive(now)(token) ? undefined : { ...token, used: true },
        );
        if (won) await refreshTokens.set(to.digest, to);
        return won ? "rotated" : "not-rotated";
      },
    },
    accessTokens: {
      create: (token) => accessTokens.set(token.digest, token),
      find: async (digest, now) => live(await accessTokens.get(digest), now),
      revoke: ({ tokenId, expiresAt }) => revokedAccessTokens.set(tokenId, { tokenId, expiresAt }),
      isRevoked: async (tokenId, now) => live(await revokedAccessTokens.get(tokenId), now) !== undefined,
    },
    endMarks: {
      find: async (key, now) => live(await endMarks.get(key), now)?.mark,
      save: (endMark) => endMarks.set(endMark.key, endMark),
    },
  };
}
