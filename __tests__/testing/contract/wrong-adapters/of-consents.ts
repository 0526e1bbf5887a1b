/** Mistakes with consents and end marks. */
import { type Consent, type ConsentKey, type ConsentSelection, maxConsents } from "../../../../lib";
import { consentId, isLive, isSelected, joinedBy, live } from "./table-storage";
import { cachingFind, ownNow, planted, wrong, type WrongAdapter } from "./wrong-adapter";

const idWithout = (part: keyof ConsentKey) => (key: ConsentKey) => consentId({ ...key, [part]: "" });

const keyOnly = ({ subject, clientId, apiId, contextKey }: ConsentKey) => ({
  subject,
  clientId,
  apiId,
  ...(contextKey !== undefined && { contextKey }),
});

const isAfter = ({ exceptEndMark }: { exceptEndMark: string }, { endMarks }: Consent): boolean =>
  endMarks.includes(exceptEndMark);

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
const singleConsentMistakes: readonly WrongAdapter[] = [
  ...planted("consents", {
    "consents.find returns nothing": {
      "the subject is compared without case": ({ database: { consents } }) => ({
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
    },
    "consents.save replaces": {
      "save adds in place of replacing"({ database: { consents } }) {
        let number = 0;
        return {
          save: (consent) => consents.set(`${consentId(consent)}${(number += 1)}${Math.random()}`, consent),
          find: async (key, now) =>
            (await consents.all())
              .filter(isLive(now))
              .find(isSelected({ ...key, contextKey: key.contextKey ?? "" })),
        };
      },
      "save keeps the consent that was there": ({ storage, database }) => ({
        async save(consent, now) {
          if (!(await database.consents.get(consentId(consent)))) await storage.consents.save(consent, now);
        },
      }),
      "save adds the scopes to those that were there": ({ storage, database }) => ({
        async save(consent, now) {
          const before = (await database.consents.get(consentId(consent)))?.scopes ?? [];
          const scopes = [...new Set([...before, ...consent.scopes])];
          await storage.consents.save({ ...consent, scopes }, now);
        },
      }),
      "save keeps the stored one if it was given later": ({ storage, database }) => ({
        async save(consent, now) {
          const stored = await database.consents.get(consentId(consent));
          if (!stored || stored.grantedAt <= consent.grantedAt) await storage.consents.save(consent, now);
        },
      }),
    },
    "consents.list returns all": {
      "list gives expired ones": ({ database }) => ({
        list: async (subject) =>
          (await database.consents.all()).filter((consent) => consent.subject === subject),
      }),
      "list gives those of subjects that begin alike": ({ database }) => ({
        list: async (subject, now) =>
          (await database.consents.all())
            .filter(isLive(now))
            .filter((one) => one.subject.startsWith(subject)),
      }),
      "list gives one page": ({ storage }) => ({
        list: async (subject, now) => (await storage.consents.list(subject, now)).slice(0, 2),
      }),
      "list gives everybody's": ({ database }) => ({
        list: async (_, now) => (await database.consents.all()).filter(isLive(now)),
      }),
    },
    "consents.delete deletes all consents of one": {
      "delete does nothing": () => ({ delete: async () => true }),
      "delete forgets every consent of the end user": ({ storage, database }) => ({
        async delete({ selection: { subject } }, now) {
          const own = await storage.consents.list(subject, now);
          for (const consent of own) await database.consents.delete(consentId(consent));
          return own.length > 0;
        },
      }),
      "delete rejects where there is none": ({ storage, database }) => ({
        async delete(withdrawal, now) {
          if (!(await database.consents.get(consentId(withdrawal.selection as ConsentKey))))
            throw new Error("no such consent");
          return storage.consents.delete(withdrawal, now);
        },
      }),
    },
    "given after the withdrawal": {
      "delete forgets what was given after the withdrawal": ({ database }) => ({
        delete: async ({ selection }) => (await database.consents.deleteWhere(isSelected(selection))) > 0,
      }),
      "delete compares the first end mark only": ({ database }) => ({
        delete: async ({ selection, exceptEndMark }) =>
          (await database.consents.deleteWhere(
            (one) => isSelected(selection)(one) && one.endMarks?.[0] !== exceptEndMark,
          )) > 0,
      }),
      "delete keeps all when it must keep one": ({ storage, database }) => ({
        async delete(withdrawal, now) {
          const own = (await database.consents.all()).filter(isSelected(withdrawal.selection));
          if (own.some(({ endMarks }) => endMarks?.includes(withdrawal.exceptEndMark))) return false;
          return storage.consents.delete(withdrawal, now);
        },
      }),
    },
    "saved at the same time": {
      "delete looks, then deletes": ({ database }) => ({
        async delete({ selection, exceptEndMark }) {
          const own = (await database.consents.all())
            .filter(isSelected(selection))
            .filter(({ endMarks }) => !endMarks?.includes(exceptEndMark));
          for (const consent of own) await database.consents.delete(consentId(consent));
          return own.length > 0;
        },
      }),
    },
    "consents whose keys are nearly alike": {
      "contexts are compared without case": ({ storage, database }) => ({
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
    },
    "contextKey is left out and one": {
      "a contextKey that is left out is another than an empty one": ({ database: { consents } }) => ({
        find: async (key, now) => live(await consents.get(JSON.stringify(Object.values(keyOnly(key)))), now),
        save: (consent) => consents.set(JSON.stringify(Object.values(keyOnly(consent))), consent),
      }),
    },
    "consents.delete also reaches": {
      "delete leaves what has expired by its own clock": ({ database }) => ({
        delete: async ({ selection, exceptEndMark }) =>
          (await database.consents.deleteWhere(
            (one) =>
              isLive(ownNow())(one) && isSelected(selection)(one) && !one.endMarks?.includes(exceptEndMark),
          )) > 0,
      }),
      "delete leaves what has expired by the caller's clock": ({ storage }) => ({
        async delete(withdrawal, now) {
          const listed = await storage.consents.list(withdrawal.selection.subject, now);
          return listed.length > 0 && storage.consents.delete(withdrawal, now);
        },
      }),
      "delete without a client leaves what has expired by the caller's clock": ({ storage, database }) => ({
        delete: async (withdrawal, now) =>
          withdrawal.selection.clientId === undefined
            ? (await database.consents.deleteWhere(
                (one) =>
                  isSelected(withdrawal.selection)(one) && isLive(now)(one) && !isAfter(withdrawal, one),
              )) > 0
            : storage.consents.delete(withdrawal, now),
      }),
    },
    "consents.delete with a subject alone": {
      "delete without a client deletes nothing": ({ storage }) => ({
        delete: async (withdrawal, now) =>
          withdrawal.selection.clientId !== undefined && storage.consents.delete(withdrawal, now),
      }),
      "delete without a client leaves those with a context": ({ storage }) => ({
        delete: ({ selection, exceptEndMark }, now) =>
          storage.consents.delete(
            {
              selection: selection.clientId === undefined ? { ...selection, contextKey: "" } : selection,
              exceptEndMark,
            },
            now,
          ),
      }),
      "delete without a client deletes everybody's": ({ storage, database }) => ({
        delete: async (withdrawal, now) =>
          withdrawal.selection.clientId === undefined
            ? (await database.consents.deleteWhere(
                ({ endMarks }) => !endMarks?.includes(withdrawal.exceptEndMark),
              )) > 0
            : storage.consents.delete(withdrawal, now),
      }),
    },
    "a consent that was given after the withdrawal": {
      "delete without a client deletes what was given after the withdrawal": ({ storage, database }) => ({
        delete: async (withdrawal, now) =>
          withdrawal.selection.clientId === undefined
            ? (await database.consents.deleteWhere(isSelected(withdrawal.selection))) > 0
            : storage.consents.delete(withdrawal, now),
      }),
    },
  }),
  ...["", ":"].map((separator) =>
    wrong("consents", {
      mistake: `the key is joined by "${separator}"`,
      caughtBy: ["consents.find returns nothing"],
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
      caughtBy: ["consents.find returns nothing"],
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
      caughtBy: [
        mistake.startsWith("without")
          ? "consents.delete deletes all consents of one"
          : "consents.delete with a contextKey",
      ],
      change: ({ storage }) => ({
        delete: ({ selection, exceptEndMark }, now) =>
          storage.consents.delete({ selection: select(selection as ConsentSelection), exceptEndMark }, now),
      }),
    }),
  ),
  cachingFind("consents", { caughtBy: ["consents.delete deletes all consents of one"] }),
  ...limitMistakes.map(([mistake, surplus]) =>
    wrong("consents", {
      mistake: `save ${mistake}`,
      caughtBy: ["consents.save keeps 1000"],
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

/** Adapters that give the wrong end mark, or none. */
const endMarkMistakes: readonly WrongAdapter[] = [
  ...planted("endMarks", {
    "endMarks.save replaces": {
      "save keeps the first mark of a key": ({ database, storage }) => ({
        async save(endMark, now) {
          if (!(await database.endMarks.get(endMark.key))) await storage.endMarks.save(endMark, now);
        },
      }),
      "save keeps the stored mark unless the new one ends later": ({ database, storage }) => ({
        async save(endMark, now) {
          const stored = await database.endMarks.get(endMark.key);
          if (!stored || endMark.expiresAt > stored.expiresAt) await storage.endMarks.save(endMark, now);
        },
      }),
    },
    "endMarks.find returns what was stored": {
      "save cuts the mark": ({ storage }) => ({
        save: (endMark, now) => storage.endMarks.save({ ...endMark, mark: endMark.mark.slice(0, 16) }, now),
      }),
    },
    "a new mark in every process": {
      "find repeats what it has answered"({ storage }) {
        const answered = new Map<string, string | undefined>();
        return {
          async find(keys, now) {
            const found = await storage.endMarks.find(keys, now);
            for (const [place, key] of keys.entries())
              if (!answered.has(key)) answered.set(key, found[place]);
            return keys.map((key) => answered.get(key));
          },
        };
      },
      "one process does not see the marks of another"({ storage }) {
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
    },
    "in the order of the keys": {
      "find gives the marks in the order of the table": ({ database }) => ({
        async find(keys, now) {
          const found = (await database.endMarks.all()).filter(({ key }) => keys.includes(key));
          const marks = found.map((one) => (isLive(now)(one) ? one.mark : undefined));
          return keys.length === 1 ? [marks[0]] : marks;
        },
      }),
      "find leaves out what it has not found": ({ storage }) => ({
        async find(keys, now) {
          const found = await storage.endMarks.find(keys, now);
          return keys.length === 1 ? found : found.filter((mark) => mark !== undefined);
        },
      }),
      "find rejects when it is asked for nothing": ({ storage }) => ({
        async find(keys, now) {
          if (keys.length === 0) throw new Error("syntax error at or near IN ()");
          return storage.endMarks.find(keys, now);
        },
      }),
    },
    "endMarks.find returns nothing": {
      "find ignores case": ({ database }) => ({
        async find(keys, now) {
          const living = (await database.endMarks.all()).filter(isLive(now));
          return keys.map((key) => living.find((one) => one.key.toLowerCase() === key.toLowerCase())?.mark);
        },
      }),
    },
    "an end mark can be found until": {
      "a mark never ends": ({ storage }) => ({ find: (keys) => storage.endMarks.find(keys, 0) }),
      "a mark is forgotten when it is over by the clock of the store": ({ storage }) => ({
        find: (keys, now) => storage.endMarks.find(keys, Math.max(now, ownNow())),
      }),
    },
  }),
];

/** All of them. */
export const consentMistakes: readonly WrongAdapter[] = [...singleConsentMistakes, ...endMarkMistakes];
