/** Remembered consents in Redis. RFC 6749 §1.3, 7009 §2.1. */
import type { Consent, ConsentKey } from "../../protocol/consent";
import { clockDriftSeconds } from "../../protocol/time";
import type { ConsentStore } from "../port";
import { numberOf, textOf, textsOf } from "./answers";
import { type RedisStoreOptions, runScript } from "./records";

/**
 * Sets the field ARGV[1] of the hash to ARGV[2], which ends at ARGV[3]. Drops fields that ended before ARGV[4], and keeps the hash
 * ARGV[5] seconds longer than its last field.
 */
const saveConsentScript = `
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
local last = tonumber(ARGV[3])
local fields = redis.call("HGETALL", KEYS[1])
for i = 1, #fields, 2 do
  local expiresAt = cjson.decode(fields[i + 1]).expiresAt
  if expiresAt <= tonumber(ARGV[4]) then redis.call("HDEL", KEYS[1], fields[i]) end
  last = math.max(last, expiresAt)
end
redis.call("EXPIREAT", KEYS[1], last + ARGV[5])
return 1`;

/**
 * Drops the field ARGV[2] of the hash, and those that begin with ARGV[3] if there is one, unless the consent was given under the end
 * mark ARGV[1]. A script, so that comparing and deleting are one step. Returns how many it dropped.
 */
const deleteConsentsScript = `
local count = 0
for _, field in ipairs(redis.call("HKEYS", KEYS[1])) do
  if field == ARGV[2] or (ARGV[3] and string.sub(field, 1, #ARGV[3]) == ARGV[3]) then
    local isNewer = false
    local consent = cjson.decode(redis.call("HGET", KEYS[1], field))
    for _, mark in ipairs(consent.endMarks or {}) do isNewer = isNewer or mark == ARGV[1] end
    if not isNewer then count = count + redis.call("HDEL", KEYS[1], field) end
  end
end
return count`;

/** A consent without a context has the field that versions before 0.2 gave it. */
function fieldOf({ clientId, apiId, contextKey = "" }: Omit<ConsentKey, "subject">): string {
  return JSON.stringify(contextKey === "" ? [clientId, apiId] : [clientId, apiId, contextKey]);
}

/** How the fields of this client and API begin when they name a context. */
function beginningOf(key: Omit<ConsentKey, "subject">): string {
  return fieldOf({ ...key, contextKey: "" }).replace(/\]$/, ",");
}

/** Consents: one hash for each end user, with a field for each client, API and context. Redis removes a hash after its last consent. */
export function redisConsents({ prefix, send, sendReplicated }: RedisStoreOptions): ConsentStore {
  const keyOf = (subject: string): string => `${prefix}consents:${subject}`;
  return {
    async find(consentKey, now) {
      const key = keyOf(consentKey.subject);
      const value = textOf(await send(key, ["HGET", key, fieldOf(consentKey)]));
      const consent = value === undefined ? undefined : (JSON.parse(value) as Consent);
      return consent && now < consent.expiresAt ? consent : undefined;
    },
    async save(consent, now) {
      // replicated: it may allow less than the one that it replaces
      const args = [fieldOf(consent), JSON.stringify(consent), consent.expiresAt, now, clockDriftSeconds];
      await runScript(sendReplicated, { script: saveConsentScript, keys: [keyOf(consent.subject)], args });
    },
    async list(subject, now) {
      const key = keyOf(subject);
      const values = textsOf(await send(key, ["HVALS", key]));
      return values.map((value) => JSON.parse(value) as Consent).filter(({ expiresAt }) => now < expiresAt);
    },
    async delete({ selection, exceptEndMark }) {
      const keys = [keyOf(selection.subject)] as const;
      const field = fieldOf(selection);
      const args =
        selection.contextKey === undefined
          ? [exceptEndMark, field, beginningOf(selection)]
          : [exceptEndMark, field];
      const count = await runScript(sendReplicated, { script: deleteConsentsScript, keys, args });
      return numberOf(count) > 0;
    },
  };
}
