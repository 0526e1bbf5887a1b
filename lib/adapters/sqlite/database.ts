/** Reads and writes. Writes that arrive together share a transaction, and so a wait for the disk. RFC 6749 §10.5 (single use). */
import { setImmediate as nextTurn } from "node:timers/promises";
import { hostMistake } from "../../protocol/mistake";
import {
  type Connection,
  connector,
  newDeadline,
  type SqliteHandle,
  type Statements,
  whenFree,
} from "./connection";

/** What is done at once: it runs statements and waits for nothing. It runs again if it was undone because another step failed. */
type Step<T> = (statements: Statements) => T;

/** A step whose caller waits for the result. */
interface WaitingStep {
  readonly step: Step<unknown>;
  /** When its caller stops waiting. */
  readonly isOver: () => boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Connect = () => Promise<Connection>;

type Outcome =
  | { readonly kind: "done"; readonly results: readonly unknown[] }
  | { readonly kind: "undone" | "failed"; readonly error: unknown };

function rollBack({ handle }: Connection): void {
  try {
    handle.exec("ROLLBACK");
  } catch {
    // after some failures, such as a full disk, SQLite has undone the transaction by itself
  }
}

/** Does the steps in one transaction, without a pause. Throws only if the transaction cannot begin. */
function attempt(connection: Connection, steps: readonly WaitingStep[]): Outcome {
  const { handle, statements } = connection;
  // immediate: it gets the lock of the only writer before it reads
  handle.exec("BEGIN IMMEDIATE");
  let results;
  try {
    connection.checkFiles();
    results = steps.map(({ step }) => step(statements));
  } catch (error) {
    rollBack(connection);
    return { kind: "undone", error };
  }
  try {
    handle.exec("COMMIT");
    return { kind: "done", results };
  } catch (error) {
    // whether it is on the disk is unknown, so it is not repeated
    rollBack(connection);
    return { kind: "failed", error };
  }
}

async function outcomeOf(connect: Connect, steps: readonly WaitingStep[]): Promise<Outcome> {
  try {
    const connection = await connect();
    // what came first must not be done when nobody waits for it any more
    return await whenFree(
      () => attempt(connection, steps),
      () => steps.some(({ isOver }) => isOver()),
    );
  } catch (error) {
    return { kind: "failed", error };
  }
}

/** Does these steps in one transaction and tells their callers. If one fails, each gets its own transaction. */
async function transact(connect: Connect, steps: readonly WaitingStep[]): Promise<void> {
  const outcome = await outcomeOf(connect, steps);
  if (outcome.kind === "done") {
    for (const [index, { resolve }] of steps.entries()) resolve(outcome.results[index]);
  } else if (outcome.kind === "undone" && steps.length > 1) {
    for (const each of steps) await transact(connect, [each]);
  } else {
    for (const { reject } of steps) reject(outcome.error);
  }
}

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
  const { message } = cause as { message?: unknown };
  if (!/no such table: authmount_|no such column|has no column/.test(String(message))) return cause;
  return hostMistake(
    "sqlite-not-migrated",
    "sqliteStorage: a table or column is missing in the database. Call await storage.migrate() once before the server starts, and after an upgrade (docs/storage.md).",
    { cause },
  );
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
    if (hasEnded) throw hostMistake("sqlite-closed", "sqliteStorage: the storage is closed. Close it last.");
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
      waiting.push({ step, isOver: newDeadline(), resolve: resolve as WaitingStep["resolve"], reject });
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
