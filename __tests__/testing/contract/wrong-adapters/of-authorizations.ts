/** Mistakes with authorizations: their end, list, limit and last use. */
import {
  type Authorization,
  type AuthorizationSelection,
  type EpochSeconds,
  type Storage,
} from "../../../../lib";
import { type Database, inListOrder, isLive, isSelected, joinedBy, keyOf, notRevoked } from "./table-storage";
import { cachingFind, ownNow, planted, type Process, wrong, type WrongAdapter } from "./wrong-adapter";

const nul = String.raw`\u0000`;

/** Adapters that find or revoke the wrong authorization, or none. */
const singleAuthorizationMistakes: readonly WrongAdapter[] = [
  ...Object.entries({ "end user": "subject", client: "clientId", API: "apiId" } as const).map(
    ([whose, field]) =>
      wrong("authorizations", {
        mistake: `revoke revokes every authorization of the ${whose}`,
        caughtBy: ["authorizations.revoke is visible"],
        change: ({ storage, database }) => ({
          async revoke(id, now) {
            const one = await database.authorizations.get(id);
            for (const other of await database.authorizations.all())
              if (other[field] === one?.[field])
                await storage.authorizations.revoke(other.authorizationId, now);
          },
        }),
      }),
  ),
  ...planted("authorizations", {
    "authorizations.revoke is visible": {
      "revoke does nothing": () => ({ revoke: async () => undefined }),
      "revoke works after it has answered": ({ storage }) => ({
        async revoke(id, now) {
          setImmediate(() => void storage.authorizations.revoke(id, now).catch(() => undefined));
        },
      }),
      "revoke deletes": ({ database }) => ({
        revoke: async (id) => void (await database.authorizations.delete(id)),
      }),
      "revoke rejects the second time": ({ database }) => ({
        async revoke(id) {
          const changed = await database.authorizations.update(id, (record) =>
            record.revoked ? undefined : { ...record, revoked: true },
          );
          if (!changed && (await database.authorizations.get(id))) throw new Error("already revoked");
        },
      }),
      "revoke toggles": ({ database }) => ({
        revoke: async (id) =>
          void (await database.authorizations.update(id, (record) => ({
            ...record,
            revoked: !record.revoked,
          }))),
      }),
    },
    "every call rejects": {
      "revoke swallows its failure": ({ storage }) => ({
        revoke: (id, now) => storage.authorizations.revoke(id, now).catch(() => undefined),
      }),
    },
    "authorizations.revoke does nothing": {
      "revoke rejects where there is none": ({ database }) => ({
        async revoke(id) {
          const found = await database.authorizations.update(id, (record) => ({ ...record, revoked: true }));
          if (!found) throw new Error("no such authorization");
        },
      }),
      "revoke makes an authorization where there is none": ({ storage, database }) => ({
        async revoke(id, now) {
          const found = await database.authorizations.get(id);
          if (found) return storage.authorizations.revoke(id, now);
          const stub = { authorizationId: id, revoked: true, expiresAt: now + 600 } as Authorization;
          await database.authorizations.set(id, stub);
        },
      }),
    },
    "authorizations.revoke is visible | revokeAll revokes all authorizations of one": {
      "find hides revoked authorizations": ({ storage }) => ({
        async find(id, now) {
          const found = await storage.authorizations.find(id, now);
          return found?.revoked === true ? undefined : found;
        },
      }),
    },
    "authorizations.find returns nothing": {
      "find rejects for an unknown id": ({ storage }) => ({
        async find(id, now) {
          const found = await storage.authorizations.find(id, now);
          if (!found) throw new Error("no such authorization");
          return found;
        },
      }),
      "find takes an empty id for any": ({ storage, database }) => ({
        find: async (id, now) =>
          id === "" ? (await database.authorizations.all())[0] : storage.authorizations.find(id, now),
      }),
    },
    "authorizations.find returns what was stored": {
      "create rejects NUL, as a column for JSON does": ({ storage }) => ({
        async create(record, now) {
          if (JSON.stringify(record).includes(nul)) throw new Error("unsupported Unicode escape sequence");
          await storage.authorizations.create(record, now);
        },
      }),
      "create rejects where it reads NUL in what is there": ({ storage, database }) => ({
        async create(record, now) {
          const earlier = await notRevoked(database, keyOf(record));
          if (JSON.stringify(earlier).includes(nul)) throw new Error("unsupported Unicode escape sequence");
          await storage.authorizations.create(record, now);
        },
      }),
    },
    "revokeAll also reaches": {
      "revoke leaves what has expired by the caller's clock": ({ storage }) => ({
        async revoke(id, now) {
          if (await storage.authorizations.find(id, now)) await storage.authorizations.revoke(id, now);
        },
      }),
    },
  }),
  cachingFind("authorizations", { caughtBy: ["authorizations.revoke is visible"] }),
];

