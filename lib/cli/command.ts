/** What a command of the command line is, what it has of the process, and what it gives back. */
import type { AuthServerOptions } from "../options/options";
import type { EpochSeconds } from "../protocol/time";
import type { MysqlPool } from "../adapters/mysql/database";
import type { PostgresPool } from "../adapters/postgres/database";

/** An option of a command: `--name VALUE`, or `--name` alone where `value` is left out. */
export interface CommandOption {
  /** What stands for its value in the help. */
  readonly value?: string;
  readonly text: string;
  /** True where it may be written several times. */
  readonly repeats?: true;
}

/** What was written after the name of the command, checked. */
export interface Given {
  readonly operand: string | undefined;
  /** Those that were written: the value, or `""` for an option without one. */
  readonly options: Readonly<Record<string, string>>;
  /** All values of those that may be repeated, and were written. */
  readonly repeated?: Readonly<Record<string, readonly string[]>>;
}

/** What a command gives back. */
export interface Answer {
  /** 1 when it has found what must not be so; otherwise 0. */
  readonly exitCode: 0 | 1;
  /** For stdout: what can be piped. */
  readonly text: string;
  /** For stderr: what to do with it. Not printed with `--json`. */
  readonly advice: string;
  /** For stdout with `--json`. */
  readonly json: object;
}

/** A pool that a command has opened. */
export type OpenedPool<Pool> = Pool & { end(): Promise<void> };

/** What commands have of the process, the machine and the rooms above. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: () => EpochSeconds;
  /** 256 random bits as 43 base64url characters. */
  readonly randomToken: () => string;
  readonly nodeVersion: string;
  /** All of stdin. */
  readonly readInput: () => Promise<string>;
  /** What a file exports. Its path is relative to where the program was started. */
  readonly importFile: (file: string) => Promise<object>;
  /** The text of a file. */
  readonly readFile: (file: string) => string;
  /** Opens a pool by the `pg` of the host. @throws Error when there is none */
  readonly openPostgres: (url: string) => OpenedPool<PostgresPool>;
  /** The same by `mysql2`. */
  readonly openMysql: (url: string) => OpenedPool<MysqlPool>;
  /** Rejects when `work` takes longer; the process cannot end meanwhile. */
  readonly within: <T>(
    work: Promise<T>,
    limit: { readonly seconds: number; readonly what: string },
  ) => Promise<T>;
  /** From here on everything is as in production. */
  readonly useProduction: () => void;
  readonly isProduction: () => boolean;
  /** True when this process accepts connections. */
  readonly isListening: () => boolean;
  /** Creates a server and forgets it. @throws TypeError when the options are refused */
  readonly tryServer: (options: AuthServerOptions) => void;
}

/** A command of the command line. */
export interface Command {
  /** One word, or that of the group in front of its own. */
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  readonly operand?: { readonly name: string; readonly text: string; readonly isRequired: boolean };
  readonly options: Readonly<Record<string, CommandOption>>;
  /** What it does, an example, and what to do next. */
  readonly help: string;
  /** The commands of a group, each with a second word. */
  readonly parts?: readonly Command[];
  readonly run: (given: Given, world: World) => Answer | Promise<Answer>;
}

/** The options that every command has. */
export const everywhere: Readonly<Record<string, CommandOption>> = {
  json: { text: "Print JSON: results on stdout, errors on stderr." },
  help: { text: "Show help for this command." },
};

/** An error that says how the program is called, for exit code 2. */
export function usageError(message: string): TypeError {
  return Object.assign(new TypeError(message), { isUsage: true });
}

/** True for what `usageError` has made. */
export function isUsageError(error: unknown): boolean {
  return (error as { isUsage?: unknown } | undefined)?.isUsage === true;
}
