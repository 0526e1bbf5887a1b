/** `authmount migrate`: which storage is migrated, and what is said when it fails. A pool that only logs stands for PostgreSQL. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { postgresMigrations } from "../../lib/postgres";
import { sqliteStorage } from "../../lib/sqlite";
import { tableShapes } from "../../lib/adapters/postgres/tables";
import { failed, ran, ranWith, wronglyWritten } from "./world";

const nothing = (): void => undefined;
const migrated = (what: string): object => ({
  exitCode: 0,
  stdout: "",
  stderr: `Migrated: ${what} is up to date.\n`,
});

describe("authmount migrate of a module", () => {
  const ofModule = migrated("the storage of the module");

  it("calls migrate() and then close() of its storage, as methods", async () => {
    const calls: unknown[] = [];
    const storage = {
      migrate(): Promise<unknown> {
        return Promise.resolve().then(() => calls.push("migrated", this));
      },
      close(): Promise<unknown> {
        return Promise.resolve().then(() => calls.push("closed", this));
      },
    };
    expect(await ranWith({ storage }, ["migrate", "a.js"])).toEqual(ofModule);
    expect(calls).toEqual(["migrated", storage, "closed", storage]);
  });

  it.each([
    ["that has no close()", { storage: { migrate: nothing } }, []],
    ["whose close is no function", { storage: { migrate: nothing, close: 5 } }, []],
    ["of options", { options: { storage: { migrate: nothing } } }, []],
    ["by another name", { mine: { migrate: nothing } }, ["--export", "mine", "--timeout", "5"]],
  ])("migrates storage %s", async (_, module, args) => {
    expect(await ranWith(module, ["migrate", "a.js", ...args])).toEqual(ofModule);
  });

  it("says so as JSON", async () => {
    const module = { storage: { migrate: nothing } };
    expect(await ranWith(module, ["migrate", "a.js", "--json"])).toEqual({
      exitCode: 0,
      stdout: '{\n  "migrated": true,\n  "warnings": []\n}\n',
      stderr: "",
    });
  });

  it.each([{}, { migrate: 5 }])("fails if its storage cannot be migrated: %j", async (storage) => {
    expect(await ranWith({ storage }, ["migrate", "a.js"])).toEqual(
      failed(
        "The storage has no migrate(). memoryStorage needs none. If you combine storages, keep it: { ...storage, clients }.",
      ),
    );
  });

  it("fails as its storage does", async () => {
    const storage = { migrate: () => Promise.reject(new Error("locked")) };
    expect(await ranWith({ storage }, ["migrate", "a.js"])).toEqual(failed("locked"));
  });

  it("does not take the default export in place of another one that was asked for", async () => {
    const storage = { migrate: () => Promise.reject(new Error("the wrong one")) };
    expect(await ranWith({ default: { storage } }, ["migrate", "a.js", "--export", "mine"])).toEqual(
      failed(
        'No storage found. "a.js" exports: default. Export the storage as mine, or the options that contain it as mine, or a function without parameters that returns one of these.',
      ),
    );
  });
});

describe("authmount migrate --sqlite", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "authmount-migrate-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("makes the tables, and closes the file", async () => {
    const file = path.join(folder, "a.sqlite");
    expect(await ran(["migrate", "--sqlite", file])).toEqual(migrated("the SQLite file"));
    // an open file has its log beside it
    expect(await readdir(folder)).toEqual(["a.sqlite"]);
    const storage = sqliteStorage({ file });
    expect(await storage.clients.find("nobody")).toBeUndefined();
    await storage.close();
  });

  it("fails as the storage does", async () => {
    expect(await ran(["migrate", "--sqlite", "file:a"])).toEqual(
      failed(
        'sqliteStorage: file must be the path of a file on disk, neither empty nor a URI nor ":memory:". In memory, use memoryStorage.',
      ),
    );
  });
});

/** A pool that fails at its first statement, and what was done with it. */
function failingPool(error: unknown, end: () => Promise<void> = () => Promise.resolve()) {
  const log: unknown[] = [];
  const openPostgres = (url: string) => {
    log.push(url);
    return {
      query: (text: string, values?: unknown[]) => {
        log.push([text.slice(0, 24), values]);
        // a driver may reject with anything
        return Promise.reject(error);
      },
      end: () => {
        log.push("end");
        return end();
      },
    };
  };
  return { log, openPostgres };
}

/** What a database with all tables answers. */
function rowsFor(statement: string): readonly Record<string, unknown>[] {
  const tables = Object.entries(tableShapes).map(([name, shape]) => ({
    ...shape,
    table: `authmount_${name}`,
  }));
  if (statement.includes("pg_settings")) return [];
  if (statement.includes("max(version)")) return [{ version: postgresMigrations().length }];
  if (statement.includes("AS key")) return tables.map(({ table, key }) => ({ table, key: key.join() }));
  return tables.flatMap(({ table, columns }) =>
    Object.entries(columns).map(([name, type]) => ({ table, name, type })),
  );
}

const url = "postgres://anna:hunter%2122@db.example/shop";

