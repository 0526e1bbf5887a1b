// @ts-check
/**
 * The benchmark still works: every server passes its checks, also over the databases, and ours are sampled, by each of the two
 * generators. Nothing here judges a time. `npm run bench:smoke` in the folder above builds the package and runs this, also where
 * nobody has installed the benchmark yet.
 */
"use strict";
const { execFileSync } = require("node:child_process");
const { existsSync } = require("node:fs");
const path = require("node:path");

/** @type {(command: string, parameters: readonly string[], env?: Record<string, string>) => void} */
function run(command, parameters, env = {}) {
  execFileSync(command, parameters, {
    cwd: __dirname,
    stdio: "inherit",
    env: { ...process.env, ...env },
    shell: command === "npm",
  });
}

if (!existsSync(path.join(__dirname, "node_modules"))) run("npm", ["ci", "--no-audit", "--no-fund"]);
run(process.execPath, ["run.js", "--smoke"]);
run(process.execPath, ["run.js", "--smoke", "--servers=authmount"], { BENCH_GENERATOR: "autocannon" });
run(process.execPath, ["beside-peers.js", "--smoke"]);
run(process.execPath, ["openid.js", "--rounds=1", "--seconds=1", "--warm-up=1"]);
run(process.execPath, ["pressure.js", "--authorizations=4000", "--per-second=10", "--seconds=0.2"]);
