/**
 * A Redis adapter for oidc-provider, written for this benchmark. It follows the adapter interface that its documentation describes
 * (`example/my_adapter.js`) and the layout and the commands of its Redis example (`example/adapters/redis.js`): a key for each entry
 * that ends with the entry, a hash where an entry can be consumed, a list of keys for each grant, one transaction for each write,
 * and `ioredis`. As there, an entry is read and then marked as consumed: nothing makes these two steps one.
 */
"use strict";

/** The models whose entries end when their grant is revoked. */
const ofGrant = new Set(["AccessToken", "AuthorizationCode", "RefreshToken"]);
/** The models whose entries can be used once. */
const usedOnce = new Set(["AuthorizationCode", "RefreshToken"]);

const grantKeyOf = (grantId) => `oidc:grant:${grantId}`;
const uidKeyOf = (uid) => `oidc:uid:${uid}`;

/** @param {import("ioredis").Redis} redis @returns a factory of adapters, one for each model */
const newRedisAdapter = (redis) => (model) => {
  const keyOf = (id) => `oidc:${model}:${id}`;

  async function find(id) {
    if (!usedOnce.has(model)) {
      const text = await redis.get(keyOf(id));
      return text === null ? undefined : JSON.parse(text);
    }
    const { payload, consumed } = await redis.hgetall(keyOf(id));
    if (payload === undefined) return undefined;
    return { ...JSON.parse(payload), ...(consumed !== undefined && { consumed: Number(consumed) }) };
  }

  async function upsert(id, payload, expiresIn) {
    const write = redis.multi();
    const text = JSON.stringify(payload);
    if (usedOnce.has(model)) write.hset(keyOf(id), "payload", text);
    else write.set(keyOf(id), text);
    write.expire(keyOf(id), expiresIn);
    if (ofGrant.has(model) && payload.grantId) {
      const grantKey = grantKeyOf(payload.grantId);
      const remaining = await redis.ttl(grantKey);
      write.rpush(grantKey, keyOf(id));
      if (remaining < expiresIn) write.expire(grantKey, expiresIn);
    }
    if (payload.uid) write.set(uidKeyOf(payload.uid), id, "EX", expiresIn);
    await write.exec();
  }

  return {
    upsert,
    find,
    async findByUid(uid) {
      const id = await redis.get(uidKeyOf(uid));
      return id === null ? undefined : find(id);
    },
    async findByUserCode() {},
    async consume(id) {
      await redis.hset(keyOf(id), "consumed", Math.floor(Date.now() / 1000));
    },
    async destroy(id) {
      await redis.del(keyOf(id));
    },
    async revokeByGrantId(grantId) {
      const keys = await redis.lrange(grantKeyOf(grantId), 0, -1);
      await redis.del(grantKeyOf(grantId), ...keys);
    },
  };
};

module.exports = { newRedisAdapter };
