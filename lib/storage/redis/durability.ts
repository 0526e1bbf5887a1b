/** What Redis could lose, and how the adapter finds out before it relies on it. RFC 6749 §10.5. */
import type { RedisSender, Send } from "./client";

/** How long a write waits for its replicas before the request fails. */
const replicaMilliseconds = 1_000;

/**
 * A `send` that is done once so many replicas have the write. A write that a failover may take back would let a spent token be
 * used again, so too few of them is a failure of the request.
 */
export function replicatedSend({ send, sendBoth }: RedisSender, replicas: number): Send {
  if (replicas === 0) return send;
  return async (key, command) => {
    const [answer, have] = await sendBoth(key, [command, ["WAIT", replicas, replicaMilliseconds]]);
    if (Number(have) >= replicas) return answer;
    throw new Error(`redisStorage: ${Number(have)} of ${replicas} replicas have the write.`);
  };
}

/** In a script, so that a cluster's client sends it to the node of the key. */
const memoryInfoScript = `return redis.call("INFO", "memory")`;

function settingOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\r?$`, "m").exec(info)?.[1];
}

async function checkEviction(send: Send, key: string): Promise<void> {
  const info = String(await send(key, ["EVAL", memoryInfoScript, 1, key]));
  const policy = settingOf(info, "maxmemory_policy");
  if (settingOf(info, "maxmemory") === "0" || policy === "noeviction") return;
  throw new Error(
    `redisStorage: the server's maxmemory-policy is ${policy}, which may drop revocations. Set it to noeviction.`,
  );
}

/**
 * The same sender, which first asks once whether a server may evict keys. An evicted revocation would make a revoked access
 * token good again, and nobody would hear of it.
 *
 * @param keys for a cluster enough of them to lie on every master.
 */
export function refusingEviction({ send, sendBoth }: RedisSender, keys: readonly string[]): RedisSender {
  let checked: Promise<unknown> | undefined;
  function check(): Promise<unknown> {
    checked ??= Promise.all(keys.map((key) => checkEviction(send, key))).catch((error: unknown) => {
      checked = undefined;
      throw error;
    });
    return checked;
  }
  return {
    send: (key, command) => check().then(() => send(key, command)),
    sendBoth: (key, commands) => check().then(() => sendBoth(key, commands)),
  };
}
