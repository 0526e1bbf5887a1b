/** Runs `migrate()` of a storage: that of a host's module, or one that is opened here. */
import { sqliteStorage } from "../adapters/sqlite/storage";
import { type Answer, type Command, type Given, usageError, type World } from "./command";
import { type EngineName, engineNames, engines, nameOptions, namesIn } from "./engines";
import { fromModule, moduleOptions, storageIn } from "./load-module";
import { errorSentence, printable } from "./wording";
import { hostMistake } from "../protocol/mistake";
import { parseUrl } from "../protocol/parsed-url";

/** `given` is what migrate() gave: warnings, or nothing. */
function done(what: string, given?: unknown): Answer {
  const warnings = Array.isArray(given) ? given.map(String) : [];
  const lines = [`Migrated: ${what} is up to date.`, ...warnings.map((one) => `Warning: ${one}`)];
  return {
    exitCode: 0,
    text: "",
    advice: lines.map((line) => `${printable(line)}\n`).join(""),
    json: { migrated: true, warnings },
  };
}

/**
 * What must not be printed of a URL of this form; `undefined` for another text, and where the driver would read a piece of the password as
 * something else, which it then names in its errors.
 */
function secretsIn(url: string, form: RegExp): readonly string[] | undefined {
  // without a host, the server is on this machine
  const parsed = form.test(url) ? parseUrl(url.replace("@/", "@localhost/")) : undefined;
  if (!parsed) return undefined;
  const { password, pathname, search, hash, searchParams } = parsed;
  // behind a / ? or # in it
  if (`${pathname}${search}${hash}`.includes("@")) return undefined;
  try {
    return [url, password, decodeURIComponent(password), ...searchParams.getAll("password")].filter(Boolean);
  } catch {
    return undefined;
  }
}

/** What an error says, without these texts in it. */
function without(secrets: readonly string[], error: unknown): string {
  return secrets.reduce((all, secret) => all.replaceAll(secret, "…"), errorSentence(error));
}

async function migrateEngine(
  name: EngineName,
  { given, world }: { given: Given; world: World },
): Promise<Answer> {
  const variable = String(given.options[name]);
  if (!/^\w+$/.test(variable)) {
    throw usageError(
      `--${name} takes the name of the environment variable that holds the URL, such as DATABASE_URL. On the command line, the URL would expose its password in your shell history and in the process list.`,
    );
  }
  const names = namesIn(given, name);
  const url = world.env[variable];
  if (!url)
    throw hostMistake(
      "database-variable-not-set",
      `The environment variable ${variable} is not set. Set it to the database URL.`,
    );
  const { title, url: form, example, open } = engines[name];
  const secrets = secretsIn(url, form);
  if (!secrets)
    throw hostMistake(
      "database-url-wrong",
      `${variable} is not a ${title} URL, such as ${example}. In the password, write %25 for %, %2F for /, %3F for ?, %23 for # and %40 for @.`,
    );
  const { pool, storage } = open(url, { names, world });
  try {
    return done(title, await storage.migrate());
  } catch (error) {
    throw hostMistake("migration-failed", `${title} could not be migrated: ${without(secrets, error)}`);
  } finally {
    await pool.end().catch(() => undefined);
  }
}

async function migrateSqlite(file: string): Promise<Answer> {
  const storage = sqliteStorage({ file });
  try {
    await storage.migrate();
  } finally {
    await storage.close();
  }
  return done("the SQLite file");
}

async function migrateModule(given: Given, world: World): Promise<Answer> {
  const storage = await fromModule(given, { world, find: storageIn });
  const { migrate, close } = storage as { readonly migrate?: unknown; readonly close?: unknown };
  if (typeof migrate !== "function") {
    throw hostMistake(
      "storage-without-migrate",
      "The storage has no migrate(). memoryStorage needs none. If you combine storages, keep it: { ...storage, clients }.",
    );
  }
  const warnings: unknown = await migrate.call(storage);
  if (typeof close === "function") await close.call(storage);
  return done("the storage of the module", warnings);
}

/** Where the tables are. @throws TypeError of `usageError` when there is not one such place, or what does not go with it */
function placeIn({ operand, options }: Given): EngineName | "sqlite" | "module" {
  const [place, another] = [
    ...([...engineNames, "sqlite"] as const).filter((name) => options[name] !== undefined),
    ...(operand === undefined ? [] : ["module" as const]),
  ];
  if (place === undefined)
    throw usageError(
      "Nothing to migrate. Pass a module, --postgres NAME, --mysql NAME or --sqlite FILE. See: authmount help migrate.",
    );
  if (another !== undefined) throw usageError("Pass only one of: a module, --postgres, --mysql, --sqlite.");
  const written = (names: readonly string[]) => names.find((name) => options[name] !== undefined);
  const ofEngine = written(Object.keys(nameOptions));
  if (ofEngine !== undefined && (place === "module" || place === "sqlite"))
    throw usageError(
      `--${ofEngine} works only with --postgres and --mysql. Any other storage already has its names.`,
    );
  const ofModule = written(["export", "timeout"]);
  if (ofModule !== undefined && place !== "module")
    throw usageError(`--${ofModule} works only with a module.`);
  return place;
}

/** `authmount migrate` */
export const migrate: Command = {
  name: "migrate",
  summary: "Create the tables of a storage, or update them to the latest version.",
  operand: { name: "FILE", text: "A module that exports storage, or options.", isRequired: false },
  options: {
    postgres: { value: "NAME", text: "The environment variable with the URL of a PostgreSQL database." },
    mysql: { value: "NAME", text: "The environment variable with the URL of a MySQL or MariaDB database." },
    sqlite: { value: "PATH", text: "The SQLite file. It is created if it does not exist." },
    ...nameOptions,
    ...moduleOptions,
  },
  help: `This runs storage.migrate(). You can run it again, and from several places at once. If there is nothing to do, it only reads.
It warns about database settings that could lose acknowledged writes in a crash or a failover.

  npx authmount migrate ./auth-options.js
  npx authmount migrate --postgres DATABASE_URL
  npx authmount migrate --mysql DATABASE_URL
  npx authmount migrate --sqlite authmount.sqlite

The module exports storage, or the options of createAuthServer as options: a value, a promise or a function without parameters.
The module is imported, so its code runs. --postgres uses the pg package of your project, and --mysql its mysql2.

Run it once per deployment, before the new processes start, as a database user that may create tables.

Next: npx authmount check ./auth-options.js`,
  run(given, world): Promise<Answer> {
    const place = placeIn(given);
    if (place === "module") return migrateModule(given, world);
    if (place === "sqlite") return migrateSqlite(String(given.options["sqlite"]));
    return migrateEngine(place, { given, world });
  },
};
