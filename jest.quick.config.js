// @ts-check
"use strict";

const { existsSync, readdirSync, readFileSync } = require("node:fs");
const path = require("node:path");
const { projects, ...whole } = require("./jest.config");

/**
 * The quick tier, `npm run test:quick`: what one runs after each change, in about 90 seconds on two idle cores. `npm test` runs all
 * of it, and what is left out here:
 * - files that need more than their own process: a real PostgreSQL or Redis, a browser, an example, a compiler. Whatever starts
 *   a process imports one of these modules, itself or by its imports, so a new file finds its tier by itself.
 * - by name, what costs most for what it tells.
 * - the project "in front of Express", which repeats cases of the first one.
 */
const startsProcesses = /^(?:node:child_process|node:cluster|playwright-core)$/;

/** Together they take as long as all the rest. */
const byName = [
  // many steps each, through rules that endpoints/, grants/ and protocol/ test one by one
  "attacks/**",
  // every pair of API and method, options that change, and `auth.inFrontOf` beside the router
  "flows/{changed-options,in-front*,pairs}.test.ts",
  // the compiler over all of lib/
  "{typed-lists,reference}.test.ts",
  // the contract of SQLite and of wrong adapters, and bounds of memory and time
  "adapters/{memory-bounds,sqlite-contract,sqlite-transaction}.test.ts",
  "testing/contract/wrong-adapters.test.ts",
  "storage/time-limit*",
];

const folder = path.join(__dirname, "__tests__");

/** @type {Map<string, boolean>} */
const known = new Map();

/** @param {string} file */
function importsOf(file) {
  const imports = readFileSync(file, "utf8").matchAll(/^(?:import|export) (?!type )[^;]*?"([^"]+)";$/gm);
  return [...imports].map(([, name]) => name);
}

/** @param {string} file */
function needsMore(file) {
  const before = known.get(file);
  if (before !== undefined) return before;
  const needs = importsOf(file).some((name) => {
    if (!name.startsWith(".")) return startsProcesses.test(name);
    const target = path.join(path.dirname(file), name);
    const own = [`${target}.ts`, path.join(target, "index.ts")].find((each) => existsSync(each));
    return own !== undefined && own.startsWith(folder) && needsMore(own);
  });
  known.set(file, needs);
  return needs;
}

const leftOut = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => path.join(folder, name))
  .filter(needsMore);

/** @type {import("jest").Config} */
module.exports = {
  ...whole,
  ...projects[0],
  // none of these waits for a server: what takes so long hangs
  testTimeout: 60_000,
  testMatch: [...projects[0].testMatch, ...byName.map((name) => `!**/__tests__/${name}`)],
  testPathIgnorePatterns: leftOut.map((file) => `^${file.replaceAll(/[\\.]/g, "\\$&")}$`),
};
