/** Codes and tokens in Redis. The id in braces keeps all keys of an authorization in one slot. RFC 6749 §4.1.2, 9700 §4.14.2. */
import type { AuthorizationCode } from "../../protocol/authorization-code";
import type { RefreshToken } from "../../protocol/refresh-token";
import type { TokenHandle } from "../../protocol/token-value";
import type { AccessTokenStore, AuthorizationCodeStore, RefreshTokenStore, StoredAccessToken } from "../port";
import { numberOf } from "./answers";
import {
  forgetAt,
  readRecord,
  type RedisStoreOptions,
  rotateScript,
  runScript,
  setRecord,
  spendScript,
  writeRecord,
} from "./records";

/** Authorization codes: one key each. Redis removes expired ones. @rfc 6749 §4.1.2 */
export function redisAuthorizationCodes({
  prefix,
  send,
  sendReplicated,
}: RedisStoreOptions): AuthorizationCodeStore {
  const keyOf = ({ authorizationId, digest }: TokenHandle): string =>
    `${prefix}{${authorizationId}}:code:${digest}`;
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
      const key = keyOf(handle);
      const won = await runScript(sendReplicated, { script: spendScript, keys: [key], args: [now] });
      return numberOf(won) === 1 ? "consumed" : "not-consumed";
    },
  };
}

/** Refresh tokens: one key each. Rotating is one script with two keys of one slot. Redis removes expired ones. @rfc 9700 §4.14.2 */
export function redisRefreshTokens({ prefix, send, sendReplicated }: RedisStoreOptions): RefreshTokenStore {
  const keyOf = ({ authorizationId, digest }: TokenHandle): string =>
    `${prefix}{${authorizationId}}:refresh:${digest}`;
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
    async rotate({ from, to: { used, ...to } }, now) {
      const key = keyOf(from);
      const args = [now, writeRecord({ flag: used, record: to }), forgetAt(to)];
      const won = await runScript(sendReplicated, { script: rotateScript, keys: [key, keyOf(to)], args });
      return numberOf(won) === 1 ? "rotated" : "not-rotated";
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
