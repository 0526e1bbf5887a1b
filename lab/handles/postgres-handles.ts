/** Each handle of PostgreSQL that docs/storage-postgres.md names. */
import { compileFunction } from "node:vm";
import { PGlite } from "@electric-sql/pglite";
import { neon, neonConfig, Pool as NeonPool } from "@neondatabase/serverless";
import { PrismaPg } from "@prisma/adapter-pg";
import { drizzle } from "drizzle-orm/node-postgres";
import { knex } from "knex";
import { CamelCasePlugin, Kysely, PostgresDialect } from "kysely";
import { Pool } from "pg";
import postgres from "postgres";
import { DataSource } from "typeorm";
import { WebSocket } from "ws";
import { type PostgresPool, postgresStorage, type PostgresStorageOptions } from "../../lib/postgres";
import { runBlock } from "../../__tests__/sources/doc-block";
import { read } from "../../__tests__/sources/pages-of-docs";
import { startNeon } from "./neon-server";
import { PrismaClient } from "./prisma-client.cjs";

/** What the block of the page declares, or what its table passes, and how it ends. */
interface Handle {
  readonly given: object;
  readonly end: () => unknown;
}

const max = 8;

/** Knex writes every connection that fails to the console. */
const silent = { warn: () => undefined };

function quiet<T extends { on(event: "error", listener: () => void): unknown }>(pool: T): T {
  pool.on("error", () => undefined);
  return pool;
}

/** Its driver's settings are those of the whole process, so they find each server by the port of its database. */
const neonServers = new Map<string, string>();
neonConfig.webSocketConstructor = WebSocket;
neonConfig.useSecureWebSocket = false;
neonConfig.pipelineTLS = false;
neonConfig.pipelineConnect = false;
neonConfig.wsProxy = (_, port) => neonServers.get(String(port)) ?? "";
neonConfig.fetchEndpoint = (_, port) => `http://${neonServers.get(String(port))}/sql`;

async function openNeon(url: string, open: () => Handle): Promise<Handle> {
  const { address, close } = await startNeon(url);
  neonServers.set(new URL(url).port, address);
  const { given, end } = open();
  return {
    given,
    async end() {
      await end();
      await close();
    },
  };
}

function openPool(url: string): Handle {
  const pool = quiet(new Pool({ connectionString: url, max }));
  return { given: { pool: pool satisfies PostgresPool }, end: () => pool.end() };
}

const handles: Readonly<Record<string, (url: string) => Handle | Promise<Handle>>> = {
  pg: openPool,
  "pg with prepared statements": openPool,
  "Postgres.js"(url) {
    const sql = postgres(url, { max, backoff: false, onnotice: () => undefined });
    return { given: { sql }, end: () => sql.end() };
  },
  Prisma(url) {
    const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max }) });
    return { given: { prisma }, end: () => prisma.$disconnect() };
  },
  Drizzle(url) {
    const db = drizzle({ connection: { connectionString: url, max } });
    quiet(db.$client satisfies PostgresPool);
    return { given: { db }, end: () => db.$client.end() };
  },
  Kysely(url) {
    const pool = quiet(new Pool({ connectionString: url, max }));
    const db = new Kysely({ dialect: new PostgresDialect({ pool }), plugins: [new CamelCasePlugin()] });
    return { given: { db }, end: () => db.destroy() };
  },
  Knex(url) {
    const instance = knex({ client: "pg", connection: url, pool: { min: 0, max }, log: silent });
    return { given: { knex: instance }, end: () => instance.destroy() };
  },
  async TypeORM(url) {
    const dataSource = new DataSource({ type: "postgres", url, poolSize: max });
    await dataSource.initialize().catch(() => undefined);
    return { given: { dataSource }, end: () => dataSource.isInitialized && dataSource.destroy() };
  },
  "Neon's Pool": (url) =>
    openNeon(url, () => {
      const pool = quiet(new NeonPool({ connectionString: url, max }));
      return { given: { pool: pool satisfies PostgresPool }, end: () => pool.end() };
    }),
  "Neon over HTTP": (url) => openNeon(url, () => ({ given: { sql: neon(url) }, end: () => undefined })),
  PGlite() {
    const pglite = new PGlite();
    return { given: { pglite: pglite satisfies PostgresPool }, end: () => pglite.closed || pglite.close() };
  },
};

/** The names on the page. */
export const handleNames: readonly string[] = Object.keys(handles);

/** What the table of the page says to pass, for a handle that needs no code. */
function fromTable(name: string, given: object): PostgresPool | undefined {
  const row = new RegExp(`^\\| ${name}[ \\d.]*\\| \`([^\`]+)\` \\|`, "m");
  const [, expression] = row.exec(read("docs/storage-postgres.md")) ?? [];
  if (expression === undefined) return undefined;
  return compileFunction(`return ${expression}`, Object.keys(given))(...Object.values(given)) as PostgresPool;
}

/** The `pool` that the section of this name passes to `postgresStorage`. */
function fromSection(name: string, given: object): PostgresPool {
  let options: PostgresStorageOptions | undefined;
  const watched = (passed: PostgresStorageOptions): unknown => ((options = passed), postgresStorage(passed));
  const modules = { "authmount/postgres": { postgresStorage: watched } };
  runBlock({ page: "storage-postgres.md", heading: name, modules }, given);
  if (options === undefined) throw new Error(`the block of ${name} does not call postgresStorage`);
  return options.pool;
}

/** The `pool` that the page passes to `postgresStorage` for the handle of this name. */
export async function openHandle(
  name: string,
  url: string,
): Promise<{ readonly pool: PostgresPool; readonly end: () => Promise<void> }> {
  const { given, end } = await (handles[name] ?? missing(name))(url);
  const pool = fromTable(name, given) ?? fromSection(name, given);
  return { pool, end: async () => void (await end()) };
}

function missing(name: string): never {
  throw new Error(`no handle is called ${name}`);
}
