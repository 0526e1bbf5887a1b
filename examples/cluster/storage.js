// @ts-check
/** The storage that all processes share, as a production host opens it: in PostgreSQL or in Redis. */
const { postgresStorage } = require("authmount/postgres");
const { redisStorage } = require("authmount/redis");
const { Pool } = require("pg");
const { createClient } = require("redis");

/** @param {Error} error */
const complain = (error) => console.error(`storage of ${process.pid}: ${error.message}`);

/** @param {string} connectionString */
async function openPostgres(connectionString) {
  const pool = new Pool({
    connectionString,
    // per process: all processes together must stay below max_connections of the server
    max: 10,
    // authmount gives up after five seconds; these limits end what nobody waits for any more
    connectionTimeoutMillis: 2_000,
    statement_timeout: 3_000,
    // this limit drops a connection that no longer responds
    query_timeout: 6_000,
  });
  // without this, a connection that breaks while idle ends the process
  pool.on("error", complain);
  const storage = postgresStorage({ pool });
  return {
    storage,
    migrate: storage.migrate,
    deleteExpired: () => storage.deleteExpired(),
    close: () => pool.end(),
  };
}

/** @param {string} url */
async function openRedis(url) {
  const client = createClient({
    url,
    socket: { connectTimeout: 2_000 },
    // without a connection, a request fails at once instead of waiting in a queue
    disableOfflineQueue: true,
  });
  client.on("error", complain);
  await client.connect();
  const storage = redisStorage({ client });
  return {
    storage,
    migrate: async () => undefined,
    // Redis deletes expired keys itself
    deleteExpired: async () => 0,
    close: () => client.close(),
  };
}

function openStorage() {
  const { DATABASE_URL, REDIS_URL } = process.env;
  if (DATABASE_URL) return openPostgres(DATABASE_URL);
  if (REDIS_URL) return openRedis(REDIS_URL);
  throw new TypeError("Set DATABASE_URL=postgres://… or REDIS_URL=redis://…");
}

module.exports = { openStorage };
