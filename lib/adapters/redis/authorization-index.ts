/** The indexes of a person's authorizations in Redis: sorted sets of their ids, by their ends. RFC 7009 §2.1. */
import type { Authorization } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import { numberOf, textsOf } from "./answers";
import { chunksOf, forgetAt, type RedisStoreOptions, runScript } from "./records";

/**
 * Adds the pairs of an end and an id behind ARGV[1] to the index, drops those that ended before that time, and keeps it until its last one
 * ends. Returns how many it has.
 */
const addScript = `
redis.call("ZADD", KEYS[1], unpack(ARGV, 2))
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", "(" .. ARGV[1])
local last = redis.call("ZRANGE", KEYS[1], -1, -1, "WITHSCORES")
if last[2] then redis.call("EXPIREAT", KEYS[1], last[2]) end
return redis.call("ZCARD", KEYS[1])`;

/** Removes the ids behind ARGV[1], and those that ended before that time. Keeps the index until its last one ends, not longer. */
const removeScript = `
if #ARGV > 1 then redis.call("ZREM", KEYS[1], unpack(ARGV, 2)) end
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", "(" .. ARGV[1])
local last = redis.call("ZRANGE", KEYS[1], -1, -1, "WITHSCORES")
if last[2] then redis.call("EXPIREAT", KEYS[1], last[2]) end
return 1`;

/**
 * The last ARGV[1] ids with their ends, or those ahead of ARGV[2]; none when the index does not have it. If its end ARGV[3] is known, it
 * is put back to find its place. In one step, as ranks move.
 */
const pageScript = `
local from = 0
if ARGV[2] then
  local rank = redis.call("ZREVRANK", KEYS[1], ARGV[2])
  if not rank then
    if not ARGV[3] then return {} end
    redis.call("ZADD", KEYS[1], ARGV[3], ARGV[2])
    rank = redis.call("ZREVRANK", KEYS[1], ARGV[2]) - 1
    redis.call("ZREM", KEYS[1], ARGV[2])
  end
  from = rank + 1
end
return redis.call("ZRANGE", KEYS[1], from, from + ARGV[1] - 1, "REV", "WITHSCORES")`;

/** An entry of an index. */
export interface IndexEntry {
  readonly id: string;
  /** When it ends, as Redis gives it. Left out: not known. */
  readonly end?: string | undefined;
}

/** Whose authorizations, for which client, at which API. */
export type IndexedBy = Pick<Authorization, "subject" | "clientId" | "apiId">;

/** An entry and the record that it is for, by whose end it ends. */
export interface NewEntry {
  readonly id: string;
  readonly of: Pick<Authorization, "expiresAt">;
}

/** Two indexes for each end user, and a third while something is erased. No call ever looks through the records of others. */
export interface AuthorizationIndexes {
  /** The key of the index of everything of this end user. */
  ofSubject(subject: string): string;
  /** The key of the index of this end user, client and API. */
  ofClient(key: IndexedBy): string;
  /** The key of the index of what is being erased of this end user. It is there only until that has succeeded. */
  ofErased(subject: string): string;
  /** Adds entries. Returns how many the index has then. */
  add(index: string, added: { entries: readonly NewEntry[]; now: EpochSeconds }): Promise<number>;
  /** All ids, those that end first at the beginning. */
  all(index: string): Promise<readonly string[]>;
  /** So many entries, those that end last at the beginning; with `after`, those behind it, also if it is gone and its end is known. */
  page(index: string, page: { count: number; after: IndexEntry | undefined }): Promise<readonly IndexEntry[]>;
  /** Removes these ids, and those whose records are gone. Others must stay: an approval under way writes its entries before its record. */
  remove(index: string, entries: { ids: readonly string[]; now: EpochSeconds }): Promise<void>;
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
    ofErased: (subject) => indexOf(subject, "erased"),
    async add(index, { entries, now }) {
      let size = 0;
      for (const some of chunksOf(entries)) {
        const args = [now, ...some.flatMap(({ id, of }) => [forgetAt(of), id])];
        size = numberOf(await runScript(sendReplicated, { script: addScript, keys: [index], args }));
      }
      return size;
    },
    async all(index) {
      return textsOf(await send(index, ["ZRANGE", index, 0, -1]));
    },
    async page(index, { count, after }) {
      const args = [count, after?.id, after?.end].filter((arg) => arg !== undefined);
      const found = textsOf(await runScript(send, { script: pageScript, keys: [index], args }));
      return found.flatMap((id, place) => (place % 2 === 0 ? { id, end: found[place + 1] } : []));
    },
    async remove(index, { ids, now }) {
      for (const some of ids.length === 0 ? [[]] : chunksOf(ids)) {
        const args = [now, ...some];
        await runScript(sendReplicated, { script: removeScript, keys: [index], args });
      }
    },
  };
}
