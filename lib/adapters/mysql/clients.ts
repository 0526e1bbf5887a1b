/** Clients in MySQL: their table, the assertions that they have used, their requests that wait for a person, and those that have registered themselves. RFC 6749 §2, 7523 §3, 7591 §3, 8628 §3.3, 9126 §4. */
import { checkClient, sameRecordAs } from "../../clients/client-record";
import { browserOriginsOf, type Client } from "../../protocol/client";
import type { Clock, EpochSeconds } from "../../protocol/time";
import type { TokenDigest } from "../../protocol/token-value";
import type {
  ClientAssertionStore,
  ClientRegistrationStore,
  ParkedRequestStore,
} from "../../storage/client-ports";
import { newClientEnd } from "../../storage/end-marks";
import type { ClientRegistry } from "../../storage/port";
import { parkedValues, readClient, readParked } from "../rows";
import { inserted, listOf, type Query, type Row } from "./database";

const selectFrom = (clients: string): string => `SELECT record FROM ${clients} WHERE client_id = ?`;

const insertInto = (clients: string): string =>
  `INSERT INTO ${clients} (client_id, record, turn) VALUES (?, ?, 0)`;

/**
 * Checks the client and stores where its origins lead, before its record: the record decides whether they are the client's, and whoever
 * finds the record must find it by them too. Gives the record.
 */
async function withOrigins(query: Query, client: Client): Promise<string> {
  const { clientId } = checkClient(client);
  for (const origin of browserOriginsOf(client)) {
    await query(
      ({ browser_origins: origins }) =>
        `INSERT INTO ${origins} (origin, client_id) VALUES (?, ?) ON DUPLICATE KEY UPDATE client_id = client_id`,
      [origin, clientId],
    );
  }
  return JSON.stringify(client);
}

async function save(query: Query, client: Client): Promise<void> {
  const record = await withOrigins(query, client);
  await query(
    ({ clients }) => `${insertInto(clients)} ON DUPLICATE KEY UPDATE record = ?, turn = turn + 1`,
    [client.clientId, record, record],
  );
}

/** Compares values here, and lets the statement that writes compare the bytes that were read. */
async function replace(
  query: Query,
  { from, to }: Parameters<ClientRegistry["replace"]>[0],
): Promise<"replaced" | "not-replaced"> {
  const [isSame, { clientId }] = [sameRecordAs(from), checkClient(to)];
  const [row] = (await query(({ clients }) => selectFrom(clients), [clientId])).rows;
  if (!isSame(row && readClient(row))) return "not-replaced";
  const record = await withOrigins(query, to);
  if (!row) {
    const outcome = await inserted(query(({ clients }) => insertInto(clients), [clientId, record]));
    return outcome === "inserted" ? "replaced" : "not-replaced";
  }
  const { affected } = await query(
    ({ clients }) => `UPDATE ${clients} SET record = ?, turn = turn + 1 WHERE client_id = ? AND record = ?`,
    [record, clientId, row["record"] as string],
  );
  return affected === 1 ? "replaced" : "not-replaced";
}

/** Ends all that was issued to this client, if it is there or was being deleted before. */
async function endClient(
  query: Query,
  { clientId, clock }: { clientId: string; clock: Clock },
): Promise<void> {
  const { key, mark, expiresAt } = newClientEnd(clientId, clock());
  await query(
    ({ clients, end_marks: marks }) => `INSERT INTO ${marks} (mark_key, mark, expires_at)
      SELECT ?, ?, ? FROM DUAL WHERE EXISTS (SELECT 1 FROM ${clients} WHERE client_id = ?)
      OR EXISTS (SELECT 1 FROM ${marks} AS old WHERE old.mark_key = ?)
      ON DUPLICATE KEY UPDATE mark = ?, expires_at = ?`,
    [key, mark, expiresAt, clientId, key, mark, expiresAt],
  );
}

/**
 * The client table. The record decides: `browser_origins` only leads from an origin to the clients that have or once had it. No row
 * is ever removed from there, so that simultaneous changes of one client cannot interfere.
 */
export function mysqlClients(query: Query, clock: Clock): ClientRegistry {
  return {
    async find(clientId) {
      const { rows } = await query(({ clients }) => selectFrom(clients), [clientId]);
      return rows[0] && readClient(rows[0]);
    },
    async isBrowserOrigin(origin) {
      const { rows } = await query(
        ({ clients, browser_origins: origins }) =>
          `SELECT record FROM ${origins} AS known JOIN ${clients} AS client ON client.client_id = known.client_id
          WHERE known.origin = ?`,
        [origin],
      );
      // the record is looked at again: the client may have given up this origin
      return rows.map(readClient).some((client) => browserOriginsOf(client).includes(origin));
    },
    save: (client) => save(query, client),
    replace: (step) => replace(query, step),
    // The mark before makes a call that has failed half-way known to the next one. The mark behind is one with which nobody has found
    // the client.
    async delete(clientId) {
      await endClient(query, { clientId, clock });
      await query(({ clients }) => `DELETE FROM ${clients} WHERE client_id = ?`, [clientId]);
      await endClient(query, { clientId, clock });
    },
    // every id is greater than the empty text
    async list({ after = "", limit }) {
      const { rows } = await query(
        ({ clients }) =>
          `SELECT record FROM ${clients} WHERE client_id > ? ORDER BY client_id LIMIT ${Math.trunc(limit)}`,
        [after],
      );
      return rows.map(readClient);
    },
  };
}

