/** Mistakes with clients, their assertions and their registrations. */
import { browserOriginsOf, type Client, type Storage } from "../../../../lib";
import type { ClientRegistry } from "../../../../lib/storage/port";
import { type Database, isLive, isSameClient, newEnd, type RegistrationRow } from "./table-storage";
import { newLock, ownNow, planted, type Process, wrong, type WrongAdapter } from "./wrong-adapter";

const tail = (origin: string): string => new URL(origin).origin;

/** `delete` that does this. */
function deleting(
  mistake: string,
  remove: (database: Database, clientId: string) => Promise<void>,
): WrongAdapter {
  return wrong("clients", {
    mistake: `delete ${mistake}`,
    caughtBy: ["clients.delete leaves an end mark"],
    change({ database }): Partial<ClientRegistry> {
      return { delete: (clientId) => remove(database, clientId) };
    },
  });
}

/** Which client of a database had an origin first, for all its processes. */
const firstOwners = new WeakMap<Database, Map<string, string>>();

function ownersIn(database: Database): Map<string, string> {
  const owners = firstOwners.get(database) ?? new Map<string, string>();
  firstOwners.set(database, owners);
  return owners;
}

/** The origins that no process of a database has been told of. */
const missingOrigins = new WeakMap<Database, Set<string>>();

function missingIn(database: Database): Set<string> {
  const missing = missingOrigins.get(database) ?? new Set<string>();
  missingOrigins.set(database, missing);
  return missing;
}

/** `save` that stores this in place of what it was given, where there is a client with this id already. */
function merging(mistake: string, merge: (stored: Client, saved: Client) => Client): WrongAdapter {
  return wrong("clients", {
    mistake: `save ${mistake}`,
    caughtBy: ["clients.save replaces"],
    change: ({ database: { clients } }): Partial<ClientRegistry> => ({
      async save(client) {
        const stored = await clients.get(client.clientId);
        await clients.set(client.clientId, stored ? merge(stored, client) : client);
      },
    }),
  });
}

/** `list` that does this. */
function listing(mistake: string, list: (process: Process) => ClientRegistry["list"]): WrongAdapter {
  return wrong("clients", {
    mistake: `list ${mistake}`,
    caughtBy: ["clients.list has every client once"],
    change: (process): Partial<ClientRegistry> => ({ list: list(process) }),
  });
}

/** `replace` that does this. */
function replacing(
  mistake: string,
  {
    caughtBy,
    replace,
  }: { caughtBy: readonly string[]; replace: (process: Process) => ClientRegistry["replace"] },
): WrongAdapter {
  return wrong("clients", {
    mistake: `replace ${mistake}`,
    caughtBy,
    change: (process): Partial<ClientRegistry> => ({ replace: replace(process) }),
  });
}

/** `replace` that looks first, compares by this, and writes then. */
function inTwoSteps(
  { clients }: Database,
  isExpected: (stored: Client | undefined, from: Client | undefined) => boolean,
): ClientRegistry["replace"] {
  return async ({ from, to }) => {
    if (!isExpected(await clients.get(to.clientId), from)) return "not-replaced";
    await clients.set(to.clientId, to);
    return "replaced";
  };
}

/** `replace` that compares by this and writes in one step, where there is a client; in one step too, where there is none. */
function inOneStep(
  { database: { clients }, storage }: Process,
  isExpected: (stored: Client, from: Client) => boolean,
): ClientRegistry["replace"] {
  return async ({ from, to }) => {
    if (!from) return (storage.clients as ClientRegistry).replace({ from, to });
    const won = await clients.update(to.clientId, (stored) => (isExpected(stored, from) ? to : undefined));
    return won ? "replaced" : "not-replaced";
  };
}

const secretsOf = (client: Client): readonly string[] =>
  "secretDigests" in client ? client.secretDigests : [];

const inOrder = (a: Client, b: Client): number => (a.clientId < b.clientId ? -1 : 1);

