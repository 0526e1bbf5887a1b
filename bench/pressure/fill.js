// @ts-check
/** Fills a store, and checks that it is as the adapter would have filled it. */
"use strict";
const { deepStrictEqual } = require("node:assert/strict");
const { livingLogins, loginOf, shapes, storeLogin } = require("./logins");

/**
 * @typedef {import("./engines").Store} Store
 * @typedef {import("./logins").Login} Login
 * @typedef {import("./logins").Population} Population
 */

const batch = 5_000;
const checked = 100;
/** Two at a time, so that the next batch is made while the engine stores one. */
const workers = 2;

const clock = () => Math.floor(Date.now() / 1000);

/** Logins of every shape, in different numbers than those that are filled in. */
function examples() {
  const population = livingLogins(100, clock());
  const all = Array.from({ length: 100 }, (_, number) => loginOf(number, population));
  return shapes.map((shape) => all.filter((login) => login.shape === shape));
}

/** Lets the store learn to copy, and compares what it copies with what the adapter stores for the same logins. @param {Store} store */
async function teach(store) {
  const [first, second] = [examples().map(([login]) => login), examples().map((logins) => logins.at(-1))];
  for (const login of first) if (login) await store.learn(login);
  const others = second.filter((login) => login !== undefined);
  for (const login of others) await storeLogin(store.storage, login);
  const byAdapter = await store.dump();
  await store.clear();
  await store.copy(others);
  deepStrictEqual(await store.dump(), byAdapter, "a copied login differs from that of the adapter");
  await store.clear();
}

/** Stores the logins `from` up to but without `to`. @param {Store} store @param {Population & { from: number; to: number }} which */
async function fill(store, { from, to, ...population }) {
  let next = from;
  async function worker() {
    while (next < to) {
      const begin = next;
      next = Math.min(to, begin + batch);
      await store.copy(
        Array.from({ length: next - begin }, (_, index) => loginOf(begin + index, population)),
      );
    }
  }
  await Promise.all(Array.from({ length: workers }, worker));
}

/** Asks the adapter for logins all over the store. @param {Store} store @param {Population} population */
async function checkSample({ storage }, population) {
  const now = clock();
  for (let index = 0; index < checked; index += 1) {
    const login = loginOf(Math.floor((index * population.count) / checked), population);
    const { authorizationId, subject, shape, digest, spentDigest } = login;
    const isRevoked = shape.isRevoked === true;
    const found = await storage.authorizations.find(authorizationId, now);
    const listed = await storage.authorizations.list(subject, { limit: 100 }, now);
    const spent = await storage.refreshTokens.find({ authorizationId, digest: spentDigest }, now);
    const unused = await storage.refreshTokens.find({ authorizationId, digest }, now);
    const isListed = listed.some((each) => each.authorizationId === authorizationId && each.lastUsedAt);
    const [isRight, isUsed] = [found?.subject === subject && found.revoked === isRevoked, spent?.used];
    if (!isRight || isListed === isRevoked || isUsed !== true || unused?.used !== false)
      throw new Error(`the adapter does not find login ${JSON.stringify(login)} as it was stored`);
  }
}

module.exports = { checkSample, clock, fill, teach };
