/** A storage adapter of one round trip a call, and small mistakes to plant in it. Each is one that somebody would make. */
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
} from "../../lib";
import { subjectMistakes } from "./wrong-subjects";

/** What all processes share. It keeps and gives copies, as every database does. */
export interface Table<T> {
  get(key: string): Promise<T | undefined>;
  set(key: string, record: T): Promise<void>;
  delete(key: string): Promise<boolean>;
  all(): Promise<readonly T[]>;
  /** Look and write in one round trip: nobody comes in between. */
  update(key: string, change: (record: T) => T | undefined): Promise<boolean>;
}

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

const isLive =
  (now: EpochSeconds) =>
  ({ expiresAt }: { readonly expiresAt: EpochSeconds }): boolean =>
    now < expiresAt;

function live<T extends { readonly expiresAt: EpochSeconds }>(record: T | undefined, now: EpochSeconds) {
  return record && isLive(now)(record) ? record : undefined;
}

const consentId = ({ subject, clientId, apiId }: ConsentKey): string =>
  JSON.stringify([subject, clientId, apiId]);

const joinedBy =
  (separator: string) =>
  ({ subject, clientId, apiId }: ConsentKey): string =>
    [subject, clientId, apiId].join(separator);

const idWithout = (part: keyof ConsentKey) => (key: ConsentKey) => consentId({ ...key, [part]: "" });

const hasKey = (key: ConsentKey) => (record: ConsentKey) => consentId(record) === consentId(key);

const tail = (origin: string): string => new URL(origin).origin;

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

/** Revokes them one by one, and gives the number of those that were not revoked before. */
async function revokeEach(
  { authorizations }: Storage,
  records: readonly Authorization[],
  now: EpochSeconds,
): Promise<number> {
  for (const { authorizationId } of records) await authorizations.revoke(authorizationId, now);
  return records.filter(({ revoked }) => !revoked).length;
}

interface Process {
  readonly storage: Storage;
  readonly database: Database;
}

export interface WrongAdapter {
  readonly mistake: string;
  /** Rules of the contract that must fail, by name. */
  readonly caughtBy: readonly string[];
  /** The adapter of one process. */
  readonly make: (database: Database) => Storage;
}

type Ports = keyof Storage;

interface Mistake<Port extends Ports> {
  readonly mistake: string;
  readonly caughtBy: readonly string[];
  readonly change: (process: Process) => Partial<Storage[Port]>;
}

/** The right adapter with some methods of one port changed. */
function wrong<Port extends Ports>(port: Port, { mistake, caughtBy, change }: Mistake<Port>): WrongAdapter {
  return {
    mistake: `${port}: ${mistake}`,
    caughtBy,
    make(database) {
      const storage = tableStorage(database);
      return { ...storage, [port]: { ...storage[port], ...change({ storage, database }) } };
    },
  };
}

type AnyFind = (...args: readonly unknown[]) => Promise<object | undefined>;

/** A `find` whose answer is altered. */
function finding(
  port: Ports,
  {
    mistake,
    caughtBy,
    alter,
  }: { mistake: string; caughtBy: readonly string[]; alter: (record: object) => object },
): WrongAdapter {
  return wrong(port, {
    mistake,
    caughtBy,
    change({ storage }) {
      const find = storage[port].find as AnyFind;
      const altered: AnyFind = async (...args) => {
        const found = await find(...args);
        return found && alter(found);
      };
      return { find: altered } as Partial<Storage[typeof port]>;
    },
  });
}

const rule = {
  clientFind: "clients.find gives a registered client with every property",
  clientNone: "clients.find gives nothing for an id that is not exactly a registered one",
  originKnown: "clients.isBrowserOrigin knows each origin of a browser client",
  originLike: "clients.isBrowserOrigin knows no origin that is merely like one",
  originOther: "clients.isBrowserOrigin knows no origin of a client that is not a browser's",
  consentFind: "consents.find gives what consents.save has stored, with every field",
  consentNone: "consents.find gives nothing for a key of which any part differs",
  consentReplaced: "consents.save replaces the consent with the same key",
  consentList: "consents.list gives the living consents of one end user, all of them and no others",
  consentEnd: "a consent ends at its expiresAt, by the time that is given",
  consentDelete: "consents.delete forgets the one consent, and does nothing where there is none",
  consentDeleteExcept: "consents.delete leaves a consent that was given after the withdrawal",
  endMarkFind: "endMarks.find gives the mark that endMarks.save has stored, to everybody at once",
  endMarkReplaced: "endMarks.save replaces the mark of the same key, and no other",
  endMarkNone: "endMarks.find gives nothing for a key that is not exactly a stored one",
  endMarkEnd: "an end mark ends at its expiresAt, by the time that is given",
  authorizationFind: "authorizations.find gives what authorizations.create has stored, with every field",
  authorizationNone: "authorizations.find gives nothing for an id that is not exactly a stored one",
  authorizationEnd: "an authorization ends at its expiresAt, by the time that is given",
  revoke: "authorizations.revoke is seen by everybody, for this authorization alone, and any number of times",
  revokeNone: "authorizations.revoke does nothing where there is none",
  revokeAll:
    "authorizations.revokeAll revokes those of one end user for one client at one API, and no others",
  codeFind: "authorizationCodes.find gives what authorizationCodes.create has stored, with every field",
  codeNone: "authorizationCodes.find gives nothing for a handle that is not exactly a stored one",
  consumeOnce: "authorizationCodes.consume consumes a code once, and it is findable as consumed",
  consumeSibling: "authorizationCodes.consume consumes no other code of the same authorization",
  consumeNone: "authorizationCodes.consume consumes no code that is not there",
  codeEnd: "a code ends at its expiresAt, by the time that is given",
  consumeOf2: "authorizationCodes.consume has one winner of 2 at once",
  consumeOf8: "authorizationCodes.consume has one winner of 8 at once",
  consumeOf64: "authorizationCodes.consume has one winner of 64 at once",
  consumeEach: "authorizationCodes.consume has one winner for each of 8 codes at once",
  refreshFind: "refreshTokens.find gives what refreshTokens.create has stored, with every field",
  refreshNone: "refreshTokens.find gives nothing for a handle that is not exactly a stored one",
  rotateOnce:
    "refreshTokens.rotate replaces a token once; it is findable as used, and the next one rotates in turn",
  rotateNone: "refreshTokens.rotate stores nothing for a token that is not there",
  refreshEnd: "a refresh token ends at its expiresAt, by the time that is given",
  rotateOf2: "refreshTokens.rotate has one winner of 2 at once, and stores its token alone",
  rotateOf8: "refreshTokens.rotate has one winner of 8 at once, and stores its token alone",
  rotateOf64: "refreshTokens.rotate has one winner of 64 at once, and stores its token alone",
  rotateEach: "refreshTokens.rotate has one winner for each of 8 tokens at once",
  accessFind: "accessTokens.find gives what accessTokens.create has stored, with every field",
  accessNone: "accessTokens.find gives nothing for a digest that is not exactly a stored one",
  accessEnd: "a stored access token ends at its expiresAt, by the time that is given",
  isRevoked:
    "accessTokens.isRevoked says true after accessTokens.revoke, for this id alone, until the token ends",
  revokeSibling: "accessTokens.revoke revokes no other token of the same authorization",
  revokedFindable: "a revoked access token is still findable",
  ownership: "a record that was given or got may be changed: the stored one stays as it was",
  unreachable: "every call rejects while the store cannot be reached",
} as const;

