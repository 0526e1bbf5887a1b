/** The tables of the SQLite adapter. RFC 6749 §10.10 (digests only). */
import type { SqliteRow } from "./connection";
import type { Database } from "./database";

const table = (name: string, columns: string): string => `CREATE TABLE authmount_${name} (${columns}) STRICT`;

const byExpiry = (name: string): string =>
  `CREATE INDEX authmount_${name}_expires_at ON authmount_${name} (expires_at)`;

const expiring = (name: string, columns: string): readonly string[] => [
  table(name, `${columns}, expires_at INTEGER NOT NULL`),
  byExpiry(name),
];

const digestAndRecord = "digest TEXT NOT NULL PRIMARY KEY, record TEXT NOT NULL";

/** The versions of the schema, in their order. A published version never changes: the next one goes to the end of the list. */
export const schemaVersions: readonly (readonly string[])[] = [
  [
    table("clients", "client_id TEXT NOT NULL PRIMARY KEY, record TEXT NOT NULL"),
    table(
      "browser_origins",
      "origin TEXT NOT NULL, client_id TEXT NOT NULL, PRIMARY KEY (origin, client_id)",
    ),
    "CREATE INDEX authmount_browser_origins_by_client ON authmount_browser_origins (client_id)",
    table(
      "consents",
      `subject TEXT NOT NULL, client_id TEXT NOT NULL, api_id TEXT NOT NULL, context_key TEXT NOT NULL, record TEXT NOT NULL,
      expires_at INTEGER NOT NULL, PRIMARY KEY (subject, client_id, api_id, context_key)`,
    ),
    byExpiry("consents"),
    ...expiring(
      "authorizations",
      `authorization_id TEXT NOT NULL PRIMARY KEY, subject TEXT NOT NULL, client_id TEXT NOT NULL, api_id TEXT NOT NULL,
      context_key TEXT NOT NULL, record TEXT NOT NULL, revoked INTEGER NOT NULL, last_used_at INTEGER NOT NULL`,
    ),
    `CREATE INDEX authmount_authorizations_by_subject
      ON authmount_authorizations (subject, revoked, client_id, api_id, context_key, expires_at)`,
    ...expiring("authorization_codes", `${digestAndRecord}, consumed INTEGER NOT NULL`),
    // how a token was used, as JSON
    ...expiring("refresh_tokens", `${digestAndRecord}, used INTEGER NOT NULL, how TEXT NOT NULL`),
    ...expiring("access_tokens", digestAndRecord),
    ...expiring("revoked_access_tokens", "token_id TEXT NOT NULL PRIMARY KEY"),
    ...expiring("end_marks", "key TEXT NOT NULL PRIMARY KEY, mark TEXT NOT NULL"),
    ...expiring("used_assertions", "digest TEXT NOT NULL PRIMARY KEY"),
    ...expiring(
      "client_registrations",
      "client_id TEXT NOT NULL PRIMARY KEY, record TEXT NOT NULL, extended INTEGER NOT NULL",
    ),
    `CREATE INDEX authmount_client_registrations_by_end ON authmount_client_registrations (extended, expires_at)`,
    ...expiring(
      "parked_requests",
      `digest TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, state TEXT NOT NULL, answered_by TEXT NOT NULL,
      device TEXT NOT NULL`,
    ),
    `CREATE INDEX authmount_parked_requests_by_owner ON authmount_parked_requests (owner, state, expires_at)`,
  ],
];

const newestVersion = "SELECT max(version) AS version FROM authmount_migrations";

function versionIn([row]: readonly SqliteRow[]): number {
  return Number(row?.["version"] ?? 0);
}

/** Updates the tables to the newest version, in one transaction. With nothing to do it only reads. */
export async function migrate(
  { read, write }: Database,
  versions: readonly (readonly string[])[] = schemaVersions,
): Promise<void> {
  const exists = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'authmount_migrations'";
  const isThere = (await read(({ rows }) => rows(exists))).length > 0;
  if (isThere && versionIn(await read(({ rows }) => rows(newestVersion))) >= versions.length) return;
  await write(({ rows, run }) => {
    run("CREATE TABLE IF NOT EXISTS authmount_migrations (version INTEGER NOT NULL PRIMARY KEY) STRICT");
    // another process may have been here since
    const current = versionIn(rows(newestVersion));
    for (const [index, statements] of versions.entries()) {
      if (index < current) continue;
      for (const statement of statements) run(statement);
      run("INSERT INTO authmount_migrations (version) VALUES (?)", index + 1);
    }
  });
}
