/** Imports a module of the host, and says in words why that has failed. */
import { type CommandOption, type Given, usageError, type World } from "./command";
import { errorSentence, printable, quoted } from "./wording";

const defaultSeconds = 30;

/** The options of commands that import a module. */
export const moduleOptions: Readonly<Record<string, CommandOption>> = {
  export: { value: "NAME", text: "The name of the export to take." },
  timeout: {
    value: "SECONDS",
    text: `How long the module may take to load. Default: ${defaultSeconds}.`,
  },
};

function secondsIn({ options: { timeout = String(defaultSeconds) } }: Given): number {
  const seconds = /^\d{1,4}$/.test(timeout) ? Number(timeout) : 0;
  if (seconds >= 1 && seconds <= 3_600) return seconds;
  throw usageError(`--timeout ${quoted(timeout)} is not a number of seconds. Write 1 to 3600.`);
}

/** What helps, by the code of the error. */
const remedies: ReadonlyMap<unknown, string> = new Map([
  [
    "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
    " Node.js only leaves types out, and this file needs a compiler. Give the compiled file.",
  ],
  ["ERR_REQUIRE_ASYNC_MODULE", " A module that uses await at its top level cannot be required. Use import."],
]);

/** Why a module could not be loaded, without what was thrown if that is no error. */
function reasonOf(error: unknown, { file, nodeVersion }: { file: string; nodeVersion: string }): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  if (code === "ERR_UNKNOWN_FILE_EXTENSION" && /\.[cm]?tsx?$/.test(file))
    return `This Node.js (${nodeVersion}) cannot read TypeScript. Give the compiled file, use Node.js 22.18 or newer, or set NODE_OPTIONS="--import tsx" with tsx installed.`;
  return `${errorSentence(error)}${remedies.get(code) ?? ""}`;
}

/** Where in the host's files it went wrong, as far as the error says so. */
function placeOf(error: unknown): string {
  const { stack } = (error ?? {}) as { readonly stack?: unknown };
  if (typeof stack !== "string") return "";
  // of a file that cannot be parsed, the place comes first
  const first = /^(?:file:\/\/|\/|[A-Za-z]:\\).*:\d+(?=\n|$)/.exec(stack)?.[0];
  const place =
    first === undefined
      ? stack
          .split("\n")
          .find((line) => /^\s+at .*(?:file:\/\/|[/\\]).*:\d+:\d+\)?$/.test(line) && !line.includes("node:"))
      : `at ${first}`;
  if (place !== undefined) return ` (${printable(place.trim())})`;
  // Node.js keeps the place of such an error to itself
  return error instanceof SyntaxError ? " To see where, run it with: node --check" : "";
}

/**
 * What `find` finds in the module. The module and what it exports have a limited time, and nothing of it is stopped afterwards.
 *
 * @throws Error that says why it could not be loaded.
 */
export async function fromModule<T>(
  given: Given,
  {
    world,
    find,
  }: {
    world: World;
    find: (module: object, sought: { file: string; name: string | undefined }) => Promise<T>;
  },
): Promise<T> {
  const file = given.operand ?? "";
  if (/^(?!file:)[a-z][a-z0-9+.-]+:\/\//i.test(file))
    throw usageError(
      "The argument is a URL, and a file is needed. A URL with a password does not belong on the command line.",
    );
  const seconds = secondsIn(given);
  async function load(): Promise<T> {
    const module = await world.importFile(file).catch((error: unknown) => {
      const { nodeVersion } = world;
      throw new Error(
        `${quoted(file)} could not be loaded: ${reasonOf(error, { file, nodeVersion })}${placeOf(error)}`,
        { cause: error },
      );
    });
    return find(module, { file: quoted(file), name: given.options["export"] });
  }
  const what = `${quoted(file)} was not ready after ${seconds} seconds: it waits for something at its top level, or a promise that it exports never settles. Nothing was checked. A module of options should wait for nothing; --timeout SECONDS gives it longer.`;
  return world.within(load(), { seconds, what });
}
