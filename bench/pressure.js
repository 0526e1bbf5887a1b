// @ts-check
/**
 * Measures what a full store costs: latency, space, and the work of the engine while it serves.
 *
 *     node pressure.js [--engines=postgres,redis] [--authorizations=1000000] [--per-second=100] [--seconds=10]
 *
 * Each engine runs twice at once, with few and with many living authorizations, and gets the same requests in turn at a fixed rate. It
 * needs about 4 GB of memory and 12 GB of disk for a million, and prints Markdown.
 */
"use strict";
const { hash } = require("node:crypto");
const { setTimeout: delay } = require("node:timers/promises");
const { parseArgs } = require("node:util");
const { newSecrets } = require("./authmount-host");
const { startServer } = require("./child");
const { generate } = require("./load/generate");
const { latencyOf, runPlan } = require("./open-loop");
const { engines } = require("./pressure/engines");
const { checkSample, clock, fill, teach } = require("./pressure/fill");
const { endingLogins, livingLogins } = require("./pressure/logins");
const { take, unusedLogins, worksOf } = require("./pressure/workloads");
const { table } = require("./report");

/**
 * @typedef {import("./pressure/engines").Store} Store
 * @typedef {import("./pressure/engines").Space} Space
 * @typedef {import("./pressure/workloads").Bed & {
 *   readonly store: Store; readonly count: number; readonly version: string; readonly fillSeconds: number; readonly empty: readonly Space[];
 *   readonly stop: () => Promise<void>;
 * }} Filled
 * @typedef {{ readonly authorizations: number; readonly perSecond: number; readonly seconds: number; readonly tell: (line: string) => void }} How
 */

/** What the many are compared with. */
const few = 20_000;
const sliceSeconds = 5;
/** Of the living authorizations, so many are refreshed. */
const share = 0.05;
const together = 32;

/** @param {string} name */
function engineOf(name) {
  const engine = engines[name];
  if (!engine) throw new Error(`${name} is not an engine`);
  return engine;
}

/** @param {number} value */
const whole = (value) => Math.round(value).toLocaleString("en");
/** @param {number} value */
const exact = (value) => value.toFixed(2);

/**
 * Fills a database, and starts a server on it.
 *
 * @param {string} name
 * @param {{ database: import("./databases").Database; count: number } & How} how
 * @returns {Promise<Filled>}
 */
async function startFilled(name, { database: { url, version, stop }, count, tell }) {
  const store = await engineOf(name).open(url);
  await teach(store);
  const empty = await store.space();
  const population = livingLogins(count, clock());
  const begin = performance.now();
  await fill(store, { ...population, from: 0, to: count });
  const fillSeconds = (performance.now() - begin) / 1000;
  tell(`${version}: ${whole(count)} authorizations in ${whole(fillSeconds)} s`);
  await store.settle();
  await checkSample(store, population);
  const env = { BENCH_STORAGE: name, BENCH_STORAGE_URL: url, BENCH_SECRETS: JSON.stringify(newSecrets()) };
  const server = await startServer("servers/authmount-shared", "opaque", env);
  const logins = unusedLogins(population);
  async function stopAll() {
    server.stop();
    await store.close();
    await stop();
  }
  return { store, count, version, fillSeconds, empty, server, logins, stop: stopAll };
}

/** @param {readonly Space[]} spaces */
const bytesOf = (spaces) => spaces.reduce((sum, { bytes }) => sum + bytes, 0);

/** What everything takes, with the few records that the requests have added. @param {Filled} filled */
async function spaceTable({ count, empty, store }) {
  const full = await store.space();
  const lines = full
    .filter(({ count: records }) => records > 0)
    .toSorted((a, b) => b.bytes - a.bytes)
    .map(({ name, count: records, bytes, indexes }) => [
      `\`${name}\``,
      whole(records),
      whole(bytes / records),
      indexes === undefined ? "" : whole(indexes / records),
      whole(bytes / 1e6),
    ]);
  const all = bytesOf(full) - bytesOf(empty);
  const sum = ["**for each authorization**", whole(count), `**${whole(all / count)}**`, "", whole(all / 1e6)];
  return table([["what is stored", "records", "bytes each", "of these, indexes", "MB"], ...lines, sum]);
}