/** Revokes them one by one, and gives the number of those that were not revoked before. */
async function revokeEach(
  { authorizations }: Storage,
  records: readonly Authorization[],
  now: EpochSeconds,
): Promise<number> {
  for (const { authorizationId } of records) await authorizations.revoke(authorizationId, now);
  return records.filter(({ revoked }) => !revoked).length;
}

/** `revokeAll` that revokes what another look finds. */
function revokingAll(
  mistake: string,
  {
    caughtBy,
    look,
  }: {
    caughtBy: readonly string[];
    look: (database: Database, selection: AuthorizationSelection) => Promise<readonly Authorization[]>;
  },
): WrongAdapter {
  return wrong("authorizations", {
    mistake: `revokeAll ${mistake}`,
    caughtBy,
    change: ({ storage, database }) => ({
      revokeAll: async (selection, now) => revokeEach(storage, await look(database, selection), now),
    }),
  });
}

const parts = ["subject", "clientId", "apiId", "contextKey"] as const;

/** Adapters that end too many authorizations, or too few. */
const revokeAllMistakes: readonly WrongAdapter[] = [
  ...planted("authorizations", {
    "stored before it began": {
      "revokeAll waits for one that is under way, in place of looking itself"({ storage, database }) {
        const underWay = new Map<string, Promise<number>>();
        async function look(selection: AuthorizationSelection, now: EpochSeconds): Promise<number> {
          const found = await notRevoked(database, selection);
          for (let step = 0; step < 4; step += 1) await new Promise((resolve) => setImmediate(resolve));
          return revokeEach(storage, found, now);
        }
        return {
          revokeAll(selection, now) {
            const key = JSON.stringify(selection);
            const begun = underWay.get(key) ?? look(selection, now);
            underWay.set(key, begun);
            return begun.finally(() => underWay.delete(key));
          },
        };
      },
    },
    "revokeAll revokes all authorizations of one": {
      "revokeAll stops after the first": ({ storage, database }) => ({
        async revokeAll(selection, now) {
          const own = await notRevoked(database, selection);
          await revokeEach(storage, own.slice(0, 1), now);
          return own.length;
        },
      }),
      "revokeAll counts those that were revoked before": ({ storage, database }) => ({
        async revokeAll(selection, now) {
          await storage.authorizations.revokeAll(selection, now);
          return database.authorizations.count((other) => isSelected(selection)(keyOf(other)));
        },
      }),
      "revokeAll knows only what this process has created"({ storage }) {
        const own: Authorization[] = [];
        return {
          create(record, now) {
            own.push(record);
            return storage.authorizations.create(record, now);
          },
          async revokeAll(selection, now) {
            const alike = own.filter((other) => isSelected(selection)(keyOf(other)));
            return revokeEach(storage, alike, now);
          },
        };
      },
    },
    "revokeAll also reaches": {
      "revokeAll leaves what has expired by the caller's clock": ({ storage, database }) => ({
        async revokeAll(selection, now) {
          const own = (await notRevoked(database, selection)).filter(isLive(now));
          return revokeEach(storage, own, now);
        },
      }),
      "revokeAll leaves what has expired by its own clock": ({ storage, database }) => ({
        async revokeAll(selection, now) {
          const own = (await notRevoked(database, selection)).filter(isLive(ownNow()));
          return revokeEach(storage, own, now);
        },
      }),
      "revoke leaves what has expired by its own clock": ({ storage, database }) => ({
        async revoke(id, now) {
          const found = await database.authorizations.get(id);
          if (found && isLive(ownNow())(found)) await storage.authorizations.revoke(id, now);
        },
      }),
    },
  }),
  ...parts.map((part) =>
    revokingAll(`ignores ${part}`, {
      caughtBy: [
        part === "contextKey" ? "revokeAll with a contextKey" : "revokeAll revokes all authorizations of one",
      ],
      look: async ({ authorizations }, selection) =>
        (await authorizations.all()).filter((other) =>
          isSelected(selection)({ ...keyOf(other), [part]: selection[part] }),
        ),
    }),
  ),
  revokingAll("joins its key", {
    caughtBy: ["revokeAll revokes all authorizations of one"],
    async look({ authorizations }, { subject, clientId = "", apiId = "", contextKey = "" }) {
      const joined = joinedBy(":");
      const key = joined({ subject, clientId, apiId, contextKey });
      return (await authorizations.all()).filter((other) => joined(keyOf(other)) === key);
    },
  }),
  revokingAll("revokes those of one authentication method", {
    caughtBy: ["revokeAll revokes all authorizations of one"],
    async look(database, selection) {
      const own = await notRevoked(database, selection);
      return own.filter(({ authMethodId }) => authMethodId === own[0]?.authMethodId);
    },
  }),
  revokingAll("leaves those of contexts when no context is asked for", {
    caughtBy: ["revokeAll revokes all authorizations of one", "revokeAll with a subject alone"],
    look: (database, selection) => notRevoked(database, { contextKey: "", ...selection }),
  }),
  revokingAll("takes an empty contextKey for any", {
    caughtBy: ["revokeAll with a contextKey"],
    look: (database, { contextKey, ...selection }) =>
      notRevoked(database, contextKey ? { ...selection, contextKey } : selection),
  }),
  revokingAll("compares contexts by their beginning", {
    caughtBy: ["revokeAll with a contextKey"],
    look: async (database, { contextKey = "", ...selection }) =>
      (await notRevoked(database, selection)).filter((other) =>
        contextKey === ""
          ? keyOf(other).contextKey === ""
          : keyOf(other).contextKey?.startsWith(contextKey) === true,
      ),
  }),
  revokingAll("finds nothing by a subject alone", {
    caughtBy: ["revokeAll with a subject alone"],
    look: (database, { clientId = "", apiId = "", ...selection }) =>
      notRevoked(database, { ...selection, clientId, apiId }),
  }),
  revokingAll("with a subject alone, ends those of one client", {
    caughtBy: ["revokeAll with a subject alone"],
    async look(database, selection) {
      const own = await notRevoked(database, selection);
      return own.filter(({ clientId }) => clientId === own[0]?.clientId);
    },
  }),
];

