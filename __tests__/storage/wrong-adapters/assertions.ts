/** Mistakes with used client assertions. */
import { rule } from "./rules";
import { isLive } from "./table-storage";
import { newLock, ownNow, wrong, type WrongAdapter } from "./wrong-adapter";

const races = [rule.assertionOf2, rule.assertionOf8, rule.assertionOf64, rule.assertionEach];

/** Adapters that let an assertion be used twice, or refuse one that was not used. */
export const assertionMistakes: readonly WrongAdapter[] = [
  wrong("clientAssertions", {
    mistake: "use looks first and writes then",
    caughtBy: races,
    change: ({ database }) => ({
      async use(assertion, now) {
        const found = await database.usedAssertions.get(assertion.digest);
        if (found && isLive(now)(found)) return "used-before";
        await database.usedAssertions.set(assertion.digest, assertion);
        return "used";
      },
    }),
  }),
  wrong("clientAssertions", {
    mistake: "use looks first and writes then, under a lock of its process",
    caughtBy: races,
    change({ database }) {
      const lock = newLock();
      return {
        use: (assertion) =>
          lock(async () => {
            if (await database.usedAssertions.get(assertion.digest)) return "used-before";
            await database.usedAssertions.set(assertion.digest, assertion);
            return "used";
          }),
      };
    },
  }),
  wrong("clientAssertions", {
    mistake: "use knows only what this process has used",
    caughtBy: [rule.assertionOnce],
    change() {
      const own = new Set<string>();
      return {
        async use({ digest }) {
          if (own.has(digest)) return "used-before";
          own.add(digest);
          return "used";
        },
      };
    },
  }),
  wrong("clientAssertions", {
    mistake: "use remembers nothing",
    caughtBy: [rule.assertionOnce],
    change: () => ({ use: async () => "used" }),
  }),
  wrong("clientAssertions", {
    mistake: "use forgets after a minute",
    caughtBy: [rule.assertionOnce],
    change: ({ storage, database }) => ({
      async use(assertion, now) {
        await database.usedAssertions.deleteWhere(({ expiresAt }) => expiresAt - 240 <= now);
        return storage.clientAssertions.use(assertion, now);
      },
    }),
  }),
  wrong("clientAssertions", {
    mistake: "use takes the same digest with another end for another assertion",
    caughtBy: [rule.assertionOnce],
    change: ({ database }) => ({
      use: async (assertion) =>
        (await database.usedAssertions.add(`${assertion.digest} ${assertion.expiresAt}`, assertion))
          ? "used"
          : "used-before",
    }),
  }),
  wrong("clientAssertions", {
    mistake: "use ignores case",
    caughtBy: [rule.assertionNone],
    change: ({ storage }) => ({
      use: (assertion, now) =>
        storage.clientAssertions.use({ ...assertion, digest: assertion.digest.toLowerCase() }, now),
    }),
  }),
  wrong("clientAssertions", {
    mistake: "use cuts the digest",
    caughtBy: [rule.assertionNone],
    change: ({ storage }) => ({
      use: (assertion, now) =>
        storage.clientAssertions.use({ ...assertion, digest: assertion.digest.slice(0, 42) }, now),
    }),
  }),
  wrong("clientAssertions", {
    mistake: "use deletes by the clock of the database",
    caughtBy: [rule.assertionEnd],
    change: ({ storage, database }) => ({
      async use(assertion, now) {
        await database.usedAssertions.deleteWhere((one) => !isLive(ownNow())(one));
        return storage.clientAssertions.use(assertion, now);
      },
    }),
  }),
  wrong("clientAssertions", {
    mistake: "use rejects where an expired one is left",
    caughtBy: [rule.assertionEnd],
    change: ({ storage, database }) => ({
      async use(assertion, now) {
        const left = await database.usedAssertions.get(assertion.digest);
        if (left && !isLive(now)(left)) throw new Error("duplicate key");
        return storage.clientAssertions.use(assertion, now);
      },
    }),
  }),
  wrong("clientAssertions", {
    mistake: "use answers true and false",
    caughtBy: [rule.assertionOnce],
    change: ({ storage }) => ({
      use: async (assertion, now) =>
        ((await storage.clientAssertions.use(assertion, now)) === "used") as unknown as "used",
    }),
  }),
];
