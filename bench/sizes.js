// @ts-check
/**
 * Measures how much disk space an installation needs, for the built library and for its peers: `node sizes.js`. It needs the
 * network, and prints Markdown.
 */
"use strict";
const { execFile } = require("node:child_process");
const { lstat, mkdtemp, readdir, readFile, rm, writeFile } = require("node:fs/promises");
const { tmpdir } = require("node:os");
const path = require("node:path");
const { promisify } = require("node:util");
const { dependencies } = require("./package.json");
const { installable, peers } = require("./peer-packages");
const { table } = require("./report");

/**
 * @typedef {{ readonly title: string; readonly bytes: number; readonly bytesOnDisk: number; readonly files: number; readonly packages: number }} InstalledSize
 *   `bytes`: the files themselves; `bytesOnDisk`: including what the file system adds.
 */

const run = promisify(execFile);
const express = `express@${dependencies.express}`;
const quiet = ["--no-audit", "--no-fund", "--no-update-notifier"];

/** @param {readonly string[]} args @param {string} folder */
async function npm(args, folder) {
  try {
    const { stdout } = await run("npm", args, { cwd: folder, shell: process.platform === "win32" });
    return stdout;
  } catch (error) {
    const { stderr = "" } = /** @type {{ stderr?: string }} */ (error);
    const line = stderr.split("\n").find((each) => /npm (error|ERR!)/.test(each)) ?? String(error);
    throw new Error(`npm ${args[0]} failed; it needs the network: ${line}`, { cause: error });
  }
}

/** @param {string} folder @returns {Promise<{ bytes: number; bytesOnDisk: number; files: number }>} */
async function sizeOf(folder) {
  const sum = { bytes: 0, bytesOnDisk: 0, files: 0 };
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const { size, blocks } = await lstat(path.join(entry.parentPath, entry.name));
    sum.bytesOnDisk += 512 * (blocks ?? 0);
    if (entry.isDirectory()) continue;
    sum.bytes += size;
    sum.files += 1;
  }
  return sum;
}

/** @param {string} title @param {readonly string[]} packages @returns {Promise<InstalledSize>} */
async function install(title, packages) {
  const folder = await mkdtemp(path.join(tmpdir(), "authmount-bench-size-"));
  try {
    await writeFile(path.join(folder, "package.json"), '{ "private": true }');
    await npm(["install", "--omit=dev", ...quiet, ...packages], folder);
    const modules = path.join(folder, "node_modules");
    const lock = await readFile(path.join(modules, ".package-lock.json"), "utf8");
    return { title, ...(await sizeOf(modules)), packages: Object.keys(JSON.parse(lock).packages).length };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Packs the library as it is built now. @param {string} folder @returns {Promise<string>} */
async function pack(folder) {
  // without scripts: they would rebuild it while others may be using it
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const [{ filename }] = JSON.parse(await npm(args, path.join(__dirname, "..")));
  return path.join(folder, filename);
}

/**
 * @param {{ tell: (line: string) => void }} how
 * @returns {Promise<readonly InstalledSize[]>}
 * @throws Error with a one-line message if there is no network
 */
async function measureSizes({ tell }) {
  const folder = await mkdtemp(path.join(tmpdir(), "authmount-bench-pack-"));
  try {
    const candidates = [
      // first, because only this one says clearly that there is no network
      { title: "Express alone", packages: [express] },
      { title: "authmount", packages: [await pack(folder), express] },
      ...peers.map((peer) => ({ title: peer.title, packages: installable(peer) })),
    ];
    /** @type {InstalledSize[]} */
    const sizes = [];
    for (const { title, packages } of candidates) {
      sizes.push(await install(title, packages));
      tell(title);
    }
    return sizes;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {number} bytes */
const inMegabytes = (bytes) => (bytes / 1e6).toFixed(1);

/** @param {readonly InstalledSize[]} sizes */
function tableOf(sizes) {
  const lines = sizes.map(({ title, bytes, bytesOnDisk, files, packages }) => [
    title,
    inMegabytes(bytes),
    inMegabytes(bytesOnDisk),
    files.toLocaleString("en"),
    String(packages),
  ]);
  return table([
    ["installed, with Express where it takes one", "MB", "MB on disk", "files", "packages"],
    ...lines,
  ]);
}

/** @param {string} line */
const tell = (line) => void process.stderr.write(`${line}\n`);

/** Returns the results as Markdown, or one line that says why there are none. */
const section = () =>
  measureSizes({ tell }).then(tableOf, (/** @type {Error} */ { message }) => `No sizes: ${message}`);

async function main() {
  process.stdout.write(`${await section()}\n`);
}

if (require.main === module) void main();

module.exports = { measureSizes, section };
