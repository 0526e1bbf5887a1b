/** Consents in SQLite. RFC 6749 §1.3, 10.2. */
import { maxConsents } from "../../protocol/consent";
import type { ConsentStore } from "../../storage/port";
import { readConsent } from "../rows";
import type { Database } from "./database";

/** Consents: one row for each (subject, client, API, context). `deleteExpired` removes expired ones. */
export function sqliteConsents({ read, write }: Database): ConsentStore {
  return {
    async find({ subject, clientId, apiId, contextKey = "" }, now) {
      const statement = `SELECT * FROM authmount_consents
        WHERE subject = ? AND client_id = ? AND api_id = ? AND context_key = ? AND expires_at > ?`;
      const values = [subject, clientId, apiId, contextKey, now];
      const [row] = await read(({ rows }) => rows(statement, ...values));
      return row && readConsent(row);
    },
    save: ({ subject, clientId, apiId, contextKey = "", expiresAt, ...rest }) =>
      write(({ rows, run }) => {
        const [saved] = rows(
          `INSERT INTO authmount_consents (subject, client_id, api_id, context_key, record, expires_at)
          VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (subject, client_id, api_id, context_key)
          DO UPDATE SET record = excluded.record, expires_at = excluded.expires_at RETURNING rowid AS id`,
          subject,
          clientId,
          apiId,
          contextKey,
          JSON.stringify(rest),
          expiresAt,
        );
        run(
          `DELETE FROM authmount_consents WHERE rowid IN (SELECT rowid FROM authmount_consents
          WHERE subject = ? AND rowid <> ? ORDER BY expires_at DESC LIMIT -1 OFFSET ${maxConsents - 1})`,
          subject,
          saved?.["id"] as number,
        );
      }),
    async list(subject, now) {
      const statement = "SELECT * FROM authmount_consents WHERE subject = ? AND expires_at > ?";
      return (await read(({ rows }) => rows(statement, subject, now))).map(readConsent);
    },
    async delete({ selection: { subject, clientId, apiId, contextKey }, exceptEndMark }) {
      const parts = Object.entries({ subject, client_id: clientId, api_id: apiId, context_key: contextKey });
      const given = parts.flatMap(([column, value]) => (value === undefined ? [] : { column, value }));
      const statement = `DELETE FROM authmount_consents WHERE ${given.map(({ column }) => `${column} = ?`).join(" AND ")}
        AND NOT EXISTS (SELECT 1 FROM json_each(record, '$.endMarks') WHERE value = ?) RETURNING 1`;
      const values = [...given.map(({ value }) => value), exceptEndMark];
      return (await write(({ rows }) => rows(statement, ...values))).length > 0;
    },
  };
}
