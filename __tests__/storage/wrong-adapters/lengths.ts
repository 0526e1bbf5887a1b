/** Mistakes of columns that are too short. */
import type { ConsentKey, Storage } from "../../../lib";
import { rule } from "./rules";
import { consentId, isLive, live } from "./table-storage";
import { type Ports, wrong, type WrongAdapter } from "./wrong-adapter";

const parts = ["subject", "clientId", "contextKey"] as const;

function cutKey(part: (typeof parts)[number]): WrongAdapter {
  const cut = (key: ConsentKey): string => consentId({ ...key, [part]: key[part]?.slice(0, 100) ?? "" });
  return wrong("consents", {
    mistake: `the key has the first 100 characters of ${part}`,
    caughtBy: [rule.consentLongKeys],
    change: ({ database: { consents } }) => ({
      find: async (key, now) => live(await consents.get(cut(key)), now),
      save: (consent) => consents.set(cut(consent), consent),
      delete: ({ selection }) => consents.delete(cut(selection as ConsentKey)),
    }),
  });
}

type Store = (record: object, ...rest: readonly unknown[]) => Promise<void>;

function shortColumn<Port extends Ports>(
  port: Port,
  { method, caughtBy }: { method: string & keyof Storage[Port]; caughtBy: string },
): WrongAdapter {
  return wrong(port, {
    mistake: `${method} rejects records of more than 2,000 characters`,
    caughtBy: [caughtBy],
    change({ storage }) {
      const store = storage[port][method] as Store;
      const checked: Store = async (record, ...rest) => {
        if (JSON.stringify(record).length > 2_000) throw new Error("value too long for type varchar(2000)");
        return store(record, ...rest);
      };
      return { [method]: checked } as Partial<Storage[Port]>;
    },
  });
}

/** The part of the key of an end mark before the dot, and that behind it. */
const halves = { front: (key: string) => key.split(".")[0], back: (key: string) => key.split(".")[1] };

function halfKey(half: keyof typeof halves, caughtBy: readonly string[]): WrongAdapter {
  const partOf = halves[half];
  return wrong("endMarks", {
    mistake: `the ${half} part of the key counts alone`,
    caughtBy,
    change: ({ database }) => ({
      save: (endMark) => database.endMarks.set(partOf(endMark.key) ?? "", endMark),
      async find(keys, now) {
        const found = await database.endMarks.where(isLive(now));
        return keys.map((key) => found.find((one) => partOf(one.key) === partOf(key))?.mark);
      },
    }),
  });
}

/** Adapters that look at a part of what they store. */
export const lengthMistakes: readonly WrongAdapter[] = [
  ...parts.map(cutKey),
  shortColumn("authorizations", { method: "create", caughtBy: rule.authorizationFind }),
  shortColumn("accessTokens", { method: "create", caughtBy: rule.accessFind }),
  shortColumn("consents", { method: "save", caughtBy: rule.consentFind }),
  halfKey("front", [rule.endMarkMany, rule.endMarkNone]),
  halfKey("back", [rule.endMarkNone]),
];
