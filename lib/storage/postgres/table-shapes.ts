/** The columns and the key of each table. RFC 6749 §10.10 (digests only). */
import type { TableName } from "./names";

/** Columns with their types, none of them nullable. */
export type Columns = Readonly<Record<string, "text" | "bigint" | "boolean" | "integer">>;

/** The columns that the table was created with, those that version 3 added, and the columns whose combined values are unique. */
export interface TableShape {
  readonly columns: Columns;
  readonly added?: Columns;
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
    columns: { subject: "text", client_id: "text", api_id: "text", record: "text", expires_at: "bigint" },
    key: ["subject", "client_id", "api_id"],
  },
  authorizations: {
    columns: {
      authorization_id: "text",
      subject: "text",
      client_id: "text",
      api_id: "text",
      record: "text",
      revoked: "boolean",
      expires_at: "bigint",
    },
    // no context, and never used
    added: { context_key: "text", last_used_at: "bigint" },
    key: ["authorization_id"],
  },
  authorization_codes: byDigest,
  refresh_tokens: byDigest,
  spent_tokens: {
    columns: { digest: "text", expires_at: "bigint" },
    // how a refresh token was used
    added: { record: "text" },
    key: ["digest"],
  },
  access_tokens: byDigest,
  revoked_access_tokens: { columns: { token_id: "text", expires_at: "bigint" }, key: ["token_id"] },
  end_marks: { columns: { key: "text", mark: "text", expires_at: "bigint" }, key: ["key"] },
  consents_by_context: {
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
  used_assertions: { columns: { digest: "text", expires_at: "bigint" }, key: ["digest"] },
  client_registrations: {
    columns: { client_id: "text", record: "text", extended: "boolean", expires_at: "bigint" },
    key: ["client_id"],
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

/** The added columns in the syntax of `ALTER TABLE`. Rows that are there get the default, and so do those of earlier versions. */
export function addedColumnsOf({ added = {} }: TableShape): string {
  return Object.entries(added)
    .map(
      ([name, type]) =>
        `ADD COLUMN IF NOT EXISTS ${name} ${typeOf(type)} NOT NULL DEFAULT ${type === "text" ? "''" : "0"}`,
    )
    .join(", ");
}
