/** Mistakes with how many authorizations and registrations there may be. */
import {
  type Authorization,
  type EpochSeconds,
  type ListedAuthorization,
  maxAuthorizations,
  type Storage,
} from "../../../../lib";
import {
  inListOrder,
  inRegistrationOrder,
  isLive,
  isSelected,
  keyOf,
  type RegistrationRow,
} from "./table-storage";
import { newLock, planted, type Process, wrong, type WrongAdapter } from "./wrong-adapter";

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
const authorizationLimitMistakes: readonly WrongAdapter[] = [
  ...planted("authorizations", {
    "what a slower clock calls living": {
      "create drops what has expired by the caller's clock": ({ storage, database }) => ({
        async create(created, now) {
          await storage.authorizations.create(created, now);
          await database.authorizations.deleteWhere(
            (one) => one.subject === created.subject && !isLive(now)(one),
          );
        },
      }),
    },
  }),
  limiting("has no limit", {
    caughtBy: [
      "create revokes the oldest",
      "authorizations.create returns to the limit",
      "counts what is in use apart",
    ],
    end: () => [],
  }),
  limiting("has no limit for what is in use", {
    caughtBy: ["counts what is in use apart"],
    end: apart({ unused: byAge }),
  }),
  limiting("has no limit for what was never used", {
    caughtBy: [
      "create revokes the oldest",
      "authorizations.create returns to the limit",
      "counts what is in use apart",
    ],
    end: apart({ used: byLastUse }),
  }),
  limiting("limits all authorizations of an end user", {
    caughtBy: ["create revokes the oldest"],
    end: (_, living) => beyond(maxAuthorizations, { of: living, order: byAge }),
  }),
  limiting("limits those of every context together", {
    caughtBy: ["create revokes the oldest"],
    end: ({ subject, clientId, apiId }, living) => {
      const of = living.filter((one) => isSelected({ subject, clientId, apiId })(keyOf(one)));
      return beyond(maxAuthorizations, { of, order: byAge });
    },
  }),
  limiting("takes clients and APIs whose ids differ in case for the same", {
    caughtBy: ["create revokes the oldest"],
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
    caughtBy: ["create revokes the oldest"],
    end: (created, living) => beyond(maxAuthorizations, { of: alike(created, living), order: byAge }),
  }),
  limiting("ends all the others where there are too many", {
    caughtBy: ["create revokes the oldest", "authorizations.create returns to the limit"],
    end(created, living) {
      const own = others(created, living);
      return own.length >= maxAuthorizations ? own : [];
    },
  }),
  limiting("counts what is in use and what was never used together, and ends the latter first", {
    caughtBy: ["counts what is in use apart", "each of 16 simultaneous sign-ins"],
    end: together((a, b) => Number(isUsed(a)) - Number(isUsed(b)) || byAge(a, b)),
  }),
  limiting("counts them together, and ends what is in use first", {
    caughtBy: ["counts what is in use apart"],
    end: together((a, b) => Number(isUsed(b)) - Number(isUsed(a)) || byAge(a, b)),
  }),
  limiting("ends those that expire first, whether or not they were used", {
    caughtBy: [
      "create revokes the oldest",
      "counts what is in use apart",
      "each of 16 simultaneous sign-ins",
    ],
    end: together(byEnd),
  }),
  limiting("ends the newest of those that were never used", {
    caughtBy: [
      "create revokes the oldest",
      "authorizations.create returns to the limit",
      "counts what is in use apart",
    ],
    end: apart({ used: byLastUse, unused: (a, b) => byAge(b, a) }),
  }),
  limiting("ends the one that expires first of those that were never used", {
    caughtBy: ["create revokes the oldest", "counts what is in use apart"],
    end: apart({ used: byLastUse, unused: byEnd }),
  }),
  limiting("ends the oldest of those in use", {
    caughtBy: ["counts what is in use apart"],
    end: apart({ used: byAge, unused: byAge }),
  }),
  limiting("ends the one that expires first of those in use", {
    caughtBy: ["counts what is in use apart"],
    end: apart({ used: byEnd, unused: byAge }),
  }),
  limiting("ends one too many, and not what simultaneous calls have left", {
    caughtBy: ["authorizations.create returns to the limit"],
    end(created, living) {
      const earlier = others(created, living);
      return earlier.length >= maxAuthorizations ? earlier.toSorted(byAge).slice(0, 1) : [];
    },
  }),
];

type Port = Storage["clientRegistrations"];

const port = "clientRegistrations";

interface Wrongness {
  /** Which of the stored ones are counted and may go. */
  readonly counts?: (one: RegistrationRow, now: EpochSeconds) => boolean;
  readonly stays?: (one: RegistrationRow) => boolean;
  readonly order?: (a: RegistrationRow, b: RegistrationRow) => number;
  /** How many go, of those that are too many. */
  readonly goes?: (surplus: number) => number;
  /** True when there is no room. */
  readonly isFull?: (counts: { limit: number; staying: number }) => boolean;
  readonly mayGoLater?: (one: RegistrationRow) => boolean;
}

