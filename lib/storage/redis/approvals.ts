/** Consents, authorizations and end marks in Redis. RFC 6749 §1.3, 7009 §2.1. */
import type { Authorization } from "../../protocol/authorization";
import type { Consent, ConsentKey } from "../../protocol/consent";
import { clockDriftSeconds } from "../../protocol/time";
import type { EndMark } from "../../protocol/end-mark";
import type { AuthorizationStore, ConsentStore, EndMarkStore } from "../port";
import { numberOf, textOf, textsOf } from "./answers";
import { flagScript, forgetAt, readRecord, type RedisStoreOptions, runScript, setRecord } from "./records";

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

/** Drops the field ARGV[1] of the hash, unless its consent was given under the end mark ARGV[2]. A script, so both are one step. */
const deleteConsentScript = `
local value = redis.call("HGET", KEYS[1], ARGV[1])
if not value or cjson.decode(value).endMark == ARGV[2] then return 0 end
return redis.call("HDEL", KEYS[1], ARGV[1])`;

function fieldOf({ clientId, apiId }: ConsentKey): string {
  return JSON.stringify([clientId, apiId]);
}

/** Consents: one hash for each end user, with a field for each client and API. Redis removes a hash after its last consent. */
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
      const args = [fieldOf(consent), JSON.stringify(consent), consent.expiresAt, now, clockDriftSeconds];
      await runScript(send, { script: saveConsentScript, keys: [keyOf(consent.subject)], args });
    },
    async list(subject, now) {
      const key = keyOf(subject);
      const values = textsOf(await send(key, ["HVALS", key]));
      return values.map((value) => JSON.parse(value) as Consent).filter(({ expiresAt }) => now < expiresAt);
    },
    async delete({ key: consentKey, exceptEndMark }) {
      const keys = [keyOf(consentKey.subject)] as const;
      const args = [fieldOf(consentKey), exceptEndMark];
      return numberOf(await runScript(sendReplicated, { script: deleteConsentScript, keys, args })) === 1;
    },
  };
}

/** End marks: one key each. They are replicated, because a lost mark would make a withdrawn consent count again. @rfc 7009 §2.1 */
export function redisEndMarks({ prefix, send, sendReplicated }: RedisStoreOptions): EndMarkStore {
  const keyOf = (key: string): string => `${prefix}end:${key}`;
  return {
    async find(endMarkKey, now) {
      const key = keyOf(endMarkKey);
      return readRecord<EndMark>(await send(key, ["GET", key]), now)?.record.mark;
    },
    async save(endMark) {
      const key = keyOf(endMark.key);
      await sendReplicated(key, setRecord(key, { record: endMark }));
    },
  };
}

/** Adds ARGV[1] with the end ARGV[2] to the index, drops those that ended before ARGV[3], and keeps it until its last one ends. */
const addToIndexScript = `
redis.call("ZADD", KEYS[1], ARGV[2], ARGV[1])
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", "(" .. ARGV[3])
local last = redis.call("ZRANGE", KEYS[1], -1, -1, "WITHSCORES")
redis.call("EXPIREAT", KEYS[1], last[2])
return 1`;

/** How many records share one script and one `WAIT`. Commands of other requests run in between. */
const revokedAtOnce = 500;

type Keys = readonly [string, ...string[]];

/** Sets the flag of these records and returns how many lacked it. In a cluster a script reaches one slot, so each gets its own. */
function flagRecords({ isOneServer, sendReplicated }: RedisStoreOptions) {
  const flag = async (keys: Keys): Promise<number> =>
    numberOf(await runScript(sendReplicated, { script: flagScript, keys, args: [] }));
  return async ([first, ...others]: Keys): Promise<number> => {
    if (isOneServer) return flag([first, ...others]);
    const counts = await Promise.all([first, ...others].map((key) => flag([key])));
    return counts.reduce((sum, count) => sum + count, 0);
  };
}

/** Authorizations: one key each, and an index for each end user, client and API. Redis removes expired ones. @rfc 6749 §1.3 */
export function redisAuthorizations(options: RedisStoreOptions): AuthorizationStore {
  const { prefix, send, sendReplicated } = options;
  const flag = flagRecords(options);
  const keyOf = (authorizationId: string): string => `${prefix}{${authorizationId}}`;
  const indexOf = ({ subject, clientId, apiId }: ConsentKey): string =>
    `${prefix}authorizations:${JSON.stringify([subject, clientId, apiId])}`;

  return {
    async create({ revoked, ...authorization }, now) {
      const { authorizationId } = authorization;
      const key = keyOf(authorizationId);
      // the index first, and replicated: an authorization that it lacks could not be revoked together with the consent
      const args = [authorizationId, forgetAt(authorization), now];
      await runScript(sendReplicated, { script: addToIndexScript, keys: [indexOf(authorization)], args });
      await send(key, setRecord(key, { record: authorization, flag: revoked }));
    },
    async find(authorizationId, now) {
      const key = keyOf(authorizationId);
      const found = readRecord<Authorization>(await send(key, ["GET", key]), now);
      return found && { ...found.record, revoked: found.flag };
    },
    async revoke(authorizationId) {
      await flag([keyOf(authorizationId)]);
    },
    async revokeAll(consentKey) {
      const index = indexOf(consentKey);
      const ids = textsOf(await send(index, ["ZRANGE", index, 0, -1]));
      let count = 0;
      for (let from = 0; from < ids.length; from += revokedAtOnce) {
        const [first, ...others] = ids.slice(from, from + revokedAtOnce).map(keyOf);
        if (first !== undefined) count += await flag([first, ...others]);
      }
      return count;
    },
  };
}
