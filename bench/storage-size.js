// @ts-check
/**
 * Measures how much space an authorization needs in a database, with a consumed code and three rotations of its refresh token:
 *
 *     npm run build
 *     DATABASE_URL=postgres://… node bench/storage-size.js
 *     REDIS_URL=redis://… node bench/storage-size.js
 *
 * PostgreSQL: it creates a separate schema and removes it at the end. Redis: it needs an empty server that does nothing else, and leaves it
 * empty.
 */
"use strict";
const { createHash, randomBytes } = require("node:crypto");
const { Pool } = require("pg");
const { createClient } = require("redis");
const { postgresStorage } = require("../dist/postgres");
const { redisStorage } = require("../dist/redis");

/** @typedef {import("..").Storage} Storage */

const authorizations = Number(process.env["AUTHORIZATIONS"] ?? 100_000);
const rotations = 3;
const together = 64;
const day = 86_400;
const now = Math.floor(Date.now() / 1000);

const newId = () => randomBytes(16).toString("base64url");
const newDigest = () => createHash("sha256").update(randomBytes(32)).digest("base64url");

/** @param {string} text */
const print = (text) => void process.stdout.write(`${text}\n`);

/** @param {readonly (readonly [name: string, bytes: number])[]} rows */
function printTable(rows) {
  for (const [name, bytes] of rows) {
    const columns = [bytes, Math.round(bytes / authorizations)].map((value) =>
      value.toLocaleString("en").padStart(16),
    );
    print(name.padEnd(28) + columns.join(""));
  }
}

/** Stores one sign-in, its code exchange and three refreshes, as the server does. @param {Storage} storage */
async function storeOne(storage) {
  const authorizationId = newId();
  await storage.authorizations.create(
    {
      authorizationId,
      authMethodId: "password",
      apiId: "orders",
      clientId: "web-shop",
      subject: newId(),
      grantedScopes: ["orders:read", "orders:write"],
      authTime: now - 60,
      createdAt: now,
      refreshableUntil: now + 90 * day,
      expiresAt: now + 90 * day + 3_600,
      revoked: false,
    },
    now,
  );
  const code = {
    authorizationId,
    digest: newDigest(),
    redirectUri: "https://shop.example/sign-in/callback",
    codeChallenge: newDigest(),
    redeemBefore: now + 60,
    expiresAt: now + 3_660,
    consumed: false,
  };
  await storage.authorizationCodes.create(code, now);
  await storage.authorizationCodes.consume(code, now);
  const newToken = () => ({ authorizationId, digest: newDigest(), expiresAt: now + 14 * day, used: false });
  let from = newToken();
  await storage.refreshTokens.create(from, now);
  for (let rotation = 0; rotation < rotations; rotation += 1) {
    const to = newToken();
    await storage.refreshTokens.rotate({ from, to }, now);
    from = to;
  }
}

/** @param {Storage} storage */
async function storeAll(storage) {
  let left = authorizations;
  async function worker() {
    while (left > 0) {
      left -= 1;
      await storeOne(storage);
    }
  }
  await Promise.all(Array.from({ length: together }, worker));
}

/** @param {string} connectionString */
async function measurePostgres(connectionString) {
  const pool = new Pool({ connectionString, max: 16, options: "-c synchronous_commit=off" });
  const schema = `bench_${randomBytes(6).toString("hex")}`;
  const storage = postgresStorage({ pool, schema });
  await storage.migrate();
  try {
    await storeAll(storage);
    const { rows } = await pool.query(
      `SELECT relname, pg_total_relation_size(oid)::float8 AS total, pg_indexes_size(oid)::float8 AS indexes
      FROM pg_class WHERE relkind = 'r' AND relnamespace = $1::regnamespace ORDER BY total DESC, relname`,
      [schema],
    );
    const filled = rows.filter(({ total }) => total / authorizations >= 1);
    const [total, indexes] = ["total", "indexes"].map((of) => rows.reduce((sum, row) => sum + row[of], 0));
    printTable([
      ...filled.map((row) => /** @type {const} */ ([row.relname, row.total])),
      ["of these, indexes", indexes ?? 0],
      ["PostgreSQL", total ?? 0],
    ]);
  } finally {
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  }
}

/** @param {{ info(section: string): Promise<unknown> }} client */
async function usedMemory(client) {
  const [, bytes] = /used_memory:(\d+)/.exec(String(await client.info("memory"))) ?? [];
  return Number(bytes);
}

/** @param {string} url */
async function measureRedis(url) {
  const client = createClient({ url });
  await client.connect();
  try {
    if ((await client.dbSize()) > 0) throw new Error("The Redis server is not empty.");
    const storage = redisStorage({ client });
    // the first one loads scripts and the like, which must not be counted
    await storeOne(storage);
    const [usedBefore, keysBefore] = [await usedMemory(client), await client.dbSize()];
    await storeAll(storage);
    const used = (await usedMemory(client)) - usedBefore;
    const keys = (await client.dbSize()) - keysBefore;
    /** @type {Map<string, number>} */
    const kinds = new Map();
    for await (const found of client.scanIterator({ COUNT: 1_000 })) {
      const sizes = await Promise.all(found.map((key) => client.memoryUsage(key)));
      for (const [index, key] of found.entries()) {
        const kind = key.replace(/[A-Za-z0-9_-]{43}/, "…").replace(/[A-Za-z0-9_-]{22}/, "…");
        kinds.set(kind, (kinds.get(kind) ?? 0) + (sizes[index] ?? 0));
      }
    }
    const sorted = [...kinds].toSorted(([, a], [, b]) => b - a).slice(0, 12);
    printTable([...sorted, [`Redis, ${keys.toLocaleString("en")} keys`, used]]);
  } finally {
    await client.flushDb();
    client.destroy();
  }
}

async function main() {
  const { DATABASE_URL, REDIS_URL } = process.env;
  if (DATABASE_URL === undefined && REDIS_URL === undefined)
    throw new Error("Set DATABASE_URL or REDIS_URL.");
  print(
    `${authorizations.toLocaleString("en")} authorizations`.padEnd(28) + "           bytes      of each one",
  );
  if (DATABASE_URL !== undefined) await measurePostgres(DATABASE_URL);
  if (REDIS_URL !== undefined) await measureRedis(REDIS_URL);
}

void main();
