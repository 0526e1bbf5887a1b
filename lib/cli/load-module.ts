/** Imports a module of the host, finds the options or the storage in what it exports, and says in words why that has failed. */
import { type CommandOption, type Given, usageError, type World } from "./command";
import { errorSentence, printable, quoted } from "./wording";
import type { AuthServerOptions } from "../options/options";
import { hostMistake } from "../protocol/mistake";

const defaultSeconds = 30;

/** The options of commands that import a module. */
export const moduleOptions: Readonly<Record<string, CommandOption>> = {
  export: { value: "NAME", text: "The name of the export to use." },
  timeout: {
    value: "SECONDS",
    text: `How long to wait for the module to load. Default: ${defaultSeconds}.`,
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
    " Node.js only strips types, and this file needs a compiler. Use the compiled file.",
  ],
  ["ERR_REQUIRE_ASYNC_MODULE", " A module with top-level await cannot be loaded with require(). Use import."],
]);

/** Why a module could not be loaded, without what was thrown if that is no error. */
function reasonOf(error: unknown, { file, nodeVersion }: { file: string; nodeVersion: string }): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  if (code === "ERR_UNKNOWN_FILE_EXTENSION" && /\.[cm]?tsx?$/.test(file))
    return `This Node.js (${nodeVersion}) cannot read TypeScript. Use the compiled file, upgrade to Node.js 22.18 or newer, or set NODE_OPTIONS="--import tsx" with tsx installed.`;
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
      "The argument is a URL. Pass a file. Never put a URL with a password on the command line.",
    );
  const seconds = secondsIn(given);
  async function load(): Promise<T> {
    const module = await world.importFile(file).catch((error: unknown) => {
      const { nodeVersion } = world;
      throw hostMistake(
        "module-not-loaded",
        `${quoted(file)} could not be loaded: ${reasonOf(error, { file, nodeVersion })}${placeOf(error)}`,
        { cause: error },
      );
    });
    return find(module, { file: quoted(file), name: given.options["export"] });
  }
  const what = `${quoted(file)} was not ready after ${seconds} seconds: its top level is waiting for something, or a promise that it exports never settles. Nothing was checked. Remove what it waits for, or give it more time with --timeout SECONDS.`;
  return world.within(load(), { seconds, what });
}

type Exports = Readonly<Record<string, unknown>>;

/** What is looked for, and how a host would write it. */
interface Sought {
  /** The name that the host has written: nothing else is taken then. */
  readonly name: string | undefined;
  /** The names that are tried otherwise, the first one first. */
  readonly names: readonly string[];
  /** A default export with one of these is itself what is sought. */
  readonly members: readonly string[];
}

function isRecord(value: unknown): value is Exports {
  return typeof value === "object" && value !== null;
}

/** What `module.exports` or the default export is, also where a compiler has put it into an object. */
async function mainOf(module: Exports): Promise<unknown> {
  const main = await module["default"];
  return isRecord(main) && main["__esModule"] === true && "default" in main ? await main["default"] : main;
}

/** A function that makes something. An Express app is a function too, but takes requests. */
function isMaker(value: unknown): value is () => unknown {
  return typeof value === "function" && !("listen" in value) && value.length === 0;
}

async function valueOf(value: unknown, name: string): Promise<unknown> {
  if (!isMaker(value)) return value;
  try {
    return await value();
  } catch (error) {
    throw hostMistake(
      "module-export-failed",
      `${name} was called without arguments and failed: ${errorSentence(error)}`,
      { cause: error },
    );
  }
}

async function findExport(module: Exports, { name, names, members }: Sought): Promise<unknown> {
  const main = await mainOf(module);
  const tried = name === undefined ? names : [name];
  for (const one of tried) {
    if (one in module) return valueOf(await module[one], one);
    if (isRecord(main) && one in main) return valueOf(await main[one], one);
  }
  const made = await valueOf(main, "the default export");
  if (!isRecord(made)) return undefined;
  const named = tried.find((one) => one in made);
  if (named !== undefined) return valueOf(await made[named], named);
  return name === undefined && members.some((one) => one in made) ? made : undefined;
}

function exportsOf(module: Exports, file: string): string {
  const names = Object.keys(module).slice(0, 20).map(printable);
  return names.length === 0 ? `${file} exports nothing.` : `${file} exports: ${names.join(", ")}.`;
}

const optionNames: readonly (keyof AuthServerOptions)[] = ["baseUrl", "storage", "authMethods", "apis"];

/**
 * The options that a module exports, by this name or else as `options` or by default.
 *
 * @throws Error that says what the module exports instead.
 */
export async function optionsIn(
  module: object,
  { file, name }: { readonly file: string; readonly name: string | undefined },
): Promise<AuthServerOptions> {
  const found = await findExport(module as Exports, { name, names: ["options"], members: optionNames });
  if (isRecord(found) && !Array.isArray(found)) return found as unknown as AuthServerOptions;
  throw hostMistake(
    "module-without-options",
    `No options found. ${exportsOf(module as Exports, file)} Export the object that you pass to createAuthServer as ${printable(name ?? "options")}, or a function without parameters that returns it. The module must not call createAuthServer.`,
  );
}

/**
 * The storage that a module exports, as `storage` or as part of its options.
 *
 * @throws Error that says what the module exports instead.
 */
export async function storageIn(
  module: object,
  { file, name }: { readonly file: string; readonly name: string | undefined },
): Promise<Exports> {
  const sought = { name, names: ["storage", "options"], members: ["authorizationCodes"] };
  const found = await findExport(module as Exports, sought);
  const storage = isRecord(found) && isRecord(found["storage"]) ? found["storage"] : found;
  if (isRecord(storage)) return storage;
  throw hostMistake(
    "module-without-storage",
    `No storage found. ${exportsOf(module as Exports, file)} Export the storage as ${printable(name ?? "storage")}, or the options that contain it as ${printable(name ?? "options")}, or a function without parameters that returns one of these.`,
  );
}