/** Adapters that find the wrong client, or take a wrong origin for a right one. */
const singleClientMistakes: readonly WrongAdapter[] = [
  ...planted("clients", {
    "clients.find returns nothing": {
      "ids are compared without case": ({ database }) => ({
        find: async (id) =>
          (await database.clients.all()).find(({ clientId }) => clientId.toLowerCase() === id.toLowerCase()),
      }),
      "ids are compared by LIKE": ({ database }) => ({
        async find(id) {
          const escaped = id.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
          const like = new RegExp(`^${escaped.replaceAll("%", ".*").replaceAll("_", ".")}$`);
          return (await database.clients.all()).find(({ clientId }) => like.test(clientId));
        },
      }),
      "ids are compared by their beginning": ({ database }) => ({
        find: async (id) =>
          (await database.clients.all()).find(({ clientId }) => id !== "" && clientId.startsWith(id)),
      }),
      "find looks into a plain object": ({ database }) => ({
        async find(id) {
          const all = await database.clients.all();
          const byId: Record<string, Client> = {};
          for (const client of all) byId[client.clientId] = client;
          return byId[id];
        },
      }),
      "find rejects for an unknown id": ({ database }) => ({
        async find(id) {
          const client = await database.clients.get(id);
          if (!client) throw new Error("no such client");
          return client;
        },
      }),
    },
    "an origin that only resembles one": {
      "origins are compared by their beginning": ({ database }) => ({
        isBrowserOrigin: async (origin) =>
          (await database.clients.all()).flatMap(browserOriginsOf).some((own) => origin.startsWith(own)),
      }),
      "origins are compared by their host": ({ database }) => ({
        isBrowserOrigin: async (origin) =>
          (await database.clients.all())
            .flatMap(browserOriginsOf)
            .some((own) => URL.canParse(origin) && new URL(origin).hostname === new URL(own).hostname),
      }),
      "an origin is read from a URL": ({ storage }) => ({
        isBrowserOrigin: (origin) =>
          storage.clients.isBrowserOrigin(URL.canParse(origin) ? tail(origin) : origin),
      }),
    },
    "isBrowserOrigin is true": {
      "one origin of each client is known": ({ database }) => ({
        isBrowserOrigin: async (origin) =>
          (await database.clients.all()).some((client) => browserOriginsOf(client)[0] === origin),
      }),
    },
    "not a browser client": {
      "redirect URIs of every client are browser origins": ({ database }) => ({
        isBrowserOrigin: async (origin) =>
          (await database.clients.all()).some(({ redirectUris }) =>
            redirectUris.some((uri) => tail(uri) === origin),
          ),
      }),
    },
    "follows a record that was replaced | clients.replace without `from` | clients.replace has one winner": {
      "replace stores no origins"({ storage, database }) {
        const table = storage.clients as ClientRegistry;
        return {
          async replace(step) {
            const before = step.from ? browserOriginsOf(step.from) : [];
            const replaced = await table.replace(step);
            for (const origin of browserOriginsOf(step.to))
              if (replaced === "replaced" && !before.includes(origin)) missingIn(database).add(origin);
            return replaced;
          },
          isBrowserOrigin: async (origin) =>
            !missingIn(database).has(origin) && table.isBrowserOrigin(origin),
        } satisfies Partial<ClientRegistry>;
      },
    },
    "an origin once its last client": {
      "an origin that a client had once stays a browser origin"({ storage }) {
        const known = new Set<string>();
        return {
          async isBrowserOrigin(origin) {
            if (await storage.clients.isBrowserOrigin(origin)) known.add(origin);
            return known.has(origin);
          },
        };
      },
      "an origin belongs to the client that was saved with it first"({ storage, database }) {
        const owners = ownersIn(database);
        const table = storage.clients as ClientRegistry;
        return {
          async save(client) {
            await table.save(client);
            for (const origin of browserOriginsOf(client))
              owners.set(origin, owners.get(origin) ?? client.clientId);
          },
          async isBrowserOrigin(origin) {
            const owner = await database.clients.get(owners.get(origin) ?? "");
            return owner !== undefined && browserOriginsOf(owner).includes(origin);
          },
        } satisfies Partial<ClientRegistry>;
      },
    },
  }),
  merging("keeps what is left out", (stored, saved) => ({ ...stored, ...saved })),
  merging(
    "adds its secrets to the earlier ones",
    (stored, saved) => ({ ...saved, secretDigests: [...secretsOf(stored), ...secretsOf(saved)] }) as Client,
  ),
  merging("keeps subscriptions to other APIs", (stored, saved) => ({
    ...saved,
    subscriptions: { ...stored.subscriptions, ...saved.subscriptions },
  })),
  merging("keeps the first record", (stored) => stored),
  replacing("ignores from", {
    caughtBy: [
      "clients.replace changes neither",
      "clients.replace stores nothing",
      "clients.replace without `from`",
      "clients.replace has one winner",
    ],
    replace:
      ({ database: { clients } }) =>
      async ({ to }) => {
        await clients.set(to.clientId, to);
        return "replaced";
      },
  }),
  replacing("compares only the id", {
    caughtBy: ["clients.replace changes neither", "clients.replace has one winner"],
    replace: (process) => inOneStep(process, (stored, from) => stored.clientId === from.clientId),
  }),
  replacing("compares texts", {
    caughtBy: ["clients.replace stores the record if"],
    replace: (process) =>
      inOneStep(process, (stored, from) => JSON.stringify(stored) === JSON.stringify(from)),
  }),
  replacing("looks first and writes then", {
    caughtBy: ["clients.replace has one winner", "clients.replace stores nothing"],
    replace: ({ database }) => inTwoSteps(database, isSameClient),
  }),
  replacing("looks first and writes then, under a lock of its process", {
    caughtBy: ["clients.replace has one winner"],
    replace({ database }) {
      const lock = newLock();
      const replace = inTwoSteps(database, isSameClient);
      return (step) => lock(() => replace(step));
    },
  }),
  replacing("brings back a client that was deleted", {
    caughtBy: ["clients.replace stores nothing"],
    replace: (process) => async (step) => {
      const right = process.storage.clients as ClientRegistry;
      const replaced = await right.replace(step);
      return replaced === "replaced" || (await right.find(step.to.clientId))
        ? replaced
        : right.replace({ ...step, from: undefined });
    },
  }),
  replacing("takes whatever is there where from is undefined", {
    caughtBy: ["clients.replace without `from`"],
    replace: (process) => async (step) => {
      const right = process.storage.clients as ClientRegistry;
      return right.replace(step.from ? step : { ...step, from: await right.find(step.to.clientId) });
    },
  }),
  listing("is always empty", () => async () => []),
  listing(
    "has one page at most",
    ({ storage: { clients } }) =>
      async (page) =>
        page.after === undefined ? (clients as ClientRegistry).list(page) : [],
  ),
  listing(
    "begins anew on each page",
    ({ storage: { clients } }) =>
      ({ limit }) =>
        (clients as ClientRegistry).list({ limit }),
  ),
  listing(
    "begins each page with the last client of the page before",
    ({ database: { clients } }) =>
      async ({ after = "", limit }) =>
        (await clients.where(({ clientId }) => clientId >= after)).toSorted(inOrder).slice(0, limit),
  ),
  listing(
    "leaves the limit to its caller",
    ({ database: { clients } }) =>
      async ({ after = "" }) =>
        (await clients.where(({ clientId }) => clientId > after)).toSorted(inOrder),
  ),
  listing(
    "leaves out browser clients",
    ({ storage: { clients } }) =>
      async (page) =>
        (await (clients as ClientRegistry).list(page)).filter(
          (client) => browserOriginsOf(client).length === 0,
        ),
  ),
  deleting("stores the end mark first", async ({ clients, endMarks }, clientId) => {
    if (!(await clients.get(clientId))) return;
    const endMark = newEnd(clientId);
    await endMarks.set(endMark.key, endMark);
    // its origins, say
    await clients.all();
    await clients.delete(clientId);
  }),
  deleting("stores no end mark", async ({ clients }, clientId) => void (await clients.delete(clientId))),
  deleting("leaves the client", async ({ clients, endMarks }, clientId) => {
    const endMark = newEnd(clientId);
    if (await clients.get(clientId)) await endMarks.set(endMark.key, endMark);
  }),
  deleting("stores an end mark of a client that nobody knows", async ({ clients, endMarks }, clientId) => {
    const endMark = newEnd(clientId);
    await clients.delete(clientId);
    await endMarks.set(endMark.key, endMark);
  }),
];

