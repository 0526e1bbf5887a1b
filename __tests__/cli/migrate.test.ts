/** `authmount migrate` and `authmount migrations`, against real databases. */
import { existsSync } from "node:fs";
import path from "node:path";
import { Client } from "pg";
import { mysqlStorage } from "../../lib/mysql";
import { postgresMigrations, postgresStorage } from "../../lib/postgres";
import { sqliteStorage } from "../../lib/sqlite";
import { type HostFolder, hostFolder, jsonOf } from "../servers/command-line";
import { describeWithMariadb, mysqlPool, mysqlServer } from "../servers/mysql-storage";
import { newName } from "../servers/postgres-storage";
import { postgres, type PostgresServer, startPostgres } from "../servers/postgres-server";
import { describeWith } from "../servers/server-process";

let host: HostFolder;

beforeAll(async () => {
  host = await hostFolder(["pg", "mysql2"]);
});
afterAll(() => host.remove());

async function isReady(file: string): Promise<boolean> {
  const storage = sqliteStorage({ file: path.join(host.folder, file) });
  const found = await storage.clients.find("nobody");
  await storage.close();
  return found === undefined;
}

describe("authmount migrate --sqlite", () => {
  it("makes the tables, and may run again", async () => {
    const args = ["migrate", "--sqlite", "a new file.sqlite"];
    expect(await host.run(args)).toEqual({
      code: 0,
      stdout: "",
      stderr: "Migrated: the SQLite file is up to date.\n",
    });
    expect(jsonOf(await host.run([...args, "--json"]))).toEqual({ migrated: true, warnings: [] });
    expect(await isReady("a new file.sqlite")).toBe(true);
  });

  it("says why it cannot", async () => {
    const { code, stderr } = await host.run(["migrate", "--sqlite", "no such folder/a.sqlite"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^authmount: sqliteStorage: the file cannot be created/);
  });
});

describe("authmount migrate of a module", () => {
  const make = 'import { sqliteStorage } from "authmount/sqlite";\n';
  it.each([
    ["storage", "a", `export const storage = sqliteStorage({ file: "a.sqlite" });`],
    ["options", "b", `export const options = { storage: sqliteStorage({ file: "b.sqlite" }) };`],
    ["a function", "c", `export const storage = async () => sqliteStorage({ file: "c.sqlite" });`],
    [
      "the default, with storage in it",
      "d",
      `export default { storage: sqliteStorage({ file: "d.sqlite" }) };`,
    ],
    [
      "a mixed storage",
      "e",
      `export const storage = { ...sqliteStorage({ file: "e.sqlite" }), clients: {} };`,
    ],
  ])("that exports %s, and leaves a timer open", async (_, name, text) => {
    await host.write(`${name}.mjs`, `${make}setInterval(() => {}, 1000);\n${text}`);
    expect(await host.run(["migrate", `${name}.mjs`])).toMatchObject({ code: 0 });
    expect(await isReady(`${name}.sqlite`)).toBe(true);
  });

  it.each([
    ["none.mjs", "export const a = 1;", "No storage found."],
    ["memory.mjs", 'export { memoryStorage as storage } from "authmount";', "storage"],
    [
      "no-migrate.mjs",
      "export const storage = {};",
      "The storage has no migrate(). memoryStorage needs none.",
    ],
    [
      "fails.mjs",
      'export const storage = { migrate: async () => { throw new Error("locked"); } };',
      "locked",
    ],
  ])("fails with a reason: %s", async (file, text, message) => {
    await host.write(file, text);
    const { code, stderr } = await host.run(["migrate", file]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^authmount: [^\n]*\n$/);
    expect(stderr).toContain(message);
  });
});

describe("authmount migrations", () => {
  it("prints what postgresMigrations gives, for these names, from this one on", async () => {
    const args = ["migrations", "--engine", "postgres", "--schema", "auth", "--prefix", "my_", "--from", "1"];
    const texts = postgresMigrations({ schema: "auth", prefix: "my_" });
    expect(jsonOf(await host.run([...args, "--json"]))).toEqual({
      engine: "postgres",
      migrations: texts.map((sql, index) => ({ version: index + 1, sql })),
    });
    const { code, stdout, stderr } = await host.run(args);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.replaceAll(/^-- .*\n|^\n/gm, "")).toBe(texts.join(""));
  });
});

