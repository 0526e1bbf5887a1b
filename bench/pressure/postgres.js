// @ts-check
/** PostgreSQL under pressure: rows of one login are read and inserted again for many others, in the database itself. */
"use strict";
const { escapeLiteral, Pool } = require("pg");
const { postgresStorage } = require("../../dist/postgres");
const { namesOf, partsOf } = require("./copies");
const { storeLogin } = require("./logins");

/** @typedef {import("./logins").Login} Login */

/** The types that the columns have, by their ids. @type {Readonly<Record<number, string>>} */
const types = { 16: "boolean", 20: "bigint", 23: "integer", 25: "text" };
const ours = "relkind = 'r' AND relname LIKE 'authmount\\_%' AND relname <> 'authmount_migrations'";

/** @param {Pool} pool */
async function tablesOf(pool) {
  const { rows } = await pool.query(`SELECT relname FROM pg_class WHERE ${ours} ORDER BY relname`);
  return rows.map(({ relname }) => String(relname));
}

/** An expression of the column's text for the login `v`. @param {string} text @param {Login} login */
function expressionOf(text, login) {
  const parts = partsOf(text, login).map((part) => {
    if (typeof part === "string") return escapeLiteral(part);
    return "name" in part ? `v.n${part.name}` : `(v.createdAt + ${part.after})::text`;
  });
  return parts.length === 0 ? "''" : parts.join(" || ");
}

/** The statements that store logins like this one, which must be alone in the database. @param {Pool} pool @param {Login} login */
async function insertionsLike(pool, login) {
  const names = namesOf(login).map((_, index) => `n${index}`);
  const arrays = names.map((_, index) => `$${index + 2}::text[]`).join(", ");
  /** @type {string[]} */
  const statements = [];
  for (const table of await tablesOf(pool)) {
    const { rows, fields } = await pool.query(`SELECT * FROM ${table}`);
    for (const row of rows) {
      const values = fields.map(
        ({ name, dataTypeID }) => `(${expressionOf(String(row[name]), login)})::${types[dataTypeID]}`,
      );
      statements.push(`INSERT INTO ${table} (${fields.map(({ name }) => name).join(", ")})
        SELECT ${values.join(", ")} FROM unnest($1::bigint[], ${arrays}) AS v(createdAt, ${names.join(", ")})
        ON CONFLICT DO NOTHING`);
    }
  }
  return statements;
}

/** The values of such a statement. @param {readonly Login[]} logins */
function columnsOf(logins) {
  const names = logins.map(namesOf);
  const columns = [0, 1, 2, 3].map((index) => names.map((each) => each[index]));
  return [logins.map(({ createdAt }) => createdAt), ...columns];
}

/** @param {Pool} pool */
async function clear(pool) {
  await pool.query(`TRUNCATE ${(await tablesOf(pool)).join(", ")}`);
}

/** @param {Pool} pool */
async function dump(pool) {
  /** @type {Record<string, string[]>} */
  const content = {};
  for (const table of await tablesOf(pool)) {
    const { rows } = await pool.query(`SELECT each::text AS row FROM ${table} AS each`);
    content[table] = rows.map(({ row }) => String(row)).toSorted();
  }
  return content;
}

/** @param {Pool} pool @returns {Promise<readonly import("./engines").Space[]>} */
async function space(pool) {
  const { rows } = await pool.query(
    `SELECT relname, pg_total_relation_size(oid)::float8 AS bytes, pg_indexes_size(oid)::float8 AS indexes FROM pg_class WHERE ${ours}`,
  );
  /** @type {import("./engines").Space[]} */
  const spaces = [];
  for (const { relname, bytes, indexes } of rows) {
    const counted = await pool.query(`SELECT count(*)::float8 AS count FROM ${relname}`);
    spaces.push({ name: relname, count: counted.rows[0].count, bytes, indexes });
  }
  return spaces;
}

/** What the statistics say of the updates since `settle`. @param {Pool} pool */
async function remarks(pool) {
  const { rows } = await pool.query(
    `SELECT n_tup_upd::float8 AS updates, n_tup_hot_upd::float8 AS hot, n_dead_tup::float8 AS dead, autovacuum_count::float8 AS vacuums
    FROM pg_stat_user_tables WHERE relname = 'authmount_authorizations'`,
  );
  const [updates, hot, dead, vacuums] = ["updates", "hot", "dead", "vacuums"].map((name) =>
    rows[0][name].toLocaleString("en"),
  );
  return `\`authmount_authorizations\`: ${updates} updates, of which ${hot} changed no index (HOT); ${dead} dead rows; ${vacuums} runs of autovacuum.`;
}

/** @param {Pool} pool @returns {readonly import("./engines").Upkeep[]} */
const upkeep = (pool) => [
  {
    title: "`deleteExpired()`",
    ending: { share: 0.05, inSeconds: () => -10 },
    run: async () => `${(await postgresStorage({ pool }).deleteExpired()).toLocaleString("en")} rows`,
  },
  ...["VACUUM", "CHECKPOINT"].map((statement) => ({
    title: `\`${statement}\``,
    run: async () => void (await pool.query(statement)),
  })),
];

/** @param {string} url @returns {Promise<import("./engines").Store>} */
async function openPostgres(url) {
  const pool = new Pool({ connectionString: url, max: 34 });
  // the database may stop first
  pool.on("error", () => undefined);
  const storage = postgresStorage({ pool });
  await storage.migrate();
  /** @type {Map<import("./logins").Shape, readonly string[]>} */
  const insertions = new Map();
  return {
    storage,
    dump: () => dump(pool),
    clear: () => clear(pool),
    async learn(login) {
      await storeLogin(storage, login);
      insertions.set(login.shape, await insertionsLike(pool, login));
      await clear(pool);
    },
    async copy(logins) {
      const connection = await pool.connect();
      await connection.query("SET synchronous_commit = off");
      for (const [shape, statements] of insertions) {
        const values = columnsOf(logins.filter((login) => login.shape === shape));
        for (const statement of statements) await connection.query(statement, values);
      }
      await connection.query("RESET synchronous_commit");
      connection.release();
    },
    async settle() {
      for (const statement of ["VACUUM (ANALYZE)", "CHECKPOINT", "SELECT pg_stat_reset()"])
        await pool.query(statement);
    },
    space: () => space(pool),
    async written() {
      const { rows } = await pool.query(
        "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS bytes",
      );
      return rows[0].bytes;
    },
    remarks: () => remarks(pool),
    upkeep: upkeep(pool),
    close: () => pool.end(),
  };
}

module.exports = { openPostgres };