/** Adapters that let an assertion be used twice, or refuse one that was not used. */
const assertionMistakes: readonly WrongAdapter[] = [
  ...planted("clientAssertions", {
    "clientAssertions.use has one winner": {
      "use looks first and writes then": ({ database }) => ({
        async use(assertion, now) {
          const found = await database.usedAssertions.get(assertion.digest);
          if (found && isLive(now)(found)) return "used-before";
          await database.usedAssertions.set(assertion.digest, assertion);
          return "used";
        },
      }),
      "use looks first and writes then, under a lock of its process"({ database }) {
        const lock = newLock();
        return {
          use: (assertion) =>
            lock(async () => {
              if (await database.usedAssertions.get(assertion.digest)) return "used-before";
              await database.usedAssertions.set(assertion.digest, assertion);
              return "used";
            }),
        };
      },
    },
    "use uses an assertion once": {
      "use knows only what this process has used"() {
        const own = new Set<string>();
        return {
          async use({ digest }) {
            if (own.has(digest)) return "used-before";
            own.add(digest);
            return "used";
          },
        };
      },
      "use remembers nothing": () => ({ use: async () => "used" }),
      "use forgets after a minute": ({ storage, database }) => ({
        async use(assertion, now) {
          await database.usedAssertions.deleteWhere(({ expiresAt }) => expiresAt - 240 <= now);
          return storage.clientAssertions.use(assertion, now);
        },
      }),
      "use answers true and false": ({ storage }) => ({
        use: async (assertion, now) =>
          ((await storage.clientAssertions.use(assertion, now)) === "used") as unknown as "used",
      }),
    },
    "by the whole digest": {
      "use takes the same digest with another end for another assertion": ({ database }) => ({
        use: async (assertion) =>
          (await database.usedAssertions.add(`${assertion.digest} ${assertion.expiresAt}`, assertion))
            ? "used"
            : "used-before",
      }),
      "use ignores case": ({ storage }) => ({
        use: (assertion, now) =>
          storage.clientAssertions.use({ ...assertion, digest: assertion.digest.toLowerCase() }, now),
      }),
      "use cuts the digest": ({ storage }) => ({
        use: (assertion, now) =>
          storage.clientAssertions.use({ ...assertion, digest: assertion.digest.slice(0, 42) }, now),
      }),
    },
    "remembers an assertion by the time": {
      "use deletes by the clock of the database": ({ storage, database }) => ({
        async use(assertion, now) {
          await database.usedAssertions.deleteWhere((one) => !isLive(ownNow())(one));
          return storage.clientAssertions.use(assertion, now);
        },
      }),
      "use rejects where an expired one is left": ({ storage, database }) => ({
        async use(assertion, now) {
          const left = await database.usedAssertions.get(assertion.digest);
          if (left && !isLive(now)(left)) throw new Error("duplicate key");
          return storage.clientAssertions.use(assertion, now);
        },
      }),
    },
  }),
];

