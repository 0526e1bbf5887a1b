// @ts-check
/**
 * Measures our server and its peers over the same PostgreSQL, MariaDB and Redis on the loopback address, one process each:
 *
 *     node beside-peers.js [--rounds=5] [--seconds=2] [--warm-up=3] [--databases=postgres,mariadb,redis] [--formats=jwt,opaque] [--workloads=W1,W2,W3]
 *     node beside-peers.js --smoke
 *
 * It prints Markdown, of which docs/performance.md has the ratios, and takes about a quarter of an hour. Every server is checked first, and must then
 * answer 32 simultaneous requests with the same code, and with the same refresh token. Each sample of a peer lies between two
 * samples of ours, and is divided by their mean. `--smoke` only checks, with one code and one refresh token.
 */
"use strict";
const { parseArgs } = require("node:util");
const { newSecrets } = require("./authmount-host");
const { call, obtainCode, obtainTokens } = require("./call");
const { check } = require("./check");
const { startServer } = require("./child");
const { median } = require("./median");
const { environment, spread, table } = require("./report");
const { sample, storages } = require("./storage");

/**
 * @typedef {import("./child").RunningServer} RunningServer
 * @typedef {import("./types").Format} Format
 * @typedef {{ readonly roundTrips: number; readonly cpuMicroseconds: number; readonly perSecond: number }} Sample
 * @typedef {{ readonly server: RunningServer; readonly samples: readonly Sample[]; readonly roundTrips: number; readonly ratios: readonly number[] }} Cell
 *   The samples are taken with 16 connections, the round trips are counted with one. Our own cell has no ratios.
 * @typedef {{ readonly code: readonly number[]; readonly refreshToken: readonly number[] }} Races
 *   How many access tokens were given out for one code, and for one refresh token: a number for each try.
 * @typedef {{
 *   readonly rounds: number; readonly seconds: number; readonly warmUp: number; readonly tries: number;
 *   readonly databases: readonly string[]; readonly formats: readonly string[]; readonly workloads: readonly string[];
 * }} How
 */

/** The peers that are measured over a database. */
const peersOver = /** @type {Readonly<Record<string, readonly string[]>>} */ ({
  postgres: ["peers/better-auth", "peers/node-oauth"],
  // no peer has a storage for it
  mariadb: [],
  redis: ["peers/oidc-provider"],
});
const atOnce = 32;

/** @param {string} line */
const tell = (line) => void process.stderr.write(`${line}\n`);

/**
 * Counts the different access tokens that simultaneous requests with the same value are answered with.
 *
 * @param {RunningServer} server
 * @param {import("./types").RequestTemplate | undefined} template
 * @param {string} value
 */
async function tokensGivenOut(server, template, value) {
  if (!template) throw new Error(`${server.title} has no such route`);
  const answers = await Promise.all(Array.from({ length: atOnce }, () => call(server, template, value)));
  return new Set(answers.filter(({ status }) => status === 200).map(({ body }) => body.access_token)).size;
}

/** @param {RunningServer} server @param {How} how @returns {Promise<Races>} */
async function race(server, { tries }) {
  const { exchange, refresh } = server.routes;
  const races = { code: [0].slice(1), refreshToken: [0].slice(1) };
  for (let tried = 0; tried < tries; tried += 1) {
    const code = encodeURIComponent(await obtainCode(server));
    races.code.push(await tokensGivenOut(server, exchange, code));
    const { refresh_token: refreshToken } = await obtainTokens(server);
    races.refreshToken.push(await tokensGivenOut(server, refresh, encodeURIComponent(refreshToken)));
  }
  return races;
}

/**
 * Measures one workload of our server and of its peers, ours before and after each peer.
 *
 * @param {string} workload
 * @param {{ ours: RunningServer; peers: readonly RunningServer[] }} servers
 * @param {How} how
 * @returns {Promise<readonly Cell[]>} ours first
 */
async function compare(workload, { ours, peers }, { rounds, seconds, warmUp }) {
  /** @type {Map<RunningServer, { samples: Sample[]; ratios: number[]; roundTrips: number }>} */
  const cells = new Map();
  for (const server of [ours, ...peers]) {
    await sample(workload, server, { seconds: warmUp, connections: 16 });
    const { roundTrips } = await sample(workload, server, { seconds: 1, connections: 1 });
    cells.set(server, { samples: [], ratios: [], roundTrips });
  }
  const take = async (/** @type {RunningServer} */ server) => {
    const taken = await sample(workload, server, { seconds, connections: 16 });
    cells.get(server)?.samples.push(taken);
    return taken.perSecond;
  };
  let before = await take(ours);
  for (let round = 1; round <= rounds; round += 1) {
    for (const peer of peers) {
      const perSecond = await take(peer);
      const after = await take(ours);
      cells.get(peer)?.ratios.push((2 * perSecond) / (before + after));
      before = after;
    }
    if (peers.length === 0) await take(ours);
  }
  return [...cells].map(([server, cell]) => ({ server, ...cell }));
}

