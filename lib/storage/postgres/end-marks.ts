/** End marks in PostgreSQL. RFC 7009 §2.1. */
import type { EndMark } from "../../protocol/end-mark";
import type { EndMarkStore } from "../port";
import type { Query } from "./database";
import type { Tables } from "./names";

/** Stores the marks of these rows, or replaces those with their keys. */
export function saveEndMarks({ end_marks: marks }: Tables, rows: string): string {
  return `INSERT INTO ${marks} (key, mark, expires_at) ${rows}
    ON CONFLICT (key) DO UPDATE SET mark = excluded.mark, expires_at = excluded.expires_at`;
}

/** The columns of a mark, in their order. */
export function endMarkValues({ key, mark, expiresAt }: EndMark): readonly unknown[] {
  return [key, mark, expiresAt];
}

/** End marks: one row for each key. `deleteExpired` removes expired ones. @rfc 7009 §2.1 */
export function postgresEndMarks(query: Query): EndMarkStore {
  return {
    async find(keys, now) {
      const rows = await query(
        ({ end_marks: marks }) =>
          `SELECT key, mark FROM ${marks} WHERE key = ANY($1::text[]) AND expires_at > $2`,
        [keys, now],
      );
      const found = new Map(rows.map(({ key, mark }) => [key as string, mark as string]));
      return keys.map((key) => found.get(key));
    },
    async save(endMark) {
      await query((tables) => saveEndMarks(tables, "VALUES ($1, $2, $3)"), endMarkValues(endMark));
    },
  };
}
