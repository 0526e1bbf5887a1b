/** Removes expired rows in batches. RFC 6749 §10.5. */
import { clockDriftSeconds, type EpochSeconds } from "../../protocol/time";
import type { Query } from "./database";
import type { TableName } from "./names";

const batchRows = 1_000;

const keys = [
  ["consents", "subject, client_id, api_id"],
  ["consents_by_context", "subject, client_id, api_id, context_key"],
  ["authorizations", "authorization_id"],
  ["authorization_codes", "digest"],
  ["refresh_tokens", "digest"],
  ["spent_tokens", "digest"],
  ["access_tokens", "digest"],
  ["revoked_access_tokens", "token_id"],
  ["end_marks", "key"],
  ["used_assertions", "digest"],
  ["client_registrations", "client_id"],
] as const satisfies readonly (readonly [TableName, string])[];

/**
 * Refuses a time ahead of the database's clock. It would delete living rows for every process: milliseconds instead of seconds, for
 * example, or the wrong clock of one process.
 */
async function checkTime(query: Query, now: EpochSeconds): Promise<void> {
  const advice = "Pass epoch seconds, such as Math.floor(Date.now() / 1000).";
  if (!Number.isSafeInteger(now)) {
    throw new TypeError(`postgresStorage: deleteExpired needs a whole number. ${advice}`);
  }
  const [row] = await query(() => "SELECT extract(epoch FROM now())::bigint AS now");
  if (now <= Number(row?.["now"]) + clockDriftSeconds) return;
  throw new TypeError(
    `postgresStorage: deleteExpired was given a time more than ${clockDriftSeconds} seconds ahead of the database's clock. ${advice}`,
  );
}

/**
 * Deletes every row that expired `clockDriftSeconds` before `now` or earlier, and returns the number of rows. Small batches keep
 * each statement short, so that it locks rows only briefly while the server is serving.
 *
 * @throws TypeError (as a rejection) when `now` is not a whole number or is ahead of the database's clock
 */
export async function deleteExpired(query: Query, now: EpochSeconds): Promise<number> {
  await checkTime(query, now);
  let deleted = 0;
  for (const [table, key] of keys) {
    let rows;
    let from = 0;
    do {
      // Expiry is checked twice: a consent may have been renewed while the deletion waited for its row. Each batch begins where the last
      // one ended: while a backup runs, the index keeps what was deleted, and all of it would be read again.
      // The second time as a sum: before the statistics know of the expired rows, the planner would compare each of them with the whole batch.
      const found = await query(
        ({ [table]: name }) => `DELETE FROM ${name} WHERE (${key}) IN
          (SELECT ${key} FROM ${name} WHERE expires_at >= $2 AND expires_at <= $1 ORDER BY expires_at LIMIT ${batchRows})
          AND expires_at + 0 <= $1 RETURNING expires_at`,
        [now - clockDriftSeconds, from],
      );
      rows = found.length;
      deleted += rows;
      from = Math.max(from, ...found.map((row) => Number(row["expires_at"])));
    } while (rows === batchRows);
  }
  return deleted;
}
