/** Finds the options or the storage in what a host's module exports: a value, a promise, or a function that makes it. */
import type { AuthServerOptions } from "../options/options";
import { errorSentence, printable } from "./wording";

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
    throw new Error(`${name} was called without arguments, and failed: ${errorSentence(error)}`, {
      cause: error,
    });
  }
}

async function find(module: Exports, { name, names, members }: Sought): Promise<unknown> {
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
  const found = await find(module as Exports, { name, names: ["options"], members: optionNames });
  if (isRecord(found) && !Array.isArray(found)) return found as unknown as AuthServerOptions;
  throw new Error(
    `No options were found. ${exportsOf(module as Exports, file)} Export the object that you pass to createAuthServer as ${printable(name ?? "options")}, or a function without parameters that returns it. The module must not call createAuthServer.`,
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
  const found = await find(module as Exports, sought);
  const storage = isRecord(found) && isRecord(found["storage"]) ? found["storage"] : found;
  if (isRecord(storage)) return storage;
  throw new Error(
    `No storage was found. ${exportsOf(module as Exports, file)} Export it as ${printable(name ?? "storage")}, or the options that have it as ${printable(name ?? "options")}, or a function without parameters that returns one of them.`,
  );
}
