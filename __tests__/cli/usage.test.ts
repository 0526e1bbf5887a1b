/** How the command line is called: help, exit codes, and what it says of what it does not know. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { commands, runCommandLine } from "../../lib/cli/run";
import type { World } from "../../lib/cli/command";
import { version } from "../../package.json";
import { authmount, jsonOf, program, runProgram } from "../servers/command-line";

/** Nothing of it is asked for before the arguments are right. */
const world = { env: {}, clock: () => 1_800_000_000 } as unknown as World;
const names = commands.map(({ name }) => name);

describe("authmount help", () => {
  it("lists every command, with the exit codes", async () => {
    const { code, stdout, stderr } = await authmount(["help"]);
    expect([code, stderr]).toEqual([0, ""]);
    for (const name of names) expect(stdout).toContain(`\n  ${name} `);
    expect(stdout).toContain("Exit codes: 0");
  });

  it.each(["--help", "-h"])("is what %s prints", async (flag) => {
    expect(await authmount([flag])).toEqual(await authmount(["help"]));
  });

  it.each(names)("of %s has an example and what comes next, by both ways", async (name) => {
    const byCommand = await authmount(["help", name]);
    expect(byCommand).toMatchObject({ code: 0, stderr: "" });
    // a line that writes a secret into a file has its own umask
    expect(byCommand.stdout).toMatch(new RegExp(`\n  (?:\\(umask 077; )?npx authmount ${name}`));
    expect(byCommand.stdout).toContain("\nNext: ");
    expect(byCommand.stdout).toContain("--json");
    expect(await authmount([name, "--help"])).toEqual(byCommand);
  });

  it("fits a terminal of 140 columns", async () => {
    for (const name of names) {
      const { stdout } = await runCommandLine({ args: ["help", name], version }, world);
      expect(stdout.split("\n").filter((line) => line.length > 140)).toEqual([]);
    }
  });

  it("is JSON with --json", async () => {
    expect(jsonOf(await authmount(["help", "--json"]))).toEqual({ help: expect.stringContaining("Usage") });
  });
});

