/** The columns and the key of each table. RFC 6749 §10.10 (digests only). */
import type { TableName } from "./names";

/** The columns with their types, none of them nullable, and the columns whose combined values are unique. */
export interface TableShape {
  readonly columns: Readonly<Record<string, "text" | "bigint" | "boolean" | "integer">>;
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
    key: ["authorization_id"],
  },
  authorization_codes: byDigest,
  refresh_tokens: byDigest,
  spent_tokens: { columns: { digest: "text", expires_at: "bigint" }, key: ["digest"] },
  access_tokens: byDigest,
  revoked_access_tokens: { columns: { token_id: "text", expires_at: "bigint" }, key: ["token_id"] },
  end_marks: { columns: { key: "text", mark: "text", expires_at: "bigint" }, key: ["key"] },
  migrations: { columns: { version: "integer" }, key: ["version"] },
};

/** The columns and the key in the syntax of `CREATE TABLE`. */
export function columnsOf({ columns, key }: TableShape): string {
  const typed = Object.entries(columns).map(([name, type]) => `${name} ${type} NOT NULL`);
  return [...typed, `PRIMARY KEY (${key.join(", ")})`].join(", ");
}
