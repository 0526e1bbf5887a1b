/** Mistakes with requests that wait for a person, or were answered by one. */
import type { EpochSeconds, ParkedRequest, ParkedRequestStore } from "../../../../lib";
import { isLive } from "./table-storage";
import {
  cachingFind,
  newLock,
  ownNow,
  planted,
  type Process,
  wrong,
  type WrongAdapter,
} from "./wrong-adapter";

/** Adapters that let a request be answered twice, or disagree on the answer that has won. */
const answeringMistakes: readonly WrongAdapter[] = planted("parkedRequests", {
  "parkedRequests.create has one winner": {
    "create looks first and writes then": ({ database: { parkedRequests } }) => ({
      async create(request, { now }) {
        const found = await parkedRequests.get(request.key);
        if (found && isLive(now)(found)) return "taken";
        await parkedRequests.set(request.key, request);
        return "created";
      },
    }),
    "create looks first and writes then, under a lock of its process"({ database: { parkedRequests } }) {
      const lock = newLock();
      return {
        create: (request) =>
          lock(async () => {
            if (await parkedRequests.get(request.key)) return "taken";
            await parkedRequests.set(request.key, request);
            return "created";
          }),
      };
    },
    "create keeps the key first, and who has answered then": ({ database: { parkedRequests } }) => ({
      async create(request) {
        if (!(await parkedRequests.add(request.key, { ...request, by: "" }))) return "taken";
        await parkedRequests.get(request.key);
        await parkedRequests.set(request.key, request);
        return "created";
      },
    }),
  },
  "parkedRequests.create uses a request once": {
    "create overwrites the first answer and says that it is taken": ({ storage, database }) => ({
      async create(request, bound) {
        const outcome = await storage.parkedRequests.create(request, bound);
        await database.parkedRequests.set(request.key, request);
        return outcome;
      },
    }),
    "create overwrites": ({ database }) => ({
      async create(request) {
        await database.parkedRequests.set(request.key, request);
        return "created";
      },
    }),
    "create answers created, whoever was first": ({ storage }) => ({
      create: (request, bound) => storage.parkedRequests.create(request, bound).then(() => "created"),
    }),
    "create answers taken, also to the first": ({ storage }) => ({
      create: (request, bound) => storage.parkedRequests.create(request, bound).then(() => "taken"),
    }),
    "create answers true and false": ({ storage }) => ({
      create: async (request, bound) =>
        ((await storage.parkedRequests.create(request, bound)) === "created") as unknown as "created",
    }),
    "create keeps each answer": ({ database: { parkedRequests } }) => ({
      create: async (request) =>
        (await parkedRequests.add(`${request.key} ${request.by}`, request)) ? "created" : "taken",
    }),
    "create knows only what this process has stored"({ database: { parkedRequests } }) {
      const own = new Set<string>();
      return {
        async create(request) {
          if (own.has(request.key)) return "taken";
          own.add(request.key);
          await parkedRequests.set(request.key, request);
          return "created";
        },
      };
    },
    "create forgets after a minute": ({ storage, database }) => ({
      async create(request, bound) {
        await database.parkedRequests.deleteWhere(({ expiresAt }) => expiresAt - 240 <= bound.now);
        return storage.parkedRequests.create(request, bound);
      },
    }),
    "find gives the answer of the last call in this process"({ storage }) {
      const last = new Map<string, ParkedRequest>();
      return {
        create(request, bound) {
          last.set(request.key, request);
          return storage.parkedRequests.create(request, bound);
        },
        async find(key, now) {
          const found = await storage.parkedRequests.find(key, now);
          return found && { ...found, ...last.get(key) };
        },
      };
    },
    "find remembers that there is none"({ storage }) {
      const none = new Set<string>();
      return {
        async find(key, now) {
          const found = none.has(key) ? undefined : await storage.parkedRequests.find(key, now);
          if (!found) none.add(key);
          return found;
        },
      };
    },
  },
  "parkedRequests.create keeps the end": {
    "create moves the end": ({ storage, database }) => ({
      async create(request, bound) {
        const outcome = await storage.parkedRequests.create(request, bound);
        const { expiresAt } = request;
        await database.parkedRequests.update(request.key, (first) => ({ ...first, expiresAt }));
        return outcome;
      },
    }),
    "create deletes by the clock of the database": ({ storage, database }) => ({
      async create(request, bound) {
        await database.parkedRequests.deleteWhere((one) => !isLive(ownNow())(one));
        return storage.parkedRequests.create(request, bound);
      },
    }),
    "create rejects where an expired one is left": ({ storage, database }) => ({
      async create(request, bound) {
        const left = await database.parkedRequests.get(request.key);
        if (left && !isLive(bound.now)(left)) throw new Error("duplicate key");
        return storage.parkedRequests.create(request, bound);
      },
    }),
  },
});