describe("authmount --version", () => {
  it.each(["--version", "-v"])("is the version of the package: %s", async (flag) => {
    expect(await authmount([flag])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
    expect(jsonOf(await authmount([flag, "--json"]))).toEqual({ version });
  });
});

describe("what is written wrongly", () => {
  it("without a command the help is on stderr, and the exit code is 2", async () => {
    const { code, stdout, stderr } = await authmount([]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("Usage:");
  });

  it.each([
    [["chekc"], 'Unknown command "chekc". Did you mean "check"? Known commands: secret'],
    [["schlüssel"], 'Unknown command "schlüssel". Known commands'],
    [[""], 'Unknown command "".'],
    [["x".repeat(100_000)], `Unknown command "${"x".repeat(80)}…". Known`],
    [["\u001b[2Jkeys"], 'Unknown command "\\u001b[2Jkeys"'],
    [["help", "chck"], 'Did you mean "check"?'],
    [["help", "check", "secret"], "help takes the name of one command."],
    [["--bogus"], 'Unknown option "--bogus".'],
    [["check"], "FILE is missing: authmount check FILE."],
    [["check", "a", "b"], 'Unexpected argument "b". See: authmount help check.'],
    [["check", ""], "FILE is empty."],
    [["check", "a", "--jsno"], 'Unknown option "--jsno". Did you mean "json"? Known options: --production'],
    [["check", "a", "--constructor"], 'Unknown option "--constructor".'],
    [["check", "a", "--timeout"], "--timeout needs a value: --timeout SECONDS."],
    [["check", "a", "--timeout", "--strict"], "--timeout needs a value"],
    [["check", "a", "--timeout", "0"], '--timeout "0" is not a number of seconds.'],
    [["check", "a", "--timeout=1e3"], '--timeout "1e3" is not a number of seconds.'],
    [["check", "a", "--strict=no"], "--strict takes no value."],
    [["check", "a", "--strict", "--strict"], "--strict is given twice."],
    [["secret", "mine"], 'Unexpected argument "mine".'],
    [["signing-key", "--alg", "es256"], 'Did you mean "ES256"? Write one of: ES256, ES384'],
    [["signing-key", "--alg", "HS256"], '--alg "HS256" is unknown.'],
    [["signing-key", "--signs-from", "tomorrow"], '--signs-from "tomorrow" is not a time. Write +10m'],
    [["signing-key", "--signs-from", "2020-01-01T00:00:00Z"], "--signs-from is in the past."],
    [["signing-key", "--signs-from", "2999-13-41T00:00:00Z"], "is not a time"],
    [["signing-key", "--signs-from", "+999999d"], "more than a year ahead"],
    [["signing-key", "--list", "--add-to", "KEYS"], "--list cannot be used with --add-to"],
    [["signing-key", "--list", "--signs-from", "+1h"], "--list cannot be used with --signs-from"],
    [["signing-key", "--add-to", "[{}]"], "--add-to takes the name of an environment variable"],
    [["migrations"], "--engine is missing"],
    [["migrations", "--engine", "oracle"], '--engine "oracle" is unknown.'],
    [["migrations", "--engine", "sqlite"], "npx authmount migrate --sqlite FILE"],
    [["migrations", "--engine", "redis"], "Redis has no tables"],
    [["migrations", "--engine", "postgres", "--from", "0"], "Write a number from 1 to"],
    [["migrations", "--engine", "postgres", "--from", "99"], "Write a number from 1 to"],
    [["migrations", "--engine", "postgres", "--prefix", "a; DROP"], "--prefix must be 1 to 30"],
    [["migrate"], "Nothing to migrate."],
    [["migrate", "a.js", "--sqlite", "b"], "Pass only one of: a module, --postgres, --mysql, --sqlite."],
    [["migrate", "a.js", "--prefix", "b"], "--prefix works only with --postgres"],
    [["migrate", "--sqlite", "b", "--timeout", "3"], "--timeout works only with a module."],
  ] as const)("exit code 2, and one line on stderr: %j", async (args, message) => {
    const plain = await runCommandLine({ args, version }, world);
    expect([plain.exitCode, plain.stdout]).toEqual([2, ""]);
    expect(plain.stderr).toMatch(/^authmount: .*\n$/);
    expect(plain.stderr).toContain(message);
    const json = await runCommandLine({ args: ["--json", ...args], version }, world);
    expect([json.exitCode, json.stdout]).toEqual([2, ""]);
    expect(JSON.parse(json.stderr)).toEqual({
      error: { code: "usage", message: expect.stringContaining(message) as string },
    });
  });

  it("is told by the process too", async () => {
    const { code, stdout, stderr } = await authmount(["chekc"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^authmount: Unknown command "chekc"/);
    const json = await authmount(["chekc", "--json"]);
    expect([json.code, json.stdout]).toEqual([2, ""]);
    expect(JSON.parse(json.stderr)).toHaveProperty("error.code", "usage");
  });

  it.each([
    ["check", "postgres://anna:hunter22@host/db"],
    ["migrate", "postgres://anna:hunter22@host/db"],
    ["migrate", "--postgres", "postgres://anna:hunter22@host/db"],
    ["migrations", "--engine", "postgres://anna:hunter22@host/db"],
    ["secret", "postgres://anna:hunter22@host/db"],
  ])("a URL with a password is not repeated: %s %s", async (...args) => {
    const { code, stdout, stderr } = await authmount(args);
    expect(code).toBe(2);
    expect(stdout + stderr).not.toContain("hunter22");
  });
});

describe("stdout and stderr", () => {
  it("whoever closes stdout early is no failure", async () => {
    const child = spawn(process.execPath, [program, "migrations", "--engine", "postgres"]);
    child.stdout.destroy();
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => void (stderr += chunk.toString()));
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect([code, stderr]).toEqual([0, ""]);
  });

  it("a result that cannot be written is a failure, not a secret that nobody has", async () => {
    if (!existsSync("/dev/full")) return;
    const line = '"$0" "$1" secret > /dev/full';
    const ended = await runProgram("/bin/sh", ["-c", line, process.execPath, program]);
    expect(ended).toEqual({
      code: 1,
      stdout: "",
      stderr: "authmount: the result could not be written (ENOSPC).\n",
    });
  });

  it("all of a long result arrives", async () => {
    const { stdout } = await authmount(["migrations", "--engine", "postgres", "--json"]);
    const { migrations } = JSON.parse(stdout) as { migrations: { version: number; sql: string }[] };
    expect(migrations.map(({ version: each }) => each)).toEqual(migrations.map((_, index) => index + 1));
  });
});

it("the main entry does not load the command line", async () => {
  const text = `require(${JSON.stringify(path.join(__dirname, "../../dist/index.js"))});
    console.log(Object.keys(require.cache).filter((file) => /dist.cli[.\\\\/]|weaknesses|options.refused-options/.test(file)).length)`;
  expect((await runProgram(process.execPath, ["-e", text])).stdout).toBe("0\n");
});
