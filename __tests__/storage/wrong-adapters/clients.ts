/** Mistakes with clients and their origins. */
import { browserOriginsOf, type Client } from "../../../lib";
import type { ClientRegistry } from "../../../lib/storage/port";
import { rule } from "./rules";
import { type Database, newEnd } from "./table-storage";
import { type Process, wrong, type WrongAdapter } from "./wrong-adapter";

const tail = (origin: string): string => new URL(origin).origin;

/** `delete` that does this. */
function deleting(
  mistake: string,
  remove: (database: Database, clientId: string) => Promise<void>,
): WrongAdapter {
  return wrong("clients", {
    mistake: `delete ${mistake}`,
    caughtBy: [rule.clientDelete],
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

/** `save` that stores this in place of what it was given, where there is a client with this id already. */
function merging(mistake: string, merge: (stored: Client, saved: Client) => Client): WrongAdapter {
  return wrong("clients", {
    mistake: `save ${mistake}`,
    caughtBy: [rule.clientSave],
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
    caughtBy: [rule.clientList],
    change: (process): Partial<ClientRegistry> => ({ list: list(process) }),
  });
}

const secretsOf = (client: Client): readonly string[] =>
  "secretDigests" in client ? client.secretDigests : [];

const inOrder = (a: Client, b: Client): number => (a.clientId < b.clientId ? -1 : 1);

/** Adapters that find the wrong client, or take a wrong origin for a right one. */
export const clientMistakes: readonly WrongAdapter[] = [
  wrong("clients", {
    mistake: "ids are compared without case",
    caughtBy: [rule.clientNone],
    change: ({ database }) => ({
      find: async (id) =>
        (await database.clients.all()).find(({ clientId }) => clientId.toLowerCase() === id.toLowerCase()),
    }),
  }),
  wrong("clients", {
    mistake: "ids are compared by LIKE",
    caughtBy: [rule.clientNone],
    change: ({ database }) => ({
      async find(id) {
        const escaped = id.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
        const like = new RegExp(`^${escaped.replaceAll("%", ".*").replaceAll("_", ".")}$`);
        return (await database.clients.all()).find(({ clientId }) => like.test(clientId));
      },
    }),
  }),
  wrong("clients", {
    mistake: "ids are compared by their beginning",
    caughtBy: [rule.clientNone],
    change: ({ database }) => ({
      find: async (id) =>
        (await database.clients.all()).find(({ clientId }) => id !== "" && clientId.startsWith(id)),
    }),
  }),
  wrong("clients", {
    mistake: "find looks into a plain object",
    caughtBy: [rule.clientNone],
    change: ({ database }) => ({
      async find(id) {
        const all = await database.clients.all();
        const byId: Record<string, Client> = {};
        for (const client of all) byId[client.clientId] = client;
        return byId[id];
      },
    }),
  }),
  wrong("clients", {
    mistake: "find rejects for an unknown id",
    caughtBy: [rule.clientNone],
    change: ({ database }) => ({
      async find(id) {
        const client = await database.clients.get(id);
        if (!client) throw new Error("no such client");
        return client;
      },
    }),
  }),
  wrong("clients", {
    mistake: "origins are compared by their beginning",
    caughtBy: [rule.originLike],
    change: ({ database }) => ({
      isBrowserOrigin: async (origin) =>
        (await database.clients.all()).flatMap(browserOriginsOf).some((own) => origin.startsWith(own)),
    }),
  }),
  wrong("clients", {
    mistake: "origins are compared by their host",
    caughtBy: [rule.originLike],
    change: ({ database }) => ({
      isBrowserOrigin: async (origin) =>
        (await database.clients.all())
          .flatMap(browserOriginsOf)
          .some((own) => URL.canParse(origin) && new URL(origin).hostname === new URL(own).hostname),
    }),
  }),
  wrong("clients", {
    mistake: "an origin is read from a URL",
    caughtBy: [rule.originLike],
    change: ({ storage }) => ({
      isBrowserOrigin: (origin) =>
        storage.clients.isBrowserOrigin(URL.canParse(origin) ? tail(origin) : origin),
    }),
  }),
  wrong("clients", {
    mistake: "one origin of each client is known",
    caughtBy: [rule.originKnown],
    change: ({ database }) => ({
      isBrowserOrigin: async (origin) =>
        (await database.clients.all()).some((client) => browserOriginsOf(client)[0] === origin),
    }),
  }),
  wrong("clients", {
    mistake: "redirect URIs of every client are browser origins",
    caughtBy: [rule.originOther],
    change: ({ database }) => ({
      isBrowserOrigin: async (origin) =>
        (await database.clients.all()).some(({ redirectUris }) =>
          redirectUris.some((uri) => tail(uri) === origin),
        ),
    }),
  }),
  wrong("clients", {
    mistake: "an origin that a client had once stays a browser origin",
    caughtBy: [rule.originGone],
    change({ storage }) {
      const known = new Set<string>();
      return {
        async isBrowserOrigin(origin) {
          if (await storage.clients.isBrowserOrigin(origin)) known.add(origin);
          return known.has(origin);
        },
      };
    },
  }),
  wrong("clients", {
    mistake: "an origin belongs to the client that was saved with it first",
    caughtBy: [rule.originGone],
    change({ storage, database }) {
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
