// @ts-check
/**
 * authmount with a storage that processes can share: `BENCH_STORAGE` is `memory`, `sqlite`, `postgres`, `postgres-prepared`, `mariadb` or `redis`, and `BENCH_STORAGE_URL` is its
 * address or file. `BENCH_SECRETS` must be the same in all processes. The server counts its round trips to the storage.
 */
"use strict";
const { hash } = require("node:crypto");
const { memoryStorage } = require("../..");
const { mysqlStorage } = require("../../dist/mysql");
const { postgresStorage } = require("../../dist/postgres");
const { redisStorage } = require("../../dist/redis");
const { sqliteStorage } = require("../../dist/sqlite");
const { clientOf, newSecrets, startHost } = require("../authmount-host");
const { ask, openMysqlPool, openPool, openRedis } = require("../counted");

const { BENCH_STORAGE = "memory", BENCH_STORAGE_URL: url = "", BENCH_SECRETS } = process.env;

/** The same pool, where each text is a prepared statement, as docs/storage-postgres.md has it. @param {ReturnType<typeof openPool>} pool */
const prepared = ({ query }) => ({
  /** @param {string} text @param {unknown[]} [values] */
  query: (text, values = []) => query({ name: hash("sha1", text), text, values }),
});

/**
 * The same storage with its tables and this client.
 *
 * @param {import("../../dist/postgres").PostgresStorage | import("../../dist/mysql").MysqlStorage | import("../../dist/sqlite").SqliteStorage} storage
 * @param {import("../..").Client} client
 */
async function ready(storage, client) {
  await storage.migrate();
  await storage.clients.save(client);
  return storage;
}

/** @param {import("../..").Client} client */
async function openRedisStorage(client) {
  const storage = redisStorage({ client: await openRedis(url) });
  await storage.clients.save(client);
  return storage;
}

/** @type {Readonly<Record<string, (client: import("../..").Client) => Promise<import("../..").Storage>>>} */
const openers = {
  memory: async (client) => memoryStorage({ maxEntries: 10_000_000, clients: [client] }),
  sqlite: (client) => ready(sqliteStorage({ file: url }), client),
  postgres: (client) => ready(postgresStorage({ pool: openPool(url) }), client),
  "postgres-prepared": (client) => ready(postgresStorage({ pool: prepared(openPool(url)) }), client),
  mariadb: (client) => ready(mysqlStorage({ pool: openMysqlPool(url) }), client),
  redis: openRedisStorage,
};

/** @type {import("../types").ServerFile} */
module.exports = {
  title: `authmount, ${BENCH_STORAGE}`,
  formats: ["jwt", "opaque"],
  async start({ format }) {
    const open = openers[BENCH_STORAGE];
    if (!open) throw new Error(`BENCH_STORAGE=${BENCH_STORAGE} is not a storage`);
    /** @type {import("../authmount-host").HostSecrets} */
    const secrets = BENCH_SECRETS === undefined ? newSecrets() : JSON.parse(BENCH_SECRETS);
    return startHost({ ...secrets, format, storage: await open(clientOf(secrets)) });
  },
  ask,
};
