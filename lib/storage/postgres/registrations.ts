/** Clients that have registered themselves, in PostgreSQL. RFC 7591 §3. */
import type { ClientRegistrationStore } from "../client-ports";
import { readClient } from "../rows";
import type { Query } from "./database";
import type { Tables } from "./names";

/**
 * Stores the registration $1 to $3, unless the extended ones that live at $4 leave fewer than $6 of $5 places. Returns its row,
 * and a row for each of those that must go to make room for it: of the ones never extended, those that end first. All rows are counted anew each time, in an index: a
 * counter would be one row for which simultaneous registrations wait. The statement does not see its own row.
 */
function creation({ client_registrations: registrations }: Tables): string {
  return `WITH room AS (
      SELECT $5::bigint - count(*) AS free FROM ${registrations} WHERE extended AND expires_at > $4
    ), created AS (
      INSERT INTO ${registrations} (client_id, record, extended, expires_at)
      SELECT $1::text, $2::text, false, $3::bigint FROM room WHERE free >= $6::bigint RETURNING client_id
    ), surplus AS (
      SELECT client_id FROM ${registrations} WHERE NOT extended AND expires_at > $4
      ORDER BY expires_at DESC OFFSET (SELECT greatest(free - 1, 0) FROM room)
    )
    SELECT client_id, false AS must_go FROM created
    UNION ALL SELECT client_id, true FROM surplus WHERE EXISTS (SELECT 1 FROM created)`;
}

/** Registrations: one row each. `deleteExpired` removes expired ones. @rfc 7591 §3 */
export function postgresRegistrations(query: Query): ClientRegistrationStore {
  return {
    async create({ client, expiresAt }, { limit, reserved = 1, now }) {
      const { clientId } = client;
      const values = [clientId, JSON.stringify(client), expiresAt, now, limit, reserved];
      const rows = await query(creation, values);
      if (rows.length === 0) return "full";
      const surplus = rows.filter((row) => row["must_go"]).map((row) => row["client_id"]);
      if (surplus.length === 0) return "created";
      // a statement of its own, because not every engine changes one table twice in one; one may have been extended in between
      await query(
        ({ client_registrations: registrations }) =>
          `DELETE FROM ${registrations} WHERE client_id = ANY($1::text[]) AND NOT extended`,
        [surplus],
      );
      return "created";
    },
    async find(clientId, now) {
      const [row] = await query(
        ({ client_registrations: registrations }) =>
          `SELECT record FROM ${registrations} WHERE client_id = $1 AND expires_at > $2`,
        [clientId, now],
      );
      return row && readClient(row);
    },
    async extend({ clientId, expiresAt }, now) {
      const rows = await query(
        ({ client_registrations: registrations }) =>
          `UPDATE ${registrations} SET extended = true, expires_at = greatest(expires_at, $2)
          WHERE client_id = $1 AND expires_at > $3 RETURNING 1`,
        [clientId, expiresAt, now],
      );
      return rows.length > 0;
    },
  };
}
