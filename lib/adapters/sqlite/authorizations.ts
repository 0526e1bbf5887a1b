/** Authorizations and end marks in SQLite. RFC 6749 §1.3, 7009 §2.1. */
import { type Authorization, narrowed } from "../../protocol/authorization";
import type { EndMark } from "../../protocol/end-mark";
import type { EpochSeconds } from "../../protocol/time";
import type {
  AuthorizationPage,
  AuthorizationSelection,
  AuthorizationStore,
  EndMarkStore,
} from "../../storage/port";
import { readAuthorization, readListed, recordOf, surplusIn } from "../rows";
import type { SqliteRow, SqliteValue, Statements } from "./connection";
import type { Database } from "./database";

/** One step changes at most so many rows. This process does nothing else meanwhile. */
const batchRows = 500;

/** A condition and its values. */
interface Selected {
  readonly where: string;
  readonly values: readonly SqliteValue[];
}

function livingOf({ subject, clientId, apiId, contextKey }: AuthorizationSelection): Selected {
  const conditions = [
    ["subject = ? AND NOT revoked", subject],
    ["client_id = ?", clientId],
    ["api_id = ?", apiId],
    ["context_key = ?", contextKey],
  ] as const;
  const given = conditions.filter(([, value]) => value !== undefined);
  return {
    where: given.map(([condition]) => condition).join(" AND "),
    values: given.map(([, value]) => value as string),
  };
}

/** Changes all selected rows in batches, and returns how many it changed. */
async function changeAll(
  { write }: Database,
  { where, values, change }: Selected & { change: "UPDATE" | "DELETE" },
): Promise<number> {
  const table = "authmount_authorizations";
  const batch = `WHERE authorization_id IN (SELECT authorization_id FROM ${table} WHERE ${where} LIMIT ${batchRows}) RETURNING 1`;
  const statement =
    change === "UPDATE" ? `UPDATE ${table} SET revoked = 1 ${batch}` : `DELETE FROM ${table} ${batch}`;
  for (let changed = 0; ;) {
    const { length } = await write(({ rows }) => rows(statement, ...values));
    changed += length;
    if (length < batchRows) return changed;
  }
}

function create({ rows, run }: Statements, authorization: Authorization, now: EpochSeconds): void {
  const { authorizationId, subject, clientId, apiId, revoked, expiresAt, context } = authorization;
  const ofContext = [subject, clientId, apiId, context?.key ?? ""];
  const living = `authmount_authorizations
    WHERE subject = ? AND client_id = ? AND api_id = ? AND context_key = ? AND NOT revoked AND expires_at > ?`;
  const surplus = rows(surplusIn(living, "json_extract(record, '$.createdAt')"), ...ofContext, now);
  for (const row of surplus) {
    run(
      "UPDATE authmount_authorizations SET revoked = 1 WHERE authorization_id = ?",
      row["authorization_id"] as string,
    );
  }
  run(
    `INSERT INTO authmount_authorizations
    (subject, client_id, api_id, context_key, authorization_id, record, revoked, expires_at, last_used_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)`,
    ...ofContext,
    authorizationId,
    recordOf(authorization),
    Number(revoked),
    expiresAt,
  );
}

function narrowAll(
  { rows, run }: Statements,
  { selection, scopes }: Parameters<AuthorizationStore["narrowAll"]>[0],
): number {
  const { where, values } = livingOf(selection);
  const living = rows(`SELECT * FROM authmount_authorizations WHERE ${where}`, ...values);
  const lesser = living.flatMap((row) => narrowed(readAuthorization(row), scopes) ?? []);
  for (const one of lesser) {
    run(
      "UPDATE authmount_authorizations SET record = ?, revoked = ? WHERE authorization_id = ?",
      recordOf(one),
      Number(one.revoked),
      one.authorizationId,
    );
  }
  return lesser.length;
}

function list(
  { rows }: Statements,
  { subject, page: { after, limit }, now }: { subject: string; page: AuthorizationPage; now: EpochSeconds },
): readonly SqliteRow[] {
  const living = "subject = ? AND NOT revoked AND expires_at > ?";
  // an authorization that is gone gives null, behind which there is nothing
  const behind = `AND (expires_at, authorization_id) < (SELECT expires_at, authorization_id FROM authmount_authorizations
    WHERE authorization_id = ? AND subject = ? AND expires_at > ?)`;
  return rows(
    `SELECT * FROM authmount_authorizations WHERE ${living} ${after === undefined ? "" : behind}
    ORDER BY expires_at DESC, authorization_id DESC LIMIT ?`,
    subject,
    now,
    ...(after === undefined ? [] : [after, subject, now]),
    limit,
  );
}

/** Authorizations: one row each. `deleteExpired` removes expired ones. @rfc 6749 §1.3 */
export function sqliteAuthorizations(database: Database): AuthorizationStore {
  const { read, write } = database;
  return {
    create: (authorization, now) => write((on) => create(on, authorization, now)),
    async find(authorizationId, now) {
      const statement =
        "SELECT * FROM authmount_authorizations WHERE authorization_id = ? AND expires_at > ?";
      const [row] = await read(({ rows }) => rows(statement, authorizationId, now));
      return row && readAuthorization(row);
    },
    revoke: (authorizationId) =>
      write(({ run }) =>
        run(
          "UPDATE authmount_authorizations SET revoked = 1 WHERE authorization_id = ? AND NOT revoked",
          authorizationId,
        ),
      ),
    revokeAll: (selection) => changeAll(database, { ...livingOf(selection), change: "UPDATE" }),
    narrowAll: (step) => write((on) => narrowAll(on, step)),
    list: async (subject, page, now) =>
      (await read((on) => list(on, { subject, page, now }))).map(readListed),
    erase: ({ subject, authorizationId }) =>
      changeAll(database, {
        ...(authorizationId === undefined
          ? { where: "subject = ?", values: [subject] }
          : { where: "authorization_id = ? AND subject = ?", values: [authorizationId, subject] }),
        change: "DELETE",
      }),
    noteUse(authorizationId, now) {
      const statement = `UPDATE authmount_authorizations SET last_used_at = ?
        WHERE authorization_id = ? AND NOT revoked AND last_used_at < ?`;
      return write(({ run }) => run(statement, now, authorizationId, now));
    },
  };
}

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
