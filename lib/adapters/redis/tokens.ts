/** Codes and tokens in Redis. The id in braces keeps all keys of an authorization in one slot. RFC 6749 §4.1.2, 9700 §4.14.2. */
import type { AuthorizationCode, RefreshToken, RefreshTokenUse } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { TokenHandle } from "../../protocol/token-value";
import type {
  AccessTokenStore,
  AuthorizationCodeStore,
  RefreshTokenStore,
  StepsAtOnce,
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

/**
 * Spends a code, and stores what it pays for. KEYS: the code, its authorization. ARGV: now, the last use. Returns 1 for the winner, 0 for all
 * others.
 */
const spending = (stored: string): string => `${readLiving("0")}
if string.sub(value, 1, 1) ~= "0" then return 0 end
redis.call("SETRANGE", KEYS[1], 0, "1")${stored}${noteLastUse}
return 1`;

const consumeScript = spending("");

/** The third of the KEYS is the refresh token, and two more of ARGV are its value and when to remove it. */
const redeemScript = spending(`
redis.call("SET", KEYS[3], ARGV[3], "EXAT", ARGV[4])`);

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

/** The keys of an authorization's codes and refresh tokens. They are in one slot. */
function keyIn(prefix: string, kind: "code" | "refresh") {
  return ({ authorizationId, digest }: TokenHandle): string =>
    `${authorizationKey(prefix, authorizationId)}:${kind}:${digest}`;
}

/** What stands for a refresh token in a script: its value, and when to remove it. */
function storing({ used, ...token }: RefreshToken): readonly [string, EpochSeconds] {
  return [writeRecord({ flag: used, record: token }), forgetAt(token)];
}

/** `atOnce.redeem`, with the access token ahead of the script: it is in another slot. @rfc 6749 §4.1.2 */
export function redisRedeem(options: RedisStoreOptions): Required<StepsAtOnce>["redeem"] {
  const { prefix, sendReplicated } = options;
  const accessTokens = redisAccessTokens(options);
  return async ({ code, refreshToken, accessToken }, now) => {
    if (accessToken) await accessTokens.create(accessToken, now);
    const refreshKeys = refreshToken ? [keyIn(prefix, "refresh")(refreshToken)] : [];
    const keys = [
      keyIn(prefix, "code")(code),
      authorizationKey(prefix, code.authorizationId),
      ...refreshKeys,
    ] as const;
    const args = [now, lastUse(now), ...(refreshToken ? storing(refreshToken) : [])];
    const script = refreshToken ? redeemScript : consumeScript;
    const won = await runScript(sendReplicated, { script, keys, args });
    return numberOf(won) === 1 ? "consumed" : "not-consumed";
  };
}

/** Authorization codes: one key each. Redis removes expired ones. @rfc 6749 §4.1.2 */
export function redisAuthorizationCodes(options: RedisStoreOptions): AuthorizationCodeStore {
  const { prefix, send } = options;
  const keyOf = keyIn(prefix, "code");
  const redeem = redisRedeem(options);
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
    consume: (code, now) => redeem({ code }, now),
  };
}

/** Refresh tokens: one key each. Rotating is one script with two keys of one slot. Redis removes expired ones. @rfc 9700 §4.14.2 */
export function redisRefreshTokens({ prefix, send, sendReplicated }: RedisStoreOptions): RefreshTokenStore {
  const keyOf = keyIn(prefix, "refresh");
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
    async rotate({ from, to, use }, now) {
      const keys = [keyOf(from), authorizationKey(prefix, from.authorizationId), keyOf(to)] as const;
      const args = [now, lastUse(now), ...storing(to), ...(use ? [JSON.stringify(use)] : [])];
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
