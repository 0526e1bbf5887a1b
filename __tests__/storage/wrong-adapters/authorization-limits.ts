/** Mistakes with the limit of authorizations. */
import { type Authorization, type ListedAuthorization, maxAuthorizations } from "../../../lib";
import { rule } from "./rules";
import { inListOrder, isLive, isSelected, keyOf } from "./table-storage";
import { type Process, wrong, type WrongAdapter } from "./wrong-adapter";

/** `create` that keeps another limit. */
function limiting(
  mistake: string,
  {
    caughtBy,
    end,
  }: {
    caughtBy: readonly string[];
    end: (created: Authorization, living: readonly ListedAuthorization[]) => readonly Authorization[];
  },
): WrongAdapter {
  const create = async ({ storage, database }: Process, created: Authorization, now: number) => {
    await database.authorizations.set(created.authorizationId, created);
    const own = await database.authorizations.count((one) => one.subject === created.subject);
    if (own <= maxAuthorizations) return;
    const living = (await database.authorizations.all()).filter(
      (one) => one.subject === created.subject && !one.revoked && isLive(now)(one),
    );
    for (const { authorizationId } of end(created, living.toSorted(inListOrder)))
      await storage.authorizations.revoke(authorizationId, now);
  };
  return wrong("authorizations", {
    mistake: `create ${mistake}`,
    caughtBy,
    change: (process) => ({ create: (created, now) => create(process, created, now) }),
  });
}

type Order = (a: ListedAuthorization, b: ListedAuthorization) => number;

const isUsed = ({ lastUsedAt }: ListedAuthorization): boolean => lastUsedAt !== undefined;
const byAge: Order = (a, b) => a.createdAt - b.createdAt;
const byEnd: Order = (a, b) => a.expiresAt - b.expiresAt;
const byLastUse: Order = (a, b) => (a.lastUsedAt ?? 0) - (b.lastUsedAt ?? 0);

const alike = (
  created: Authorization,
  living: readonly ListedAuthorization[],
): readonly ListedAuthorization[] => living.filter((one) => isSelected(keyOf(created))(keyOf(one)));

const others = (created: Authorization, living: readonly ListedAuthorization[]) =>
  alike(created, living).filter((one) => one.authorizationId !== created.authorizationId);

/** Those beyond `count`, of which the first ones in this order go. */
const beyond = (
  count: number,
  { of, order }: { of: readonly ListedAuthorization[]; order: Order },
): readonly ListedAuthorization[] => of.toSorted(order).slice(0, Math.max(0, of.length - count));

/** Ends those of each pool by its own order; without an order it ends none. */
const apart =
  ({ used, unused }: { used?: Order; unused?: Order }) =>
  (created: Authorization, living: readonly ListedAuthorization[]): readonly ListedAuthorization[] => {
    const [inUse, waiting] = [true, false].map((is) =>
      others(created, living).filter((one) => isUsed(one) === is),
    );
    return [
      ...(used ? beyond(maxAuthorizations, { of: inUse ?? [], order: used }) : []),
      ...(unused ? beyond(maxAuthorizations - 1, { of: waiting ?? [], order: unused }) : []),
    ];
  };

/** Ends those of both pools together. */
const together =
  (order: Order) =>
  (created: Authorization, living: readonly ListedAuthorization[]): readonly ListedAuthorization[] =>
    beyond(maxAuthorizations - 1, { of: others(created, living), order });

/** Adapters that end the wrong authorizations where there are too many. */
export const limitMistakes: readonly WrongAdapter[] = [
  limiting("has no limit", { caughtBy: [rule.limit, rule.limitAfterRace, rule.limitApart], end: () => [] }),
  limiting("has no limit for what is in use", {
    caughtBy: [rule.limitApart],
    end: apart({ unused: byAge }),
  }),
  limiting("has no limit for what was never used", {
    caughtBy: [rule.limit, rule.limitAfterRace, rule.limitApart],
    end: apart({ used: byLastUse }),
  }),
  limiting("limits all authorizations of an end user", {
    caughtBy: [rule.limit],
    end: (_, living) => beyond(maxAuthorizations, { of: living, order: byAge }),
  }),
  limiting("limits those of every context together", {
    caughtBy: [rule.limit],
    end: ({ subject, clientId, apiId }, living) => {
      const of = living.filter((one) => isSelected({ subject, clientId, apiId })(keyOf(one)));
      return beyond(maxAuthorizations, { of, order: byAge });
    },
  }),
  limiting("takes clients and APIs whose ids differ in case for the same", {
    caughtBy: [rule.limit],
    end({ subject, clientId, apiId, context }, living) {
      const ids = [clientId, apiId].join(" ").toLowerCase();
      const of = living.filter(
        (one) =>
          [one.clientId, one.apiId].join(" ").toLowerCase() === ids &&
          one.context?.key === context?.key &&
          one.subject === subject,
      );
      return beyond(maxAuthorizations, { of, order: byAge });
    },
  }),
  limiting("may end the new one itself", {
    caughtBy: [rule.limit],
    end: (created, living) => beyond(maxAuthorizations, { of: alike(created, living), order: byAge }),
  }),
  limiting("ends all the others where there are too many", {
    caughtBy: [rule.limit, rule.limitAfterRace],
    end(created, living) {
      const own = others(created, living);
      return own.length >= maxAuthorizations ? own : [];
    },
  }),
  limiting("counts what is in use and what was never used together, and ends the latter first", {
    caughtBy: [rule.limitApart, rule.limitAtOnce],
    end: together((a, b) => Number(isUsed(a)) - Number(isUsed(b)) || byAge(a, b)),
  }),
  limiting("counts them together, and ends what is in use first", {
    caughtBy: [rule.limitApart],
    end: together((a, b) => Number(isUsed(b)) - Number(isUsed(a)) || byAge(a, b)),
  }),
  limiting("ends those that expire first, whether or not they were used", {
    caughtBy: [rule.limit, rule.limitApart, rule.limitAtOnce],
    end: together(byEnd),
  }),
  limiting("ends the newest of those that were never used", {
    caughtBy: [rule.limit, rule.limitAfterRace, rule.limitApart],
    end: apart({ used: byLastUse, unused: (a, b) => byAge(b, a) }),
  }),
  limiting("ends the one that expires first of those that were never used", {
    caughtBy: [rule.limit, rule.limitApart],
    end: apart({ used: byLastUse, unused: byEnd }),
  }),
  limiting("ends the oldest of those in use", {
    caughtBy: [rule.limitApart],
    end: apart({ used: byAge, unused: byAge }),
  }),
  limiting("ends the one that expires first of those in use", {
    caughtBy: [rule.limitApart],
    end: apart({ used: byEnd, unused: byAge }),
  }),
  wrong("authorizations", {
    mistake: "create drops what has expired by the caller's clock",
    caughtBy: [rule.limitSlowClock],
    change: ({ storage, database }) => ({
      async create(created, now) {
        await storage.authorizations.create(created, now);
        await database.authorizations.deleteWhere(
          (one) => one.subject === created.subject && !isLive(now)(one),
        );
      },
    }),
  }),
  limiting("ends one too many, and not what simultaneous calls have left", {
    caughtBy: [rule.limitAfterRace],
    end(created, living) {
      const earlier = others(created, living);
      return earlier.length >= maxAuthorizations ? earlier.toSorted(byAge).slice(0, 1) : [];
    },
  }),
];
