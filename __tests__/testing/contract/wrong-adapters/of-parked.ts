/** Mistakes with pushed requests that were answered. */
import type { ParkedRequest } from "../../../../lib";
import { isLive } from "./table-storage";
import { cachingFind, newLock, ownNow, planted, wrong, type WrongAdapter } from "./wrong-adapter";

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
    caughtBy: ["parkedRequests.find gives what can be changed"],
    give: (found) => found,
  }),
];

/** All of them. */
export const parkedMistakes: readonly WrongAdapter[] = [...answeringMistakes, ...findingMistakes];