const lowered = (key: string): string => key.toLowerCase();

/** Adapters that find another answer than the stored one, or give out what they keep. */
const findingMistakes: readonly WrongAdapter[] = [
  ...planted("parkedRequests", {
    "parkedRequests.find returns what was stored": {
      "find forgets by": ({ storage }) => ({
        async find(key, now) {
          const found = await storage.parkedRequests.find(key, now);
          return found && { ...found, by: "" };
        },
      }),
      "find cuts by": ({ storage }) => ({
        async find(key, now) {
          const found = await storage.parkedRequests.find(key, now);
          return found?.by === undefined ? found : { ...found, by: found.by.slice(0, 32) };
        },
      }),
    },
    "parkedRequests.find returns nothing": {
      "find gives another one's": ({ database }) => ({
        find: async (key, now) =>
          (await database.parkedRequests.get(key)) ?? (await database.parkedRequests.where(isLive(now)))[0],
      }),
      "find takes the key for a beginning": ({ database }) => ({
        find: async (key, now) =>
          (await database.parkedRequests.where(isLive(now))).find((one) => one.key.startsWith(key)),
      }),
    },
    "parkedRequests whose keys are nearly alike": {
      "keys ignore case": ({ storage, database }) => ({
        create: (request, bound) =>
          storage.parkedRequests.create({ ...request, key: lowered(request.key) }, bound),
        find: (key) => database.parkedRequests.get(lowered(key)),
      }),
      "keys are cut": ({ storage }) => ({
        create: (request, bound) =>
          storage.parkedRequests.create({ ...request, key: request.key.slice(0, 42) }, bound),
        find: (key, now) => storage.parkedRequests.find(key.slice(0, 42), now),
      }),
    },
    "a parked request can be found until": {
      "find forgets that records expire": ({ database }) => ({
        find: (key) => database.parkedRequests.get(key),
      }),
      "find asks its own clock": ({ storage }) => ({
        find: (key) => storage.parkedRequests.find(key, ownNow()),
      }),
      "find gives a record in the second of its end": ({ storage }) => ({
        find: (key, now) => storage.parkedRequests.find(key, now - 1),
      }),
    },
  }),
  wrong("parkedRequests", {
    mistake: "create keeps the caller's own object",
    caughtBy: ["parkedRequests keeps and gives copies"],
    change({ storage }) {
      const kept = new Map<string, ParkedRequest>();
      return {
        create(request, bound) {
          kept.set(request.key, request);
          return storage.parkedRequests.create(request, bound);
        },
        find: async (key, now) => (await storage.parkedRequests.find(key, now)) && kept.get(key),
      };
    },
  }),
  cachingFind("parkedRequests", {
    mistake: "find gives the object that it has given before",
    caughtBy: ["parkedRequests keeps and gives copies"],
    give: (found) => found,
  }),
];

