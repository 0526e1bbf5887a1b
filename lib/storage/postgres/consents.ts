/** Consents in PostgreSQL. RFC 6749 §1.3, 10.2. */
import { type Consent, maxConsents } from "../../protocol/consent";
import type { ConsentStore } from "../port";
import { ofKey, type Query } from "./database";
import type { Tables } from "./names";
import { readConsent } from "../rows";

const columns = "subject, client_id, api_id, record, expires_at";

function select(table: string, condition: string): string {
  return `SELECT ${columns} FROM ${table} WHERE ${condition} AND expires_at > $4`;
}

/** Deletes the consents that this condition names and that were not given after the end $4, in one step each. */
function deletion(table: string, condition: string): string {
  return `DELETE FROM ${table} WHERE ${condition} AND NOT EXISTS
    (SELECT 1 FROM json_array_elements_text(record::json -> 'endMarks') AS mark WHERE mark = $4) RETURNING 1`;
}

const ofContext = `${ofKey} AND context_key = $5`;
const ofAnyKey = "subject = $1 AND client_id = coalesce($2, client_id) AND api_id = coalesce($3, api_id)";

function deletionIn({ consents, consents_by_context: inContexts }: Tables, contextKey?: string): string {
  if (contextKey === "") return deletion(consents, ofKey);
  if (contextKey !== undefined) return deletion(inContexts, ofContext);
  return `WITH without_context AS (${deletion(consents, ofAnyKey)}), in_context AS (${deletion(inContexts, ofAnyKey)})
    SELECT 1 FROM without_context UNION ALL SELECT 1 FROM in_context`;
}

/** Deletes the consents of this selection. True when one was deleted. */
async function remove(query: Query, withdrawal: Parameters<ConsentStore["delete"]>[0]): Promise<boolean> {
  const { subject, clientId, apiId, contextKey } = withdrawal.selection;
  // null: some handles refuse undefined
  const values = [subject, clientId ?? null, apiId ?? null, withdrawal.exceptEndMark];
  const rows = await query(
    (tables) => deletionIn(tables, contextKey),
    contextKey ? [...values, contextKey] : values,
  );
  return rows.length > 0;
}

function insertion({ consents, consents_by_context: inContexts }: Tables, contextKey: string): string {
  const update = "DO UPDATE SET record = excluded.record, expires_at = excluded.expires_at";
  if (contextKey === "")
    return `INSERT INTO ${consents} (subject, client_id, api_id, record, expires_at) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (subject, client_id, api_id) ${update}`;
  return `INSERT INTO ${inContexts} (subject, client_id, api_id, record, expires_at, context_key)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (subject, client_id, api_id, context_key) ${update}`;
}

/** The statement does not see its own row: what it finds are the others beyond those that may stay. */
async function save(
  query: Query,
  { subject, clientId, apiId, contextKey = "", expiresAt, ...rest }: Consent,
): Promise<void> {
  const surplus = await query(
    (tables) => `WITH saved AS (${insertion(tables, contextKey)})
      SELECT client_id, api_id, context_key FROM (
        SELECT client_id, api_id, '' AS context_key, expires_at FROM ${tables.consents} WHERE subject = $1
        UNION ALL
        SELECT client_id, api_id, context_key, expires_at FROM ${tables.consents_by_context} WHERE subject = $1
      ) AS stored WHERE (client_id, api_id, context_key) <> ($2, $3, $6)
      ORDER BY expires_at DESC OFFSET ${maxConsents - 1}`,
    [subject, clientId, apiId, JSON.stringify(rest), expiresAt, contextKey],
  );
  // one after the other: there is one at most, unless others are saved at the same time
  for (const row of surplus) {
    const one = readConsent({ ...row, subject, record: "{}" });
    await remove(query, { selection: { ...one, contextKey: one.contextKey ?? "" }, exceptEndMark: "" });
  }
}

/**
 * Consents: one row for each (subject, client, API, context). Those with a context have a table of their own, because processes of
 * earlier versions rely on the key of the other one. Queries decide expiry by `now`; `deleteExpired` removes the rows.
 */
export function postgresConsents(query: Query): ConsentStore {
  return {
    async find({ subject, clientId, apiId, contextKey = "" }, now) {
      const values = [subject, clientId, apiId, now];
      const [row] =
        contextKey === ""
          ? await query(({ consents }) => select(consents, ofKey), values)
          : await query((tables) => select(tables.consents_by_context, ofContext), [...values, contextKey]);
      return row && readConsent({ ...row, context_key: contextKey });
    },
    save: (consent) => save(query, consent),
    async list(subject, now) {
      const rows = await query(
        ({ consents, consents_by_context: inContexts }) =>
          `SELECT ${columns}, '' AS context_key FROM ${consents}
          WHERE subject = $1 AND expires_at > $2
          UNION ALL SELECT ${columns}, context_key FROM ${inContexts}
          WHERE subject = $1 AND expires_at > $2`,
        [subject, now],
      );
      return rows.map(readConsent);
    },
    delete: (withdrawal) => remove(query, withdrawal),
  };
}
