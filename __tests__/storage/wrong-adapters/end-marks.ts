/** Mistakes with end marks. */
import { rule } from "./rules";
import { isLive } from "./table-storage";
import { ownNow, wrong, type WrongAdapter } from "./wrong-adapter";

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
    mistake: "save keeps the stored mark unless the new one ends later",
    caughtBy: [rule.endMarkReplaced],
    change: ({ database, storage }) => ({
      async save(endMark, now) {
        const stored = await database.endMarks.get(endMark.key);
        if (!stored || endMark.expiresAt > stored.expiresAt) await storage.endMarks.save(endMark, now);
      },
    }),
  }),
  wrong("endMarks", {
    mistake: "find repeats what it has answered",
    caughtBy: [rule.endMarkFind],
    change({ storage }) {
      const answered = new Map<string, string | undefined>();
      return {
        async find(keys, now) {
          const found = await storage.endMarks.find(keys, now);
          for (const [place, key] of keys.entries()) if (!answered.has(key)) answered.set(key, found[place]);
          return keys.map((key) => answered.get(key));
        },
      };
    },
  }),
  wrong("endMarks", {
    mistake: "find gives the marks in the order of the table",
    caughtBy: [rule.endMarkSeveral],
    change: ({ database }) => ({
      async find(keys, now) {
        const found = (await database.endMarks.all()).filter(({ key }) => keys.includes(key));
        const marks = found.map((one) => (isLive(now)(one) ? one.mark : undefined));
        return keys.length === 1 ? [marks[0]] : marks;
      },
    }),
  }),
  wrong("endMarks", {
    mistake: "find leaves out what it has not found",
    caughtBy: [rule.endMarkSeveral],
    change: ({ storage }) => ({
      async find(keys, now) {
        const found = await storage.endMarks.find(keys, now);
        return keys.length === 1 ? found : found.filter((mark) => mark !== undefined);
      },
    }),
  }),
  wrong("endMarks", {
    mistake: "find rejects when it is asked for nothing",
    caughtBy: [rule.endMarkSeveral],
    change: ({ storage }) => ({
      async find(keys, now) {
        if (keys.length === 0) throw new Error("syntax error at or near IN ()");
        return storage.endMarks.find(keys, now);
      },
    }),
  }),
  wrong("endMarks", {
    mistake: "find ignores case",
    caughtBy: [rule.endMarkNone],
    change: ({ database }) => ({
      async find(keys, now) {
        const living = (await database.endMarks.all()).filter(isLive(now));
        return keys.map((key) => living.find((one) => one.key.toLowerCase() === key.toLowerCase())?.mark);
      },
    }),
  }),
  wrong("endMarks", {
    mistake: "a mark never ends",
    caughtBy: [rule.endMarkEnd],
    change: ({ storage }) => ({ find: (keys) => storage.endMarks.find(keys, 0) }),
  }),
  wrong("endMarks", {
    mistake: "a mark is forgotten when it is over by the clock of the store",
    caughtBy: [rule.endMarkEnd],
    change: ({ storage }) => ({
      find: (keys, now) => storage.endMarks.find(keys, Math.max(now, ownNow())),
    }),
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
        async find(keys, now) {
          const found = await storage.endMarks.find(keys, now);
          return keys.map((key, place) => (own.has(key) ? found[place] : undefined));
        },
      };
    },
  }),
];
