/** Mistakes with `lastUsedAt`. */
import type { EpochSeconds } from "../../../lib";
import { rule } from "./rules";
import type { Database } from "./table-storage";
import { type Process, wrong, type WrongAdapter } from "./wrong-adapter";

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
export const lastUseMistakes: readonly WrongAdapter[] = [
  wrong("authorizationCodes", {
    mistake: "consume does not set lastUsedAt",
    caughtBy: [rule.lastUse, rule.lastUseRace],
    change: ({ storage, database }) => ({
      consume: (handle, now) =>
        keepingLastUse(database, {
          authorizationId: handle.authorizationId,
          run: () => storage.authorizationCodes.consume(handle, now),
        }),
    }),
  }),
  wrong("refreshTokens", {
    mistake: "rotate does not set lastUsedAt",
    caughtBy: [rule.lastUse, rule.lastUseRace],
    change: ({ storage, database }) => ({
      rotate: (step, now) =>
        keepingLastUse(database, {
          authorizationId: step.from.authorizationId,
          run: () => storage.refreshTokens.rotate(step, now),
        }),
    }),
  }),
  consumingAfter("sets lastUsedAt for every call", {
    caughtBy: [rule.lastUse],
    before: ({ database }, used) => noteUse(database, used),
  }),
  wrong("authorizationCodes", {
    mistake: "consume sets lastUsedAt for every call that has seen the code unused",
    caughtBy: [rule.lastUseRace],
    change: ({ storage, database }) => ({
      async consume(handle, now) {
        const { consumed } = (await database.authorizationCodes.get(handle.digest)) ?? { consumed: true };
        const outcome = await storage.authorizationCodes.consume(handle, now);
        if (!consumed) await noteUse(database, { ...handle, now });
        return outcome;
      },
    }),
  }),
  consumingAfter("reads the authorization and writes it back", {
    caughtBy: [rule.useAndRevoke],
    async before({ database }, { authorizationId }) {
      const record = await database.authorizations.get(authorizationId);
      if (record) await database.authorizations.set(authorizationId, record);
    },
  }),
  consumingAfter("stores lastUsedAt where there is no authorization", {
    caughtBy: [rule.useOfNone],
    async before({ database, storage }, { authorizationId, now }) {
      if (await database.authorizations.get(authorizationId)) return;
      const stub = { authorizationId, lastUsedAt: now, expiresAt: now + 600, revoked: false };
      await storage.authorizations.create(stub as never, now);
    },
  }),
  wrong("authorizations", {
    mistake: "find gives lastUsedAt",
    caughtBy: [rule.lastUse, rule.lastUseRace],
    change: ({ storage, database }) => ({
      async find(id, now) {
        const found = await storage.authorizations.find(id, now);
        return found && database.authorizations.get(id);
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "list drops lastUsedAt",
    caughtBy: [rule.lastUse, rule.lastUseRace],
    change: ({ storage }) => ({
      list: async (subject, page, now) =>
        (await storage.authorizations.list(subject, page, now)).map((listed) => {
          const { lastUsedAt: _, ...record } = listed;
          return record;
        }),
    }),
  }),
];
