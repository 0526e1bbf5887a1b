/** Mistakes with clients and their origins. */
import { browserOriginsOf, type Client } from "../../../lib";
import type { ClientRegistry } from "../../../lib/storage/port";
import { rule } from "./rules";
import { type Database, newEnd } from "./table-storage";
import { wrong, type WrongAdapter } from "./wrong-adapter";

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
