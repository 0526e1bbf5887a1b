// @ts-check
/**
 * Plants each defect of `defects.js` in a copy of the repository, and runs the tests that must notice it:
 *
 *     node lab/planted/run.js            all of them, two at a time
 *     node lab/planted/run.js [name]     those whose name contains the text
 *
 * The named tests run without a defect first, and must pass. Exit code 1 when a defect was not caught.
 */
"use strict";
const { spawn } = require("node:child_process");
const {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} = require("node:fs");
const { tmpdir } = require("node:os");
const path = require("node:path");
const { defects } = require("./defects");

/** @typedef {import("./defects").Defect} Defect */
/** @typedef {{ readonly passed: boolean; readonly output: string; readonly late: boolean }} Ended */
/** @typedef {{ readonly defect: Defect; readonly caughtBy: string | undefined; readonly note: string }} Outcome */

const root = path.resolve(__dirname, "../..");
const leftOut = new Set([".git", "node_modules", "dist", "coverage"]);
const limitMilliseconds = 120_000;
const copies = 2;

/** A copy of the repository, which uses the packages of the original. */
function newCopy() {
  const copy = mkdtempSync(path.join(realpathSync(tmpdir()), "authmount-planted-"));
  for (const name of readdirSync(root)) {
    if (leftOut.has(name)) continue;
    const filter = (/** @type {string} */ from) => path.basename(from) !== "node_modules";
    cpSync(path.join(root, name), path.join(copy, name), { recursive: true, filter });
  }
  for (const folder of ["node_modules", "lab/node_modules"])
    symlinkSync(path.join(root, folder), path.join(copy, folder));
  return copy;
}

/**
 * Runs Jest on these test files, and ends it with all of its children when it takes too long.
 *
 * @param {string} copy
 * @param {{ readonly tests: readonly string[]; readonly only?: string | undefined; readonly limit: number; readonly testLimit: number }} what the limits of the run and of a test are in milliseconds
 * @returns {Promise<Ended>}
 */
function runTests(copy, { tests, only, limit, testLimit }) {
  // tests of processes of their own build what they need
  rmSync(path.join(copy, "dist"), { recursive: true, force: true });
  const jest = path.join(root, "node_modules/jest/bin/jest.js");
  const files = tests.map((name) =>
    path.join(copy, name.startsWith("lab/") ? "" : "__tests__", `${name}.test.ts`),
  );
  const options = ["--config", "lab/jest.config.js", "-w", "1", "--bail", "--testTimeout", String(testLimit)];
  const args = [
    jest,
    ...options,
    // the tests of the library too
    "--testMatch=**/*.test.ts",
    "--colors=false",
    ...(only === undefined ? [] : ["-t", only]),
    "--runTestsByPath",
    ...files,
  ];
  const child = spawn(process.execPath, args, { cwd: copy, detached: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (/** @type {Buffer} */ chunk) => void (output += chunk.toString()));
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  }, limit);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ passed: code === 0, output, late });
    });
  });
}

/**
 * The first test that failed. Code that cannot be loaded at all is no realistic defect, so that does not count.
 *
 * @param {string} output
 */
function failureIn(output) {
  const test = /^ {2}● (.+)$/m.exec(output)?.[1];
  return test === undefined || test.includes("Test suite failed to run") ? undefined : test;
}

/**
 * @param {string} copy
 * @param {Defect} defect
 * @returns {Promise<Outcome>}
 */
