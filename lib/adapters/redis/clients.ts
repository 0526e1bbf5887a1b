/** Clients in Redis: their table, the assertions that they have used, their requests that wait for a person, and those that have registered themselves. RFC 6749 §2, 7523 §3, 7591 §3, 8628 §3.3, 9126 §4. */
import { checkClient, sameRecordAs } from "../../clients/client-record";
import { browserOriginsOf, type Client } from "../../protocol/client";
import { type Clock, clockDriftSeconds, type EpochSeconds } from "../../protocol/time";
import { digestToken } from "../../protocol/token-value";
import type {
  ClientAssertionStore,
  ClientRegistrationStore,
  ParkedRequest,
  ParkedRequestStore,
} from "../../storage/client-ports";
import { newClientEnd } from "../../storage/end-marks";
import type { ClientRegistry, EndMarkStore } from "../../storage/port";
import { misread, numberOf, textOf, textsOf } from "./answers";
import {
  forgetAt,
  readLiving,
  readRecord,
  readValues,
  type RedisStoreOptions,
  runScript,
  writeRecord,
} from "./records";

/** The key of a client. */
function clientKey(prefix: string, clientId: string): string {
  return `${prefix}client:${clientId}`;
}

/** The key of the sorted set of the ids of all clients. */
function clientListKey(prefix: string): string {
  return `${prefix}clients`;
}

/** The key of the sorted set of the ids of clients that have or once had this origin. */
function originKey(prefix: string, origin: string): string {
  return `${prefix}origin:${origin}`;
}

/**
 * Deletes the record. It always writes: `WAIT` waits for nothing behind a command that changes nothing, and an earlier call may have
 * failed before the replicas had its deletion.
 */
const deleteScript = `
redis.call("SET", KEYS[1], "")
return redis.call("DEL", KEYS[1])`;

/** Stores the record ARGV[2] if the stored text is still ARGV[1], which is empty where there is none. */
const replaceScript = `
if (redis.call("GET", KEYS[1]) or "") ~= ARGV[1] then return 0 end
redis.call("SET", KEYS[1], ARGV[2])
return 1`;

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

