/** Checks that existing tables are those of this adapter, and complete. RFC 6749 §10.5 (single use rests on a primary key). */
import type { Risk } from "../risks";
import type { Database } from "./database";
import { type TableName, tableNames, type Tables } from "./names";
import type { PostgresRow, Run } from "./pool";
import { type Columns, type TableShape, tableShapes } from "./table-shapes";

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
function unstableColumns({ columns, added }: TableShape, found: readonly PostgresRow[]): readonly string[] {
  const ours = { ...columns, ...added };
  return found
    .filter(({ name, collation }) => ours[String(name)] === "text" && (collation ?? "C") !== "C")
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

/** Why this table must not be used, or `undefined` when it may be used. */
function problemOf(shape: TableShape, { columns, keys }: Found): string | undefined {
  const column = missingColumn(shape.columns, columns);
  if (column !== undefined) {
    return `exists but is not authmount's: it has no column ${column}. Choose another prefix or schema, or rename that table.`;
  }
  const unstable = unstableColumns(shape, columns);
  if (unstable.length > 0) {
    const changes = unstable.map((name) => `ALTER COLUMN ${name} TYPE text COLLATE "C"`).join(", ");
    return `has text columns that are not COLLATE "C": after an update of the system's libraries, indexes would miss rows, and a token could be used twice. Run: ALTER TABLE … ${changes}.`;
  }
  const key = shape.key.join(", ");
  return hasKey(shape, keys)
    ? undefined
    : `has no primary key or unique index on (${key}), so a token could be used twice. Finish the restore that left it out, or add it: ALTER TABLE … ADD PRIMARY KEY (${key}).`;
}

/**
 * The names of the tables that exist. It only reads. Tables of an earlier version have their first columns only.
 *
 * @throws Error (as a rejection) when a table lacks an expected column, or when nothing keeps its keys unique. Without the unique
 * key, two requests could use the same token.
 */
export async function checkTables(
  run: Run,
  { tables, expected }: { tables: Tables; expected: "first columns" | "all columns" },
): Promise<ReadonlySet<TableName>> {
  const place = [tables.schema, tableNames.map(tables.named)];
  // columns first: a table that another process creates in between is then left out instead of being seen half-finished
  const columns = await run(columnQuestion, place);
  const keys = await run(keyQuestion, place);
  const present = new Set<TableName>();
  for (const name of tableNames) {
    const ofTable = (row: PostgresRow): boolean => row["table"] === tables.named(name);
    const found = { columns: columns.filter(ofTable), keys: keys.filter(ofTable) };
    if (found.columns.length === 0) continue;
    const shape = tableShapes[name];
    const problem = problemOf(shape, found);
    if (problem !== undefined) throw new Error(`postgresStorage: the table ${tables[name]} ${problem}`);
    const added = expected === "all columns" && missingColumn(shape.added ?? {}, found.columns);
    if (added) {
      throw new Error(
        `postgresStorage: the table ${tables[name]} has no column ${added}, although ${tables.migrations} says that it was added. Empty ${tables.migrations} and call migrate() again, which adds the column.`,
      );
    }
    present.add(name);
  }
  return present;
}

const riskQuestion = `SELECT name || ' is off' AS problem, 'Set it to on.' AS fix
  FROM pg_catalog.pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'
  UNION ALL SELECT 'the table ' || class.relname || ' is UNLOGGED', 'ALTER TABLE … SET LOGGED.'
  FROM pg_catalog.pg_class AS class JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = class.relnamespace
  WHERE ${named} AND class.relpersistence = 'u' ORDER BY problem`;

/** What the server, as it serves this connection, may lose after a crash although it has acknowledged it. */
export async function risksOfServer({ run, tables: find }: Database): Promise<readonly Risk[]> {
  const tables = await find();
  const rows = await run(riskQuestion, [tables.schema, tableNames.map(tables.named)]);
  return rows.map(({ problem, fix }) => ({ problem: String(problem), fix: String(fix) }));
}
