/** Processes of their own that use a SQLite file and are killed. */
import { spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import type { TokenHandle } from "../../lib/protocol/token-value";
import { buildOnce } from "../../__tests__/servers/build-once";
import { newLatch } from "../../__tests__/storage/latch";

/** What the process does. */
export interface SqliteTask {
  readonly file: string;
  readonly act: "write" | "migrate" | "deleteExpired" | "hold" | "consume" | "lock";
  /** It ends itself by SIGKILL before this statement, counted from 0. */
  readonly killBefore?: number;
  /** For `hold` and `consume`: the code. */
  readonly code?: TokenHandle;
}

/** A line that the process has printed. */
export type Line = Readonly<Record<string, unknown>> & { readonly step: string };

/** The process. */
export interface SqliteProcess {
  /** What it has printed so far. */
  readonly lines: readonly Line[];
  /** Resolves with its first line, rejects when it ends without one. */
  readonly begun: Promise<void>;
  /** Resolves when it has ended and all that it printed is in `lines`. Rejects when it ended with a failure of its own. */
  readonly ended: Promise<void>;
  /** Ends it by SIGKILL, and waits for its end. */
  kill(): Promise<void>;
}

/** Starts it. It ends with this process at the latest. */
export function startSqliteProcess(task: SqliteTask): SqliteProcess {
  buildOnce();
  const script = path.join(__dirname, "sqlite-child.cjs");
  const child = spawn(process.execPath, [script, JSON.stringify(task)], { stdio: "pipe" });
  const lines: Line[] = [];
  const first = newLatch();
  const errors: string[] = [];
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk.toString()));
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(JSON.parse(line) as Line);
    first.open();
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once("close", (code) => (code === 1 ? reject(new Error(errors.join(""))) : resolve()));
  });
  // whoever waits for it is told
  ended.catch(() => undefined);
  const endedFirst = ended.then(() => {
    if (lines.length === 0) throw new Error(`it has printed nothing: ${errors.join("")}`);
  });
  const begun = Promise.race([first.opened, endedFirst]);
  begun.catch(() => undefined);
  return {
    lines,
    begun,
    ended,
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