/** Adapters that let a request of a device be closed twice, or at the wrong time, or that change something else with it. */
const closingMistakes: readonly WrongAdapter[] = planted("parkedRequests", {
  "parkedRequests.close has one winner": {
    "close looks first and writes then": ({ database: { parkedRequests } }) => ({
      async close({ key, as: state, by }, now) {
        const found = await parkedRequests.get(key);
        if (found?.state !== "open" || !isLive(now)(found)) return "not-open";
        await parkedRequests.set(key, { ...found, state, by });
        return "closed";
      },
    }),
    "close looks first and writes then, under a lock of its process"({ storage, database }) {
      const lock = newLock();
      return {
        close: ({ key, as: state, by }, now) =>
          lock(async () => {
            const found = await storage.parkedRequests.find(key, now);
            if (found?.state !== "open") return "not-open";
            await database.parkedRequests.set(key, { ...found, state, by });
            return "closed";
          }),
      };
    },
    "close says how first, and who has answered then": ({ storage, database }) => ({
      async close(step, now) {
        const outcome = await storage.parkedRequests.close({ ...step, by: "" }, now);
        await database.parkedRequests.update(step.key, (one) => ({ ...one, by: step.by }));
        return outcome;
      },
    }),
  },
  "parkedRequests.close uses a request once": {
    "close overwrites": ({ database: { parkedRequests } }) => ({
      close: async ({ key, as: state, by }, now) =>
        (await parkedRequests.update(key, (one) => (isLive(now)(one) ? { ...one, state, by } : undefined)))
          ? "closed"
          : "not-open",
    }),
    "close overwrites the first answer and says that it is not open": ({ storage, database }) => ({
      async close(step, now) {
        const outcome = await storage.parkedRequests.close(step, now);
        await database.parkedRequests.update(step.key, (one) => ({ ...one, state: step.as, by: step.by }));
        return outcome;
      },
    }),
    "close answers closed, whoever was first": ({ storage }) => ({
      close: (step, now) => storage.parkedRequests.close(step, now).then(() => "closed"),
    }),
    "close answers not-open, also to the first": ({ storage }) => ({
      close: (step, now) => storage.parkedRequests.close(step, now).then(() => "not-open"),
    }),
    "close answers true and false": ({ storage }) => ({
      close: async (step, now) =>
        ((await storage.parkedRequests.close(step, now)) === "closed") as unknown as "closed",
    }),
    "close forgets who has answered": ({ storage }) => ({
      close: (step, now) => storage.parkedRequests.close({ ...step, by: "" }, now),
    }),
    "close forgets what the device has asked for": ({ storage, database }) => ({
      async close(step, now) {
        const outcome = await storage.parkedRequests.close(step, now);
        await database.parkedRequests.update(step.key, ({ device: _device, ...one }) => one);
        return outcome;
      },
    }),
    "close deletes the request": ({ storage, database }) => ({
      async close(step, now) {
        const outcome = await storage.parkedRequests.close(step, now);
        await database.parkedRequests.delete(step.key);
        return outcome;
      },
    }),
    "close moves the end": ({ storage, database }) => ({
      async close(step, now) {
        const outcome = await storage.parkedRequests.close(step, now);
        await database.parkedRequests.update(step.key, (one) => ({ ...one, expiresAt: now + 300 }));
        return outcome;
      },
    }),
    "close marks the request in this process only"({ storage }) {
      const closed = new Map<string, ParkedRequest>();
      return {
        async close({ key, as: state, by }, now) {
          const found = closed.get(key) ?? (await storage.parkedRequests.find(key, now));
          if (found?.state !== "open") return "not-open";
          closed.set(key, { ...found, state, by });
          return "closed";
        },
        find: async (key, now) => closed.get(key) ?? storage.parkedRequests.find(key, now),
      };
    },
  },
  "parkedRequests.close with a no uses a request once": {
    "close stores each answer as a yes": ({ storage }) => ({
      close: (step, now) => storage.parkedRequests.close({ ...step, as: "approved" }, now),
    }),
    "close makes a yes of a no": ({ storage, database }) => ({
      async close({ key, as, by }, now) {
        const outcome = await storage.parkedRequests.close({ key, as, by }, now);
        if (outcome === "closed" || as === "denied") return outcome;
        const changed = await database.parkedRequests.update(key, (one) =>
          one.state === "denied" && isLive(now)(one) ? { ...one, state: as, by } : undefined,
        );
        return changed ? "closed" : "not-open";
      },
    }),
    "close leaves a no open": ({ storage }) => ({
      close: async (step, now) => (step.as === "denied" ? "closed" : storage.parkedRequests.close(step, now)),
    }),
  },
  "parkedRequests.close uses nothing but": {
    "close answers all of the owner": ({ storage, database }) => ({
      async close(step, now) {
        const found = await storage.parkedRequests.find(step.key, now);
        const others = await database.parkedRequests.where(({ owner }) => owner === found?.owner);
        const outcomes = others.map(({ key }) => storage.parkedRequests.close({ ...step, key }, now));
        return (await Promise.all(outcomes)).includes("closed") ? "closed" : "not-open";
      },
    }),
    "close answers closed where there is none": ({ storage }) => ({
      async close(step, now) {
        if (!(await storage.parkedRequests.find(step.key, now))) return "closed";
        return storage.parkedRequests.close(step, now);
      },
    }),
    "close stores one where there is none": ({ storage, database }) => ({
      async close(step, now) {
        const { key, as: state, by } = step;
        const request = { key, owner: "", state, by, expiresAt: now + 300 };
        if (await database.parkedRequests.add(key, request)) return "not-open";
        return storage.parkedRequests.close(step, now);
      },
    }),
  },
  "parkedRequests.close refuses a request that has expired": {
    "close forgets that records expire": ({ database: { parkedRequests } }) => ({
      close: async ({ key, as: state, by }) =>
        (await parkedRequests.update(key, (one) =>
          one.state === "open" ? { ...one, state, by } : undefined,
        ))
          ? "closed"
          : "not-open",
    }),
    "close asks its own clock": ({ storage }) => ({
      close: (step) => storage.parkedRequests.close(step, ownNow()),
    }),
    "close answers in the second of the end": ({ storage }) => ({
      close: (step, now) => storage.parkedRequests.close(step, now - 1),
    }),
  },
});

