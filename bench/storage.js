// @ts-check
/**
 * Measures the same server with memory storage, with a SQLite file, and with PostgreSQL, MariaDB and Redis on the loopback address, in 1, 2 and 4 processes:
 *
 *     node storage.js [--seconds=2] [--warm-up=4] [--processes=1,2,4] [--storages=memory,sqlite,postgres,mariadb,redis] [--workloads=W1,W2,W3,W4]
 *
 * It prints Markdown. Round trips are measured with one request at a time, all other figures with 16 connections.
 */
"use strict";
const { parseArgs } = require("node:util");
const { newSecrets } = require("./authmount-host");
const { obtainAccessTokens } = require("./call");
const { check } = require("./check");
const { startServer } = require("./child");
const { makeSqliteFile, startMariadb, startPostgres, startRedis } = require("./databases");
const { generate } = require("./load/generate");
const { table } = require("./report");
const { workloads } = require("./workloads");

/**
 * @typedef {import("./child").RunningServer} RunningServer
 * @typedef {import("./types").Format} Format
 * @typedef {{
 *   readonly storage: string; readonly processes: number; readonly workload: string; readonly format: Format;
 *   readonly roundTrips: number; readonly cpuMicroseconds: number; readonly perSecond: number;
 * }} StorageRow
 *   `roundTrips` and `cpuMicroseconds` (of all server processes) are per request.
 * @typedef {{
 *   readonly seconds: number; readonly warmUp: number; readonly processes: readonly number[]; readonly workloads: readonly string[];
 *   readonly storages: readonly string[]; readonly tell: (line: string) => void;
 * }} How
 */

/** @type {readonly Format[]} */
const formats = ["jwt", "opaque"];

/** W4 sends only one token, so one is enough. @param {string} id @param {RunningServer} server */
async function planOf(id, server) {
  const { protected: route } = server.routes;
  if (id === "W4" && route) return [{ ...route, values: (await obtainAccessTokens(server, 1)).slice(0, 1) }];
  const workload = workloads.find((each) => each.id === id);
  if (!workload) throw new Error(`${id} is not a workload`);
  return workload.plan(server);
}

/**
 * Sends requests of one workload and measures what they cost.
 *
 * @param {string} id
 * @param {RunningServer} server
 * @param {{ seconds: number; connections: number }} load
 */
async function sample(id, server, load) {
  const plan = await planOf(id, server);
  const [sentBefore, cpuBefore] = [await server.ask("round-trips"), await server.ask("cpu")];
  const { requests, seconds, refused, broken } = await generate(plan, { url: server.url, ...load });
  const [sentAfter, cpuAfter] = [await server.ask("round-trips"), await server.ask("cpu")];
  if (refused > 0 || broken > 0)
    throw new Error(`${id} of ${server.title}: ${refused} refused, ${broken} broken`);
  return {
    roundTrips: (sentAfter.roundTrips - sentBefore.roundTrips) / requests,
    cpuMicroseconds: (1e6 * (cpuAfter.seconds - cpuBefore.seconds)) / requests,
    perSecond: requests / seconds,
  };
}

/**
 * @param {{ storage: string; url: string; processes: number; format: Format }} cell
 * @param {How} how
 * @returns {Promise<readonly StorageRow[]>}
 */
async function measureServer({ storage, url, processes, format }, how) {
  const server = await startServer("servers/authmount-shared", format, {
    BENCH_STORAGE: storage,
    BENCH_STORAGE_URL: url,
    BENCH_SECRETS: JSON.stringify(newSecrets()),
    ...(processes > 1 && { BENCH_PROCESSES: String(processes) }),
  });
  /** @type {StorageRow[]} */
  const rows = [];
  try {
    await check(server);
    for (const workload of how.workloads) {
      await sample(workload, server, { seconds: how.warmUp, connections: 16 });
      const { roundTrips } = await sample(workload, server, { seconds: 1, connections: 1 });
      const measured = await sample(workload, server, { seconds: how.seconds, connections: 16 });
      rows.push({ storage, processes, workload, format, ...measured, roundTrips });
    }
  } finally {
    server.stop();
  }
  how.tell(`${storage}, ${processes} processes, ${format}`);
  return rows;
}

