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
  readonly url: string;
  /** A pool that survives a restart of the server; `close` ends it. */
  pool(config?: object): MariadbPool;
}

const small = "--innodb-log-file-size=16M";

function initialise(folder: string): void {
  const args = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", small];
  const { status, stderr } = spawnSync(
    "mariadb-install-db",
    ["--no-defaults", `--datadir=${path.join(folder, "data")}`, ...args],
    { ...runAs, env, cwd: folder },
  );
  if (status !== 0) throw new Error(`mariadb-install-db: ${String(stderr)}`);
}

/** The server at this URL, whose path is a database for the tests of one file. */
function serverAt(url: string, server: ServerProcess): MariadbServer {
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
    start: refuse,
    stop: refuse,
    pid: refuse,
    async close() {
      await pool.query(`DROP DATABASE ${database}`);
      await pool.end();
    },
  });
}

/** Starts a new server with an empty database `test`. `settings` are further ones, as `--name=value`; a server that runs already keeps its own. */
export async function startMariadb(settings: readonly string[] = []): Promise<MariadbServer> {
  if (running !== undefined) return useRunning(running);
  const folder = await newFolder("mariadb");
  initialise(folder);
  const port = await freePort();
  const url = `mysql://root@127.0.0.1:${port}`;
  const within = (file: string): string => path.join(folder, file);
  const server = await startServer({
    command: "/usr/bin/env",
    args: [
      `PATH=${env.PATH}`,
      "mariadbd",
      "--no-defaults",
      `--datadir=${within("data")}`,
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
        await own.query("CREATE DATABASE IF NOT EXISTS test");
      } finally {
        await own.end();
      }
      return true;
    },
  });
  return serverAt(`${url}/test`, {
    ...server,
    // it ignores SIGINT
    stop: (signal = "SIGINT") => server.stop(signal === "SIGINT" ? "SIGTERM" : signal),
  });
}