/** The right adapter, but these requests are counted. */
function counting(
  isCounted: (
    one: ParkedRequest,
    given: { readonly request: ParkedRequest; readonly now: EpochSeconds },
  ) => boolean,
): (process: Process) => Partial<ParkedRequestStore> {
  return ({ storage, database }) => ({
    async create(request, { limit = Infinity, now }) {
      const counted = await database.parkedRequests.count((one) => isCounted(one, { request, now }));
      if (request.state === "open" && counted >= limit) return "full";
      return storage.parkedRequests.create(request, { now });
    },
  });
}

/** Adapters that let an owner fill the store, or keep others from it. */
const limitMistakes: readonly WrongAdapter[] = planted("parkedRequests", {
  "parkedRequests.create stores as many open requests": {
    "create does not count": ({ storage }) => ({
      create: (request, { now }) => storage.parkedRequests.create(request, { now }),
    }),
    "create stores one more than the limit": ({ storage }) => ({
      create: (request, { limit = Infinity, now }) =>
        storage.parkedRequests.create(request, { limit: limit + 1, now }),
    }),
    "create stores one less than the limit": ({ storage }) => ({
      create: (request, { limit = Infinity, now }) =>
        storage.parkedRequests.create(request, { limit: limit - 1, now }),
    }),
    "create stores it, and says that it is full": ({ storage }) => ({
      async create(request, { limit = Infinity, now }) {
        const [outcome] = await Promise.all([
          storage.parkedRequests.create({ ...request, key: `${request.key} ` }, { limit, now }),
          storage.parkedRequests.create(request, { now }),
        ]);
        return outcome;
      },
    }),
    "create drops an older one where it is full": ({ storage, database }) => ({
      async create(request, bound) {
        const outcome = await storage.parkedRequests.create(request, bound);
        if (outcome !== "full") return outcome;
        const [oldest] = await database.parkedRequests.where(({ owner }) => owner === request.owner);
        if (oldest) await database.parkedRequests.delete(oldest.key);
        return storage.parkedRequests.create(request, bound);
      },
    }),
    "create refuses what was answered where it is full": ({ storage, database }) => ({
      async create(request, { limit = Infinity, now }) {
        const open = await database.parkedRequests.count(
          ({ owner, state }) => owner === request.owner && state === "open",
        );
        return open >= limit ? "full" : storage.parkedRequests.create(request, { limit, now });
      },
    }),
    "create keeps the first limit"({ storage }) {
      let first: number | undefined;
      return {
        create: (request, { limit = Infinity, now }) =>
          storage.parkedRequests.create(request, { limit: (first ??= limit), now }),
      };
    },
    "create counts what this process has stored"({ storage }) {
      const own = new Map<string, number>();
      return {
        async create(request, { limit = Infinity, now }) {
          const open = own.get(request.owner) ?? 0;
          if (request.state === "open" && open >= limit) return "full";
          own.set(request.owner, open + 1);
          return storage.parkedRequests.create(request, { now });
        },
      };
    },
  },
  "parkedRequests.create counts what is open": {
    "create counts those of all owners": counting((one, { now }) => one.state === "open" && isLive(now)(one)),
    "create counts those of owners that differ only in case": counting(
      (one, { request, now }) =>
        lowered(one.owner) === lowered(request.owner) && one.state === "open" && isLive(now)(one),
    ),
    "create counts those of owners that begin alike": counting(
      (one, { request, now }) =>
        one.owner.startsWith(request.owner) && one.state === "open" && isLive(now)(one),
    ),
    "create counts those that were answered": counting(
      (one, { request, now }) => one.owner === request.owner && isLive(now)(one),
    ),
    "create counts those that have expired": counting(
      (one, { request }) => one.owner === request.owner && one.state === "open",
    ),
    "create counts by its own clock": counting(
      (one, { request }) => one.owner === request.owner && one.state === "open" && isLive(ownNow())(one),
    ),
    "create counts those that end in this second": counting(
      (one, { request, now }) => one.owner === request.owner && one.state === "open" && one.expiresAt >= now,
    ),
    "create counts what was taken"({ storage }) {
      const taken = new Map<string, number>();
      return {
        async create(request, { limit = Infinity, now }) {
          const more = taken.get(request.owner) ?? 0;
          const outcome = await storage.parkedRequests.create(request, { limit: limit - more, now });
          if (outcome === "taken") taken.set(request.owner, more + 1);
          return outcome;
        },
      };
    },
    "create counts what was open at first": counting(
      (one, { request, now }) => one.owner === request.owner && one.device !== undefined && isLive(now)(one),
    ),
  },
});

/** All of them. */
export const parkedMistakes: readonly WrongAdapter[] = [
  ...answeringMistakes,
  ...findingMistakes,
  ...closingMistakes,
  ...limitMistakes,
  cachingFind("parkedRequests", { caughtBy: ["parkedRequests.close uses a request once"] }),
];