const isExtended = ({ extended }: RegistrationRow): boolean => extended;

/** A `create` like that of the right adapter, but for one of its parts. */
function creating(
  { database }: Process,
  {
    counts = (one, now) => isLive(now)(one),
    stays = isExtended,
    order = inRegistrationOrder,
    goes = (surplus) => surplus,
    isFull = ({ limit, staying }) => staying >= limit,
    mayGoLater = (one) => !one.extended,
  }: Wrongness,
): Pick<Port, "create"> {
  const { clientRegistrations } = database;
  return {
    async create({ client, expiresAt }, { limit, now }) {
      const counted = await clientRegistrations.where((one) => counts(one, now));
      if (isFull({ limit, staying: counted.filter(stays).length })) return "full";
      await clientRegistrations.set(client.clientId, { client, expiresAt, extended: false });
      const fresh = counted.filter((one) => !stays(one)).toSorted(order);
      const going = fresh.slice(0, goes(Math.max(0, counted.length + 1 - limit)));
      const ids = new Set(going.map((one) => one.client.clientId));
      await clientRegistrations.deleteWhere((one) => mayGoLater(one) && ids.has(one.client.clientId));
      return "created";
    },
  };
}

const registrationTable: readonly (readonly [string, string, Wrongness])[] = [
  ["create knows no limit", "create at its limit", { goes: () => 0 }],
  ["create removes the newest", "create at its limit", { order: (a, b) => inRegistrationOrder(b, a) }],
  [
    "create removes one too many",
    "create at its limit",
    { goes: (surplus) => (surplus > 0 ? surplus + 1 : 0) },
  ],
  [
    "create removes all that were never extended",
    "create at its limit",
    { goes: (n) => (n > 0 ? Infinity : 0) },
  ],
  [
    "create removes the oldest, extended or not",
    "full and changes nothing",
    { stays: () => false, mayGoLater: () => true },
  ],
  [
    "create does not count those that were extended",
    "create at its limit",
    { counts: (one, now) => !one.extended && isLive(now)(one) },
  ],
  ["create removes one at the most", "with a smaller limit", { goes: (surplus) => Math.min(surplus, 1) }],
  [
    "create takes one more where all were extended",
    "full and changes nothing",
    { isFull: ({ limit, staying }) => staying > limit },
  ],
  ["create counts those that have expired", "no room to registrations", { counts: () => true }],
  ["create removes one that was extended meanwhile", "simultaneous create agree", { mayGoLater: () => true }],
];

/** Adapters that keep too many registrations, or remove the wrong ones. */
const registrationLimitMistakes: readonly WrongAdapter[] = [
  ...planted("clientRegistrations", {
    "create at its limit": {
      "create is full as soon as the limit is reached": ({ storage, database }) => ({
        async create(registration, bound) {
          const living = await database.clientRegistrations.count(isLive(bound.now));
          return living >= bound.limit ? "full" : storage.clientRegistrations.create(registration, bound);
        },
      }),
    },
    "reserved for new ones": {
      "create keeps no places for new ones": ({ storage }) => ({
        create: (registration, { limit, now }) =>
          storage.clientRegistrations.create(registration, { limit, now }),
      }),
    },
    "full and changes nothing": {
      "create makes room although it is full": ({ storage, database }) => ({
        async create(registration, bound) {
          const outcome = await storage.clientRegistrations.create(registration, bound);
          if (outcome === "full") await database.clientRegistrations.deleteWhere((one) => !one.extended);
          return outcome;
        },
      }),
    },
    "clientRegistrations.create returns to its limit": {
      "create counts in its own process"({ database }) {
        const own = new Set<string>();
        const lock = newLock();
        const { create } = creating({ database } as Process, {
          counts: (one, now) => isLive(now)(one) && (one.extended || own.has(one.client.clientId)),
        });
        return {
          create: (registration, bound) =>
            lock(() => {
              own.add(registration.client.clientId);
              return create(registration, bound);
            }),
        };
      },
    },
    "create at its limit | full and changes nothing | clientRegistrations.create returns to its limit": {
      "extend leaves it among those that go": ({ database }) => ({
        extend: ({ clientId, expiresAt }, now) =>
          database.clientRegistrations.update(clientId, (one) =>
            isLive(now)(one) ? { ...one, expiresAt: Math.max(one.expiresAt, expiresAt) } : undefined,
          ),
      }),
    },
  }),
  ...registrationTable.map(([mistake, caughtBy, wrongness]) =>
    wrong(port, { mistake, caughtBy: [caughtBy], change: (process) => creating(process, wrongness) }),
  ),
];

/** All of them. */
export const limitMistakes: readonly WrongAdapter[] = [
  ...authorizationLimitMistakes,
  ...registrationLimitMistakes,
];
