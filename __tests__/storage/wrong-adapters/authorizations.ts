/** Mistakes with authorizations and their revocation. */
import type { Authorization } from "../../../lib";
import { rule } from "./rules";
import { keyOf, notRevoked } from "./table-storage";
import { cachingFind, wrong, type WrongAdapter } from "./wrong-adapter";

/** NUL as JSON says it. */
const nul = String.raw`\u0000`;

/** Adapters that find or revoke the wrong authorization, or none. */
export const authorizationMistakes: readonly WrongAdapter[] = [
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
  wrong("authorizations", {
    mistake: "create rejects NUL, as a column for JSON does",
    caughtBy: [rule.authorizationText],
    change: ({ storage }) => ({
      async create(record, now) {
        if (JSON.stringify(record).includes(nul)) throw new Error("unsupported Unicode escape sequence");
        await storage.authorizations.create(record, now);
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "create rejects where it reads NUL in what is there",
    caughtBy: [rule.authorizationText],
    change: ({ storage, database }) => ({
      async create(record, now) {
        const earlier = await notRevoked(database, keyOf(record));
        if (JSON.stringify(earlier).includes(nul)) throw new Error("unsupported Unicode escape sequence");
        await storage.authorizations.create(record, now);
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "revoke leaves what has expired by the caller's clock",
    caughtBy: [rule.revokeAhead],
    change: ({ storage }) => ({
      async revoke(id, now) {
        if (await storage.authorizations.find(id, now)) await storage.authorizations.revoke(id, now);
      },
    }),
  }),
];
