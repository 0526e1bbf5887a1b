/** Mistakes with end marks. */
import { rule } from "./rules";
import { isLive } from "./table-storage";
import { wrong, type WrongAdapter } from "./wrong-adapter";

/** Adapters that give the wrong end mark, or none. */
export const endMarkMistakes: readonly WrongAdapter[] = [
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
