// @ts-check
/**
 * How far a request walks through the library: the files and functions of `dist` that one warm request enters, memory storage
 * included, by V8's precise coverage. `node walk.js [jwt|opaque]` prints one line for each request; `--list` names them too.
 */
"use strict";
const { createServer } = require("node:http");
const { Session } = require("node:inspector/promises");
const path = require("node:path");
const { fileURLToPath } = require("node:url");
const { clientOf, newSecrets, startHost } = require("./authmount-host");
const { call, obtainCode, obtainTokens } = require("./call");
const { memoryStorage } = require("..");

// as the servers of the other measurements: in development, warnings look at each request too
process.env["NODE_ENV"] = "production";
const dist = path.join(__dirname, "..", "dist");
const warmUps = 20;

/**
 * @typedef {{ readonly file: string; readonly functions: readonly string[] }} Walked
 * @typedef {import("./child").RunningServer} RunningServer
 */

/** @param {string} line */
const print = (line) => void process.stdout.write(`${line}\n`);

/** The functions that have run since the last look, by file. @param {Session} session @returns {Promise<readonly Walked[]>} */
async function takeWalked(session) {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result.flatMap(({ url, functions }) => {
    const source = url.startsWith("file:") ? fileURLToPath(url) : url;
    if (!source.startsWith(dist + path.sep)) return [];
    const walked = functions.filter(({ ranges, functionName }) => ranges[0]?.count && functionName !== "");
    const arrows = functions.filter(({ ranges, functionName }) => ranges[0]?.count && functionName === "");
    const names = [...walked, ...arrows].map(({ functionName }) => functionName || "(arrow)");
    return names.length === 0 ? [] : [{ file: path.relative(dist, source), functions: names }];
  });
}

/** The requests, each as it is sent with a new code or refresh token. @param {RunningServer} server */
function requestsOf(server) {
  const { authorize, exchange, refresh, clientCredentials, protected: bearer } = server.routes;
  return {
    "authorize (a code)": async () => ({ template: authorize, value: "" }),
    "token (authorization_code)": async () => ({
      template: exchange,
      value: encodeURIComponent(await obtainCode(server)),
    }),
    "token (refresh_token)": async () => ({
      template: refresh,
      value: encodeURIComponent((await obtainTokens(server)).refresh_token),
    }),
    "token (client_credentials)": async () => ({ template: clientCredentials, value: "" }),
    "a protected route": async () => ({ template: bearer, value: (await obtainTokens(server)).access_token }),
  };
}

/** @param {Session} session @param {RunningServer} server @param {boolean} list */
async function report(session, server, list) {
  for (const [name, next] of Object.entries(requestsOf(server))) {
    const send = async () => {
      const { template, value } = await next();
      await takeWalked(session);
      await call(server, /** @type {import("./types").RequestTemplate} */ (template), value);
      return takeWalked(session);
    };
    for (let sent = 0; sent < warmUps; sent += 1) await send();
    const walked = await send();
    const functions = walked.reduce((sum, file) => sum + file.functions.length, 0);
    print(`${name}: ${walked.length} files, ${functions} functions`);
    if (list) for (const { file, functions: names } of walked) print(`  ${file}: ${names.join(", ")}`);
  }
}

async function main() {
  const format = process.argv.includes("opaque") ? "opaque" : "jwt";
  const secrets = newSecrets();
  const storage = memoryStorage({ clients: [clientOf(secrets)] });
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const { listener, routes } = await startHost({ ...secrets, format, storage });
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const running = /** @type {any} */ ({ url: `http://127.0.0.1:${port}`, routes, name: "authmount" });
  await report(session, running, process.argv.includes("--list"));
  server.closeAllConnections();
  server.close();
}

void main();
