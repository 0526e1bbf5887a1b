/** What the SQLite adapter needs of a driver, and how it opens a file with the driver that is there. RFC 6749 §10.5. */
import { closeSync, openSync } from "node:fs";

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
 * Loads each driver that can be used, in the order in which they are tried. Each `require` stands in a `try` of its own: a bundler
 * then leaves out a driver that is not installed, where it would stop otherwise.
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
  throw new Error(
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
    throw new Error(`sqliteStorage: the file cannot be created (${message}).`, { cause });
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
