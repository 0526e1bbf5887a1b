/**
 * Mutation testing with Stryker: each small change of `lib/` must make a test fail.
 *
 *     node lab/mutation/run.mjs protocol tokens    these rooms or files; without a name all of them, which takes hours
 *     node lab/mutation/run.mjs --survivors        what has survived so far, and files that have changed since
 *     node lab/mutation/run.mjs --changed          files that have changed since, as many mutants as four minutes allow
 *     node lab/mutation/run.mjs --record           writes down what a stopped run has found; add its flag and its rooms
 *
 * All but `--changed` write to `score.json`, file by file. `--changed` is for CI: it writes nothing, and fails below 80 %. That is less than
 * the score, because it tries about 200 mutants by chance. What `explained.js` has counts as noticed there. `--static` adds the mutants of code
 * that runs only while a module loads. For minutes instead of hours, AUTHMOUNT_MUTATION_FILES is a pattern for names of test files: the others are
 * left out, so whatever is noticed is noticed, and what survives may be noticed by them.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Stryker } from "@stryker-mutator/core";
import { planReady, resultLines } from "./result-lines.mjs";
import score from "./score.js";
import { tests } from "./tests.mjs";

const { digestOf, mutatedFiles, percentOf, readScore, roomOf, scorePath, textOf, unexplained } = score;
const args = process.argv.slice(2);
const flags = ["--survivors", "--changed", "--record", "--static"];
if (args.some((arg) => arg.startsWith("-") && !flags.includes(arg))) {
  process.stderr.write(
    `usage: node lab/mutation/run.mjs [${flags.join("] [")}] [<room or file> ...]\nWithout a name it tries all rooms, which takes hours.\n`,
  );
  process.exit(2);
}
const [isSurvivorsRun, isChangedRun] = ["--survivors", "--changed"].map((flag) => args.includes(flag));
const rooms = args.filter((arg) => !arg.startsWith("--"));
const before = readScore();
const isChanged = (file) => before[file]?.digest !== digestOf(textOf(file));
const wanted = mutatedFiles().filter(
  (file) => rooms.length === 0 || rooms.includes(roomOf(file)) || rooms.includes(file),
);
/**
 * From the first mutant on: before it the tests run without one, for some minutes. Mutants that no test meets count at once, so a short sample
 * is worse than the whole.
 */
const changedMilliseconds = 240_000;
const testFiles = new RegExp(process.env.AUTHMOUNT_MUTATION_FILES ?? "");
const say = (line) => process.stdout.write(`${line}\n`);

/** A place as Stryker takes it: it counts columns from 0 there, and from 1 in its reports. */
function rangeOf(at) {
  return at.replaceAll(/:(\d+)/g, (_, column) => `:${Number(column) - 1}`);
}

function placesToMutate() {
  if (isChangedRun) return wanted.filter(isChanged);
  if (!isSurvivorsRun) return wanted;
  return wanted.flatMap((file) =>
    isChanged(file) ? [file] : unexplained(file, before[file]).map(({ at }) => `${file}:${rangeOf(at)}`),
  );
}

function survivorOf({ file, location: { start, end }, replacement }) {
  const lines = textOf(file)
    .split("\n")
    .slice(start.line - 1, end.line);
  lines[lines.length - 1] = lines.at(-1).slice(0, end.column - 1);
  lines[0] = lines[0].slice(start.column - 1);
  const at = `${start.line}:${start.column}-${end.line}:${end.column}`;
  return { at, from: lines.join("\n"), to: replacement };
}

const keyOf = ({ at, to }) => `${at} ${to}`;

function groupedBy(list, nameOf) {
  const groups = new Map();
  for (const each of list) groups.set(nameOf(each), [...(groups.get(nameOf(each)) ?? []), each]);
  return groups;
}

