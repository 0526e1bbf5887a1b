// @ts-check
/**
 * authmount with a storage that processes can share: `BENCH_STORAGE` is `memory`, `postgres` or `redis`, and `BENCH_STORAGE_URL` is its
 * address. `BENCH_SECRETS` must be the same in all processes. The server counts its round trips to the storage.
 */
"use strict";
const { Pool } = require("pg");
const { createClient } = require("redis");
const { memoryStorage } = require("../..");
const { postgresStorage } = require("../../dist/postgres");
const { redisStorage } = require("../../dist/redis");
const { clientOf, newSecrets, startHost } = require("../authmount-host");

const { BENCH_STORAGE = "memory", BENCH_STORAGE_URL: url = "", BENCH_SECRETS } = process.env;

const sent = { roundTrips: 0 };
let answered = 0;

/**
 * Counts a call as a round trip if it could not be sent before the previous call was answered. The count is right for one
 * request at a time.
 *
 * @template T
 * @param {() => Promise<T>} call
 */
async function count(call) {
  const trip = answered + 1;
  sent.roundTrips = Math.max(sent.roundTrips, trip);
  try {
    return await call();
  } finally {
    answered = Math.max(answered, trip);
  }
}

/** @param {import("../..").Client} client */
async function openPostgres(client) {
  const pool = new Pool({ connectionString: url });
  // the database may stop first
  pool.on("error", () => undefined);
  // the pool has nothing but `query`: everything that the adapter sends is counted here, or it fails
  const storage = postgresStorage({
    pool: { query: (text, values) => count(() => pool.query(text, values)) },
  });
  await storage.migrate();
  await storage.clients.save(client);
  return storage;
}

/** @param {import("../..").Client} client */
async function openRedis(client) {
  const connection = createClient({ url, disableOfflineQueue: true });
  connection.on("error", () => undefined);
  await connection.connect();
  const storage = redisStorage({
    client: {
      sendCommand: (/** @type {string[]} */ command) => count(() => connection.sendCommand(command)),
    },
  });
  await storage.clients.save(client);
  return storage;
}

/** @type {Readonly<Record<string, (client: import("../..").Client) => Promise<import("../..").Storage>>>} */
const openers = {
  memory: async (client) => memoryStorage({ maxEntries: 10_000_000, clients: [client] }),
  postgres: openPostgres,
  redis: openRedis,
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
  ask: { "round-trips": async () => sent },
};
