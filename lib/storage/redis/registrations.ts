/** Clients that have registered themselves, in Redis. RFC 7591 §3. */
import type { Client } from "../../protocol/client";
import { clockDriftSeconds, type EpochSeconds } from "../../protocol/time";
import type { ClientRegistrationStore } from "../client-ports";
import { misread, numberOf, textOf } from "./answers";
import { type RedisStoreOptions, runScript } from "./records";

/*
 * The KEYS of both scripts: the hash client id → end and record, and two sorted sets of client ids by their ends: those that were never
 * extended, and those that were.
 */

/** Keeps the keys ARGV[2] seconds longer than the last registration. */
const keepKeys = `
local last = 0
local fresh = redis.call("ZRANGE", KEYS[2], -1, -1, "WITHSCORES")
local extended = redis.call("ZRANGE", KEYS[3], -1, -1, "WITHSCORES")
if fresh[2] then last = tonumber(fresh[2]) end
if extended[2] then last = math.max(last, tonumber(extended[2])) end
redis.call("EXPIREAT", KEYS[1], last + ARGV[2])
redis.call("EXPIREAT", KEYS[2], last + ARGV[2])
redis.call("EXPIREAT", KEYS[3], last + ARGV[2])
return 1`;

/**
 * Drops what ended ARGV[2] seconds before the time ARGV[1] or earlier. Then stores the client ARGV[3] with the end ARGV[4] and the record
 * ARGV[5], and drops the oldest of those never extended, so that at most ARGV[6] live. Returns 0 when extended ones leave fewer than
 * ARGV[7] of these places, and 1 when it has stored the client.
 */
const createScript = `
local ended = ARGV[1] - ARGV[2]
for _, id in ipairs(redis.call("ZRANGE", KEYS[2], "-inf", ended, "BYSCORE")) do redis.call("HDEL", KEYS[1], id) end
for _, id in ipairs(redis.call("ZRANGE", KEYS[3], "-inf", ended, "BYSCORE")) do redis.call("HDEL", KEYS[1], id) end
redis.call("ZREMRANGEBYSCORE", KEYS[2], "-inf", ended)
redis.call("ZREMRANGEBYSCORE", KEYS[3], "-inf", ended)
local living = "(" .. ARGV[1]
local room = ARGV[6] - redis.call("ZCOUNT", KEYS[3], living, "+inf")
if room < tonumber(ARGV[7]) then return 0 end
local surplus = redis.call("ZCOUNT", KEYS[2], living, "+inf") - room + 1
if surplus > 0 then
  for _, id in ipairs(redis.call("ZRANGE", KEYS[2], living, "+inf", "BYSCORE", "LIMIT", 0, surplus)) do
    redis.call("HDEL", KEYS[1], id)
    redis.call("ZREM", KEYS[2], id)
  end
end
redis.call("HSET", KEYS[1], ARGV[3], ARGV[4] .. ARGV[5])
redis.call("ZADD", KEYS[2], ARGV[4], ARGV[3])${keepKeys}`;

/** Moves the end of the client ARGV[3], if it lives at ARGV[1], to ARGV[4] or leaves it where it is later. Returns 0 when there is none. */
const extendScript = `
local value = redis.call("HGET", KEYS[1], ARGV[3])
if not value then return 0 end
local digits, record = string.match(value, "^(%d+)(.*)$")
if tonumber(digits) <= tonumber(ARGV[1]) then return 0 end
local till = ARGV[4]
if tonumber(till) < tonumber(digits) then till = digits end
redis.call("HSET", KEYS[1], ARGV[3], till .. record)
redis.call("ZREM", KEYS[2], ARGV[3])
redis.call("ZADD", KEYS[3], till, ARGV[3])${keepKeys}`;

/** The client in a value of the hash, unless it has expired at `now`. @throws Error for an unclear answer */
function readClient(answer: unknown, now: EpochSeconds): Client | undefined {
  const value = textOf(answer);
  if (value === undefined) return undefined;
  const [, digits, record] = /^(\d+)(\{.*)$/s.exec(value) ?? [];
  if (digits === undefined || record === undefined) throw misread(answer);
  return now < Number(digits) ? (JSON.parse(record) as Client) : undefined;
}

/**
 * Registrations. All of them are in one slot, because only a script that sees all of them can count them and drop the oldest. One slot
 * is enough: the limit bounds their number. They are in one hash, so that a script names every key that it uses. Redis removes it
 * after its last registration.
 */
export function redisRegistrations({
  prefix,
  send,
  sendReplicated,
}: RedisStoreOptions): ClientRegistrationStore {
  const records = `${prefix}{registrations}`;
  const keys = [records, `${records}:new`, `${records}:extended`] as const;
  return {
    async create({ client, expiresAt }, { limit, reserved = 1, now }) {
      const record = JSON.stringify(client);
      const args = [now, clockDriftSeconds, client.clientId, expiresAt, record, limit, reserved];
      const created = numberOf(await runScript(sendReplicated, { script: createScript, keys, args }));
      return created === 1 ? "created" : "full";
    },
    find: async (clientId, now) => readClient(await send(records, ["HGET", records, clientId]), now),
    async extend({ clientId, expiresAt }, now) {
      const args = [now, clockDriftSeconds, clientId, expiresAt];
      return numberOf(await runScript(sendReplicated, { script: extendScript, keys, args })) === 1;
    },
  };
}
