// @ts-check
/**
 * Measures how long a process takes until its first answer, and how long importing the library takes:
 *
 *     node start-up.js [--times=11]
 *
 * Every measurement uses a fresh process, and the candidates take turns. It prints Markdown.
 */
"use strict";
const { execFileSync } = require("node:child_process");
const { existsSync } = require("node:fs");
const path = require("node:path");
const { setTimeout: delay } = require("node:timers/promises");
const { parseArgs } = require("node:util");
const { call } = require("./call");
const { startServer } = require("./child");

const { onCore } = require("./load/generate");
const { median } = require("./median");
const { peers } = require("./peer-packages");
const { table } = require("./report");

/**
 * @typedef {{ readonly title: string; readonly milliseconds: readonly number[] }} Times one measurement per process
 * @typedef {{
 *   readonly firstAnswer: { readonly authmount: Times; readonly express: Times; readonly ratio: number };
 *   readonly imports: { readonly authmount: Times; readonly dependencies: Times; readonly ratio: number; readonly others: readonly Times[] };
 * }} StartUp
 *   `ratio`: compared with bare Express, or with the dependencies alone: the median of the ratios of the turns.
 */

const library = path.join(__dirname, "..");
const dependencies = ["express", "cookie-parser", "jsonwebtoken", "lru-cache"];

/** Gives the previous process time to end. */
const pauseMilliseconds = 100;

/**
 * Measures the time from the start of the process to the end of its first answer.
 *
 * @param {string} name
 * @param {(server: import("./child").RunningServer) => import("./types").RequestTemplate | undefined} requestOf
 */
async function timeToFirstAnswer(name, requestOf) {
  const start = performance.now();
  const server = await startServer(name, "jwt");
  const request = requestOf(server);
  const { status } = request ? await call(server, request) : { status: 0 };
  const milliseconds = performance.now() - start;
  server.stop();
  if (status !== 200) throw new Error(`${name} answered ${status}`);
  await delay(pauseMilliseconds);
  return milliseconds;
}

const importAndTell = `
  const start = process.hrtime.bigint();
  for (const name of process.argv.slice(1)) require(name);
  process.stdout.write(String(Number(process.hrtime.bigint() - start) / 1e6));`;

/** Measures milliseconds in a fresh process. @param {readonly string[]} names @param {string} folder where they are installed */
function timeToImport(names, folder) {
  const [command, ...args] = onCore(0, [process.execPath, "-e", importAndTell, "--", ...names]);
  // Node may warn about ES modules that are required: not part of the result
  const output = execFileSync(command, args, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  return Number(output);
}

/**
 * Lets the candidates take turns. The first turn fills the disk caches and is not counted.
 *
 * @param {readonly { readonly title: string; readonly time: () => number | Promise<number> }[]} candidates
 * @param {number} times
 * @returns {Promise<readonly Times[]>}
 */
async function takeTurns(candidates, times) {
  const measured = candidates.map(({ title, time }) => ({ title, time, milliseconds: [0].slice(1) }));
  for (let turn = 0; turn <= times; turn += 1) {
    for (const { time, milliseconds } of measured) {
      const one = await time();
      if (turn > 0) milliseconds.push(one);
    }
  }
  return measured.map(({ title, milliseconds }) => ({ title, milliseconds }));
}

/** Compares turn by turn: a slow phase of the machine slows both measurements of a turn. @param {Times} times @param {Times} over */
const ratioOf = (times, over) =>
  median(times.milliseconds.map((milliseconds, turn) => milliseconds / (over.milliseconds[turn] ?? 0)));

/** The peers that are installed here. */
function otherImports() {
  const withExpress = [{ title: "Express alone", packages: ["express"] }, ...peers];
  return withExpress
    .filter(({ packages }) =>
      packages.every((name) => existsSync(path.join(__dirname, "node_modules", name))),
    )
    .map((peer) => {
      const names = "imports" in peer && peer.imports ? peer.imports : peer.packages;
      return { title: peer.title, time: () => timeToImport(names, __dirname) };
    });
}

/** @param {{ times: number }} how @returns {Promise<StartUp>} */
async function measureStartUp({ times }) {
  const answers = await takeTurns(
    [
      {
        title: "authmount",
        time: () => timeToFirstAnswer("servers/authmount", ({ routes }) => routes.clientCredentials),
      },
      {
        title: "bare Express",
        time: () => timeToFirstAnswer("servers/express", () => ({ method: "GET", path: "/f1" })),
      },
    ],
    times,
  );
  const imports = await takeTurns(
    [
      { title: "authmount", time: () => timeToImport([library], library) },
      { title: "its dependencies alone", time: () => timeToImport(dependencies, library) },
      ...otherImports(),
    ],
    times,
  );
  const none = { title: "", milliseconds: [] };
  const [server = none, express = none] = answers;
  const [authmount = none, alone = none, ...others] = imports;
  return {
    firstAnswer: { authmount: server, express, ratio: ratioOf(server, express) },
    imports: { authmount, dependencies: alone, ratio: ratioOf(authmount, alone), others },
  };
}

/** @param {string} what @param {Times} times @param {string} ratio */
function line(what, { title, milliseconds }, ratio = "") {
  const [low, high] = [Math.min(...milliseconds), Math.max(...milliseconds)].map(Math.round);
  return [what, title, `**${median(milliseconds).toFixed(1)}** (${low}–${high})`, ratio];
}

/** @param {StartUp} measured */
const tableOf = ({ firstAnswer, imports }) =>
  table([
    ["start-up", "", "ms", "ratio"],
    line("to the first answer", firstAnswer.express),
    line("to the first answer", firstAnswer.authmount, firstAnswer.ratio.toFixed(2)),
    line("import", imports.dependencies),
    line("import", imports.authmount, imports.ratio.toFixed(2)),
    ...imports.others.map((times) => line("import", times)),
  ]);

const usual = { times: 11 };

/** Returns the results as Markdown. */
const section = async (how = usual) => tableOf(await measureStartUp(how));

async function main() {
  const { values } = parseArgs({ options: { times: { type: "string", default: String(usual.times) } } });
  process.stdout.write(`${await section({ times: Number(values.times) })}\n`);
}

if (require.main === module) void main();

module.exports = { measureStartUp, section };
