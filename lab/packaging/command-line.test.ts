/** `npx authmount` in a project that has installed the packed package. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { type Ended, optionsModule, runProgram } from "../../__tests__/servers/command-line";
import { pack, type Packed } from "./packed-host";

let packed: Packed;
let host: string;

beforeAll(async () => {
  packed = await pack();
  host = await packed.install("express");
});

afterAll(() => packed.remove());

function npx(args: readonly string[], folder = host): Promise<Ended> {
  return runProgram("npx", ["--no", "--offline", "authmount", ...args], { cwd: folder });
}

describe("npx authmount", () => {
  it("prints a key that can be piped", async () => {
    const { code, stdout } = await npx(["signing-key"]);
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ alg: "ES256" })]);
  });

  it("checks options, from a folder of the project too", async () => {
    await mkdir(path.join(host, "config"));
    await writeFile(path.join(host, "config/options.mjs"), optionsModule());
    const { code, stdout } = await npx(["check", "options.mjs"], path.join(host, "config"));
    expect([code, stdout]).toEqual([0, expect.stringContaining("Checked for development: no problems")]);
  });

  it("passes the exit code on", async () => {
    expect((await npx(["check", "missing.js"])).code).toBe(1);
    expect((await npx(["chekc"])).code).toBe(2);
  });

  it("has the version of the package", async () => {
    const manifest = await readFile(path.join(host, "node_modules/authmount/package.json"), "utf8");
    expect((await npx(["--version"])).stdout).toBe(
      `${(JSON.parse(manifest) as { version: string }).version}\n`,
    );
  });
});
