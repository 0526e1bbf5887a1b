/** Used client assertions in PostgreSQL. RFC 7523 §3. */
import type { ClientAssertionStore } from "../client-ports";
import type { Query } from "./database";

/** Used assertions: one row each, whose primary key admits only one. `deleteExpired` removes expired ones. @rfc 7523 §3 */
export function postgresAssertions(query: Query): ClientAssertionStore {
  return {
    // The statement does not look at the end of a row that is there. Once that has passed, the assertion is refused for its age before
    // it gets here. Whatever gets here has the `jti` of another assertion, which no client may use again (RFC 7519 §4.1.7).
    async use({ digest, expiresAt }) {
      const rows = await query(
        ({ used_assertions: used }) =>
          `INSERT INTO ${used} (digest, expires_at) VALUES ($1, $2)
          ON CONFLICT (digest) DO NOTHING RETURNING digest`,
        [digest, expiresAt],
      );
      return rows.length === 1 ? "used" : "used-before";
    },
  };
}
