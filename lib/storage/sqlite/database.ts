/** Reads and writes of the SQLite adapter. Writes that arrive together share a transaction, and so a wait for the disk. RFC 6749 §10.5. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Connection, connector, lastMoment, whenFree } from "./connection";
import type { SqliteHandle } from "./handle";
import { type Step, transact, type WaitingStep } from "./transaction";

/** The database, for the stores. */
export interface Database {
  /** Runs one statement that changes nothing. */
  readonly read: <T>(step: Step<T>) => Promise<T>;
  /** Runs a step in a transaction: all of it is done, or nothing. Resolves once it is on the disk. */
  readonly write: <T>(step: Step<T>) => Promise<T>;
  /** Refuses further calls, and waits for the writes under way. */
  readonly end: () => Promise<void>;
}

/** So many steps share a transaction at most: this process does nothing else meanwhile, and no other process can write. */
const maxSteps = 64;

function withRemedy(cause: unknown): unknown {
  const { message, code } = cause as { message?: unknown; code?: unknown };
  if (!/no such table: authmount_|no such column|has no column/.test(String(message))) return cause;
  const error = new Error(
    "sqliteStorage: a table or column is missing in the database. Call await storage.migrate() once before the server starts, and after an upgrade (docs/storage.md).",
    { cause },
  );
  return Object.assign(error, { code });
}

async function readOn<T>({ statements, checkFiles }: Connection, step: Step<T>): Promise<T> {
  return whenFree(() => {
    checkFiles();
    return step(statements);
  });
}

/** The database behind this handle. It asks nothing before the first call. */
export function openDatabase(handle: SqliteHandle): Database {
  const connect = connector(handle);
  const waiting: WaitingStep[] = [];
  let writing: Promise<void> | undefined;
  let hasEnded = false;

  async function whileOpen<T>(call: () => Promise<T>): Promise<T> {
    if (hasEnded) throw new Error("sqliteStorage: the storage is closed.");
    try {
      return await call();
    } catch (error) {
      throw withRemedy(error);
    }
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      // what arrives in one turn of the event loop goes together
      await nextTurn();
      await transact(connect, waiting.splice(0, maxSteps));
    }
    writing = undefined;
  }

  function write<T>(step: Step<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      waiting.push({ step, until: lastMoment(), resolve: resolve as WaitingStep["resolve"], reject });
      writing ??= writeAll();
    });
  }

  return {
    read: (step) => whileOpen(async () => readOn(await connect(), step)),
    write: (step) => whileOpen(() => write(step)),
    async end() {
      hasEnded = true;
      await writing;
    },
  };
}
