/** The database as the stores ask it: a statement is written once it is known where the tables are. RFC 6749 §10.5. */
import { type PostgresNames, type Tables, tablesIn } from "./names";
import { type PostgresPool, type PostgresRow, type Run, runOn } from "./pool";

/** Runs one statement on the tables, and gives its rows. */
export type Query = (
  statement: (tables: Tables) => string,
  values?: readonly unknown[],
) => Promise<readonly PostgresRow[]>;

export interface Database {
  readonly query: Query;
  readonly run: Run;
  readonly tables: () => Promise<Tables>;
}

/**
 * Without its schema a name would mean the table of whichever schema of the `search_path` has one: that of another server, where
 * the first schema has none yet.
 */
async function currentSchema(run: Run): Promise<string> {
  const [row] = await run("SELECT current_schema() AS schema");
  const schema = row?.["schema"];
  if (typeof schema === "string") return schema;
  throw new Error(
    "postgresStorage: no schema of the connection's search_path exists. Write schema, or make one.",
  );
}

/** True for the answer of a database that lacks a schema, a table or a column. */
function isMissing(cause: unknown): boolean {
  const { code } = (cause ?? {}) as { code?: unknown };
  return code === "42P01" || code === "42703" || code === "3F000";
}

function withoutMigration(cause: unknown): Error {
  return new Error(
    "postgresStorage: a table or column is missing in the database. Call await storage.migrate() once before the server starts, or after an upgrade; see docs/storage.md.",
    { cause },
  );
}

export function openDatabase(pool: PostgresPool, { schema, prefix }: PostgresNames): Database {
  const run = runOn(pool);
  let found: Promise<Tables> | undefined;

  async function find(): Promise<Tables> {
    return tablesIn(schema ?? (await currentSchema(run)), prefix);
  }

  async function tables(): Promise<Tables> {
    const finding = (found ??= find());
    try {
      return await finding;
    } catch (error) {
      found = undefined;
      throw error;
    }
  }

  async function query(statement: (tables: Tables) => string, values?: readonly unknown[]) {
    try {
      return await run(statement(await tables()), values);
    } catch (cause) {
      throw isMissing(cause) ? withoutMigration(cause) : cause;
    }
  }

  return { run, tables, query };
}