const consumeRaces = [rule.consumeOf2, rule.consumeOf8, rule.consumeOf64, rule.consumeEach];
const rotateRaces = [rule.rotateOf2, rule.rotateOf8, rule.rotateOf64, rule.rotateEach];

const ownNow = (): EpochSeconds => Math.floor(Date.now() / 1000);

/** `find` of every kind of record that ends, by its table's own key and whatever its end. */
function rawFinds({ database }: Process) {
  const { consents, authorizations, authorizationCodes, refreshTokens, accessTokens } = database;
  return {
    consents: (key: ConsentKey) => consents.get(consentId(key)),
    authorizations: (id: string) => authorizations.get(id),
    authorizationCodes: ({ digest }: { digest: string }) => authorizationCodes.get(digest),
    refreshTokens: ({ digest }: { digest: string }) => refreshTokens.get(digest),
    accessTokens: (digest: string) => accessTokens.get(digest),
  };
}

const endingPorts = [
  ["consents", rule.consentEnd],
  ["authorizations", rule.authorizationEnd],
  ["authorizationCodes", rule.codeEnd],
  ["refreshTokens", rule.refreshEnd],
  ["accessTokens", rule.accessEnd],
] as const;

const wrongEnds = [
  ["find forgets that records expire", () => true],
  ["find asks its own clock", (expiresAt: EpochSeconds) => ownNow() < expiresAt],
  [
    "find gives a record in the second of its end",
    (expiresAt: EpochSeconds, now: EpochSeconds) => now <= expiresAt,
  ],
] as const;

const expiryMistakes = endingPorts.flatMap(([port, caughtBy]) =>
  wrongEnds.map(([mistake, lives]) =>
    wrong(port, {
      mistake,
      caughtBy: [caughtBy],
      change(process) {
        const get = rawFinds(process)[port] as (key: unknown) => Promise<Consent | undefined>;
        const find = async (key: unknown, now: EpochSeconds) => {
          const found = await get(key);
          return found && lives(found.expiresAt, now) ? found : undefined;
        };
        return { find };
      },
    }),
  ),
);

function idOf(key: unknown): string {
  if (typeof key === "string") return key;
  const { digest, ...rest } = key as ConsentKey & { readonly digest?: string };
  return digest ?? consentId(rest);
}

/** Remembers what `find` has found in this process. */
function cachingFind(port: Ports, caughtBy: readonly string[]): WrongAdapter {
  return wrong(port, {
    mistake: "find repeats what this process has found before",
    caughtBy,
    change({ storage }) {
      const find = storage[port].find as AnyFind;
      const known = new Map<string, object>();
      const cached: AnyFind = async (key, now) => {
        const found = known.get(idOf(key)) ?? (await find(key, now));
        if (found) known.set(idOf(key), found);
        return live(structuredClone(found) as Consent | undefined, now as EpochSeconds);
      };
      return { find: cached } as Partial<Storage[typeof port]>;
    },
  });
}

/** Runs what is given one after the other, within this process. */
function newLock(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const next = last.then(run);
    last = next.catch(() => undefined);
    return next;
  };
}

async function consumeInTwoSteps(
  { database: { authorizationCodes } }: Process,
  { digest, now }: { digest: string; now: EpochSeconds },
): Promise<"consumed" | "not-consumed"> {
  const code = live(await authorizationCodes.get(digest), now);
  if (!code || code.consumed) return "not-consumed";
  await authorizationCodes.set(digest, { ...code, consumed: true });
  return "consumed";
}

async function rotateInTwoSteps(
  { database: { refreshTokens } }: Process,
  { from, to, now }: { from: { readonly digest: string }; to: RefreshToken; now: EpochSeconds },
): Promise<"rotated" | "not-rotated"> {
  const token = live(await refreshTokens.get(from.digest), now);
  if (!token || token.used) return "not-rotated";
  await refreshTokens.set(from.digest, { ...token, used: true });
  await refreshTokens.set(to.digest, to);
  return "rotated";
}

