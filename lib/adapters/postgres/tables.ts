/** The names of the tables, the schema that contains them, and what each has. RFC 6749 §10.5 (two servers must not share them by accident), 10.10 (digests only). */
import { mistakesOf } from "../../protocol/mistake";
import { nameProblem, type TableName, tableNames } from "../table-names";

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

const mistake = mistakesOf({
  "postgres-name-undefined": (option: string) =>
    `postgresStorage: ${option} is undefined. Set it, or leave it out for the default.`,
  "postgres-name-not-plain": (option: string) =>
    `postgresStorage: ${option} must be 1 to 30 lower-case letters, digits and underscores, and must not begin with a digit.`,
  "postgres-prefix-ambiguous":
    'postgresStorage: prefix must not end in "revoked_": its access_tokens table would be the revoked_access_tokens table of another prefix.',
});

function checkName(option: "schema" | "prefix", name: unknown): void {
  const problem = nameProblem(option, name);
  if (problem === "undefined") throw mistake("postgres-name-undefined", option);
  if (problem === "not-plain") throw mistake("postgres-name-not-plain", option);
  if (problem === "ambiguous") throw mistake("postgres-prefix-ambiguous");
}

/**
 * Checks the options that name tables. Only plain names pass, because they are written into statements.
 *
 * @throws TypeError when a name is invalid, or is present but `undefined`.
 */
export function checkNames(names: PostgresNames): void {
  for (const option of ["schema", "prefix"] as const) {
    if (option in names) checkName(option, names[option]);
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

/** Columns with their types, none of them nullable. */
export type Columns = Readonly<Record<string, "text" | "bigint" | "boolean" | "integer">>;

/** The columns of a table, and those whose combined values are unique. */
export interface TableShape {
  readonly columns: Columns;
  readonly key: readonly string[];
}

const byDigest: TableShape = {
  columns: { digest: "text", record: "text", expires_at: "bigint" },
  key: ["digest"],
};

/** The shape of each table. `migrate` creates the tables from it and checks existing ones against it. */
export const tableShapes: Readonly<Record<TableName, TableShape>> = {
  clients: { columns: { client_id: "text", record: "text" }, key: ["client_id"] },
  browser_origins: { columns: { origin: "text", client_id: "text" }, key: ["origin", "client_id"] },
  consents: {
    columns: {
      subject: "text",
      client_id: "text",
      api_id: "text",
      context_key: "text",
      record: "text",
      expires_at: "bigint",
    },
    key: ["subject", "client_id", "api_id", "context_key"],
  },
  authorizations: {
    columns: {
      authorization_id: "text",
      subject: "text",
      client_id: "text",
      api_id: "text",
      context_key: "text",
      record: "text",
      revoked: "boolean",
      last_used_at: "bigint",
      expires_at: "bigint",
    },
    key: ["authorization_id"],
  },
  authorization_codes: byDigest,
  refresh_tokens: byDigest,
  // the record is how a refresh token was used
  spent_tokens: byDigest,
  access_tokens: byDigest,
  revoked_access_tokens: { columns: { token_id: "text", expires_at: "bigint" }, key: ["token_id"] },
  end_marks: { columns: { key: "text", mark: "text", expires_at: "bigint" }, key: ["key"] },
  used_assertions: { columns: { digest: "text", expires_at: "bigint" }, key: ["digest"] },
  client_registrations: {
    columns: { client_id: "text", record: "text", extended: "boolean", expires_at: "bigint" },
    key: ["client_id"],
  },
  parked_requests: {
    columns: {
      digest: "text",
      owner: "text",
      state: "text",
      answered_by: "text",
      device: "text",
      expires_at: "bigint",
    },
    key: ["digest"],
  },
  migrations: { columns: { version: "integer" }, key: ["version"] },
};

/** Bytes are compared: the order of any other collation changes with the system's libraries, and indexes then miss their rows. */
function typeOf(type: Columns[string]): string {
  return type === "text" ? 'text COLLATE "C"' : type;
}

/** The columns and the key in the syntax of `CREATE TABLE`. */
export function columnsOf({ columns, key }: TableShape): string {
  const typed = Object.entries(columns).map(([name, type]) => `${name} ${typeOf(type)} NOT NULL`);
  return [...typed, `PRIMARY KEY (${key.join(", ")})`].join(", ");
}
