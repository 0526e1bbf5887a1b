/** Mistakes of taking back a part of authorizations. */
import type { Authorization, EpochSeconds, Storage } from "../../../../lib";
import { narrowed } from "../../../../lib/protocol/authorization";
import { type Database, isLive, notRevoked } from "./table-storage";
import { ownNow, planted, type Process, type WrongAdapter } from "./wrong-adapter";

type NarrowStep = Parameters<Storage["authorizations"]["narrowAll"]>[0];

/** Narrows each of a selection in its own way. */
const narrowEach =
  (change: (record: Authorization, scopes: readonly string[]) => Partial<Authorization> | undefined) =>
  ({ database }: { database: Database }) => ({
    async narrowAll({ selection, scopes }: NarrowStep) {
      const own = (await notRevoked(database, selection)).filter((one) => change(one, scopes));
      for (const { authorizationId } of own)
        await database.authorizations.update(authorizationId, (record) => ({
          ...record,
          ...change(record, scopes),
        }));
      return own.length;
    },
  });

/** Narrows what another look finds. */
const lookingWith =
  (
    look: (database: Database, step: NarrowStep, now: EpochSeconds) => Promise<readonly Authorization[]>,
  ): ((process: Process) => Partial<Storage["authorizations"]>) =>
  ({ database }) => ({
    async narrowAll(step, now) {
      const wide = (await look(database, step, now)).filter((one) => narrowed(one, step.scopes));
      for (const { authorizationId } of wide)
        await database.authorizations.update(authorizationId, (record) => ({
          ...record,
          ...narrowed(record, step.scopes),
        }));
      return wide.length;
    },
  });

/** Mistakes of `narrowAll`. */
export const narrowingMistakes: readonly WrongAdapter[] = planted("authorizations", {
  "narrowAll keeps what was approved at first": {
    "narrowAll gives what it is told to keep": narrowEach((record, scopes) => {
      const lesser = narrowed(record, scopes);
      return lesser && { ...lesser, grantedScopes: scopes };
    }),
    "narrowAll forgets what was approved at first": narrowEach((record, scopes) => {
      const lesser = narrowed(record, scopes);
      return lesser && { ...lesser, approvedScopes: record.grantedScopes };
    }),
    "narrowAll keeps nothing of what was approved": narrowEach((record, scopes) => {
      const { approvedScopes: _, ...lesser } = narrowed(record, scopes) ?? {};
      return Object.keys(lesser).length > 0 ? lesser : undefined;
    }),
    "narrowAll leaves what has no scopes": narrowEach((record, scopes) => {
      const lesser = narrowed(record, scopes);
      return lesser && { ...lesser, revoked: false };
    }),
    "narrowAll forgets the last use": ({ storage, database }) => ({
      async narrowAll(step, now) {
        const own = await notRevoked(database, step.selection);
        const changed = await storage.authorizations.narrowAll(step, now);
        for (const { authorizationId } of own)
          await database.authorizations.update(authorizationId, ({ lastUsedAt: _used, ...record }) => record);
        return changed;
      },
    }),
    "narrowAll revokes what has no scopes at all": ({ storage, database }) => ({
      async narrowAll(step, now) {
        const changed = await storage.authorizations.narrowAll(step, now);
        for (const one of await notRevoked(database, step.selection))
          if (one.grantedScopes.length === 0) await storage.authorizations.revoke(one.authorizationId, now);
        return changed;
      },
    }),
  },
  "narrowAll narrows all authorizations of one": {
    "narrowAll does nothing": () => ({ narrowAll: async () => 0 }),
    "narrowAll stops after the first": ({ storage, database }) => ({
      async narrowAll({ selection, scopes }, now) {
        const [first] = await notRevoked(database, selection);
        if (!first) return 0;
        const { subject, clientId, apiId, context } = first;
        const one = { subject, clientId, apiId, contextKey: context?.key ?? "" };
        return storage.authorizations.narrowAll({ selection: one, scopes }, now);
      },
    }),
    "narrowAll counts those that have no other scopes": ({ storage, database }) => ({
      async narrowAll(step, now) {
        await storage.authorizations.narrowAll(step, now);
        return (await notRevoked(database, step.selection)).length;
      },
    }),
  },
  "narrowAll with a contextKey": {
    "narrowAll takes every context": lookingWith((database, { selection: { contextKey: _any, ...rest } }) =>
      notRevoked(database, rest),
    ),
    "narrowAll takes an empty contextKey for any": lookingWith(
      (database, { selection: { contextKey, ...rest } }) =>
        notRevoked(database, contextKey ? { ...rest, contextKey } : rest),
    ),
  },
  "narrowAll with a subject alone": {
    "narrowAll finds nothing by a subject alone": lookingWith(
      (database, { selection: { clientId = "", apiId = "", ...rest } }) =>
        notRevoked(database, { ...rest, clientId, apiId }),
    ),
  },
  "narrowAll also reaches": {
    "narrowAll leaves what has expired by the caller's clock": lookingWith(
      async (database, { selection }, now) => (await notRevoked(database, selection)).filter(isLive(now)),
    ),
    "narrowAll leaves what has expired by its own clock": lookingWith(async (database, { selection }) =>
      (await notRevoked(database, selection)).filter(isLive(ownNow())),
    ),
  },
  "simultaneous calls of authorizations.narrowAll": {
    "narrowAll writes what it has made of an earlier look": ({ database }) => ({
      async narrowAll({ selection, scopes }) {
        const own = await notRevoked(database, selection);
        const lesser = own.flatMap((one) => narrowed(one, scopes) ?? []);
        for (const one of lesser) await database.authorizations.set(one.authorizationId, one);
        return lesser.length;
      },
    }),
  },
  "every call rejects": {
    "narrowAll swallows its failure": ({ storage }) => ({
      narrowAll: (step, now) => storage.authorizations.narrowAll(step, now).catch(() => 0),
    }),
  },
});
