/** How records are stored in Redis: a flag, then JSON. Scripts change the flag. RFC 6749 §4.1.2, 9700 §4.14.2. */
import { clockDriftSeconds, type EpochSeconds } from "../../protocol/time";
import { textOf } from "./answers";
import type { Send } from "./client";

/** What the stores of the adapter share. */
export interface RedisStoreOptions {
  /** The beginning of every key. */
  readonly prefix: string;
  /** Sends one command to the master that holds the key. */
  readonly send: Send;
  /** The same, but resolves only once replicas have the write. For what must not be lost: single uses and revocations. */
  readonly sendReplicated: Send;
  /** True when one script may use keys of several slots. */
  readonly isOneServer: boolean;
}

interface Expiring {
  readonly expiresAt: EpochSeconds;
}

/** A record, and whether it was spent or revoked. */
export interface Flagged<T> {
  /** `true` once it was spent or revoked. Nothing ever clears it. */
  readonly flag: boolean;
  readonly record: T;
}

/** The stored form of a record: `0` or `1`, then the record as JSON. A script can set the flag without touching the JSON. */
export function writeRecord({ flag, record }: Flagged<object>): string {
  return `${flag ? 1 : 0}${JSON.stringify(record)}`;
}

/** The record in an answer, or `undefined` when there is none or it has expired at `now`. The clock of Redis does not decide. */
export function readRecord<T extends Expiring>(answer: unknown, now: EpochSeconds): Flagged<T> | undefined {
  const value = textOf(answer);
  if (value === undefined) return undefined;
  const record = JSON.parse(value.slice(1)) as T;
  return now < record.expiresAt ? { flag: value.startsWith("1"), record } : undefined;
}

/** When Redis removes the record. Until then the record's own `expiresAt` decides, because clocks may differ. */
export function forgetAt({ expiresAt }: Expiring): EpochSeconds {
  return expiresAt + clockDriftSeconds;
}

/** The command that stores a record until Redis may remove it. */
export function setRecord(
  key: string,
  { record, flag = false }: { record: Expiring; flag?: boolean },
): readonly (string | number)[] {
  return ["SET", key, writeRecord({ flag, record }), "EXAT", forgetAt(record)];
}

/**
 * Runs a script, which Redis executes as one atomic step. Its keys must be in one slot. It is sent in full each time, so that it
 * need not be loaded first on any node or after a failover.
 */
export function runScript(
  send: Send,
  {
    script,
    keys,
    args,
  }: { script: string; keys: readonly [string, ...string[]]; args: readonly (string | number)[] },
): Promise<unknown> {
  return send(keys[0], ["EVAL", script, keys.length, ...keys, ...args]);
}

/** Ends the script with 0 unless the record of the first key is alive at ARGV[1] and has no flag. Otherwise sets the flag. */
const spendOrLeave = `
local value = redis.call("GET", KEYS[1])
if not value or string.sub(value, 1, 1) ~= "0" then return 0 end
if cjson.decode(string.sub(value, 2)).expiresAt <= tonumber(ARGV[1]) then return 0 end
redis.call("SETRANGE", KEYS[1], 0, "1")
`;

/** Spends a record. KEYS: the record. ARGV: now. Returns 1 for the winner, 0 for all others. */
export const spendScript: string = `${spendOrLeave}return 1`;

/**
 * Rotates a record. KEYS: the record, its successor. ARGV: now, the successor's value, when to remove it. Returns 1 for the winner,
 * 0 for all others. If the successor already exists, this very rotation has succeeded before: a client library lost the answer and
 * sent the command again.
 */
export const rotateScript: string = `
if redis.call("EXISTS", KEYS[2]) == 1 then return 1 end
${spendOrLeave}redis.call("SET", KEYS[2], ARGV[2], "EXAT", ARGV[3])
return 1`;

/** Flags records. KEYS: records. Returns how many had no flag before; missing records are not counted. */
export const flagScript = `
local count = 0
for i = 1, #KEYS do
  if redis.call("GETRANGE", KEYS[i], 0, 0) == "0" then
    redis.call("SETRANGE", KEYS[i], 0, "1")
    count = count + 1
  end
end
return count`;
