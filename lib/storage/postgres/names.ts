/** The names of the tables, and the schema that contains them. RFC 6749 §10.5 (two servers must not share them by accident). */

/** Where the tables are, and how their names begin. */
export interface PostgresNames {
  /**
   * An existing or new schema. Left out: the first existing schema of the connection's `search_path`, determined at the first
   * statement. No other schema is searched.
   */
  readonly schema?: string;
  /** The beginning of every table and index name; default `"authmount_"`. It must not end in `revoked_`. */
  readonly prefix?: string;
}

/** The tables without their prefix. `migrations` holds the versions of the schema that were created. */
export const tableNames = [
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
  "consents_by_context",
  "used_assertions",
  "client_registrations",
  "migrations",
] as const;

/** The name of a table without its prefix. */
export type TableName = (typeof tableNames)[number];

/** The quoted name of each table, ready for a statement. */
export type NamedTables = Readonly<Record<TableName, string>> & {
  /** The name of a table or index with its prefix, but without quotes and schema. */
  readonly named: (name: string) => string;
};

/** The same with the schema in each name. */
export type Tables = NamedTables & {
  /** The schema without quotes. */
  readonly schema: string;
};

const plainName = /^[a-z_][a-z0-9_]{0,29}$/;

function nameProblem(option: string, name: unknown): string | undefined {
  // undefined may be a variable that somebody forgot to set, and the default may name another server's tables
  if (name === undefined) return "is undefined. Set it, or leave it out for the default.";
  if (typeof name !== "string" || !plainName.test(name)) {
    return "must be 1 to 30 lower-case letters, digits and underscores, and must not begin with a digit.";
  }
  return option === "prefix" && /.revoked_$/.test(name)
    ? `must not end in "revoked_": its access_tokens table would be the revoked_access_tokens table of another prefix.`
    : undefined;
}

/**
 * Checks the options that name tables. Only plain names pass, because they are written into statements.
 *
 * @throws TypeError when a name is invalid, or is present but `undefined`.
 */
export function checkNames(names: PostgresNames): void {
  for (const option of ["schema", "prefix"] as const) {
    const problem = option in names ? nameProblem(option, names[option]) : undefined;
    if (problem !== undefined) throw new TypeError(`postgresStorage: ${option} ${problem}`);
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The names of the tables. Without a schema, the database looks for them in the `search_path`. */
export function tablesNamed({ schema, prefix = "authmount_" }: PostgresNames): NamedTables {
  const named = (name: string): string => `${prefix}${name}`;
  const place = schema === undefined ? "" : `${quoted(schema)}.`;
  const tables = tableNames.map((name) => [name, `${place}${quoted(named(name))}`]);
  return { ...(Object.fromEntries(tables) as Record<TableName, string>), named };
}

/** The names of the tables in this schema. */
export function tablesIn(schema: string, prefix?: string): Tables {
  return { ...tablesNamed({ schema, ...(prefix !== undefined && { prefix }) }), schema };
}
