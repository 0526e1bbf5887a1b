/** A MariaDB of its own for a test file, from `mariadbd` on PATH. */
import { spawnSync } from "node:child_process";
import path from "node:path";
import type { MysqlPool } from "../../lib/mysql";
import { freePort, newFolder, runAs, type ServerProcess, startServer } from "./server-process";

/** A promise pool of mysql2, as far as tests use it. */
export interface MariadbPool extends MysqlPool {
  query(text: string): Promise<readonly unknown[]>;
  end(): Promise<void>;
}

/** The driver by its name: the types of the tests can be checked without it. */
export const driver = require("mysql2/promise") as { createPool(config: object): MariadbPool };

// it may be where only root's PATH leads
const env = { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin` };

export const mariadb = {
  name: "mariadbd",
  found: spawnSync("mariadbd", ["--version"], { env }).status === 0,
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

/** Starts a new server with an empty database `test`. `settings` are further ones, as `--name=value`. */
export async function startMariadb(settings: readonly string[] = []): Promise<MariadbServer> {
  const folder = await newFolder("mariadb");
  initialise(folder);
  const port = await freePort();
  const connection = { host: "127.0.0.1", port, user: "root" };
  const pools: MariadbPool[] = [];
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
      const own = driver.createPool({ ...connection, connectionLimit: 1 });
      try {
        await own.query("CREATE DATABASE IF NOT EXISTS test");
      } finally {
        await own.end();
      }
      return true;
    },
  });
  return {
    ...server,
    port,
    url: `mysql://root@127.0.0.1:${port}/test`,
    pool(config) {
      const pool = driver.createPool({ ...connection, database: "test", ...config });
      pools.push(pool);
      return pool;
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.end().catch(() => undefined)));
      await server.close();
    },
  };
}
