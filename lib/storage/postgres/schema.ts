/** The tables of the PostgreSQL adapter, and the steps that make them. RFC 6749 §10.10 (digests only). */
import { type Query, repeatOn, sqlState } from "./pool";

/** Where the tables are put. */
export interface PostgresNames {
  /** An existing or new schema; the first one of the connection's `search_path` when left out. */
  readonly schema?: string;
  /** What every table and index name begins with; default `"authmount_"`. */
  readonly prefix?: string;
}

const tableNames = [
  "clients",
  "browser_origins",
  "consents",
  "authorizations",
  "authorization_codes",
  "refresh_tokens",
  "spent_tokens",
  "access_tokens",
  "revoked_access_tokens",
  "end_marks",
  "migrations",
] as const;

type TableName = (typeof tableNames)[number];

/** Each table by its full quoted name, and `index` to name an index of it. */
export type Tables = Readonly<Record<TableName, string>> & {
  readonly schema: string | undefined;
  readonly index: (name: string) => string;
};

const plainName = /^[a-z_][a-z0-9_]{0,29}$/;

/** @throws TypeError when a name is more than 30 lower-case letters, digits and underscores. */
export function tablesOf({ schema, prefix = "authmount_" }: PostgresNames): Tables {
  for (const [option, name] of Object.entries({ schema, prefix })) {
    if (name === undefined || (typeof name === "string" && plainName.test(name))) continue;
    throw new TypeError(
      `postgresStorage: ${option} must be 1 to 30 lower-case letters, digits and underscores, and begin with no digit.`,
    );
  }
  const place = schema === undefined ? "" : `"${schema}".`;
  const tables = tableNames.map((name) => [name, `${place}"${prefix}${name}"`]);
  const index = (name: string): string => `"${prefix}${name}"`;
  return { ...(Object.fromEntries(tables) as Record<TableName, string>), schema, index };
}

/**
 * The versions of the schema: version n is the nth list. A published version never changes; the next one adds to it so that
 * processes of the version before can go on. Each statement is whole by itself and may run again.
 */
export function schemaVersions(tables: Tables): readonly (readonly string[])[] {
  const { index } = tables;
  const byExpiry = (table: TableName): string =>
    `CREATE INDEX IF NOT EXISTS ${index(`${table}_expires_at`)} ON ${tables[table]} (expires_at)`;
  const table = (name: TableName, columns: string): string =>
    `CREATE TABLE IF NOT EXISTS ${tables[name]} (${columns})`;
  const byDigest = "digest text PRIMARY KEY, record text NOT NULL, expires_at bigint NOT NULL";
  return [
    [
      table("clients", "client_id text PRIMARY KEY, record text NOT NULL"),
      table("browser_origins", "origin text, client_id text, PRIMARY KEY (origin, client_id)"),
      table(
        "consents",
        "subject text, client_id text, api_id text, record text NOT NULL, expires_at bigint NOT NULL, PRIMARY KEY (subject, client_id, api_id)",
      ),
      byExpiry("consents"),
      table(
        "authorizations",
        "authorization_id text PRIMARY KEY, subject text NOT NULL, client_id text NOT NULL, api_id text NOT NULL, record text NOT NULL, revoked boolean NOT NULL, expires_at bigint NOT NULL",
      ),
      `CREATE INDEX IF NOT EXISTS ${index("authorizations_end_user")} ON ${tables.authorizations} (subject, client_id, api_id)`,
      byExpiry("authorizations"),
      table("authorization_codes", byDigest),
      byExpiry("authorization_codes"),
      table("refresh_tokens", byDigest),
      byExpiry("refresh_tokens"),
      table("spent_tokens", "digest text PRIMARY KEY, expires_at bigint NOT NULL"),
      byExpiry("spent_tokens"),
      table("access_tokens", byDigest),
      byExpiry("access_tokens"),
      table("revoked_access_tokens", "token_id text PRIMARY KEY, expires_at bigint NOT NULL"),
      byExpiry("revoked_access_tokens"),
    ],
    [
      table("end_marks", "key text PRIMARY KEY, mark text NOT NULL, expires_at bigint NOT NULL"),
      byExpiry("end_marks"),
    ],
  ];
}

/** What two processes that make the same thing at once may hear, each meaning that the other one is about to have made it. */
const madeByAnother: ReadonlySet<unknown> = new Set(["23505", "42P06", "42P07", "42710", "XX000"]);
const undefinedTable = "42P01";

async function make(query: Query, statement: string): Promise<void> {
  await repeatOn(madeByAnother, () => query(statement));
}

async function makeSchema(query: Query, schema: string | undefined): Promise<void> {
  if (schema === undefined) return;
  // asked first, as CREATE SCHEMA wants a right even where there is nothing to do
  const found = await query("SELECT 1 FROM information_schema.schemata WHERE schema_name = $1", [schema]);
  if (found.length === 0) await make(query, `CREATE SCHEMA IF NOT EXISTS "${schema}"`);
}

/** The newest version there is, 0 for none. */
async function currentVersion(query: Query, tables: Tables): Promise<number> {
  try {
    const [row] = await query(`SELECT max(version) AS version FROM ${tables.migrations}`);
    return Number(row?.["version"] ?? 0);
  } catch (error) {
    if (sqlState(error) !== undefinedTable) throw error;
    await makeSchema(query, tables.schema);
    await make(query, `CREATE TABLE IF NOT EXISTS ${tables.migrations} (version integer PRIMARY KEY)`);
    return 0;
  }
}

/** Brings the tables to the newest version. With nothing to do it only reads. */
export async function migrate(query: Query, tables: Tables): Promise<void> {
  const current = await currentVersion(query, tables);
  for (const [index, statements] of schemaVersions(tables).entries()) {
    const version = index + 1;
    if (version <= current) continue;
    for (const statement of statements) await make(query, statement);
    await query(`INSERT INTO ${tables.migrations} (version) VALUES ($1) ON CONFLICT DO NOTHING`, [version]);
  }
}
