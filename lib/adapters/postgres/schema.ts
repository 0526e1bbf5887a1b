/** The versions of the tables: which ones there are, how they are created, and checks that they are complete. RFC 6749 §10.5 (single use rests on a primary key). */
import { mistakesOf } from "../../protocol/mistake";
import type { Risk } from "../../storage/risks";
import { type TableName, tableNames } from "../table-names";
import { type Database, type PostgresRow, repeatOnState, type Run } from "./database";
import {
  checkNames,
  type Columns,
  columnsOf,
  type NamedTables,
  type PostgresNames,
  type Tables,
  type TableShape,
  tableShapes,
  tablesNamed,
} from "./tables";

const ofTables = `pg_catalog.pg_class AS class
  JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = class.relnamespace
  JOIN pg_catalog.pg_attribute AS attribute ON attribute.attrelid = class.oid`;

const named = "namespace.nspname = $1 AND class.relname = ANY($2::text[])";

const columnQuestion = `SELECT class.relname::text AS "table", attribute.attname::text AS name,
  format_type(attribute.atttypid, attribute.atttypmod) AS type, sorting.collname::text AS collation
  FROM ${ofTables} LEFT JOIN pg_catalog.pg_collation AS sorting ON sorting.oid = attribute.attcollation
  WHERE ${named} AND attribute.attnum > 0 AND NOT attribute.attisdropped`;

/**
 * Every set of columns that an index keeps unique, in the order of bytes. Others, such as partial or deferred ones, do not work with
 * `ON CONFLICT`.
 */
const keyQuestion = `SELECT class.relname::text AS "table", string_agg(attribute.attname::text, ',') AS key
  FROM ${ofTables}
  JOIN pg_catalog.pg_index AS index ON index.indrelid = class.oid AND attribute.attnum = ANY(index.indkey)
  WHERE ${named} AND index.indisunique AND index.indisvalid AND index.indimmediate
  AND index.indpred IS NULL AND index.indexprs IS NULL AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_collation AS other
    WHERE other.oid = ANY(index.indcollation) AND other.collname <> 'C')
  GROUP BY class.relname, index.indexrelid`;

function missingColumn(columns: Columns, found: readonly PostgresRow[]): string | undefined {
  const types = new Map(found.map(({ name, type }) => [name, type]));
  const missing = Object.entries(columns).find(([name, type]) => {
    const known = types.get(name);
    // engines with a single integer type call it bigint
    return known !== type && !(type === "integer" && known === "bigint");
  });
  return missing && `"${missing[0]}" of type ${missing[1]}`;
}

/** The columns whose order, and so the rows that an index finds, would change with the system's libraries. */
function unstableColumns({ columns }: TableShape, found: readonly PostgresRow[]): readonly string[] {
  return found
    .filter(({ name, collation }) => columns[String(name)] === "text" && (collation ?? "C") !== "C")
    .map(({ name }) => String(name));
}

function hasKey({ key }: TableShape, found: readonly PostgresRow[]): boolean {
  const wanted = key.toSorted().join();
  return found.some((row) => String(row["key"]).split(",").toSorted().join() === wanted);
}

interface Found {
  readonly columns: readonly PostgresRow[];
  readonly keys: readonly PostgresRow[];
}

const mistake = mistakesOf({
  "postgres-table-foreign": (table: string, column: string) =>
    `postgresStorage: the table ${table} exists but is not authmount's: it has no column ${column}. Choose another prefix or schema, or rename that table.`,
  "postgres-table-collation": (table: string, changes: string) =>
    `postgresStorage: the table ${table} has text columns that are not COLLATE "C": after an update of the system's libraries, indexes would miss rows, and a token could be used twice. Run: ALTER TABLE … ${changes}.`,
  "postgres-table-without-key": (table: string, key: string) =>
    `postgresStorage: the table ${table} has no primary key or unique index on (${key}), so a token could be used twice. Finish the restore that left it out, or add it: ALTER TABLE … ADD PRIMARY KEY (${key}).`,
  "postgres-table-missing": (table: string, versions: string) =>
    `postgresStorage: the table ${table} is missing, although ${versions} says that it was created. Restore it, or empty ${versions} and call migrate() again.`,
});

/** Throws when this table must not be used. */
function checkTable(shape: TableShape, { table, columns, keys }: Found & { readonly table: string }): void {
  const column = missingColumn(shape.columns, columns);
  if (column !== undefined) throw mistake("postgres-table-foreign", table, column);
  const unstable = unstableColumns(shape, columns);
  if (unstable.length > 0) {
    const changes = unstable.map((name) => `ALTER COLUMN ${name} TYPE text COLLATE "C"`).join(", ");
    throw mistake("postgres-table-collation", table, changes);
  }
  if (!hasKey(shape, keys)) throw mistake("postgres-table-without-key", table, shape.key.join(", "));
}

/**
 * The names of the tables that exist. It only reads.
 *
 * @throws Error (as a rejection) when a table lacks an expected column, or when nothing keeps its keys unique. Without the unique
 * key, two requests could use the same token.
 */
async function checkTables(run: Run, tables: Tables): Promise<ReadonlySet<TableName>> {
  const place = [tables.schema, tableNames.map(tables.named)];
  // columns first: a table that another process creates in between is then left out instead of being seen half-finished
  const columns = await run(columnQuestion, place);
  const keys = await run(keyQuestion, place);
  const present = new Set<TableName>();
  for (const name of tableNames) {
    const ofTable = (row: PostgresRow): boolean => row["table"] === tables.named(name);
    const found = { columns: columns.filter(ofTable), keys: keys.filter(ofTable) };
    if (found.columns.length === 0) continue;
    checkTable(tableShapes[name], { ...found, table: tables[name] });
    present.add(name);
  }
  return present;
}

