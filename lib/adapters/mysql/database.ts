/** Access to the database: what is needed of a pool, which failures are repeated, and statements that name tables. RFC 6749 §10.5 (single use). */
import { hostMistake } from "../../protocol/mistake";
import { repeatOn } from "../repeat";
import { type MysqlNames, type Tables, tablesNamed } from "./tables";

/** A value of a statement. Text goes as its bytes in UTF-8, whatever the character set of the connection is. */
export type MysqlValue = number | Buffer;

/**
 * The part of a promise pool of mysql2 that is used: single statements, each of which is its own transaction. So transaction-mode proxies
 * work, and mariadb, Knex, TypeORM or Sequelize can take its place with a line or two (docs/storage-mysql.md).
 */
export interface MysqlPool {
  /**
   * Runs one statement with its values for each `?`, on any connection. The first entry of the answer is a list of rows, each an object,
   * or has `affectedRows` where a statement gives none. An error of the database has its number as `errno`, or wraps one that has.
   */
  execute(text: string, values: MysqlValue[]): Promise<readonly unknown[]>;
}

/** A row, in which bytes have become text. */
export type Row = Readonly<Record<string, unknown>>;

/** What a statement gives: rows, or how many it has changed. */
export interface Answer {
  readonly rows: readonly Row[];
  readonly affected: number;
}

/** Runs one statement. It repeats what the database has undone; any other failure is thrown. */
export type Run = (text: string, values?: readonly (string | number)[]) => Promise<Answer>;

/** Numbers of errors. */
export const errors = { changed: 1020, duplicate: 1062, lockWait: 1205, deadlock: 1213 } as const;

/**
 * The database has undone the whole statement and asks to repeat it. A row that has changed since the statement began is such an error of
 * MariaDB with `innodb_snapshot_isolation`.
 */
const undone: ReadonlySet<number> = new Set([errors.changed, errors.lockWait, errors.deadlock]);

/** There is no such schema, column or table. */
const missing: ReadonlySet<number> = new Set([1049, 1054, 1146]);

/** What the errors of drivers and of libraries around them have in common, and where these keep the inner one. */
interface DriverError {
  readonly errno?: unknown;
  readonly code?: unknown;
  readonly originalCode?: unknown;
  readonly cause?: DriverError;
  readonly meta?: DriverError;
  readonly driverAdapterError?: DriverError;
  readonly driverError?: DriverError;
  readonly parent?: DriverError;
}

/** An error and those inside it, the outer one first. */
function chainOf(error: unknown): readonly DriverError[] {
  const chain: DriverError[] = [];
  let inner = error as DriverError | undefined;
  // an error may be its own cause
  for (let depth = 0; inner && depth < 5; depth += 1) {
    chain.push(inner);
    inner = inner.cause ?? inner.meta ?? inner.driverAdapterError ?? inner.driverError ?? inner.parent;
  }
  return chain;
}

/** The number of an error of the database. An inner error is nearer to the database than what wraps it. */
export function errorNumber(error: unknown): number | undefined {
  const numbers = chainOf(error).flatMap(({ errno, code, originalCode }) =>
    [code, originalCode, errno].map(Number),
  );
  return numbers.findLast((number) => number > 0);
}

/** True if a connection was lost on the way, whatever came before: a code of Node.js or of the driver. */
function isConnectionLost(error: unknown): boolean {
  return chainOf(error).some(({ code }) => /^E[A-Z]+$|CONNECTION/.test(String(code)));
}

/** True for an error by which the database says that it has undone the statement. */
function isUndone(error: unknown): boolean {
  return undone.has(errorNumber(error) ?? 0) && !isConnectionLost(error);
}

/** Text arrives as it was stored: as bytes. */
function readValue(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : value;
}

function readRow(row: object): Row {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, readValue(value)]));
}

async function answerOf(answer: ReturnType<MysqlPool["execute"]>): Promise<Answer> {
  const [first] = ((await answer) ?? []) as readonly [(readonly object[] | { affectedRows?: unknown })?];
  if (Array.isArray(first) && !Array.isArray(first[0]))
    return { rows: first.map((row: object) => readRow(row)), affected: 0 };
  const affected = Number((first as { affectedRows?: unknown } | undefined)?.affectedRows);
  if (Number.isSafeInteger(affected)) return { rows: [], affected };
  throw hostMistake(
    "mysql-pool-answer",
    "mysqlStorage: pool.execute(text, values) must give [rows] or [{ affectedRows }], as a promise pool of mysql2 does. docs/storage-mysql.md has the lines for other libraries.",
  );
}

/**
 * A `Run` on this pool. It repeats only what the database says it has undone. A lost connection leaves open whether the statement was
 * executed, and a single use that is sent again would look like a replay.
 */
function runOn(pool: MysqlPool): Run {
  return (text, values = []) => {
    const bytes = values.map((value) => (typeof value === "string" ? Buffer.from(value) : value));
    return repeatOn(isUndone, () => answerOf(pool.execute(text, [...bytes])));
  };
}

/** The condition on (subject, client, API). */
export const ofKey = "subject = ? AND client_id = ? AND api_id = ?";

/** Runs one statement on the tables. */
export type Query = (
  statement: (tables: Tables) => string,
  values?: readonly (string | number)[],
) => Promise<Answer>;

/** The database with this adapter's tables. */
export interface Database {
  /** Runs a statement that names tables. */
  readonly query: Query;
  /** Runs a statement on whatever is there: a missing table is no mistake. */
  readonly run: Run;
  readonly tables: Tables;
  /** The condition on a column that names a schema, with its values. */
  readonly inSchema: readonly [condition: string, ...values: string[]];
}

function withoutMigration(cause: unknown): Error {
  return hostMistake(
    "mysql-not-migrated",
    "mysqlStorage: a table or column is missing in the database. Call await storage.migrate() once before the server starts, and after an upgrade (docs/storage.md).",
    { cause },
  );
}

/** The database behind a pool. It opens no connection before the first statement. */
export function openDatabase(pool: MysqlPool, names: MysqlNames): Database {
  const run = runOn(pool);
  const tables = tablesNamed(names);

  async function query(...[statement, values]: Parameters<Query>): Promise<Answer> {
    try {
      return await run(statement(tables), values);
    } catch (cause) {
      throw missing.has(errorNumber(cause) ?? 0) ? withoutMigration(cause) : cause;
    }
  }

  const { schema } = names;
  return { run, tables, query, inSchema: schema === undefined ? ["= DATABASE()"] : ["= ?", schema] };
}

/**
 * What an INSERT has done: `"taken"` if a row with its key is there. The key alone says so, and never a count: drivers differ in what they
 * count.
 */
export async function inserted(insertion: Promise<Answer>): Promise<"inserted" | "taken" | "nothing"> {
  try {
    return (await insertion).affected > 0 ? "inserted" : "nothing";
  } catch (error) {
    if (errorNumber(error) === errors.duplicate) return "taken";
    throw error;
  }
}

/** A `?` for each value, and the values. There are only a few lengths of lists, so that there are only a few statements to prepare. */
export function listOf(values: readonly string[]): readonly [marks: string, values: readonly string[]] {
  const length = 2 ** Math.ceil(Math.log2(values.length));
  const padded = Array.from({ length }, (_, place) => values[place] ?? values.at(-1) ?? "");
  return [padded.map(() => "?").join(", "), padded];
}
