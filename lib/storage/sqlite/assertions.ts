/** Used client assertions in SQLite. RFC 7523 §3. */
import type { ClientAssertionStore } from "../client-ports";
import type { Database } from "./database";

/** Used assertions: one row each, whose primary key admits only one. `deleteExpired` removes expired ones. @rfc 7523 §3 */
export function sqliteAssertions({ write }: Database): ClientAssertionStore {
  return {
    // whether a row that is there has expired does not matter: no client may use the `jti` of another assertion (RFC 7519 §4.1.7)
    use: ({ digest, expiresAt }) =>
      write(({ rows }) => {
        const statement = `INSERT INTO authmount_used_assertions (digest, expires_at) VALUES (?, ?)
          ON CONFLICT (digest) DO NOTHING RETURNING 1`;
        return rows(statement, digest, expiresAt).length === 1 ? "used" : "used-before";
      }),
  };
}
