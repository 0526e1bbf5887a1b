/** Authorizations and end marks in MySQL. RFC 6749 §1.3, 7009 §2.1. */
import { type Authorization, narrowed } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type {
  AuthorizationPage,
  AuthorizationSelection,
  AuthorizationStore,
  EndMarkStore,
  ListedAuthorization,
} from "../../storage/port";
import { readAuthorization, readListed, recordOf, surplusIn } from "../rows";
import { type Answer, listOf, ofKey, type Query, type Row } from "./database";
import type { Tables } from "./tables";

/** One statement locks at most so many rows: a refresh of one of them waits for its end. */
const batchRows = 500;

/** The columns of an authorization. */
const columns = "authorization_id, subject, client_id, api_id, record, revoked, expires_at";

/**
 * The last use: the later one of the column and of the marks, which are stored when a code is consumed or a token rotated. So the use is
 * known in the same step, and no statement writes two tables.
 */
function lastUse({ spent_tokens: spent }: Tables): string {
  return `GREATEST(own.last_used_at, COALESCE((SELECT MAX(mark.used_at) FROM ${spent} AS mark
    WHERE mark.authorization_id = own.authorization_id), 0)) AS last_used_at`;
}

/** A condition and its values. */
interface Selected {
  readonly where: string;
  readonly values: readonly string[];
}

function livingOf({ subject, clientId, apiId = "", contextKey }: AuthorizationSelection): Selected {
  if (clientId === undefined) return { where: "subject = ? AND revoked = 0", values: [subject] };
  const where = `${ofKey} AND revoked = 0`;
  const values = [subject, clientId, apiId];
  if (contextKey === undefined) return { where, values };
  return { where: `${where} AND context_key = ?`, values: [...values, contextKey] };
}

/** Repeats a statement with `LIMIT` until it finds fewer rows than that, and returns how many it has changed. */
async function inBatches(statement: () => Promise<Answer>): Promise<number> {
  for (let changed = 0; ;) {
    const { affected } = await statement();
    changed += affected;
    if (affected < batchRows) return changed;
  }
}

/** A driver may give a number as text. */
function flags(row: Row): Row {
  return { ...row, revoked: Number(row["revoked"]) !== 0 };
}

async function create(
  query: Query,
  { authorization, now }: { authorization: Authorization; now: EpochSeconds },
): Promise<void> {
  const { authorizationId, subject, clientId, apiId, revoked, createdAt, expiresAt } = authorization;
  const key = [subject, clientId, apiId, authorization.context?.key ?? ""];
  await query(
    ({ authorizations }) => `INSERT INTO ${authorizations}
      (subject, client_id, api_id, context_key, authorization_id, record, revoked, created_at, last_used_at, expires_at, turn)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, 0)`,
    [...key, authorizationId, recordOf(authorization), Number(revoked), createdAt, expiresAt],
  );
  const { rows: surplus } = await query(
    (tables) => `WITH living AS (
        SELECT authorization_id, created_at, expires_at, ${lastUse(tables)}
        FROM ${tables.authorizations} AS own FORCE INDEX (by_subject)
        WHERE ${ofKey} AND context_key = ? AND revoked = 0 AND expires_at > ? AND authorization_id <> ?
      )
      ${surplusIn("living", "created_at")}`,
    [...key, now, authorizationId],
  );
  if (surplus.length === 0) return;
  const [marks, ids] = listOf(surplus.map((row) => row["authorization_id"] as string));
  await query(
    ({ authorizations }) =>
      `UPDATE ${authorizations} SET revoked = 1, turn = turn + 1 WHERE authorization_id IN (${marks})`,
    ids,
  );
}

async function list(
  query: Query,
  { subject, page: { after, limit }, now }: { subject: string; page: AuthorizationPage; now: EpochSeconds },
): Promise<readonly ListedAuthorization[]> {
  const { rows } = await query(
    (tables) => {
      // a row that is gone gives null, behind which there is nothing
      const behind = `AND (expires_at, authorization_id) < (SELECT expires_at, authorization_id
        FROM ${tables.authorizations} WHERE authorization_id = ? AND subject = ? AND expires_at > ?)`;
      return `SELECT ${columns}, ${lastUse(tables)} FROM ${tables.authorizations} AS own FORCE INDEX (by_subject)
        WHERE subject = ? AND revoked = 0 AND expires_at > ? ${after === undefined ? "" : behind}
        ORDER BY expires_at DESC, authorization_id DESC LIMIT ${Math.trunc(limit)}`;
    },
    [subject, now, ...(after === undefined ? [] : [after, subject, now])],
  );
  return rows.map((row) => readListed(flags(row)));
}

