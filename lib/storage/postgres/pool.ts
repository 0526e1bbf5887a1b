/** What the PostgreSQL adapter needs from a connection pool, and which failures it repeats. RFC 6749 §10.5 (single use). */

/** A row as the driver returns it. */
export type PostgresRow = Readonly<Record<string, unknown>>;

/**
 * The part of a `pg` Pool that is used: single statements, each of which is its own transaction. So transaction-mode poolers work.
 */
export interface PostgresPool {
  /** Runs one statement, on any connection. */
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly PostgresRow[] }>;
}

/** Runs one statement and returns its rows. It repeats what the database has undone; any other failure is thrown. */
export type Run = (text: string, values?: readonly unknown[]) => Promise<readonly PostgresRow[]>;

/** `serialization_failure` and `deadlock_detected`: the database has undone the whole statement and asks to repeat it. */
const undone: ReadonlySet<unknown> = new Set(["40001", "40P01"]);

const maxAttempts = 20;

/** The `code` of an error: its SQLSTATE if the database reported it. */
export function sqlState(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code;
}

/** Runs again whatever fails with one of these states, a limited number of times. Any other failure is thrown at once. */
export async function repeatOn<T>(states: ReadonlySet<unknown>, run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (attempt === maxAttempts || !states.has(sqlState(error))) throw error;
    }
  }
}

/**
 * A `Run` on this pool. It repeats only what the database says it has undone. A lost connection leaves open whether the statement
 * was executed, and a single use that is sent again would count as a replay.
 */
export function runOn(pool: PostgresPool): Run {
  return (text, values = []) => repeatOn(undone, async () => (await pool.query(text, [...values])).rows);
}
