/** The client table of the Redis adapter. RFC 6749 §2. */
import { browserOriginsOf, type Client } from "../../protocol/client";
import type { Clock } from "../../protocol/time";
import { checkClient } from "../../clients/client-record";
import { newClientEnd } from "../end-marks";
import type { ClientRegistry, EndMarkStore } from "../port";
import { numberOf, textOf, textsOf } from "./answers";
import { clientKey, clientListKey } from "./client-list";
import { readValues, type RedisStoreOptions, runScript } from "./records";

/**
 * Deletes the record. It always writes: `WAIT` waits for nothing behind a command that changes nothing, and an earlier call may have
 * failed before the replicas had its deletion.
 */
const deleteScript = `
redis.call("SET", KEYS[1], "")
return redis.call("DEL", KEYS[1])`;

const readClient = (value: string | undefined): Client | undefined =>
  value === undefined ? undefined : (JSON.parse(value) as Client);

/** The clients with these ids, without those that are gone. */
async function findAll(options: RedisStoreOptions, clientIds: readonly string[]): Promise<readonly Client[]> {
  const keys = clientIds.map((clientId) => clientKey(options.prefix, clientId));
  const clients = (await readValues(options, keys)).map(readClient);
  return clients.filter((client) => client !== undefined);
}

async function listPage(
  options: RedisStoreOptions,
  { after, limit }: { readonly after?: string; readonly limit: number },
): Promise<readonly Client[]> {
  const list = clientListKey(options.prefix);
  const clients: Client[] = [];
  let start = after === undefined ? "-" : `(${after}`;
  while (clients.length < limit) {
    const page = ["ZRANGE", list, start, "+", "BYLEX", "LIMIT", 0, limit];
    const clientIds = textsOf(await options.send(list, page));
    clients.push(...(await findAll(options, clientIds)));
    if (clientIds.length < limit) break;
    start = `(${clientIds.at(-1)}`;
  }
  return clients.slice(0, limit);
}

/**
 * The client table. A client is at `client:<clientId>`, and that record decides: `origin:<origin>` only leads to the clients that
 * have or once had the origin, and `clients` to those that are or once were there. Nothing is ever removed from either, so
 * simultaneous changes of one client cannot interfere.
 */
export function redisClients(
  options: RedisStoreOptions,
  { endMarks, clock }: { endMarks: EndMarkStore; clock: Clock },
): ClientRegistry {
  const { prefix, send, sendReplicated } = options;
  const originKey = (origin: string): string => `${prefix}origin:${origin}`;
  const list = clientListKey(prefix);
  return {
    async find(clientId) {
      const key = clientKey(prefix, clientId);
      return readClient(textOf(await send(key, ["GET", key])));
    },
    async isBrowserOrigin(origin) {
      const key = originKey(origin);
      const clients = await findAll(options, textsOf(await send(key, ["ZRANGE", key, 0, -1])));
      return clients.some((client) => browserOriginsOf(client).includes(origin));
    },
    async save(client) {
      const { clientId } = checkClient(client);
      // the indexes first: if the last step fails, they lead to a record that does not have this, which counts for nothing
      for (const index of [...browserOriginsOf(client).map(originKey), list]) {
        await sendReplicated(index, ["ZADD", index, 0, clientId]);
      }
      const key = clientKey(prefix, clientId);
      await sendReplicated(key, ["SET", key, JSON.stringify(client)]);
    },
    async delete(clientId) {
      const key = clientKey(prefix, clientId);
      const now = clock();
      const [first, second] = [newClientEnd(clientId, now), newClientEnd(clientId, now)];
      const exists = numberOf(await send(key, ["EXISTS", key])) === 1;
      if (exists) await endMarks.save(first, now);
      // also when there is none: an earlier call may have failed before the replicas had it, or before the second mark
      const isEnded = exists || (await endMarks.find([first.key], now))[0] !== undefined;
      await runScript(sendReplicated, { script: deleteScript, keys: [key], args: [] });
      // a server that looked in between may have issued something under the first mark
      if (isEnded) await endMarks.save(second, now);
    },
    list: (page) => listPage(options, page),
  };
}
