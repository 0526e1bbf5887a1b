#!/usr/bin/env node
/** The program `authmount`: gives the commands what they need of the process, prints what they give, and ends. */
import { existsSync, readFileSync, statSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { World } from "./cli/command";
import { failure, type Result, runCommandLine } from "./cli/run";
import { errorSentence } from "./cli/wording";
import { createAuthServer } from "./create-auth-server";
import { isProduction } from "./options/resolve";
import { hostMistake } from "./protocol/mistake";
import { randomValues, systemClock } from "./system";

const args = process.argv.slice(2);

function versionOf(): string {
  const text = readFileSync(path.join(__dirname, "../package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

function fileAt(written: string): string {
  const file = written.startsWith("file://") ? fileURLToPath(written) : path.resolve(written);
  // without a stack: it would show a place in this program
  if (!existsSync(file)) throw Object.assign(new Error("no such file"), { stack: "" });
  if (statSync(file).isDirectory())
    throw Object.assign(new Error("it is a folder, not a file"), { stack: "" });
  return file;
}

/** A driver of the project in which the program was started: it need not be where this package is. */
function driverOf(name: string, file = name): unknown {
  try {
    return createRequire(path.join(process.cwd(), "package.json"))(file);
  } catch (cause) {
    throw hostMistake(
      "driver-not-installed",
      `The package ${name} is not installed here. Run: npm install ${name}`,
      { cause },
    );
  }
}

const openPostgres: World["openPostgres"] = (url) => {
  type Opened = ReturnType<World["openPostgres"]> & NodeJS.EventEmitter;
  const { Pool } = driverOf("pg") as { readonly Pool: new (options: object) => Opened };
  const pool = new Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 10_000 });
  // without a listener, a connection that breaks while idle would end the process
  pool.on("error", () => undefined);
  return pool;
};

const openMysql: World["openMysql"] = (uri) => {
  type Driver = { createPool(options: object): ReturnType<World["openMysql"]> };
  const driver = driverOf("mysql2", "mysql2/promise") as Driver;
  return driver.createPool({ uri, connectionLimit: 1, connectTimeout: 10_000 });
};

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

const within: World["within"] = (work, { seconds, what }) =>
  new Promise((resolve, reject) => {
    // it also keeps the process alive while nothing else does
    const timer = setTimeout(() => reject(hostMistake("module-late", what)), seconds * 1000);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });

const world: World = {
  env: process.env,
  clock: systemClock,
  randomToken: randomValues().randomToken,
  nodeVersion: process.version,
  readInput,
  importFile: async (written) => (await import(pathToFileURL(fileAt(written)).href)) as object,
  readFile: (written) => readFileSync(fileAt(written), "utf8"),
  openPostgres,
  openMysql,
  within,
  useProduction: () => void (process.env["NODE_ENV"] = "production"),
  isProduction,
  isListening: () => process.getActiveResourcesInfo().includes("TCPServerWrap"),
  tryServer: (options) => void createAuthServer(options),
};

type Write = (text: string, done: (error?: unknown) => void) => unknown;

/** Resolves when the text has been handed to the system, with the code of the error if it could not be. */
function writeAll(write: Write, text: string): Promise<string | undefined> {
  if (text === "") return Promise.resolve(undefined);
  return new Promise((resolve) => {
    write(text, (error) => resolve(error ? ((error as NodeJS.ErrnoException).code ?? "failed") : undefined));
  });
}

/** Resolves with what the module of the host throws after it was loaded. */
function strayError(): Promise<Result> {
  return new Promise((resolve) => {
    const tell = (error: unknown): void =>
      resolve(
        failure(
          hostMistake("module-failed", `The module failed after it was loaded: ${errorSentence(error)}`),
          args,
        ),
      );
    process.on("uncaughtException", tell).on("unhandledRejection", tell);
  });
}

async function main(): Promise<void> {
  const toStdout: Write = process.stdout.write.bind(process.stdout);
  const toStderr: Write = process.stderr.write.bind(process.stderr);
  // what the module of the host prints must not be among the results
  process.stdout.write = process.stderr.write.bind(process.stderr);
  // a reader that has enough closes the pipe, which is not a failure
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  let isDone = false;
  process.on("exit", () => {
    if (isDone) return;
    process.exitCode = 1;
    writeSync(
      2,
      "authmount: the process exited before the command was done: the module ended it, or nothing was left to wait for.\n",
    );
  });
  const command = runCommandLine({ args, version: versionOf() }, world);
  const { exitCode, stdout, stderr } = await Promise.race([command, strayError()]);
  const problem = await writeAll(toStdout, stdout);
  const isLost = problem !== undefined && problem !== "EPIPE";
  await writeAll(toStderr, isLost ? `authmount: the result could not be written (${problem}).\n` : stderr);
  isDone = true;
  // the module may have left a pool or a server open
  process.exit(isLost ? 1 : exitCode);
}

void main();
