/** The indexes of a person's authorizations in Redis: sorted sets of their ids, by their ends. RFC 7009 §2.1. */
import type { Authorization } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import { numberOf, textsOf } from "./answers";
import { chunksOf, forgetAt, type RedisStoreOptions, runScript } from "./records";

/**
 * Adds ARGV[1] with the end ARGV[2] to the index, drops those that ended before ARGV[3], and keeps it until its last one ends.
 * Returns how many it has.
 */
const addScript = `
redis.call("ZADD", KEYS[1], ARGV[2], ARGV[1])
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", "(" .. ARGV[3])
local last = redis.call("ZRANGE", KEYS[1], -1, -1, "WITHSCORES")
redis.call("EXPIREAT", KEYS[1], last[2])
return redis.call("ZCARD", KEYS[1])`;

/** The last ARGV[1] ids, or those ahead of ARGV[2]; none when the index does not have it. In one step, as ranks move. */
const pageScript = `
local from = 0
if ARGV[2] then
  local rank = redis.call("ZREVRANK", KEYS[1], ARGV[2])
  if not rank then return {} end
  from = rank + 1
end
return redis.call("ZRANGE", KEYS[1], from, from + ARGV[1] - 1, "REV")`;

/** Whose authorizations, for which client, at which API. */
export type IndexedBy = Pick<Authorization, "subject" | "clientId" | "apiId">;

/** Two indexes for each end user. No call ever looks through the records of others. */
export interface AuthorizationIndexes {
  /** The key of the index of everything of this end user. Versions before 0.2 did not write it. */
  ofSubject(subject: string): string;
  /** The key of the index of this end user, client and API. */
  ofClient(key: IndexedBy): string;
  /** Adds a new authorization. Returns how many ids the index has then. */
  add(index: string, entry: { authorization: Authorization; now: EpochSeconds }): Promise<number>;
  /** All ids, those that end first at the beginning. */
  all(index: string): Promise<readonly string[]>;
  /** So many ids, those that end last at the beginning; with `after`, those behind it. */
  page(index: string, page: { count: number; after: string | undefined }): Promise<readonly string[]>;
  /** Removes these ids. Others must stay, as an approval under way writes its entries before its record. */
  remove(index: string, ids: readonly string[]): Promise<void>;
}

/** The indexes. Their writes are replicated: what they lack could not be revoked. */
export function authorizationIndexes({
  prefix,
  send,
  sendReplicated,
}: RedisStoreOptions): AuthorizationIndexes {
  const indexOf = (...parts: readonly string[]): string => `${prefix}authorizations:${JSON.stringify(parts)}`;
  return {
    ofSubject: (subject) => indexOf(subject),
    ofClient: ({ subject, clientId, apiId }) => indexOf(subject, clientId, apiId),
    async add(index, { authorization, now }) {
      const args = [authorization.authorizationId, forgetAt(authorization), now];
      return numberOf(await runScript(sendReplicated, { script: addScript, keys: [index], args }));
    },
    async all(index) {
      return textsOf(await send(index, ["ZRANGE", index, 0, -1]));
    },
    async page(index, { count, after }) {
      const args = after === undefined ? [count] : [count, after];
      return textsOf(await runScript(send, { script: pageScript, keys: [index], args }));
    },
    async remove(index, ids) {
      for (const some of chunksOf(ids)) await sendReplicated(index, ["ZREM", index, ...some]);
    },
  };
}
