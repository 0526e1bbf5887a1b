/** How a module of the host is imported, how long it may take, and what is said when it cannot be. */
import type { World } from "../../lib/cli/command";
import { fromModule, moduleOptions } from "../../lib/cli/load-module";
import { givenOf, messageOf, worldOf } from "./world";

const find = (module: object, sought: object): Promise<object> => Promise.resolve({ module, sought });

function loaded(
  file: string,
  { options = {}, ...changes }: Partial<World> & { options?: Readonly<Record<string, string>> } = {},
): Promise<object> {
  return fromModule(givenOf(file, options), { world: worldOf(changes), find });
}

/** Why a file that throws this could not be loaded. */
function reasonFor(error: unknown, file = "a.js"): Promise<string> {
  // a module may throw anything
  return messageOf(() => loaded(file, { importFile: () => Promise.reject(error) }));
}

function errorAt(stack: unknown, message = "no database"): Error {
  return Object.assign(new Error(message), { stack });
}

describe("a module", () => {
  const exported = {};
  const importFile = (): Promise<object> => Promise.resolve(exported);

  it("is imported by the path that was written, and its exports are looked at", async () => {
    const asked: string[] = [];
    const world = { importFile: (file: string) => (asked.push(file), importFile()) };
    const { module, sought } = (await loaded("./a.js", { ...world, options: { export: "mine" } })) as Awaited<
      ReturnType<typeof find>
    > & { module: object; sought: object };
    expect(module).toBe(exported);
    expect([sought, asked]).toEqual([{ file: '"./a.js"', name: "mine" }, ["./a.js"]]);
    expect(await loaded("b.js", { importFile })).toHaveProperty("sought", {
      file: '"b.js"',
      name: undefined,
    });
  });

  it.each([
    [undefined, 30],
    ["1", 1],
    ["0009", 9],
    ["3600", 3_600],
  ])("has a limited time: --timeout %s", async (timeout, seconds) => {
    const options: Record<string, string> = timeout === undefined ? {} : { timeout };
    let limit: object = {};
    const within: World["within"] = (work, given) => {
      limit = given;
      return work;
    };
    await loaded("a.js", { importFile, within, options });
    expect(limit).toEqual({
      seconds,
      what: `"a.js" was not ready after ${seconds} seconds: its top level is waiting for something, or a promise that it exports never settles. Nothing was checked. Remove what it waits for, or give it more time with --timeout SECONDS.`,
    });
  });

  it.each(["0", "3601", "00005", "1e3", "0x10", "-5", "2.5", " 5", "ten", ""])(
    "is not imported for as long as --timeout %j",
    async (timeout) => {
      const message = `--timeout "${timeout}" is not a number of seconds. Write 1 to 3600.`;
      expect(await messageOf(() => loaded("a.js", { options: { timeout } }))).toBe(message);
    },
  );

  it.each(["postgres://anna@host/db", "HTTPS://host.example/a.js", "c+1.-://x", "filed://x", "ab://"])(
    "is a file and no URL: %s",
    async (file) => {
      expect(await messageOf(() => loaded(file))).toBe(
        "The argument is a URL. Pass a file. Never put a URL with a password on the command line.",
      );
    },
  );

  it.each([
    "file:///a.js",
    "FILE:///a.js",
    "./postgres://a",
    "c:\\a.js",
    "c://a.js",
    "1a://x",
    "a_b://x",
    "a:b//",
  ])("may have a name that looks a little like a URL: %s", async (file) => {
    expect(await loaded(file, { importFile })).toHaveProperty("module", exported);
  });

  it("has the options that the help names", () => {
    expect(moduleOptions).toEqual({
      export: { value: "NAME", text: "The name of the export to use." },
      timeout: { value: "SECONDS", text: "How long to wait for the module to load. Default: 30." },
    });
  });
});

const withCode = (code: unknown): Error => Object.assign(errorAt(""), { code });
const noTypeScript = `could not be loaded: This Node.js (v20.1.2) cannot read TypeScript. Use the compiled file, upgrade to Node.js 22.18 or newer, or set NODE_OPTIONS="--import tsx" with tsx installed.`;

