/** The client table of the Redis adapter. RFC 6749 §2. */
import { browserOriginsOf, type Client } from "../../protocol/client";
import { checkClient } from "../../clients/client-record";
import type { ClientRegistry } from "../port";
import { textOf, textsOf } from "./answers";
import type { RedisStoreOptions } from "./records";

/**
 * The client table. A client is at `client:<clientId>`, and that record decides: `origin:<origin>` only leads to the clients that
 * have or once had the origin. Nothing is ever removed from there, so simultaneous changes of one client cannot interfere.
 */
export function redisClients({ prefix, send, sendReplicated }: RedisStoreOptions): ClientRegistry {
  const clientKey = (clientId: string): string => `${prefix}client:${clientId}`;
  const originKey = (origin: string): string => `${prefix}origin:${origin}`;

  async function find(clientId: string): Promise<Client | undefined> {
    const key = clientKey(clientId);
    const value = textOf(await send(key, ["GET", key]));
    return value === undefined ? undefined : (JSON.parse(value) as Client);
  }

  return {
    find,
    async isBrowserOrigin(origin) {
      const key = originKey(origin);
      const clientIds = textsOf(await send(key, ["ZRANGE", key, 0, -1]));
      const clients = await Promise.all(clientIds.map(find));
      return clients.some((client) => client && browserOriginsOf(client).includes(origin));
    },
    async save(client) {
      const { clientId } = checkClient(client);
      // the origins first: if the second step fails, an origin leads to a record that does not have it, which counts for nothing
      for (const origin of browserOriginsOf(client).map(originKey)) {
        await sendReplicated(origin, ["ZADD", origin, 0, clientId]);
      }
      const key = clientKey(clientId);
      await sendReplicated(key, ["SET", key, JSON.stringify(client)]);
    },
    async delete(clientId) {
      const key = clientKey(clientId);
      await sendReplicated(key, ["DEL", key]);
    },
  };
}
