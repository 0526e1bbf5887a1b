// @ts-check
/**
 * What the package is made of. Checks the lock files; with --audit it also asks the registry for known vulnerabilities, and with --sbom
 * it only prints the bill of materials.
 */
"use strict";

const { spawnSync } = require("node:child_process");
const { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require("node:fs");
const { tmpdir } = require("node:os");
const path = require("node:path");

/**
 * @typedef {object} Locked
 * @property {string} [version]
 * @property {string} [resolved]
 * @property {string} [integrity]
 * @property {string | { type?: string }} [license]
 * @property {boolean} [link]
 * @property {boolean} [hasInstallScript]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [devDependencies]
 * @property {Record<string, string>} [optionalDependencies]
 */
/** @typedef {{ lockfileVersion?: number, packages: Record<string, Locked> }} Lock */

const root = path.join(__dirname, "../..");
const lockFiles = ["package-lock.json", "bench/package-lock.json", "conformance/package-lock.json"];
/** What npm runs by itself where a package is installed. */
const installScripts = ["preinstall", "install", "postinstall"];

/** The place of a dependency as Node.js finds it: the nearest node_modules above the package that asks. @param {Lock} lock @param {string} from @param {string} name @returns {string | undefined} */
function placeOf(lock, from, name) {
  const own = `${from === "" ? "" : `${from}/`}node_modules/${name}`;
  if (lock.packages[own]) return own;
  return from === ""
    ? undefined
    : placeOf(lock, from.slice(0, Math.max(0, from.lastIndexOf("/node_modules/"))), name);
}

/** The places of all packages that a host gets with this one. @param {Lock} lock @returns {string[]} */
function runtimePlaces(lock) {
  const found = new Set([""]);
  // a set also gives what is added to it while it is iterated
  for (const place of found) {
    const { dependencies = {}, optionalDependencies = {} } = lock.packages[place] ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      found.add(placeOf(lock, place, name) ?? `node_modules/${name}`);
    }
  }
  return [...found].filter((place) => place !== "").sort();
}

/** @param {string} place */
const nameOf = (place) => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);

/** Names and licences of the packages that a host gets with this one. @param {Lock} lock @returns {[name: string, license: string][]} */
function runtimePackages(lock) {
  return runtimePlaces(lock).map((place) => {
    const { license = "none" } = lock.packages[place] ?? {};
    return [nameOf(place), typeof license === "string" ? license : (license.type ?? "none")];
  });
}

/** What is wrong with one package in a lock file. @param {string} place @param {Locked} locked @returns {string[]} */
function packageProblems(place, { link, resolved, integrity = "" }) {
  /** @type {[boolean, string][]} */
  const rules = [
    [link !== true, "is a link to a folder"],
    // without a URL, npm takes the package of this name from the registry: a URL could name another one
    [resolved === undefined, "names a URL"],
    [/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity), "has no sha512 integrity"],
  ];
  return rules.filter(([isSo]) => !isSo).map(([, problem]) => `${place} ${problem}.`);
}

/** Everything that is wrong with a lock file. @param {Lock} lock @returns {string[]} */
function lockProblems(lock) {
  const { "": own = {}, ...packages } = lock.packages;
  const asked = Object.entries({ ...own.dependencies, ...own.optionalDependencies, ...own.devDependencies });
  // a version, or another name for a package of the registry
  const strange = asked.filter(
    ([, wanted]) => !/^(?:npm:(?:@[\w.-]+\/)?[\w.-]+@)?[\^~>=<*\d][\w.^~<>=|* -]*$/.test(wanted),
  );
  const scripts = runtimePlaces(lock).filter((place) => lock.packages[place]?.hasInstallScript);
  const missing = runtimePlaces(lock).filter((place) => !lock.packages[place]);
  return [
    lock.lockfileVersion === 3 ? [] : ["lockfileVersion is not 3."],
    strange.map(
      ([name, wanted]) => `${name} is asked for as "${wanted}", which is no version of the registry.`,
    ),
    Object.entries(packages).flatMap(([place, locked]) => packageProblems(place, locked)),
    scripts.map((place) => `${place} runs a script when it is installed, at every host.`),
    missing.map((place) => `${place} is not in the lock file.`),
  ].flat();
}

/** What package.json would run where the package is installed. @param {{ scripts?: Record<string, string> }} manifest */
function scriptProblems({ scripts = {} }) {
  return installScripts
    .filter((name) => Object.hasOwn(scripts, name))
    .map((name) => `package.json has the script ${name}, which npm runs at every host.`);
}

/** Asks the registry for known vulnerabilities of what hosts get. @returns {{ asked: boolean, text: string, found: boolean }} */
function audit() {
  const { stdout } = spawnSync("npm", ["audit", "--omit=dev", "--json"], { cwd: root, encoding: "utf8" });
  try {
    const report = JSON.parse(stdout);
    const total = report.metadata?.vulnerabilities?.total;
    if (typeof total !== "number")
      return { asked: false, found: false, text: "The registry has not answered an audit." };
    const names = Object.keys(report.vulnerabilities ?? {}).join(", ");
    return {
      asked: true,
      found: total > 0,
      text: total > 0 ? `Vulnerable: ${names}. See: npm audit --omit=dev.` : "No known vulnerabilities.",
    };
  } catch {
    return { asked: false, found: false, text: "npm audit has given no report." };
  }
}

/**
 * The bill of materials in CycloneDX. `npm sbom --omit dev` leaves out whatever a development dependency needs too, so npm is given only
 * what a host gets.
 *
 * @param {{ manifest: Record<string, unknown>, lock: Lock }} made
 * @returns {string}
 */
function sbom({ manifest, lock }) {
  const folder = mkdtempSync(path.join(tmpdir(), "authmount-sbom-"));
  // npm takes the name of the component from the folder
  const own = path.join(folder, "authmount");
  const { name, version, description, license, dependencies } = manifest;
  const root = { name, version, description, license, dependencies };
  const packages = runtimePlaces(lock).map((place) => [place, lock.packages[place]]);
  mkdirSync(own);
  writeFileSync(path.join(own, "package.json"), JSON.stringify(root));
  const locked = {
    name,
    version,
    lockfileVersion: 3,
    packages: Object.fromEntries([["", root], ...packages]),
  };
  writeFileSync(path.join(own, "package-lock.json"), JSON.stringify(locked));
  const args = ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only", "--offline"];
  const { status, stdout, stderr } = spawnSync("npm", args, { cwd: own, encoding: "utf8" });
  rmSync(folder, { recursive: true, force: true });
  if (status !== 0) throw new Error(`npm sbom has failed: ${stderr}`);
  return stdout;
}

/** @param {string} name */
const read = (name) => JSON.parse(readFileSync(path.join(root, name), "utf8"));

function check() {
  const problems = [
    ...lockFiles.flatMap((file) => lockProblems(read(file)).map((problem) => `${file}: ${problem}`)),
    ...scriptProblems(read("package.json")),
  ];
  for (const problem of problems) console.error(problem);
  const { asked, found, text } = process.argv.includes("--audit")
    ? audit()
    : { asked: true, found: false, text: "" };
  if (text) console.log(text);
  // a mirror of the registry may have no audit; a release needs one
  const isUnknown = !asked && process.env["GITHUB_ACTIONS"] === "true";
  process.exitCode = problems.length > 0 || found || isUnknown ? 1 : 0;
}

if (require.main === module) {
  if (process.argv.includes("--sbom")) {
    process.stdout.write(sbom({ manifest: read("package.json"), lock: read("package-lock.json") }));
  } else check();
}

module.exports = { lockFiles, lockProblems, runtimePackages, scriptProblems };
