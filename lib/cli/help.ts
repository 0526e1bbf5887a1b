/** The help: what the commands do, with an example each, and what to do next. */
import { type Command, type CommandOption, everywhere } from "./command";

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
  return `authmount: an OAuth 2.0 authorization server inside your Express app. These commands help to set it up.

Usage: npx authmount <command> [options]

${rows(commands.map(({ name, summary }) => [name, summary]))}
  help <command> says more, with examples. --json prints JSON. --version prints the version.

Begin with:
  npx authmount secret                    for the option secrets
  npx authmount signing-key --list        for the option signingKeys
  npx authmount check ./auth-options.js   before you start the server

Exit codes: 0 fine; 1 problems were found, or it failed; 2 the command was written wrongly.
`;
}

/** The help of one command. */
export function commandHelp({ name, summary, operand, options, help }: Command): string {
  const shown = operand && (operand.isRequired ? ` ${operand.name}` : ` [${operand.name}]`);
  const operandRow = operand ? [[operand.name, operand.text] as const] : [];
  return `${summary}

Usage: npx authmount ${name}${shown ?? ""} [options]

${rows([...operandRow, ...optionRows({ ...options, ...everywhere })])}
${help}
`;
}
