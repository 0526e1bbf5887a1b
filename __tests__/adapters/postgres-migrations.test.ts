import { createHash } from "node:crypto";
import type { Pool } from "pg";
import { postgresMigrations, type PostgresNames, postgresStorage } from "../../lib/postgres";
import { tablesIn } from "../../lib/adapters/postgres/tables";
import { schemaVersions } from "../../lib/adapters/postgres/schema";
import {
  ask,
  describeWithPostgres,
  newName,
  openStorage,
  pool,
  server,
  useStorage,
  wrapPool,
} from "../servers/postgres-storage";

/** As `psql` and most migration tools send it: a text of many statements, without values. */
async function runAll(texts: readonly string[], on: Pool = pool): Promise<void> {
  for (const text of texts) await on.query(text);
}

/** What migrate() sends besides reading. */
async function changesOf(names: PostgresNames, on: Pool = pool): Promise<readonly string[]> {
  const sent: string[] = [];
  const watched = wrapPool(on, ({ text }, run) => (sent.push(text), run()));
  await postgresStorage({ pool: watched, ...names }).migrate();
  return sent.filter((text) => !text.startsWith("SELECT "));
}

/** Everything about the tables of a schema, but for the schema's name. */
async function shapeOf(schema: string): Promise<object> {
  const columns = await ask(`SELECT table_name, column_name, data_type, is_nullable, column_default
    FROM information_schema.columns WHERE table_schema = '${schema}' ORDER BY table_name, ordinal_position`);
  const indexes = await ask(`SELECT tablename, indexname, replace(indexdef, '${schema}', 'here') AS definition
    FROM pg_indexes WHERE schemaname = '${schema}' ORDER BY indexname`);
  const { rows: versions } = await pool.query(
    `SELECT version FROM "${schema}".authmount_migrations ORDER BY 1`,
  );
  return { columns, indexes, versions };
}

function textTests(): void {
  it("make what migrate() makes, which then only reads", async () => {
    const [byTexts, byMigrate] = [newName(), newName()];
    await runAll(postgresMigrations({ schema: byTexts }));
    expect(await changesOf({ schema: byTexts })).toEqual([]);
    await openStorage({ schema: byMigrate, prefix: "authmount_" });
    expect(await shapeOf(byTexts)).toEqual(await shapeOf(byMigrate));
    await useStorage(postgresStorage({ pool, schema: byTexts }));
  });

  it("leave nothing to do for a role that may not create", async () => {
    const [schema, role] = [newName(), newName()];
    await runAll(postgresMigrations({ schema }));
    await ask(`CREATE ROLE ${role} LOGIN`);
    await ask(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
    await ask(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
    const own = server.pool({ user: role });
    expect(await changesOf({ schema }, own)).toEqual([]);
    await useStorage(postgresStorage({ pool: own, schema }));
  });

  it("may run twice", async () => {
    const schema = newName();
    const texts = postgresMigrations({ schema });
    await runAll(texts);
    const once = await shapeOf(schema);
    for (const text of texts) await runAll([text, text]);
    expect(await shapeOf(schema)).toEqual(once);
  });

  it("go on where migrate() was stopped half-way", async () => {
    const [schema, prefix] = [newName(), newName()];
    let left = 12;
    const stopping = wrapPool(pool, (_, run) => {
      left -= 1;
      return left < 0 ? Promise.reject(new Error("stopped")) : run();
    });
    await expect(postgresStorage({ pool: stopping, schema, prefix }).migrate()).rejects.toThrow("stopped");
    await runAll(postgresMigrations({ schema, prefix }));
    expect(await changesOf({ schema, prefix })).toEqual([]);
  });

  it("without a schema, use the first one of the search_path, as migrate() does", async () => {
    const schema = newName();
    await ask(`CREATE SCHEMA ${schema}`);
    const texts = postgresMigrations();
    expect(texts.join("")).not.toMatch(/"\."/);
    const there = server.pool({ options: `-c search_path=${schema},public` });
    await runAll(texts, there);
    expect(await changesOf({}, there)).toEqual([]);
    const withSchema = newName();
    await runAll(postgresMigrations({ schema: withSchema }));
    expect(await shapeOf(schema)).toEqual(await shapeOf(withSchema));
  });

  it("need no right to create schemas in public", async () => {
    const [prefix, role] = [newName(), newName()];
    await ask(`CREATE ROLE ${role} LOGIN`);
    await ask(`GRANT CREATE ON SCHEMA public TO ${role}`);
    await runAll(postgresMigrations({ schema: "public", prefix }), server.pool({ user: role }));
    await useStorage(postgresStorage({ pool, schema: "public", prefix }));
  });
}

describeWithPostgres(() => describe("postgresMigrations: the texts", textTests));

describe("postgresMigrations", () => {
  it("gives one complete text for each version, with a statement in each line", () => {
    const texts = postgresMigrations({ schema: "auth" });
    expect(texts).toHaveLength(schemaVersions.length);
    texts.forEach((text, index) => {
      expect(text).toMatch(/^(?:(?:CREATE|ALTER|INSERT) [^;\n]*;\n)+$/);
      expect(text).toContain(`"auth"."authmount_migrations" (version) VALUES (${index + 1}) ON CONFLICT`);
    });
    expect(texts.filter((text) => text.includes("CREATE SCHEMA"))).toHaveLength(1);
  });

  it.each([{ schema: "Auth" }, { prefix: 'a"; DROP TABLE clients; --' }, { schema: undefined }])(
    "refuses %j",
    (names) => {
      expect(() => postgresMigrations(names as PostgresNames)).toThrow(TypeError);
    },
  );

  it("only adds, so that processes of the version before can go on", () => {
    const statements = schemaVersions.flatMap((statementsOn) => statementsOn(tablesIn("public")));
    const adding = /^(?:CREATE (?:TABLE|INDEX) IF NOT EXISTS|ALTER TABLE \S+ ADD COLUMN IF NOT EXISTS) /;
    expect(statements.filter((each) => !adding.test(each))).toEqual([]);
  });

  // a failure here means that a published version was edited: add a new version instead
  it.each([[1, "349dce52cd628bd323aed6ad95e3f25c5d1dec22e0f215910889c01f0386c315"]])(
    "never changes version %i, which databases have recorded as done",
    (version, digest) => {
      const text = postgresMigrations({ schema: "auth" })[version - 1] ?? "";
      expect(createHash("sha256").update(text).digest("hex")).toBe(digest);
    },
  );
});