/** Results by file, and how many there were to be. */
function readResults() {
  const [{ planned }, ...results] = readFileSync(resultLines, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { planned, byFile: groupedBy(results, ({ file }) => file) };
}

/** Code that doesn't compile or load is no mutant; one that runs on and on is noticed. */
const isValid = ({ status }) => ["Killed", "Timeout", "Survived", "NoCoverage"].includes(status);
const hasSurvived = ({ status }) => status === "Survived" || status === "NoCoverage";

function scoreOfFile(file, results) {
  const valid = results.filter(isValid);
  return {
    digest: digestOf(textOf(file)),
    mutants: valid.length,
    survivors: valid.filter(hasSurvived).map(survivorOf),
  };
}

/** The earlier score without the survivors that have been noticed now. */
function afterSurvivorsRun(file, results) {
  const noticed = new Set(
    results
      .filter((result) => !hasSurvived(result))
      .map(survivorOf)
      .map(keyOf),
  );
  const survivors = before[file].survivors.filter((survivor) => !noticed.has(keyOf(survivor)));
  return { ...before[file], survivors };
}

function record() {
  const { planned, byFile } = readResults();
  const now = { ...before };
  for (const [file, results] of byFile) {
    if (isSurvivorsRun && !isChanged(file)) now[file] = afterSurvivorsRun(file, results);
    // a run that was stopped has not tried them all
    else if (results.length === planned[file]) now[file] = scoreOfFile(file, results);
  }
  // types alone have no mutants
  for (const place of mutate)
    if (mutatedFiles().includes(place) && planned[place] === undefined) now[place] = scoreOfFile(place, []);
  const kept = mutatedFiles().filter((file) => Object.hasOwn(now, file));
  writeFileSync(
    scorePath,
    `${JSON.stringify(Object.fromEntries(kept.map((file) => [file, now[file]])), null, 2)}\n`,
  );
  for (const [room, files] of groupedBy(kept, roomOf))
    say(`${room || "lib"}: ${percentOf(files.map((file) => now[file])).toFixed(1)} %`);
}

/** For CI: what has been tried by now. */
function judge() {
  const { byFile } = readResults();
  const files = [...byFile].map(([file, results]) => {
    const tried = scoreOfFile(file, results);
    return { ...tried, survivors: unexplained(file, tried) };
  });
  for (const { survivors } of files)
    for (const { at, from, to } of survivors) say(`survived, ${at}: ${from} -> ${to}`);
  const percent = percentOf(files);
  say(
    `${files.reduce((sum, { mutants }) => sum + mutants, 0)} mutants of changed files, ${percent.toFixed(1)} % noticed`,
  );
  process.exit(percent < 80 ? 1 : 0);
}

const mutate = placesToMutate();
if (mutate.length === 0) {
  say("nothing to mutate");
} else if (args.includes("--record")) {
  record();
} else {
  // most mutants are noticed at once; those that are not meet more tests when the survivors are tried again
  process.env.AUTHMOUNT_MUTATION_TESTS = isSurvivorsRun ? "2000" : "300";
  const run = new Stryker({
    testRunner: "mocha",
    mochaOptions: {
      require: [fileURLToPath(import.meta.resolve("./jest-in-mocha.js"))],
      spec: tests.filter((file) => testFiles.test(file)),
      "no-config": true,
    },
    plugins: ["@stryker-mutator/mocha-runner", import.meta.resolve("./result-lines.mjs")],
    reporters: ["result-lines"],
    mutate,
    coverageAnalysis: "perTest",
    ignoreStatic: !args.includes("--static"),
    concurrency: Number(process.env.AUTHMOUNT_MUTATION_PROCESSES ?? 2),
    // all tests take two minutes, and longer on busy cores
    dryRunTimeoutMinutes: 20,
    // a process that makes thousands of servers grows
    maxTestRunnerReuse: 100,
    timeoutMS: 8_000,
    // of the time that all tests take, for those of them that a mutant meets
    timeoutFactor: isSurvivorsRun ? 1 : 0.4,
    ignorePatterns: ["/dist", "/bench", "/conformance"],
    cleanTempDir: "always",
    allowConsoleColors: false,
  });
  if (isChangedRun) void planReady.then(() => setTimeout(judge, changedMilliseconds));
  await run.runMutationTest();
  if (isChangedRun) judge();
  else record();
}
