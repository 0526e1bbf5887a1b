/** Remembered consents in Redis. RFC 6749 §1.3, 7009 §2.1. */
import { type Consent, type ConsentKey, maxConsents } from "../../protocol/consent";
import { clockDriftSeconds } from "../../protocol/time";
import type { AuthorizationSelection, ConsentStore } from "../../storage/port";
import { numberOf, textOf, textsOf } from "./answers";
import { type RedisStoreOptions, runScript } from "./records";

/**
 * Sets the field ARGV[1] of the hash to ARGV[2], which ends at ARGV[3]. Of the first to end, drops those that ended before ARGV[4] and
 * those beyond ARGV[6]: a few, as a save is one script, during which the server does nothing else. Keeps both keys ARGV[5] seconds longer
 * than the last field.
 */
const saveConsentScript = `
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
redis.call("ZADD", KEYS[2], ARGV[3], ARGV[1])
local surplus = redis.call("ZCARD", KEYS[2]) - ARGV[6]
local first = redis.call("ZRANGE", KEYS[2], 0, 9, "WITHSCORES")
for i = 1, #first, 2 do
  if first[i] ~= ARGV[1] and (surplus > 0 or tonumber(first[i + 1]) <= tonumber(ARGV[4])) then
    redis.call("HDEL", KEYS[1], first[i])
    redis.call("ZREM", KEYS[2], first[i])
    surplus = surplus - 1
  end
end
local last = redis.call("ZRANGE", KEYS[2], -1, -1, "WITHSCORES")
redis.call("EXPIREAT", KEYS[1], last[2] + ARGV[5])
redis.call("EXPIREAT", KEYS[2], last[2] + ARGV[5])
return 1`;

/**
 * Drops the field ARGV[2] of the hash, and those that begin with ARGV[3] if there is one, or all without ARGV[2], unless the consent was
 * given under the end mark ARGV[1]. A script, so that comparing and deleting are one step. Returns how many it dropped.
 */
const deleteConsentsScript = `
local count = 0
for _, field in ipairs(redis.call("HKEYS", KEYS[1])) do
  if not ARGV[2] or field == ARGV[2] or (ARGV[3] and string.sub(field, 1, #ARGV[3]) == ARGV[3]) then
    local isNewer = false
    local consent = cjson.decode(redis.call("HGET", KEYS[1], field))
    for _, mark in ipairs(consent.endMarks) do isNewer = isNewer or mark == ARGV[1] end
    if not isNewer then
      count = count + redis.call("HDEL", KEYS[1], field)
      redis.call("ZREM", KEYS[2], field)
    end
  end
end
return count`;

function fieldOf({ clientId, apiId, contextKey = "" }: Omit<ConsentKey, "subject">): string {
  return JSON.stringify(contextKey === "" ? [clientId, apiId] : [clientId, apiId, contextKey]);
}

/** How the fields of this client and API begin when they name a context. */
function beginningOf(key: Omit<ConsentKey, "subject">): string {
  return fieldOf({ ...key, contextKey: "" }).replace(/\]$/, ",");
}

/** The field to delete, and how others begin that go with it. */
function fieldsOf({ clientId, apiId, contextKey }: AuthorizationSelection): readonly string[] {
  if (clientId === undefined || apiId === undefined) return [];
  const key = { clientId, apiId };
  return contextKey === undefined ? [fieldOf(key), beginningOf(key)] : [fieldOf({ ...key, contextKey })];
}

/**
 * Consents: for each end user a hash with a field for each client, API and context, and a sorted set of its fields by their ends. Redis
 * removes both after the last consent.
 */
export function redisConsents({ prefix, send, sendReplicated }: RedisStoreOptions): ConsentStore {
  // the braces keep both keys of a person in one slot; JSON, because the text between them must not be empty
  const keyOf = (subject: string): string => `${prefix}consents:{${JSON.stringify([subject])}}`;
  const keysOf = (subject: string): [string, string] => [keyOf(subject), `${keyOf(subject)}:ends`];
  return {
    async find(consentKey, now) {
      const key = keyOf(consentKey.subject);
      const value = textOf(await send(key, ["HGET", key, fieldOf(consentKey)]));
      const consent = value === undefined ? undefined : (JSON.parse(value) as Consent);
      return consent && now < consent.expiresAt ? consent : undefined;
    },
    async save(consent, now) {
      // replicated: it may allow less than the one that it replaces
      const { subject, expiresAt } = consent;
      const record = JSON.stringify(consent);
      const args = [fieldOf(consent), record, expiresAt, now, clockDriftSeconds, maxConsents];
      await runScript(sendReplicated, { script: saveConsentScript, keys: keysOf(subject), args });
    },
    async list(subject, now) {
      const key = keyOf(subject);
      const values = textsOf(await send(key, ["HVALS", key]));
      return values.map((value) => JSON.parse(value) as Consent).filter(({ expiresAt }) => now < expiresAt);
    },
    async delete({ selection, exceptEndMark }) {
      const args = [exceptEndMark, ...fieldsOf(selection)];
      const keys = keysOf(selection.subject);
      const count = await runScript(sendReplicated, { script: deleteConsentsScript, keys, args });
      return numberOf(count) > 0;
    },
  };
}
