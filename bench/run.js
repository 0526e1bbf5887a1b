// @ts-check
/**
 * The benchmark: `npm start` in this folder, after `npm ci`. It prints Markdown.
 *
 *     node run.js [--servers=authmount,express-jwt] [--workloads=W1,W4] [--samples=5] [--seconds=1] [--parts] [--write]
 *     node run.js --smoke
 *
 * `--parts` adds memory, start-up, sizes, latency and databases; `--write` puts all into docs/performance.md. `--smoke` checks
 * every server and samples ours once: it says that the benchmark works, and nothing about speed.
 */
"use strict";
const { readdirSync } = require("node:fs");
const path = require("node:path");
const { parseArgs } = require("node:util");
const { check } = require("./check");
const { startServer } = require("./child");
const { compare, sample } = require("./compare");
const { comparisonTables, environment, floorTable, writeResults } = require("./report");
const { floors, workloads } = require("./workloads");

/**
 * @typedef {import("./child").RunningServer} RunningServer
 * @typedef {import("./compare").Cell} Cell
 */

const floorFiles = ["express", "node-http"];
/** Servers of other parts of the benchmark. */
const otherFiles = ["authmount-shared"];

const { values: options } = parseArgs({
  options: {
    servers: { type: "string" },
    workloads: { type: "string" },
    samples: { type: "string", default: "5" },
    seconds: { type: "string", default: "1" },
    parts: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    smoke: { type: "boolean", default: false },
  },
});

/** @param {string} line */
const tell = (line) => void process.stderr.write(`${line}\n`);

/** Ours first, then the others. */
function serverFiles() {
  const asked = options.servers?.split(",");
  return ["servers", "peers"].flatMap((folder) => {
    const names = readdirSync(path.join(__dirname, folder)).map((file) => path.parse(file).name);
    const wanted = names.filter((name) => asked?.includes(name) ?? !otherFiles.includes(name));
    return wanted.filter((name) => !floorFiles.includes(name)).map((name) => `${folder}/${name}`);
  });
}

async function startAll() {
  /** @type {RunningServer[]} */
  const servers = [];
  for (const name of serverFiles()) {
    /** @type {import("./types").ServerFile} */
    const { formats } = require(`./${name}`);
    for (const format of formats) servers.push(await startServer(name, format));
  }
  return servers;
}

function askedWorkloads() {
  const asked = options.workloads?.split(",");
  return workloads.filter(({ id }) => asked?.includes(id) ?? true);
}

async function smoke() {
  const servers = await startAll();
  for (const server of servers) await check(server);
  const ours = servers.filter(({ name }) => name.startsWith("servers/"));
  for (const workload of askedWorkloads()) {
    for (const server of ours.filter(({ routes }) => workload.isFor(routes))) {
      await sample({ workload, server }, 1);
    }
  }
  for (const server of servers) server.stop();
  tell(`${servers.length} servers were checked, ours were sampled`);
}

/** New processes for each workload, so that none is slowed or warmed by what it did before. */
async function measure() {
  const seconds = Number(options.seconds);
  const floor = await startServer("servers/express", "jwt");
  /** @type {(readonly [Cell, import("./compare").Measured])[]} */
  const measured = [];
  for (const workload of askedWorkloads()) {
    const servers = await startAll();
    const able = servers.filter(({ routes }) => workload.isFor(routes));
    for (const server of servers.filter((each) => !able.includes(each))) server.stop();
    for (const server of able) await check(server);
    const cells = able.map((server) => ({ workload, server }));
    tell(workload.id);
    measured.push(...(await compare(cells, { floor, seconds, samples: Number(options.samples) })));
    for (const server of able) server.stop();
  }
  const node = await startServer("servers/node-http", "jwt");
  const sections = [
    environment(),
    comparisonTables(new Map(measured)),
    await floorTable([floor, node], { floors, seconds }),
  ];
  for (const server of [floor, node]) server.stop();
  return sections;
}

/** The parts that start servers of their own. */
async function measureParts() {
  const sections = [];
  for (const part of ["open-loop", "memory", "start-up", "sizes", "storage"]) {
    tell(part);
    sections.push(await require(`./${part}`).section());
  }
  return sections;
}

async function main() {
  if (options.smoke) return smoke();
  const sections = await measure();
  if (options.parts) sections.push(...(await measureParts()));
  const text = sections.join("\n\n");
  if (options.write) writeResults(text);
  else process.stdout.write(`${text}\n`);
}

void main();