function migrateFailing(error: unknown, DATABASE_URL = url) {
  const { openPostgres } = failingPool(error);
  return ran(["migrate", "--postgres", "DATABASE_URL"], { env: { DATABASE_URL }, openPostgres });
}

describe("authmount migrate --postgres", () => {
  it("sends its statements to the database of the variable, and ends the pool, also when that fails", async () => {
    const endings = [() => Promise.resolve(), () => Promise.reject(new Error("not ended"))];
    for (const end of endings) {
      const { log, openPostgres } = failingPool(new Error("no rights"), end);
      const args = ["migrate", "--postgres", "DATABASE_URL", "--schema", "auth", "--prefix", "my_"];
      expect(await ran(args, { env: { DATABASE_URL: url }, openPostgres })).toEqual(
        failed("PostgreSQL could not be migrated: no rights."),
      );
      const tables = expect.arrayContaining(["my_clients", "my_migrations"]) as object;
      expect(log).toEqual([url, ["SELECT class.relname::te", ["auth", tables]], "end"]);
    }
  });

  it("warns of settings by which a crash may lose what was acknowledged", async () => {
    const risk = { kind: "setting", name: "synchronous_commit" };
    const openPostgres = () => ({
      query: (text: string) =>
        Promise.resolve({ rows: text.includes("pg_settings") ? [risk, risk] : rowsFor(text) }),
      end: () => Promise.resolve(),
    });
    const { exitCode, stderr } = await ran(["migrate", "--postgres", "DATABASE_URL", "--schema", "auth"], {
      env: { DATABASE_URL: url },
      openPostgres,
    });
    expect([exitCode, stderr.split("\n").slice(1)]).toEqual([
      0,
      [
        "Warning: synchronous_commit is off. A code or refresh token that was used can then be used again, and revocations are forgotten. Set it to on. [postgres-setting-off]",
        "",
      ],
    ]);
  });

  it("says that all is well, and ends the pool", async () => {
    const statements: string[] = [];
    const openPostgres = () => ({
      query: (text: string) => {
        statements.push(text);
        return Promise.resolve({ rows: rowsFor(text) });
      },
      end: () => Promise.resolve(void statements.push("end")),
    });
    const env = { DATABASE_URL: url };
    const args = ["migrate", "--postgres", "DATABASE_URL", "--schema", "auth"];
    expect(await ran(args, { env, openPostgres })).toEqual(migrated("PostgreSQL"));
    expect(statements.at(-1)).toBe("end");
    expect(statements).toContain('SELECT max(version) AS version FROM "auth"."authmount_migrations"');
  });

  it.each([
    ["the URL", `cannot connect to ${url}`, "cannot connect to a URL"],
    ["the password", "password hunter%2122, twice: hunter%2122", "password …, twice: …"],
    ["the password as it is meant", "for anna: hunter!22.", "for anna: …"],
    ["nothing else", "host db.example of undefined", "host db.example of undefined"],
  ])("leaves out of an error: %s", async (_, message, shown) => {
    expect(await migrateFailing(new Error(message))).toEqual(
      failed(`PostgreSQL could not be migrated: ${shown}.`),
    );
  });

  it.each([
    ["postgres://db.example/shop", "no undefined password", "no undefined password"],
    ["postgres://b/c?password=hunter2", "for hunter2 of undefined", "for … of undefined"],
    ["postgresql://a:hunter2@/c?host=/var/run", "for hunter2 of undefined", "for … of undefined"],
  ])("leaves out what is secret of %s", async (DATABASE_URL, message, shown) => {
    expect(await migrateFailing(new Error(message), DATABASE_URL)).toEqual(
      failed(`PostgreSQL could not be migrated: ${shown}.`),
    );
  });

  it.each([
    "hunter2",
    "hunter2:22",
    "mysql://anna:hunter2@db.example/shop",
    "https://anna:hunter2@db.example/shop",
    "postgres:hunter2",
    "postgres://anna:hunter2@[::1/db",
    "postgres://anna:hunter2%zz@db.example/shop",
    "postgres://anna:12/hunter2@db.example/shop",
    "postgres://anna:12?hunter2@db.example/shop",
    "postgres://anna:12#hunter2@db.example/shop",
  ])("does not ask the driver, which would name a piece of it: %s", async (DATABASE_URL) => {
    expect(await migrateFailing(new Error("the driver was asked"), DATABASE_URL)).toEqual(
      failed(
        "DATABASE_URL is not a PostgreSQL URL, such as postgres://user@host/database. In the password, write %25 for %, %2F for /, %3F for ?, %23 for # and %40 for @.",
      ),
    );
  });

  it.each([undefined, ""])("fails if the variable is not set: %j", async (DATABASE_URL) => {
    const message = "The environment variable DATABASE_URL is not set. Set it to the database URL.";
    const ended = await ran(["migrate", "--postgres", "DATABASE_URL"], { env: { DATABASE_URL } });
    expect(ended).toEqual(failed(message));
  });

  it("fails if no pool can be opened", async () => {
    const world = {
      env: { URL: url },
      openPostgres: (): never => {
        throw new Error("The package pg is not installed here.");
      },
    };
    const ended = await ran(["migrate", "--postgres", "URL"], world);
    expect(ended).toEqual(failed("The package pg is not installed here."));
  });
});

