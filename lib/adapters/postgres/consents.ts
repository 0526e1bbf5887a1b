/** Consents in PostgreSQL. RFC 6749 §1.3, 10.2. */
import { type Consent, maxConsents } from "../../protocol/consent";
import type { ConsentStore } from "../../storage/port";
import { readConsent } from "../rows";
import { ofKey, type Query } from "./database";

const columns = "subject, client_id, api_id, context_key, record, expires_at";

/** Deletes the consents of this selection that were not given after the end, each in one step. True when one was deleted. */
async function remove(
  query: Query,
  { selection, exceptEndMark }: Parameters<ConsentStore["delete"]>[0],
): Promise<boolean> {
  const { subject, clientId, apiId, contextKey } = selection;
  const rows = await query(
    ({ consents }) => `DELETE FROM ${consents} WHERE subject = $1 AND client_id = coalesce($2, client_id)
      AND api_id = coalesce($3, api_id) AND context_key = coalesce($4, context_key) AND NOT EXISTS
      (SELECT 1 FROM json_array_elements_text(record::json -> 'endMarks') AS mark WHERE mark = $5) RETURNING 1`,
    // null: some handles refuse undefined
    [subject, clientId ?? null, apiId ?? null, contextKey ?? null, exceptEndMark],
  );
  return rows.length > 0;
}

/** The statement does not see its own row: what it finds are the others beyond those that may stay. */
async function save(
  query: Query,
  { subject, clientId, apiId, contextKey = "", expiresAt, ...rest }: Consent,
): Promise<void> {
  const surplus = await query(
    ({ consents }) => `WITH saved AS (
        INSERT INTO ${consents} (${columns}) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (subject, client_id, api_id, context_key)
        DO UPDATE SET record = excluded.record, expires_at = excluded.expires_at
      )
      SELECT client_id, api_id, context_key FROM ${consents}
      WHERE subject = $1 AND (client_id, api_id, context_key) <> ($2, $3, $4)
      ORDER BY expires_at DESC OFFSET ${maxConsents - 1}`,
    [subject, clientId, apiId, contextKey, JSON.stringify(rest), expiresAt],
  );
  // one after the other: there is one at most, unless others are saved at the same time
  for (const row of surplus) {
    const one = readConsent({ ...row, subject, record: "{}" });
    await remove(query, { selection: { ...one, contextKey: one.contextKey ?? "" }, exceptEndMark: "" });
  }
}

/** Consents: one row for each (subject, client, API, context). Queries decide expiry by `now`; `deleteExpired` removes the rows. */
export function postgresConsents(query: Query): ConsentStore {
  return {
    async find({ subject, clientId, apiId, contextKey = "" }, now) {
      const [row] = await query(
        ({ consents }) =>
          `SELECT ${columns} FROM ${consents} WHERE ${ofKey} AND context_key = $4 AND expires_at > $5`,
        [subject, clientId, apiId, contextKey, now],
      );
      return row && readConsent(row);
    },
    save: (consent) => save(query, consent),
    async list(subject, now) {
      const rows = await query(
        ({ consents }) => `SELECT ${columns} FROM ${consents} WHERE subject = $1 AND expires_at > $2`,
        [subject, now],
      );
      return rows.map(readConsent);
    },
    delete: (withdrawal) => remove(query, withdrawal),
  };
}
