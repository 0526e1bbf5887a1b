/** Prints what migrations do as SQL, for the tool that runs a host's other migrations. */
import { suggestion } from "../host/plain";
import { type Answer, type Command, usageError } from "./command";
import { type EngineName, engineNames, engines, nameOptions, namesIn } from "./engines";
import { quoted } from "./wording";

function engineNamed(engine: string | undefined): EngineName {
  const write = `Write ${engineNames.join(" or ")}.`;
  if (engine === undefined) throw usageError(`--engine is missing. ${write}`);
  const found = engineNames.find((name) => name === engine);
  if (found !== undefined) return found;
  if (engine === "sqlite")
    throw usageError(
      "There is no SQL to print for SQLite: its migrate() is one transaction. Run: npx authmount migrate --sqlite FILE.",
    );
  if (engine === "redis") throw usageError("Redis has no tables, so there is no SQL.");
  throw usageError(`--engine ${quoted(engine)} is unknown.${suggestion(engine, engineNames)} ${write}`);
}

function firstOf(text: string, count: number): number {
  const from = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (from >= 1 && from <= count) return from;
  throw usageError(`--from ${quoted(text)} is not a migration. Write a number from 1 to ${count}.`);
}

/** `authmount migrations` */
export const migrations: Command = {
  name: "migrations",
  summary: "Print the SQL of the migrations, for your own migration tool.",
  options: {
    engine: { value: "ENGINE", text: "postgres, or mysql for MySQL and MariaDB." },
    ...nameOptions,
    from: {
      value: "N",
      text: "Start with migration N, to print only the new ones after an update of authmount.",
    },
  },
  help: `Each migration takes the tables from one version to the next. You can run it again. A published migration never changes.

  npx authmount migrations --engine postgres > 001_authmount.sql

This connects to no database. Use the same names that you pass to postgresStorage or mysqlStorage. Once all migrations have run,
migrate() only reads. With --json, each migration is a separate entry with its version.

Next: docs/storage-postgres.md and docs/storage-mysql.md list the rights that the server needs. To run the migrations instead:
npx authmount help migrate`,
  run(given): Answer {
    const engine = engineNamed(given.options["engine"]);
    const texts = engines[engine].migrations(namesIn(given, engine));
    const all = texts.map((sql, index) => ({ version: index + 1, sql }));
    const asked = all.slice(firstOf(given.options["from"] ?? "1", all.length) - 1);
    return {
      exitCode: 0,
      text: asked.map(({ version, sql }) => `-- authmount, version ${version}\n${sql}`).join("\n"),
      advice: "",
      json: { engine, migrations: asked },
    };
  },
};
