/** Runs `migrate()` of a storage: that of a host's module, or one that is opened here. */
import { postgresStorage } from "../adapters/postgres/storage";
import { sqliteStorage } from "../adapters/sqlite/storage";
import { type Answer, type Command, type Given, usageError, type World } from "./command";
import { fromModule, moduleOptions, storageIn } from "./load-module";
import { nameOptions, namesIn } from "./migrations";
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
 * What must not be printed of a PostgreSQL URL; `undefined` for another text, and where the driver would read a piece of the password as
 * something else, which it then names in its errors.
 */
function secretsIn(url: string): readonly string[] | undefined {
  // without a host, the server is on this machine
  const parsed = /^postgres(?:ql)?:\/\//i.test(url) ? parseUrl(url.replace("@/", "@localhost/")) : undefined;
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
function without(secrets: readonly string[], error: unknown): Error {
  const text = secrets.reduce((all, secret) => all.replaceAll(secret, "…"), errorSentence(error));
  return hostMistake("postgres-migration-failed", `PostgreSQL could not be migrated: ${text}`);
}

async function migratePostgres(
  name: string,
  { given, world: { env, openPostgres } }: { given: Given; world: World },
): Promise<Answer> {
  if (!/^\w+$/.test(name)) {
    throw usageError(
      "--postgres takes the name of the environment variable that holds the URL, such as DATABASE_URL. On the command line, the URL would expose its password in your shell history and in the process list.",
    );
  }
  const url = env[name];
  if (!url)
    throw hostMistake(
      "database-variable-not-set",
      `The environment variable ${name} is not set. Set it to the database URL.`,
    );
  const secrets = secretsIn(url);
  if (!secrets)
    throw hostMistake(
      "database-url-wrong",
      `${name} is not a PostgreSQL URL, which starts with postgres:// or postgresql://. In the password, write %25 for %, %2F for /, %3F for ?, %23 for # and %40 for @.`,
    );
  const pool = openPostgres(url);
  try {
    return done("PostgreSQL", await postgresStorage({ pool, ...namesIn(given) }).migrate());
  } catch (error) {
    throw without(secrets, error);
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

/** What must not be written beside one of the three places. */
function checkPlaces({ operand, options }: Given): void {
  const places = [operand, options["postgres"], options["sqlite"]].filter((place) => place !== undefined);
  if (places.length === 0)
    throw usageError(
      "Nothing to migrate. Pass a module, --postgres NAME or --sqlite FILE. See: authmount help migrate.",
    );
  if (places.length > 1) throw usageError("Pass only one of: a module, --postgres, --sqlite.");
  const ofPostgres = ["schema", "prefix"].find((name) => options[name] !== undefined);
  if (ofPostgres !== undefined && options["postgres"] === undefined)
    throw usageError(`--${ofPostgres} works only with --postgres. Any other storage already has its names.`);
  const ofModule = ["export", "timeout"].find((name) => options[name] !== undefined);
  if (ofModule !== undefined && operand === undefined)
    throw usageError(`--${ofModule} works only with a module.`);
}

/** `authmount migrate` */
export const migrate: Command = {
  name: "migrate",
  summary: "Create the tables of a storage, or update them to the latest version.",
  operand: { name: "FILE", text: "A module that exports storage, or options.", isRequired: false },
  options: {
    postgres: {
      value: "NAME",
      text: "The environment variable that holds the URL of a PostgreSQL database.",
    },
    sqlite: { value: "PATH", text: "The SQLite file. It is created if it does not exist." },
    ...nameOptions,
    ...moduleOptions,
  },
  help: `This runs storage.migrate(). You can run it again, and from several places at once. If there is nothing to do, it only reads.
It warns about database settings that could lose acknowledged writes in a crash or a failover.

  npx authmount migrate ./auth-options.js
  npx authmount migrate --postgres DATABASE_URL
  npx authmount migrate --sqlite authmount.sqlite

The module exports storage, or the options of createAuthServer as options: a value, a promise or a function without parameters.
The module is imported, so its code runs. --postgres uses the pg package of your project.

Run it once per deployment, before the new processes start, as a database user that may create tables.

Next: npx authmount check ./auth-options.js`,
  run(given, world): Promise<Answer> {
    checkPlaces(given);
    const { sqlite, postgres } = given.options;
    if (sqlite !== undefined) return migrateSqlite(sqlite);
    return postgres === undefined ? migrateModule(given, world) : migratePostgres(postgres, { given, world });
  },
};
