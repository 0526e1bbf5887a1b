/** Consents in SQLite. RFC 6749 §1.3, 10.2. */
import type { ConsentStore } from "../port";
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
      write(({ run }) =>
        run(
          `INSERT INTO authmount_consents (subject, client_id, api_id, context_key, record, expires_at)
          VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (subject, client_id, api_id, context_key)
          DO UPDATE SET record = excluded.record, expires_at = excluded.expires_at`,
          subject,
          clientId,
          apiId,
          contextKey,
          JSON.stringify(rest),
          expiresAt,
        ),
      ),
    async list(subject, now) {
      const statement = "SELECT * FROM authmount_consents WHERE subject = ? AND expires_at > ?";
      return (await read(({ rows }) => rows(statement, subject, now))).map(readConsent);
    },
    async delete({ selection: { subject, clientId, apiId, contextKey }, exceptEndMark }) {
      const statement = `DELETE FROM authmount_consents WHERE subject = ? AND client_id = ? AND api_id = ?
        ${contextKey === undefined ? "" : "AND context_key = ?"}
        AND NOT EXISTS (SELECT 1 FROM json_each(record, '$.endMarks') WHERE value = ?) RETURNING 1`;
      const ofContext = contextKey === undefined ? [] : [contextKey];
      const values = [subject, clientId, apiId, ...ofContext, exceptEndMark];
      return (await write(({ rows }) => rows(statement, ...values))).length > 0;
    },
  };
}
