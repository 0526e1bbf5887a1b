/** Mistakes with the list of authorizations and their erasure. */
import type { Authorization, Storage } from "../../../lib";
import { rule } from "./rules";
import { inListOrder, isLive } from "./table-storage";
import { ownNow, wrong, type WrongAdapter } from "./wrong-adapter";

type Authorizations = Storage["authorizations"];
type Own = (record: Authorization) => boolean;

/** A list by another choice, order or place to continue at. */
function listing(
  mistake: string,
  {
    caughtBy,
    isListed = () => true,
    order = inListOrder,
    isBehind = (last, other) => inListOrder(last, other) < 0,
    isPlace = () => true,
    withoutPlace = [],
  }: {
    caughtBy: readonly string[];
    isListed?: (record: Authorization, now: number) => boolean;
    order?: (a: Authorization, b: Authorization) => number;
    isBehind?: (last: Authorization, other: Authorization) => boolean;
    isPlace?: Own;
    withoutPlace?: "first page" | readonly [];
  },
): WrongAdapter {
  return wrong("authorizations", {
    mistake: `list ${mistake}`,
    caughtBy,
    change: ({ database }) => ({
      async list(subject, { after, limit }, now) {
        const own = (await database.authorizations.all()).filter((one) => one.subject === subject);
        const last = own.find((one) => one.authorizationId === after && isPlace(one));
        if (after !== undefined && !last && withoutPlace !== "first page") return [];
        return own
          .filter((one) => isListed(one, now) && (!last || isBehind(last, one)))
          .toSorted(order)
          .slice(0, limit);
      },
    }),
  });
}

const lives = (record: Authorization, now: number): boolean => isLive(now)(record) && !record.revoked;

/** Adapters that list too much, too little, or in another order. */
export const listMistakes: readonly WrongAdapter[] = [
  listing("gives expired ones", { caughtBy: [rule.listOrder], isListed: ({ revoked }) => !revoked }),
  listing("leaves out those that have expired by its own clock", {
    caughtBy: [rule.listOrder],
    isListed: (record, now) => lives(record, Math.max(now, ownNow())),
  }),
  listing("gives revoked ones", {
    caughtBy: [rule.listOrder, rule.listBehind, rule.listRevoked],
    isListed: (record, now) => isLive(now)(record),
  }),
  listing("begins with the one that expires first", {
    caughtBy: [rule.listOrder, rule.listPages],
    isListed: lives,
    order: (a, b) => inListOrder(b, a),
    isBehind: (last, other) => inListOrder(last, other) > 0,
  }),
  listing("continues behind all that expire at the same time", {
    caughtBy: [rule.listPages],
    isListed: lives,
    isBehind: (last, other) => other.expiresAt < last.expiresAt,
  }),
  listing("continues with all that expire at the same time", {
    caughtBy: [rule.listPages],
    isListed: lives,
    isBehind: (last, other) => other.expiresAt <= last.expiresAt && other !== last,
  }),
  listing("has no place for one that was revoked", {
    caughtBy: [rule.listBehind],
    isListed: lives,
    isPlace: ({ revoked }) => !revoked,
  }),
  listing("begins again behind an unknown one", {
    caughtBy: [rule.listBehind],
    isListed: lives,
    withoutPlace: "first page",
  }),
  wrong("authorizations", {
    mistake: "list ignores the limit",
    caughtBy: [rule.listPages],
    change: ({ storage }) => ({
      list: (subject, page, now) => storage.authorizations.list(subject, { ...page, limit: 1_000 }, now),
    }),
  }),
  wrong("authorizations", {
    mistake: "list has pages of three at most",
    caughtBy: [rule.listPages],
    change: ({ storage }) => ({
      list: (subject, { limit, ...page }, now) =>
        storage.authorizations.list(subject, { ...page, limit: Math.min(limit, 3) }, now),
    }),
  }),
  wrong("authorizations", {
    mistake: "list gives everybody's",
    caughtBy: [rule.listOrder],
    change: ({ database }) => ({
      list: async (_, { limit }, now) =>
        (await database.authorizations.all())
          .filter((one) => lives(one, now))
          .toSorted(inListOrder)
          .slice(0, limit),
    }),
  }),
  wrong("authorizations", {
    mistake: "list remembers an end user's first page",
    caughtBy: [rule.listRevoked],
    change({ storage }) {
      const known = new Map<string, ReturnType<Authorizations["list"]>>();
      return {
        list(subject, page, now) {
          const key = JSON.stringify([subject, page]);
          const listed = known.get(key) ?? storage.authorizations.list(subject, page, now);
          known.set(key, listed);
          return listed;
        },
      };
    },
  }),
];

/** `erase` of other records. */
function erasing(
  mistake: string,
  {
    caughtBy,
    isErased,
  }: {
    caughtBy: readonly string[];
    isErased: (record: Authorization, target: Parameters<Authorizations["erase"]>[0], now: number) => boolean;
  },
): WrongAdapter {
  return wrong("authorizations", {
    mistake: `erase ${mistake}`,
    caughtBy,
    change: ({ database }) => ({
      erase: (target, now) => database.authorizations.deleteWhere((one) => isErased(one, target, now)),
    }),
  });
}

type Target = Parameters<Authorizations["erase"]>[0];

const isTarget = (one: Authorization, { subject, authorizationId }: Target): boolean =>
  one.subject === subject && (authorizationId === undefined || one.authorizationId === authorizationId);

/** Adapters that erase too much, or too little. */
export const eraseMistakes: readonly WrongAdapter[] = [
  erasing("leaves revoked ones", {
    caughtBy: [rule.eraseAll, rule.eraseOne],
    isErased: (one, target) => isTarget(one, target) && !one.revoked,
  }),
  erasing("leaves expired ones", {
    caughtBy: [rule.eraseExpired],
    isErased: (one, target, now) => isTarget(one, target) && isLive(now)(one),
  }),
  erasing("leaves those that have expired by its own clock", {
    caughtBy: [rule.eraseExpired],
    isErased: (one, target) => isTarget(one, target) && isLive(ownNow())(one),
  }),
  erasing("ignores authorizationId", {
    caughtBy: [rule.eraseOne],
    isErased: (one, { subject }) => one.subject === subject,
  }),
  erasing("with an authorizationId ignores the subject", {
    caughtBy: [rule.eraseOne],
    isErased: (one, { subject, authorizationId = "" }) =>
      authorizationId === "" ? one.subject === subject : one.authorizationId === authorizationId,
  }),
  wrong("authorizations", {
    mistake: "erase only revokes",
    caughtBy: [rule.eraseAll, rule.eraseOne, rule.eraseExpired],
    change: ({ storage }) => ({
      erase: ({ subject }, now) => storage.authorizations.revokeAll({ subject }, now),
    }),
  }),
  wrong("authorizations", {
    mistake: "erase answers nothing",
    caughtBy: [rule.eraseAll, rule.eraseOne],
    change: ({ storage }) => ({
      async erase(target, now) {
        await storage.authorizations.erase(target, now);
        return undefined as unknown as number;
      },
    }),
  }),
  wrong("authorizations", {
    mistake: "erase rejects when somebody else was first",
    caughtBy: [rule.eraseExpired],
    change: ({ storage, database }) => ({
      async erase(target, now) {
        const before = await database.authorizations.count((one) => isTarget(one, target));
        const count = await storage.authorizations.erase(target, now);
        if (count < before) throw new Error("the number of deleted rows differs");
        return count;
      },
    }),
  }),
];
