/** The contract on real servers: `contract.test` runs it with the usual driver and settings, `lab/handles/contract` with the others. */
import { Pool } from "pg";
import type { Client, Storage } from "../../../lib";
import { type MysqlStorage, mysqlStorage } from "../../../lib/mysql";
import { type PostgresStorage, postgresStorage } from "../../../lib/postgres";
import { type RedisClient, redisStorage } from "../../../lib/redis";
import { type OpenStorage, storageContract } from "../../../lib/testing";
import { driver, type MariadbPool, type MariadbServer, startMariadb } from "../../servers/mariadb-server";
import { type PostgresServer, startPostgres } from "../../servers/postgres-server";
import { freePort } from "../../servers/server-process";

interface Stores<T extends Storage> {
  readonly storage: T;
  readonly peer: T;
}

/** Registers the clients of a rule. */
async function openWith(
  { storage, peer }: Stores<MysqlStorage | PostgresStorage | ReturnType<typeof redisStorage>>,
  clients: readonly Client[],
): Promise<OpenStorage> {
  for (const client of clients) await storage.clients.save(client);
  return { storage, peer };
}

/** Runs the contract on a new PostgreSQL whose pools have this isolation. */
export function postgresContract(isolation: "read committed" | "repeatable read" | "serializable"): void {
  const options = `-c default_transaction_isolation=${isolation.replace(" ", "\\ ")}`;
  let server: PostgresServer;
  let pools: readonly Pool[];
  let stores: Stores<PostgresStorage>;

  beforeAll(async () => {
    server = await startPostgres();
    const [own, others] = [server.pool({ options, max: 8 }), server.pool({ options, max: 8 })];
    pools = [own, others];
    stores = { storage: postgresStorage({ pool: own }), peer: postgresStorage({ pool: others }) };
    await stores.storage.migrate();
  });
  afterAll(() => server.close());

  it("has both pools at this isolation", async () => {
    for (const pool of pools) {
      const { rows } = await pool.query("SHOW transaction_isolation");
      expect(rows).toEqual([{ transaction_isolation: isolation }]);
    }
  });

  storageContract({
    test: it,
    open: ({ clients }) => openWith(stores, clients),
    async openUnreachable() {
      const pool = new Pool({ host: "127.0.0.1", port: await freePort() });
      return { storage: postgresStorage({ pool }), close: () => pool.end() };
    },
  });
}

/** Runs the contract on a new MariaDB with its default isolation, through pools that count the rows that an UPDATE finds. */
export function mariadbContract(): void {
  let server: MariadbServer;
  let pools: readonly MariadbPool[];
  let stores: Stores<MysqlStorage>;

  beforeAll(async () => {
    server = await startMariadb();
    const settings = { flags: ["FOUND_ROWS"], connectionLimit: 8 };
    const [own, others] = [server.pool(settings), server.pool(settings)];
    pools = [own, others];
    stores = { storage: mysqlStorage({ pool: own }), peer: mysqlStorage({ pool: others }) };
    await stores.storage.migrate();
  });
  afterAll(() => server.close());

  it("has both pools at repeatable read, counting so", async () => {
    for (const pool of pools) {
      // MySQL has only the second of these, and MariaDB before 11.1 only the first
      const [rows] = await pool.query(
        "SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')",
      );
      expect(rows).toContainEqual(expect.objectContaining({ Value: "REPEATABLE-READ" }));
      const statement = "UPDATE authmount_migrations SET version = version";
      expect(await pool.query(statement)).toMatchObject([{ affectedRows: 1 }, undefined]);
    }
  });

  storageContract({
    test: it,
    open: ({ clients }) => openWith(stores, clients),
    async openUnreachable() {
      const pool = driver.createPool({ host: "127.0.0.1", port: await freePort() });
      return { storage: mysqlStorage({ pool }), close: () => pool.end() };
    },
  });
}

interface Connected {
  readonly client: RedisClient;
  readonly close: () => Promise<void> | void;
}

/** A kind of client of `redis` or `ioredis`. */
export interface RedisDriver {
  readonly connect: () => Promise<Connected>;
  /** A client whose server is not there. */
  readonly fail: () => Promise<Connected>;
}

/** Runs the contract through this driver. */
export function redisContract({ connect, fail }: RedisDriver): void {
  let connected: readonly Connected[] = [];
  let stores: Stores<ReturnType<typeof redisStorage>>;

  beforeAll(async () => {
    const [own, other] = [await connect(), await connect()];
    connected = [own, other];
    stores = { storage: redisStorage({ client: own.client }), peer: redisStorage({ client: other.client }) };
  });
  afterAll(async () => {
    for (const { close } of connected) await close();
  });

  storageContract({
    test: it,
    open: ({ clients }) => openWith(stores, clients),
    async openUnreachable() {
      const { client, close } = await fail();
      return { storage: redisStorage({ client }), close: async () => close() };
    },
  });
}
