/** What the PostgreSQL adapter needs from a connection pool, and which failures it repeats. RFC 6749 §10.5 (single use). */
import { setTimeout as pause } from "node:timers/promises";

/** A row as the driver returns it. */
export type PostgresRow = Readonly<Record<string, unknown>>;

/**
 * The part of a `pg` Pool that is used: single statements, each of which is its own transaction. So transaction-mode poolers work, and
 * Postgres.js, PGlite, Prisma, Drizzle, Kysely, Knex, TypeORM or Neon's driver can take its place with a line or two
 * (docs/storage-postgres-handles.md).
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

const maxAttempts = 20;
/** The first pause before a repetition is at most so long, the second at most twice as long, and so on. */
const pauseMilliseconds = 5;

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
export async function repeatOn<T>(states: ReadonlySet<unknown>, run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (attempt === maxAttempts || !states.has(sqlState(error)) || isConnectionLost(error)) throw error;
      // random, so that those that have met once do not meet again and again
      await pause(Math.random() * attempt * pauseMilliseconds);
    }
  }
}

async function rowsOf(answer: ReturnType<PostgresPool["query"]>): Promise<readonly PostgresRow[]> {
  const { rows } = await answer;
  if (Array.isArray(rows)) return rows;
  throw new TypeError(
    "postgresStorage: pool.query(text, values) must give { rows: [...] }, as a Pool of pg does. docs/storage-postgres-handles.md has the lines for Prisma, Drizzle, TypeORM and others.",
  );
}

/**
 * A `Run` on this pool. It repeats only what the database says it has undone. A lost connection leaves open whether the statement
 * was executed, and a single use that is sent again would count as a replay.
 */
export function runOn(pool: PostgresPool): Run {
  return (text, values = []) => repeatOn(undone, () => rowsOf(pool.query(text, [...values])));
}
