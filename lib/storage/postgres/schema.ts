/** The tables of the PostgreSQL adapter, and the steps that create them. RFC 6749 §10.10 (digests only). */
import { checkTables } from "./check-tables";
import type { Database } from "./database";
import {
  checkNames,
  type NamedTables,
  type PostgresNames,
  type TableName,
  tableNames,
  type Tables,
  tablesNamed,
} from "./names";
import { repeatOn, type Run } from "./pool";
import { addedColumnsOf, columnsOf, tableShapes } from "./table-shapes";

function createTable(table: TableName, tables: NamedTables): string {
  return `CREATE TABLE IF NOT EXISTS ${tables[table]} (${columnsOf(tableShapes[table])})`;
}

/**
 * The versions of the schema: version n is the nth list of statements. A published version never changes. The next one only adds to
 * it, so that processes of the previous version can go on. Each statement is complete by itself and may run again.
 */
export function schemaVersions(tables: NamedTables): readonly (readonly string[])[] {
  const index = (name: string, { of, on }: { of: TableName; on: string }): string =>
    `CREATE INDEX IF NOT EXISTS "${tables.named(name)}" ON ${tables[of]} (${on})`;
  const byExpiry = (table: TableName): string =>
    index(`${table}_expires_at`, { of: table, on: "expires_at" });
  const create = (table: TableName): string => createTable(table, tables);
  const expiring = (table: TableName): readonly string[] => [create(table), byExpiry(table)];
  const addColumns = (table: TableName): string =>
    `ALTER TABLE ${tables[table]} ${addedColumnsOf(tableShapes[table])}`;
  return [
    [
      create("clients"),
      create("browser_origins"),
      ...expiring("consents"),
      create("authorizations"),
      index("authorizations_end_user", { of: "authorizations", on: "subject, client_id, api_id" }),
      byExpiry("authorizations"),
      ...expiring("authorization_codes"),
      ...expiring("refresh_tokens"),
      ...expiring("spent_tokens"),
      ...expiring("access_tokens"),
      ...expiring("revoked_access_tokens"),
    ],
    expiring("end_marks"),
    [
      addColumns("authorizations"),
      addColumns("spent_tokens"),
      ...expiring("consents_by_context"),
      index("authorizations_by_subject", {
        of: "authorizations",
        on: "subject, revoked, client_id, api_id, context_key, expires_at",
      }),
    ],
    [
      ...expiring("used_assertions"),
      ...expiring("client_registrations"),
      index("client_registrations_by_end", { of: "client_registrations", on: "extended, expires_at" }),
    ],
  ];
}

/**
 * What `migrate()` does, as SQL for the tool that runs your other migrations: the nth text brings the tables from version n - 1 to
 * version n. Each is complete, with its row in the table of versions, and may run again. Once all have run, `migrate()` only reads.
 * A published text never changes, and a new version adds one at the end.
 *
 * The names are those of `postgresStorage`. With a schema, the first text creates it unless it is `public`. Without one, the names in
 * the texts have none: the tool must have the same `search_path` as the server, because its first schema gets the tables.
 *
 * @throws TypeError when a name is invalid.
 */
export function postgresMigrations(names: PostgresNames = {}): readonly string[] {
  checkNames(names);
  const { schema } = names;
  const tables = tablesNamed(names);
  const beginning = [
    ...(schema === undefined || schema === "public" ? [] : [createSchema(schema)]),
    createTable("migrations", tables),
  ];
  return schemaVersions(tables).map((statements, index) => {
    const recorded = `INSERT INTO ${tables.migrations} (version) VALUES (${index + 1}) ON CONFLICT (version) DO NOTHING`;
    const all = [...(index === 0 ? beginning : []), ...statements, recorded];
    return all.map((statement) => `${statement};\n`).join("");
  });
}

/** Errors of a process that creates something while another process creates the same. The next attempt finds it created. */
const madeByAnother: ReadonlySet<unknown> = new Set(["23505", "42P06", "42P07", "42710", "XX000"]);

async function make(run: Run, statement: string): Promise<void> {
  await repeatOn(madeByAnother, () => run(statement));
}

function createSchema(schema: string): string {
  return `CREATE SCHEMA IF NOT EXISTS "${schema}"`;
}

async function makeSchema(run: Run, schema: string): Promise<void> {
  // checked first, because CREATE SCHEMA needs a right even where there is nothing to do
  const found = await run("SELECT 1 FROM information_schema.schemata WHERE schema_name = $1", [schema]);
  if (found.length === 0) await make(run, createSchema(schema));
}

/** Creates what the newest version has and the database lacks. */
async function makeTables({ run }: Database, tables: Tables): Promise<void> {
  const { migrations } = tables;
  const [row] = await run(`SELECT max(version) AS version FROM ${migrations}`);
  const current = Number(row?.["version"] ?? 0);
  for (const [index, statements] of schemaVersions(tables).entries()) {
    const version = index + 1;
    if (version <= current) continue;
    for (const statement of statements) await make(run, statement);
    await run(`INSERT INTO ${migrations} (version) VALUES ($1) ON CONFLICT (version) DO NOTHING`, [version]);
  }
}

/**
 * Updates the tables to the newest version. With nothing to do it only reads. It takes no lock: every step may run twice, and a
 * process that dies in the middle leaves nothing that the next call cannot complete.
 *
 * @throws Error (as a rejection) when a table is not this adapter's, has no unique key, or is missing or incomplete although it was
 * created
 */
export async function migrate(database: Database): Promise<void> {
  const { run } = database;
  const tables = await database.tables();
  const before = await checkTables(run, { tables, expected: "first columns" });
  if (!before.has("migrations")) {
    await makeSchema(run, tables.schema);
    await make(run, createTable("migrations", tables));
  }
  await makeTables(database, tables);
  const after = await checkTables(run, { tables, expected: "all columns" });
  const missing = tableNames.find((name) => !after.has(name));
  if (missing === undefined) return;
  throw new Error(
    `postgresStorage: the table ${tables[missing]} is missing, although ${tables.migrations} says that it was created. Restore it, or empty ${tables.migrations} and call migrate() again.`,
  );
}
