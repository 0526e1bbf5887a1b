/** Steps that share a transaction: all of them are done, or none. RFC 6749 §10.5 (single use). */
import { type Connection, type Statements, whenFree } from "./connection";

/** What is done at once: it runs statements and waits for nothing. It runs again if it was undone because another step failed. */
export type Step<T> = (statements: Statements) => T;

/** A step whose caller waits for the result. */
export interface WaitingStep {
  readonly step: Step<unknown>;
  /** When its caller stops waiting. */
  readonly until: number;
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
    const until = Math.min(...steps.map((each) => each.until));
    return await whenFree(() => attempt(connection, steps), until);
  } catch (error) {
    return { kind: "failed", error };
  }
}

/** Does these steps in one transaction and tells their callers. If one fails, each gets a transaction of its own. */
export async function transact(connect: Connect, steps: readonly WaitingStep[]): Promise<void> {
  const outcome = await outcomeOf(connect, steps);
  if (outcome.kind === "done") {
    for (const [index, { resolve }] of steps.entries()) resolve(outcome.results[index]);
  } else if (outcome.kind === "undone" && steps.length > 1) {
    for (const each of steps) await transact(connect, [each]);
  } else {
    for (const { reject } of steps) reject(outcome.error);
  }
}
