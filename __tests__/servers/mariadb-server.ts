/** A MariaDB of its own for a test file, from `mariadbd` on PATH, or a database of its own on a server that runs already. */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import path from "node:path";
import type { MysqlPool } from "../../lib/mysql";
import { freePort, newFolder, runAs, type ServerProcess, startServer } from "./server-process";

/** A promise pool of mysql2, as far as tests use it. */
export interface MariadbPool extends MysqlPool {
  query(text: string): Promise<readonly unknown[]>;
  getConnection(): Promise<MysqlPool & { destroy(): void; release(): void }>;
  end(): Promise<void>;
}

/** The driver by its name: the types of the tests can be checked without it. */
export const driver = require("mysql2/promise") as { createPool(config: object): MariadbPool };

// it may be where only root's PATH leads
const env = { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin` };

/** The URL of a MySQL or MariaDB that runs already, with all rights and no database. */
const running = process.env["AUTHMOUNT_TEST_MYSQL"];

export const mariadb = {
  name: "mariadbd",
  found: running !== undefined || spawnSync("mariadbd", ["--version"], { env }).status === 0,
};

export interface MariadbServer extends ServerProcess {
  readonly port: number;
  /** The folder of its data, if the tests have started it. */
  readonly data: string;
  readonly url: string;
  /** A pool that survives a restart of the server; `close` ends it. */
  pool(config?: object): MariadbPool;
}

const small = "--innodb-log-file-size=16M";

/** Makes the folder of a server's data, which is not there yet. */
type Fill = (data: string) => Promise<void>;

function run(command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { ...runAs, env, cwd: "/" });
  if (status !== 0) throw new Error(`${command}: ${String(stderr)}`);
}

/** It makes the database `test` too. */
const initialise: Fill = async (data) => {
  const args = ["--auth-root-authentication-method=normal", "--skip-name-resolve", small];
  run("mariadb-install-db", ["--no-defaults", `--datadir=${data}`, ...args]);
};

/** A copy of this server's data, for a replica that follows it. The server stops for the copy. */
export function replicaOf(primary: MariadbServer): Fill {
  return async (data) => {
    await primary.stop();
    run("cp", ["-Rp", primary.data, data]);
    await primary.start();
  };
}

/** The server at this URL, whose path is a database for the tests of one file. */
function serverAt(url: string, server: ServerProcess & { readonly data: string }): MariadbServer {
  const pools: MariadbPool[] = [];
  return {
    ...server,
    port: Number(new URL(url).port),
    url,
    pool(config) {
      const pool = driver.createPool({ uri: url, ...config });
      pools.push(pool);
      return pool;
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.end().catch(() => undefined)));
      await server.close();
    },
  };
}

function refuse(): never {
  throw new Error("The tests neither start nor stop the server at AUTHMOUNT_TEST_MYSQL");
}

async function useRunning(url: string): Promise<MariadbServer> {
  const database = `authmount_${randomBytes(6).toString("hex")}`;
  const pool = driver.createPool({ uri: url, connectionLimit: 1 });
  await pool.query(`CREATE DATABASE ${database}`);
  return serverAt(new URL(`/${database}`, url).href, {
    data: "",
    start: refuse,
    stop: refuse,
    pid: refuse,
    async close() {
      await pool.query(`DROP DATABASE ${database}`);
      await pool.end();
    },
  });
}

/**
 * Starts a new server with an empty database `test`, unless `fill` says otherwise. `settings` are further ones, as `--name=value`; a server that
 * runs already keeps its own.
 */
export async function startMariadb(
  settings: readonly string[] = [],
  fill: Fill = initialise,
): Promise<MariadbServer> {
  if (running !== undefined) return useRunning(running);
  const folder = await newFolder("mariadb");
  const data = path.join(folder, "data");
  await fill(data);
  const port = await freePort();
  const url = `mysql://root@127.0.0.1:${port}`;
  const within = (file: string): string => path.join(folder, file);
  const server = await startServer({
    command: "/usr/bin/env",
    args: [
      `PATH=${env.PATH}`,
      "mariadbd",
      "--no-defaults",
      `--datadir=${data}`,
      `--socket=${within("socket")}`,
      `--pid-file=${within("pid")}`,
      // a server that starts clears this folder
      `--tmpdir=${folder}`,
      `--port=${port}`,
      "--bind-address=127.0.0.1",
      "--skip-name-resolve",
      "--max-connections=200",
      "--innodb-buffer-pool-size=64M",
      small,
      ...settings,
    ],
    folder,
    async isReady() {
      const own = driver.createPool({ uri: url, connectionLimit: 1 });
      try {
        // a write would wait for a replica
        await own.query("SELECT 1");
      } finally {
        await own.end();
      }
      return true;
    },
  });
  // it ignores SIGINT
  const stop = (signal: NodeJS.Signals = "SIGINT"): Promise<void> =>
    server.stop(signal === "SIGINT" ? "SIGTERM" : signal);
  return serverAt(`${url}/test`, { ...server, stop, data });
}
