/** Runs the command line: finds the command, and turns what it gives or throws into text and an exit code. */
import { readArguments } from "./arguments";
import { type Command, isUsageError, usageError, type World } from "./command";
import { commands } from "./commands";
import { commandHelp, overview } from "./help";
import { errorText, quoted, suggestion } from "./wording";

/** What the process prints, and how it ends. */
export interface Result {
  /** 0: fine. 1: problems were found, or the task failed. 2: wrong usage. */
  readonly exitCode: 0 | 1 | 2;
  readonly stdout: string;
  readonly stderr: string;
}

/** What was written after the name of the program, and what the program is. */
export interface Call {
  readonly args: readonly string[];
  readonly version: string;
}

function print(json: object): string {
  return `${JSON.stringify(json, undefined, 2)}\n`;
}

/** What is printed of an error: a line, or with `--json` an object, on stderr. */
export function failure(error: unknown, args: readonly string[]): Result {
  const exitCode = isUsageError(error) ? 2 : 1;
  const message = isUsageError(error)
    ? (error as Error).message
    : errorText(error).replace(/^TypeError: /, "");
  const code = exitCode === 2 ? "usage" : "failed";
  const stderr = wantsJson(args) ? print({ error: { code, message } }) : `authmount: ${message}\n`;
  return { exitCode, stdout: "", stderr };
}

function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end < 0 ? args.length : end).includes("--json");
}

function findCommand(name: string): Command {
  const found = commands.find((command) => command.name === name);
  if (found) return found;
  const names = commands.map((command) => command.name);
  throw usageError(
    `Unknown command ${quoted(name)}.${suggestion(name, [...names, "help"])} Known commands: ${names.join(", ")}, help.`,
  );
}

function help(args: readonly string[]): Result {
  const [name, ...others] = args.filter((arg) => arg !== "--json");
  if (others.length > 0) throw usageError("help takes the name of one command.");
  const text = name === undefined ? overview(commands) : commandHelp(findCommand(name));
  return { exitCode: 0, stdout: wantsJson(args) ? print({ help: text }) : text, stderr: "" };
}

function withoutCommand(args: readonly string[]): Result {
  return wantsJson(args)
    ? failure(usageError("A command is missing. See: authmount help."), args)
    : { exitCode: 2, stdout: "", stderr: overview(commands) };
}

async function runCommand(
  args: readonly string[],
  { first, world }: { first: string; world: World },
): Promise<Result> {
  const name = args.find((arg) => !arg.startsWith("-"));
  if (name === undefined) throw usageError(`Unknown option ${quoted(first)}. See: authmount help.`);
  const command = findCommand(name);
  const others = args.toSpliced(args.indexOf(name), 1).map((arg) => (arg === "-h" ? "--help" : arg));
  const given = readArguments(command, others);
  if (given.options["help"] !== undefined) return help([name, ...(wantsJson(args) ? ["--json"] : [])]);
  const { exitCode, text, advice, json } = await command.run(given, world);
  return wantsJson(args)
    ? { exitCode, stdout: print(json), stderr: "" }
    : { exitCode, stdout: text, stderr: advice };
}

async function answer({ args, version }: Call, world: World): Promise<Result> {
  const [first] = args.filter((arg) => arg !== "--json");
  if (first === undefined) return withoutCommand(args);
  if (first === "--version" || first === "-v")
    return { exitCode: 0, stdout: wantsJson(args) ? print({ version }) : `${version}\n`, stderr: "" };
  if (first === "help" || first === "--help" || first === "-h")
    return help(args.filter((arg) => arg !== first));
  return runCommand(args, { first, world });
}

/** Runs the command that the arguments name. It rejects with nothing: what goes wrong is in the result. */
export async function runCommandLine(call: Call, world: World): Promise<Result> {
  try {
    return await answer(call, world);
  } catch (error) {
    return failure(error, call.args);
  }
}
