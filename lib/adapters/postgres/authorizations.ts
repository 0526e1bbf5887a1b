/** Authorizations and end marks in PostgreSQL. RFC 6749 §1.3, 7009 §2.1. */
import { type Authorization, type AuthorizationCode, narrowed } from "../../protocol/authorization";
import type { EndMark } from "../../protocol/end-mark";
import type { EpochSeconds } from "../../protocol/time";
import type {
  AuthorizationPage,
  AuthorizationSelection,
  AuthorizationStore,
  EndMarkStore,
  ListedAuthorization,
  StepsAtOnce,
} from "../../storage/port";
import { codeValues, readAuthorization, readListed, recordOf, surplusIn } from "../rows";
import { ofKey, type Query } from "./database";
import type { Tables } from "./tables";

/** One statement locks at most so many rows: a refresh of one of them waits for its end. */
const batchRows = 500;

/**
 * The order of the index `authorizations_by_subject`, in which all of an end user's rows are read. Without it the planner would take
 * another index: one that also has what was revoked or, for a page of a list, even the rows of other end users.
 */
const indexOrder = "revoked, client_id, api_id, context_key, expires_at";

/** The columns of an authorization. Named, because a prepared `SELECT *` fails once a later version has added a column. */
const columns = "authorization_id, subject, client_id, api_id, record, revoked, expires_at, last_used_at";

/** A condition and its values. */
interface Selected {
  readonly where: string;
  readonly values: readonly unknown[];
}

function livingOf({ subject, clientId, apiId, contextKey }: AuthorizationSelection): Selected {
  if (clientId === undefined) return { where: "subject = $1 AND NOT revoked", values: [subject] };
  const where = `${ofKey} AND NOT revoked`;
  const values = [subject, clientId, apiId];
  if (contextKey === undefined) return { where, values };
  return { where: `${where} AND context_key = $4`, values: [...values, contextKey] };
}

/** The row with this id if it is this end user's. The planner would take an index on `subject` for the plain column. */
function ownRow({ id, subject }: { id: string; subject: string }): string {
  return `authorization_id = ${id} AND subject || '' = ${subject}`;
}

/**
 * Changes all selected rows in batches, and returns how many it changed. It ends when a batch finds no further rows, not
 * when it changes none: a simultaneous call may have changed a whole batch, and may then stop half-way.
 */
async function changeAll(
  query: Query,
  { selected, change }: { selected: Selected; change: (table: string) => string },
): Promise<number> {
  let changed = 0;
  for (;;) {
    const [row] = await query(
      ({ authorizations }) => `WITH batch AS (
        SELECT authorization_id FROM ${authorizations} WHERE ${selected.where}
        ORDER BY ${indexOrder} LIMIT ${batchRows}
      ), changed AS (
        ${change(authorizations)} RETURNING 1
      )
      SELECT (SELECT count(*) FROM batch) AS found, (SELECT count(*) FROM changed) AS changed`,
      selected.values,
    );
    changed += Number(row?.["changed"]);
    if (Number(row?.["found"]) < batchRows) return changed;
  }
}

/** Not read as JSON: the host's texts in it may have what a database refuses. A quote inside a text is escaped, so this is a key. */
const createdAtOf = `substring(record from '"createdAt":([0-9]+)')::bigint`;

/** A new authorization, and its code if that is stored in the same statement. */
interface Creation {
  readonly authorization: Authorization;
  readonly code?: AuthorizationCode;
  readonly now: EpochSeconds;
}

/** The statement does not see its own row: what it finds are the others beyond those that may stay. */
async function create(query: Query, { authorization, code, now }: Creation): Promise<void> {
  const { authorizationId, subject, clientId, apiId, revoked, expiresAt, context } = authorization;
  const contextKey = context?.key ?? "";
  const surplus = await query(
    ({ authorizations, authorization_codes: codes }) => `WITH created AS (
      INSERT INTO ${authorizations}
      (subject, client_id, api_id, context_key, authorization_id, record, revoked, last_used_at, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8)
    ), ${code ? `coded AS (INSERT INTO ${codes} (digest, record, expires_at) VALUES ($10, $11, $12)), ` : ""}living AS MATERIALIZED (
      SELECT authorization_id, record, expires_at, last_used_at FROM ${authorizations}
      WHERE ${ofKey} AND context_key = $4 AND NOT revoked AND expires_at > $9 ORDER BY ${indexOrder}
    )
    ${surplusIn("living", createdAtOf)}`,
    [
      subject,
      clientId,
      apiId,
      contextKey,
      authorizationId,
      recordOf(authorization),
      revoked,
      expiresAt,
      now,
      ...(code ? codeValues(code) : []),
    ],
  );
  if (surplus.length === 0) return;
  // a separate statement, because not every engine changes one table twice in one
  await query(
    ({ authorizations }) =>
      `UPDATE ${authorizations} SET revoked = true WHERE authorization_id = ANY($1::text[]) AND NOT revoked`,
    [surplus.map((row) => row["authorization_id"])],
  );
}

