/** Mistakes with clients that have registered themselves. */
import type { EpochSeconds, Storage } from "../../../lib";
import { rule } from "./rules";
import { inRegistrationOrder, isLive, type RegistrationRow } from "./table-storage";
import { newLock, ownNow, type Process, wrong, type WrongAdapter } from "./wrong-adapter";

type Port = Storage["clientRegistrations"];

const port = "clientRegistrations";

/** Adapters that find or extend the wrong registration, or none. */
export const registrationMistakes: readonly WrongAdapter[] = [
  wrong(port, {
    mistake: "find ignores case",
    caughtBy: [rule.registrationNone],
    change: ({ database }) => ({
      async find(clientId, now) {
        const living = await database.clientRegistrations.where(isLive(now));
        const id = clientId.toLowerCase();
        return living.find(({ client }) => client.clientId.toLowerCase() === id)?.client;
      },
    }),
  }),
  wrong(port, {
    mistake: "find takes the id for a pattern",
    caughtBy: [rule.registrationNone],
    change: ({ database }) => ({
      async find(clientId, now) {
        const living = await database.clientRegistrations.where(isLive(now));
        const literal = clientId.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
        const pattern = new RegExp(`^${literal.replaceAll("%", ".*").replaceAll("_", ".")}$`);
        return living.find(({ client }) => pattern.test(client.clientId))?.client;
      },
    }),
  }),
  wrong(port, {
    mistake: "ids are cut at 191",
    caughtBy: [rule.registrationNone],
    change: ({ database }) => ({
      async find(clientId, now) {
        const living = await database.clientRegistrations.where(isLive(now));
        return living.find(({ client }) => client.clientId.slice(0, 191) === clientId.slice(0, 191))?.client;
      },
    }),
  }),
  wrong(port, {
    mistake: "find also finds registered clients",
    caughtBy: [rule.registrationNone],
    change: ({ storage }) => ({
      find: async (clientId, now) =>
        (await storage.clientRegistrations.find(clientId, now)) ?? (await storage.clients.find(clientId)),
    }),
  }),
  wrong("clients", {
    mistake: "find also finds those that have registered themselves",
    caughtBy: [rule.registrationNone],
    change: ({ storage }) => ({
      find: async (clientId) =>
        (await storage.clients.find(clientId)) ?? (await storage.clientRegistrations.find(clientId, 0)),
    }),
  }),
  wrong(port, {
    mistake: "find keeps what it has found in its process",
    caughtBy: [rule.registrationEnd],
    change({ storage }) {
      const known = new Map<string, Awaited<ReturnType<Port["find"]>>>();
      return {
        async find(clientId, now) {
          const found = known.get(clientId) ?? (await storage.clientRegistrations.find(clientId, now));
          if (found) known.set(clientId, found);
          return structuredClone(found);
        },
      };
    },
  }),
  wrong(port, {
    mistake: "find deletes by the clock of the database",
    caughtBy: [rule.registrationEnd],
    change: ({ storage, database }) => ({
      async find(clientId, now) {
        await database.clientRegistrations.deleteWhere((one) => !isLive(ownNow())(one));
        return storage.clientRegistrations.find(clientId, now);
      },
    }),
  }),
  wrong(port, {
    mistake: "extend brings back what has ended",
    caughtBy: [rule.registrationEnd],
    change: ({ storage }) => ({
      extend: (registration) => storage.clientRegistrations.extend(registration, 0),
    }),
  }),
  wrong(port, {
    mistake: "extend answers true for what is not there",
    caughtBy: [rule.registrationNone, rule.registrationEnd],
    change: ({ storage }) => ({
      async extend(registration, now) {
        await storage.clientRegistrations.extend(registration, now);
        return true;
      },
    }),
  }),
  wrong(port, {
    mistake: "extend sets the end, even to an earlier time",
    caughtBy: [rule.registrationExtend],
    change: ({ database }) => ({
      extend: ({ clientId, expiresAt }, now) =>
        database.clientRegistrations.update(clientId, (one) =>
          isLive(now)(one) ? { ...one, extended: true, expiresAt } : undefined,
        ),
    }),
  }),
  wrong(port, {
    mistake: "extend answers false where the end stays",
    caughtBy: [rule.registrationExtend],
    change: ({ database }) => ({
      extend: ({ clientId, expiresAt }, now) =>
        database.clientRegistrations.update(clientId, (one) =>
          isLive(now)(one) && expiresAt > one.expiresAt ? { ...one, extended: true, expiresAt } : undefined,
        ),
    }),
  }),
  wrong(port, {
    mistake: "extend moves the end of all",
    caughtBy: [rule.registrationExtend],
    change: ({ storage, database }) => ({
      async extend({ clientId, expiresAt }, now) {
        const ids = (await database.clientRegistrations.where(isLive(now))).map(
          ({ client }) => client.clientId,
        );
        const extended = ids.map((id) =>
          storage.clientRegistrations.extend({ clientId: id, expiresAt }, now),
        );
        await Promise.all(extended);
        return ids.includes(clientId);
      },
    }),
  }),
  wrong(port, {
    mistake: "extend works only in the process that registered",
    caughtBy: [rule.registrationFind],
    change({ storage }) {
      const own = new Set<string>();
      return {
        create(registration, bound) {
          own.add(registration.client.clientId);
          return storage.clientRegistrations.create(registration, bound);
        },
        extend: async (registration, now) =>
          own.has(registration.clientId) && storage.clientRegistrations.extend(registration, now),
      };
    },
  }),
  wrong(port, {
    mistake: "extend stores the record anew, without its keys",
    caughtBy: [rule.registrationFind],
    change: ({ storage, database }) => ({
      async extend(registration, now) {
        const extended = await storage.clientRegistrations.extend(registration, now);
        await database.clientRegistrations.update(registration.clientId, (one) => {
          const { jwks: _, ...client } = one.client as typeof one.client & { jwks?: unknown };
          return { ...one, client: client as typeof one.client };
        });
        return extended;
      },
    }),
  }),
  wrong(port, {
    mistake: "create keeps the caller's own object",
    caughtBy: [rule.ownership],
    change({ storage }) {
      const kept = new Map<string, RegistrationRow["client"]>();
      return {
        create(registration, bound) {
          kept.set(registration.client.clientId, registration.client);
          return storage.clientRegistrations.create(registration, bound);
        },
        async find(clientId, now) {
          const found = await storage.clientRegistrations.find(clientId, now);
          return found && (kept.get(clientId) ?? found);
        },
      };
    },
  }),
];

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
      const others = counted.filter((one) => !stays(one)).toSorted(order);
      const going = others.slice(0, goes(Math.max(0, counted.length + 1 - limit)));
      const ids = new Set(going.map((one) => one.client.clientId));
      await clientRegistrations.deleteWhere((one) => mayGoLater(one) && ids.has(one.client.clientId));
      return "created";
    },
  };
}

