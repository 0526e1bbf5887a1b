// @ts-check
/** Finds the heaviest frames of a workload: `node profile.js W1 jwt [servers/authmount] [frames]`. It prints Markdown. */
"use strict";
const path = require("node:path");
const { startServer } = require("./child");
const { generate } = require("./load/generate");
const { floors, workloads } = require("./workloads");

const [, , id = "W1", format = "jwt", name = "servers/authmount", frames = "10"] = process.argv;
const warmUpSeconds = 3;
const seconds = 5;

/** @typedef {import("node:inspector").Profiler.Profile} Profile */

/** @param {import("node:inspector").Runtime.CallFrame} frame */
function nameOf({ functionName, url, lineNumber }) {
  const file = url.replace(/^file:\/\//, "");
  const place = file === "" ? "" : ` ${path.relative(path.join(__dirname, ".."), file)}:${lineNumber + 1}`;
  return `${functionName || "(anonymous)"}${place.replace(/.*node_modules\//, " ")}`;
}

/** Returns the microseconds that each frame took, without the frames that it called. @param {Profile} profile */
function selfTimes({ nodes, samples = [], timeDeltas = [] }) {
  const names = new Map(nodes.map(({ id: node, callFrame }) => [node, nameOf(callFrame)]));
  /** @type {Map<string, number>} */
  const times = new Map();
  samples.forEach((node, index) => {
    const frame = names.get(node) ?? "";
    times.set(frame, (times.get(frame) ?? 0) + (timeDeltas[index] ?? 0));
  });
  return times;
}

/** @param {import("./child").RunningServer} server @returns {Promise<readonly import("./load/generate").Step[]>} */
async function planOf(server) {
  if (id === "F1" || id === "F2" || id === "F3") return floors[id];
  const workload = workloads.find((each) => each.id === id);
  if (!workload) throw new Error(`${id} is neither a workload nor a floor`);
  return workload.plan(server);
}

async function main() {
  const server = await startServer(name, format === "opaque" ? "opaque" : "jwt");
  const run = async (/** @type {number} */ duration) =>
    generate(await planOf(server), { url: server.url, seconds: duration });
  await run(warmUpSeconds);
  await server.ask("profile");
  const { requests } = await run(seconds);
  const { profile } = await server.ask("profile-end");
  server.stop();
  const times = selfTimes(profile);
  const heaviest = [...times].toSorted(([, a], [, b]) => b - a);
  const busy = heaviest.reduce((sum, [frame, time]) => sum + (frame === "(idle)" ? 0 : time), 0);
  process.stdout.write(
    `${id} ${format}: ${(busy / requests).toFixed(1)} µs per request\n\n| µs | % | frame |\n|---|---|---|\n`,
  );
  for (const [frame, time] of heaviest.filter(([each]) => each !== "(idle)").slice(0, Number(frames))) {
    const percent = ((100 * time) / busy).toFixed(1);
    process.stdout.write(`| ${(time / requests).toFixed(1)} | ${percent} | ${frame} |\n`);
  }
}

void main();