const codeMistakes: readonly WrongAdapter[] = [
  wrong("authorizationCodes", {
    mistake: "consume reads, then writes",
    caughtBy: consumeRaces,
    change: (process) => ({ consume: ({ digest }, now) => consumeInTwoSteps(process, { digest, now }) }),
  }),
  wrong("authorizationCodes", {
    mistake: "consume reads, then writes, behind a lock of this process",
    caughtBy: consumeRaces,
    change(process) {
      const locked = newLock();
      return { consume: ({ digest }, now) => locked(() => consumeInTwoSteps(process, { digest, now })) };
    },
  }),
  wrong("authorizationCodes", {
    mistake: "consume ignores the row count",
    caughtBy: [rule.consumeOnce, rule.consumeNone, rule.codeEnd, ...consumeRaces],
    change: ({ storage }) => ({
      async consume(handle, now) {
        await storage.authorizationCodes.consume(handle, now);
        return "consumed";
      },
    }),
  }),
  wrong("authorizationCodes", {
    mistake: "consume always says not-consumed",
    caughtBy: [rule.consumeOnce, rule.consumeSibling, rule.codeEnd, ...consumeRaces],
    change: ({ storage }) => ({
      async consume(handle, now) {
        await storage.authorizationCodes.consume(handle, now);
        return "not-consumed";
      },
    }),
  }),
  wrong("authorizationCodes", {
    mistake: "consume wins and does not mark the code",
    caughtBy: [rule.consumeOnce, ...consumeRaces],
    change: ({ storage }) => ({
      consume: async (handle, now) =>
        (await storage.authorizationCodes.find(handle, now)) ? "consumed" : "not-consumed",
    }),
  }),
  wrong("authorizationCodes", {
    mistake: "consume deletes the code",
    caughtBy: [rule.consumeOnce, ...consumeRaces],
    change: ({ storage, database }) => ({
      async consume(handle, now) {
        const outcome = await storage.authorizationCodes.consume(handle, now);
        if (outcome === "consumed") await database.authorizationCodes.delete(handle.digest);
        return outcome;
      },
    }),
  }),
  wrong("authorizationCodes", {
    mistake: "consume keeps a stub of the code",
    caughtBy: [rule.consumeOnce, ...consumeRaces],
    change: ({ storage, database }) => ({
      async consume(handle, now) {
        const outcome = await storage.authorizationCodes.consume(handle, now);
        await database.authorizationCodes.update(handle.digest, (code) => ({ ...code, redirectUri: "" }));
        return outcome;
      },
    }),
  }),
  wrong("authorizationCodes", {
    mistake: "consume answers nothing",
    caughtBy: [rule.consumeOnce, rule.consumeNone, ...consumeRaces],
    change: ({ storage }) => ({
      async consume(handle, now) {
        await storage.authorizationCodes.consume(handle, now);
        return undefined as unknown as "consumed";
      },
    }),
  }),
  wrong("authorizationCodes", {
    mistake: "consume answers true and false",
    caughtBy: [rule.consumeOnce, rule.consumeNone, ...consumeRaces],
    change: ({ storage }) => ({
      consume: async (handle, now) =>
        ((await storage.authorizationCodes.consume(handle, now)) === "consumed") as unknown as "consumed",
    }),
  }),
  wrong("authorizationCodes", {
    mistake: "consume rejects for the loser",
    caughtBy: [rule.consumeOnce, rule.consumeNone, ...consumeRaces],
    change: ({ storage }) => ({
      async consume(handle, now) {
        if ((await storage.authorizationCodes.consume(handle, now)) === "consumed") return "consumed";
        throw new Error("no row was updated");
      },
    }),
  }),
  wrong("authorizationCodes", {
    mistake: "consume goes by the authorizationId alone",
    caughtBy: [rule.consumeSibling, rule.consumeNone],
    change: ({ storage, database }) => ({
      async consume({ authorizationId }, now) {
        const siblings = (await database.authorizationCodes.all()).filter(
          (code) => code.authorizationId === authorizationId,
        );
        const outcomes = await Promise.all(
          siblings.map((code) => storage.authorizationCodes.consume(code, now)),
        );
        return outcomes.includes("consumed") ? "consumed" : "not-consumed";
      },
    }),
  }),
  wrong("authorizationCodes", {
    mistake: "find goes by the authorizationId alone",
    caughtBy: [rule.codeFind, rule.codeNone],
    change: ({ database }) => ({
      async find({ authorizationId }, now) {
        const codes = (await database.authorizationCodes.all()).filter(isLive(now));
        return codes.find((code) => code.authorizationId === authorizationId);
      },
    }),
  }),
  wrong("authorizationCodes", {
    mistake: "find ignores case",
    caughtBy: [rule.codeNone],
    change: ({ database }) => ({
      async find({ digest }, now) {
        const codes = (await database.authorizationCodes.all()).filter(isLive(now));
        return codes.find((code) => code.digest.toLowerCase() === digest.toLowerCase());
      },
    }),
  }),
  ...(
    [
      ["consume forgets that codes expire", () => true],
      ["consume asks its own clock", (expiresAt: EpochSeconds) => ownNow() < expiresAt],
    ] as const
  ).map(([mistake, lives]) =>
    wrong("authorizationCodes", {
      mistake,
      caughtBy: [rule.codeEnd],
      change: ({ database }) => ({
        async consume({ digest }) {
          const won = await database.authorizationCodes.update(digest, (code) =>
            code.consumed || !lives(code.expiresAt) ? undefined : { ...code, consumed: true },
          );
          return won ? "consumed" : "not-consumed";
        },
      }),
    }),
  ),
  wrong("authorizationCodes", {
    mistake: "find hides consumed codes",
    caughtBy: [rule.consumeOnce, ...consumeRaces],
    change: ({ storage }) => ({
      async find(handle, now) {
        const code = await storage.authorizationCodes.find(handle, now);
        return code?.consumed === true ? undefined : code;
      },
    }),
  }),
  cachingFind("authorizationCodes", [rule.consumeOnce]),
];