type Port = Storage["clientRegistrations"];

/** Adapters that find or extend the wrong registration, or none. */
const registrationMistakes: readonly WrongAdapter[] = [
  ...planted("clientRegistrations", {
    "clientRegistrations.find returns nothing": {
      "find ignores case": ({ database }) => ({
        async find(clientId, now) {
          const living = await database.clientRegistrations.where(isLive(now));
          const id = clientId.toLowerCase();
          return living.find(({ client }) => client.clientId.toLowerCase() === id)?.client;
        },
      }),
      "find takes the id for a pattern": ({ database }) => ({
        async find(clientId, now) {
          const living = await database.clientRegistrations.where(isLive(now));
          const literal = clientId.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
          const pattern = new RegExp(`^${literal.replaceAll("%", ".*").replaceAll("_", ".")}$`);
          return living.find(({ client }) => pattern.test(client.clientId))?.client;
        },
      }),
      "find also finds registered clients": ({ storage }) => ({
        find: async (clientId, now) =>
          (await storage.clientRegistrations.find(clientId, now)) ?? (await storage.clients.find(clientId)),
      }),
    },
    "clientRegistrations whose keys are nearly alike": {
      "ids are cut at 191": ({ database }) => ({
        async find(clientId, now) {
          const living = await database.clientRegistrations.where(isLive(now));
          return living.find(({ client }) => client.clientId.slice(0, 191) === clientId.slice(0, 191))
            ?.client;
        },
      }),
    },
    "a registration can be found until": {
      "find keeps what it has found in its process"({ storage }) {
        const known = new Map<string, Awaited<ReturnType<Port["find"]>>>();
        return {
          async find(clientId, now) {
            const found = known.get(clientId) ?? (await storage.clientRegistrations.find(clientId, now));
            if (found) known.set(clientId, found);
            return structuredClone(found);
          },
        };
      },
      "find deletes by the clock of the database": ({ storage, database }) => ({
        async find(clientId, now) {
          await database.clientRegistrations.deleteWhere((one) => !isLive(ownNow())(one));
          return storage.clientRegistrations.find(clientId, now);
        },
      }),
    },
    "does not bring back what has expired": {
      "extend brings back what has ended": ({ storage }) => ({
        extend: (registration) => storage.clientRegistrations.extend(registration, 0),
      }),
    },
    "extend knows exactly | does not bring back what has expired": {
      "extend answers true for what is not there": ({ storage }) => ({
        async extend(registration, now) {
          await storage.clientRegistrations.extend(registration, now);
          return true;
        },
      }),
    },
    "extend moves the end": {
      "extend sets the end, even to an earlier time": ({ database }) => ({
        extend: ({ clientId, expiresAt }, now) =>
          database.clientRegistrations.update(clientId, (one) =>
            isLive(now)(one) ? { ...one, extended: true, expiresAt } : undefined,
          ),
      }),
      "extend answers false where the end stays": ({ database }) => ({
        extend: ({ clientId, expiresAt }, now) =>
          database.clientRegistrations.update(clientId, (one) =>
            isLive(now)(one) && expiresAt > one.expiresAt ? { ...one, extended: true, expiresAt } : undefined,
          ),
      }),
      "extend moves the end of all": ({ storage, database }) => ({
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
    },
    "extend moves the end of one": {
      "extend works only in the process that registered"({ storage }) {
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
      "extend stores the record anew, without its keys": ({ storage, database }) => ({
        async extend(registration, now) {
          const extended = await storage.clientRegistrations.extend(registration, now);
          await database.clientRegistrations.update(registration.clientId, (one) => {
            const { jwks: _, ...client } = one.client as typeof one.client & { jwks?: unknown };
            return { ...one, client: client as typeof one.client };
          });
          return extended;
        },
      }),
    },
    "clientRegistrations keeps and gives copies": {
      "create keeps the caller's own object"({ storage }) {
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
    },
  }),
  ...planted("clients", {
    "neither port the clients of the other": {
      "find also finds those that have registered themselves": ({ storage }) => ({
        find: async (clientId) =>
          (await storage.clients.find(clientId)) ?? (await storage.clientRegistrations.find(clientId, 0)),
      }),
    },
  }),
];

/** All of them. */
export const clientMistakes: readonly WrongAdapter[] = [
  ...singleClientMistakes,
  ...assertionMistakes,
  ...registrationMistakes,
];
