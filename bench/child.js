// @ts-check
/** Starts a server of the benchmark in a separate process, on the servers' core. */
"use strict";
const { spawn } = require("node:child_process");
const path = require("node:path");
const { onCore } = require("./load/generate");

/**
 * @typedef {{
 *   name: string; format: import("./types").Format; title: string; url: string; routes: import("./types").Routes;
 *   accessTokens: readonly string[] | undefined;
 *   ask: (question: "memory" | "cpu" | "round-trips" | "profile" | "profile-end") => Promise<any>; stop: () => void;
 * }} RunningServer
 */

/**
 * @param {string} name the server's file
 * @param {import("./types").Format} format
 * @param {Readonly<Record<string, string>>} [env] with `BENCH_PROCESSES` it starts that many processes, on any core
 * @returns {Promise<RunningServer>}
 */
async function startServer(name, format, env = {}) {
  const isCluster = env["BENCH_PROCESSES"] !== undefined;
  const file = path.join(__dirname, isCluster ? "serve-cluster.js" : "serve.js");
  const serve = /** @type {const} */ ([process.execPath, "--expose-gc", file, name, format]);
  const [command, ...args] = isCluster ? serve : onCore(0, serve);
  const child = spawn(command, args, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { ...process.env, NODE_ENV: "production", ...env },
  });
  /** @param {string} question */
  const ask = (question) =>
    new Promise((resolve) => {
      child.once("message", resolve);
      child.send(question);
    });
  const started = await new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", () => reject(new Error(`${name} ended unexpectedly`)));
  });
  return {
    name,
    format,
    title: started.title,
    url: `http://127.0.0.1:${started.port}`,
    routes: started.routes,
    accessTokens: started.accessTokens,
    ask,
    stop: () => void child.kill(),
  };
}

module.exports = { startServer };
