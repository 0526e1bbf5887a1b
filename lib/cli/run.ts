/** Runs the command line: finds the command, reads what was written after its name, gives help, and turns what a command gives or throws into text and an exit code. */
import { suggestion } from "../host/plain";
import {
  type Command,
  type CommandOption,
  everywhere,
  type Given,
  isUsageError,
  usageError,
  type World,
} from "./command";
import { idOf } from "../protocol/mistake";
import { errorText, jsonText, quoted } from "./wording";
import { check } from "./check";
import { clients } from "./clients";
import { clientKey, clientSecret, secret } from "./make-secrets";
import { migrate } from "./migrate";
import { migrations } from "./migrations";
import { signingKey } from "./signing-key";
import { parseArgs } from "node:util";

type Known = Readonly<Record<string, CommandOption>>;

interface OptionToken {
  readonly kind: "option";
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function checkOption({ name, rawName, value, inlineValue }: OptionToken, known: Known): string {
  const option = Object.hasOwn(known, name) ? known[name] : undefined;
  if (!option) {
    const names = Object.keys(known);
    throw usageError(
      `Unknown option ${quoted(rawName)}.${suggestion(name, names)} Known options: ${names.map((one) => `--${one}`).join(", ")}.`,
    );
  }
  if (option.value === undefined) {
    if (inlineValue) throw usageError(`--${name} takes no value.`);
    return "";
  }
  // without "=", what begins with a dash is the next option
  if (value === undefined || value === "" || (!inlineValue && value.startsWith("-")))
    throw usageError(`--${name} needs a value: --${name} ${option.value}.`);
  return value;
}

function checkOperand({ operand, name }: Command, written: readonly string[]): string | undefined {
  const [first, second] = written;
  const extra = operand ? second : first;
  if (extra !== undefined)
    throw usageError(`Unexpected argument ${quoted(extra)}. See: authmount help ${name}.`);
  if (operand === undefined) return undefined;
  if (operand.isRequired && first === undefined)
    throw usageError(`${operand.name} is missing: authmount ${name} ${operand.name}.`);
  if (first === "") throw usageError(`${operand.name} is empty.`);
  return first;
}

/**
 * What was written, checked against what the command knows.
 *
 * @throws TypeError of `usageError` that says what is wrong and what is known.
 */
export function readArguments(command: Command, args: readonly string[]): Given {
  const known = { ...command.options, ...everywhere };
  const options = Object.entries(known).map(
    ([name, { value }]) => [name, { type: value === undefined ? "boolean" : "string" }] as const,
  );
  const { tokens, positionals } = parseArgs({
    args: [...args],
    options: Object.fromEntries(options),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const given: Record<string, string> = {};
  const repeated: Record<string, readonly string[]> = {};
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const value = checkOption(token, known);
    if (known[token.name]?.repeats) repeated[token.name] = [...(repeated[token.name] ?? []), value];
    else if (Object.hasOwn(given, token.name)) throw usageError(`--${token.name} is given twice.`);
    given[token.name] = value;
  }
  // with --help, nothing else has to be there
  const operand = given["help"] === undefined ? checkOperand(command, positionals) : undefined;
  return { operand, options: given, ...(Object.keys(repeated).length > 0 && { repeated }) };
}

function rows(entries: readonly (readonly [string, string])[]): string {
  const width = Math.max(...entries.map(([left]) => left.length)) + 2;
  return entries.map(([left, right]) => `  ${left.padEnd(width)}${right}\n`).join("");
}

function optionRows(
  options: Readonly<Record<string, CommandOption>>,
): readonly (readonly [string, string])[] {
  return Object.entries(options).map(([name, { value, text }]) => [
    `--${name}${value === undefined ? "" : ` ${value}`}`,
    text,
  ]);
}

/** All commands on one page. */
export function overview(commands: readonly Command[]): string {
  return `authmount: an OAuth 2.0 authorization server inside your Express app. These commands help you set it up.

Usage: npx authmount <command> [options]

${rows(commands.map(({ name, summary }) => [name, summary]))}
  help <command> gives details and examples. --json prints JSON. --version prints the version.

Start with:
  npx authmount secret                    for the secrets option
  npx authmount signing-key --list        for the signingKeys option
  npx authmount check ./auth-options.js   before you start the server

Exit codes: 0 success; 1 problems were found, or the command failed; 2 wrong usage.
`;
}

/** The help of one command. */
export function commandHelp({ name, summary, operand, options, help, parts }: Command): string {
  const shown = operand && (operand.isRequired ? ` ${operand.name}` : ` [${operand.name}]`);
  const operandRow = operand ? [[operand.name, operand.text] as const] : [];
  const partRows = parts ? `${rows(parts.map((part) => [part.name, part.summary]))}\n` : "";
  return `${summary}

Usage: npx authmount ${name}${parts ? " <command>" : ""}${shown ?? ""} [options]

${partRows}${rows([...operandRow, ...optionRows({ ...options, ...everywhere })])}
${help}
`;
}

/** All commands. */
export const commands: readonly Command[] = [
  secret,
  signingKey,
  clientSecret,
  clientKey,
  check,
  migrate,
  migrations,
  clients,
];

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

/** What is printed of an error: a line, or with `--json` an object with the id of the error, on stderr. */
export function failure(error: unknown, args: readonly string[]): Result {
  const exitCode = isUsageError(error) ? 2 : 1;
  const message = isUsageError(error)
    ? (error as Error).message
    : errorText(error).replace(/^TypeError: (?:(?:add|change|rotate)Client\w*: )?/, "");
  const code = exitCode === 2 ? "usage" : (idOf(error) ?? "failed");
  const stderr = wantsJson(args) ? jsonText({ error: { code, message } }) : `authmount: ${message}\n`;
  return { exitCode, stdout: "", stderr };
}

function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end < 0 ? args.length : end).includes("--json");
}

