/** Consents, authorizations and end marks in PostgreSQL. RFC 6749 §1.3, 7009 §2.1. */
import type { Authorization } from "../../protocol/authorization";
import type { Consent } from "../../protocol/consent";
import type { AuthorizationStore, ConsentStore, EndMarkStore } from "../port";
import type { Query } from "./database";
import type { PostgresRow } from "./pool";

/** What consents and authorizations share: the end user, the client, the API, and all other fields as JSON. */
function readApproval(row: PostgresRow): object {
  return {
    ...(JSON.parse(row["record"] as string) as object),
    subject: row["subject"],
    clientId: row["client_id"],
    apiId: row["api_id"],
    expiresAt: Number(row["expires_at"]),
  };
}

const readConsent = (row: PostgresRow): Consent => readApproval(row) as Consent;

function readAuthorization(row: PostgresRow): Authorization {
  const { authorization_id: authorizationId, revoked } = row;
  return { ...readApproval(row), authorizationId, revoked } as Authorization;
}

const ofKey = "subject = $1 AND client_id = $2 AND api_id = $3";

/** Consents: one row for each (subject, client, API). Queries decide expiry by `now`; `deleteExpired` removes the rows. */
export function postgresConsents(query: Query): ConsentStore {
  return {
    async find({ subject, clientId, apiId }, now) {
      const [row] = await query(
        ({ consents }) => `SELECT * FROM ${consents} WHERE ${ofKey} AND expires_at > $4`,
        [subject, clientId, apiId, now],
      );
      return row && readConsent(row);
    },
    async save({ subject, clientId, apiId, expiresAt, ...rest }) {
      await query(
        ({ consents }) =>
          `INSERT INTO ${consents} (subject, client_id, api_id, record, expires_at) VALUES ($1, $2, $3, $4, $5)
          ON CONFLICT (subject, client_id, api_id) DO UPDATE
          SET record = excluded.record, expires_at = excluded.expires_at`,
        [subject, clientId, apiId, JSON.stringify(rest), expiresAt],
      );
    },
    async list(subject, now) {
      const rows = await query(
        ({ consents }) => `SELECT * FROM ${consents} WHERE subject = $1 AND expires_at > $2`,
        [subject, now],
      );
      return rows.map(readConsent);
    },
    async delete({ key: { subject, clientId, apiId }, exceptEndMark }) {
      const rows = await query(
        ({ consents }) =>
          `DELETE FROM ${consents} WHERE ${ofKey} AND record::json ->> 'endMark' IS DISTINCT FROM $4 RETURNING 1`,
        [subject, clientId, apiId, exceptEndMark],
      );
      return rows.length > 0;
    },
  };
}

/** End marks: one row for each key. `deleteExpired` removes expired ones. @rfc 7009 §2.1 */
export function postgresEndMarks(query: Query): EndMarkStore {
  return {
    async find(key, now) {
      const [row] = await query(
        ({ end_marks: marks }) => `SELECT mark FROM ${marks} WHERE key = $1 AND expires_at > $2`,
        [key, now],
      );
      return row && (row["mark"] as string);
    },
    async save({ key, mark, expiresAt }) {
      await query(
        ({ end_marks: marks }) =>
          `INSERT INTO ${marks} (key, mark, expires_at) VALUES ($1, $2, $3)
          ON CONFLICT (key) DO UPDATE SET mark = excluded.mark, expires_at = excluded.expires_at`,
        [key, mark, expiresAt],
      );
    },
  };
}

/** Authorizations: one row each. `deleteExpired` removes expired ones. @rfc 6749 §1.3 */
export function postgresAuthorizations(query: Query): AuthorizationStore {
  return {
    async create({ authorizationId, subject, clientId, apiId, revoked, expiresAt, ...rest }) {
      await query(
        ({ authorizations }) =>
          `INSERT INTO ${authorizations}
          (authorization_id, subject, client_id, api_id, record, revoked, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
        [authorizationId, subject, clientId, apiId, JSON.stringify(rest), revoked, expiresAt],
      );
    },
    async find(authorizationId, now) {
      const [row] = await query(
        ({ authorizations }) =>
          `SELECT * FROM ${authorizations} WHERE authorization_id = $1 AND expires_at > $2`,
        [authorizationId, now],
      );
      return row && readAuthorization(row);
    },
    async revoke(authorizationId) {
      await query(
        ({ authorizations }) =>
          `UPDATE ${authorizations} SET revoked = true WHERE authorization_id = $1 AND NOT revoked`,
        [authorizationId],
      );
    },
    // counted in the database, because only the number is needed
    async revokeAll({ subject, clientId, apiId }) {
      const [row] = await query(
        ({ authorizations }) => `WITH ended AS (
          UPDATE ${authorizations} SET revoked = true WHERE ${ofKey} AND NOT revoked RETURNING 1
        )
        SELECT count(*) AS count FROM ended`,
        [subject, clientId, apiId],
      );
      return Number(row?.["count"]);
    },
  };
}
