/** Clients that have registered themselves, in SQLite. RFC 7591 §3. */
import type { EpochSeconds } from "../../protocol/time";
import type { ClientRegistration, ClientRegistrationStore } from "../client-ports";
import { readClient } from "../rows";
import type { Statements } from "./connection";
import type { Database } from "./database";

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