/** Measures each request on both stores in turn. @param {readonly [Filled, Filled]} both @param {How} how */
async function latencyTable(both, { perSecond, seconds, tell }) {
  const works = both.map((filled) => worksOf(filled, perSecond));
  for (const { server } of both) {
    const { clientCredentials } = server.routes;
    if (clientCredentials)
      await generate([clientCredentials], { url: server.url, seconds: Math.ceil(Math.min(3, seconds)) });
  }
  const slices = Math.max(1, Math.ceil(seconds / sliceSeconds));
  const plan = { perSecond, slices, sliceSeconds: seconds / slices, warmUpSeconds: Math.min(2, seconds) };
  const sent = Math.ceil(perSecond * (plan.warmUpSeconds + seconds + 1 + slices));
  const rows = [];
  for (const [index, { title }] of (works[0] ?? []).entries()) {
    const targets = [];
    for (const [at, { server }] of both.entries()) {
      const work = works[at]?.[index];
      if (!work) throw new Error(`${title} is missing`);
      targets.push({ url: server.url, template: work.template, values: (await work.values?.(sent)) ?? [""] });
    }
    const [small, large] = (await runPlan({ ...plan, targets })).map((each) => latencyOf(title, each));
    if (!small || !large) throw new Error(`${title} was not measured`);
    rows.push(
      [title, small.p50, large.p50, small.p99, large.p99, large.max].map((value) =>
        typeof value === "string" ? value : exact(value),
      ),
    );
    tell(rows.at(-1)?.join(" ") ?? "");
  }
  const [a, b] = both.map(({ count }) => whole(count));
  return table([
    [`ms at ${perSecond} requests/s`, `p50, ${a}`, `p50, ${b}`, `p99, ${a}`, `p99, ${b}`, `longest, ${b}`],
    ...rows,
  ]);
}

/** Rotates refresh tokens by the adapter, as fast as the engine does it. @param {Filled} filled @param {number} count */
async function refreshMany({ store, logins }, count) {
  const [space, written, begin] = [bytesOf(await store.space()), await store.written(), performance.now()];
  let left = count;
  async function worker() {
    while (left-- > 0) {
      const [login] = take(logins, 1);
      if (!login) return;
      const { authorizationId, digest } = login;
      const now = clock();
      const to = {
        authorizationId,
        digest: hash("sha256", digest, "base64url"),
        expiresAt: now + 14 * 86_400,
        used: false,
      };
      const answer = await store.storage.refreshTokens.rotate({ from: { authorizationId, digest }, to }, now);
      if (answer !== "rotated") throw new Error(`a refresh token was not rotated`);
    }
  }
  await Promise.all(Array.from({ length: together }, worker));
  const seconds = (performance.now() - begin) / 1000;
  const writtenBytes = (await store.written()) - written;
  return { count, seconds, writtenBytes, spaceBytes: bytesOf(await store.space()) - space };
}

/** @param {readonly [Filled, Filled]} both */
async function refreshTable(both) {
  const rows = [];
  for (const filled of both) {
    const { count, seconds, writtenBytes, spaceBytes } = await refreshMany(
      filled,
      Math.ceil(filled.count * share),
    );
    rows.push([filled.count, count, count / seconds, writtenBytes / count, spaceBytes / count].map(whole));
  }
  return table([
    [
      "authorizations",
      "refreshes by the adapter",
      "refreshes/s",
      "bytes written to the log, each",
      "bytes more in the store, each",
    ],
    ...rows,
  ]);
}

