/** Mistakes with the end of many authorizations at once. */
import type { Authorization, AuthorizationSelection, EpochSeconds, Storage } from "../../../lib";
import { rule } from "./rules";
import { type Database, isLive, isSelected, joinedBy, keyOf, notRevoked } from "./table-storage";
import { ownNow, wrong, type WrongAdapter } from "./wrong-adapter";

/** Revokes them one by one, and gives the number of those that were not revoked before. */
async function revokeEach(
  { authorizations }: Storage,
  records: readonly Authorization[],
  now: EpochSeconds,
): Promise<number> {
  for (const { authorizationId } of records) await authorizations.revoke(authorizationId, now);
  return records.filter(({ revoked }) => !revoked).length;
}

/** `revokeAll` that revokes what another look finds. */
function revokingAll(
  mistake: string,
  {
    caughtBy,
    look,
  }: {
    caughtBy: readonly string[];
    look: (database: Database, selection: AuthorizationSelection) => Promise<readonly Authorization[]>;
  },
): WrongAdapter {
  return wrong("authorizations", {
    mistake: `revokeAll ${mistake}`,
    caughtBy,
    change: ({ storage, database }) => ({
      revokeAll: async (selection, now) => revokeEach(storage, await look(database, selection), now),
    }),
  });
}

const parts = ["subject", "clientId", "apiId", "contextKey"] as const;

/** Adapters that end too many authorizations, or too few. */
export const revokeAllMistakes: readonly WrongAdapter[] = [
  ...parts.map((part) =>
    revokingAll(`ignores ${part}`, {
      caughtBy: [part === "contextKey" ? rule.revokeAllContext : rule.revokeAll],
      look: async ({ authorizations }, selection) =>
        (await authorizations.all()).filter((other) =>
          isSelected(selection)({ ...keyOf(other), [part]: selection[part] }),
        ),
    }),
  ),
  revokingAll("joins its key", {
    caughtBy: [rule.revokeAll],
    async look({ authorizations }, { subject, clientId = "", apiId = "", contextKey = "" }) {
      const joined = joinedBy(":");
      const key = joined({ subject, clientId, apiId, contextKey });
      return (await authorizations.all()).filter((other) => joined(keyOf(other)) === key);
    },
  }),
  revokingAll("revokes those of one authentication method", {
    caughtBy: [rule.revokeAll],
    async look(database, selection) {
      const own = await notRevoked(database, selection);
      return own.filter(({ authMethodId }) => authMethodId === own[0]?.authMethodId);
    },
  }),
  revokingAll("leaves those of contexts when no context is asked for", {
    caughtBy: [rule.revokeAll, rule.revokeAllSubject],
    look: (database, selection) => notRevoked(database, { contextKey: "", ...selection }),
  }),
  revokingAll("takes an empty contextKey for any", {
    caughtBy: [rule.revokeAllContext],
    look: (database, { contextKey, ...selection }) =>
      notRevoked(database, contextKey ? { ...selection, contextKey } : selection),
  }),
  revokingAll("compares contexts by their beginning", {
    caughtBy: [rule.revokeAllContext],
    look: async (database, { contextKey = "", ...selection }) =>
      (await notRevoked(database, selection)).filter((other) =>
        contextKey === ""
          ? keyOf(other).contextKey === ""
          : keyOf(other).contextKey?.startsWith(contextKey) === true,
      ),
  }),
  revokingAll("finds nothing by a subject alone", {
    caughtBy: [rule.revokeAllSubject],
    look: (database, { clientId = "", apiId = "", ...selection }) =>
      notRevoked(database, { ...selection, clientId, apiId }),
  }),
  revokingAll("with a subject alone, ends those of one client", {
    caughtBy: [rule.revokeAllSubject],
    async look(database, selection) {
      const own = await notRevoked(database, selection);
      return own.filter(({ clientId }) => clientId === own[0]?.clientId);
    },
  }),
  wrong("authorizations", {
    mistake: "revokeAll waits for one that is under way, in place of looking itself",
    caughtBy: [rule.revokeAllMeanwhile],
    change({ storage, database }) {
      const underWay = new Map<string, Promise<number>>();
      async function look(selection: AuthorizationSelection, now: EpochSeconds): Promise<number> {
        const found = await notRevoked(database, selection);
        for (let step = 0; step < 4; step += 1) await new Promise((resolve) => setImmediate(resolve));
        return revokeEach(storage, found, now);
      }
      return {
        revokeAll(selection, now) {
          const key = JSON.stringify(selection);
          const begun = underWay.get(key) ?? look(selection, now);
          underWay.set(key, begun);
          return begun.finally(() => underWay.delete(key));
        },
      };
    },
  }),
  wrong("authorizations", {
    mistake: "revokeAll stops after the first",
    caughtBy: [rule.revokeAll],
    change: ({ storage, database }) => ({
      async revokeAll(selection, now) {
        const own = await notRevoked(database, selection);
        await revokeEach(storage, own.slice(0, 1), now);
        return own.length;
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "revokeAll counts those that were revoked before",
    caughtBy: [rule.revokeAll],
    change: ({ storage, database }) => ({
      async revokeAll(selection, now) {
        await storage.authorizations.revokeAll(selection, now);
        return database.authorizations.count((other) => isSelected(selection)(keyOf(other)));
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "revokeAll knows only what this process has created",
    caughtBy: [rule.revokeAll],
    change({ storage }) {
      const own: Authorization[] = [];
      return {
        create(record, now) {
          own.push(record);
          return storage.authorizations.create(record, now);
        },
        async revokeAll(selection, now) {
          const alike = own.filter((other) => isSelected(selection)(keyOf(other)));
          return revokeEach(storage, alike, now);
        },
      };
    },
  }),
  wrong("authorizations", {
    mistake: "revokeAll leaves what has expired by the caller's clock",
    caughtBy: [rule.revokeAhead],
    change: ({ storage, database }) => ({
      async revokeAll(selection, now) {
        const own = (await notRevoked(database, selection)).filter(isLive(now));
        return revokeEach(storage, own, now);
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "revokeAll leaves what has expired by its own clock",
    caughtBy: [rule.revokeAhead],
    change: ({ storage, database }) => ({
      async revokeAll(selection, now) {
        const own = (await notRevoked(database, selection)).filter(isLive(ownNow()));
        return revokeEach(storage, own, now);
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "revoke leaves what has expired by its own clock",
    caughtBy: [rule.revokeAhead],
    change: ({ storage, database }) => ({
      async revoke(id, now) {
        const found = await database.authorizations.get(id);
        if (found && isLive(ownNow())(found)) await storage.authorizations.revoke(id, now);
      },
    }),
  }),
];
