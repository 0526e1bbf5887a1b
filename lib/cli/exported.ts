/** Finds the options or the storage in what a host's module exports: a value, a promise, or a function that makes it. */
import type { AuthServerOptions } from "../options/options";
import { errorText, printable } from "./wording";

type Exports = Readonly<Record<string, unknown>>;

/** What is looked for, and how a host would write it. */
interface Sought {
  /** The file, as it was written. */
  readonly file: string;
  /** The names that are tried, the first one first. */
  readonly names: readonly string[];
  /** True for a default export that is itself what is sought. */
  readonly isIt: (value: Exports) => boolean;
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
    throw new Error(`${name} was called without arguments, and failed: ${errorText(error)}.`, {
      cause: error,
    });
  }
}

async function find(module: Exports, { names, isIt }: Sought): Promise<unknown> {
  const main = await mainOf(module);
  for (const name of names) {
    if (name in module) return valueOf(await module[name], name);
    if (isRecord(main) && name in main) return valueOf(await main[name], name);
  }
  const made = await valueOf(main, "the default export");
  if (!isRecord(made)) return undefined;
  const named = names.find((name) => name in made);
  if (named !== undefined) return valueOf(await made[named], named);
  return isIt(made) ? made : undefined;
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
  const isIt = (value: Exports): boolean => optionNames.some((one) => one in value);
  const names = [name ?? "options"];
  const found = await find(module as Exports, { file, names, isIt: name === undefined ? isIt : () => false });
  if (isRecord(found) && !Array.isArray(found)) return found as unknown as AuthServerOptions;
  throw new Error(
    `No options were found. ${exportsOf(module as Exports, printable(file))} Export the object that you pass to createAuthServer as ${printable(name ?? "options")}, or a function without parameters that returns it. The module must not call createAuthServer.`,
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
  const isIt = (value: Exports): boolean => "authorizationCodes" in value || isRecord(value["storage"]);
  const names = name === undefined ? ["storage", "options"] : [name];
  const found = await find(module as Exports, { file, names, isIt });
  const storage = isRecord(found) && isRecord(found["storage"]) ? found["storage"] : found;
  if (isRecord(storage)) return storage;
  throw new Error(
    `No storage was found. ${exportsOf(module as Exports, printable(file))} Export it as storage, or the options that have it as options, or a function without parameters that returns one of them.`,
  );
}
