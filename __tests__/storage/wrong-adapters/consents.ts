/** Mistakes with consents. */
import { type Consent, type ConsentKey, type ConsentSelection, maxConsents } from "../../../lib";
import { rule } from "./rules";
import { consentId, isLive, isSelected, joinedBy, live } from "./table-storage";
import { cachingFind, ownNow, wrong, type WrongAdapter } from "./wrong-adapter";

const idWithout = (part: keyof ConsentKey) => (key: ConsentKey) => consentId({ ...key, [part]: "" });

const keyOnly = ({ subject, clientId, apiId, contextKey }: ConsentKey) => ({
  subject,
  clientId,
  apiId,
  ...(contextKey !== undefined && { contextKey }),
});

const isAfter = ({ exceptEndMark }: { exceptEndMark: string }, { endMarks }: Consent): boolean =>
  endMarks?.includes(exceptEndMark) === true;

const byEnd = (a: Consent, b: Consent): number => a.expiresAt - b.expiresAt;

/** The first to end beyond the limit. */
const firstOf = (consents: readonly Consent[]): readonly Consent[] =>
  consents.toSorted(byEnd).slice(0, Math.max(0, consents.length - maxConsents));

/** Which ones go wrongly when one is saved. */
const limitMistakes: readonly (readonly [
  string,
  (stored: readonly Consent[], saved: Consent) => readonly Consent[],
])[] = [
  ["has no limit", () => []],
  ["counts those of everybody", (stored) => firstOf(stored)],
  [
    "deletes the one that expires last",
    (stored, { subject }) => {
      const own = stored.filter((one) => one.subject === subject).toSorted(byEnd);
      return own.slice(maxConsents - 1, own.length - 1);
    },
  ],
  [
    "deletes the new one where that expires first",
    (stored, { subject }) => firstOf(stored.filter((one) => one.subject === subject)),
  ],
  [
    "deletes one when the limit is reached",
    (stored, { subject }) => {
      const own = stored.filter((one) => one.subject === subject).toSorted(byEnd);
      return own.length >= maxConsents ? own.slice(0, 1) : [];
    },
  ],
  [
    "counts those of each context",
    (stored, { subject, contextKey = "" }) =>
      firstOf(stored.filter((one) => one.subject === subject && (one.contextKey ?? "") === contextKey)),
  ],
];

