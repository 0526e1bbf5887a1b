// @ts-check
/** Runs the load generator on its own core: wrk, or autocannon if wrk is missing or `BENCH_GENERATOR` selects it. */
"use strict";
const { execFileSync, spawn } = require("node:child_process");
const { mkdtempSync, rmSync, writeFileSync } = require("node:fs");
const { availableParallelism, tmpdir } = require("node:os");
const path = require("node:path");

/**
 * One step of a plan. The generator always sends the last step that has a value to send.
 *
 * @typedef {import("../types").RequestTemplate & {
 *   readonly values?: readonly string[];
 *   readonly takes?: boolean;
 *   readonly yields?: string;
 *   readonly to?: number;
 * }} Step
 *   `values` replace `{value}`: in turn, or each value once if the step `takes` them. `yields` is a pattern (one
 *   that Lua and JavaScript read alike). What it captures in an answer's `Location` or body becomes a value of step `to`, counted from 1.
 *
 * @typedef {{
 *   requests: number; seconds: number; refused: number; broken: number; p50: number; p99: number
 * }} Sample
 *   `refused`: answers of 400 and more; `broken`: requests without an answer; `p50` and `p99` in milliseconds.
 */

/** @param {string} command */
function isThere(command) {
  try {
    execFileSync("which", [command], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

const generator = process.env["BENCH_GENERATOR"] ?? (isThere("wrk") ? "wrk" : "autocannon");
const isPinned = isThere("taskset") && availableParallelism() > 1;

/**
 * Pins the command to one core: servers run on core 0, the generator on core 1.
 *
 * @param {0 | 1} core
 * @param {readonly string[]} command
 * @returns {[string, ...string[]]}
 */
function onCore(core, command) {
  const [first = "", ...others] = command;
  return isPinned ? ["taskset", "-c", String(core), first, ...others] : [first, ...others];
}

const folder = mkdtempSync(path.join(tmpdir(), "authmount-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true }));

/** @param {unknown} value @returns {string} */
function toLua(value) {
  if (Array.isArray(value)) return `{${value.map(toLua).join(",")}}`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, part]) => `[${JSON.stringify(name)}]=${toLua(part)}`)
    .join(",")}}`;
}

/** @param {readonly Step[]} plan */
function writePlan(plan) {
  const steps = plan.map((step) => ({ headers: {}, values: step.takes ? [] : [""], ...step }));
  const file = path.join(folder, "plan");
  writeFileSync(file, generator === "wrk" ? `return ${toLua(steps)}` : JSON.stringify(steps));
  return file;
}

/**
 * @param {readonly Step[]} plan
 * @param {{ url: string; seconds: number; connections?: number }} load
 * @returns {Promise<Sample>}
 */
function generate(plan, { url, seconds, connections = 16 }) {
  const file = writePlan(plan);
  const args =
    generator === "wrk"
      ? [
          "wrk",
          "-t1",
          `-c${connections}`,
          `-d${seconds}s`,
          "-s",
          path.join(__dirname, "wrk.lua"),
          url,
          "--",
          file,
        ]
      : [process.execPath, path.join(__dirname, "autocannon.js"), url, seconds, connections, file].map(
          String,
        );
  const [command, ...rest] = onCore(1, args);
  const child = spawn(command, rest, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  return new Promise((resolve, reject) => {
    child.on("close", () => {
      const line = output.trim().split("\n").at(-1) ?? "";
      if (line.startsWith("{")) resolve(JSON.parse(line));
      else reject(new Error(`the load generator failed: ${output}`));
    });
  });
}

module.exports = { generate, generator, isPinned, onCore };
