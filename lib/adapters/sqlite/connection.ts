/** One connection to the file: its driver, its settings, its statements, and waiting for other connections. RFC 6749 §10.5. */
import { closeSync, openSync, statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { hostMistake } from "../../protocol/mistake";
import { lateError } from "../../protocol/oauth-error";
import { deadlineIn } from "../../recall/moment";
import { onceDone } from "../../recall/single-flight";

/** A value that a statement is given. */
export type SqliteValue = string | number;

/** A prepared statement of a driver. Values are given by their position. */
export interface SqliteStatement {
  /** Runs it, and gives its rows. */
  all(...values: SqliteValue[]): unknown[];
  /** Runs a statement that has no rows. */
  run(...values: SqliteValue[]): unknown;
}

/**
 * The part of an open database that is used: that of `DatabaseSync` in `node:sqlite`, and of `Database` in `better-sqlite3` and
 * `libsql`. Every call is synchronous.
 */
export interface SqliteHandle {
  /** Runs a statement without values. */
  exec(sql: string): unknown;
  /** Prepares one statement. */
  prepare(sql: string): SqliteStatement;
}

/** A handle that this adapter has opened, and closes. */
export interface OwnHandle extends SqliteHandle {
  close(): unknown;
}

type Driver = new (file: string) => OwnHandle;

/** Passes over the error of a module that is not there, in this Node.js or in `node_modules`. */
function unlessMissing(error: unknown): undefined {
  const { code } = error as { code?: unknown };
  if (code !== "MODULE_NOT_FOUND" && code !== "ERR_UNKNOWN_BUILTIN_MODULE") throw error;
  return undefined;
}

/**
 * Loads each driver that can be used, in the order in which they are tried. Each `require` has its own `try`: a bundler then leaves out a
 * driver that is not installed, instead of failing.
 */
const drivers: readonly (() => Driver | undefined)[] = [
  () => {
    try {
      return (require("node:sqlite") as { readonly DatabaseSync: Driver }).DatabaseSync;
    } catch (error) {
      return unlessMissing(error);
    }
  },
  () => {
    try {
      return require("better-sqlite3") as Driver;
    } catch (error) {
      return unlessMissing(error);
    }
  },
  () => {
    try {
      return require("libsql") as Driver;
    } catch (error) {
      return unlessMissing(error);
    }
  },
];

function findDriver(): Driver {
  for (const load of drivers) {
    const driver = load();
    if (driver) return driver;
  }
  throw hostMistake(
    "sqlite-no-driver",
    "sqliteStorage: no SQLite driver was found. Use Node.js 22.13 or newer, which contains node:sqlite, or run: npm install libsql",
  );
}

/**
 * Creates the file for its owner alone, because it holds personal data. One that is there keeps its rights, and is not even opened:
 * closing it again would end the locks that other connections of this process have on it.
 */
function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    throw hostMistake("sqlite-file-not-created", `sqliteStorage: the file cannot be created (${message}).`, {
      cause,
    });
  }
}

/**
 * Opens the file, and creates it when there is none.
 *
 * @throws Error when there is no driver, or the file cannot be opened.
 */
export function openFile(file: string): OwnHandle {
  const Database = findDriver();
  createPrivately(file);
  return new Database(file);
}

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
const mostSeconds = 4;
const longestPause = 20;

/** Tells when a call that begins now stops waiting. */
export function newDeadline(): () => boolean {
  return deadlineIn(mostSeconds);
}

/**
 * Tries again while the database is busy, and for the last time once the deadline is over. The driver could wait too, but the whole process would
 * stand still meanwhile.
 *
 * @throws Error (`temporarily_unavailable` for the client) when it stays busy.
 */
export async function whenFree<T>(attempt: () => T, isOver: () => boolean = newDeadline()): Promise<T> {
  for (let pause = 1; ; pause = Math.min(pause * 2, longestPause)) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (isOver()) {
        throw lateError(
          "sqlite-locked",
          "sqliteStorage: another transaction has locked the database for seconds. End it, or pass authmount a handle that nothing else uses.",
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
  throw hostMistake(
    "sqlite-no-write-ahead-log",
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
 * then is acknowledged, and no other process ever sees it.
 */
function newFileCheck({ rows }: Statements): () => void {
  // opens the log
  rows("SELECT count(*) FROM sqlite_schema");
  const main = rows("PRAGMA database_list").find(({ name }) => name === "main");
  const file = String(main?.["file"]);
  const entries = entriesOf(file);
  return () => {
    if (entriesOf(file) === entries) return;
    throw hostMistake(
      "sqlite-file-replaced",
      "sqliteStorage: the database file, its -wal or its -shm was removed or replaced while it was open, so nothing is read or written any more. Restart the process, and change the file only while no process has it open (docs/storage.md).",
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
  return onceDone(() =>
    whenFree(() => {
      setUp(handle, statements);
      return { handle, statements, checkFiles: newFileCheck(statements) };
    }),
  );
}
