// @ts-check
/**
 * Measures how much memory authmount uses for each access token that it has issued: while all tokens are live, and after all have
 * expired.
 *
 *     node memory.js [--tokens=200000] [--warm-up=5000]
 *
 * It prints Markdown. Most of the time it waits for tokens to expire: about five minutes with these numbers.
 */
"use strict";
const { setTimeout: delay } = require("node:timers/promises");
const { parseArgs } = require("node:util");
const { call } = require("./call");
const { startServer } = require("./child");
const { generate } = require("./load/generate");
const { table } = require("./report");

/**
 * @typedef {import("./child").RunningServer} RunningServer
 * @typedef {import("./types").Format} Format
 * @typedef {{ readonly rss: number; readonly heapUsed: number; readonly external: number }} Memory
 *   In bytes, after garbage collection; `external` is the memory of buffers outside the heap.
 * @typedef {{
 *   readonly format: Format; readonly tokens: number;
 *   readonly start: Memory; readonly full: Memory; readonly end: Memory;
 *   readonly bytesPerToken: number; readonly leftBytes: number;
 * }} TokenMemory
 *   `start` after the warm-up, `full` while all tokens are live, `end` after the last one has expired and one more was requested;
 *   `leftBytes`: `end` minus `start`.
 * @typedef {{ readonly server: RunningServer; readonly fullAt: number; readonly tokens: number; readonly start: Memory; readonly full: Memory }} Filled
 */

/** @type {readonly Format[]} */
const formats = ["jwt", "opaque"];

/** The rate that a slow machine can reach; all tokens must be live at the same time. */
const tokensPerSecond = 1_500;
/** Extra time for starting and for measuring. */
const spareSeconds = 30;
/** The memory storage looks for expired records at most this often. */
const sweepSeconds = 31;
const readings = 7;

/** @param {Memory} memory */
const held = ({ heapUsed, external }) => heapUsed + external;

/** The lowest of several readings: anything above it is garbage. @param {RunningServer} server @returns {Promise<Memory>} */
async function leastMemory(server) {
  /** @type {Memory[]} */
  const all = [];
  for (let reading = 0; reading < readings; reading += 1) {
    all.push(await server.ask("memory"));
    await delay(200);
  }
  /** @param {keyof Memory} name */
  const least = (name) => Math.min(...all.map((memory) => memory[name]));
  return { rss: least("rss"), heapUsed: least("heapUsed"), external: least("external") };
}

/** Issues at least `count` tokens. @param {RunningServer} server @param {number} count @returns {Promise<number>} */
async function issue(server, count) {
  const { clientCredentials } = server.routes;
  if (!clientCredentials) throw new Error(`${server.name} does not support client credentials`);
  let issued = 0;
  for (let perSecond = tokensPerSecond; issued < count;) {
    const seconds = Math.min(10, Math.max(1, Math.floor((count - issued) / perSecond)));
    const result = await generate([clientCredentials], { url: server.url, seconds });
    if (result.refused > 0 || result.broken > 0)
      throw new Error(`some requests failed: ${JSON.stringify(result)}`);
    issued += result.requests;
    perSecond = Math.max(1, result.requests / result.seconds);
  }
  return issued;
}

/**
 * Starts a server and issues its tokens, all of which are then live.
 *
 * @param {Format} format
 * @param {{ tokens: number; warmUp: number; lifetimeSeconds: number }} how
 * @returns {Promise<Filled>}
 */
async function fill(format, { tokens: count, warmUp, lifetimeSeconds }) {
  const env = { BENCH_ACCESS_TOKEN_SECONDS: String(lifetimeSeconds) };
  const server = await startServer("servers/authmount", format, env);
  try {
    const startedAt = Date.now();
    await issue(server, warmUp);
    const start = await leastMemory(server);
    const tokens = await issue(server, count);
    const full = await leastMemory(server);
    const fullAt = Date.now();
    if (fullAt > startedAt + 1000 * (lifetimeSeconds - 1))
      throw new Error("the first tokens had expired before the last ones were issued: ask for fewer");
    return { server, fullAt, tokens, start, full };
  } catch (error) {
    server.stop();
    throw error;
  }
}

/**
 * Waits for the tokens to expire. One more request makes the storage remove them.
 *
 * @param {Filled} filled
 * @param {number} lifetimeSeconds
 * @returns {Promise<TokenMemory>}
 */
async function empty({ server, fullAt, tokens, start, full }, lifetimeSeconds) {
  const { clientCredentials } = server.routes;
  if (!clientCredentials) throw new Error(`${server.name} does not support client credentials`);
  const seconds = Math.max(lifetimeSeconds + 1, sweepSeconds);
  await delay(fullAt + 1000 * seconds - Date.now());
  await call(server, clientCredentials);
  const end = await leastMemory(server);
  const bytesPerToken = (held(full) - held(start)) / tokens;
  return {
    format: server.format,
    tokens,
    start,
    full,
    end,
    bytesPerToken,
    leftBytes: held(end) - held(start),
  };
}

/**
 * Measures both formats: one server waits while the other one issues.
 *
 * @param {{ tokens: number; warmUp: number; tell: (line: string) => void }} how
 * @returns {Promise<readonly TokenMemory[]>}
 */
async function measureMemory({ tokens, warmUp, tell }) {
  const lifetimeSeconds = Math.ceil((tokens + warmUp) / tokensPerSecond) + spareSeconds;
  /** @type {Filled[]} */
  const all = [];
  try {
    for (const format of formats) {
      all.push(await fill(format, { tokens, warmUp, lifetimeSeconds }));
      tell(`${format}: tokens issued; they live for ${lifetimeSeconds} s`);
    }
    return await Promise.all(all.map((filled) => empty(filled, lifetimeSeconds)));
  } finally {
    for (const { server } of all) server.stop();
  }
}

/** @param {number} bytes */
const inMebibytes = (bytes) => (bytes / 2 ** 20).toFixed(1);

/** @param {Memory} memory */
const heapAndRss = (memory) => `${inMebibytes(held(memory))} / ${inMebibytes(memory.rss)}`;

/** @param {readonly TokenMemory[]} rows */
function tableOf(rows) {
  const head = [
    "memory, MiB (heap / RSS)",
    "tokens issued",
    "before",
    "all alive",
    "all expired",
    "bytes kept per token",
  ];
  const lines = rows.map(({ format, tokens, start, full, end, bytesPerToken }) => [
    format,
    tokens.toLocaleString("en"),
    ...[start, full, end].map(heapAndRss),
    Math.max(0, bytesPerToken).toFixed(0),
  ]);
  return table([head, ...lines]);
}

const usual = {
  tokens: 200_000,
  warmUp: 5_000,
  tell: (/** @type {string} */ line) => void process.stderr.write(`${line}\n`),
};

/** Returns the results as Markdown. */
const section = async (how = usual) => tableOf(await measureMemory(how));

async function main() {
  const { values } = parseArgs({
    options: {
      tokens: { type: "string", default: String(usual.tokens) },
      "warm-up": { type: "string", default: String(usual.warmUp) },
    },
  });
  const how = { ...usual, tokens: Number(values.tokens), warmUp: Number(values["warm-up"]) };
  process.stdout.write(`${await section(how)}\n`);
}

if (require.main === module) void main();

module.exports = { measureMemory, section };
