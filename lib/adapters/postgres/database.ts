/** Access to the database: what is needed of a pool, which failures are repeated, and statements that name tables. RFC 6749 §10.5 (single use). */
import { hostMistake } from "../../protocol/mistake";
import { onceDone } from "../../recall/single-flight";
import { repeatOn } from "../repeat";
import { type PostgresNames, type Tables, tablesIn } from "./tables";

/** A row as the driver returns it. */
export type PostgresRow = Readonly<Record<string, unknown>>;

/**
 * The part of a `pg` Pool that is used: single statements, each of which is its own transaction. So transaction-mode poolers work, and
 * Postgres.js, PGlite, Prisma, Drizzle, Kysely, Knex, TypeORM or Neon's driver can take its place with a line or two
 * (docs/storage-postgres.md).
 */
export interface PostgresPool {
  /**
   * Runs one statement with its values for `$1`, `$2` and so on, on any connection. An error of the database has its SQLSTATE as `code`,
   * or is the `cause` of one that wraps it.
   */
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly PostgresRow[] }>;
}

/** Runs one statement and returns its rows. It repeats what the database has undone; any other failure is thrown. */
export type Run = (text: string, values?: readonly unknown[]) => Promise<readonly PostgresRow[]>;

/** `serialization_failure` and `deadlock_detected`: the database has undone the whole statement and asks to repeat it. */
const undone: ReadonlySet<unknown> = new Set(["40001", "40P01"]);

/** What the errors of drivers and of libraries around them have in common: a code, and maybe an inner error that has its own. */
interface DriverError {
  readonly code?: unknown;
  readonly cause?: DriverError;
  /** Where Prisma keeps the inner error, under two names. */
  readonly meta?: DriverError;
  readonly driverAdapterError?: DriverError;
  readonly originalCode?: unknown;
}

/** The codes of an error and of those inside it, the outer one first. */
function codesOf(error: unknown): readonly unknown[] {
  const codes: unknown[] = [];
  let inner = error as DriverError | undefined;
  // an error may be its own cause
  for (let depth = 0; inner && depth < 5; depth += 1) {
    codes.push(inner.originalCode ?? inner.code);
    inner = inner.cause ?? inner.meta ?? inner.driverAdapterError;
  }
  return codes.filter((code) => code !== undefined);
}

/** The code of an error: its SQLSTATE if the database reported it. An inner error is nearer to the database than what wraps it. */
export function sqlState(error: unknown): unknown {
  return codesOf(error).at(-1);
}

/** True if a connection was lost on the way, whatever came before: a SQLSTATE of that kind, or a code of Node.js. */
function isConnectionLost(error: unknown): boolean {
  return codesOf(error).some((code) => /^(?:08|57P)\w{2,3}$|^E[A-Z]+$/.test(String(code)));
}

/** Runs again whatever fails with one of these states, a limited number of times. Any other failure is thrown at once. */
export function repeatOnState<T>(states: ReadonlySet<unknown>, run: () => Promise<T>): Promise<T> {
  return repeatOn((error) => states.has(sqlState(error)) && !isConnectionLost(error), run);
}

async function rowsOf(answer: ReturnType<PostgresPool["query"]>): Promise<readonly PostgresRow[]> {
  const { rows } = await answer;
  if (Array.isArray(rows)) return rows;
  throw hostMistake(
    "postgres-pool-answer",
    "postgresStorage: pool.query(text, values) must give { rows: [...] }, as a Pool of pg does. docs/storage-postgres.md has the lines for Prisma, Drizzle, TypeORM and others.",
  );
}

/**
 * A `Run` on this pool. It repeats only what the database says it has undone. A lost connection leaves open whether the statement was
 * executed, and a single use that is sent again would look like a replay.
 */
export function runOn(pool: PostgresPool): Run {
  return (text, values = []) => repeatOnState(undone, () => rowsOf(pool.query(text, [...values])));
}

/** The condition on (subject, client, API), the first three values. */
export const ofKey = "subject = $1 AND client_id = $2 AND api_id = $3";

/** Runs one statement on the tables and returns its rows. */
export type Query = (
  statement: (tables: Tables) => string,
  values?: readonly unknown[],
) => Promise<readonly PostgresRow[]>;

/** The database with this adapter's tables. */
export interface Database {
  /** Runs a statement that names tables. */
  readonly query: Query;
  /** Runs a statement that names none. */
  readonly run: Run;
  /** The full names of the tables. The schema is looked up once; a failed look-up is repeated with the next call. */
  readonly tables: () => Promise<Tables>;
}

/**
 * The first existing schema of the `search_path`. Names are qualified by it: an unqualified name could reach the table of another
 * server, in a later schema, while the first schema has no such table yet.
 */
async function currentSchema(run: Run): Promise<string> {
  const [row] = await run("SELECT current_schema()::text AS schema");
  const schema = row?.["schema"];
  if (typeof schema === "string") return schema;
  throw hostMistake(
    "postgres-no-schema",
    "postgresStorage: none of the schemas in the connection's search_path exists. Set the schema option, or create one.",
  );
}

/** True for the error of a database that lacks a schema, a table or a column. */
function isMissing(cause: unknown): boolean {
  return ["42P01", "42703", "3F000"].includes(String(sqlState(cause)));
}

function withoutMigration(cause: unknown): Error {
  return hostMistake(
    "postgres-not-migrated",
    "postgresStorage: a table or column is missing in the database. Call await storage.migrate() once before the server starts, and after an upgrade (docs/storage.md).",
    { cause },
  );
}

/** The database behind a pool. It opens no connection before the first statement. */
export function openDatabase(pool: PostgresPool, { schema, prefix }: PostgresNames): Database {
  const run = runOn(pool);
  const tables = onceDone(async () => tablesIn(schema ?? (await currentSchema(run)), prefix));

  async function query(statement: (tables: Tables) => string, values?: readonly unknown[]) {
    try {
      return await run(statement(await tables()), values);
    } catch (cause) {
      throw isMissing(cause) ? withoutMigration(cause) : cause;
    }
  }

  return { run, tables, query };
}
