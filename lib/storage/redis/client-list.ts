/** The list of all clients in Redis, and how clients of earlier versions get into it. RFC 6749 §2. */
import { misread, textOf, textsOf } from "./answers";
import { knownMasters, type RedisServers, type ServerClient, sendTo } from "./client";
import { chunksOf, type RedisStoreOptions } from "./records";

/** The key of a client. */
export function clientKey(prefix: string, clientId: string): string {
  return `${prefix}client:${clientId}`;
}

/** The key of the sorted set of the ids of all clients. */
export function clientListKey(prefix: string): string {
  return `${prefix}clients`;
}

async function scan(client: ServerClient, { match, cursor }: { match: string; cursor: string }) {
  const answer = await sendTo(client, ["SCAN", cursor, "MATCH", match, "COUNT", 1_000]);
  const [next, keys] = Array.isArray(answer) ? (answer as readonly unknown[]) : [];
  const following = textOf(next);
  if (following === undefined) throw misread(answer);
  return { cursor: following, keys: textsOf(keys) };
}

/**
 * Adds the clients that versions before 0.2 have saved to the list. It looks through the keys of every master, so it is not for
 * requests. It can be repeated, and run while others save and delete: an entry without a record counts for nothing.
 */
export async function listEarlierClients(
  servers: Pick<RedisServers, "masters">,
  { prefix, sendReplicated }: Pick<RedisStoreOptions, "prefix" | "sendReplicated">,
): Promise<void> {
  const [list, beginning] = [clientListKey(prefix), clientKey(prefix, "")];
  const match = `${beginning.replaceAll(/[\\*?[\]]/g, "\\$&")}*`;
  for (const master of await knownMasters(servers)) {
    const client = await master.client();
    let cursor = "0";
    do {
      const found = await scan(client, { match, cursor });
      for (const keys of chunksOf(found.keys)) {
        const entries = keys.flatMap((key) => [0, key.slice(beginning.length)]);
        await sendReplicated(list, ["ZADD", list, ...entries]);
      }
      cursor = found.cursor;
    } while (cursor !== "0");
  }
}
