/** `authmount migrations`: the SQL for other tools, under the names that were asked for. */
import { namesIn } from "../../lib/cli/engines";
import { mysqlMigrations } from "../../lib/mysql";
import { postgresMigrations } from "../../lib/postgres";
import { givenOf, ran, wronglyWritten } from "./world";

const printed = (args: readonly string[]) => ran(["migrations", "--engine", "postgres", ...args]);
const texts = postgresMigrations();
const last = texts.length;

function textOf(all: readonly string[]): string {
  return all.map((sql, index) => `-- authmount, version ${index + 1}\n${sql}`).join("\n");
}

describe("authmount migrations", () => {
  it.each([
    [[], textOf(texts)],
    [["--from", "1"], textOf(texts)],
    [["--from", "000001"], textOf(texts)],
    [["--schema", "auth"], textOf(postgresMigrations({ schema: "auth" }))],
    [["--prefix", "my_", "--from", "1"], textOf(postgresMigrations({ prefix: "my_" }))],
  ])("prints each text with its version: %j", async (args, stdout) => {
    expect(await printed(args)).toEqual({ exitCode: 0, stdout, stderr: "" });
  });

  it("prints each as an entry of JSON", async () => {
    const { stdout, ...others } = await printed(["--json"]);
    const migrations = texts.map((sql, index) => ({ version: index + 1, sql }));
    expect(JSON.parse(stdout)).toEqual({ engine: "postgres", migrations });
    expect(others).toEqual({ exitCode: 0, stderr: "" });
  });

  it("prints those of MySQL, under the same options", async () => {
    const args = ["migrations", "--engine", "mysql", "--schema", "auth", "--prefix", "my_", "--from", "1"];
    const names = { schema: "auth", prefix: "my_" };
    expect(await ran(args)).toEqual({ exitCode: 0, stdout: textOf(mysqlMigrations(names)), stderr: "" });
    expect(JSON.parse((await ran([...args, "--json"])).stdout)).toMatchObject({ engine: "mysql" });
  });

  it.each<readonly [readonly string[], string]>([
    [[], "--engine is missing. Write postgres or mysql."],
    [
      ["--engine", "sqlite"],
      "There is no SQL to print for SQLite: its migrate() is one transaction. Run: npx authmount migrate --sqlite FILE.",
    ],
    [["--engine", "redis"], "Redis has no tables, so there is no SQL."],
    [["--engine", "oracle"], '--engine "oracle" is unknown. Write postgres or mysql.'],
    [["--engine", "constructor"], '--engine "constructor" is unknown. Write postgres or mysql.'],
    [
      ["--engine", "postgers"],
      '--engine "postgers" is unknown. Did you mean "postgres"? Write postgres or mysql.',
    ],
    ...["0", String(last + 1), "0000001", "1e0", "0x1", "-1", "two"].map(
      (from) =>
        [
          ["--engine", "postgres", `--from=${from}`],
          `--from "${from}" is not a migration. Write a number from 1 to ${last}.`,
        ] as const,
    ),
  ])("refuses %j", async (args, message) => {
    expect(await ran(["migrations", ...args])).toEqual(wronglyWritten(message));
  });
});

const plain = "must be 1 to 30 lower-case letters, digits and underscores, and must not begin with a digit.";

describe.each(["postgres", "mysql"] as const)("the names of tables in %s", (engine) => {
  const named = (options: Readonly<Record<string, string>>) => namesIn(givenOf(undefined, options), engine);

  it("are those that were written, and no others", () => {
    expect(named({})).toStrictEqual({});
    expect(named({ schema: "auth" })).toStrictEqual({ schema: "auth" });
    expect(named({ prefix: "my_", from: "2" })).toStrictEqual({ prefix: "my_" });
  });

  it.each(["schema", "prefix"])("are refused if they are not plain: --%s", async (name) => {
    const refused = wronglyWritten(`--${name} ${plain}`);
    expect(await ran(["migrations", "--engine", engine, `--${name}`, "a; DROP"])).toEqual(refused);
    expect(await ran(["migrate", `--${engine}`, "URL", `--${name}`, "a; DROP"])).toEqual(refused);
  });
});
