/** A MariaDB server for the tests of a file, and storage with tables of its own. */
import { type MysqlPool, mysqlStorage, type MysqlStorage, type MysqlStorageOptions } from "../../lib/mysql";
import { mariadb, type MariadbPool, type MariadbServer, startMariadb } from "./mariadb-server";
import { newName } from "./postgres-storage";
import { describeWith } from "./server-process";

/** What a pool answers. */
type Answer = ReturnType<MysqlPool["execute"]>;

/** The same pool, each statement handed to `around`. */
export function wrapMysqlPool(
  pool: MysqlPool,
  around: (text: string, run: () => Answer) => Answer,
): MysqlPool {
  return { execute: (text, values) => around(text, () => pool.execute(text, values)) };
}

/** The server of the tests that run. */
export let mysqlServer: MariadbServer;

/** Its connections. */
export let mysqlPool: MariadbPool;

/** Tests that need the server; they are skipped where it cannot be had. */
export function describeWithMariadb(tests: () => void): void {
  describeWith(mariadb, {
    name: "MariaDB",
    tests() {
      beforeAll(async () => {
        mysqlServer = await startMariadb(["--innodb-flush-log-at-trx-commit=1"]);
        mysqlPool = mysqlServer.pool({ connectionLimit: 16 });
      });
      afterAll(() => mysqlServer.close());
      tests();
    },
  });
}

/** Storage with tables of its own, made already. */
export async function openMysql(options: Partial<MysqlStorageOptions> = {}): Promise<MysqlStorage> {
  const storage = mysqlStorage({ pool: mysqlPool, prefix: newName(), ...options });
  await storage.migrate();
  return storage;
}