async function list(
  query: Query,
  { subject, page: { after, limit }, now }: { subject: string; page: AuthorizationPage; now: EpochSeconds },
): Promise<readonly ListedAuthorization[]> {
  const rows = await query(
    ({ authorizations }) => {
      // a row that is gone gives null, behind which there is nothing
      const behind = `AND (expires_at, authorization_id) <
        (SELECT expires_at, authorization_id FROM ${authorizations}
        WHERE ${ownRow({ id: "$4", subject: "$1" })} AND expires_at > $2)`;
      return `WITH own AS MATERIALIZED (
          SELECT ${columns} FROM ${authorizations} WHERE subject = $1 AND NOT revoked ORDER BY ${indexOrder}
        )
        SELECT ${columns} FROM own WHERE expires_at > $2 ${after === undefined ? "" : behind}
        ORDER BY expires_at DESC, authorization_id DESC LIMIT $3`;
    },
    [subject, now, limit, ...(after === undefined ? [] : [after])],
  );
  return rows.map(readListed);
}

/** Changes what still is as it was read, and looks again until there is nothing to change. */
async function narrowAll(
  query: Query,
  { selection, scopes }: Parameters<AuthorizationStore["narrowAll"]>[0],
): Promise<number> {
  const { where, values } = livingOf(selection);
  for (let changed = 0; ;) {
    const rows = await query(
      ({ authorizations }) =>
        `SELECT ${columns} FROM ${authorizations} WHERE ${where} ORDER BY ${indexOrder}`,
      values,
    );
    const wide = rows.flatMap((row) => {
      const lesser = narrowed(readAuthorization(row), scopes);
      return lesser ? [{ from: row["record"], lesser }] : [];
    });
    if (wide.length === 0) return changed;
    for (const { from, lesser } of wide) {
      const done = await query(
        ({ authorizations }) => `UPDATE ${authorizations} SET record = $3, revoked = revoked OR $4
          WHERE authorization_id = $1 AND record = $2 RETURNING 1`,
        [lesser.authorizationId, from, recordOf(lesser), lesser.revoked],
      );
      changed += done.length;
    }
  }
}

const ofBatch = "authorization_id IN (SELECT authorization_id FROM batch)";

/** `atOnce.approve` in one statement. @rfc 6749 §4.1.2 */
export function postgresApprove(query: Query): Required<StepsAtOnce>["approve"] {
  return (step, now) => create(query, { ...step, now });
}

/** Authorizations: one row each. `deleteExpired` removes expired ones. @rfc 6749 §1.3 */
export function postgresAuthorizations(query: Query): AuthorizationStore {
  return {
    create: (authorization, now) => create(query, { authorization, now }),
    async find(authorizationId, now) {
      const [row] = await query(
        ({ authorizations }) =>
          `SELECT ${columns} FROM ${authorizations} WHERE authorization_id = $1 AND expires_at > $2`,
        [authorizationId, now],
      );
      return row && readAuthorization(row);
    },
    // Writes even if it is revoked: a statement that changes nothing waits for no standby, and would so confirm a revocation that no
    // standby has yet.
    async revoke(authorizationId) {
      await query(
        ({ authorizations }) => `UPDATE ${authorizations} SET revoked = true WHERE authorization_id = $1`,
        [authorizationId],
      );
    },
    async revokeAll(selection) {
      return changeAll(query, {
        selected: livingOf(selection),
        // asked again: another call may have revoked one while this one waited for its row
        change: (table) => `UPDATE ${table} SET revoked = true WHERE ${ofBatch} AND NOT revoked`,
      });
    },
    narrowAll: (step) => narrowAll(query, step),
    list: (subject, page, now) => list(query, { subject, page, now }),
    async erase({ subject, authorizationId }) {
      const all = { where: "subject = $1", values: [subject] };
      const one = { where: ownRow({ id: "$2", subject: "$1" }), values: [subject, authorizationId] };
      return changeAll(query, {
        selected: authorizationId === undefined ? all : one,
        change: (table) => `DELETE FROM ${table} WHERE ${ofBatch}`,
      });
    },
    async noteUse(authorizationId, now) {
      await query(
        ({ authorizations }) =>
          `UPDATE ${authorizations} SET last_used_at = $2 WHERE authorization_id = $1 AND NOT revoked AND last_used_at < $2`,
        [authorizationId, now],
      );
    },
  };
}

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
