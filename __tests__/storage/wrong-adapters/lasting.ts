/** Mistakes with what must last, and with people who have much. */
import type { EpochSeconds } from "../../../lib";
import { rule } from "./rules";
import { isLive, isSelected, keyOf, notRevoked } from "./table-storage";
import { wrong, type WrongAdapter } from "./wrong-adapter";

const month = 30 * 86_400;

/** No later than a month from now, as by a sweep that goes by age. */
const sooner = <T extends { readonly expiresAt: EpochSeconds }>(record: T, now: EpochSeconds): T => ({
  ...record,
  expiresAt: Math.min(record.expiresAt, now + month),
});

/** When the marks of a database were set, which all its processes share. */
const setAtIn = new WeakMap<object, Map<string, EpochSeconds>>();

/** Which marks of this table were set more than a month ago. */
function marksOf(table: object) {
  const setAt = setAtIn.get(table) ?? new Map<string, EpochSeconds>();
  setAtIn.set(table, setAt);
  return {
    note: (digest: string, now: EpochSeconds): void => void setAt.set(digest, now),
    isOld: (digest: string, now: EpochSeconds): boolean => now > (setAt.get(digest) ?? now) + month,
  };
}

/** Adapters that forget what was spent, revoked or ended after a month. */
export const forgettingMistakes: readonly WrongAdapter[] = [
  wrong("authorizationCodes", {
    mistake: "the mark of a consumed code is forgotten after a month",
    caughtBy: [rule.lastingUse],
    change({ storage, database }) {
      const { note, isOld } = marksOf(database.authorizationCodes);
      return {
        async consume(handle, now) {
          note(handle.digest, now);
          return storage.authorizationCodes.consume(handle, now);
        },
        async find(handle, now) {
          if (isOld(handle.digest, now))
            await database.authorizationCodes.update(handle.digest, (code) => ({ ...code, consumed: false }));
          return storage.authorizationCodes.find(handle, now);
        },
      };
    },
  }),
  wrong("refreshTokens", {
    mistake: "the mark of a used token is forgotten after a month",
    caughtBy: [rule.lastingUse],
    change({ storage, database }) {
      const { note, isOld } = marksOf(database.refreshTokens);
      return {
        async rotate(step, now) {
          const { digest } = step.from;
          if (isOld(digest, now))
            await database.refreshTokens.update(digest, (token) => ({ ...token, used: false }));
          note(digest, now);
          return storage.refreshTokens.rotate(step, now);
        },
      };
    },
  }),
  wrong("accessTokens", {
    mistake: "a revocation is forgotten after a month",
    caughtBy: [rule.lastingRevocation],
    change: ({ storage }) => ({
      revoke: (token, now) => storage.accessTokens.revoke(sooner(token, now), now),
    }),
  }),
  wrong("authorizations", {
    mistake: "a revoked one is dropped after a month",
    caughtBy: [rule.lastingRevocation],
    change: ({ storage, database }) => ({
      async revoke(id, now) {
        await storage.authorizations.revoke(id, now);
        await database.authorizations.update(id, (record) => sooner(record, now));
      },
    }),
  }),
  wrong("endMarks", {
    mistake: "a mark is forgotten after a month",
    caughtBy: [rule.lastingMark],
    change: ({ storage }) => ({
      save: (endMark, now) => storage.endMarks.save(sooner(endMark, now), now),
    }),
  }),
  wrong("clientAssertions", {
    mistake: "use forgets after a month",
    caughtBy: [rule.lastingMark],
    change: ({ storage, database }) => ({
      async use(assertion, now) {
        await database.usedAssertions.deleteWhere((one) => !isLive(now)(one));
        return storage.clientAssertions.use(sooner(assertion, now), now);
      },
    }),
  }),
];

/** Adapters that stop before the last record of a person. */
export const partialMistakes: readonly WrongAdapter[] = [
  wrong("authorizations", {
    mistake: "revokeAll stops after 1,500",
    caughtBy: [rule.reachesAll],
    change: ({ storage, database }) => ({
      async revokeAll(selection, now) {
        const own = (await notRevoked(database, selection)).slice(0, 1_500);
        for (const { authorizationId } of own) await storage.authorizations.revoke(authorizationId, now);
        return own.length;
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "erase stops after 1,500",
    caughtBy: [rule.reachesAll],
    change: ({ storage, database }) => ({
      async erase(target, now) {
        if (target.authorizationId !== undefined) return storage.authorizations.erase(target, now);
        const own = await database.authorizations.where((one) => isSelected(target)(keyOf(one)));
        const some = new Set(own.slice(0, 1_500).map(({ authorizationId }) => authorizationId));
        return database.authorizations.deleteWhere(({ authorizationId }) => some.has(authorizationId));
      },
    }),
  }),
  wrong("consents", {
    mistake: "list gives 25 at most",
    caughtBy: [rule.consentList],
    change: ({ storage }) => ({
      list: async (subject, now) => (await storage.consents.list(subject, now)).slice(0, 25),
    }),
  }),
  wrong("endMarks", {
    mistake: "find answers for the first 30 keys",
    caughtBy: [rule.endMarkMany],
    change: ({ storage }) => ({
      async find(keys, now) {
        const found = await storage.endMarks.find(keys.slice(0, 30), now);
        return keys.map((_, place) => found[place]);
      },
    }),
  }),
];
