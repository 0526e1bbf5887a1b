/** Access to the database for the stores. A statement is built once the location of the tables is known. RFC 6749 §10.5. */
import { type PostgresNames, type Tables, tablesIn } from "./names";
import { type PostgresPool, type PostgresRow, type Run, runOn, sqlState } from "./pool";

/** The condition on (subject, client, API), the first three values. */
export const ofKey = "subject = $1 AND client_id = $2 AND api_id = $3";

/** Runs one statement on the tables and returns its rows. */
export type Query = (
  statement: (tables: Tables) => string,
  values?: readonly unknown[],
) => Promise<readonly PostgresRow[]>;

/** The database with this adapter's tables. */
export interface Database {
  /** Runs a statement that names tables. */
  readonly query: Query;
  /** Runs a statement that names none. */
  readonly run: Run;
  /** The full names of the tables. The schema is looked up once; a failed look-up is repeated with the next call. */
  readonly tables: () => Promise<Tables>;
}

/**
 * The first existing schema of the `search_path`. Names are qualified by it: an unqualified name could reach the table of another
 * server, in a later schema, while the first schema has no such table yet.
 */
async function currentSchema(run: Run): Promise<string> {
  const [row] = await run("SELECT current_schema()::text AS schema");
  const schema = row?.["schema"];
  if (typeof schema === "string") return schema;
  throw new Error(
    "postgresStorage: none of the schemas in the connection's search_path exists. Set the schema option, or create one.",
  );
}

/** True for the error of a database that lacks a schema, a table or a column. */
function isMissing(cause: unknown): boolean {
  return ["42P01", "42703", "3F000"].includes(String(sqlState(cause)));
}

/** Keeps the code of the database's error, by which hosts tell failures apart. */
function withoutMigration(cause: unknown): Error {
  const error = new Error(
    "postgresStorage: a table or column is missing in the database. Call await storage.migrate() once before the server starts, and after an upgrade (docs/storage.md).",
    { cause },
  );
  return Object.assign(error, { code: sqlState(cause) });
}

/** The database behind a pool. It opens no connection before the first statement. */
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
