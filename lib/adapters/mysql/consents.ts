/** Consents in MySQL. RFC 6749 §1.3, 10.2. */
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
  const given = { subject, client_id: clientId, api_id: apiId, context_key: contextKey };
  const chosen = Object.entries(given).flatMap(([column, value]) =>
    value === undefined ? [] : [{ column, value }],
  );
  const { affected } = await query(
    ({
      consents,
    }) => `DELETE FROM ${consents} WHERE ${chosen.map(({ column }) => `${column} = ?`).join(" AND ")}
      AND (? = '' OR LOCATE(?, end_marks) = 0)`,
    [...chosen.map(({ value }) => value), exceptEndMark, ` ${exceptEndMark} `],
  );
  return affected > 0;
}

async function save(
  query: Query,
  { subject, clientId, apiId, contextKey = "", expiresAt, ...rest }: Consent,
): Promise<void> {
  const key = [subject, clientId, apiId, contextKey];
  const replaced = [JSON.stringify(rest), ` ${rest.endMarks.join(" ")} `, expiresAt];
  await query(
    ({ consents }) => `INSERT INTO ${consents} (${columns.replace("record", "record, end_marks")})
      VALUES (?, ?, ?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE record = ?, end_marks = ?, expires_at = ?`,
    [...key, ...replaced, ...replaced],
  );
  const { rows: surplus } = await query(
    ({ consents }) => `SELECT client_id, api_id, context_key, expires_at FROM ${consents}
      WHERE subject = ? AND NOT (client_id = ? AND api_id = ? AND context_key = ?)
      ORDER BY expires_at DESC LIMIT 1000000 OFFSET ${maxConsents - 1}`,
    key,
  );
  // one after the other: there is one at most, unless others are saved at the same time
  for (const row of surplus) {
    const one = readConsent({ ...row, subject, record: "{}" });
    await remove(query, { selection: { ...one, contextKey: one.contextKey ?? "" }, exceptEndMark: "" });
  }
}

/** Consents: one row for each (subject, client, API, context). Queries decide expiry by `now`; `deleteExpired` removes the rows. */
export function mysqlConsents(query: Query): ConsentStore {
  return {
    async find({ subject, clientId, apiId, contextKey = "" }, now) {
      const { rows } = await query(
        ({ consents }) =>
          `SELECT ${columns} FROM ${consents} WHERE ${ofKey} AND context_key = ? AND expires_at > ?`,
        [subject, clientId, apiId, contextKey, now],
      );
      return rows[0] && readConsent(rows[0]);
    },
    save: (consent) => save(query, consent),
    async list(subject, now) {
      const { rows } = await query(
        ({ consents }) => `SELECT ${columns} FROM ${consents} WHERE subject = ? AND expires_at > ?`,
        [subject, now],
      );
      return rows.map(readConsent);
    },
    delete: (withdrawal) => remove(query, withdrawal),
  };
}
