/** One connection to the file: its settings, its statements, and waiting for other connections. RFC 6749 §10.5. */
import { statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { lateError } from "../../protocol/oauth-error";
import type { SqliteHandle, SqliteStatement, SqliteValue } from "./handle";

/** A row as the driver returns it. */
export type SqliteRow = Readonly<Record<string, unknown>>;

/** Runs statements, each of which is prepared once. */
export interface Statements {
  /** Gives the rows of a statement that has some. */
  readonly rows: (sql: string, ...values: readonly SqliteValue[]) => readonly SqliteRow[];
  /** Runs a statement that has none. */
  readonly run: (sql: string, ...values: readonly SqliteValue[]) => void;
}

/** True while another connection writes, or somebody else has a transaction open on this handle. Nothing was done then. */
function isBusy(error: unknown): boolean {
  const { code, errcode, message } = error as { code?: unknown; errcode?: unknown; message?: unknown };
  // node:sqlite gives the number, whose higher bits say more
  if (typeof errcode === "number" && (errcode & 0xff) === 5) return true;
  if (typeof code === "string" && code.startsWith("SQLITE_BUSY")) return true;
  return typeof message === "string" && /(?:within|inside) a transaction/.test(message);
}

/** Less than the five seconds that the server gives storage: what is done later is done for nobody. */
const mostMilliseconds = 4_000;
const longestPause = 20;

/** When a call that begins now stops waiting, on the clock of `performance.now()`. */
export function lastMoment(): number {
  return performance.now() + mostMilliseconds;
}

/**
 * Tries again while the database is busy, and for the last time after `until`. The driver could wait too, but the whole process would
 * stand still meanwhile.
 *
 * @throws Error (`temporarily_unavailable` for the client) when it stays busy.
 */
export async function whenFree<T>(attempt: () => T, until: number = lastMoment()): Promise<T> {
  for (let pause = 1; ; pause = Math.min(pause * 2, longestPause)) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() >= until) {
        throw lateError(
          "sqliteStorage: another transaction has locked the database for seconds. End it, or give authmount a handle of its own.",
        );
      }
    }
    await delay(pause);
  }
}

function statementsOf(handle: SqliteHandle): Statements {
  const prepared = new Map<string, SqliteStatement>();
  function statement(sql: string): SqliteStatement {
    const known = prepared.get(sql);
    if (known) return known;
    const made = handle.prepare(sql);
    prepared.set(sql, made);
    return made;
  }
  return {
    rows: (sql, ...values) => statement(sql).all(...values) as readonly SqliteRow[],
    run: (sql, ...values) => void statement(sql).run(...values),
  };
}

/**
 * - `busy_timeout`: the driver must not wait, `whenFree` does.
 * - `synchronous`: a write is on the disk before it is acknowledged. Otherwise a code that was used could be used again after a power
 *   failure.
 * - `fullfsync`: macOS waits for the disk only when it is asked to.
 */
const settings = "PRAGMA busy_timeout = 0; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON";

/** With a write-ahead log, readers and the writer do not wait for each other. */
function setUp(handle: SqliteHandle, { rows }: Statements): void {
  handle.exec(settings);
  const [row] = rows("PRAGMA journal_mode = WAL");
  if (row?.["journal_mode"] === "wal") return;
  throw new Error(
    "sqliteStorage: the database has no write-ahead log (PRAGMA journal_mode = WAL). Use a file on a local disk. In memory, use memoryStorage.",
  );
}

/** The numbers of the file system's entries for the database, its log and the locks on them; 0 for one that is not there. */
function entriesOf(file: string): string {
  const names = [file, `${file}-wal`, `${file}-shm`];
  return names.map((name) => statSync(name, { throwIfNoEntry: false })?.ino ?? 0).join();
}

/**
 * A check that the files are still those that were opened. SQLite goes on with files that were removed or replaced: whatever is written
 * then is acknowledged, and nobody else ever sees it.
 */
function newFileCheck({ rows }: Statements): () => void {
  // opens the log
  rows("SELECT count(*) FROM sqlite_schema");
  const main = rows("PRAGMA database_list").find(({ name }) => name === "main");
  const file = String(main?.["file"]);
  const entries = entriesOf(file);
  return () => {
    if (entriesOf(file) === entries) return;
    throw new Error(
      "sqliteStorage: the database file, its -wal or its -shm was removed or replaced while it was open, so nothing is read or written any more. Restart the process, and change the file only while no process has it open (docs/storage-sqlite.md).",
    );
  };
}

/** A connection to the file, set up. */
export interface Connection {
  readonly handle: SqliteHandle;
  readonly statements: Statements;
  /**
   * Checks that the connection still has the files that have its names.
   *
   * @throws Error when they were removed or replaced.
   */
  readonly checkFiles: () => void;
}

/** Sets up the connection of this handle at the first call. A failure is thrown, and the next call tries again. */
export function connector(handle: SqliteHandle): () => Promise<Connection> {
  const statements = statementsOf(handle);
  let connecting: Promise<Connection> | undefined;
  return async () => {
    connecting ??= whenFree(() => {
      setUp(handle, statements);
      return { handle, statements, checkFiles: newFileCheck(statements) };
    });
    try {
      return await connecting;
    } catch (error) {
      connecting = undefined;
      throw error;
    }
  };
}
