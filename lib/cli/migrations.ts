/** Prints what migrations do as SQL, for the tool that runs a host's other migrations. */
import { suggestion } from "../host/plain";
import { checkNames, type PostgresNames } from "../adapters/postgres/tables";
import { postgresMigrations } from "../adapters/postgres/schema";
import { type Answer, type Command, type CommandOption, type Given, usageError } from "./command";
import { quoted } from "./wording";

/** The options that name the tables in PostgreSQL. */
export const nameOptions: Readonly<Record<string, CommandOption>> = {
  schema: { value: "NAME", text: "The schema of the tables. Default: the first one in search_path." },
  prefix: { value: "NAME", text: "The prefix of every table name. Default: authmount_." },
};

/** The names of tables, as they were written. @throws TypeError of `usageError` when one is invalid */
export function namesIn({ options: { schema, prefix } }: Given): PostgresNames {
  const names = { ...(schema !== undefined && { schema }), ...(prefix !== undefined && { prefix }) };
  try {
    checkNames(names);
    return names;
  } catch (error) {
    throw usageError((error as Error).message.replace("postgresStorage: ", "--"));
  }
}

function checkEngine(engine: string | undefined): void {
  if (engine === undefined) throw usageError("--engine is missing: authmount migrations --engine postgres.");
  if (engine === "postgres") return;
  if (engine === "sqlite")
    throw usageError(
      "There is no SQL to print for SQLite: its migrate() is one transaction. Run: npx authmount migrate --sqlite FILE.",
    );
  if (engine === "redis") throw usageError("Redis has no tables, so there is no SQL.");
  throw usageError(
    `--engine ${quoted(engine)} is unknown.${suggestion(engine, ["postgres"])} Write postgres.`,
  );
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
    engine: { value: "ENGINE", text: "postgres, the only engine with SQL to print." },
    ...nameOptions,
    from: {
      value: "N",
      text: "Start with migration N, to print only the new ones after an update of authmount.",
    },
  },
  help: `Each migration takes the tables from one version to the next. You can run it again. A published migration never changes.

  npx authmount migrations --engine postgres > 001_authmount.sql

This connects to no database. Use the same names that you pass to postgresStorage. Once all migrations have run, migrate() only
reads. With --json, each migration is a separate entry with its version.

Next: docs/storage-postgres.md lists the rights that the server needs. To run the migrations instead: npx authmount help migrate`,
  run(given): Answer {
    const { engine, from = "1" } = given.options;
    checkEngine(engine);
    const all = postgresMigrations(namesIn(given)).map((sql, index) => ({ version: index + 1, sql }));
    const asked = all.slice(firstOf(from, all.length) - 1);
    return {
      exitCode: 0,
      text: asked.map(({ version, sql }) => `-- authmount, version ${version}\n${sql}`).join("\n"),
      advice: "",
      json: { engine, migrations: asked },
    };
  },
};
