/** Codes and tokens in PostgreSQL. Spending inserts a row whose primary key admits only one. RFC 6749 §4.1.2, 9700 §4.14.2. */
import type { AuthorizationCode } from "../../protocol/authorization-code";
import type { EpochSeconds } from "../../protocol/time";
import type { RefreshToken } from "../../protocol/refresh-token";
import type { TokenDigest } from "../../protocol/token-value";
import type { AccessTokenStore, AuthorizationCodeStore, RefreshTokenStore, StoredAccessToken } from "../port";
import type { Query } from "./database";
import type { Tables } from "./names";
import type { PostgresRow } from "./pool";

interface Expiring {
  readonly digest: TokenDigest;
  readonly expiresAt: EpochSeconds;
}

/** The values of a row. Whether the token was spent is not among them: token rows never change, and the marks tell. */
function toRow({
  digest,
  expiresAt,
  ...rest
}: Expiring & { consumed?: undefined; used?: undefined }): readonly unknown[] {
  return [digest, JSON.stringify(rest), expiresAt];
}

function fromRow(row: PostgresRow): object {
  const { digest, record, expires_at: expiresAt } = row;
  return { ...(JSON.parse(record as string) as object), digest, expiresAt: Number(expiresAt) };
}

function insertInto(table: string): string {
  return `INSERT INTO ${table} (digest, record, expires_at) VALUES ($1, $2, $3)`;
}

/** Reads the token and its mark in one statement. Marks are only ever added, so a spent token is never seen unspent again. */
function selectWithMark(table: string, { spent_tokens: spent }: Tables): string {
  return `SELECT token.*, mark.digest IS NOT NULL AS spent
    FROM ${table} AS token LEFT JOIN ${spent} AS mark ON mark.digest = token.digest
    WHERE token.digest = $1 AND token.expires_at > $2`;
}

/**
 * Spends the token $1 if it is alive at $2. The winner gets one row, all others get none: whoever comes second waits at the primary
 * key for the first one's commit, and then does nothing. The statement names the key, so that it fails on a table without it, which
 * would let everyone win.
 */
function spend(table: string, { spent_tokens: spent }: Tables): string {
  return `INSERT INTO ${spent} (digest, expires_at)
    SELECT digest, expires_at FROM ${table} WHERE digest = $1 AND expires_at > $2
    ON CONFLICT (digest) DO NOTHING RETURNING digest`;
}

/** Authorization codes. `deleteExpired` removes expired codes and their marks. @rfc 6749 §4.1.2 */
export function postgresAuthorizationCodes(query: Query): AuthorizationCodeStore {
  return {
    async create(code) {
      const row = toRow({ ...code, consumed: undefined });
      await query(({ authorization_codes: codes }) => insertInto(codes), row);
    },
    async find({ digest }, now) {
      const [row] = await query(
        (tables) => selectWithMark(tables.authorization_codes, tables),
        [digest, now],
      );
      return row && ({ ...fromRow(row), consumed: row["spent"] } as AuthorizationCode);
    },
    async consume({ digest }, now) {
      const rows = await query((tables) => spend(tables.authorization_codes, tables), [digest, now]);
      return rows.length === 1 ? "consumed" : "not-consumed";
    },
  };
}

/** Refresh tokens. `deleteExpired` removes expired tokens and their marks. @rfc 9700 §4.14.2 */
export function postgresRefreshTokens(query: Query): RefreshTokenStore {
  return {
    async create(token) {
      const row = toRow({ ...token, used: undefined });
      await query(({ refresh_tokens: tokens }) => insertInto(tokens), row);
    },
    async find({ digest }, now) {
      const [row] = await query((tables) => selectWithMark(tables.refresh_tokens, tables), [digest, now]);
      return row && ({ ...fromRow(row), used: row["spent"] } as RefreshToken);
    },
    // one statement, so both happen or neither: the successor is inserted only if the mark was new
    async rotate({ from, to }, now) {
      const rows = await query(
        (tables) => `WITH won AS (${spend(tables.refresh_tokens, tables)})
        INSERT INTO ${tables.refresh_tokens} (digest, record, expires_at)
        SELECT $3::text, $4::text, $5::bigint FROM won RETURNING digest`,
        [from.digest, now, ...toRow({ ...to, used: undefined })],
      );
      return rows.length === 1 ? "rotated" : "not-rotated";
    },
  };
}

/** Opaque access tokens, and the ids of revoked access tokens. `deleteExpired` removes expired ones. */
export function postgresAccessTokens(query: Query): AccessTokenStore {
  return {
    async create(token) {
      await query(({ access_tokens: tokens }) => insertInto(tokens), toRow(token));
    },
    async find(digest, now) {
      const [row] = await query(
        ({ access_tokens: tokens }) => `SELECT * FROM ${tokens} WHERE digest = $1 AND expires_at > $2`,
        [digest, now],
      );
      return row && (fromRow(row) as StoredAccessToken);
    },
    async revoke({ tokenId, expiresAt }) {
      await query(
        ({ revoked_access_tokens: revoked }) =>
          `INSERT INTO ${revoked} (token_id, expires_at) VALUES ($1, $2) ON CONFLICT (token_id) DO NOTHING`,
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