/** Adapters that find, keep, list or forget the wrong consent. */
export const consentMistakes: readonly WrongAdapter[] = [
  ...["", ":"].map((separator) =>
    wrong("consents", {
      mistake: `the key is joined by "${separator}"`,
      caughtBy: [rule.consentNone],
      change({ database: { consents } }) {
        const joined = joinedBy(separator);
        return {
          find: async (key, now) => live(await consents.get(joined(key)), now),
          save: (consent) => consents.set(joined(consent), consent),
          delete: ({ selection }) => consents.delete(joined(selection as ConsentKey)),
        };
      },
    }),
  ),
  ...(["subject", "clientId", "apiId", "contextKey"] as const).map((part) =>
    wrong("consents", {
      mistake: `the key leaves out ${part}`,
      caughtBy: [rule.consentNone],
      change({ database: { consents } }) {
        const partial = idWithout(part);
        return {
          find: async (key, now) => live(await consents.get(partial(key)), now),
          save: (consent) => consents.set(partial(consent), consent),
          delete: ({ selection }) => consents.delete(partial(selection as ConsentKey)),
        };
      },
    }),
  ),
  wrong("consents", {
    mistake: "the subject is compared without case",
    caughtBy: [rule.consentNone],
    change: ({ database: { consents } }) => ({
      async find({ subject, clientId, apiId }, now) {
        return (await consents.all())
          .filter(isLive(now))
          .find(
            (consent) =>
              consent.subject.toLowerCase() === subject.toLowerCase() &&
              consent.clientId === clientId &&
              consent.apiId === apiId,
          );
      },
    }),
  }),
  wrong("consents", {
    mistake: "save adds in place of replacing",
    caughtBy: [rule.consentReplaced],
    change({ database: { consents } }) {
      let number = 0;
      return {
        save: (consent) => consents.set(`${consentId(consent)}${(number += 1)}${Math.random()}`, consent),
        find: async (key, now) =>
          (await consents.all())
            .filter(isLive(now))
            .find(isSelected({ ...key, contextKey: key.contextKey ?? "" })),
      };
    },
  }),
  wrong("consents", {
    mistake: "save keeps the consent that was there",
    caughtBy: [rule.consentReplaced],
    change: ({ storage, database }) => ({
      async save(consent, now) {
        if (!(await database.consents.get(consentId(consent)))) await storage.consents.save(consent, now);
      },
    }),
  }),
  wrong("consents", {
    mistake: "save adds the scopes to those that were there",
    caughtBy: [rule.consentReplaced],
    change: ({ storage, database }) => ({
      async save(consent, now) {
        const before = (await database.consents.get(consentId(consent)))?.scopes ?? [];
        const scopes = [...new Set([...before, ...consent.scopes])];
        await storage.consents.save({ ...consent, scopes }, now);
      },
    }),
  }),
  wrong("consents", {
    mistake: "list gives expired ones",
    caughtBy: [rule.consentList],
    change: ({ database }) => ({
      list: async (subject) =>
        (await database.consents.all()).filter((consent) => consent.subject === subject),
    }),
  }),
  wrong("consents", {
    mistake: "list gives those of subjects that begin alike",
    caughtBy: [rule.consentList],
    change: ({ database }) => ({
      list: async (subject, now) =>
        (await database.consents.all()).filter(isLive(now)).filter((one) => one.subject.startsWith(subject)),
    }),
  }),
  wrong("consents", {
    mistake: "list gives one page",
    caughtBy: [rule.consentList],
    change: ({ storage }) => ({
      list: async (subject, now) => (await storage.consents.list(subject, now)).slice(0, 2),
    }),
  }),
  wrong("consents", {
    mistake: "list gives everybody's",
    caughtBy: [rule.consentList],
    change: ({ database }) => ({
      list: async (_, now) => (await database.consents.all()).filter(isLive(now)),
    }),
  }),
  wrong("consents", {
    mistake: "delete does nothing",
    caughtBy: [rule.consentDelete],
    change: () => ({ delete: async () => true }),
  }),
  wrong("consents", {
    mistake: "delete forgets every consent of the end user",
    caughtBy: [rule.consentDelete],
    change: ({ storage, database }) => ({
      async delete({ selection: { subject } }, now) {
        const own = await storage.consents.list(subject, now);
        for (const consent of own) await database.consents.delete(consentId(consent));
        return own.length > 0;
      },
    }),
  }),
  wrong("consents", {
    mistake: "delete rejects where there is none",
    caughtBy: [rule.consentDelete],
    change: ({ storage, database }) => ({
      async delete(withdrawal, now) {
        if (!(await database.consents.get(consentId(withdrawal.selection as ConsentKey))))
          throw new Error("no such consent");
        return storage.consents.delete(withdrawal, now);
      },
    }),
  }),
  wrong("consents", {
    mistake: "delete forgets what was given after the withdrawal",
    caughtBy: [rule.consentDeleteExcept],
    change: ({ database }) => ({
      delete: async ({ selection }) => (await database.consents.deleteWhere(isSelected(selection))) > 0,
    }),
  }),
  ...(
    [
      ["ignores the contextKey", ({ subject, clientId, apiId }) => ({ subject, clientId, apiId })],
      [
        "without a contextKey deletes the one without a context",
        (selection) => ({ contextKey: "", ...selection }),
      ],
      [
        "takes an empty contextKey for any",
        ({ contextKey, ...selection }) => (contextKey ? { ...selection, contextKey } : selection),
      ],
    ] as readonly (readonly [string, (selection: ConsentSelection) => ConsentSelection])[]
  ).map(([mistake, select]) =>
    wrong("consents", {
      mistake: `delete ${mistake}`,
      caughtBy: [rule.consentDeleteContext],
      change: ({ storage }) => ({
        delete: ({ selection, exceptEndMark }, now) =>
          storage.consents.delete({ selection: select(selection as ConsentSelection), exceptEndMark }, now),
      }),
    }),
  ),
  wrong("consents", {
    mistake: "delete compares the first end mark only",
    caughtBy: [rule.consentDeleteExcept],
    change: ({ database }) => ({
      delete: async ({ selection, exceptEndMark }) =>
        (await database.consents.deleteWhere(
          (one) => isSelected(selection)(one) && one.endMarks?.[0] !== exceptEndMark,
        )) > 0,
    }),
  }),
  wrong("consents", {
    mistake: "delete keeps all when it must keep one",
    caughtBy: [rule.consentDeleteExcept],
    change: ({ storage, database }) => ({
      async delete(withdrawal, now) {
        const own = (await database.consents.all()).filter(isSelected(withdrawal.selection));
        if (own.some(({ endMarks }) => endMarks?.includes(withdrawal.exceptEndMark))) return false;
        return storage.consents.delete(withdrawal, now);
      },
    }),
  }),
  wrong("consents", {
    mistake: "delete looks, then deletes",
    caughtBy: [rule.consentDeleteRace],
    change: ({ database }) => ({
      async delete({ selection, exceptEndMark }) {
        const own = (await database.consents.all())
          .filter(isSelected(selection))
          .filter(({ endMarks }) => !endMarks?.includes(exceptEndMark));
        for (const consent of own) await database.consents.delete(consentId(consent));
        return own.length > 0;
      },
    }),
  }),
  wrong("consents", {
    mistake: "contexts are compared without case",
    caughtBy: [rule.consentContexts],
    change: ({ storage, database }) => ({
      async find(key, now) {
        const folded = (key.contextKey ?? "").toLowerCase();
        const own = (await storage.consents.list(key.subject, now)).filter(
          isSelected({ subject: key.subject, clientId: key.clientId, apiId: key.apiId }),
        );
        return own.find((consent) => (consent.contextKey ?? "").toLowerCase() === folded);
      },
      save: (consent) =>
        database.consents.set(
          consentId({ ...consent, contextKey: (consent.contextKey ?? "").toLowerCase() }),
          consent,
        ),
    }),
  }),
  wrong("consents", {
    mistake: "a contextKey that is left out is another than an empty one",
    caughtBy: [rule.consentNoContext],
    change: ({ database: { consents } }) => ({
      find: async (key, now) => live(await consents.get(JSON.stringify(Object.values(keyOnly(key)))), now),
      save: (consent) => consents.set(JSON.stringify(Object.values(keyOnly(consent))), consent),
    }),
  }),
  cachingFind("consents", [rule.consentDelete]),
  wrong("consents", {
    mistake: "save keeps the stored one if it was given later",
    caughtBy: [rule.consentReplaced],
    change: ({ storage, database }) => ({
      async save(consent, now) {
        const stored = await database.consents.get(consentId(consent));
        if (!stored || stored.grantedAt <= consent.grantedAt) await storage.consents.save(consent, now);
      },
    }),
  }),
  wrong("consents", {
    mistake: "delete leaves what has expired by its own clock",
    caughtBy: [rule.consentDeleteAhead],
    change: ({ database }) => ({
      delete: async ({ selection, exceptEndMark }) =>
        (await database.consents.deleteWhere(
          (one) =>
            isLive(ownNow())(one) && isSelected(selection)(one) && !one.endMarks?.includes(exceptEndMark),
        )) > 0,
    }),
  }),
  wrong("consents", {
    mistake: "delete leaves what has expired by the caller's clock",
    caughtBy: [rule.consentDeleteAhead],
    change: ({ storage }) => ({
      async delete(withdrawal, now) {
        const listed = await storage.consents.list(withdrawal.selection.subject, now);
        return listed.length > 0 && storage.consents.delete(withdrawal, now);
      },
    }),
  }),
  wrong("consents", {
    mistake: "delete without a client deletes nothing",
    caughtBy: [rule.consentDeleteSubject],
    change: ({ storage }) => ({
      delete: async (withdrawal, now) =>
        withdrawal.selection.clientId !== undefined && storage.consents.delete(withdrawal, now),
    }),
  }),
  wrong("consents", {
    mistake: "delete without a client leaves those with a context",
    caughtBy: [rule.consentDeleteSubject],
    change: ({ storage }) => ({
      delete: ({ selection, exceptEndMark }, now) =>
        storage.consents.delete(
          {
            selection: selection.clientId === undefined ? { ...selection, contextKey: "" } : selection,
            exceptEndMark,
          },
          now,
        ),
    }),
  }),
  wrong("consents", {
    mistake: "delete without a client deletes everybody's",
    caughtBy: [rule.consentDeleteSubject],
    change: ({ storage, database }) => ({
      delete: async (withdrawal, now) =>
        withdrawal.selection.clientId === undefined
          ? (await database.consents.deleteWhere(
              ({ endMarks }) => !endMarks?.includes(withdrawal.exceptEndMark),
            )) > 0
          : storage.consents.delete(withdrawal, now),
    }),
  }),
  wrong("consents", {
    mistake: "delete without a client leaves what has expired by the caller's clock",
    caughtBy: [rule.consentDeleteSubject],
    change: ({ storage, database }) => ({
      delete: async (withdrawal, now) =>
        withdrawal.selection.clientId === undefined
          ? (await database.consents.deleteWhere(
              (one) => isSelected(withdrawal.selection)(one) && isLive(now)(one) && !isAfter(withdrawal, one),
            )) > 0
          : storage.consents.delete(withdrawal, now),
    }),
  }),
  wrong("consents", {
    mistake: "delete without a client deletes what was given after the withdrawal",
    caughtBy: [rule.consentDeleteSubject],
    change: ({ storage, database }) => ({
      delete: async (withdrawal, now) =>
        withdrawal.selection.clientId === undefined
          ? (await database.consents.deleteWhere(isSelected(withdrawal.selection))) > 0
          : storage.consents.delete(withdrawal, now),
    }),
  }),
  ...limitMistakes.map(([mistake, surplus]) =>
    wrong("consents", {
      mistake: `save ${mistake}`,
      caughtBy: [rule.consentLimit],
      change: ({ database: { consents } }) => ({
        async save(consent) {
          await consents.set(consentId(consent), consent);
          if ((await consents.count(() => true)) < maxConsents) return;
          const ids = new Set(surplus(await consents.all(), consent).map(consentId));
          if (ids.size > 0) await consents.deleteWhere((one) => ids.has(consentId(one)));
        },
      }),
    }),
  ),
];