/** Changes what still is as it was read, and looks again until there is nothing to change. */
async function narrowAll(
  query: Query,
  { selection, scopes }: Parameters<AuthorizationStore["narrowAll"]>[0],
): Promise<number> {
  const { where, values } = livingOf(selection);
  for (let changed = 0; ;) {
    const { rows } = await query(
      ({ authorizations }) => `SELECT ${columns} FROM ${authorizations} WHERE ${where}`,
      values,
    );
    const wide = rows.flatMap((row) => {
      const lesser = narrowed(readAuthorization(flags(row)), scopes);
      return lesser ? [{ from: row["record"] as string, lesser }] : [];
    });
    if (wide.length === 0) return changed;
    for (const { from, lesser } of wide) {
      const { affected } = await query(
        ({
          authorizations,
        }) => `UPDATE ${authorizations} SET record = ?, revoked = revoked OR ?, turn = turn + 1
          WHERE authorization_id = ? AND record = ?`,
        [recordOf(lesser), Number(lesser.revoked), lesser.authorizationId, from],
      );
      changed += affected;
    }
  }
}

/** Authorizations: one row each. `deleteExpired` removes expired ones. @rfc 6749 §1.3 */
export function mysqlAuthorizations(query: Query): AuthorizationStore {
  return {
    create: (authorization, now) => create(query, { authorization, now }),
    async find(authorizationId, now) {
      const { rows } = await query(
        ({ authorizations }) =>
          `SELECT ${columns} FROM ${authorizations} WHERE authorization_id = ? AND expires_at > ?`,
        [authorizationId, now],
      );
      return rows[0] && readAuthorization(flags(rows[0]));
    },
    // Writes even if it is revoked: a statement that changes nothing waits for no replica, and would so confirm a revocation that no
    // replica has yet.
    async revoke(authorizationId) {
      await query(
        ({ authorizations }) =>
          `UPDATE ${authorizations} SET revoked = 1, turn = turn + 1 WHERE authorization_id = ?`,
        [authorizationId],
      );
    },
    async revokeAll(selection) {
      const { where, values } = livingOf(selection);
      const statement = ({ authorizations }: Tables): string =>
        `UPDATE ${authorizations} SET revoked = 1, turn = turn + 1 WHERE ${where} LIMIT ${batchRows}`;
      return inBatches(() => query(statement, values));
    },
    narrowAll: (step) => narrowAll(query, step),
    list: (subject, page, now) => list(query, { subject, page, now }),
    async erase({ subject, authorizationId }) {
      const one = authorizationId === undefined ? "" : "AND authorization_id = ?";
      const values = authorizationId === undefined ? [subject] : [subject, authorizationId];
      const statement = ({ authorizations }: Tables): string =>
        `DELETE FROM ${authorizations} WHERE subject = ? ${one} LIMIT ${batchRows}`;
      return inBatches(() => query(statement, values));
    },
    async noteUse(authorizationId, now) {
      await query(
        ({ authorizations }) =>
          `UPDATE ${authorizations} SET last_used_at = ? WHERE authorization_id = ? AND revoked = 0 AND last_used_at < ?`,
        [now, authorizationId, now],
      );
    },
  };
}

/** End marks: one row for each key. `deleteExpired` removes expired ones. @rfc 7009 §2.1 */
export function mysqlEndMarks(query: Query): EndMarkStore {
  return {
    // one statement: the marks of one moment
    async find(keys, now) {
      if (keys.length === 0) return [];
      const [places, values] = listOf(keys);
      const { rows } = await query(
        ({ end_marks: marks }) =>
          `SELECT mark_key, mark FROM ${marks} WHERE mark_key IN (${places}) AND expires_at > ?`,
        [...values, now],
      );
      const found = new Map(rows.map((row) => [row["mark_key"] as string, row["mark"] as string]));
      return keys.map((key) => found.get(key));
    },
    async save({ key, mark, expiresAt }) {
      await query(
        ({ end_marks: marks }) => `INSERT INTO ${marks} (mark_key, mark, expires_at) VALUES (?, ?, ?)
          ON DUPLICATE KEY UPDATE mark = ?, expires_at = ?`,
        [key, mark, expiresAt, mark, expiresAt],
      );
    },
  };
}
