/** How records are stored in Redis: a flag, then JSON. Scripts change the flag. RFC 6749 §4.1.2, 9700 §4.14.2. */
import type { Authorization } from "../../protocol/authorization";
import { clockDriftSeconds, type EpochSeconds } from "../../protocol/time";
import type { ListedAuthorization } from "../../storage/port";
import { optionalTextsOf, textOf } from "./answers";
import { keySlot, type Send } from "./client";

/** The key of an authorization. The braces keep the keys of its codes and tokens, which begin with it, in the same slot. */
export function authorizationKey(prefix: string, authorizationId: string): string {
  return `${prefix}{${authorizationId}}`;
}

/**
 * What a record begins with, behind the flag. At this fixed place, a script that spends a code or a refresh token can write the last
 * use without a further key.
 */
const beginning = '{"lastUsedAt":';
/** The time is padded with spaces, which JSON allows. */
const width = 16;

interface StoredAuthorization extends Omit<Authorization, "revoked"> {
  /** 0 before the first use. */
  readonly lastUsedAt: EpochSeconds;
}

/** The command that stores a new authorization until Redis may remove it. */
export function setAuthorization(key: string, authorization: Authorization): readonly (string | number)[] {
  const value = `${authorization.revoked ? 1 : 0}${beginning}${lastUse(0)}${newRest(authorization)}`;
  return ["SET", key, value, "EXAT", forgetAt(authorization)];
}

/** The authorization in an answer with its last use, or `undefined` when there is none or it has expired at `now`. */
export function readListed(answer: unknown, now: EpochSeconds): ListedAuthorization | undefined {
  const found = readRecord<StoredAuthorization>(answer, now);
  if (found === undefined) return undefined;
  const { lastUsedAt, ...authorization } = found.record;
  return { ...authorization, revoked: found.flag, ...(lastUsedAt > 0 && { lastUsedAt }) };
}

/** The same without its last use. */
export function readAuthorization(answer: unknown, now: EpochSeconds): Authorization | undefined {
  const listed = readListed(answer, now);
  if (listed === undefined) return undefined;
  const { lastUsedAt: _, ...authorization } = listed;
  return authorization;
}

/** How long the part of a stored authorization is that changes in place: its flag and its last use. */
const headLength = 1 + beginning.length + width;

/** What follows that part. */
export function restOf(stored: string): string {
  return stored.slice(headLength);
}

/** The same for an authorization that takes the place of a stored one. */
export function newRest({ revoked: _flag, ...authorization }: Authorization): string {
  return `,${JSON.stringify(authorization).slice(1)}`;
}

/**
 * Replaces the rest ARGV[1] of the authorization KEYS[1] with ARGV[2], and revokes it if ARGV[3] is 1. Returns 0 where the rest is another
 * one by now.
 */
export const replaceRest: string = `
local value = redis.call("GET", KEYS[1])
if not value or string.sub(value, ${headLength + 1}) ~= ARGV[1] then return 0 end
if ARGV[3] == "1" then value = "1" .. string.sub(value, 2) end
redis.call("SET", KEYS[1], string.sub(value, 1, ${headLength}) .. ARGV[2], "KEEPTTL")
return 1`;

/** The argument of a script for a last use at this time. */
export function lastUse(now: EpochSeconds): string {
  return String(now).padStart(width);
}

/** The step of a script that writes the last use ARGV[2] into the authorization KEYS[2]. It never creates one. */
export const noteLastUse: string = `
if redis.call("GETRANGE", KEYS[2], 1, ${beginning.length}) == '${beginning}' then
  redis.call("SETRANGE", KEYS[2], ${beginning.length + 1}, ARGV[2])
end`;

/** Moves the last use of the authorization KEYS[1] to ARGV[1], never back. Never creates one, and leaves a revoked one alone. */
export const moveLastUse: string = `
local head = '0${beginning}'
local found = redis.call("GETRANGE", KEYS[1], 0, #head + ${width - 1})
if string.sub(found, 1, #head) ~= head then return 0 end
if tonumber(string.sub(found, #head + 1)) >= tonumber(ARGV[1]) then return 0 end
redis.call("SETRANGE", KEYS[1], #head, ARGV[1])
return 1`;

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

/** Ends the script with this answer unless the record KEYS[1] is alive at ARGV[1]. */
export const readLiving = (otherwise: string): string => `
local value = redis.call("GET", KEYS[1])
if not value then return ${otherwise} end
if cjson.decode(string.sub(value, 2)).expiresAt <= tonumber(ARGV[1]) then return ${otherwise} end`;

/** How many records share one command. Commands of other requests run in between. */
export const atOnce = 500;

/** These items in chunks for one command each. */
export function chunksOf<T>(items: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(items.length / atOnce);
  return Array.from({ length: count }, (_, index) => items.slice(index * atOnce, (index + 1) * atOnce));
}

/** The values of these keys, in their order: with one command on one server, in a cluster with one for each slot. */
export async function readValues(
  { isOneServer, send }: RedisStoreOptions,
  keys: readonly string[],
): Promise<readonly (string | undefined)[]> {
  const [first] = keys;
  if (first === undefined) return [];
  if (isOneServer) return optionalTextsOf(await send(first, ["MGET", ...keys]), keys.length);
  const slots = new Map<number, [string, ...string[]]>();
  for (const key of keys) {
    const slot = keySlot(key);
    const group = slots.get(slot);
    if (group) group.push(key);
    else slots.set(slot, [key]);
  }
  const values = new Map<string, string | undefined>();
  const reads = [...slots.values()].map(async (group) => {
    const texts = optionalTextsOf(await send(group[0], ["MGET", ...group]), group.length);
    for (const [index, key] of group.entries()) values.set(key, texts[index]);
  });
  await Promise.all(reads);
  return keys.map((key) => values.get(key));
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
