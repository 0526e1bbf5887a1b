/** What the PostgreSQL adapter needs of a connection pool, and which failures it repeats. RFC 6749 §10.5 (single use). */

/** A row as the driver gives it. */
export type PostgresRow = Readonly<Record<string, unknown>>;

/**
 * The part of a `pg` Pool that is used: one statement at a time, each a transaction of its own. So a pooler that hands out
 * connections by transaction may stand in between.
 */
export interface PostgresPool {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly PostgresRow[] }>;
}

/** Runs one statement and gives its rows. */
export type Run = (text: string, values?: readonly unknown[]) => Promise<readonly PostgresRow[]>;

/** `serialization_failure` and `deadlock_detected`: the server has undone the whole statement, and asks for a repetition. */
const undone: ReadonlySet<unknown> = new Set(["40001", "40P01"]);

const maxAttempts = 20;

/** The SQLSTATE of a failure of the server. */
export function sqlState(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code;
}

/** Repeats what fails with one of these states, up to a bound; any other failure is thrown at once. */
export async function repeatOn<T>(states: ReadonlySet<unknown>, run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (attempt === maxAttempts || !states.has(sqlState(error))) throw error;
    }
  }
}

/** Repeats what the server says it has not done; a failure that leaves this open, such as a lost connection, is thrown. */
export function runOn(pool: PostgresPool): Run {
  return (text, values = []) => repeatOn(undone, async () => (await pool.query(text, [...values])).rows);
}
