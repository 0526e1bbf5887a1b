/** The client table of the SQLite adapter. RFC 6749 §2. */
import { browserOriginsOf } from "../../protocol/client";
import type { Clock } from "../../protocol/time";
import { checkClient } from "../../clients/client-record";
import { newClientEnd } from "../end-marks";
import type { ClientRegistry } from "../port";
import { readClient } from "../rows";
import type { Database } from "./database";
import { saveEndMark } from "./end-marks";

/** The client table. */
export function sqliteClients({ read, write }: Database, clock: Clock): ClientRegistry {
  return {
    async find(clientId) {
      const statement = "SELECT record FROM authmount_clients WHERE client_id = ?";
      const [row] = await read(({ rows }) => rows(statement, clientId));
      return row && readClient(row);
    },
    async isBrowserOrigin(origin) {
      const statement = "SELECT 1 FROM authmount_browser_origins WHERE origin = ? LIMIT 1";
      return (await read(({ rows }) => rows(statement, origin))).length > 0;
    },
    async save(client) {
      const { clientId } = checkClient(client);
      const [record, origins] = [JSON.stringify(client), browserOriginsOf(client)];
      await write(({ run }) => {
        run(
          `INSERT INTO authmount_clients (client_id, record) VALUES (?, ?)
          ON CONFLICT (client_id) DO UPDATE SET record = excluded.record`,
          clientId,
          record,
        );
        run("DELETE FROM authmount_browser_origins WHERE client_id = ?", clientId);
        for (const origin of new Set(origins))
          run("INSERT INTO authmount_browser_origins (origin, client_id) VALUES (?, ?)", origin, clientId);
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