describe.each([
  ["postgres", "PostgreSQL", "pg"],
  ["mysql", "MySQL", "mysql2"],
])("authmount migrate --%s, without a server", (engine, title, driver) => {
  it("names the variable that is not set", async () => {
    const { code, stderr } = await host.run(["migrate", `--${engine}`, "NOT_SET"]);
    expect([code, stderr]).toEqual([
      1,
      "authmount: The environment variable NOT_SET is not set. Set it to the database URL.\n",
    ]);
  });

  it("prints neither the URL nor the password when it fails", async () => {
    const DATABASE_URL = `${engine}://anna:hunter%2122@127.0.0.1:1/db`;
    const { code, stderr } = await host.run(["migrate", `--${engine}`, "DATABASE_URL"], {
      env: { DATABASE_URL },
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      new RegExp(`^authmount: ${title} could not be migrated: [^\\n]*ECONNREFUSED[^\\n]*\\n$`),
    );
    expect(stderr).not.toMatch(/hunter/);
  });

  it("says what to install where its driver is not", async () => {
    const other = await hostFolder();
    const ended = await other.run(["migrate", `--${engine}`, "URL"], {
      env: { URL: `${engine}://127.0.0.1:1/` },
    });
    await other.remove();
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toContain(
      `The package ${driver} is not installed here. Run: npm install ${driver}\n`,
    );
  });
});

describeWith(postgres, {
  name: "authmount migrate --postgres",
  tests() {
    let server: PostgresServer;
    let env: Readonly<Record<string, string>>;

    beforeAll(async () => {
      server = await startPostgres();
      env = { DATABASE_URL: server.url };
    });
    afterAll(() => server.close());

    it("makes the tables by the pg of the host, under these names, and may run twice at once", async () => {
      const args = ["migrate", "--postgres", "DATABASE_URL", "--schema", "auth", "--prefix", "my_"];
      const ended = await Promise.all([host.run(args, { env }), host.run(args, { env })]);
      expect(ended.map(({ code }) => code)).toEqual([0, 0]);
      const storage = postgresStorage({ pool: server.pool(), schema: "auth", prefix: "my_" });
      expect(await storage.clients.find("nobody")).toBeUndefined();
    });

    it("the printed texts make the same tables, by any tool that sends SQL", async () => {
      const args = ["migrations", "--engine", "postgres", "--prefix", "by_text_"];
      const client = new Client({ connectionString: server.url });
      await client.connect();
      await client.query((await host.run(args)).stdout);
      await client.end();
      const storage = postgresStorage({ pool: server.pool(), prefix: "by_text_" });
      await storage.migrate();
      expect(await storage.clients.find("nobody")).toBeUndefined();
    });

    it("reports what the database says", async () => {
      const { code, stderr } = await host.run(["migrate", "--postgres", "DATABASE_URL"], {
        env: { DATABASE_URL: `${server.url}_that_is_not_there` },
      });
      expect(code).toBe(1);
      expect(stderr).toContain('database "postgres_that_is_not_there" does not exist');
    });
  },
});

const anna = newName();

/** The URL of the MariaDB of these tests, for somebody who has this password. */
function mariadbUrl(password: string, database?: string): string {
  const url = new URL(database ?? "", mysqlServer.url);
  return url.href.replace("root@", `${anna}:${encodeURIComponent(password)}@`);
}

function migrateMysql(DATABASE_URL: string, args: readonly string[] = []) {
  return host.run(["migrate", "--mysql", "DATABASE_URL", ...args], { env: { DATABASE_URL } });
}

function mysqlTests(): void {
  const password = "p@ss/w:rd?#%é \\";

  beforeAll(async () => {
    const quoted = `'${password.replace("\\", "\\\\")}'`;
    await mysqlPool.query(`CREATE USER ${anna}@'%' IDENTIFIED BY ${quoted}`);
    await mysqlPool.query(`GRANT ALL ON *.* TO ${anna}@'%'`);
  });
  afterAll(() => mysqlPool.query(`DROP USER ${anna}@'%'`));

  it("makes the tables by the mysql2 of the host, under these names, may run twice at once and again", async () => {
    const schema = newName();
    const args = ["--schema", schema, "--prefix", "my_"];
    const url = mariadbUrl(password);
    const ended = await Promise.all([migrateMysql(url, args), migrateMysql(url, args)]);
    ended.push(await migrateMysql(url, args));
    const migrated = { code: 0, stdout: "", stderr: "Migrated: MySQL is up to date.\n" };
    expect(ended).toEqual([migrated, migrated, migrated]);
    const storage = mysqlStorage({ pool: mysqlPool, schema, prefix: "my_" });
    expect(await storage.clients.find("nobody")).toBeUndefined();
  });

  it("the printed texts make the same tables, by any tool that sends SQL", async () => {
    const { stdout } = await host.run(["migrations", "--engine", "mysql", "--prefix", "by_text_"]);
    await mysqlServer.pool({ multipleStatements: true }).query(stdout);
    const storage = mysqlStorage({ pool: mysqlPool, prefix: "by_text_" });
    await storage.migrate();
    expect(await storage.clients.find("nobody")).toBeUndefined();
  });

  it.each([
    ["a database that is not there", password, "nowhere", "Unknown database 'nowhere'"],
    ["a wrong password", "hunter2", undefined, `Access denied for user '${anna}'`],
  ])("reports what the server says of %s", async (_, written, database, said) => {
    const { code, stdout, stderr } = await migrateMysql(mariadbUrl(written, database));
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^authmount: MySQL could not be migrated: [^\n]*\n$/);
    expect(stderr).toContain(said);
    for (const secret of [written, encodeURIComponent(written)]) expect(stderr).not.toContain(secret);
  });

  it("warns of a server that may lose what it has acknowledged", async () => {
    await mysqlPool.query("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    const { code, stderr } = await migrateMysql(mariadbUrl(password));
    await mysqlPool.query("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    expect(code).toBe(0);
    expect(stderr).toContain("[mysql-setting-not-1]");
  });
}

describeWithMariadb(() => describe("authmount migrate --mysql", mysqlTests));

it("nothing but the files that were asked for is made", () => {
  expect(existsSync(path.join(host.folder, "authmount.sqlite"))).toBe(false);
});
