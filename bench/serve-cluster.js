// @ts-check
/**
 * Runs several processes of one server on one port: `BENCH_PROCESSES=4 node serve-cluster.js <file> <jwt|opaque>`. They behave like
 * one server: the answer to a question is the sum over the processes.
 */
"use strict";
const path = require("node:path");

// the cast is needed because the types describe it only as an ES module
const cluster = /** @type {import("node:cluster").Cluster} */ (
  /** @type {unknown} */ (require("node:cluster"))
);

/** @param {import("node:cluster").Worker} worker @returns {Promise<any>} */
const nextMessage = (worker) => new Promise((resolve) => void worker.once("message", resolve));

/** @param {readonly Readonly<Record<string, number>>[]} answers */
function sumOf(answers) {
  /** @type {Record<string, number>} */
  const sum = {};
  for (const [name, value] of answers.flatMap(Object.entries)) sum[name] = (sum[name] ?? 0) + value;
  return sum;
}

/** The CPU time of this process, which hands out the connections. */
function ownCpu() {
  const { user, system } = process.cpuUsage();
  return { seconds: (user + system) / 1e6 };
}

/** @param {readonly import("node:cluster").Worker[]} workers @param {string} question */
async function askAll(workers, question) {
  const answers = workers.map((worker) => {
    const answer = nextMessage(worker);
    worker.send(question);
    return answer;
  });
  const own = question === "cpu" ? [ownCpu()] : [];
  return sumOf([...own, ...(await Promise.all(answers))]);
}

async function main() {
  cluster.setupPrimary({ exec: path.join(__dirname, "serve.js"), args: process.argv.slice(2) });
  cluster.on("exit", () => process.exit(1));
  const workers = Array.from({ length: Number(process.env["BENCH_PROCESSES"]) }, () => cluster.fork());
  const [started] = await Promise.all(workers.map(nextMessage));
  process.on("disconnect", () => process.exit());
  process.on("message", (question) => {
    void askAll(workers, String(question)).then((answer) => process.send?.(answer));
  });
  process.send?.(started);
}

void main();
