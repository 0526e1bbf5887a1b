/** Clients in PostgreSQL: their table, the assertions that they have used, their requests that wait for a person, and those that have registered themselves. RFC 6749 §2, 7523 §3, 7591 §3, 8628 §3.3, 9126 §4. */
import { checkClient, sameRecordAs } from "../../clients/client-record";
import { browserOriginsOf, type Client } from "../../protocol/client";
import type { Clock } from "../../protocol/time";
import type { TokenDigest } from "../../protocol/token-value";
import type {
  ClientAssertionStore,
  ClientRegistrationStore,
  ParkedRequestStore,
} from "../../storage/client-ports";
import { newClientEnd } from "../../storage/end-marks";
import type { ClientRegistry } from "../../storage/port";
import { parkedValues, readClient, readParked } from "../rows";
import { endMarkValues, saveEndMarks } from "./authorizations";
import type { Query } from "./database";
import type { Tables } from "./tables";

/** The values $1 to $3 of a client: its id, its record and its origins. */
function toRow(client: Client): readonly [string, ...unknown[]] {
  const { clientId } = checkClient(client);
  return [clientId, JSON.stringify(client), browserOriginsOf(client)];
}

const insertInto = (clients: string): string => `INSERT INTO ${clients} (client_id, record) VALUES ($1, $2)`;

const selectFrom = (clients: string): string => `SELECT record FROM ${clients} WHERE client_id = $1`;

/** Stores the record $2 of the client $1 by this statement and, only if that has, its origins $3. Returns one row then. */
function withOrigins(store: string, { browser_origins: origins }: Tables): string {
  return `WITH saved AS (${store} RETURNING client_id), known AS (
      INSERT INTO ${origins} (origin, client_id)
      SELECT origin, client_id FROM saved, unnest($3::text[]) AS origin
      ON CONFLICT (origin, client_id) DO NOTHING
    )
    SELECT 1 FROM saved`;
}

async function save(query: Query, client: Client): Promise<void> {
  await query((tables) => {
    const store = `${insertInto(tables.clients)} ON CONFLICT (client_id) DO UPDATE SET record = excluded.record`;
    return withOrigins(store, tables);
  }, toRow(client));
}

/**
 * Compares values here, and lets the statement that writes compare the text that was read. The second of two statements waits for the
 * first one's commit, or is undone and repeated, and then finds another text or a client where there was none.
 */
async function replace(
  query: Query,
  { from, to }: Parameters<ClientRegistry["replace"]>[0],
): Promise<"replaced" | "not-replaced"> {
  const [isSame, values] = [sameRecordAs(from), toRow(to)];
  const [row] = await query(({ clients }) => selectFrom(clients), [values[0]]);
  if (!isSame(row && readClient(row))) return "not-replaced";
  const replaced = await query(
    (tables) => {
      const store = row
        ? `UPDATE ${tables.clients} SET record = $2 WHERE client_id = $1 AND record = $4`
        : `${insertInto(tables.clients)} ON CONFLICT (client_id) DO NOTHING`;
      return withOrigins(store, tables);
    },
    row ? [...values, row["record"]] : values,
  );
  return replaced.length === 1 ? "replaced" : "not-replaced";
}

/**
 * The client table. The record decides: `browser_origins` only leads from an origin to the clients that have or once had it. No row
 * is ever removed from there, so that simultaneous changes of one client cannot interfere.
 */
export function postgresClients(query: Query, clock: Clock): ClientRegistry {
  return {
    async find(clientId) {
      const [row] = await query(({ clients }) => selectFrom(clients), [clientId]);
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
    replace: (step) => replace(query, step),
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

/**
 * Stores the parked request $1 to $6, unless it is open and its owner has more than $8 open ones that live at $7. They are counted anew
 * each time, in an index. Returns one row: whether there was no room, and whether it is stored.
 */
function parking({ parked_requests: parked }: Tables): string {
  return `WITH room AS (
      SELECT $3::text = 'open' AND EXISTS (
        SELECT 1 FROM ${parked} WHERE owner = $2 AND state = 'open' AND expires_at > $7 OFFSET $8
      ) AS is_full
    ), created AS (
      INSERT INTO ${parked} (digest, owner, state, answered_by, device, expires_at)
      SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::bigint FROM room WHERE NOT is_full
      ON CONFLICT (digest) DO NOTHING RETURNING digest
    )
    SELECT is_full, EXISTS (SELECT 1 FROM created) AS created FROM room`;
}

/** Requests that wait for a person or were answered: one row each, whose primary key admits only one. `deleteExpired` removes expired ones. @rfc 8628 §3.3, 9126 §4 */
export function postgresParkedRequests(query: Query): ParkedRequestStore {
  // only a statement that writes waits for a standby
  const rewrite = (key: TokenDigest): Promise<unknown> =>
    query(({ parked_requests: parked }) => `UPDATE ${parked} SET state = state WHERE digest = $1`, [key]);

  return {
    // whether a row that is there has expired does not matter: after its end, either answer is right
    async create(request, { limit = Number.MAX_SAFE_INTEGER, now }) {
      const [row] = await query(parking, [...parkedValues(request), now, limit - 1]);
      if (row?.["created"]) return "created";
      if (row?.["is_full"]) return "full";
      await rewrite(request.key);
      return "taken";
    },
    async find(key, now) {
      const [row] = await query(
        ({ parked_requests: parked }) => `SELECT * FROM ${parked} WHERE digest = $1 AND expires_at > $2`,
        [key, now],
      );
      return row && readParked(row);
    },
    async close({ key, as, by }, now) {
      const closed = await query(
        ({ parked_requests: parked }) =>
          `UPDATE ${parked} SET state = $2, answered_by = $3
          WHERE digest = $1 AND state = 'open' AND expires_at > $4 RETURNING 1`,
        [key, as, by, now],
      );
      if (closed.length === 1) return "closed";
      await rewrite(key);
      return "not-open";
    },
  };
}

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
      // a separate statement, because not every engine changes one table twice in one; one may have been extended in between
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
