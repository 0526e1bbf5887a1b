/** Each handle of MySQL and MariaDB that docs/storage-mysql.md names. */
import { compileFunction } from "node:vm";
import { PrismaMariaDb } from "@prisma/adapter-mariadb";
import { knex } from "knex";
import { DataSource } from "typeorm";
import { driver } from "../../__tests__/servers/mariadb-server";
import { read } from "../../__tests__/sources/pages-of-docs";
import type { MysqlPool } from "../../lib/mysql";
import { MysqlPrismaClient } from "./prisma-client.cjs";

/** What the table passes, and how it ends. */
interface Handle {
  readonly given: object;
  readonly end: () => unknown;
}

const connectionLimit = 8;

/** Drivers by their names: the types of these tests can be checked without them. */
const { createPool: callbackPool } = require("mysql2") as {
  readonly createPool: (config: object) => { end(done: () => void): void };
};
const mariadb = require("mariadb") as typeof driver;
const { Sequelize } = require("sequelize") as {
  Sequelize: new (url: string, options: object) => { close(): Promise<void> };
};

/** Knex writes every connection that fails to the console. */
const silent = { warn: () => undefined };

/** A server, and how long a driver tries to reach it. */
interface Place {
  readonly uri: string;
  readonly acquireTimeout: number;
}

/** What the driver mariadb takes. */
function optionsOf({ uri, acquireTimeout }: Place) {
  const { hostname: host, port, username: user, pathname } = new URL(uri);
  const server = { host, port: Number(port), user, database: pathname.slice(1) };
  return { ...server, connectionLimit, acquireTimeout };
}

const handles: Readonly<Record<string, (place: Place) => Handle | Promise<Handle>>> = {
  "mysql2/promise"({ uri }) {
    const pool = driver.createPool({ uri, connectionLimit });
    return { given: { pool }, end: () => pool.end() };
  },
  mysql2({ uri }) {
    const pool = callbackPool({ uri, connectionLimit });
    return { given: { pool }, end: () => new Promise<void>((resolve) => pool.end(resolve)) };
  },
  mariadb(place) {
    const pool = mariadb.createPool(optionsOf(place));
    return { given: { pool }, end: () => pool.end() };
  },
  Prisma(place) {
    const prisma = new MysqlPrismaClient({ adapter: new PrismaMariaDb(optionsOf(place)) });
    return { given: { prisma }, end: () => prisma.$disconnect() };
  },
  Knex({ uri }) {
    const instance = knex({
      client: "mysql2",
      connection: uri,
      pool: { min: 0, max: connectionLimit },
      log: silent,
    });
    return { given: { knex: instance }, end: () => instance.destroy() };
  },
  async TypeORM({ uri: url }) {
    const dataSource = new DataSource({ type: "mysql", url, poolSize: connectionLimit });
    await dataSource.initialize().catch(() => undefined);
    return { given: { dataSource }, end: () => dataSource.isInitialized && dataSource.destroy() };
  },
  Sequelize({ uri }) {
    const sequelize = new Sequelize(uri, { logging: false, pool: { max: connectionLimit } });
    return { given: { sequelize }, end: () => sequelize.close() };
  },
};

/** The names on the page. */
export const mysqlHandleNames: readonly string[] = Object.keys(handles);

/** The `pool` that the table of the page passes to `mysqlStorage` for the handle of this name. */
export async function openMysqlHandle(
  name: string,
  { uri, acquireTimeout = 3_000 }: Partial<Place> & Pick<Place, "uri">,
): Promise<{ readonly pool: MysqlPool; readonly end: () => Promise<void> }> {
  const row = new RegExp(`^\\| ${name}[ \\d.]*\\| \`([^\`]+)\` \\|`, "m");
  const [, expression] = row.exec(read("docs/storage-mysql.md")) ?? [];
  const open = handles[name];
  if (!open || expression === undefined) throw new Error(`the page has no handle ${name}`);
  const { given, end } = await open({ uri, acquireTimeout });
  const pool = compileFunction(`return (${expression})`, Object.keys(given))(...Object.values(given));
  return { pool: pool as MysqlPool, end: async () => void (await end()) };
}