/** @param {Cell} cell */
function figuresOf({ samples, roundTrips, ratios }) {
  const cpu = median(samples.map(({ cpuMicroseconds }) => cpuMicroseconds)).toFixed(0);
  const perSecond = Math.round(median(samples.map((each) => each.perSecond))).toLocaleString("en");
  return [roundTrips.toFixed(1), cpu, perSecond, ...(ratios.length > 0 ? [spread(ratios)] : [])].join(" · ");
}

/** @param {readonly number[]} counts */
function rangeOf(counts) {
  const [low, high] = [Math.min(...counts), Math.max(...counts)];
  return low === high ? String(low) : `${low}–${high}`;
}

/** Ours as well, over a pool that prepares its statements. @param {Record<string, string>} env @param {Format} format */
async function withPreparedStatements(env, format) {
  const server = await startServer("servers/authmount-shared", format, {
    ...env,
    BENCH_STORAGE: "postgres-prepared",
  });
  return { ...server, title: "authmount, prepared statements" };
}

/**
 * @param {{ name: string; database: import("./databases").Database; format: Format }} place
 * @returns {Promise<readonly RunningServer[]>} ours first
 */
function startServers({ name, database, format }) {
  const env = { BENCH_STORAGE: name, BENCH_STORAGE_URL: database.url };
  const ours = { ...env, BENCH_SECRETS: JSON.stringify(newSecrets()) };
  return Promise.all([
    startServer("servers/authmount-shared", format, ours).then((server) => ({
      ...server,
      title: "authmount",
    })),
    ...(name === "postgres" ? [withPreparedStatements(ours, format)] : []),
    ...(peersOver[name] ?? []).map((peer) => startServer(peer, format, env)),
  ]);
}

/**
 * Measures the servers over one database with one token format.
 *
 * @param {{ name: string; database: import("./databases").Database; format: Format }} place
 * @param {How} how
 * @returns {Promise<readonly (readonly string[])[]>} a row for each server
 */
async function measureServers(place, how) {
  const servers = await startServers(place);
  const [ours, ...peers] = servers;
  if (!ours) return [];
  try {
    const rows = new Map(
      servers.map((server) => [server, [place.database.version, place.format, server.title]]),
    );
    for (const server of servers) {
      await check(server);
      const { code, refreshToken } = await race(server, how);
      if (server === ours && [...code, ...refreshToken].some((count) => count !== 1))
        throw new Error(`authmount gave out ${rangeOf(code)} and ${rangeOf(refreshToken)} tokens, not one`);
      rows.get(server)?.push(rangeOf(code), rangeOf(refreshToken));
      tell(`${rows.get(server)?.join(", ")}`);
    }
    for (const workload of how.workloads) {
      for (const cell of await compare(workload, { ours, peers }, how)) {
        rows.get(cell.server)?.push(figuresOf(cell));
        tell(`${workload} ${cell.server.title}: ${figuresOf(cell)}`);
      }
    }
    return [...rows.values()];
  } finally {
    for (const server of servers) server.stop();
  }
}

/**
 * Measures over every database that is available; one that is not available is reported and left out.
 *
 * @param {How} how
 */
async function measureDatabases(how) {
  /** @type {(readonly string[])[]} */
  const rows = [];
  for (const name of how.databases) {
    const storage = storages[name];
    if (!storage || !peersOver[name]) throw new Error(`${name} is not a database with peers`);
    /** @type {import("./databases").Database | undefined} */
    const database = await storage.start().catch((/** @type {Error} */ { message }) => {
      tell(`${storage.title} is left out: ${message}`);
      return undefined;
    });
    if (!database) continue;
    try {
      for (const format of how.formats)
        rows.push(
          ...(await measureServers({ name, database, format: format === "jwt" ? "jwt" : "opaque" }, how)),
        );
    } finally {
      await database.stop();
    }
  }
  return rows;
}

async function main() {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "2" },
      "warm-up": { type: "string", default: "3" },
      databases: { type: "string", default: Object.keys(peersOver).join(",") },
      formats: { type: "string", default: "jwt,opaque" },
      workloads: { type: "string", default: "W1,W2,W3" },
      smoke: { type: "boolean", default: false },
    },
  });
  // a run that ends early has failed, also when nothing is left to wait for
  process.exitCode = 1;
  const workloads = values.smoke ? [] : values.workloads.split(",");
  const rows = await measureDatabases({
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    warmUp: Number(values["warm-up"]),
    tries: values.smoke ? 1 : 10,
    databases: values.databases.split(","),
    formats: values.formats.split(","),
    workloads,
  });
  process.exitCode = 0;
  if (values.smoke) return tell(`${rows.length} servers were checked over their database`);
  const head = ["database", "token", "server", "one code", "one refresh token", ...workloads];
  process.stdout.write(`${environment()}\n\n${table([head, ...rows])}\n`);
}

void main();
