/** Reads and ends many authorizations at once in Redis. RFC 7009 §2.1. */
import type { EpochSeconds } from "../../protocol/time";
import type { ListedAuthorization } from "../port";
import { numberOf } from "./answers";
import { authorizationKey, readListed } from "./authorization-record";
import { chunksOf, readValues, type RedisStoreOptions, runScript } from "./records";

/**
 * Flags records. KEYS: records. Returns how many had no flag before; missing records are not counted. Writes the flag of those that
 * have it too: replicas may lack it, and `WAIT` waits for nothing behind a script that changes nothing.
 */
const flagScript = `
local count = 0
for i = 1, #KEYS do
  local flag = redis.call("GETRANGE", KEYS[i], 0, 0)
  if flag ~= "" then redis.call("SETRANGE", KEYS[i], 0, "1") end
  if flag == "0" then count = count + 1 end
end
return count`;

type Keys = readonly [string, ...string[]];

/** The records of authorizations. Missing ones are skipped. */
export interface AuthorizationRecords {
  /** Those that have not expired at `now`, in the order of their ids. Time 0 gives all that are stored. */
  read(ids: readonly string[], now: EpochSeconds): Promise<readonly ListedAuthorization[]>;
  /** Revokes them. Returns how many were not revoked before. */
  revoke(ids: readonly string[]): Promise<number>;
  /** Deletes them. Returns how many there were. */
  delete(ids: readonly string[]): Promise<number>;
}

/** The records of authorizations, of which one command takes many. In a cluster it reaches one slot, so each record gets its own. */
export function authorizationRecords(options: RedisStoreOptions): AuthorizationRecords {
  const { prefix, isOneServer, sendReplicated } = options;
  const keyOf = (authorizationId: string): string => authorizationKey(prefix, authorizationId);

  /** What these writes count together. */
  async function countAll(ids: readonly string[], write: (keys: Keys) => Promise<unknown>): Promise<number> {
    let sum = 0;
    for (const some of chunksOf(ids)) {
      const [first, ...others] = some.map(keyOf);
      if (first === undefined) continue;
      const writes: readonly Keys[] = isOneServer
        ? [[first, ...others]]
        : [first, ...others].map((key) => [key]);
      for (const count of await Promise.all(writes.map(write))) sum += numberOf(count);
    }
    return sum;
  }

  return {
    async read(ids, now) {
      const found: ListedAuthorization[] = [];
      for (const some of chunksOf(ids)) {
        const values = await readValues(options, some.map(keyOf));
        found.push(...values.map((value) => readListed(value, now)).filter((one) => one !== undefined));
      }
      return found;
    },
    revoke: (ids) =>
      countAll(ids, (keys) => runScript(sendReplicated, { script: flagScript, keys, args: [] })),
    delete: (ids) => countAll(ids, (keys) => sendReplicated(keys[0], ["DEL", ...keys])),
  };
}
