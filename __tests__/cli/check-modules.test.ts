/** The modules that `authmount check` is given: every way of exporting options, and everything that can go wrong with one. */
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { type HostFolder, hostFolder, jsonOf, optionsModule } from "../servers/command-line";

let host: HostFolder;

beforeAll(async () => {
  host = await hostFolder();
  await host.write("options.mjs", optionsModule());
  await mkdir(path.join(host.folder, "folder"));
});
afterAll(() => host.remove());

const commonjs = optionsModule()
  .replace(/import (.*) from "authmount";/, 'const $1 = require("authmount");')
  .replace("export const options", "const options");

describe("a module exports its options", () => {
  const again = 'import { options as own } from "./options.mjs";\n';
  it.each([
    ["by name", "a.mjs", `${again}export const options = own;`],
    ["as a promise", "b.mjs", `${again}export const options = Promise.resolve(own);`],
    ["as a function", "c.mjs", `${again}export function options() { return own; }`],
    ["as an async function", "d.mjs", `${again}export const options = async () => own;`],
    ["by default", "e.mjs", `${again}export default own;`],
    ["by default, as a function", "f.mjs", `${again}export default () => own;`],
    ["by default, in an object", "g.mjs", `${again}export default { options: own };`],
    ["after waiting", "h.mjs", `${again}await 1; export const options = own;`],
    ["as module.exports", "j.cjs", `${commonjs} module.exports = options;`],
    ["as a property of module.exports", "k.cjs", `${commonjs} exports.options = options;`],
    ["as a promise in module.exports", "l.cjs", `${commonjs} module.exports = (async () => options)();`],
    [
      "compiled from a default export",
      "m.cjs",
      `${commonjs} exports.__esModule = true; exports.default = options;`,
    ],
    ["from a .js without a package.json", "n.js", `${commonjs} module.exports = { options };`],
    ["with a name in other letters", "ö ñ%20#1.mjs", `${again}export const options = own;`],
  ])("%s", async (_, file, text) => {
    await host.write(file, text);
    const ended = await host.run(["check", file, "--json"]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(jsonOf(ended)).toMatchObject({ ok: true, problems: [] });
  });

  it("by another name, with --export", async () => {
    await host.write("named.mjs", `${again}export const mine = own;`);
    expect(await host.run(["check", "named.mjs", "--export", "mine"])).toMatchObject({ code: 0 });
    const missing = await host.run(["check", "named.mjs", "--export", "toString"]);
    expect(missing.stderr).toContain("exports: mine. Export the object");
  });

  it("by its absolute path, a path through other folders, and a file URL", async () => {
    const file = path.join(host.folder, "options.mjs");
    for (const written of [file, "./folder/../options.mjs", pathToFileURL(file).href])
      expect(await host.run(["check", written])).toMatchObject({ code: 0 });
  });
});

describe("a module that cannot be checked: exit code 1, and one line that says why", () => {
  const never = "new Promise(() => {})";
  const waiting = ["waits.mjs", "promise.mjs", "function.mjs"];
  it.each([
    [
      "throws.mjs",
      'throw new Error("no database here");',
      /could not be loaded: no database here\. \(at .*throws\.mjs/,
    ],
    ["undefined.cjs", "throw undefined;", /it threw undefined\./],
    ["text.cjs", 'throw "CANARY of a text";', /it threw a string\./],
    ["object.cjs", 'throw { password: "CANARY" };', /it threw an object that is not an Error\./],
    [
      "json.mjs",
      `export const options = { signingKeys: JSON.parse("[CANARY-of-a-key]") };`,
      /could not be loaded: SyntaxError: a text that was parsed is not valid JSON\. \(at .*json\.mjs/,
    ],
    [
      "json.cjs",
      'exports.options = () => JSON.parse("CANARY");',
      /options was called without arguments and failed: SyntaxError: a text that was parsed is not valid JSON\./,
    ],
    ["syntax.mjs", "const a = ;", /could not be loaded: SyntaxError: .*(?:syntax\.mjs:1|node --check)/],
    ["imports.mjs", 'import "nowhere-to-be-found";', /Cannot find package 'nowhere-to-be-found'/],
    ["empty.mjs", "", /No options found\. "empty\.mjs" exports nothing\./],
    ["none.mjs", "export const app = 1, server = 2;", /exports: app, server\. Export the object/],
    ["number.mjs", "export const options = 42;", /No options found/],
    ["list.mjs", "export const options = [];", /No options found/],
    ["null.mjs", "export default null;", /No options found/],
    ["app.cjs", "module.exports = Object.assign((req, res) => {}, { listen() {} });", /No options found/],
    [
      "maker.mjs",
      'export default () => { throw new Error("made badly"); };',
      /the default export was called without arguments and failed: made badly\./,
    ],
    ["rejects.mjs", 'export const options = Promise.reject(new Error("refused"));', /refused/],
    [
      "getter.mjs",
      'export const options = { get baseUrl() { throw new Error("in a getter"); } };',
      /could not be read: in a getter/,
    ],
    ["waits.mjs", `await ${never};`, /not ready after 1 seconds: .* Nothing was checked\./],
    ["promise.mjs", `export const options = ${never};`, /not ready after 1 seconds/],
    ["function.mjs", `export const options = () => ${never};`, /not ready after 1 seconds/],
    [
      "late.mjs",
      `setTimeout(() => { throw new Error("late"); }); export const options = ${never};`,
      /The module failed after it was loaded: late\./,
    ],
    [
      "unhandled.mjs",
      `Promise.reject(new Error("unhandled")); export const options = ${never};`,
      /failed after it was loaded: unhandled\./,
    ],
    ["lines.mjs", 'throw new Error("two\\nlines \\u001b[2J");', /two lines \\u001b\[2J/],
    [
      "big.mjs",
      `export const ${Array.from({ length: 5_000 }, (_, index) => `a${index} = 1`).join()};`,
      /exports: a0, a1/,
    ],
  ])("%s", async (file, text, message) => {
    await host.write(file, text);
    // the others may take longer than a second on a slow machine
    const limit = waiting.includes(file) ? ["--timeout", "1"] : [];
    const { code, stdout, stderr } = await host.run(["check", file, ...limit]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^authmount: [^\n]*\n$/);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain("CANARY");
    expect(stderr.length).toBeLessThan(1_500);
  });

  it.each([
    ["there is none", "missing.mjs", /"missing\.mjs" could not be loaded: no such file\.\n/],
    ["it is a folder", "folder", /it is a folder, not a file\.\n/],
  ])("%s", async (_, file, message) => {
    const { code, stderr } = await host.run(["check", file]);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });

  it("TypeScript, where Node.js cannot read it", async () => {
    await host.write("typed.ts", "const a: number = 1; export const options = a;");
    const { code, stderr } = await host.run(["check", "typed.ts"]);
    expect(code).toBe(1);
    // a newer Node.js reads it, and finds no options in it
    expect(stderr).toMatch(
      Reflect.get(process.features, "typescript")
        ? /No options/
        : /cannot read TypeScript\. Use the compiled file, upgrade to Node\.js 22/,
    );
  });

  it("with --json the reason is JSON on stderr", async () => {
    const { code, stdout, stderr } = await host.run(["check", "missing.mjs", "--json"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: "module-not-loaded",
        message: '"missing.mjs" could not be loaded: no such file.',
      },
    });
  });
});

describe("what a module does besides", () => {
  it("a pool or a timer that it leaves open does not keep the check from ending", async () => {
    await host.write("open.mjs", `setInterval(() => {}, 1000);\n${optionsModule()}`);
    expect(await host.run(["check", "open.mjs"])).toMatchObject({ code: 0, stderr: "" });
  });

  it("what it prints is not among the results", async () => {
    await host.write("noise.mjs", `console.log("noise"); process.stdout.write("more");\n${optionsModule()}`);
    const ended = await host.run(["check", "noise.mjs", "--json"]);
    expect(ended.stderr).toBe("noise\nmore");
    expect(jsonOf(ended)).toMatchObject({ ok: true });
  });

  it("a port that it listens on is told", async () => {
    const listen = `import { createServer } from "node:http";
      const server = createServer().listen(0, "127.0.0.1");
      await new Promise((resolve) => server.once("listening", resolve));\n`;
    await host.write("listen.mjs", listen + optionsModule());
    const plain = await host.run(["check", "listen.mjs"]);
    expect(plain.code).toBe(0);
    expect(plain.stderr).toContain("The module listens on a port");
    expect(jsonOf(await host.run(["check", "listen.mjs", "--json"]))).toMatchObject({
      notes: [expect.stringContaining("listens on a port")],
    });
  });

  it("if it ends the process, that is no success", async () => {
    await host.write("exit.mjs", `process.exit(0);\n${optionsModule()}`);
    const { code, stdout, stderr } = await host.run(["check", "exit.mjs"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("the process exited before the command was done");
  });

  it("its listener for events hears nothing, and its adapters are not called", async () => {
    const touchy = `tokens: { decide() { throw new Error("asked"); } },`;
    await host.write("touchy.mjs", optionsModule(touchy));
    expect(await host.run(["check", "touchy.mjs"])).toMatchObject({ code: 0, stderr: "" });
  });
});
