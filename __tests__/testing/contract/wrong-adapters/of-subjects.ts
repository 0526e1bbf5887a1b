/** Mistakes of a database that takes one person, client or API for another: some ignore spaces at the end of a text, some its case. */
import type { AuthorizationSelection, ConsentKey, EpochSeconds, Storage } from "../../../../lib";
import { type Database, inListOrder, isSelected, keyOf, tableStorage } from "./table-storage";
import type { WrongAdapter } from "./wrong-adapter";

/** What a database makes of a key before it compares it. */
type See = (key: AuthorizationSelection) => AuthorizationSelection;

const ofSubjects =
  (change: (subject: string) => string): See =>
  ({ subject, ...rest }) => ({ ...rest, subject: change(subject) });

const sights: Readonly<Record<string, See>> = {
  "spaces at the end of subjects": ofSubjects((subject) => subject.trimEnd()),
  "spaces in front of subjects": ofSubjects((subject) => subject.trimStart()),
  "the case of subjects": ofSubjects((subject) => subject.toLowerCase()),
  "the two forms of a letter in subjects": ofSubjects((subject) => subject.normalize("NFC")),
  "invisible characters in subjects": ofSubjects((subject) => subject.replace(/[\u00ad\u200b]/g, "")),
};

/** For methods that take them. */
const sightsOfIds: Readonly<Record<string, See>> = {
  "the case of client ids": ({ clientId = "", ...rest }) => ({ ...rest, clientId: clientId.toLowerCase() }),
  "the case of API ids": ({ apiId = "", ...rest }) => ({ ...rest, apiId: apiId.toLowerCase() }),
};

const isSame =
  (see: See, selection: AuthorizationSelection) =>
  (other: ConsentKey): boolean =>
    isSelected({ ...selection, ...see(selection) })({ ...other, ...see(other) });

const isSameSubject = (see: See, subject: string) => (other: { readonly subject: string }) =>
  see({ subject: other.subject }).subject === see({ subject }).subject;

/** The consents that a blurred look takes for those of a key, among all that live. */
async function seen(
  { consents }: Database,
  look: { see: See; key: AuthorizationSelection; now: EpochSeconds },
) {
  const living = (await consents.all()).filter(({ expiresAt }) => look.now < expiresAt);
  return living.filter(isSame(look.see, look.key));
}

/** The right adapter with one method that ignores such a difference. */
type Blur = (storage: Storage, from: { database: Database; see: See }) => Storage;

const blurs: readonly {
  readonly method: string;
  readonly caughtBy: string;
  /** True where client and API are part of what is asked for. */
  readonly takesIds?: true;
  readonly blur: Blur;
}[] = [
  {
    method: "consents.find",
    takesIds: true,
    caughtBy: "consents.find returns nothing",
    blur: (storage, { database, see }) => ({
      ...storage,
      consents: {
        ...storage.consents,
        async find(key, now) {
          const { contextKey = "" } = key;
          return (await seen(database, { see, key: { ...key, contextKey }, now }))[0];
        },
      },
    }),
  },
  {
    method: "consents.list",
    caughtBy: "consents.list returns all",
    blur: (storage, { database, see }) => ({
      ...storage,
      consents: {
        ...storage.consents,
        list: async (subject, now) =>
          (await database.consents.all()).filter(
            (one) => now < one.expiresAt && isSameSubject(see, subject)(one),
          ),
      },
    }),
  },
  {
    method: "consents.delete",
    takesIds: true,
    caughtBy: "consents.delete deletes all consents of one",
    blur: (storage, { database, see }) => ({
      ...storage,
      consents: {
        ...storage.consents,
        async delete({ selection, exceptEndMark }, now) {
          const found = await seen(database, { see, key: selection, now });
          const deleted = found.map((one) => storage.consents.delete({ selection: one, exceptEndMark }, now));
          return (await Promise.all(deleted)).includes(true);
        },
      },
    }),
  },
  {
    method: "authorizations.revokeAll",
    takesIds: true,
    caughtBy: "revokeAll revokes all authorizations of one",
    blur: (storage, { database, see }) => ({
      ...storage,
      authorizations: {
        ...storage.authorizations,
        async revokeAll(key, now) {
          const found = (await database.authorizations.all()).filter(
            (one) => !one.revoked && isSame(see, key)(keyOf(one)),
          );
          for (const { authorizationId } of found) await storage.authorizations.revoke(authorizationId, now);
          return found.length;
        },
      },
    }),
  },
  {
    method: "authorizations.narrowAll",
    takesIds: true,
    caughtBy: "narrowAll narrows all authorizations of one",
    blur: (storage, { database, see }) => ({
      ...storage,
      authorizations: {
        ...storage.authorizations,
        async narrowAll({ selection, scopes }, now) {
          const found = (await database.authorizations.all()).filter(
            (one) => !one.revoked && isSame(see, selection)(keyOf(one)),
          );
          const counts = found.map((one) =>
            storage.authorizations.narrowAll({ selection: keyOf(one), scopes }, now),
          );
          return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
        },
      },
    }),
  },
  {
    method: "authorizations.list",
    caughtBy: "list returns the living",
    blur: (storage, { database, see }) => ({
      ...storage,
      authorizations: {
        ...storage.authorizations,
        list: async (subject, { limit }, now) =>
          (await database.authorizations.all())
            .filter((one) => now < one.expiresAt && !one.revoked && isSameSubject(see, subject)(one))
            .toSorted(inListOrder)
            .slice(0, limit),
      },
    }),
  },
  {
    method: "authorizations.erase",
    caughtBy: "erase with a subject alone",
    blur: (storage, { database, see }) => ({
      ...storage,
      authorizations: {
        ...storage.authorizations,
        erase: ({ subject, authorizationId }) =>
          database.authorizations.deleteWhere(
            (one) =>
              isSameSubject(see, subject)(one) &&
              (authorizationId === undefined || one.authorizationId === authorizationId),
          ),
      },
    }),
  },
];

/** Each method with each difference ignored. */
export const subjectMistakes: readonly WrongAdapter[] = blurs.flatMap(
  ({ method, caughtBy, takesIds, blur }) =>
    Object.entries({ ...sights, ...(takesIds && sightsOfIds) }).map(([ignored, see]) => ({
      mistake: `${method} ignores ${ignored}`,
      caughtBy: [caughtBy],
      make: (database) => blur(tableStorage(database), { database, see }),
    })),
);