/** What saving a client takes, as it is now: its key, its record, and the step that makes the record findable. */
function saving(client: Client, { prefix, sendReplicated }: RedisStoreOptions) {
  const { clientId } = checkClient(client);
  const origins = browserOriginsOf(client).map((origin) => originKey(prefix, origin));
  return {
    key: clientKey(prefix, clientId),
    record: JSON.stringify(client),
    // the indexes first: if the last step fails, they lead to a record that does not have this, which is ignored
    addToIndexes: async (): Promise<void> => {
      for (const index of [...origins, clientListKey(prefix)])
        await sendReplicated(index, ["ZADD", index, 0, clientId]);
    },
  };
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
  return {
    async find(clientId) {
      const key = clientKey(prefix, clientId);
      return readClient(textOf(await send(key, ["GET", key])));
    },
    async isBrowserOrigin(origin) {
      const key = originKey(prefix, origin);
      const clients = await findAll(options, textsOf(await send(key, ["ZRANGE", key, 0, -1])));
      return clients.some((client) => browserOriginsOf(client).includes(origin));
    },
    async save(client) {
      const { key, record, addToIndexes } = saving(client, options);
      await addToIndexes();
      await sendReplicated(key, ["SET", key, record]);
    },
    async replace({ from, to }) {
      const [isSame, { key, record, addToIndexes }] = [sameRecordAs(from), saving(to, options)];
      const stored = textOf(await send(key, ["GET", key]));
      if (!isSame(readClient(stored))) return "not-replaced";
      await addToIndexes();
      const step = { script: replaceScript, keys: [key], args: [stored ?? "", record] } as const;
      return numberOf(await runScript(sendReplicated, step)) === 1 ? "replaced" : "not-replaced";
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

/** Used assertions: one key each, which Redis removes. The write is replicated: a lost one could be used again. @rfc 7523 §3 */
export function redisAssertions({ prefix, sendReplicated }: RedisStoreOptions): ClientAssertionStore {
  return {
    // the key stays for some minutes after the assertion's end; the port leaves the answer open then
    async use(assertion) {
      const key = `${prefix}assertion:${assertion.digest}`;
      const command = ["SET", key, 1, "NX", "EXAT", forgetAt(assertion)];
      const told = textOf(await sendReplicated(key, command));
      if (told === undefined) return "used-before";
      if (told !== "OK") throw misread(told);
      return "used";
    },
  };
}

/**
 * Counts a request ARGV[3] that ends at ARGV[4] among the open ones of its owner, unless there are ARGV[5] that live at ARGV[1]. Drops what
 * ended ARGV[2] seconds before that. Returns 2 when there are too many, and 1 when it has not been counted before. The key stays for
 * ARGV[2] seconds after the last one.
 */
const countScript = `
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", ARGV[1] - ARGV[2])
if redis.call("ZCOUNT", KEYS[1], "(" .. ARGV[1], "+inf") >= tonumber(ARGV[5]) then return 2 end
local added = redis.call("ZADD", KEYS[1], "NX", ARGV[4], ARGV[3])
local last = redis.call("ZRANGE", KEYS[1], -1, -1, "WITHSCORES")
if last[2] then redis.call("EXPIREAT", KEYS[1], last[2] + ARGV[2]) end
return added`;

/**
 * Stores the request ARGV[1] until ARGV[2], unless there is one. There is always a write for `WAIT` to wait for: who is told that it is
 * taken may go on, if the first answer was its own.
 */
const parkScript = `
if redis.call("SET", KEYS[1], ARGV[1], "NX", "EXAT", ARGV[2]) then return 1 end
redis.call("SETRANGE", KEYS[1], 0, redis.call("GETRANGE", KEYS[1], 0, 0))
return 0`;

/**
 * Answers a request that is open at ARGV[1]: ARGV[2] is the beginning of its record from now on. Returns what was stored to the winner,
 * and nothing to all others, for whom it writes too.
 */
const closeScript = `${readLiving("false")}
redis.call("SETRANGE", KEYS[1], 0, "1")
if string.sub(value, 1, 1) ~= "0" then return false end
redis.call("SET", KEYS[1], "1" .. ARGV[2] .. string.sub(value, 3), "KEEPTTL")
return value`;

/** What is stored of a parked request, behind a flag that says whether it was answered. */
type StoredRequest = Omit<ParkedRequest, "key" | "state"> & { readonly state?: ParkedRequest["state"] };

/**
 * Requests that wait for a person or were answered: one key each, which Redis removes some minutes after its end. `open:<digest>` of
 * an owner has the keys of its open ones by their ends: it lies in another slot, so it is a step of its own, and no replica need have it.
 *
 * @rfc 8628 §3.3, 9126 §4
 */
export function redisParkedRequests({ prefix, send, sendReplicated }: RedisStoreOptions): ParkedRequestStore {
  const keyOf = (key: string): string => `${prefix}parked:${key}`;
  const openOf = (owner: string): string => `${prefix}open:${digestToken(owner)}`;
  // one that stays counted although it is not open takes one of many places until its end
  const uncount = (owner: string, key: string): Promise<unknown> =>
    send(openOf(owner), ["ZREM", openOf(owner), key]).catch(() => undefined);
  return {
    async create({ key, state, ...rest }, { limit = Number.MAX_SAFE_INTEGER, now }) {
      const { owner, expiresAt } = rest;
      const counting = {
        keys: [openOf(owner)],
        args: [now, clockDriftSeconds, key, expiresAt, limit],
      } as const;
      const isOpen = state === "open";
      const counted = isOpen && numberOf(await runScript(send, { script: countScript, ...counting }));
      if (counted === 2) return "full";
      const record = isOpen ? rest : { state, ...rest };
      const args = [writeRecord({ flag: !isOpen, record }), forgetAt(rest)];
      const parked = await runScript(sendReplicated, { script: parkScript, keys: [keyOf(key)], args });
      if (numberOf(parked) === 1) return "created";
      if (counted === 1) await uncount(owner, key);
      return "taken";
    },
    async find(key, now) {
      const found = await send(keyOf(key), ["GET", keyOf(key)]);
      const { record } = readRecord<StoredRequest>(found, now) ?? {};
      return record && { key, state: "open", ...record };
    },
    async close({ key, as: state, by }, now) {
      const beginning = `${JSON.stringify({ state, by }).slice(0, -1)},`;
      const step = { script: closeScript, keys: [keyOf(key)], args: [now, beginning] } as const;
      const closed = readRecord<StoredRequest>(await runScript(sendReplicated, step), now);
      if (!closed) return "not-open";
      await uncount(closed.record.owner, key);
      return "closed";
    },
  };
}

/*
 * The KEYS of both scripts of registrations: the hash client id → end and record, and two sorted sets of client ids by their ends: those that were never
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
function readRegistered(answer: unknown, now: EpochSeconds): Client | undefined {
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
    find: async (clientId, now) => readRegistered(await send(records, ["HGET", records, clientId]), now),
    async extend({ clientId, expiresAt }, now) {
      const args = [now, clockDriftSeconds, clientId, expiresAt];
      return numberOf(await runScript(sendReplicated, { script: extendScript, keys, args })) === 1;
    },
  };
}
