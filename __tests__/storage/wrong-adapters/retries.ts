/** Mistakes with what a rotation keeps for those who come late. */
import { rule } from "./rules";
import { wrong, type WrongAdapter } from "./wrong-adapter";

/** Adapters that tell a loser nothing, or something else than the winner stored. */
export const retryMistakes: readonly WrongAdapter[] = [
  wrong("refreshTokens", {
    mistake: "rotate does not keep the use",
    caughtBy: [rule.retryUse, rule.retryRace, rule.retryMixed],
    change: ({ storage }) => ({
      rotate: ({ from, to }, now) => storage.refreshTokens.rotate({ from, to }, now),
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate gives every loser not-rotated",
    caughtBy: [rule.retryUse, rule.retryRace, rule.retryMixed],
    change: ({ storage }) => ({
      async rotate(step, now) {
        const outcome = await storage.refreshTokens.rotate(step, now);
        return outcome === "rotated" ? outcome : "not-rotated";
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate gives losers their own use",
    caughtBy: [rule.retryUse, rule.retryNone, rule.retryRace, rule.retryMixed],
    change: ({ storage }) => ({
      async rotate(step, now) {
        const outcome = await storage.refreshTokens.rotate(step, now);
        return outcome === "rotated" ? outcome : (step.use ?? outcome);
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate gives the use only to calls that have one themselves",
    caughtBy: [rule.retryUse, rule.retryMixed],
    change: ({ storage }) => ({
      async rotate(step, now) {
        const outcome = await storage.refreshTokens.rotate(step, now);
        return outcome === "rotated" || step.use ? outcome : "not-rotated";
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate gives the use of a token that has expired",
    caughtBy: [rule.retryNone],
    change: ({ storage, database }) => ({
      async rotate(step, now) {
        const outcome = await storage.refreshTokens.rotate(step, now);
        if (outcome === "rotated") return outcome;
        return (await database.refreshTokens.get(step.from.digest))?.use ?? outcome;
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate lets a loser add its use where the winner had none",
    caughtBy: [rule.retryNone],
    change: ({ storage, database }) => ({
      async rotate(step, now) {
        const outcome = await storage.refreshTokens.rotate(step, now);
        const { use } = step;
        if (outcome === "not-rotated" && use)
          await database.refreshTokens.update(step.from.digest, (token) => ({ use, ...token }));
        return outcome;
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate gives the use that it has read before it tried",
    caughtBy: [rule.retryRace, rule.retryMixed],
    change: ({ storage }) => ({
      async rotate(step, now) {
        const before = await storage.refreshTokens.find(step.from, now);
        const outcome = await storage.refreshTokens.rotate(step, now);
        return outcome === "rotated" ? outcome : (before?.use ?? "not-rotated");
      },
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate stores the use in a step of its own, which a loser may take too",
    caughtBy: [rule.retryRace, rule.retryMixed],
    change: ({ storage, database }) => ({
      async rotate({ from, to, use }, now) {
        const before = await storage.refreshTokens.find(from, now);
        const outcome = await storage.refreshTokens.rotate({ from, to }, now);
        if (before?.used === false && use)
          await database.refreshTokens.update(from.digest, (token) => ({ ...token, use }));
        return outcome === "rotated"
          ? outcome
          : ((await storage.refreshTokens.find(from, now))?.use ?? outcome);
      },
    }),
  }),
];