/** @type {Readonly<Record<string, { title: string; start: () => Promise<import("./databases").Database> }>>} */
const storages = {
  memory: {
    title: "memory",
    start: async () => ({ url: "", version: "memory", stop: async () => undefined }),
  },
  sqlite: { title: "SQLite", start: makeSqliteFile },
  postgres: { title: "PostgreSQL", start: startPostgres },
  mariadb: { title: "MariaDB", start: startMariadb },
  redis: { title: "Redis", start: startRedis },
};

/** @param {string} name @param {import("./databases").Database} database @param {How} how */
async function measureDatabase(name, { url, version }, how) {
  /** @type {StorageRow[]} */
  const rows = [];
  // memory storage works in one process only
  for (const processes of name === "memory" ? [1] : how.processes) {
    for (const format of formats) {
      const measured = await measureServer({ storage: name, url, processes, format }, how);
      rows.push(...measured.map((row) => ({ ...row, storage: version })));
    }
  }
  return rows;
}

/**
 * Measures every storage that is available; one that is not available is reported and left out.
 *
 * @param {How} how
 * @returns {Promise<readonly StorageRow[]>}
 */
async function measureStorages(how) {
  /** @type {StorageRow[]} */
  const rows = [];
  for (const name of how.storages) {
    const storage = storages[name];
    if (!storage) throw new Error(`${name} is not a storage`);
    /** @type {import("./databases").Database | undefined} */
    const database = await storage.start().catch((/** @type {Error} */ { message }) => {
      how.tell(`${storage.title} is left out: ${message}`);
      return undefined;
    });
    if (!database) continue;
    try {
      rows.push(...(await measureDatabase(name, database, how)));
    } finally {
      await database.stop();
    }
  }
  return rows;
}

/** @param {StorageRow} row */
function figuresOf({ roundTrips, cpuMicroseconds, perSecond }) {
  const cpu = cpuMicroseconds.toFixed(0);
  return `${roundTrips.toFixed(1)} · ${cpu} · ${Math.round(perSecond).toLocaleString("en")}`;
}

/** @param {readonly StorageRow[]} rows */
function tableOf(rows) {
  const ids = [...new Set(rows.map(({ workload }) => workload))];
  /** One line for each server, with its workloads in the same order. @type {Map<string, string[]>} */
  const lines = new Map();
  for (const row of rows) {
    const server = [row.storage, row.processes === 1 ? "1" : `${row.processes} *`, row.format];
    const key = server.join();
    lines.set(key, [...(lines.get(key) ?? server), figuresOf(row)]);
  }
  const head = ["round trips · CPU µs · requests/s", "processes", "token", ...ids];
  return `${table([head, ...lines.values()])}

Round trips to the storage and CPU time of the server processes are for one request; W3 is two requests. \\* These processes are not
pinned to a core: they share all cores with the database and the generator.`;
}

/** @type {How} */
const usual = {
  seconds: 2,
  warmUp: 4,
  processes: [1, 2, 4],
  storages: Object.keys(storages),
  workloads: ["W1", "W2", "W3", "W4"],
  tell: (line) => void process.stderr.write(`${line}\n`),
};

/** Returns the results as Markdown. */
const section = async (how = usual) => tableOf(await measureStorages(how));

async function main() {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: String(usual.seconds) },
      "warm-up": { type: "string", default: String(usual.warmUp) },
      processes: { type: "string", default: usual.processes.join(",") },
      storages: { type: "string", default: usual.storages.join(",") },
      workloads: { type: "string", default: usual.workloads.join(",") },
    },
  });
  const text = await section({
    ...usual,
    seconds: Number(values.seconds),
    warmUp: Number(values["warm-up"]),
    processes: values.processes.split(",").map(Number),
    storages: values.storages.split(","),
    workloads: values.workloads.split(","),
  });
  process.stdout.write(`${text}\n`);
}

if (require.main === module) void main();

module.exports = { measureStorages, sample, section, storages };
