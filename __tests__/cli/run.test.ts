/** How a command is found and run, and what becomes of what it gives or throws. */
import { usageError } from "../../lib/cli/command";
import { failure } from "../../lib/cli/run";
import { failed, ran, randomToken, wronglyWritten } from "./world";

const known =
  "Known commands: secret, signing-key, client-secret, client-key, check, migrate, migrations, clients, help.";
const advice =
  "This is a secret for the secrets option. Store it where you keep secrets. Every process needs the same one.\n";

describe("a command", () => {
  it("is run: its result is on stdout, and what to do with it on stderr", async () => {
    expect(await ran(["secret"])).toEqual({ exitCode: 0, stdout: `${randomToken}\n`, stderr: advice });
  });

  it.each([[["secret", "--json"]], [["--json", "secret"]]])(
    "gives JSON on stdout, and no more: %j",
    async (args) => {
      const stdout = `{\n  "secret": "${randomToken}"\n}\n`;
      expect(await ran(args)).toEqual({ exitCode: 0, stdout, stderr: "" });
    },
  );

  it.each([
    [["chekc"], `Unknown command "chekc". Did you mean "check"? ${known}`],
    [["hlep"], `Unknown command "hlep". Did you mean "help"? ${known}`],
    [["schlüssel"], `Unknown command "schlüssel". ${known}`],
    [[""], `Unknown command "". ${known}`],
    [["postgres://anna:hunter2@host"], `Unknown command a URL. ${known}`],
    [["--bogus"], 'Unknown option "--bogus". See: authmount help.'],
    [["--bogus", "-x"], 'Unknown option "--bogus". See: authmount help.'],
    [["--", "--json"], 'Unknown option "--". See: authmount help.'],
    [["secret", "mine"], 'Unexpected argument "mine". See: authmount help secret.'],
    [["secret", "--", "--json"], 'Unexpected argument "--json". See: authmount help secret.'],
    [["--bogus", "secret"], 'Unknown option "--bogus". Known options: --json, --help.'],
    [["secret", "-v"], 'Unknown option "-v". Known options: --json, --help.'],
  ])("is not run if it was written wrongly: %j", async (args, message) => {
    expect(await ran(args)).toEqual(wronglyWritten(message));
  });

  it.each([
    [["--json", "chekc"], `Unknown command "chekc". Did you mean "check"? ${known}`],
    [["--bogus", "--json"], 'Unknown option "--bogus". See: authmount help.'],
    [["--json", "--", "x"], `Unknown command "x". ${known}`],
  ])("is told what is wrong as JSON on stderr: %j", async (args, message) => {
    const stderr = `${JSON.stringify({ error: { code: "usage", message } }, undefined, 2)}\n`;
    expect(await ran(args)).toEqual({ exitCode: 2, stdout: "", stderr });
  });
});

describe("the version", () => {
  it.each(["--version", "-v"])("is that of the package: %s", async (flag) => {
    expect(await ran([flag])).toEqual({ exitCode: 0, stdout: "1.2.3\n", stderr: "" });
    const json = { exitCode: 0, stdout: '{\n  "version": "1.2.3"\n}\n', stderr: "" };
    expect(await ran([flag, "--json"])).toEqual(json);
    expect(await ran(["--json", flag])).toEqual(json);
  });
});

describe("a failure", () => {
  it.each([
    ["an error", new Error("no database"), "no database"],
    [
      "a mistake of the host",
      new TypeError("createAuthServer: apis is missing."),
      "createAuthServer: apis is missing.",
    ],
    ["the same words further on", new Error("a TypeError: b"), "a TypeError: b"],
    ["no error", undefined, "it threw undefined"],
  ])("has exit code 1: %s", (_, error, message) => {
    expect(failure(error, [])).toEqual(failed(message));
    expect(failure(error, ["a", "--json"])).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: `${JSON.stringify({ error: { code: "failed", message } }, undefined, 2)}\n`,
    });
  });

  it("of usage has exit code 2, and its message as it is", () => {
    expect(failure(usageError("TypeError: is\nno word"), [])).toEqual(
      wronglyWritten("TypeError: is\nno word"),
    );
  });

  it("of the world itself is in the result", async () => {
    const world = {
      randomToken: (): string => {
        throw new Error("no random values");
      },
    };
    expect(await ran(["secret"], world)).toEqual(failed("no random values"));
  });
});
