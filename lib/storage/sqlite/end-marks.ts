/** End marks in SQLite. RFC 7009 §2.1. */
import type { EndMark } from "../../protocol/end-mark";
import type { EndMarkStore } from "../port";
import type { Statements } from "./connection";
import type { Database } from "./database";

/** Stores the mark, or replaces the one with its key. */
export function saveEndMark({ run }: Statements, { key, mark, expiresAt }: EndMark): void {
  run(
    `INSERT INTO authmount_end_marks (key, mark, expires_at) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET mark = excluded.mark, expires_at = excluded.expires_at`,
    key,
    mark,
    expiresAt,
  );
}

/** End marks: one row for each key. `deleteExpired` removes expired ones. @rfc 7009 §2.1 */
export function sqliteEndMarks({ read, write }: Database): EndMarkStore {
  return {
    async find(keys, now) {
      const statement = `SELECT key, mark FROM authmount_end_marks
        WHERE key IN (SELECT value FROM json_each(?)) AND expires_at > ?`;
      const found = await read(({ rows }) => rows(statement, JSON.stringify(keys), now));
      const marks = new Map(found.map(({ key, mark }) => [key as string, mark as string]));
      return keys.map((key) => marks.get(key));
    },
    save: (endMark) => write((on) => saveEndMark(on, endMark)),
  };
}
