/** Clients in SQLite: their table, the assertions that they have used, their requests that wait for a person, and those that have registered themselves. RFC 6749 §2, 7523 §3, 7591 §3, 8628 §3.3, 9126 §4. */
import { checkClient, sameRecordAs } from "../../clients/client-record";
import { browserOriginsOf, type Client } from "../../protocol/client";
import type { Clock, EpochSeconds } from "../../protocol/time";
import type {
  ClientAssertionStore,
  ClientRegistration,
  ClientRegistrationStore,
  ParkedRequest,
  ParkedRequestStore,
} from "../../storage/client-ports";
import { newClientEnd } from "../../storage/end-marks";
import type { ClientRegistry } from "../../storage/port";
import { parkedValues, readClient, readParked } from "../rows";
import { saveEndMark } from "./authorizations";
import type { Statements } from "./connection";
import type { Database } from "./database";

/** The step that stores this client, as it is now, with its origins. */
function saving(client: Client): (on: Statements) => void {
  const { clientId } = checkClient(client);
  const [record, origins] = [JSON.stringify(client), browserOriginsOf(client)];
  return ({ run }) => {
    run(
      `INSERT INTO authmount_clients (client_id, record) VALUES (?, ?)
      ON CONFLICT (client_id) DO UPDATE SET record = excluded.record`,
      clientId,
      record,
    );
    run("DELETE FROM authmount_browser_origins WHERE client_id = ?", clientId);
    for (const origin of new Set(origins))
      run("INSERT INTO authmount_browser_origins (origin, client_id) VALUES (?, ?)", origin, clientId);
  };
}

const byId = "SELECT record FROM authmount_clients WHERE client_id = ?";

/** The client table. */
export function sqliteClients({ read, write }: Database, clock: Clock): ClientRegistry {
  return {
    async find(clientId) {
      const [row] = await read(({ rows }) => rows(byId, clientId));
      return row && readClient(row);
    },
    async isBrowserOrigin(origin) {
      const statement = "SELECT 1 FROM authmount_browser_origins WHERE origin = ? LIMIT 1";
      return (await read(({ rows }) => rows(statement, origin))).length > 0;
    },
    async save(client) {
      await write(saving(client));
    },
    async replace({ from, to }) {
      const [isSame, save, { clientId }] = [sameRecordAs(from), saving(to), to];
      return write((on) => {
        const [row] = on.rows(byId, clientId);
        if (!isSame(row && readClient(row))) return "not-replaced";
        save(on);
        return "replaced";
      });
    },
    // one step: either the client stays, or everything of it has ended
    delete: (clientId) =>
      write((on) => {
        const deleted = on.rows("DELETE FROM authmount_clients WHERE client_id = ? RETURNING 1", clientId);
        on.run("DELETE FROM authmount_browser_origins WHERE client_id = ?", clientId);
        if (deleted.length > 0) saveEndMark(on, newClientEnd(clientId, clock()));
      }),
    // every id is greater than the empty text
    async list({ after = "", limit }) {
      const statement = "SELECT record FROM authmount_clients WHERE client_id > ? ORDER BY client_id LIMIT ?";
      return (await read(({ rows }) => rows(statement, after, limit))).map(readClient);
    },
  };
}

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

function park(
  { rows }: Statements,
  { request, limit, now }: { request: ParkedRequest; limit: number; now: EpochSeconds },
): "created" | "taken" | "full" {
  const last = `SELECT 1 FROM authmount_parked_requests
    WHERE owner = ? AND state = 'open' AND expires_at > ? LIMIT 1 OFFSET ?`;
  if (request.state === "open" && rows(last, request.owner, now, limit - 1).length > 0) return "full";
  const statement = `INSERT INTO authmount_parked_requests (digest, owner, state, answered_by, device, expires_at)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING RETURNING 1`;
  return rows(statement, ...parkedValues(request)).length === 1 ? "created" : "taken";
}

/** Requests that wait for a person or were answered: one row each, whose primary key admits only one. `deleteExpired` removes expired ones. @rfc 8628 §3.3, 9126 §4 */
export function sqliteParkedRequests({ read, write }: Database): ParkedRequestStore {
  return {
    // whether a row that is there has expired does not matter: after its end, either answer is right
    create: (request, { limit = Number.MAX_SAFE_INTEGER, now }) =>
      write((on) => park(on, { request, limit, now })),
    async find(key, now) {
      const statement = "SELECT * FROM authmount_parked_requests WHERE digest = ? AND expires_at > ?";
      const [row] = await read(({ rows }) => rows(statement, key, now));
      return row && readParked(row);
    },
    async close({ key, as, by }, now) {
      const statement = `UPDATE authmount_parked_requests SET state = ?, answered_by = ?
        WHERE digest = ? AND state = 'open' AND expires_at > ? RETURNING 1`;
      const closed = await write(({ rows }) => rows(statement, as, by, key, now));
      return closed.length === 1 ? "closed" : "not-open";
    },
  };
}

function create(
  { rows, run }: Statements,
  {
    client,
    expiresAt,
    limit,
    reserved = 1,
    now,
  }: ClientRegistration & { limit: number; reserved?: number; now: EpochSeconds },
): "created" | "full" {
  const extended =
    "SELECT count(*) AS count FROM authmount_client_registrations WHERE extended AND expires_at > ?";
  const free = limit - Number(rows(extended, now)[0]?.["count"]);
  if (free < reserved) return "full";
  run(
    `DELETE FROM authmount_client_registrations WHERE client_id IN (
      SELECT client_id FROM authmount_client_registrations WHERE NOT extended AND expires_at > ?
      ORDER BY expires_at DESC LIMIT -1 OFFSET ?
    )`,
    now,
    free - 1,
  );
  run(
    "INSERT INTO authmount_client_registrations (client_id, record, extended, expires_at) VALUES (?, ?, 0, ?)",
    client.clientId,
    JSON.stringify(client),
    expiresAt,
  );
  return "created";
}

/** Registrations: one row each. `deleteExpired` removes expired ones. @rfc 7591 §3 */
export function sqliteRegistrations({ read, write }: Database): ClientRegistrationStore {
  return {
    create: (registration, bound) => write((on) => create(on, { ...registration, ...bound })),
    async find(clientId, now) {
      const statement =
        "SELECT record FROM authmount_client_registrations WHERE client_id = ? AND expires_at > ?";
      const [row] = await read(({ rows }) => rows(statement, clientId, now));
      return row && readClient(row);
    },
    async extend({ clientId, expiresAt }, now) {
      const statement = `UPDATE authmount_client_registrations SET extended = 1, expires_at = max(expires_at, ?)
        WHERE client_id = ? AND expires_at > ? RETURNING 1`;
      return (await write(({ rows }) => rows(statement, expiresAt, clientId, now))).length > 0;
    },
  };
}
