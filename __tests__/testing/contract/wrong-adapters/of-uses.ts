/** Mistakes with `authorizations.noteUse`. */
import type { EpochSeconds } from "../../../../lib";
import { type Database, isLive } from "./table-storage";
import { ownNow, planted, type WrongAdapter } from "./wrong-adapter";

/** Notes it whatever was noted before. */
async function noteUse(
  { authorizations }: Database,
  { authorizationId, now }: { authorizationId: string; now: EpochSeconds },
): Promise<void> {
  await authorizations.update(authorizationId, (record) => ({ ...record, lastUsedAt: now }));
}

/** Adapters that note a use wrongly, or spoil the authorization by the way. */
export const noteUseMistakes: readonly WrongAdapter[] = planted("authorizations", {
  "noteUse moves lastUsedAt | noteUse, the latest": {
    "noteUse does nothing": () => ({ noteUse: async () => undefined }),
    "noteUse keeps the time by its own clock": ({ database }) => ({
      noteUse: (authorizationId) => noteUse(database, { authorizationId, now: ownNow() }),
    }),
    "noteUse keeps the time of whoever comes last": ({ database }) => ({
      noteUse: (authorizationId, now) => noteUse(database, { authorizationId, now }),
    }),
    "noteUse keeps the first time": ({ database }) => ({
      noteUse: async (id, now) =>
        void (await database.authorizations.update(id, ({ lastUsedAt = now, ...record }) => ({
          ...record,
          lastUsedAt,
        }))),
    }),
  },
  "noteUse moves lastUsedAt": {
    "noteUse notes all of the end user's": ({ storage, database }) => ({
      async noteUse(id, now) {
        const { subject } = (await database.authorizations.get(id)) ?? {};
        const own = await database.authorizations.where((one) => one.subject === subject);
        for (const { authorizationId } of own) await storage.authorizations.noteUse(authorizationId, now);
      },
    }),
  },
  "noteUse, the latest": {
    "noteUse compares before it writes": ({ database }) => ({
      async noteUse(authorizationId, now) {
        const found = await database.authorizations.get(authorizationId);
        if (found && !found.revoked && (found.lastUsedAt ?? 0) < now)
          await noteUse(database, { authorizationId, now });
      },
    }),
  },
  "noteUse does nothing when there is none": {
    "noteUse rejects where there is none": ({ storage, database }) => ({
      async noteUse(id, now) {
        if (!(await database.authorizations.get(id))) throw new Error("no such authorization");
        await storage.authorizations.noteUse(id, now);
      },
    }),
    "noteUse rejects what was revoked": ({ storage, database }) => ({
      async noteUse(id, now) {
        if ((await database.authorizations.get(id))?.revoked === true) throw new Error("it was revoked");
        await storage.authorizations.noteUse(id, now);
      },
    }),
    "noteUse rejects what has expired": ({ storage, database }) => ({
      async noteUse(id, now) {
        const found = await database.authorizations.get(id);
        if (found && !isLive(now)(found)) throw new Error("it has expired");
        await storage.authorizations.noteUse(id, now);
      },
    }),
    "noteUse makes an authorization where there is none": ({ storage, database }) => ({
      async noteUse(id, now) {
        if (await database.authorizations.get(id)) return storage.authorizations.noteUse(id, now);
        const stub = { authorizationId: id, lastUsedAt: now, expiresAt: now + 600, revoked: false };
        await database.authorizations.set(id, stub as never);
      },
    }),
    "noteUse takes what is used for not revoked": ({ storage, database }) => ({
      async noteUse(id, now) {
        await storage.authorizations.noteUse(id, now);
        await database.authorizations.update(id, (record) => ({ ...record, revoked: false }));
      },
    }),
    "noteUse lets what is used live longer": ({ storage, database }) => ({
      async noteUse(id, now) {
        await storage.authorizations.noteUse(id, now);
        await database.authorizations.update(id, (record) => ({
          ...record,
          expiresAt: Math.max(record.expiresAt, now + 10),
        }));
      },
    }),
  },
  "undo a simultaneous revocation": {
    "noteUse reads the authorization and writes it back": ({ database }) => ({
      async noteUse(id, now) {
        const record = await database.authorizations.get(id);
        if (record && !record.revoked && (record.lastUsedAt ?? 0) < now)
          await database.authorizations.set(id, { ...record, lastUsedAt: now });
      },
    }),
  },
  "every call rejects": {
    "noteUse swallows its failure": ({ storage }) => ({
      noteUse: (id, now) => storage.authorizations.noteUse(id, now).catch(() => undefined),
    }),
  },
});
