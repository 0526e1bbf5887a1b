// @ts-check
/** Runs one server of the benchmark in a separate process: `node serve.js <file> <jwt|opaque>`. */
"use strict";
const { createServer } = require("node:http");
const { Session } = require("node:inspector/promises");

const [, , name = "", format = "jwt"] = process.argv;

/** @param {object} message */
const tell = (message) => void process.send?.(message);

const profiler = new Session();

/** The questions that the benchmark asks a server while it runs. @type {Readonly<Record<string, () => Promise<object>>>} */
const answers = {
  async memory() {
    globalThis.gc?.();
    return process.memoryUsage();
  },
  async cpu() {
    const { user, system } = process.cpuUsage();
    return { seconds: (user + system) / 1e6 };
  },
  async profile() {
    profiler.connect();
    await profiler.post("Profiler.enable");
    await profiler.post("Profiler.start");
    return {};
  },
  "profile-end": () => profiler.post("Profiler.stop"),
};

async function main() {
  /** @type {import("./types").ServerFile} */
  const file = require(`./${name}`);
  const { listener, routes } = await file.start({ format: format === "opaque" ? "opaque" : "jwt" });
  const server = createServer(listener);
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const { accessTokens, ...others } = routes;
    tell({ title: file.title, port, routes: others, accessTokens: accessTokens?.(10_000) });
  });
  process.on("message", (question) => {
    const answer = { ...answers, ...file.ask }[String(question)];
    if (answer) void answer().then(tell);
  });
  process.on("disconnect", () => process.exit());
}

void main();
