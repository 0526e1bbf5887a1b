/** Mistakes of a database that takes one person for another: some ignore spaces at the end of a text, some its case. */
import type { AuthorizationSelection, Consent, ConsentKey, EpochSeconds, Storage } from "../../../lib";
import { rule } from "./rules";
import { type Database as AllTables, inListOrder, isSelected, keyOf } from "./table-storage";

/** The tables that a mistake here looks through. */
interface Tables {
  readonly consents: { all(): Promise<readonly Consent[]> };
  readonly authorizations: Pick<AllTables["authorizations"], "all" | "deleteWhere">;
}

const sights: Readonly<Record<string, (subject: string) => string>> = {
  "spaces at the end": (subject) => subject.trimEnd(),
  "spaces in front": (subject) => subject.trimStart(),
  case: (subject) => subject.toLowerCase(),
  "the two forms of a letter": (subject) => subject.normalize("NFC"),
  "invisible characters": (subject) => subject.replace(/[\u00ad\u200b]/g, ""),
};

type See = (subject: string) => string;

const isSame =
  (see: See, selection: AuthorizationSelection) =>
  (other: ConsentKey): boolean =>
    see(other.subject) === see(selection.subject) &&
    isSelected({ ...selection, subject: other.subject })(other);

/** The consents that a blurred look takes for those of a key, among all that live. */
async function seen(
  { consents }: Tables,
  look: { see: See; key: AuthorizationSelection; now: EpochSeconds },
) {
  const living = (await consents.all()).filter(({ expiresAt }) => look.now < expiresAt);
  return living.filter(isSame(look.see, look.key));
}

/** The right adapter with one method that ignores such a difference. */
type Blur = (storage: Storage, from: { database: Tables; see: See }) => Storage;

const blurs: readonly { readonly method: string; readonly caughtBy: string; readonly blur: Blur }[] = [
  {
    method: "consents.find",
    caughtBy: "consents.find returns nothing for a key that differs in any part",
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
    caughtBy: "consents.list returns all living consents of one end user, and no others",
    blur: (storage, { database, see }) => ({
      ...storage,
      consents: {
        ...storage.consents,
        list: async (subject, now) =>
          (await database.consents.all()).filter(
            (one) => now < one.expiresAt && see(one.subject) === see(subject),
          ),
      },
    }),
  },
  {
    method: "consents.delete",
    caughtBy: "consents.delete deletes this one consent, and does nothing when there is none",
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
    caughtBy:
      "authorizations.revokeAll revokes all authorizations of one end user for one client at one API, and no others",
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
    method: "authorizations.list",
    caughtBy: rule.listOrder,
    blur: (storage, { database, see }) => ({
      ...storage,
      authorizations: {
        ...storage.authorizations,
        list: async (subject, { limit }, now) =>
          (await database.authorizations.all())
            .filter((one) => now < one.expiresAt && !one.revoked && see(one.subject) === see(subject))
            .toSorted(inListOrder)
            .slice(0, limit),
      },
    }),
  },
  {
    method: "authorizations.erase",
    caughtBy: rule.eraseAll,
    blur: (storage, { database, see }) => ({
      ...storage,
      authorizations: {
        ...storage.authorizations,
        erase: ({ subject, authorizationId }) =>
          database.authorizations.deleteWhere(
            (one) =>
              see(one.subject) === see(subject) &&
              (authorizationId === undefined || one.authorizationId === authorizationId),
          ),
      },
    }),
  },
];

interface SubjectMistake<Database> {
  readonly mistake: string;
  readonly caughtBy: readonly string[];
  readonly make: (database: Database) => Storage;
}

/** Each method with each difference ignored, planted in the right adapter. */
export function subjectMistakes<Database extends Tables>(
  rightStorage: (database: Database) => Storage,
): readonly SubjectMistake<Database>[] {
  return blurs.flatMap(({ method, caughtBy, blur }) =>
    Object.entries(sights).map(([ignored, see]) => ({
      mistake: `${method} ignores ${ignored} in subjects`,
      caughtBy: [caughtBy],
      make: (database) => blur(rightStorage(database), { database, see }),
    })),
  );
}