const mysqlUrl = "mysql://anna:hunter%2122@db.example/shop";

/** The same with a pool for MySQL. */
function mysqlFailing(error: unknown, DATABASE_URL = mysqlUrl) {
  const log: unknown[] = [];
  const openMysql = (opened: string) => {
    log.push(opened);
    return {
      execute: () => Promise.reject(error),
      end: () => Promise.reject(new Error(String(log.push("end")))),
    };
  };
  const ended = ran(["migrate", "--mysql", "DATABASE_URL"], { env: { DATABASE_URL }, openMysql });
  return ended.then((result) => ({ result, log }));
}

describe("authmount migrate --mysql", () => {
  it.each([
    mysqlUrl,
    "mariadb://anna:hunter%2122@db.example/shop",
    "mysql://anna:hunter%2122@[::1]:3306/shop",
    "MYSQL://anna:hunter%2122@db.example/shop?charset=utf8mb4",
    "mysql://anna:hunter%2122@localhost/shop?socketPath=/run/mysqld/mysqld.sock",
  ])("opens %s, ends the pool, and prints no password", async (DATABASE_URL) => {
    const error = new Error(`with hunter%2122, hunter!22 and ${DATABASE_URL}, no rights`);
    const { result, log } = await mysqlFailing(error, DATABASE_URL);
    expect(result).toEqual(failed("MySQL could not be migrated: with …, … and a URL no rights."));
    expect(log).toEqual([DATABASE_URL, "end"]);
  });

  it.each([
    "hunter2",
    "postgres://anna:hunter2@db.example/shop",
    "mysql://anna:hunter2@/shop",
    "mysql:hunter2",
    "mysql://anna:hunter2%zz@db.example/shop",
    "mysql://anna:12/hunter2@db.example/shop",
    "mysql://anna:12?hunter2@db.example/shop",
    "mysql://anna:12#hunter2@db.example/shop",
    "mysql://anna:12@/hunter2@db.example/shop",
  ])("does not ask the driver about what is no URL of MySQL: %s", async (DATABASE_URL) => {
    const { result, log } = await mysqlFailing(new Error("the driver was asked"), DATABASE_URL);
    expect(result).toEqual(
      failed(
        "DATABASE_URL is not a MySQL URL, such as mysql://user@host/database. In the password, write %25 for %, %2F for /, %3F for ?, %23 for # and %40 for @.",
      ),
    );
    expect(log).toEqual([]);
  });
});

describe("authmount migrate --json", () => {
  it.each<readonly [string, readonly string[], string | undefined]>([
    ["storage-without-migrate", ["a.js"], undefined],
    ["database-variable-not-set", ["--mysql", "URL"], undefined],
    ["database-url-wrong", ["--mysql", "URL"], url],
    ["migration-failed", ["--mysql", "URL"], mysqlUrl],
  ])("fails with the code %s", async (code, args, URL) => {
    const { stderr } = await ranWith({ storage: {} }, ["migrate", ...args, "--json"], {
      env: { URL },
      openMysql: () => ({ execute: async () => [], end: () => Promise.resolve() }),
    });
    expect(JSON.parse(stderr)).toMatchObject({ error: { code } });
  });
});

describe("authmount migrate, written wrongly", () => {
  const onlyOne = "Pass only one of: a module, --postgres, --mysql, --sqlite.";
  const aName =
    "--postgres takes the name of the environment variable that holds the URL, such as DATABASE_URL. On the command line, the URL would expose its password in your shell history and in the process list.";
  it.each([
    [
      [],
      "Nothing to migrate. Pass a module, --postgres NAME, --mysql NAME or --sqlite FILE. See: authmount help migrate.",
    ],
    [["a.js", "--sqlite", "b"], onlyOne],
    [["a.js", "--mysql", "B"], onlyOne],
    [["--mysql", "B", "--sqlite", "b"], onlyOne],
    [["--mysql", "B", "--postgres", "B"], onlyOne],
    [["--mysql", "B", "--timeout", "3"], "--timeout works only with a module."],
    [["--mysql", mysqlUrl], aName.replace("postgres", "mysql")],
    [["a.js", "--postgres", "B"], onlyOne],
    [["--postgres", "B", "--sqlite", "b"], onlyOne],
    [
      ["a.js", "--prefix", "b"],
      "--prefix works only with --postgres and --mysql. Any other storage already has its names.",
    ],
    [
      ["--sqlite", "b", "--schema", "b"],
      "--schema works only with --postgres and --mysql. Any other storage already has its names.",
    ],
    [["--sqlite", "b", "--timeout", "3"], "--timeout works only with a module."],
    [["--postgres", "B", "--export", "b"], "--export works only with a module."],
    [["--postgres", url], aName],
    [["--postgres", "A B"], aName],
    [["--postgres", "A!"], aName],
    [["--postgres", "!A"], aName],
  ])("%j", async (args, message) => {
    expect(await ran(["migrate", ...args])).toEqual(wronglyWritten(message));
  });
});
