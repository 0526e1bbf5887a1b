/** Codes and tokens in Redis. The id in braces keeps all keys of an authorization in one slot. RFC 6749 §4.1.2, 9700 §4.14.2. */
import type { AuthorizationCode, RefreshToken, RefreshTokenUse } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { TokenHandle } from "../../protocol/token-value";
import type {
  AccessTokenStore,
  AuthorizationCodeStore,
  RefreshTokenStore,
  StoredAccessToken,
} from "../../storage/port";
import { misread, numberOf, textOf } from "./answers";
import {
  authorizationKey,
  forgetAt,
  lastUse,
  noteLastUse,
  readLiving,
  readRecord,
  type RedisStoreOptions,
  runScript,
  setRecord,
  writeRecord,
} from "./records";

/** Spends a code. KEYS: the code, its authorization. ARGV: now, the last use. Returns 1 for the winner, 0 for all others. */
const spendScript = `${readLiving("0")}
if string.sub(value, 1, 1) ~= "0" then return 0 end
redis.call("SETRANGE", KEYS[1], 0, "1")${noteLastUse}
return 1`;

/**
 * Rotates a refresh token. KEYS: the token, its authorization, its successor. ARGV: now, the last use, the successor's value, when
 * to remove it, how the token is used as JSON or nothing. Returns "rotated" to the winner; to the others the value of the token that
 * was used, which says how, or "not-rotated" when there is no living one. If the successor already exists, this very rotation has
 * succeeded before: a client library lost the answer and sent the command again. There is always a write for `WAIT` to wait for: what is
 * told of an earlier rotation must be as safe as that.
 */
const rotateScript = `
if redis.call("EXISTS", KEYS[3]) == 1 then
  redis.call("SETRANGE", KEYS[3], 0, redis.call("GETRANGE", KEYS[3], 0, 0))
  return "rotated"
end${readLiving('"not-rotated"')}
redis.call("SETRANGE", KEYS[1], 0, "1")
if string.sub(value, 1, 1) ~= "0" then return value end
if ARGV[5] then redis.call("SETRANGE", KEYS[1], #value - 1, ',"use":' .. ARGV[5] .. "}") end
redis.call("SET", KEYS[3], ARGV[3], "EXAT", ARGV[4])${noteLastUse}
return "rotated"`;

/** What a rotation was told. @throws Error for an unclear answer, which must not win a token */
function rotationIn(answer: unknown, now: EpochSeconds): "rotated" | "not-rotated" | RefreshTokenUse {
  const told = textOf(answer);
  if (told === "rotated" || told === "not-rotated") return told;
  if (told?.startsWith("1{") !== true) throw misread(answer);
  return readRecord<RefreshToken>(told, now)?.record.use ?? "not-rotated";
}

/** Authorization codes: one key each. Redis removes expired ones. @rfc 6749 §4.1.2 */
export function redisAuthorizationCodes({
  prefix,
  send,
  sendReplicated,
}: RedisStoreOptions): AuthorizationCodeStore {
  const keyOf = ({ authorizationId, digest }: TokenHandle): string =>
    `${authorizationKey(prefix, authorizationId)}:code:${digest}`;
  return {
    async create({ consumed, ...code }) {
      const key = keyOf(code);
      await send(key, setRecord(key, { record: code, flag: consumed }));
    },
    async find(handle, now) {
      const key = keyOf(handle);
      const found = readRecord<AuthorizationCode>(await send(key, ["GET", key]), now);
      return found && { ...found.record, consumed: found.flag };
    },
    async consume(handle, now) {
      const keys = [keyOf(handle), authorizationKey(prefix, handle.authorizationId)] as const;
      const won = await runScript(sendReplicated, { script: spendScript, keys, args: [now, lastUse(now)] });
      return numberOf(won) === 1 ? "consumed" : "not-consumed";
    },
  };
}

/** Refresh tokens: one key each. Rotating is one script with two keys of one slot. Redis removes expired ones. @rfc 9700 §4.14.2 */
export function redisRefreshTokens({ prefix, send, sendReplicated }: RedisStoreOptions): RefreshTokenStore {
  const keyOf = ({ authorizationId, digest }: TokenHandle): string =>
    `${authorizationKey(prefix, authorizationId)}:refresh:${digest}`;
  return {
    async create({ used, ...token }) {
      const key = keyOf(token);
      await send(key, setRecord(key, { record: token, flag: used }));
    },
    async find(handle, now) {
      const key = keyOf(handle);
      const found = readRecord<RefreshToken>(await send(key, ["GET", key]), now);
      return found && { ...found.record, used: found.flag };
    },
    async rotate({ from, to: { used, ...to }, use }, now) {
      const keys = [keyOf(from), authorizationKey(prefix, from.authorizationId), keyOf(to)] as const;
      const successor = [writeRecord({ flag: used, record: to }), forgetAt(to)];
      const args = [now, lastUse(now), ...successor, ...(use ? [JSON.stringify(use)] : [])];
      return rotationIn(await runScript(sendReplicated, { script: rotateScript, keys, args }), now);
    },
  };
}

/** Opaque access tokens and revocations. Revocations are replicated: a lost one would make a revoked token valid again. */
export function redisAccessTokens({ prefix, send, sendReplicated }: RedisStoreOptions): AccessTokenStore {
  const tokenKey = (digest: string): string => `${prefix}access:${digest}`;
  const revokedKey = (tokenId: string): string => `${prefix}revoked:${tokenId}`;
  return {
    async create(token) {
      const key = tokenKey(token.digest);
      await send(key, setRecord(key, { record: token }));
    },
    async find(digest, now) {
      const key = tokenKey(digest);
      return readRecord<StoredAccessToken>(await send(key, ["GET", key]), now)?.record;
    },
    async revoke(token) {
      const key = revokedKey(token.tokenId);
      await sendReplicated(key, setRecord(key, { record: token }));
    },
    async isRevoked(tokenId, now) {
      const key = revokedKey(tokenId);
      return readRecord(await send(key, ["GET", key]), now) !== undefined;
    },
  };
}
