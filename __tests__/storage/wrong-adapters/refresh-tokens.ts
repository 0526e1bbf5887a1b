/** Mistakes with refresh tokens and their rotation. */
import type { EpochSeconds, RefreshToken } from "../../../lib";
import { rule } from "./rules";
import { isLive, live } from "./table-storage";
import { cachingFind, newLock, ownNow, type Process, wrong, type WrongAdapter } from "./wrong-adapter";

const rotateRaces = [rule.rotateOf2, rule.rotateOf8, rule.rotateOf64, rule.rotateEach];

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

/** Adapters that let a refresh token be rotated twice, or lose what it was. */
export const refreshTokenMistakes: readonly WrongAdapter[] = [
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
    mistake: "rotate stores the successor in a second step, before it answers",
    caughtBy: [rule.retryRace],
    change: ({ database }) => ({
      async rotate({ from, to, use }, now) {
        let before: RefreshToken | undefined;
        const won = await database.refreshTokens.update(from.digest, (token) => {
          before = token;
          return token.used || !isLive(now)(token)
            ? undefined
            : { ...token, used: true, ...(use && { use }) };
        });
        if (!won) return live(before, now)?.use ?? "not-rotated";
        // its last use, say
        await database.authorizations.update(from.authorizationId, (one) => ({ ...one, lastUsedAt: now }));
        await database.refreshTokens.set(to.digest, to);
        return "rotated";
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
