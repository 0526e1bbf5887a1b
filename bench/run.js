// @ts-check
/**
 * Runs the benchmark: `npm start` in this folder, after `npm ci`. It prints Markdown.
 *
 *     node run.js [--servers=authmount,express-jwt] [--workloads=W1,W4] [--samples=5] [--seconds=1] [--parts] [--write]
 *     node run.js --smoke
 *
 * `--parts` adds memory, start-up, sizes, latency and databases, which are always printed; `--write` writes the comparison into
 * docs/performance.md. `--smoke` checks every server and samples ours once: it shows that the benchmark works, and says nothing about speed.
 */
"use strict";
const { readdirSync } = require("node:fs");
const path = require("node:path");
const { parseArgs } = require("node:util");
const { check } = require("./check");
const { startServer } = require("./child");
const { compare, sample } = require("./compare");
const { comparisonTable, environment, floorTable, leanTable, spreadLine, writeResults } = require("./report");
const { floors, workloads } = require("./workloads");

/**
 * @typedef {import("./compare").Cell} Cell
 */

const floorFiles = ["express", "node-http"];
/** Servers that only other parts of the benchmark use. */
const otherFiles = ["authmount-shared", "better-auth", "floods"];

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

/** Lists our servers first, then the peers. */
function serverFiles() {
  const asked = options.servers?.split(",");
  return ["servers", "peers"].flatMap((folder) => {
    const names = readdirSync(path.join(__dirname, folder)).map((file) => path.parse(file).name);
    const wanted = names.filter((name) => asked?.includes(name) ?? !otherFiles.includes(name));
    return wanted.filter((name) => !floorFiles.includes(name)).map((name) => `${folder}/${name}`);
  });
}

function serverFormats() {
  return serverFiles().flatMap((name) => {
    /** @type {import("./types").ServerFile} */
    const { formats } = require(`./${name}`);
    return formats.map((format) => /** @type {const} */ ([name, format]));
  });
}

function askedWorkloads() {
  const asked = options.workloads?.split(",");
  return workloads.filter(({ id }) => asked?.includes(id) ?? true);
}

async function smoke() {
  // a run that ends early has failed, also when nothing is left to wait for
  process.exitCode = 1;
  const servers = serverFormats();
  for (const [name, format] of servers) {
    const server = await startServer(name, format);
    await check(server);
    const able = askedWorkloads().filter(({ isFor }) => name.startsWith("servers/") && isFor(server.routes));
    for (const workload of able) await sample({ workload, server }, 1);
    server.stop();
  }
  if (servers.length === 0) throw new Error("there is no such server");
  tell(`${servers.length} servers were checked, ours were sampled`);
  process.exitCode = 0;
}

/**
 * Starts a new process for each cell, alone with the floor. A process that has waited for its turn, or has done something else
 * before, would not be measured under the same conditions as the floor.
 */
async function measure() {
  const seconds = Number(options.seconds);
  const floor = await startServer("servers/express", "jwt");
  /** @type {Map<Cell, readonly number[]>} */
  const measured = new Map();
  for (const workload of askedWorkloads()) {
    for (const [name, format] of serverFormats()) {
      const server = await startServer(name, format);
      if (workload.isFor(server.routes)) {
        await check(server);
        tell(`${workload.id} ${name} ${format}`);
        const cell = { workload, server };
        measured.set(cell, await compare(cell, { floor, seconds, samples: Number(options.samples) }));
      }
      server.stop();
    }
  }
  const node = await startServer("servers/node-http", "jwt");
  const sections = [
    environment(),
    spreadLine(measured),
    comparisonTable(measured),
    leanTable(measured),
    await floorTable([floor, node], { floors, seconds }),
  ];
  for (const server of [floor, node]) server.stop();
  return sections;
}

/** Measures the parts that start their own servers. */
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
  const compared = (await measure()).join("\n\n");
  if (options.write) writeResults(compared);
  else process.stdout.write(`${compared}\n`);
  if (options.parts) process.stdout.write(`\n${(await measureParts()).join("\n\n")}\n`);
}

void main();