type Authorizations = Storage["authorizations"];
type Target = Parameters<Authorizations["erase"]>[0];

/** A list by another choice, order or place to continue at. */
function listing(
  mistake: string,
  {
    caughtBy,
    isListed = () => true,
    order = inListOrder,
    isBehind = (last, other) => inListOrder(last, other) < 0,
    isPlace = () => true,
    withoutPlace = [],
  }: {
    caughtBy: readonly string[];
    isListed?: (record: Authorization, now: number) => boolean;
    order?: (a: Authorization, b: Authorization) => number;
    isBehind?: (last: Authorization, other: Authorization) => boolean;
    isPlace?: (record: Authorization) => boolean;
    withoutPlace?: "first page" | readonly [];
  },
): WrongAdapter {
  return wrong("authorizations", {
    mistake: `list ${mistake}`,
    caughtBy,
    change: ({ database }) => ({
      async list(subject, { after, limit }, now) {
        const own = (await database.authorizations.all()).filter((one) => one.subject === subject);
        const last = own.find((one) => one.authorizationId === after && isPlace(one));
        if (after !== undefined && !last && withoutPlace !== "first page") return [];
        return own
          .filter((one) => isListed(one, now) && (!last || isBehind(last, one)))
          .toSorted(order)
          .slice(0, limit);
      },
    }),
  });
}

const lives = (record: Authorization, now: number): boolean => isLive(now)(record) && !record.revoked;

