/** The names of the tables, the schema that contains them, and what each has. RFC 6749 §10.5 (two servers must not share them by accident), 10.10 (digests only). */
import { mistakesOf } from "../../protocol/mistake";
import { nameProblem, type TableName, tableNames } from "../table-names";

/** Where the tables are, and how their names begin. */
export interface MysqlNames {
  /** An existing or new schema, which MySQL also calls a database. Left out: the one that the pool's connections are in. */
  readonly schema?: string;
  /** The beginning of every table name; default `"authmount_"`. It must not end in `revoked_`. */
  readonly prefix?: string;
}

/** The quoted name of each table, ready for a statement. */
export type Tables = Readonly<Record<TableName, string>> & {
  /** The name of a table with its prefix, but without quotes and schema. */
  readonly named: (name: TableName) => string;
};

const mistake = mistakesOf({
  "mysql-name-undefined": (option: string) =>
    `mysqlStorage: ${option} is undefined. Set it, or leave it out for the default.`,
  "mysql-name-not-plain": (option: string) =>
    `mysqlStorage: ${option} must be 1 to 30 lower-case letters, digits and underscores, and must not begin with a digit.`,
  "mysql-prefix-ambiguous":
    'mysqlStorage: prefix must not end in "revoked_": its access_tokens table would be the revoked_access_tokens table of another prefix.',
});

function checkName(option: "schema" | "prefix", name: unknown): void {
  const problem = nameProblem(option, name);
  if (problem === "undefined") throw mistake("mysql-name-undefined", option);
  if (problem === "not-plain") throw mistake("mysql-name-not-plain", option);
  if (problem === "ambiguous") throw mistake("mysql-prefix-ambiguous");
}

/**
 * Checks the options that name tables. Only plain names pass, because they are written into statements.
 *
 * @throws TypeError when a name is invalid, or is present but `undefined`.
 */
export function checkNames(names: MysqlNames): void {
  for (const option of ["schema", "prefix"] as const) {
    if (option in names) checkName(option, names[option]);
  }
}

/** The names of the tables. Without a schema, they are those of the schema that the connection is in. */
export function tablesNamed({ schema, prefix = "authmount_" }: MysqlNames): Tables {
  const named = (name: string): string => `${prefix}${name}`;
  const place = schema === undefined ? "" : `\`${schema}\`.`;
  const tables = tableNames.map((name) => [name, `${place}\`${named(name)}\``]);
  return { ...(Object.fromEntries(tables) as Record<TableName, string>), named };
}

/** The columns of a table with their types, its primary key, and its other indexes by name. */
export interface TableShape {
  readonly columns: Readonly<Record<string, string>>;
  readonly key: readonly string[];
  readonly indexes?: Readonly<Record<string, string>>;
}

// Bytes, not characters: the usual collations take "Shop" for "shop", and "a " for "a". Nor JSON columns, which change the order of keys.
// An index has at most 3,072 bytes, and a character up to four.
const name = "varbinary(255)";
const subject = "varbinary(1020)";
const contextKey = "varbinary(512)";
const record = "mediumblob";
const time = "bigint";
const flag = "tinyint";
/**
 * Counts statements, and means nothing: a statement that changes no value counts as one that changes a row only by some drivers, and waits
 * for no replica.
 */
const turn = "bigint";

function expiring({ columns, key, indexes }: TableShape): TableShape {
  return { columns: { ...columns, expires_at: time }, key, indexes: { ...indexes, by_end: "expires_at" } };
}

const byDigest = expiring({ columns: { digest: name, record }, key: ["digest"] });

const approval = { subject, client_id: name, api_id: name, context_key: contextKey };

/** The shape of each table. `migrate` creates the tables from it and checks existing ones against it. */
export const tableShapes: Readonly<Record<TableName, TableShape>> = {
  clients: { columns: { client_id: name, record, turn }, key: ["client_id"] },
  browser_origins: {
    columns: { origin: "varbinary(512)", client_id: name },
    key: ["origin", "client_id"],
  },
  // each end mark stands between two blanks
  consents: expiring({ columns: { ...approval, record, end_marks: record }, key: Object.keys(approval) }),
  authorizations: expiring({
    columns: {
      authorization_id: name,
      ...approval,
      record,
      revoked: flag,
      created_at: time,
      last_used_at: time,
      turn,
    },
    key: ["authorization_id"],
    indexes: { by_subject: "subject, revoked, client_id, api_id, context_key, expires_at" },
  }),
  authorization_codes: byDigest,
  refresh_tokens: byDigest,
  // the record is how a refresh token was used; what begins with next_ is its successor, or empty
  spent_tokens: expiring({
    columns: {
      digest: name,
      authorization_id: name,
      used_at: time,
      record,
      next_digest: name,
      next_record: record,
      next_expires_at: time,
      turn,
    },
    key: ["digest"],
    indexes: { by_successor: "next_digest", by_authorization: "authorization_id, used_at" },
  }),
  access_tokens: byDigest,
  revoked_access_tokens: expiring({ columns: { token_id: name, turn }, key: ["token_id"] }),
  end_marks: expiring({ columns: { mark_key: name, mark: name }, key: ["mark_key"] }),
  used_assertions: expiring({ columns: { digest: name }, key: ["digest"] }),
  client_registrations: expiring({
    columns: { client_id: name, record, extended: flag, turn },
    key: ["client_id"],
    indexes: { by_extension: "extended, expires_at" },
  }),
  parked_requests: expiring({
    columns: { digest: name, owner: name, state: name, answered_by: name, device: record, turn },
    key: ["digest"],
    indexes: { by_owner: "owner, state, expires_at" },
  }),
  migrations: { columns: { version: "int" }, key: ["version"] },
};

/** The columns, the key and the indexes in the syntax of `CREATE TABLE`. */
export function columnsOf({ columns, key, indexes = {} }: TableShape): string {
  return [
    ...Object.entries(columns).map(([column, type]) => `${column} ${type} NOT NULL`),
    `PRIMARY KEY (${key.join(", ")})`,
    ...Object.entries(indexes).map(([index, on]) => `KEY ${index} (${on})`),
  ].join(", ");
}
