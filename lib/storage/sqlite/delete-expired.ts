/** Removes expired rows in batches. RFC 6749 §10.5. */
import { clockDriftSeconds, type EpochSeconds } from "../../protocol/time";
import type { Database } from "./database";

/** This process does nothing else, and no process can write, while a batch is deleted. */
const batchRows = 250;

const tables = [
  "consents",
  "authorizations",
  "authorization_codes",
  "refresh_tokens",
  "access_tokens",
  "revoked_access_tokens",
  "end_marks",
  "used_assertions",
  "client_registrations",
];

/**
 * Deletes every row that expired `clockDriftSeconds` before `now` or earlier, and returns the number of rows.
 *
 * @param clock the time of this machine, which all processes share.
 * @throws TypeError (as a rejection) when `now` is not a whole number, or is ahead of the clock.
 */
export async function deleteExpired(
  { write }: Database,
  { now, clock }: { now: EpochSeconds; clock: EpochSeconds },
): Promise<number> {
  const advice = "Pass epoch seconds, such as Math.floor(Date.now() / 1000).";
  if (!Number.isSafeInteger(now))
    throw new TypeError(`sqliteStorage: deleteExpired needs a whole number. ${advice}`);
  // it would delete living rows: milliseconds instead of seconds, for example
  if (now > clock + clockDriftSeconds) {
    throw new TypeError(
      `sqliteStorage: deleteExpired was given a time more than ${clockDriftSeconds} seconds ahead of the clock. ${advice}`,
    );
  }
  let deleted = 0;
  for (const table of tables) {
    const statement = `DELETE FROM authmount_${table} WHERE rowid IN
      (SELECT rowid FROM authmount_${table} WHERE expires_at <= ? ORDER BY expires_at LIMIT ${batchRows}) RETURNING 1`;
    let found;
    do {
      found = (await write(({ rows }) => rows(statement, now - clockDriftSeconds))).length;
      deleted += found;
    } while (found === batchRows);
  }
  return deleted;
}
