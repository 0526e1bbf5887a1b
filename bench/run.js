// @ts-check
/**
 * The benchmark: `npm start` in this folder, after `npm ci`. It prints Markdown.
 *
 *     node run.js [--servers=authmount,express-jwt] [--workloads=W1,W4] [--samples=5] [--seconds=2]
 */
"use strict";
const { readdirSync } = require("node:fs");
const path = require("node:path");
const { parseArgs } = require("node:util");
const { check } = require("./check");
const { startServer } = require("./child");
const { compare, median } = require("./compare");
const { workloads } = require("./workloads");

const folders = ["servers", "peers"];
const floorFiles = ["express", "node-http"];

const { values: options } = parseArgs({
  options: {
    servers: { type: "string" },
    workloads: { type: "string" },
    samples: { type: "string", default: "5" },
    seconds: { type: "string", default: "2" },
  },
});

/** @param {string} line */
const tell = (line) => void process.stderr.write(`${line}\n`);
/** @param {string} text */
const print = (text) => void process.stdout.write(`${text}\n`);

/** Ours first, then the others. */
function serverFiles() {
  const asked = options.servers?.split(",");
  return folders.flatMap((folder) => {
    const names = readdirSync(path.join(__dirname, folder)).map((file) => path.parse(file).name);
    const wanted = names.filter((name) => !floorFiles.includes(name) && (asked?.includes(name) ?? true));
    return wanted.map((name) => `${folder}/${name}`);
  });
}

async function startAll() {
  /** @type {import("./child").RunningServer[]} */
  const servers = [];
  for (const name of serverFiles()) {
    /** @type {import("./types").ServerFile} */
    const { formats } = require(`./${name}`);
    for (const format of formats) servers.push(await startServer(name, format));
  }
  return servers;
}

/** @param {readonly number[]} values @param {number} digits */
function spread(values, digits) {
  const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits));
  return `**${median(values).toFixed(digits)}** (${low}–${high})`;
}

async function main() {
  const asked = options.workloads?.split(",");
  const floor = await startServer("servers/express", "jwt");
  const servers = await startAll();
  for (const server of servers) await check(server);
  const cells = workloads
    .filter(({ id }) => asked?.includes(id) ?? true)
    .flatMap((workload) =>
      servers.filter(({ routes }) => workload.isFor(routes)).map((server) => ({ workload, server })),
    );
  const how = { floor, seconds: Number(options.seconds), samples: Number(options.samples), tell };
  const measured = await compare(cells, how);
  print("| | server | token | over the floor | requests/s |\n|---|---|---|---|---|");
  for (const [{ workload, server }, { ratios, perSecond }] of measured) {
    const rate = Math.round(median(perSecond)).toLocaleString("en");
    print(
      `| ${workload.id} | ${server.title} | ${server.format} | ${spread(ratios, 2)} ${workload.floor} | ${rate} |`,
    );
  }
  for (const server of [floor, ...servers]) server.stop();
}

void main();
