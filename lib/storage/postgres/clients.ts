/** The client table of the PostgreSQL adapter. RFC 6749 §2. */
import { browserOriginsOf, type Client } from "../../protocol/client";
import type { Clock } from "../../protocol/time";
import { checkClient } from "../../clients/client-record";
import { newClientEnd } from "../end-marks";
import type { ClientRegistry } from "../port";
import { readClient } from "../rows";
import type { Query } from "./database";
import { endMarkValues, saveEndMarks } from "./end-marks";

async function save(query: Query, client: Client): Promise<void> {
  const { clientId } = checkClient(client);
  await query(
    ({ clients, browser_origins: origins }) => `WITH saved AS (
      INSERT INTO ${clients} (client_id, record) VALUES ($1, $2)
      ON CONFLICT (client_id) DO UPDATE SET record = excluded.record RETURNING client_id
    )
    INSERT INTO ${origins} (origin, client_id)
    SELECT origin, client_id FROM saved, unnest($3::text[]) AS origin
    ON CONFLICT (origin, client_id) DO NOTHING`,
    [clientId, JSON.stringify(client), browserOriginsOf(client)],
  );
}

/**
 * The client table. The record decides: `browser_origins` only leads from an origin to the clients that have or once had it. No row
 * is ever removed from there, so that simultaneous changes of one client cannot interfere.
 */
export function postgresClients(query: Query, clock: Clock): ClientRegistry {
  return {
    async find(clientId) {
      const [row] = await query(
        ({ clients }) => `SELECT record FROM ${clients} WHERE client_id = $1`,
        [clientId],
      );
      return row && readClient(row);
    },
    async isBrowserOrigin(origin) {
      const rows = await query(
        ({ clients, browser_origins: origins }) =>
          `SELECT record FROM ${origins} AS known JOIN ${clients} AS client ON client.client_id = known.client_id
          WHERE known.origin = $1`,
        [origin],
      );
      // the record is looked at again: the client may have given up this origin
      return rows.map(readClient).some((client) => browserOriginsOf(client).includes(origin));
    },
    save: (client) => save(query, client),
    // one statement: either the client stays, or everything of it has ended
    async delete(clientId) {
      await query(
        (tables) => `WITH deleted AS (DELETE FROM ${tables.clients} WHERE client_id = $4 RETURNING client_id)
          ${saveEndMarks(
            tables,
            `SELECT $1::text, $2::text, $3::bigint
            WHERE EXISTS (SELECT 1 FROM deleted) OR EXISTS (SELECT 1 FROM ${tables.end_marks} WHERE key = $1)`,
          )}`,
        [...endMarkValues(newClientEnd(clientId, clock())), clientId],
      );
    },
    // every id is greater than the empty text
    async list({ after = "", limit }) {
      const rows = await query(
        ({ clients }) => `SELECT record FROM ${clients} WHERE client_id > $1 ORDER BY client_id LIMIT $2`,
        [after, limit],
      );
      return rows.map(readClient);
    },
  };
}
