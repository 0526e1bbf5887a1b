// @ts-check
/** What the mutation runs have shown, file by file: `score.json`, which `run.mjs` writes. */
"use strict";
const { createHash } = require("node:crypto");
const { readdirSync, readFileSync } = require("node:fs");
const path = require("node:path");
const { explained } = require("./explained");

/**
 * A mutant that no test has noticed.
 *
 * @typedef {object} Survivor
 * @property {string} at where it is: line:column-line:column, counted from 1
 * @property {string} from the text that it replaces
 * @property {string} to
 */

/**
 * @typedef {object} FileScore
 * @property {string} digest of the text that was mutated
 * @property {number} mutants how many could be run
 * @property {readonly Survivor[]} survivors
 */

const root = path.resolve(__dirname, "../..");
const scorePath = path.join(__dirname, "score.json");

/**
 * HTML, the program `authmount`, and what talks to servers of others or reads their rows: their tests need a browser, processes or the servers.
 * The contract of storage is tests itself; wrong adapters show that it notices what it is for (`testing/contract/wrong-adapters.test.ts`).
 */
const leftOut =
  /^lib\/(?:pages\/|adapters\/(?:(?:repeat|rows|table-names)\.ts|(?:mysql|postgres|redis|sqlite)\/)|testing\/contract\/|(?:cli|mysql|postgres|redis|sqlite)\.ts$)/;

/** Every file that is mutated, from the root of the repository. */
function mutatedFiles() {
  return readdirSync(path.join(root, "lib"), { recursive: true, encoding: "utf8" })
    .map((name) => `lib/${name}`)
    .filter((file) => file.endsWith(".ts") && !leftOut.test(file))
    .toSorted();
}

/** @param {string} file */
function textOf(file) {
  return readFileSync(path.join(root, file), "utf8");
}

/** @param {string} text */
function digestOf(text) {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

/** The folder below `lib/`; empty for the files beside the folders. @param {string} file */
function roomOf(file) {
  return file.split("/").slice(1, -1)[0] ?? "";
}

/** @returns {Record<string, FileScore>} */
function readScore() {
  return JSON.parse(readFileSync(scorePath, "utf8"));
}

/** The survivors that `explained.js` gives no reason for. @param {string} file @param {FileScore} score */
function unexplained(file, { survivors }) {
  const { [file]: reasons = [] } = explained;
  return survivors.filter(({ from, to }) => !reasons.some((each) => each[0] === from && each[1] === to));
}

/** How many of a hundred mutants were noticed. @param {readonly FileScore[]} files */
function percentOf(files) {
  const mutants = files.reduce((sum, file) => sum + file.mutants, 0);
  const survivors = files.reduce((sum, file) => sum + file.survivors.length, 0);
  return mutants === 0 ? 100 : (100 * (mutants - survivors)) / mutants;
}

module.exports = { digestOf, mutatedFiles, percentOf, readScore, roomOf, scorePath, textOf, unexplained };