/** Refreshes at the fixed rate, while the engine does other work. @param {Filled} filled @param {{ upkeep: import("./pressure/engines").Upkeep } & How} how */
async function measureUpkeep({ store, server, logins, count }, { upkeep, perSecond, seconds, tell }) {
  const [sent, ahead] = [4 * seconds, 1_000 + 300 * seconds];
  const endingCount = Math.ceil(count * (upkeep.ending?.share ?? 0));
  const moment = clock() + (upkeep.ending?.inSeconds(endingCount) ?? 0);
  await fill(store, { ...endingLogins(count, moment), from: count, to: count + endingCount });
  await delay(Math.max(0, moment * 1000 - ahead - Date.now()));
  const values = take(logins, Math.ceil(perSecond * (sent + 2))).map(({ refreshToken }) => refreshToken);
  const { refresh } = server.routes;
  if (!refresh) throw new Error("the server has no refresh route");
  const targets = [{ url: server.url, template: refresh, values }];
  const load = runPlan({ targets, perSecond, slices: 1, sliceSeconds: sent, warmUpSeconds: 0 });
  await delay(ahead);
  const begin = Math.max(Date.now(), moment * 1000);
  const note = (await upkeep.run(moment)) ?? "";
  const end = Date.now();
  const [measured] = await load;
  if (!measured) throw new Error("nothing was measured");
  const latencies = measured.latencies.filter((_, index) => {
    const at = measured.plannedAt[index] ?? 0;
    return begin <= at && at <= Math.max(end, begin + 1_000);
  });
  const { requests, p50, p99, max } = latencyOf(upkeep.title, { ...measured, latencies });
  tell(`${upkeep.title} ${note} ${end - begin} ms`);
  return [
    upkeep.title,
    note,
    exact((end - begin) / 1000),
    whole(requests),
    exact(p50),
    exact(p99),
    exact(max),
  ];
}

/** @param {Filled} filled @param {How} how */
async function upkeepTable(filled, how) {
  const nothing = { title: "nothing else", run: () => delay(3_000 * how.seconds) };
  const rows = [];
  for (const upkeep of [nothing, ...filled.store.upkeep])
    rows.push(await measureUpkeep(filled, { ...how, upkeep }));
  return table([
    ["meanwhile", "how much", "seconds", "refreshes", "p50 ms", "p99 ms", "longest ms"],
    ...rows,
  ]);
}

/** @param {string} name @param {How} how */
async function press(name, how) {
  const { authorizations: count, tell } = how;
  const { start } = engineOf(name);
  /** @type {import("./databases").Database | undefined} */
  const database = await start().catch((/** @type {Error} */ { message }) => {
    tell(`${name} is left out: ${message}`);
    return undefined;
  });
  if (!database) return "";
  const small = await startFilled(name, { ...how, database, count: Math.min(few, count) });
  // a trial run has one store only
  const large = count > few ? await startFilled(name, { ...how, database: await start(), count }) : small;
  const both = /** @type {const} */ ([small, large]);
  try {
    return [
      `### ${large.version}`,
      `Filled with ${whole(count)} authorizations in ${whole(large.fillSeconds)} s.`,
      await latencyTable(both, how),
      await spaceTable(large),
      await refreshTable(both),
      await large.store.remarks(),
      await upkeepTable(large, how),
      await large.store.remarks(),
    ].join("\n\n");
  } finally {
    for (const filled of new Set(both)) await filled.stop();
  }
}

async function main() {
  const { values } = parseArgs({
    options: {
      engines: { type: "string", default: Object.keys(engines).join(",") },
      authorizations: { type: "string", default: "1000000" },
      "per-second": { type: "string", default: "100" },
      seconds: { type: "string", default: "10" },
    },
  });
  const how = {
    authorizations: Number(values.authorizations),
    perSecond: Number(values["per-second"]),
    seconds: Number(values.seconds),
    tell: (/** @type {string} */ line) => void process.stderr.write(`${line}\n`),
  };
  for (const name of values.engines.split(",")) process.stdout.write(`${await press(name, how)}\n\n`);
}

if (require.main === module) void main();