function findPart({ name, parts = [] }: Command, word: string): Command {
  const found = parts.find((part) => part.name === `${name} ${word}`);
  if (found) return found;
  const words = parts.map((part) => part.name.slice(name.length + 1));
  throw usageError(
    `Unknown command ${quoted(`${name} ${word}`)}.${suggestion(word, words)} Known words after ${name}: ${words.join(", ")}.`,
  );
}

/** The command whose name is the first of these words, or the first two. */
function findCommand([name = "", word]: readonly string[]): Command {
  const found = commands.find((command) => command.name === name);
  if (found) return found.parts && word !== undefined ? findPart(found, word) : found;
  const names = commands.map((command) => command.name);
  throw usageError(
    `Unknown command ${quoted(name)}.${suggestion(name, [...names, "help"])} Known commands: ${names.join(", ")}, help.`,
  );
}

function wordsOf({ name }: Command): readonly string[] {
  return name.split(" ");
}

function helpOn(args: readonly string[]): Result {
  const words = args.filter((arg) => arg !== "--json");
  const command = words.length > 0 ? findCommand(words) : undefined;
  if (words.length > (command ? wordsOf(command).length : 0))
    throw usageError("help takes the name of one command.");
  const text = command ? commandHelp(command) : overview(commands);
  return { exitCode: 0, stdout: wantsJson(args) ? jsonText({ help: text }) : text, stderr: "" };
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
  const words = args.filter((arg) => !arg.startsWith("-"));
  if (words.length === 0) throw usageError(`Unknown option ${quoted(first)}. See: authmount help.`);
  const command = findCommand(words);
  const others = wordsOf(command)
    .reduce((rest, word) => rest.toSpliced(rest.indexOf(word), 1), args)
    .map((arg) => (arg === "-h" ? "--help" : arg));
  const given = readArguments(command, others);
  if (given.options["help"] !== undefined)
    return helpOn([...wordsOf(command), ...(wantsJson(args) ? ["--json"] : [])]);
  const { exitCode, text, advice, json } = await command.run(given, world);
  return wantsJson(args)
    ? { exitCode, stdout: jsonText(json), stderr: "" }
    : { exitCode, stdout: text, stderr: advice };
}

async function answer({ args, version }: Call, world: World): Promise<Result> {
  const [first] = args.filter((arg) => arg !== "--json");
  if (first === undefined) return withoutCommand(args);
  if (first === "--version" || first === "-v")
    return { exitCode: 0, stdout: wantsJson(args) ? jsonText({ version }) : `${version}\n`, stderr: "" };
  if (first === "help" || first === "--help" || first === "-h")
    return helpOn(args.filter((arg) => arg !== first));
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
