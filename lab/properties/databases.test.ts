// The same model and the same random steps as over memory, with the real databases behind the router.
import type { Pool } from "pg";
import type { Client, Storage } from "../../lib";
import { mysqlStorage } from "../../lib/mysql";
import { postgresStorage } from "../../lib/postgres";
import { redisStorage } from "../../lib/redis";
import { sqliteStorage } from "../../lib/sqlite";
import {
  mariadb,
  type MariadbPool,
  type MariadbServer,
  startMariadb,
} from "../../__tests__/servers/mariadb-server";
import { postgres, type PostgresServer, startPostgres } from "../../__tests__/servers/postgres-server";
import { expectAgreement, type OpenedStorage } from "./protocol-property";
import { clientRecords } from "./protocol-clients";
import { redis, redisClient, type RedisServer, startRedis } from "../../__tests__/servers/redis-server";
import { describeWith } from "../../__tests__/servers/server-process";
import { drivers, newFile } from "../../__tests__/servers/sqlite-files";

type Filled = Storage & { readonly clients: { save(client: Client): Promise<void> } };

async function filled<T extends Filled>(storage: T): Promise<T> {
  for (const client of clientRecords) await storage.clients.save(client);
  return storage;
}

let sequence = 0;

const [driver] = drivers;

async function openSqlite(): Promise<OpenedStorage> {
  const handle = driver?.open(newFile());
  if (!handle) throw new Error("there is no SQLite driver");
  const storage = sqliteStorage({ handle });
  await storage.migrate();
  return { storage: await filled(storage), close: () => void handle.close() };
}

describeWith(
  { name: "SQLite", found: driver !== undefined },
  { name: "the model of the protocol: SQLite", tests: sqliteTests },
);

function sqliteTests(): void {
  it("agrees with the server on every answer", async () => {
    const { taken } = await expectAgreement({ name: "SQLite", open: openSqlite, sequences: 12 });
    expect(taken).toBeGreaterThan(100);
  });
}

describeWith(postgres, { name: "the model of the protocol: PostgreSQL", tests: postgresTests });

function postgresTests(): void {
  let server: PostgresServer;
  let pool: Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = server.pool({ max: 4 });
  });
  afterAll(() => server.close());

  async function open(): Promise<OpenedStorage> {
    sequence += 1;
    const schema = `sequence_${sequence}`;
    const storage = postgresStorage({ pool, schema });
    await storage.migrate();
    const close = async (): Promise<void> => void (await pool.query(`DROP SCHEMA ${schema} CASCADE`));
    return { storage: await filled(storage), close };
  }

  it("agrees with the server on every answer", async () => {
    const { taken } = await expectAgreement({ name: "PostgreSQL", open, sequences: 8 });
    expect(taken).toBeGreaterThan(50);
  });
}

describeWith(mariadb, { name: "the model of the protocol: MariaDB", tests: mariadbTests });

function mariadbTests(): void {
  let server: MariadbServer;
  let pool: MariadbPool;

  beforeAll(async () => {
    server = await startMariadb();
    pool = server.pool({ connectionLimit: 4 });
  });
  afterAll(() => server.close());

  async function open(): Promise<OpenedStorage> {
    sequence += 1;
    const schema = `sequence_${sequence}`;
    const storage = mysqlStorage({ pool, schema });
    await storage.migrate();
    const close = async (): Promise<void> => void (await pool.query(`DROP DATABASE ${schema}`));
    return { storage: await filled(storage), close };
  }

  it("agrees with the server on every answer", async () => {
    const { taken } = await expectAgreement({ name: "MariaDB", open, sequences: 8 });
    expect(taken).toBeGreaterThan(50);
  });
}

describeWith(redis, { name: "the model of the protocol: Redis", tests: redisTests });

function redisTests(): void {
  let server: RedisServer;
  let client: Awaited<ReturnType<typeof redisClient>>;

  beforeAll(async () => {
    server = await startRedis();
    client = await redisClient(server.url);
  });
  afterAll(async () => {
    client.destroy();
    await server.close();
  });

  async function open(): Promise<OpenedStorage> {
    sequence += 1;
    return { storage: await filled(redisStorage({ client, prefix: `sequence-${sequence}:` })) };
  }

  it("agrees with the server on every answer", async () => {
    const { taken } = await expectAgreement({ name: "Redis", open, sequences: 12 });
    expect(taken).toBeGreaterThan(100);
  });
}