/** Used assertions: one row each, whose primary key admits only one. `deleteExpired` removes expired ones. @rfc 7523 §3 */
export function mysqlAssertions(query: Query): ClientAssertionStore {
  return {
    async use({ digest, expiresAt }) {
      const insertion = query(
        ({ used_assertions: used }) => `INSERT INTO ${used} (digest, expires_at) VALUES (?, ?)`,
        [digest, expiresAt],
      );
      return (await inserted(insertion)) === "inserted" ? "used" : "used-before";
    },
  };
}

/** How many open requests of this owner live: counted anew each time, in an index. */
async function countOpen(
  query: Query,
  { owner, now }: { owner: string; now: EpochSeconds },
): Promise<number> {
  const { rows } = await query(
    ({ parked_requests: parked }) =>
      `SELECT COUNT(*) AS count FROM ${parked} WHERE owner = ? AND state = 'open' AND expires_at > ?`,
    [owner, now],
  );
  return Number(rows[0]?.["count"]);
}

/** Requests that wait for a person or were answered: one row each, whose primary key admits only one. `deleteExpired` removes expired ones. @rfc 8628 §3.3, 9126 §4 */
export function mysqlParkedRequests(query: Query): ParkedRequestStore {
  // only a statement that writes waits for a replica
  const rewrite = (key: TokenDigest): Promise<unknown> =>
    query(({ parked_requests: parked }) => `UPDATE ${parked} SET turn = turn + 1 WHERE digest = ?`, [key]);

  return {
    // whether a row that is there has expired does not matter: after its end, either answer is right
    async create(request, { limit, now }) {
      if (request.state === "open" && limit !== undefined) {
        if ((await countOpen(query, { owner: request.owner, now })) >= limit) return "full";
      }
      const insertion = query(
        ({ parked_requests: parked }) =>
          `INSERT INTO ${parked} (digest, owner, state, answered_by, device, expires_at, turn) VALUES (?, ?, ?, ?, ?, ?, 0)`,
        parkedValues(request),
      );
      if ((await inserted(insertion)) === "inserted") return "created";
      await rewrite(request.key);
      return "taken";
    },
    async find(key, now) {
      const { rows } = await query(
        ({ parked_requests: parked }) => `SELECT digest, owner, state, answered_by, device, expires_at
          FROM ${parked} WHERE digest = ? AND expires_at > ?`,
        [key, now],
      );
      return rows[0] && readParked(rows[0]);
    },
    async close({ key, as, by }, now) {
      const { affected } = await query(
        ({ parked_requests: parked }) => `UPDATE ${parked} SET state = ?, answered_by = ?, turn = turn + 1
          WHERE digest = ? AND state = 'open' AND expires_at > ?`,
        [as, by, key, now],
      );
      if (affected === 1) return "closed";
      await rewrite(key);
      return "not-open";
    },
  };
}

/** Deletes registrations that must make room, unless one was extended in between. */
async function makeRoom(query: Query, surplus: readonly Row[]): Promise<void> {
  if (surplus.length === 0) return;
  const [marks, ids] = listOf(surplus.map((row) => row["client_id"] as string));
  await query(
    ({ client_registrations: registrations }) =>
      `DELETE FROM ${registrations} WHERE client_id IN (${marks}) AND extended = 0`,
    ids,
  );
}

/** Registrations: one row each. `deleteExpired` removes expired ones. @rfc 7591 §3 */
export function mysqlRegistrations(query: Query): ClientRegistrationStore {
  return {
    // all rows are counted anew each time, in an index: a counter would be one row for which simultaneous registrations wait
    async create({ client, expiresAt }, { limit, reserved = 1, now }) {
      const { rows: counted } = await query(
        ({ client_registrations: registrations }) =>
          `SELECT COUNT(*) AS extended FROM ${registrations} WHERE extended = 1 AND expires_at > ?`,
        [now],
      );
      const free = limit - Number(counted[0]?.["extended"]);
      if (free < reserved) return "full";
      const { clientId } = client;
      await query(
        ({ client_registrations: registrations }) =>
          `INSERT INTO ${registrations} (client_id, record, extended, expires_at, turn) VALUES (?, ?, 0, ?, 0)`,
        [clientId, JSON.stringify(client), expiresAt],
      );
      const { rows: surplus } = await query(
        ({ client_registrations: registrations }) => `SELECT client_id FROM (
            SELECT client_id, ROW_NUMBER() OVER (ORDER BY expires_at DESC) AS place FROM ${registrations}
            WHERE extended = 0 AND expires_at > ? AND client_id <> ?
          ) AS others WHERE place > ?`,
        [now, clientId, Math.max(free - 1, 0)],
      );
      await makeRoom(query, surplus);
      return "created";
    },
    async find(clientId, now) {
      const { rows } = await query(
        ({ client_registrations: registrations }) =>
          `SELECT record FROM ${registrations} WHERE client_id = ? AND expires_at > ?`,
        [clientId, now],
      );
      return rows[0] && readClient(rows[0]);
    },
    async extend({ clientId, expiresAt }, now) {
      const { affected } = await query(
        ({ client_registrations: registrations }) => `UPDATE ${registrations}
          SET extended = 1, expires_at = GREATEST(expires_at, ?), turn = turn + 1 WHERE client_id = ? AND expires_at > ?`,
        [expiresAt, clientId, now],
      );
      return affected === 1;
    },
  };
}