const refreshTokenMistakes: readonly WrongAdapter[] = [
  wrong("refreshTokens", {
    mistake: "rotate reads, then writes",
    caughtBy: rotateRaces,
    change: (process) => ({ rotate: (step, now) => rotateInTwoSteps(process, { ...step, now }) }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate reads, then writes, behind a lock of this process",
    caughtBy: rotateRaces,
    change(process) {
      const locked = newLock();
      return { rotate: (step, now) => locked(() => rotateInTwoSteps(process, { ...step, now })) };
    },
  }),
  wrong("refreshTokens", {
    mistake: "rotate stores the successor before it knows who wins",
    caughtBy: [rule.rotateOnce, rule.rotateNone, rule.refreshEnd, ...rotateRaces],
    change: ({ storage, database }) => ({
      async rotate(step, now) {
        await database.refreshTokens.set(step.to.digest, step.to);
        return storage.refreshTokens.rotate(step, now);
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate stores the successor of an unknown token",
    caughtBy: [rule.rotateNone],
    change: ({ storage, database }) => ({
      async rotate({ from, to }, now) {
        if (!(await database.refreshTokens.get(from.digest))) await database.refreshTokens.set(to.digest, to);
        return storage.refreshTokens.rotate({ from, to }, now);
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate ignores the row count",
    caughtBy: [rule.rotateOnce, rule.rotateNone, ...rotateRaces],
    change: ({ storage }) => ({
      async rotate(step, now) {
        await storage.refreshTokens.rotate(step, now);
        return "rotated";
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate always says not-rotated",
    caughtBy: [rule.rotateOnce, ...rotateRaces],
    change: ({ storage }) => ({
      async rotate(step, now) {
        await storage.refreshTokens.rotate(step, now);
        return "not-rotated";
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate does not store the successor",
    caughtBy: [rule.rotateOnce, ...rotateRaces],
    change: ({ database }) => ({
      async rotate({ from }, now) {
        const won = await database.refreshTokens.update(from.digest, (token) =>
          token.used || !isLive(now)(token) ? undefined : { ...token, used: true },
        );
        return won ? "rotated" : "not-rotated";
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate stores the successor after it has answered",
    caughtBy: [rule.rotateOnce, ...rotateRaces],
    change: ({ database }) => ({
      async rotate({ from, to }, now) {
        const won = await database.refreshTokens.update(from.digest, (token) =>
          token.used || !isLive(now)(token) ? undefined : { ...token, used: true },
        );
        if (won) setImmediate(() => void database.refreshTokens.set(to.digest, to).catch(() => undefined));
        return won ? "rotated" : "not-rotated";
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate stores the successor with the end of the token before it",
    caughtBy: [rule.rotateOnce, ...rotateRaces],
    change: ({ storage }) => ({
      async rotate({ from, to }, now) {
        const expiresAt = (await storage.refreshTokens.find(from, now))?.expiresAt ?? to.expiresAt;
        return storage.refreshTokens.rotate({ from, to: { ...to, expiresAt } }, now);
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate forgets the used token",
    caughtBy: [rule.rotateOnce, ...rotateRaces],
    change: ({ storage, database }) => ({
      async rotate(step, now) {
        const outcome = await storage.refreshTokens.rotate(step, now);
        if (outcome === "rotated") await database.refreshTokens.delete(step.from.digest);
        return outcome;
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate lets the used token end a minute later",
    caughtBy: [rule.rotateOnce, ...rotateRaces],
    change: ({ storage, database }) => ({
      async rotate(step, now) {
        const outcome = await storage.refreshTokens.rotate(step, now);
        await database.refreshTokens.update(step.from.digest, (token) => ({ ...token, expiresAt: now + 60 }));
        return outcome;
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate goes by the authorizationId alone",
    caughtBy: [rule.rotateNone],
    change: ({ storage, database }) => ({
      async rotate({ from, to }, now) {
        const family = (await database.refreshTokens.all()).filter(
          (token) => token.authorizationId === from.authorizationId && !token.used,
        );
        return storage.refreshTokens.rotate({ from: family.at(-1) ?? from, to }, now);
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate gives the loser the winner's answer for a moment of grace",
    caughtBy: [rule.rotateOnce, ...rotateRaces],
    change: ({ storage, database }) => ({
      async rotate(step, now) {
        const outcome = await storage.refreshTokens.rotate(step, now);
        return (await database.refreshTokens.get(step.from.digest))?.used === true ? "rotated" : outcome;
      },
    }),
  }),
  ...(
    [
      ["rotate forgets that tokens expire", () => true],
      ["rotate asks its own clock", (expiresAt: EpochSeconds) => ownNow() < expiresAt],
    ] as const
  ).map(([mistake, lives]) =>
    wrong("refreshTokens", {
      mistake,
      caughtBy: [rule.refreshEnd],
      change: ({ database }) => ({
        async rotate({ from, to }) {
          const won = await database.refreshTokens.update(from.digest, (token) =>
            token.used || !lives(token.expiresAt) ? undefined : { ...token, used: true },
          );
          if (won) await database.refreshTokens.set(to.digest, to);
          return won ? "rotated" : "not-rotated";
        },
      }),
    }),
  ),
  wrong("refreshTokens", {
    mistake: "find goes by the authorizationId alone",
    caughtBy: [rule.refreshNone],
    change: ({ database }) => ({
      async find({ authorizationId }, now) {
        const tokens = (await database.refreshTokens.all()).filter(isLive(now));
        return tokens.find((token) => token.authorizationId === authorizationId);
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "find hides used tokens",
    caughtBy: [rule.rotateOnce, ...rotateRaces],
    change: ({ storage }) => ({
      async find(handle, now) {
        const token = await storage.refreshTokens.find(handle, now);
        return token?.used === true ? undefined : token;
      },
    }),
  }),
  cachingFind("refreshTokens", [rule.rotateOnce]),
];

const authorizationMistakes: readonly WrongAdapter[] = [
  cachingFind("authorizations", [rule.revoke]),
  wrong("authorizations", {
    mistake: "revoke does nothing",
    caughtBy: [rule.revoke],
    change: () => ({ revoke: async () => undefined }),
  }),
  wrong("authorizations", {
    mistake: "revoke works after it has answered",
    caughtBy: [rule.revoke],
    change: ({ storage }) => ({
      async revoke(id, now) {
        setImmediate(() => void storage.authorizations.revoke(id, now).catch(() => undefined));
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "revoke swallows its failure",
    caughtBy: [rule.unreachable],
    change: ({ storage }) => ({
      revoke: (id, now) => storage.authorizations.revoke(id, now).catch(() => undefined),
    }),
  }),
  wrong("authorizations", {
    mistake: "revoke deletes",
    caughtBy: [rule.revoke],
    change: ({ database }) => ({ revoke: async (id) => void (await database.authorizations.delete(id)) }),
  }),
  wrong("authorizations", {
    mistake: "revoke rejects the second time",
    caughtBy: [rule.revoke],
    change: ({ database }) => ({
      async revoke(id) {
        const changed = await database.authorizations.update(id, (record) =>
          record.revoked ? undefined : { ...record, revoked: true },
        );
        if (!changed && (await database.authorizations.get(id))) throw new Error("already revoked");
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "revoke rejects where there is none",
    caughtBy: [rule.revokeNone],
    change: ({ database }) => ({
      async revoke(id) {
        const found = await database.authorizations.update(id, (record) => ({ ...record, revoked: true }));
        if (!found) throw new Error("no such authorization");
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "revoke makes an authorization where there is none",
    caughtBy: [rule.revokeNone],
    change: ({ storage, database }) => ({
      async revoke(id, now) {
        const found = await database.authorizations.get(id);
        if (found) return storage.authorizations.revoke(id, now);
        const stub = { authorizationId: id, revoked: true, expiresAt: now + 600 } as Authorization;
        await database.authorizations.set(id, stub);
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "revoke toggles",
    caughtBy: [rule.revoke],
    change: ({ database }) => ({
      revoke: async (id) =>
        void (await database.authorizations.update(id, (record) => ({
          ...record,
          revoked: !record.revoked,
        }))),
    }),
  }),
  wrong("authorizations", {
    mistake: "revoke revokes every authorization of the end user",
    caughtBy: [rule.revoke],
    change: ({ storage, database }) => ({
      async revoke(id, now) {
        const { subject } = (await database.authorizations.get(id)) ?? {};
        for (const other of await database.authorizations.all())
          if (other.subject === subject) await storage.authorizations.revoke(other.authorizationId, now);
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "revoke revokes every authorization of the client",
    caughtBy: [rule.revoke],
    change: ({ storage, database }) => ({
      async revoke(id, now) {
        const { clientId } = (await database.authorizations.get(id)) ?? {};
        for (const other of await database.authorizations.all())
          if (other.clientId === clientId) await storage.authorizations.revoke(other.authorizationId, now);
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "revoke revokes every authorization of the API",
    caughtBy: [rule.revoke],
    change: ({ storage, database }) => ({
      async revoke(id, now) {
        const { apiId } = (await database.authorizations.get(id)) ?? {};
        for (const other of await database.authorizations.all())
          if (other.apiId === apiId) await storage.authorizations.revoke(other.authorizationId, now);
      },
    }),
  }),
  ...(["subject", "clientId", "apiId"] as const).map((part) =>
    wrong("authorizations", {
      mistake: `revokeAll ignores ${part}`,
      caughtBy: [rule.revokeAll],
      change: ({ storage, database }) => ({
        async revokeAll(key, now) {
          const all = await database.authorizations.all();
          const alike = all.filter((other) => hasKey(key)({ ...other, [part]: key[part] }));
          return revokeEach(storage, alike, now);
        },
      }),
    }),
  ),
  wrong("authorizations", {
    mistake: "revokeAll joins its key",
    caughtBy: [rule.revokeAll],
    change({ storage, database }) {
      const joined = joinedBy(":");
      return {
        async revokeAll(key, now) {
          const all = await database.authorizations.all();
          const alike = all.filter((other) => joined(other) === joined(key));
          return revokeEach(storage, alike, now);
        },
      };
    },
  }),
  wrong("authorizations", {
    mistake: "revokeAll stops after the first",
    caughtBy: [rule.revokeAll],
    change: ({ storage, database }) => ({
      async revokeAll(key, now) {
        const own = (await database.authorizations.all()).filter(hasKey(key));
        await revokeEach(storage, own.slice(0, 1), now);
        return own.length;
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "revokeAll revokes those of one authentication method",
    caughtBy: [rule.revokeAll],
    change: ({ storage, database }) => ({
      async revokeAll(key, now) {
        const own = (await database.authorizations.all()).filter(hasKey(key));
        const alike = own.filter(({ authMethodId }) => authMethodId === own[0]?.authMethodId);
        await revokeEach(storage, alike, now);
        return own.length;
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "revokeAll knows only what this process has created",
    caughtBy: [rule.revokeAll],
    change({ storage }) {
      const own: Authorization[] = [];
      return {
        create(record, now) {
          own.push(record);
          return storage.authorizations.create(record, now);
        },
        async revokeAll(key, now) {
          return revokeEach(storage, own.filter(hasKey(key)), now);
        },
      };
    },
  }),
  wrong("authorizations", {
    mistake: "find hides revoked authorizations",
    caughtBy: [rule.revoke, rule.revokeAll],
    change: ({ storage }) => ({
      async find(id, now) {
        const found = await storage.authorizations.find(id, now);
        return found?.revoked === true ? undefined : found;
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "find rejects for an unknown id",
    caughtBy: [rule.authorizationNone],
    change: ({ storage }) => ({
      async find(id, now) {
        const found = await storage.authorizations.find(id, now);
        if (!found) throw new Error("no such authorization");
        return found;
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "find takes an empty id for any",
    caughtBy: [rule.authorizationNone],
    change: ({ storage, database }) => ({
      find: async (id, now) =>
        id === "" ? (await database.authorizations.all())[0] : storage.authorizations.find(id, now),
    }),
  }),
];

const consentMistakes: readonly WrongAdapter[] = [
  ...["", ":"].map((separator) =>
    wrong("consents", {
      mistake: `the key is joined by "${separator}"`,
      caughtBy: [rule.consentNone],
      change({ database: { consents } }) {
        const joined = joinedBy(separator);
        return {
          find: async (key, now) => live(await consents.get(joined(key)), now),
          save: (consent) => consents.set(joined(consent), consent),
          delete: ({ key }) => consents.delete(joined(key)),
        };
      },
    }),
  ),
  ...(["subject", "clientId", "apiId"] as const).map((part) =>
    wrong("consents", {
      mistake: `the key leaves out ${part}`,
      caughtBy: [rule.consentNone],
      change({ database: { consents } }) {
        const partial = idWithout(part);
        return {
          find: async (key, now) => live(await consents.get(partial(key)), now),
          save: (consent) => consents.set(partial(consent), consent),
          delete: ({ key }) => consents.delete(partial(key)),
        };
      },
    }),
  ),
  wrong("consents", {
    mistake: "the subject is compared without case",
    caughtBy: [rule.consentNone],
    change: ({ database: { consents } }) => ({
      async find({ subject, clientId, apiId }, now) {
        return (await consents.all())
          .filter(isLive(now))
          .find(
            (consent) =>
              consent.subject.toLowerCase() === subject.toLowerCase() &&
              consent.clientId === clientId &&
              consent.apiId === apiId,
          );
      },
    }),
  }),
  wrong("consents", {
    mistake: "save adds in place of replacing",
    caughtBy: [rule.consentReplaced],
    change({ database: { consents } }) {
      let number = 0;
      return {
        save: (consent) => consents.set(`${consentId(consent)}${(number += 1)}${Math.random()}`, consent),
        find: async (key, now) => (await consents.all()).filter(isLive(now)).find(hasKey(key)),
      };
    },
  }),
  wrong("consents", {
    mistake: "save keeps the consent that was there",
    caughtBy: [rule.consentReplaced],
    change: ({ storage, database }) => ({
      async save(consent, now) {
        if (!(await database.consents.get(consentId(consent)))) await storage.consents.save(consent, now);
      },
    }),
  }),
  wrong("consents", {
    mistake: "save adds the scopes to those that were there",
    caughtBy: [rule.consentReplaced],
    change: ({ storage, database }) => ({
      async save(consent, now) {
        const before = (await database.consents.get(consentId(consent)))?.scopes ?? [];
        const scopes = [...new Set([...before, ...consent.scopes])];
        await storage.consents.save({ ...consent, scopes }, now);
      },
    }),
  }),
  wrong("consents", {
    mistake: "list gives expired ones",
    caughtBy: [rule.consentList],
    change: ({ database }) => ({
      list: async (subject) =>
        (await database.consents.all()).filter((consent) => consent.subject === subject),
    }),
  }),
  wrong("consents", {
    mistake: "list gives those of subjects that begin alike",
    caughtBy: [rule.consentList],
    change: ({ database }) => ({
      list: async (subject, now) =>
        (await database.consents.all()).filter(isLive(now)).filter((one) => one.subject.startsWith(subject)),
    }),
  }),
  wrong("consents", {
    mistake: "list gives one page",
    caughtBy: [rule.consentList],
    change: ({ storage }) => ({
      list: async (subject, now) => (await storage.consents.list(subject, now)).slice(0, 2),
    }),
  }),
  wrong("consents", {
    mistake: "list gives everybody's",
    caughtBy: [rule.consentList],
    change: ({ database }) => ({
      list: async (_, now) => (await database.consents.all()).filter(isLive(now)),
    }),
  }),
  wrong("consents", {
    mistake: "delete does nothing",
    caughtBy: [rule.consentDelete],
    change: () => ({ delete: async () => true }),
  }),
  wrong("consents", {
    mistake: "delete forgets every consent of the end user",
    caughtBy: [rule.consentDelete],
    change: ({ storage, database }) => ({
      async delete({ key: { subject } }, now) {
        const own = await storage.consents.list(subject, now);
        for (const consent of own) await database.consents.delete(consentId(consent));
        return own.length > 0;
      },
    }),
  }),
  wrong("consents", {
    mistake: "delete rejects where there is none",
    caughtBy: [rule.consentDelete],
    change: ({ storage, database }) => ({
      async delete(withdrawal, now) {
        if (!(await database.consents.get(consentId(withdrawal.key)))) throw new Error("no such consent");
        return storage.consents.delete(withdrawal, now);
      },
    }),
  }),
  wrong("consents", {
    mistake: "delete forgets what was given after the withdrawal",
    caughtBy: [rule.consentDeleteExcept],
    change: ({ database }) => ({ delete: ({ key }) => database.consents.delete(consentId(key)) }),
  }),
  cachingFind("consents", [rule.consentDelete]),
];

const accessTokenMistakes: readonly WrongAdapter[] = [
  wrong("accessTokens", {
    mistake: "isRevoked is always true after the first revocation",
    caughtBy: [rule.isRevoked],
    change: ({ database }) => ({
      isRevoked: async (_, now) => (await database.revokedAccessTokens.all()).some(isLive(now)),
    }),
  }),
  wrong("accessTokens", {
    mistake: "isRevoked speaks for every token of the client",
    caughtBy: [rule.revokeSibling],
    change: ({ storage, database }) => ({
      async isRevoked(tokenId, now) {
        if (await storage.accessTokens.isRevoked(tokenId, now)) return true;
        const tokens = await database.accessTokens.all();
        const revoked = await database.revokedAccessTokens.all();
        const own = tokens.find((token) => token.tokenId === tokenId);
        return tokens.some(
          (token) =>
            token.clientId === own?.clientId && revoked.some(({ tokenId: id }) => id === token.tokenId),
        );
      },
    }),
  }),
  wrong("accessTokens", {
    mistake: "isRevoked is always false",
    caughtBy: [rule.isRevoked],
    change: () => ({ isRevoked: async () => false }),
  }),
  wrong("accessTokens", {
    mistake: "isRevoked ignores case",
    caughtBy: [rule.isRevoked],
    change: ({ database }) => ({
      isRevoked: async (tokenId, now) =>
        (await database.revokedAccessTokens.all())
          .filter(isLive(now))
          .some((revoked) => revoked.tokenId.toLowerCase() === tokenId.toLowerCase()),
    }),
  }),
  wrong("accessTokens", {
    mistake: "isRevoked asks only what this process has revoked",
    caughtBy: [rule.isRevoked],
    change({ storage }) {
      const own = new Set<string>();
      return {
        async revoke(token, now) {
          await storage.accessTokens.revoke(token, now);
          own.add(token.tokenId);
        },
        isRevoked: async (tokenId, now) => own.has(tokenId) && storage.accessTokens.isRevoked(tokenId, now),
      };
    },
  }),
  wrong("accessTokens", {
    mistake: "isRevoked repeats a no",
    caughtBy: [rule.isRevoked],
    change({ storage }) {
      const known = new Set<string>();
      return {
        async isRevoked(tokenId, now) {
          if (known.has(tokenId)) return false;
          const revoked = await storage.accessTokens.isRevoked(tokenId, now);
          if (!revoked) known.add(tokenId);
          return revoked;
        },
      };
    },
  }),
  wrong("accessTokens", {
    mistake: "a revocation is forgotten after a minute",
    caughtBy: [rule.isRevoked],
    change: ({ storage }) => ({
      revoke: (token, now) => storage.accessTokens.revoke({ ...token, expiresAt: now + 60 }, now),
    }),
  }),
  wrong("accessTokens", {
    mistake: "a revocation is forgotten at once",
    caughtBy: [rule.isRevoked],
    change: () => ({ revoke: async () => undefined }),
  }),
  wrong("accessTokens", {
    mistake: "revoke works only where the token is stored, and a JWT is not",
    caughtBy: [rule.isRevoked],
    change: ({ storage, database }) => ({
      async revoke(token, now) {
        const stored = (await database.accessTokens.all()).some(({ tokenId }) => tokenId === token.tokenId);
        if (stored) await storage.accessTokens.revoke(token, now);
      },
    }),
  }),
  wrong("accessTokens", {
    mistake: "revoke rejects the second time",
    caughtBy: [rule.isRevoked],
    change: ({ storage, database }) => ({
      async revoke(token, now) {
        if (await database.revokedAccessTokens.get(token.tokenId)) throw new Error("duplicate key");
        await storage.accessTokens.revoke(token, now);
      },
    }),
  }),
  wrong("accessTokens", {
    mistake: "revoke deletes the token",
    caughtBy: [rule.revokedFindable],
    change: ({ storage, database }) => ({
      async revoke(token, now) {
        await storage.accessTokens.revoke(token, now);
        for (const { digest, tokenId } of await database.accessTokens.all())
          if (tokenId === token.tokenId) await database.accessTokens.delete(digest);
      },
    }),
  }),
  wrong("accessTokens", {
    mistake: "find takes a token id for a digest",
    caughtBy: [rule.accessNone],
    change: ({ database }) => ({
      find: async (key, now) =>
        (await database.accessTokens.all())
          .filter(isLive(now))
          .find(({ digest, tokenId }) => digest === key || tokenId === key),
    }),
  }),
];

const clientMistakes: readonly WrongAdapter[] = [
  wrong("clients", {
    mistake: "ids are compared without case",
    caughtBy: [rule.clientNone],
    change: ({ database }) => ({
      find: async (id) =>
        (await database.clients.all()).find(({ clientId }) => clientId.toLowerCase() === id.toLowerCase()),
    }),
  }),
  wrong("clients", {
    mistake: "ids are compared by LIKE",
    caughtBy: [rule.clientNone],
    change: ({ database }) => ({
      async find(id) {
        const escaped = id.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
        const like = new RegExp(`^${escaped.replaceAll("%", ".*").replaceAll("_", ".")}$`);
        return (await database.clients.all()).find(({ clientId }) => like.test(clientId));
      },
    }),
  }),
  wrong("clients", {
    mistake: "ids are compared by their beginning",
    caughtBy: [rule.clientNone],
    change: ({ database }) => ({
      find: async (id) =>
        (await database.clients.all()).find(({ clientId }) => id !== "" && clientId.startsWith(id)),
    }),
  }),
  wrong("clients", {
    mistake: "find looks into a plain object",
    caughtBy: [rule.clientNone],
    change: ({ database }) => ({
      async find(id) {
        const all = await database.clients.all();
        const byId: Record<string, Client> = {};
        for (const client of all) byId[client.clientId] = client;
        return byId[id];
      },
    }),
  }),
  wrong("clients", {
    mistake: "find rejects for an unknown id",
    caughtBy: [rule.clientNone],
    change: ({ database }) => ({
      async find(id) {
        const client = await database.clients.get(id);
        if (!client) throw new Error("no such client");
        return client;
      },
    }),
  }),
  wrong("clients", {
    mistake: "origins are compared by their beginning",
    caughtBy: [rule.originLike],
    change: ({ database }) => ({
      isBrowserOrigin: async (origin) =>
        (await database.clients.all()).flatMap(browserOriginsOf).some((own) => origin.startsWith(own)),
    }),
  }),
  wrong("clients", {
    mistake: "origins are compared by their host",
    caughtBy: [rule.originLike],
    change: ({ database }) => ({
      isBrowserOrigin: async (origin) =>
        (await database.clients.all())
          .flatMap(browserOriginsOf)
          .some((own) => URL.canParse(origin) && new URL(origin).hostname === new URL(own).hostname),
    }),
  }),
  wrong("clients", {
    mistake: "an origin is read from a URL",
    caughtBy: [rule.originLike],
    change: ({ storage }) => ({
      isBrowserOrigin: (origin) =>
        storage.clients.isBrowserOrigin(URL.canParse(origin) ? tail(origin) : origin),
    }),
  }),
  wrong("clients", {
    mistake: "one origin of each client is known",
    caughtBy: [rule.originKnown],
    change: ({ database }) => ({
      isBrowserOrigin: async (origin) =>
        (await database.clients.all()).some((client) => browserOriginsOf(client)[0] === origin),
    }),
  }),
  wrong("clients", {
    mistake: "redirect URIs of every client are browser origins",
    caughtBy: [rule.originOther],
    change: ({ database }) => ({
      isBrowserOrigin: async (origin) =>
        (await database.clients.all()).some(({ redirectUris }) =>
          redirectUris.some((uri) => tail(uri) === origin),
        ),
    }),
  }),
];

function without(...names: readonly string[]): (record: object) => object {
  return (record) => Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}

function withValues(change: (value: unknown) => unknown): (record: object) => object {
  return (record) => Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

const asText = withValues((value) => (typeof value === "number" ? String(value) : value));
const flagsAsNumbers = withValues((value) => (typeof value === "boolean" ? Number(value) : value));
const splitLists = withValues((value) => (Array.isArray(value) ? value.join(" ").split(" ") : value));
const sortedLists = withValues((value) => (Array.isArray(value) ? (value as string[]).toSorted() : value));
const inOneByte = withValues((value) =>
  typeof value === "string" ? Buffer.from(value, "latin1").toString("latin1") : value,
);
const shortened = withValues((value) => (typeof value === "string" ? value.slice(0, 191) : value));

function nullsFor(...names: readonly string[]): (record: object) => object {
  // eslint-disable-next-line unicorn/no-null -- what a driver gives for an empty column
  return (record) => ({ ...Object.fromEntries(names.map((name) => [name, null])), ...record });
}

const fieldMistakes: readonly WrongAdapter[] = [
  ...(["codeChallenge", "redirectUri", "redeemBefore"] as const).map((name) =>
    finding("authorizationCodes", {
      mistake: `find drops ${name}`,
      caughtBy: [rule.codeFind],
      alter: without(name),
    }),
  ),
  ...(["amr", "acr", "authTime", "refreshableUntil", "issuer", "authMethodId", "createdAt"] as const).map(
    (name) =>
      finding("authorizations", {
        mistake: `find drops ${name}`,
        caughtBy: [rule.authorizationFind],
        alter: without(name),
      }),
  ),
  ...(["subject", "authorizationId", "authTime", "amr", "acr", "issuer", "issuedAt"] as const).map((name) =>
    finding("accessTokens", {
      mistake: `find drops ${name}`,
      caughtBy: [rule.accessFind],
      alter: without(name),
    }),
  ),
  ...(["trusted", "clientUri", "policyUri", "tosUri"] as const).map((name) =>
    finding("clients", { mistake: `find drops ${name}`, caughtBy: [rule.clientFind], alter: without(name) }),
  ),
  finding("consents", {
    mistake: "find drops grantedAt",
    caughtBy: [rule.consentFind],
    alter: without("grantedAt"),
  }),
  finding("refreshTokens", {
    mistake: "find drops authorizationId",
    caughtBy: [rule.refreshFind],
    alter: without("authorizationId"),
  }),
  finding("consents", {
    mistake: "find drops endMark",
    caughtBy: [rule.consentFind],
    alter: without("endMark"),
  }),
  finding("authorizations", {
    mistake: "find gives null for what is missing",
    caughtBy: [rule.authorizationFind],
    alter: nullsFor("amr", "acr", "authTime", "refreshableUntil"),
  }),
  finding("authorizationCodes", {
    mistake: "find gives null for what is missing",
    caughtBy: [rule.codeFind],
    alter: nullsFor("codeChallenge"),
  }),
  finding("accessTokens", {
    mistake: "find gives null for what is missing",
    caughtBy: [rule.accessFind],
    alter: nullsFor("subject", "authorizationId"),
  }),
  ...(
    [
      ["consents", rule.consentFind],
      ["authorizations", rule.authorizationFind],
      ["authorizationCodes", rule.codeFind],
      ["refreshTokens", rule.refreshFind],
      ["accessTokens", rule.accessFind],
    ] as const
  ).map(([port, caughtBy]) =>
    finding(port, { mistake: "find gives numbers as text", caughtBy: [caughtBy], alter: asText }),
  ),
  ...(
    [
      ["authorizations", rule.authorizationFind],
      ["authorizationCodes", rule.codeFind],
      ["refreshTokens", rule.refreshFind],
    ] as const
  ).map(([port, caughtBy]) =>
    finding(port, { mistake: "find gives flags as numbers", caughtBy: [caughtBy], alter: flagsAsNumbers }),
  ),
  ...(
    [
      ["consents", rule.consentFind],
      ["authorizations", rule.authorizationFind],
      ["accessTokens", rule.accessFind],
    ] as const
  ).flatMap(([port, caughtBy]) => [
    finding(port, {
      mistake: "an empty list becomes one of an empty text",
      caughtBy: [caughtBy],
      alter: splitLists,
    }),
    finding(port, { mistake: "lists are sorted", caughtBy: [caughtBy], alter: sortedLists }),
    finding(port, { mistake: "text loses what one byte cannot say", caughtBy: [caughtBy], alter: inOneByte }),
  ]),
  finding("consents", { mistake: "text is cut at 191", caughtBy: [rule.consentFind], alter: shortened }),
];

const sharedMistakes: readonly WrongAdapter[] = [
  wrong("authorizations", {
    mistake: "create keeps the caller's own object",
    caughtBy: [rule.ownership],
    change({ storage }) {
      const kept = new Map<string, Authorization>();
      return {
        create(record, now) {
          kept.set(record.authorizationId, record);
          return storage.authorizations.create(record, now);
        },
        async find(id, now) {
          const found = await storage.authorizations.find(id, now);
          return found && { ...(kept.get(id) ?? found), revoked: found.revoked };
        },
      };
    },
  }),
  wrong("consents", {
    mistake: "save keeps the caller's own list",
    caughtBy: [rule.ownership],
    change({ storage }) {
      const kept = new Map<string, readonly string[]>();
      return {
        save(consent, now) {
          kept.set(consentId(consent), consent.scopes);
          return storage.consents.save(consent, now);
        },
        async find(key, now) {
          const found = await storage.consents.find(key, now);
          return found && { ...found, scopes: kept.get(consentId(key)) ?? found.scopes };
        },
      };
    },
  }),
  wrong("refreshTokens", {
    mistake: "find gives the stored object itself",
    caughtBy: [rule.ownership],
    change({ storage }) {
      const given = new Map<string, RefreshToken>();
      return {
        async find(handle, now) {
          const found = await storage.refreshTokens.find(handle, now);
          if (!found) return undefined;
          const known = Object.assign(given.get(handle.digest) ?? found, { used: found.used });
          given.set(handle.digest, known);
          return known;
        },
      };
    },
  }),
];

/** A failure that becomes an answer. */
function swallowing<Port extends Ports>(
  port: Port,
  { method, answer }: { method: keyof Storage[Port] & string; answer: unknown },
): WrongAdapter {
  return wrong(port, {
    mistake: `${method} answers ${JSON.stringify(answer) ?? "nothing"} when it fails`,
    caughtBy: [rule.unreachable],
    change({ storage }) {
      const call = storage[port][method] as (...args: readonly unknown[]) => Promise<unknown>;
      const swallowed = (...args: readonly unknown[]): Promise<unknown> => call(...args).catch(() => answer);
      return { [method]: swallowed } as unknown as Partial<Storage[Port]>;
    },
  });
}

const swallowedFailures: readonly WrongAdapter[] = [
  swallowing("clients", { method: "find", answer: undefined }),
  swallowing("clients", { method: "isBrowserOrigin", answer: false }),
  swallowing("consents", { method: "find", answer: undefined }),
  swallowing("consents", { method: "save", answer: undefined }),
  swallowing("consents", { method: "list", answer: [] }),
  swallowing("consents", { method: "delete", answer: false }),
  swallowing("authorizations", { method: "create", answer: undefined }),
  swallowing("authorizations", { method: "find", answer: undefined }),
  swallowing("authorizations", { method: "revokeAll", answer: 0 }),
  swallowing("authorizationCodes", { method: "create", answer: undefined }),
  swallowing("authorizationCodes", { method: "find", answer: undefined }),
  swallowing("authorizationCodes", { method: "consume", answer: "not-consumed" }),
  swallowing("refreshTokens", { method: "create", answer: undefined }),
  swallowing("refreshTokens", { method: "find", answer: undefined }),
  swallowing("refreshTokens", { method: "rotate", answer: "not-rotated" }),
  swallowing("accessTokens", { method: "create", answer: undefined }),
  swallowing("accessTokens", { method: "find", answer: undefined }),
  swallowing("accessTokens", { method: "revoke", answer: undefined }),
  swallowing("accessTokens", { method: "isRevoked", answer: false }),
  swallowing("endMarks", { method: "find", answer: undefined }),
  swallowing("endMarks", { method: "save", answer: undefined }),
];

const endMarkMistakes: readonly WrongAdapter[] = [
  wrong("endMarks", {
    mistake: "save keeps the first mark of a key",
    caughtBy: [rule.endMarkReplaced],
    change: ({ database, storage }) => ({
      async save(endMark, now) {
        if (!(await database.endMarks.get(endMark.key))) await storage.endMarks.save(endMark, now);
      },
    }),
  }),
  wrong("endMarks", {
    mistake: "find repeats what it has answered",
    caughtBy: [rule.endMarkFind],
    change({ storage }) {
      const answered = new Map<string, string | undefined>();
      return {
        async find(key, now) {
          if (!answered.has(key)) answered.set(key, await storage.endMarks.find(key, now));
          return answered.get(key);
        },
      };
    },
  }),
  wrong("endMarks", {
    mistake: "find ignores case",
    caughtBy: [rule.endMarkNone],
    change: ({ database }) => ({
      find: async (key, now) =>
        (await database.endMarks.all())
          .filter(isLive(now))
          .find((one) => one.key.toLowerCase() === key.toLowerCase())?.mark,
    }),
  }),
  wrong("endMarks", {
    mistake: "a mark never ends",
    caughtBy: [rule.endMarkEnd],
    change: ({ database }) => ({ find: async (key) => (await database.endMarks.get(key))?.mark }),
  }),
  wrong("endMarks", {
    mistake: "one process does not see the marks of another",
    caughtBy: [rule.endMarkFind],
    change({ storage }) {
      const own = new Set<string>();
      return {
        save(endMark, now) {
          own.add(endMark.key);
          return storage.endMarks.save(endMark, now);
        },
        find: async (key, now) => (own.has(key) ? storage.endMarks.find(key, now) : undefined),
      };
    },
  }),
];

export const wrongAdapters: readonly WrongAdapter[] = [
  ...clientMistakes,
  ...consentMistakes,
  ...authorizationMistakes,
  ...codeMistakes,
  ...refreshTokenMistakes,
  ...accessTokenMistakes,
  ...endMarkMistakes,
  ...expiryMistakes,
  ...fieldMistakes,
  ...sharedMistakes,
  ...swallowedFailures,
  ...subjectMistakes(tableStorage),
];
