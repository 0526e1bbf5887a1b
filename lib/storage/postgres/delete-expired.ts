/** Removing what has expired, a batch at a time. RFC 6749 §10.5. */
import type { EpochSeconds } from "../../protocol/epoch-seconds";
import { clockDriftSeconds } from "../clock-drift";
import type { Query } from "./pool";
import type { Tables } from "./schema";

const batchRows = 1_000;

/** Deletes every row that ended `clockDriftSeconds` before `now`, and gives their number. */
export async function deleteExpired(query: Query, tables: Tables, now: EpochSeconds): Promise<number> {
  const keys = [
    [tables.consents, "subject, client_id, api_id"],
    [tables.authorizations, "authorization_id"],
    [tables.authorization_codes, "digest"],
    [tables.refresh_tokens, "digest"],
    [tables.spent_tokens, "digest"],
    [tables.access_tokens, "digest"],
    [tables.revoked_access_tokens, "token_id"],
    [tables.end_marks, "key"],
  ] as const;
  let deleted = 0;
  for (const [table, key] of keys) {
    // the end is asked for twice: a consent may have been renewed while the deletion waited for its row
    const statement = `DELETE FROM ${table} WHERE (${key}) IN
      (SELECT ${key} FROM ${table} WHERE expires_at <= $1 ORDER BY expires_at LIMIT ${batchRows})
      AND expires_at <= $1 RETURNING 1`;
    let rows;
    do {
      rows = (await query(statement, [now - clockDriftSeconds])).length;
      deleted += rows;
    } while (rows === batchRows);
  }
  return deleted;
}
