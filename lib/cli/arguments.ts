/** Reads what was written after the name of a command. */
import { parseArgs } from "node:util";
import { type Command, type CommandOption, everywhere, type Given, usageError } from "./command";
import { quoted, suggestion } from "./wording";

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
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const value = checkOption(token, known);
    if (Object.hasOwn(given, token.name)) throw usageError(`--${token.name} is written twice.`);
    given[token.name] = value;
  }
  // with --help, nothing else has to be there
  const operand = given["help"] === undefined ? checkOperand(command, positionals) : undefined;
  return { operand, options: given };
}
