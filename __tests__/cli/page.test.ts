/** The commands of docs/command-line.md, as they stand on the page, one after the other. */
import { readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { commands } from "../../lib/cli/run";
import { type Ended, type HostFolder, hostFolder, program, runProgram } from "../servers/command-line";
import { codeBelow } from "../sources/doc-block";

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
  return inShell(codeBelow(page, heading, "sh")[index] ?? "exit 99", env);
}

/** Runs lines where new files can be read by everybody, as on most machines. */
function inShell(written: string, env: Record<string, string> = {}): Promise<Ended> {
  const command = written.replaceAll("npx authmount", `"${process.execPath}" "${program}"`);
  return runProgram("sh", ["-ec", `umask 022\n${command}`], { cwd: host.folder, env });
}

/** The permissions of a file, as `chmod` writes them. */
const modeOf = (file: string): string => (statSync(path.join(host.folder, file)).mode & 0o777).toString(8);

const made = (file: string): string => readFileSync(path.join(host.folder, file), "utf8").trim();

describe("docs/command-line.md", () => {
  it("names every command", () => {
    const text = readFileSync(path.join(__dirname, "../../docs", page), "utf8");
    expect(commands.filter(({ name }) => !text.includes(`| \`${name}`)).map(({ name }) => name)).toEqual([]);
  });

  it("makes keys and secrets, adds a key, checks the options with them, and migrates", async () => {
    expect(await run("Keys and secrets")).toMatchObject({ code: 0 });
    const first = made("signing-keys.json");
    expect(["secret.txt", "signing-keys.json"].map(modeOf)).toEqual(["600", "600"]);
    const added = await run("Keys and secrets", { index: 1, env: { SIGNING_KEYS: first } });
    expect(added).toMatchObject({ code: 0 });

    const [module = ""] = codeBelow(page, "Check your options", "js");
    await host.write("auth-options.mjs", module);
    const settings = {
      BASE_URL: "https://host.example/oauth",
      SIGNING_KEYS: added.stdout,
      SECRETS: made("secret.txt"),
    };
    const checked = await run("Check your options", { env: settings });
    expect(checked).toMatchObject({ code: 0, stderr: "" });
    expect(checked.stdout).toContain("Checked for production: no problems, no weak spots, no notes.");
    expect(await run("Check your options")).toMatchObject({ code: 1 });

    expect(await run("Migrations", { env: settings })).toMatchObject({ code: 0 });
    expect((await run("Migrations", { index: 1 })).stdout).toContain("-- authmount, version 1\nCREATE TABLE");
  });
});

describe("the lines of the help that write a secret into a file", () => {
  const lines = commands.flatMap(({ name, help }) =>
    [...help.matchAll(/^ {2}(.*> (\S+?)\)?)$/gm)].map(([, line = "", file = ""]) => ({ name, line, file })),
  );
  const secrets = lines.filter(({ name }) => name !== "migrations");

  it("are there for each command that makes one", () => {
    expect(secrets.map(({ name }) => name)).toEqual(["secret", "signing-key", "client-secret", "client-key"]);
  });

  it.each(secrets)("$name: nobody else on the machine can read the file", async ({ line, file }) => {
    rmSync(path.join(host.folder, file), { force: true });
    expect(await inShell(line)).toMatchObject({ code: 0 });
    expect(modeOf(file)).toBe("600");
  });
});
