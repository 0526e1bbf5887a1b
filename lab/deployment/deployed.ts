/** The server of docs/deployment.md as it is printed there, in two processes over one PostgreSQL. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { transformSync } from "@swc/core";
import { generateClientSecret, generateSigningKey } from "../../lib";
import { postgresStorage } from "../../lib/postgres";
import { buildOnce } from "../../__tests__/servers/build-once";
import { codeBelow } from "../../__tests__/sources/doc-block";
import { startPostgres } from "../../__tests__/servers/postgres-server";
import { freePort } from "../../__tests__/servers/server-process";

const repository = path.resolve(__dirname, "../..");
const ownParts = path.join(__dirname, "deployed-host.cjs");

/** The host of the page, whatever the port of the proxy is. */
export const hostName = "host.example";
export const baseUrl = `https://${hostName}/oauth`;
export const redirectUri = "https://client.example/callback";

/** Settings that all processes share; a test changes them between restarts. */
export interface Settings {
  readonly secrets: readonly string[];
  readonly signingKeys: readonly object[];
}

/** One of the processes. */
export interface DeployedProcess {
  /** Its port, or the path of its Unix socket. */
  readonly address: string;
  readonly pid: () => number;
  /** What it has printed on stderr, with the processes that were there before it. */
  readonly printed: () => string;
  /** `SIGTERM`, as a platform sends it; the exit code once it has ended. */
  stop(): Promise<number | null>;
  start(settings: Settings): Promise<void>;
  kill(): Promise<void>;
}

/** All of it. */
export interface Deployment {
  readonly processes: readonly [DeployedProcess, DeployedProcess];
  readonly client: { readonly id: string; readonly secret: string };
  readonly settings: Settings;
  /** The URL of the database, and the folder with the program. */
  readonly databaseUrl: string;
  readonly folder: string;
  close(): Promise<void>;
}

/** Waits for a condition, not for a time. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 2_400; attempt += 1) {
    if (await isSo()) return;
    await delay(25);
  }
  throw new Error(`does not come true: ${isSo.toString()}`);
}

/** How a request finds a process. */
export const addressOf = (
  address: string,
): { readonly host?: string; readonly port?: string; readonly socketPath?: string } =>
  address.startsWith("/") ? { socketPath: address } : { host: "127.0.0.1", port: address };

/** What `/readyz` says at this address; 0 when nobody listens there. */
function readiness(address: string): Promise<number> {
  return new Promise((resolve) => {
    const asked = get({ ...addressOf(address), path: "/readyz", agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.once("error", () => resolve(0));
  });
}

/** The program of the page as JavaScript, with what a host has to add. */
function program(change: (code: string) => string): string {
  const [code = ""] = codeBelow("deployment.md", "The server", "ts");
  const compiled = transformSync(change(code), {
    swcrc: false,
    jsc: { target: "es2023", parser: { syntax: "typescript" } },
    module: { type: "commonjs" },
  });
  const own = `require(${JSON.stringify(ownParts)})`;
  return `Object.assign(globalThis, ${own}.given);\n${compiled.code}\n${own}.addPages({ app, auth, server });\n`;
}

/** A folder in which the program finds its packages. */
async function programFolder(code: string): Promise<string> {
  buildOnce();
  const folder = await mkdtemp(path.join(tmpdir(), "authmount-deployed-"));
  const modules = path.join(folder, "node_modules");
  await mkdir(modules);
  await symlink(repository, path.join(modules, "authmount"), "junction");
  for (const name of ["express", "pg"]) {
    await symlink(path.join(repository, "node_modules", name), path.join(modules, name), "junction");
  }
  // a proxy of another user has to reach the sockets in it
  await chmod(folder, 0o755);
  await writeFile(path.join(folder, "server.js"), code);
  return folder;
}

interface Place {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly address: string;
}

/** One process that a test starts and stops. */
function newProcess({ folder, env, address }: Place): DeployedProcess {
  let child: ChildProcess | undefined;
  let printed = "";
  async function end(signal: NodeJS.Signals): Promise<number | null> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const exited = once(child, "exit") as Promise<[number | null]>;
    child.kill(signal);
    return (await exited)[0];
  }
  return {
    address,
    pid: () => child?.pid ?? 0,
    printed: () => printed,
    stop: () => end("SIGTERM"),
    kill: async () => void (await end("SIGKILL")),
    async start({ secrets, signingKeys }) {
      const shared = { SECRETS: secrets.join(" "), SIGNING_KEYS: JSON.stringify(signingKeys) };
      const own = { ...env, ...shared, PORT: address, NODE_ENV: "production" };
      const started = spawn(process.execPath, ["server.js"], {
        cwd: folder,
        env: { PATH: process.env["PATH"] ?? "", ...own },
        stdio: ["ignore", "ignore", "pipe"],
      });
      child = started;
      started.stderr.on("data", (chunk: Buffer) => (printed += chunk.toString()));
      await until(async () => started.exitCode !== null || (await readiness(address)) === 200);
      if (started.exitCode !== null) throw new Error(`the server has ended: ${printed}`);
    },
  };
}

/** A new secret. */
export const newSecret = (): string => generateClientSecret().secret;

/** How a test differs from the page. */
export interface Shape {
  readonly at?: "ports" | "sockets";
  /** What the page tells its reader to write instead. */
  readonly change?: (code: string) => string;
}

/** Starts the database and both processes. */
export async function deploy({ at = "ports", change = (code) => code }: Shape = {}): Promise<Deployment> {
  const [folder, database] = await Promise.all([programFolder(program(change)), startPostgres()]);
  const pool = database.pool();
  const storage = postgresStorage({ pool });
  await storage.migrate();
  const { secret, digest } = generateClientSecret();
  await storage.clients.save({
    clientId: "shop",
    name: "Shop",
    confidential: true,
    secretDigests: [digest],
    redirectUris: [redirectUri],
    subscriptions: { orders: {} },
  });
  const settings = { secrets: [newSecret()], signingKeys: [generateSigningKey()] };
  const env = { BASE_URL: baseUrl, DATABASE_URL: database.url, SESSION_SECRET: newSecret() };
  const newAddress = async (name: string): Promise<string> =>
    at === "ports" ? String(await freePort()) : path.join(folder, name);
  const [one, two] = [await newAddress("one.sock"), await newAddress("two.sock")];
  const processes = [
    newProcess({ folder, env, address: one }),
    newProcess({ folder, env, address: two }),
  ] as const;
  async function close(): Promise<void> {
    await Promise.all(processes.map((each) => each.kill()));
    await database.close();
    await rm(folder, { recursive: true, force: true });
  }
  try {
    await Promise.all(processes.map((each) => each.start(settings)));
  } catch (error) {
    await close();
    throw error;
  }
  return { processes, client: { id: "shop", secret }, settings, databaseUrl: database.url, folder, close };
}