/** Adapters that list too much, too little, or in another order. */
const listMistakes: readonly WrongAdapter[] = [
  ...planted("authorizations", {
    "list has pages": {
      "list ignores the limit": ({ storage }) => ({
        list: (subject, page, now) => storage.authorizations.list(subject, { ...page, limit: 1_000 }, now),
      }),
      "list has pages of three at most": ({ storage }) => ({
        list: (subject, { limit, ...page }, now) =>
          storage.authorizations.list(subject, { ...page, limit: Math.min(limit, 3) }, now),
      }),
    },
    "list returns the living": {
      "list gives everybody's": ({ database }) => ({
        list: async (_, { limit }, now) =>
          (await database.authorizations.all())
            .filter((one) => lives(one, now))
            .toSorted(inListOrder)
            .slice(0, limit),
      }),
    },
    "list no longer has": {
      "list remembers an end user's first page"({ storage }) {
        const known = new Map<string, ReturnType<Authorizations["list"]>>();
        return {
          list(subject, page, now) {
            const key = JSON.stringify([subject, page]);
            const listed = known.get(key) ?? storage.authorizations.list(subject, page, now);
            known.set(key, listed);
            return listed;
          },
        };
      },
    },
  }),
  listing("gives expired ones", {
    caughtBy: ["list returns the living"],
    isListed: ({ revoked }) => !revoked,
  }),
  listing("leaves out those that have expired by its own clock", {
    caughtBy: ["list returns the living"],
    isListed: (record, now) => lives(record, Math.max(now, ownNow())),
  }),
  listing("gives revoked ones", {
    caughtBy: ["list returns the living", "list continues behind", "list no longer has"],
    isListed: (record, now) => isLive(now)(record),
  }),
  listing("begins with the one that expires first", {
    caughtBy: ["list returns the living", "list has pages"],
    isListed: lives,
    order: (a, b) => inListOrder(b, a),
    isBehind: (last, other) => inListOrder(last, other) > 0,
  }),
  listing("continues behind all that expire at the same time", {
    caughtBy: ["list has pages"],
    isListed: lives,
    isBehind: (last, other) => other.expiresAt < last.expiresAt,
  }),
  listing("continues with all that expire at the same time", {
    caughtBy: ["list has pages"],
    isListed: lives,
    isBehind: (last, other) => other.expiresAt <= last.expiresAt && other !== last,
  }),
  listing("has no place for one that was revoked", {
    caughtBy: ["list continues behind"],
    isListed: lives,
    isPlace: ({ revoked }) => !revoked,
  }),
  listing("begins again behind an unknown one", {
    caughtBy: ["list continues behind"],
    isListed: lives,
    withoutPlace: "first page",
  }),
];

/** `erase` of other records. */
function erasing(
  mistake: string,
  {
    caughtBy,
    isErased,
  }: {
    caughtBy: readonly string[];
    isErased: (record: Authorization, target: Target, now: number) => boolean;
  },
): WrongAdapter {
  return wrong("authorizations", {
    mistake: `erase ${mistake}`,
    caughtBy,
    change: ({ database }) => ({
      erase: (target, now) => database.authorizations.deleteWhere((one) => isErased(one, target, now)),
    }),
  });
}

const isTarget = (one: Authorization, { subject, authorizationId }: Target): boolean =>
  one.subject === subject && (authorizationId === undefined || one.authorizationId === authorizationId);

/** Adapters that erase too much, or too little. */
const eraseMistakes: readonly WrongAdapter[] = [
  ...planted("authorizations", {
    "erase with a subject alone | erase with an authorizationId | erase also reaches": {
      "erase only revokes": ({ storage }) => ({
        erase: ({ subject }, now) => storage.authorizations.revokeAll({ subject }, now),
      }),
    },
    "erase with a subject alone | erase with an authorizationId": {
      "erase answers nothing": ({ storage }) => ({
        async erase(target, now) {
          await storage.authorizations.erase(target, now);
          return undefined as unknown as number;
        },
      }),
    },
    "can be called by many at once": {
      "erase rejects when somebody else was first": ({ storage, database }) => ({
        async erase(target, now) {
          const before = await database.authorizations.count((one) => isTarget(one, target));
          const count = await storage.authorizations.erase(target, now);
          if (count < before) throw new Error("the number of deleted rows differs");
          return count;
        },
      }),
    },
  }),
  erasing("leaves revoked ones", {
    caughtBy: ["erase with an authorizationId"],
    isErased: (one, target) => isTarget(one, target) && !one.revoked,
  }),
  erasing("leaves expired ones", {
    caughtBy: ["erase also reaches"],
    isErased: (one, target, now) => isTarget(one, target) && isLive(now)(one),
  }),
  erasing("leaves those that have expired by its own clock", {
    caughtBy: ["erase also reaches"],
    isErased: (one, target) => isTarget(one, target) && isLive(ownNow())(one),
  }),
  erasing("ignores authorizationId", {
    caughtBy: ["erase with an authorizationId"],
    isErased: (one, { subject }) => one.subject === subject,
  }),
  erasing("with an authorizationId ignores the subject", {
    caughtBy: ["erase with an authorizationId"],
    isErased: (one, { subject, authorizationId = "" }) =>
      authorizationId === "" ? one.subject === subject : one.authorizationId === authorizationId,
  }),
];