const riskQuestion = `SELECT 'setting' AS kind, name
  FROM pg_catalog.pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'
  UNION ALL SELECT 'table', class.relname::text
  FROM pg_catalog.pg_class AS class JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = class.relnamespace
  WHERE ${named} AND class.relpersistence = 'u' ORDER BY kind, name`;

const settingOff = (name: string): Risk => ({
  code: "postgres-setting-off",
  problem: `${name} is off`,
  fix: "Set it to on.",
});

const tableUnlogged = (name: string): Risk => ({
  code: "postgres-table-unlogged",
  problem: `the table ${name} is UNLOGGED`,
  fix: "ALTER TABLE … SET LOGGED.",
});

/** What the server, as it serves this connection, may lose after a crash although it has acknowledged it. */
export async function risksOfServer({ run, tables: find }: Database): Promise<readonly Risk[]> {
  const tables = await find();
  const rows = await run(riskQuestion, [tables.schema, tableNames.map(tables.named)]);
  return rows.map(({ kind, name }) => (kind === "setting" ? settingOff : tableUnlogged)(String(name)));
}

function createTable(table: TableName, tables: NamedTables): string {
  return `CREATE TABLE IF NOT EXISTS ${tables[table]} (${columnsOf(tableShapes[table])})`;
}

/** The statements that bring the tables from the version before to this one. Each is complete by itself and may run again. */
export type SchemaVersion = (tables: NamedTables) => readonly string[];

function createTables(tables: NamedTables): readonly string[] {
  const index = (name: string, { of, on }: { of: TableName; on: string }): string =>
    `CREATE INDEX IF NOT EXISTS "${tables.named(name)}" ON ${tables[of]} (${on})`;
  const made = tableNames
    .filter((table) => table !== "migrations")
    .flatMap((table) => [
      createTable(table, tables),
      ...("expires_at" in tableShapes[table].columns
        ? [index(`${table}_expires_at`, { of: table, on: "expires_at" })]
        : []),
    ]);
  return [
    ...made,
    index("authorizations_by_subject", {
      of: "authorizations",
      on: "subject, revoked, client_id, api_id, context_key, expires_at",
    }),
    index("client_registrations_by_end", { of: "client_registrations", on: "extended, expires_at" }),
    index("parked_requests_by_owner", { of: "parked_requests", on: "owner, state, expires_at" }),
  ];
}

/**
 * The versions of the schema, in their order. A published version never changes: the next one goes to the end of the list, and only adds
 * to the tables, so that processes of the version before can go on.
 */
export const schemaVersions: readonly SchemaVersion[] = [createTables];

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
  return schemaVersions.map((statementsOn, index) => {
    const recorded = `INSERT INTO ${tables.migrations} (version) VALUES (${index + 1}) ON CONFLICT (version) DO NOTHING`;
    const all = [...(index === 0 ? beginning : []), ...statementsOn(tables), recorded];
    return all.map((statement) => `${statement};\n`).join("");
  });
}

/** Errors of a process that creates something while another process creates the same. The next attempt finds it created. */
const madeByAnother: ReadonlySet<unknown> = new Set(["23505", "42P06", "42P07", "42710", "XX000"]);

async function make(run: Run, statement: string): Promise<void> {
  await repeatOnState(madeByAnother, () => run(statement));
}

function createSchema(schema: string): string {
  return `CREATE SCHEMA IF NOT EXISTS "${schema}"`;
}

async function makeSchema(run: Run, schema: string): Promise<void> {
  // checked first, because CREATE SCHEMA needs a right even where there is nothing to do
  const found = await run("SELECT 1 FROM information_schema.schemata WHERE schema_name = $1", [schema]);
  if (found.length === 0) await make(run, createSchema(schema));
}

/** Runs the versions that the database lacks. */
async function runVersions(
  run: Run,
  { tables, versions }: { tables: Tables; versions: readonly SchemaVersion[] },
): Promise<void> {
  const { migrations } = tables;
  const [row] = await run(`SELECT max(version) AS version FROM ${migrations}`);
  const current = Number(row?.["version"] ?? 0);
  for (const [index, statementsOn] of versions.entries()) {
    if (index < current) continue;
    for (const statement of statementsOn(tables)) await make(run, statement);
    const recorded = `INSERT INTO ${migrations} (version) VALUES ($1) ON CONFLICT (version) DO NOTHING`;
    await run(recorded, [index + 1]);
  }
}

/**
 * Updates the tables to the newest version. With nothing to do it only reads. It takes no lock: every step may run twice, and a
 * process that dies in the middle leaves nothing that the next call cannot complete.
 *
 * @throws Error (as a rejection) when a table is not this adapter's, has no unique key, or is missing although it was created
 */
export async function migrate(
  { run, tables: find }: Database,
  versions: readonly SchemaVersion[] = schemaVersions,
): Promise<void> {
  const tables = await find();
  const before = await checkTables(run, tables);
  if (!before.has("migrations")) {
    await makeSchema(run, tables.schema);
    await make(run, createTable("migrations", tables));
  }
  await runVersions(run, { tables, versions });
  const after = await checkTables(run, tables);
  const missing = tableNames.find((name) => !after.has(name));
  if (missing !== undefined) throw mistake("postgres-table-missing", tables[missing], tables.migrations);
}
