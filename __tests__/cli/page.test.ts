/** The commands of docs/command-line.md, as they stand on the page, one after the other. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { commands } from "../../lib/cli/commands";
import { type Ended, type HostFolder, hostFolder, program, runProgram } from "../fixture/command-line";
import { codeBelow } from "../fixture/doc-block";

const page = "command-line.md";
let host: HostFolder;

beforeAll(async () => {
  host = await hostFolder(["libsql", "better-sqlite3"]);
});
afterAll(() => host.remove());

/** Runs the nth block of commands below a heading, in the folder of the host. */
function run(
  heading: string,
  { index = 0, env = {} }: { index?: number; env?: Record<string, string> } = {},
): Promise<Ended> {
  const written = codeBelow(page, heading, "sh")[index] ?? "exit 99";
  const command = written.replaceAll("npx authmount", `"${process.execPath}" "${program}"`);
  return runProgram("sh", ["-ec", command], { cwd: host.folder, env });
}

const made = (file: string): string => readFileSync(path.join(host.folder, file), "utf8").trim();

describe("docs/command-line.md", () => {
  it("names every command", () => {
    const text = readFileSync(path.join(__dirname, "../../docs", page), "utf8");
    expect(commands.filter(({ name }) => !text.includes(`| \`${name}`)).map(({ name }) => name)).toEqual([]);
  });

  it("makes keys and secrets, adds a key, checks the options with them, and migrates", async () => {
    expect(await run("Keys and secrets")).toMatchObject({ code: 0 });
    const first = made("signing-keys.json");
    const added = await run("Keys and secrets", { index: 1, env: { SIGNING_KEYS: first } });
    expect(added).toMatchObject({ code: 0 });

    const [module = ""] = codeBelow(page, "Check your options", "js");
    await host.write("auth-options.mjs", module);
    const settings = {
      BASE_URL: "https://host.example/login",
      SIGNING_KEYS: added.stdout,
      AUTHMOUNT_SECRET: made("secret.txt"),
    };
    const checked = await run("Check your options", { env: settings });
    expect(checked).toMatchObject({ code: 0, stderr: "" });
    expect(checked.stdout).toContain("Checked as in production: no problems, no weak spots, no notes.");
    expect(await run("Check your options")).toMatchObject({ code: 1 });

    expect(await run("Migrations", { env: settings })).toMatchObject({ code: 0 });
    expect((await run("Migrations", { index: 1 })).stdout).toContain("-- authmount, version 4\nCREATE TABLE");
  });
});
