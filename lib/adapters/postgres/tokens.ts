/** Codes and tokens in PostgreSQL. Spending inserts a row whose primary key admits only one. RFC 6749 §4.1.2, 9700 §4.14.2. */
import type { AuthorizationCode, RefreshToken, RefreshTokenUse } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { TokenHandle } from "../../protocol/token-value";
import type {
  AccessTokenStore,
  AuthorizationCodeStore,
  RefreshTokenStore,
  StepsAtOnce,
  StoredAccessToken,
} from "../../storage/port";
import { codeValues, readToken, refreshValues, tokenValues } from "../rows";
import type { PostgresRow, Query } from "./database";
import type { Tables } from "./tables";

function insertInto(table: string): string {
  return `INSERT INTO ${table} (digest, record, expires_at) VALUES ($1, $2, $3)`;
}

/** Reads the token and its mark in one statement. Marks are only ever added, so a spent token is never seen unspent again. */
function selectWithMark(table: string, { spent_tokens: spent }: Tables): string {
  return `SELECT token.digest, token.record, token.expires_at, mark.digest IS NOT NULL AS spent, mark.record AS use
    FROM ${table} AS token LEFT JOIN ${spent} AS mark ON mark.digest = token.digest
    WHERE token.digest = $1 AND token.expires_at > $2`;
}

/**
 * Spends the token $1 of the authorization $3 if it is alive at $2, and keeps $4 with the mark. The winner gets one row `won`, all others
 * get none: the second one waits at the primary key for the first one's commit, and then does nothing. The statement names the key, so that
 * it fails on a table without it, which would let everyone win.
 */
function spend(table: string, { spent_tokens: spent, authorizations }: Tables): string {
  return `WITH won AS (
      INSERT INTO ${spent} (digest, expires_at, record)
      SELECT digest, expires_at, $4::text FROM ${table} WHERE digest = $1 AND expires_at > $2
      ON CONFLICT (digest) DO NOTHING RETURNING digest
    ), used AS (
      UPDATE ${authorizations} SET last_used_at = $2 WHERE authorization_id = $3 AND EXISTS (SELECT 1 FROM won)
    )`;
}

/** The step that stores a token for the winner. Its values end with the one of this number. */
function insertForWinner(table: string, at: number): string {
  return `INSERT INTO ${table} (digest, record, expires_at)
    SELECT $${at - 2}::text, $${at - 1}::text, $${at}::bigint FROM won RETURNING digest`;
}

/** The values of `spend`. */
function spending(
  { digest, authorizationId }: TokenHandle,
  { now, use }: { now: EpochSeconds; use?: RefreshTokenUse | undefined },
): readonly unknown[] {
  return [digest, now, authorizationId, use === undefined ? "" : JSON.stringify(use)];
}

function readUse({ use }: PostgresRow): { readonly use?: RefreshTokenUse } {
  return use ? { use: JSON.parse(use as string) as RefreshTokenUse } : {};
}

/** `atOnce.redeem` in one statement: what a code pays for is inserted only if its mark was new. @rfc 6749 §4.1.2 */
export function postgresRedeem(query: Query): Required<StepsAtOnce>["redeem"] {
  return async ({ code, refreshToken, accessToken }, now) => {
    const paid = [
      { table: "refresh_tokens", row: refreshToken && refreshValues(refreshToken) },
      { table: "access_tokens", row: accessToken && tokenValues(accessToken) },
    ] as const;
    const values = [...spending(code, { now })];
    const inserts = paid.flatMap(({ table, row }) => (row ? [{ table, at: values.push(...row) }] : []));
    const rows = await query(
      (tables) => `${spend(tables.authorization_codes, tables)}
        ${inserts.map(({ table, at }) => `, ${table} AS (${insertForWinner(tables[table], at)})`).join("")}
        SELECT 1 FROM won`,
      values,
    );
    return rows.length === 1 ? "consumed" : "not-consumed";
  };
}

/** Authorization codes. `deleteExpired` removes expired codes and their marks. @rfc 6749 §4.1.2 */
export function postgresAuthorizationCodes(query: Query): AuthorizationCodeStore {
  const redeem = postgresRedeem(query);
  return {
    async create(code) {
      await query(({ authorization_codes: codes }) => insertInto(codes), codeValues(code));
    },
    async find({ digest }, now) {
      const [row] = await query(
        (tables) => selectWithMark(tables.authorization_codes, tables),
        [digest, now],
      );
      return row && ({ ...readToken(row), consumed: row["spent"] } as AuthorizationCode);
    },
    consume: (code, now) => redeem({ code }, now),
  };
}

/** Refresh tokens. `deleteExpired` removes expired tokens and their marks. @rfc 9700 §4.14.2 */
export function postgresRefreshTokens(query: Query): RefreshTokenStore {
  async function find({ digest }: TokenHandle, now: EpochSeconds): Promise<RefreshToken | undefined> {
    const [row] = await query((tables) => selectWithMark(tables.refresh_tokens, tables), [digest, now]);
    return row && ({ ...readToken(row), used: row["spent"], ...readUse(row) } as RefreshToken);
  }

  return {
    find,
    async create(token) {
      await query(({ refresh_tokens: tokens }) => insertInto(tokens), refreshValues(token));
    },
    // one statement, so both happen or neither: the successor is inserted only if the mark was new
    async rotate({ from, to, use }, now) {
      const rows = await query(
        (tables) => `${spend(tables.refresh_tokens, tables)} ${insertForWinner(tables.refresh_tokens, 7)}`,
        [...spending(from, { now, use }), ...refreshValues(to)],
      );
      if (rows.length === 1) return "rotated";
      // only a statement that begins now is sure to see what the winner has stored, and only one that writes waits for a standby
      const [mark] = await query(
        ({ spent_tokens: spent }) =>
          `UPDATE ${spent} SET expires_at = expires_at WHERE digest = $1 AND expires_at > $2 RETURNING record AS use`,
        [from.digest, now],
      );
      return (mark && readUse(mark).use) ?? "not-rotated";
    },
  };
}

/** Opaque access tokens, and the ids of revoked access tokens. `deleteExpired` removes expired ones. */
export function postgresAccessTokens(query: Query): AccessTokenStore {
  return {
    async create(token) {
      await query(({ access_tokens: tokens }) => insertInto(tokens), tokenValues(token));
    },
    async find(digest, now) {
      const [row] = await query(
        ({ access_tokens: tokens }) =>
          `SELECT digest, record, expires_at FROM ${tokens} WHERE digest = $1 AND expires_at > $2`,
        [digest, now],
      );
      return row && (readToken(row) as StoredAccessToken);
    },
    // writes even if it is revoked, as for authorizations
    async revoke({ tokenId, expiresAt }) {
      await query(
        ({ revoked_access_tokens: revoked }) =>
          `INSERT INTO ${revoked} (token_id, expires_at) VALUES ($1, $2)
          ON CONFLICT (token_id) DO UPDATE SET expires_at = excluded.expires_at`,
        [tokenId, expiresAt],
      );
    },
    async isRevoked(tokenId, now) {
      const rows = await query(
        ({ revoked_access_tokens: revoked }) =>
          `SELECT 1 FROM ${revoked} WHERE token_id = $1 AND expires_at > $2`,
        [tokenId, now],
      );
      return rows.length > 0;
    },
  };
}