describe("a module that cannot be loaded", () => {
  it.each([
    ["undefined", undefined, "it threw undefined."],
    ["null", null, "it threw null."],
    ["a text", "CANARY", "it threw a string."],
    ["an error without a place", errorAt(""), "no database."],
    ["an error that ends with a full stop", errorAt("", "no database."), "no database."],
    ["a code that is not known", withCode("ERR_OTHER"), "no database."],
    ["a code that every object has", withCode("constructor"), "no database."],
    [
      "TypeScript that is more than types",
      withCode("ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"),
      "no database. Node.js only strips types, and this file needs a compiler. Use the compiled file.",
    ],
    [
      "await at the top level",
      withCode("ERR_REQUIRE_ASYNC_MODULE"),
      "no database. A module with top-level await cannot be loaded with require(). Use import.",
    ],
    ["another kind of file", withCode("ERR_UNKNOWN_FILE_EXTENSION"), "no database."],
  ])("says why: %s", async (_, error, reason) => {
    expect(await reasonFor(error)).toBe(`"a.js" could not be loaded: ${reason}`);
  });

  it("keeps the cause", async () => {
    const cause = errorAt("");
    await expect(loaded("a.js", { importFile: () => Promise.reject(cause) })).rejects.toHaveProperty(
      "cause",
      cause,
    );
  });

  it.each(["a.ts", "a.cts", "a.mts", "a.tsx", "a.mtsx"])(
    "says what helps with TypeScript: %s",
    async (file) => {
      const error = withCode("ERR_UNKNOWN_FILE_EXTENSION");
      expect(await reasonFor(error, file)).toBe(`"${file}" ${noTypeScript}`);
      expect(await reasonFor(withCode("ERR_OTHER"), file)).toBe(
        `"${file}" could not be loaded: no database.`,
      );
    },
  );

  it.each(["a.ts.txt", "a.xts", "ats", "a.s"])("%s is no TypeScript", async (file) => {
    const reason = await reasonFor(withCode("ERR_UNKNOWN_FILE_EXTENSION"), file);
    expect(reason).toBe(`"${file}" could not be loaded: no database.`);
  });
});

describe("the place of an error in the files of the host (the stack of V8)", () => {
  it.each([
    ["file:///app/a.js:3\nconst a = ;\n    at x (/b.js:1:2)", "at file:///app/a.js:3"],
    ["/app/a.js:30\nconst a = ;", "at /app/a.js:30"],
    ["/app/a.js:30", "at /app/a.js:30"],
    ["C:\\app\\a.js:3\nconst a = ;", "at C:\\app\\a.js:3"],
    ["d:\\a.js:3", "at d:\\a.js:3"],
    ["/app/\u0007a.js:3", "at /app/\\u0007a.js:3"],
    ["Error: no\n    at file:///app/a.js:3:14\n    at /b.js:1:1", "at file:///app/a.js:3:14"],
    ["Error: no\n    at run (/app/a.js:3:14)", "at run (/app/a.js:3:14)"],
    ["Error: no\n\tat C:\\a.js:13:1", "at C:\\a.js:13:1"],
    ["Error: no\n    at node:internal/a:1:1\n    at x (node:fs/b:1:1)\n    at /a.js:1:1", "at /a.js:1:1"],
    [
      "Error: no\n    at /a.js:1:1 and more\n    at /b.js:2\nat /c.js:1:1\nx    at /d.js:1:1\n  at /e.js:1:1",
      "at /e.js:1:1",
    ],
    ["Error: no\n    at <anonymous>:1:1\n    at /a.js:1:1", "at /a.js:1:1"],
  ])("is told: %j", async (stack, place) => {
    expect(await reasonFor(errorAt(stack))).toBe(`"a.js" could not be loaded: no database. (${place})`);
  });

  it.each([
    ["Error: no"],
    ["Error: no\n/app/a.js:3"],
    ["x/app/a.js:3\n"],
    ["/app/a.js\n"],
    ["/app/a.js:3 and more"],
    ["1:\\a.js:3"],
    ["Error: no\n    at node:internal/a:1:1"],
    ["Error: no\n    at x\\y"],
    [5],
    [undefined],
  ])("is not guessed: %j", async (stack) => {
    expect(await reasonFor(errorAt(stack))).toBe('"a.js" could not be loaded: no database.');
  });

  it("of a syntax error is told by Node.js, if the stack does not have it", async () => {
    const error = Object.assign(new SyntaxError("odd"), { stack: "SyntaxError: odd" });
    expect(await reasonFor(error)).toBe(
      '"a.js" could not be loaded: SyntaxError: odd. To see where, run it with: node --check',
    );
    error.stack = "/a.js:3";
    expect(await reasonFor(error)).toBe('"a.js" could not be loaded: SyntaxError: odd. (at /a.js:3)');
  });
});