async function plant(copy, defect) {
  const file = path.join(copy, defect.file);
  const before = readFileSync(file, "utf8");
  const parts = before.split(defect.find);
  if (parts.length !== 2)
    return { defect, caughtBy: undefined, note: `its text occurs ${parts.length - 1} times` };
  writeFileSync(file, parts.join(defect.replace));
  try {
    // one after the other: most defects are caught by the first file
    for (const test of defect.tests) {
      const { passed, output, late } = await runTests(copy, {
        tests: [test],
        only: defect.only,
        limit: limitMilliseconds,
        testLimit: 20_000,
      });
      if (late) return { defect, caughtBy: undefined, note: `${test} did not end within two minutes` };
      if (passed) continue;
      const failure = failureIn(output);
      if (failure !== undefined) return { defect, caughtBy: `${test}: ${failure}`, note: "" };
      return { defect, caughtBy: undefined, note: `${test} could not run: ${output.slice(0, 2_000)}` };
    }
    return { defect, caughtBy: undefined, note: `all pass: ${defect.tests.join(", ")}` };
  } finally {
    writeFileSync(file, before);
  }
}

/**
 * The copies take the defects from one list, so that none waits for another.
 *
 * @param {readonly string[]} places
 * @param {readonly Defect[]} chosen
 * @returns {Promise<readonly Outcome[]>}
 */
async function plantAll(places, chosen) {
  /** @type {Outcome[]} */
  const outcomes = [];
  const left = chosen.values();
  const work = places.map(async (copy) => {
    for (const defect of left) {
      const outcome = await plant(copy, defect);
      outcomes.push(outcome);
      const said =
        outcome.caughtBy === undefined ? `NOT caught (${outcome.note})` : `caught by ${outcome.caughtBy}`;
      process.stdout.write(`${outcomes.length}/${chosen.length} ${defect.name}: ${said}\n`);
    }
  });
  await Promise.all(work);
  return chosen.flatMap((defect) => outcomes.find((outcome) => outcome.defect === defect) ?? []);
}

/** @param {readonly string[]} places @param {readonly Defect[]} chosen */
async function passWithout(places, chosen) {
  const tests = [...new Set(chosen.flatMap((defect) => defect.tests))];
  const shares = places.map((copy, at) => ({
    copy,
    share: tests.filter((_, index) => index % places.length === at),
  }));
  const ended = await Promise.all(
    shares
      .filter(({ share }) => share.length > 0)
      .map(({ copy, share }) =>
        runTests(copy, { tests: share, limit: 10 * limitMilliseconds, testLimit: limitMilliseconds }),
      ),
  );
  const failed = ended.find(({ passed }) => !passed);
  if (!failed) return true;
  process.stdout.write(
    `Without a defect the tests must pass, and they do not:\n${failed.output.slice(-5_000)}\n`,
  );
  return false;
}

/** @param {string} text */
function cell(text) {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}

/** @param {readonly Outcome[]} outcomes */
function table(outcomes) {
  const rows = outcomes.map(
    ({ defect, caughtBy }) =>
      `| ${cell(defect.name)} | \`${defect.file.replace("lib/", "")}\` | ${cell(caughtBy ?? "**NOT caught**")} |`,
  );
  return ["| Defect | File in `lib/` | Caught by |", "|---|---|---|", ...rows].join("\n");
}

async function main() {
  const [part = ""] = process.argv.slice(2);
  const chosen = defects.filter(({ name }) => name.includes(part));
  if (chosen.length === 0) throw new Error(`no defect has "${part}" in its name`);
  const places = Array.from({ length: Math.min(copies, chosen.length) }, newCopy);
  const began = Date.now();
  try {
    if (!(await passWithout(places, chosen))) return 1;
    const outcomes = await plantAll(places, chosen);
    const missed = outcomes.filter(({ caughtBy }) => caughtBy === undefined).length;
    const minutes = ((Date.now() - began) / 60_000).toFixed(1);
    process.stdout.write(`\n${table(outcomes)}\n\n`);
    process.stdout.write(`${chosen.length - missed} of ${chosen.length} caught, in ${minutes} minutes\n`);
    return missed === 0 ? 0 : 1;
  } finally {
    for (const copy of places) rmSync(copy, { recursive: true, force: true });
  }
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (/** @type {unknown} */ error) => {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  },
);
