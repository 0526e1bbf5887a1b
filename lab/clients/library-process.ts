/** The program of a library, in a process of its own, as somebody has copied it from the guide. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";

const repository = path.resolve(__dirname, "../..");
const python = "/usr/bin/python3";

/** The program of a library that runs. */
export interface LibraryProgram {
  /** The names that it exports. */
  readonly exported: readonly string[];
  /** Calls one of its functions; rejects with what the function throws. */
  call(name: string, ...given: readonly unknown[]): Promise<unknown>;
  stop(): Promise<void>;
}

/** Python with these modules, and whether it is here. */
export function pythonWith(modules: readonly string[]): { readonly name: string; readonly found: boolean } {
  const { status } = spawnSync(python, ["-c", `import ${modules.join(", ")}`]);
  return { name: `Python with ${modules.join(" and ")}`, found: status === 0 };
}

interface Answer {
  readonly value?: unknown;
  readonly error?: string;
}

/** Where the program is, and what it finds in its environment. */
export interface LibraryProgramSettings {
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
}

function commandFor(file: string): readonly [string, readonly string[]] {
  return file.endsWith(".py")
    ? [python, [path.join(__dirname, "library_program.py"), file]]
    : [process.execPath, [path.join(__dirname, "library-program.mjs"), file]];
}

/** Starts it, and waits until it has been loaded. */
export async function startLibraryProgram({ file, env }: LibraryProgramSettings): Promise<LibraryProgram> {
  const [command, args] = commandFor(file);
  const child = spawn(command, args, { env: { ...process.env, ...env } });
  const kill = (): void => void child.kill();
  process.once("exit", kill);
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  void ended.then(() => process.off("exit", kill));
  let complaints = "";
  child.stderr.on("data", (chunk: Buffer) => (complaints += chunk.toString()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();

  async function read(): Promise<unknown> {
    const { value: line, done } = await lines.next();
    if (done) throw new Error(`${path.basename(file)} has ended: ${complaints}`);
    const { value, error } = JSON.parse(line) as Answer;
    if (error !== undefined) throw new Error(error);
    return value;
  }

  return {
    exported: (await read()) as readonly string[],
    call(name, ...given) {
      child.stdin.write(`${JSON.stringify({ name, given })}\n`);
      return read();
    },
    stop() {
      child.kill();
      return ended;
    },
  };
}

const copies: string[] = [];

/** A copy of a program in which something is written in another way, where it finds the same packages. */
export async function changedProgram(file: string, [from, to]: readonly [string, string]): Promise<string> {
  const text = await readFile(file, "utf8");
  if (text.split(from).length !== 2) throw new Error(`${path.basename(file)} does not have once: ${from}`);
  const cache = path.join(repository, "lab/node_modules", ".cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(path.join(cache, "authmount-program-"));
  copies.push(folder);
  const copy = path.join(folder, path.basename(file));
  await writeFile(
    copy,
    text.replace(from, () => to),
  );
  return copy;
}

/** Removes these copies. */
export async function removeChangedPrograms(): Promise<void> {
  for (const folder of copies.splice(0)) await rm(folder, { recursive: true });
}

/** The version of an installed package: most are in the laboratory only. */
export function versionOf(name: string): string {
  const folders = ["lab/node_modules", "node_modules"].map((folder) => path.join(repository, folder, name));
  const folder = folders.find((each) => existsSync(each)) ?? name;
  const manifest = readFileSync(path.join(folder, "package.json"), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
