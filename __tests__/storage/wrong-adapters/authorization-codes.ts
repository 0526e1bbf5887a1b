/** Mistakes with codes and their consumption. */
import type { EpochSeconds } from "../../../lib";
import { rule } from "./rules";
import { isLive, live } from "./table-storage";
import { cachingFind, newLock, ownNow, type Process, wrong, type WrongAdapter } from "./wrong-adapter";

const consumeRaces = [rule.consumeOf2, rule.consumeOf8, rule.consumeOf64, rule.consumeEach];

async function consumeInTwoSteps(
  { database: { authorizationCodes } }: Process,
  { digest, now }: { digest: string; now: EpochSeconds },
): Promise<"consumed" | "not-consumed"> {
  const code = live(await authorizationCodes.get(digest), now);
  if (!code || code.consumed) return "not-consumed";
  await authorizationCodes.set(digest, { ...code, consumed: true });
  return "consumed";
}

/** Adapters that let a code be consumed twice, or lose what it was. */
export const codeMistakes: readonly WrongAdapter[] = [
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
