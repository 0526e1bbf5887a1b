// @ts-check
/**
 * Measures latency at a fixed rate (open loop) for client credentials with JWTs (W1) and for its floor F3, in turn:
 *
 *     node open-loop.js [--seconds=20] [--per-second=500]
 *
 * The latency of a request that had to wait counts from the time when it should have been sent. It prints Markdown.
 */
"use strict";
const { execFile } = require("node:child_process");
const { mkdtemp, rm, writeFile } = require("node:fs/promises");
const { tmpdir } = require("node:os");
const path = require("node:path");
const { parseArgs, promisify } = require("node:util");
const { startServer } = require("./child");
const { generate, onCore } = require("./load/generate");
const { table } = require("./report");
const { floors } = require("./workloads");

/**
 * @typedef {{ readonly title: string; readonly requests: number; readonly p50: number; readonly p99: number; readonly max: number }} Latency
 *   In milliseconds.
 * @typedef {{ readonly perSecond: number; readonly authmount: Latency; readonly floor: Latency; readonly p50Ratio: number; readonly p99Ratio: number }} OpenLoop
 */

const sliceSeconds = 5;
const warmUpSeconds = 3;
const outputBytes = 2 ** 26;

/** @param {readonly number[]} sorted @param {number} share */
const quantile = (sorted, share) =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;

/** @param {string} title @param {Pick<import("./load/open-loop").Latencies, "latencies" | "refused" | "broken">} measured @returns {Latency} */
function latencyOf(title, { latencies, refused, broken }) {
  if (refused > 0 || broken > 0) throw new Error(`${title}: ${refused} refused, ${broken} without an answer`);
  const sorted = latencies.toSorted((a, b) => a - b);
  const [p50, p99, max] = [quantile(sorted, 0.5), quantile(sorted, 0.99), quantile(sorted, 1)];
  return { title, requests: sorted.length, p50, p99, max };
}

/** @param {import("./load/open-loop").OpenLoopPlan} plan */
async function runPlan(plan) {
  const folder = await mkdtemp(path.join(tmpdir(), "authmount-bench-plan-"));
  try {
    const file = path.join(folder, "plan.json");
    await writeFile(file, JSON.stringify(plan));
    const [command, ...args] = onCore(1, [process.execPath, path.join(__dirname, "load/open-loop.js"), file]);
    const { stdout } = await promisify(execFile)(command, args, { maxBuffer: outputBytes });
    /** @type {readonly import("./load/open-loop").Latencies[]} */
    const latencies = JSON.parse(stdout);
    return latencies;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @param {{ seconds: number; perSecond: number }} how @returns {Promise<OpenLoop>} */
async function measureOpenLoop({ seconds, perSecond }) {
  const servers = [
    await startServer("servers/authmount", "jwt"),
    await startServer("servers/express", "jwt"),
  ];
  try {
    const [ours] = servers;
    const templates = [ours?.routes.clientCredentials, floors.F3[0]];
    const targets = servers.flatMap(({ url }, index) => {
      const template = templates[index];
      return template ? [{ url, template }] : [];
    });
    for (const { url, template } of targets) await generate([template], { url, seconds: warmUpSeconds });
    const slices = Math.max(1, Math.ceil(seconds / sliceSeconds));
    const plan = { targets, perSecond, slices, sliceSeconds: seconds / slices, warmUpSeconds: sliceSeconds };
    const [authmount, floor] = (await runPlan(plan)).map((measured, index) =>
      latencyOf(servers[index]?.title ?? "", measured),
    );
    if (!authmount || !floor) throw new Error("a server was not measured");
    const [p50Ratio, p99Ratio] = [authmount.p50 / floor.p50, authmount.p99 / floor.p99];
    return { perSecond, authmount, floor, p50Ratio, p99Ratio };
  } finally {
    for (const server of servers) server.stop();
  }
}

/** @param {string} id @param {Latency} latency */
function line(id, { title, requests, p50, p99, max }) {
  return [id, title, requests.toLocaleString("en"), ...[p50, p99, max].map((value) => value.toFixed(2))];
}

/** @param {OpenLoop} measured */
const tableOf = ({ perSecond, authmount, floor, p50Ratio, p99Ratio }) =>
  table([
    [`ms at ${perSecond} requests/s`, "server", "requests", "p50", "p99", "longest"],
    line("F3", floor),
    line("W1", authmount),
    ["W1 / F3", "", "", p50Ratio.toFixed(2), p99Ratio.toFixed(2), ""],
  ]);

const usual = { seconds: 20, perSecond: 500 };

/** Returns the results as Markdown. */
const section = async (how = usual) => tableOf(await measureOpenLoop(how));

async function main() {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: String(usual.seconds) },
      "per-second": { type: "string", default: String(usual.perSecond) },
    },
  });
  const how = { seconds: Number(values.seconds), perSecond: Number(values["per-second"]) };
  process.stdout.write(`${await section(how)}\n`);
}

if (require.main === module) void main();

module.exports = { latencyOf, measureOpenLoop, runPlan, section };