const limitMistakes: readonly (readonly [string, string, Wrongness])[] = [
  ["create knows no limit", rule.registrationLimit, { goes: () => 0 }],
  ["create removes the newest", rule.registrationLimit, { order: (a, b) => inRegistrationOrder(b, a) }],
  [
    "create removes one too many",
    rule.registrationLimit,
    { goes: (surplus) => (surplus > 0 ? surplus + 1 : 0) },
  ],
  [
    "create removes all that were never extended",
    rule.registrationLimit,
    { goes: (n) => (n > 0 ? Infinity : 0) },
  ],
  [
    "create removes the oldest, extended or not",
    rule.registrationFull,
    { stays: () => false, mayGoLater: () => true },
  ],
  [
    "create does not count those that were extended",
    rule.registrationLimit,
    { counts: (one, now) => !one.extended && isLive(now)(one) },
  ],
  ["create removes one at the most", rule.registrationShrunk, { goes: (surplus) => Math.min(surplus, 1) }],
  [
    "create takes one more where all were extended",
    rule.registrationFull,
    { isFull: ({ limit, staying }) => staying > limit },
  ],
  ["create counts those that have expired", rule.registrationExpired, { counts: () => true }],
  ["create removes one that was extended meanwhile", rule.registrationAgreed, { mayGoLater: () => true }],
];

/** Adapters that keep too many registrations, or remove the wrong ones. */
export const registrationLimitMistakes: readonly WrongAdapter[] = [
  ...limitMistakes.map(([mistake, caughtBy, wrongness]) =>
    wrong(port, { mistake, caughtBy: [caughtBy], change: (process) => creating(process, wrongness) }),
  ),
  wrong(port, {
    mistake: "create is full as soon as the limit is reached",
    caughtBy: [rule.registrationLimit],
    change: ({ storage, database }) => ({
      async create(registration, bound) {
        const living = await database.clientRegistrations.count(isLive(bound.now));
        return living >= bound.limit ? "full" : storage.clientRegistrations.create(registration, bound);
      },
    }),
  }),
  wrong(port, {
    mistake: "create keeps no places for new ones",
    caughtBy: [rule.registrationReserved],
    change: ({ storage }) => ({
      create: (registration, { limit, now }) =>
        storage.clientRegistrations.create(registration, { limit, now }),
    }),
  }),
  wrong(port, {
    mistake: "create makes room although it is full",
    caughtBy: [rule.registrationFull],
    change: ({ storage, database }) => ({
      async create(registration, bound) {
        const outcome = await storage.clientRegistrations.create(registration, bound);
        if (outcome === "full") await database.clientRegistrations.deleteWhere((one) => !one.extended);
        return outcome;
      },
    }),
  }),
  wrong(port, {
    mistake: "create counts in its own process",
    caughtBy: [rule.registrationRace],
    change({ database }) {
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
  }),
  wrong(port, {
    mistake: "extend leaves it among those that go",
    caughtBy: [rule.registrationLimit, rule.registrationFull, rule.registrationRace],
    change: ({ database }) => ({
      extend: ({ clientId, expiresAt }, now) =>
        database.clientRegistrations.update(clientId, (one) =>
          isLive(now)(one) ? { ...one, expiresAt: Math.max(one.expiresAt, expiresAt) } : undefined,
        ),
    }),
  }),
];