/** The right answer, but `lastUsedAt` stays what it was. */
async function keepingLastUse<T>(
  { authorizations }: Database,
  { authorizationId, run }: { authorizationId: string; run: () => Promise<T> },
): Promise<T> {
  const before = (await authorizations.get(authorizationId))?.lastUsedAt;
  const answer = await run();
  await authorizations.update(authorizationId, (used) => {
    const { lastUsedAt: _, ...record } = used;
    return { ...record, ...(before !== undefined && { lastUsedAt: before }) };
  });
  return answer;
}

async function noteUse(
  { authorizations }: Database,
  { authorizationId, now }: { authorizationId: string; now: EpochSeconds },
): Promise<void> {
  await authorizations.update(authorizationId, (record) => ({ ...record, lastUsedAt: now }));
}

/** `consume` with another step before the right one. */
function consumingAfter(
  mistake: string,
  {
    caughtBy,
    before,
  }: {
    caughtBy: readonly string[];
    before: (
      process: Process,
      used: { authorizationId: string; digest: string; now: EpochSeconds },
    ) => Promise<void>;
  },
): WrongAdapter {
  return wrong("authorizationCodes", {
    mistake: `consume ${mistake}`,
    caughtBy,
    change: (process) => ({
      async consume({ authorizationId, digest }, now) {
        await before(process, { authorizationId, digest, now });
        return process.storage.authorizationCodes.consume({ authorizationId, digest }, now);
      },
    }),
  });
}

/** Adapters that forget when an authorization was used, or spoil it by the way. */
const lastUseMistakes: readonly WrongAdapter[] = [
  ...planted("authorizationCodes", {
    "set the authorization's lastUsedAt | the winner sets lastUsedAt": {
      "consume does not set lastUsedAt": ({ storage, database }) => ({
        consume: (handle, now) =>
          keepingLastUse(database, {
            authorizationId: handle.authorizationId,
            run: () => storage.authorizationCodes.consume(handle, now),
          }),
      }),
    },
    "the winner sets lastUsedAt": {
      "consume sets lastUsedAt for every call that has seen the code unused": ({ storage, database }) => ({
        async consume(handle, now) {
          const { consumed } = (await database.authorizationCodes.get(handle.digest)) ?? { consumed: true };
          const outcome = await storage.authorizationCodes.consume(handle, now);
          if (!consumed) await noteUse(database, { ...handle, now });
          return outcome;
        },
      }),
    },
  }),
  ...planted("refreshTokens", {
    "set the authorization's lastUsedAt | the winner sets lastUsedAt": {
      "rotate does not set lastUsedAt": ({ storage, database }) => ({
        rotate: (step, now) =>
          keepingLastUse(database, {
            authorizationId: step.from.authorizationId,
            run: () => storage.refreshTokens.rotate(step, now),
          }),
      }),
    },
  }),
  ...planted("authorizations", {
    "set the authorization's lastUsedAt | the winner sets lastUsedAt": {
      "find gives lastUsedAt": ({ storage, database }) => ({
        async find(id, now) {
          const found = await storage.authorizations.find(id, now);
          return found && database.authorizations.get(id);
        },
      }),
      "list drops lastUsedAt": ({ storage }) => ({
        list: async (subject, page, now) =>
          (await storage.authorizations.list(subject, page, now)).map((listed) => {
            const { lastUsedAt: _, ...record } = listed;
            return record;
          }),
      }),
    },
  }),
  consumingAfter("sets lastUsedAt for every call", {
    caughtBy: ["set the authorization's lastUsedAt"],
    before: ({ database }, used) => noteUse(database, used),
  }),
  consumingAfter("reads the authorization and writes it back", {
    caughtBy: ["undo a simultaneous revocation"],
    async before({ database }, { authorizationId }) {
      const record = await database.authorizations.get(authorizationId);
      if (record) await database.authorizations.set(authorizationId, record);
    },
  }),
  consumingAfter("stores lastUsedAt where there is no authorization", {
    caughtBy: ["stored without its authorization"],
    async before({ database, storage }, { authorizationId, now }) {
      if (await database.authorizations.get(authorizationId)) return;
      const stub = { authorizationId, lastUsedAt: now, expiresAt: now + 600, revoked: false };
      await storage.authorizations.create(stub as never, now);
    },
  }),
];

/** All of them. */
export const authorizationMistakes: readonly WrongAdapter[] = [
  ...singleAuthorizationMistakes,
  ...revokeAllMistakes,
  ...listMistakes,
  ...eraseMistakes,
  ...lastUseMistakes,
];
