/** How a record is kept in Redis: a flag, then JSON; and the scripts that change the flag. RFC 6749 §4.1.2, 9700 §4.14.2. */
import { clockDriftSeconds, type EpochSeconds } from "../../protocol/time";
import { textOf } from "./answers";
import type { Send } from "./client";

/** Where and how the stores of the adapter keep their keys. */
export interface RedisStoreOptions {
  /** What every key begins with. */
  readonly prefix: string;
  readonly send: Send;
  /** For what must not be lost: single uses and revocations. */
  readonly sendReplicated: Send;
  /** True where one script may have keys of several slots. */
  readonly isOneServer: boolean;
}

interface Expiring {
  readonly expiresAt: EpochSeconds;
}

/** A record and whether it was spent or revoked. */
export interface Flagged<T> {
  readonly flag: boolean;
  readonly record: T;
}

/** `0` or `1`, and the record as JSON. */
export function writeRecord({ flag, record }: Flagged<object>): string {
  return `${flag ? 1 : 0}${JSON.stringify(record)}`;
}

export function readRecord<T extends Expiring>(answer: unknown, now: EpochSeconds): Flagged<T> | undefined {
  const value = textOf(answer);
  if (value === undefined) return undefined;
  const record = JSON.parse(value.slice(1)) as T;
  return now < record.expiresAt ? { flag: value.startsWith("1"), record } : undefined;
}

/** When Redis may forget: the record is judged by its own `expiresAt` until then. */
export function forgetAt({ expiresAt }: Expiring): EpochSeconds {
  return expiresAt + clockDriftSeconds;
}

export function setRecord(
  key: string,
  { record, flag = false }: { record: Expiring; flag?: boolean },
): readonly (string | number)[] {
  return ["SET", key, writeRecord({ flag, record }), "EXAT", forgetAt(record)];
}

/** A script with its keys, which must be of one slot. It is sent in full: nothing is to be loaded, on no node and after no failover. */
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

/** Leaves the script with 0 unless the record of the first key is alive at ARGV[1] and has no flag; then sets the flag. */
const spendOrLeave = `
local value = redis.call("GET", KEYS[1])
if not value or string.sub(value, 1, 1) ~= "0" then return 0 end
if cjson.decode(string.sub(value, 2)).expiresAt <= tonumber(ARGV[1]) then return 0 end
redis.call("SETRANGE", KEYS[1], 0, "1")
`;

/** KEYS: the record. ARGV: now. 1 for the one that wins, 0 for all others. */
export const spendScript: string = `${spendOrLeave}return 1`;

/**
 * KEYS: the record, its successor. ARGV: now, the successor's value, when to forget it. A successor that is there already is
 * this very rotation: a client library sent it again because it had lost the answer.
 */
export const rotateScript: string = `
if redis.call("EXISTS", KEYS[2]) == 1 then return 1 end
${spendOrLeave}redis.call("SET", KEYS[2], ARGV[2], "EXAT", ARGV[3])
return 1`;

/** KEYS: records. How many of them had no flag; they have one now. Nothing happens where there is none. */
export const flagScript = `
local count = 0
for i = 1, #KEYS do
  if redis.call("GETRANGE", KEYS[i], 0, 0) == "0" then
    redis.call("SETRANGE", KEYS[i], 0, "1")
    count = count + 1
  end
end
return count`;
