/** Codes and tokens in MySQL. Spending inserts a mark whose primary key admits only one, and the mark carries the successor. RFC 6749 §4.1.2, 9700 §4.14.2. */
import type { AuthorizationCode, RefreshToken, RefreshTokenUse } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { TokenDigest, TokenHandle } from "../../protocol/token-value";
import type {
  AccessTokenStore,
  AuthorizationCodeStore,
  RefreshTokenStore,
  StepsAtOnce,
  StoredAccessToken,
} from "../../storage/port";
import { codeValues, readToken, refreshValues, tokenValues } from "../rows";
import type { TableName } from "../table-names";
import { inserted, type Query, type Row } from "./database";
import type { Tables } from "./tables";

function insertInto(table: string): string {
  return `INSERT INTO ${table} (digest, record, expires_at) VALUES (?, ?, ?)`;
}

/** Where tokens of a kind lie: the table, and how the names of their columns begin there. */
type Place = readonly [table: TableName, prefix: "" | "next_"];

const codes: readonly Place[] = [["authorization_codes", ""]];

/** A refresh token is a row of its own, or the successor in the mark of the one before it. */
const refreshTokens: readonly Place[] = [
  ["refresh_tokens", ""],
  ["spent_tokens", "next_"],
];

/** What is read of a token in a table, by the beginning of the names of its columns there. */
type Reading = (token: string, tables: { readonly table: string; readonly spent: string }) => string;

/** What a mark takes over. */
const alone: Reading = (token, { table }) =>
  `SELECT ${token}digest AS digest, ${token}expires_at AS expires_at FROM ${table} AS token`;

/** All of it, with its mark. */
const withMark: Reading = (token, { table, spent }) => `SELECT ${token}digest AS digest,
  ${token}record AS record, ${token}expires_at AS expires_at, mark.digest IS NOT NULL AS spent, mark.record AS how
  FROM ${table} AS token LEFT JOIN ${spent} AS mark ON mark.digest = ${token}digest`;

/** The query that reads a living token in one of these places. */
function living(places: readonly Place[], { reading, tables }: { reading: Reading; tables: Tables }): string {
  const queries = places.map(([table, prefix]) => {
    const token = `token.${prefix}`;
    const read = reading(token, { table: tables[table], spent: tables.spent_tokens });
    return `${read} WHERE ${token}digest = ? AND ${token}expires_at > ?`;
  });
  return queries.join(" UNION ALL ");
}

/** The values of that query. */
function livingValues(
  places: readonly Place[],
  { digest, now }: { digest: TokenDigest; now: EpochSeconds },
): readonly (string | number)[] {
  return places.flatMap(() => [digest, now]);
}

/** Reads the token and its mark in one statement. Marks are only ever added, so a spent token is never seen unspent again. */
async function findToken(
  query: Query,
  { places, digest, now }: { places: readonly Place[]; digest: TokenDigest; now: EpochSeconds },
): Promise<Row | undefined> {
  const { rows } = await query(
    (tables) => living(places, { reading: withMark, tables }),
    livingValues(places, { digest, now }),
  );
  return rows[0];
}

/** Uses a token, and how: what takes its place, and what is kept with its mark. */
interface Spending {
  readonly places: readonly Place[];
  readonly from: TokenHandle;
  readonly to?: RefreshToken | undefined;
  readonly use?: RefreshTokenUse | undefined;
  readonly now: EpochSeconds;
}

/**
 * Spends a living token: `"inserted"` for the winner. All others wait at the primary key for the winner's commit, and then are told that
 * it is `"taken"`. The mark lives as long as the token and its successor: without it, the one could be used again, and the other would be lost.
 */
function spend(
  query: Query,
  { places, from, to, use, now }: Spending,
): Promise<"inserted" | "taken" | "nothing"> {
  const how = use === undefined ? "" : JSON.stringify(use);
  const next = to ? refreshValues(to) : (["", "", 0] as const);
  const insertion = query(
    (tables) => `INSERT INTO ${tables.spent_tokens}
      (digest, expires_at, authorization_id, used_at, record, next_digest, next_record, next_expires_at, turn)
      SELECT alive.digest, GREATEST(alive.expires_at, ?), ?, ?, ?, ?, ?, ?, 0
      FROM (${living(places, { reading: alone, tables })}) AS alive`,
    [next[2], from.authorizationId, now, how, ...next, ...livingValues(places, { digest: from.digest, now })],
  );
  return inserted(insertion);
}

function readUse({ how }: Row): { readonly use?: RefreshTokenUse } {
  return how ? { use: JSON.parse(how as string) as RefreshTokenUse } : {};
}

/** A driver may give a number as text. */
function isSpent({ spent }: Row): boolean {
  return Number(spent) !== 0;
}

/**
 * `atOnce.redeem`: the mark of a code carries the first refresh token, as that of a refresh token carries the next one. @rfc 6749 §4.1.2
 */
export function mysqlRedeem(query: Query): Required<StepsAtOnce>["redeem"] {
  return async ({ code: from, refreshToken: to, accessToken }, now) => {
    // a moment earlier, as the port allows: losers leave one that nobody knows
    if (accessToken) await query(({ access_tokens: table }) => insertInto(table), tokenValues(accessToken));
    const outcome = await spend(query, { places: codes, from, to, now });
    return outcome === "inserted" ? "consumed" : "not-consumed";
  };
}

/** Authorization codes. `deleteExpired` removes expired codes and their marks. @rfc 6749 §4.1.2 */
export function mysqlAuthorizationCodes(query: Query): AuthorizationCodeStore {
  const redeem = mysqlRedeem(query);
  return {
    async create(code) {
      await query(({ authorization_codes: table }) => insertInto(table), codeValues(code));
    },
    async find({ digest }, now) {
      const row = await findToken(query, { places: codes, digest, now });
      return row && ({ ...readToken(row), consumed: isSpent(row) } as AuthorizationCode);
    },
    consume: (code, now) => redeem({ code }, now),
  };
}

/** Refresh tokens. `deleteExpired` removes expired tokens and their marks. @rfc 9700 §4.14.2 */
export function mysqlRefreshTokens(query: Query): RefreshTokenStore {
  return {
    async create(token) {
      await query(({ refresh_tokens: table }) => insertInto(table), refreshValues(token));
    },
    async find({ digest }, now) {
      const row = await findToken(query, { places: refreshTokens, digest, now });
      return row && ({ ...readToken(row), used: isSpent(row), ...readUse(row) } as RefreshToken);
    },
    // one row is both the mark and the successor: both are stored or neither
    async rotate({ from, to, use }, now) {
      const outcome = await spend(query, { places: refreshTokens, from, to, use, now });
      if (outcome === "inserted") return "rotated";
      if (outcome === "nothing") return "not-rotated";
      // only a statement that writes waits for a replica
      const ofToken = "WHERE digest = ?";
      await query(
        ({ spent_tokens: spent }) => `UPDATE ${spent} SET turn = turn + 1 ${ofToken}`,
        [from.digest],
      );
      const { rows } = await query(
        ({ spent_tokens: spent }) => `SELECT record AS how FROM ${spent} ${ofToken}`,
        [from.digest],
      );
      return (rows[0] && readUse(rows[0]).use) ?? "not-rotated";
    },
  };
}

/** Opaque access tokens, and the ids of revoked access tokens. `deleteExpired` removes expired ones. */
export function mysqlAccessTokens(query: Query): AccessTokenStore {
  return {
    async create(token) {
      await query(({ access_tokens: table }) => insertInto(table), tokenValues(token));
    },
    async find(digest, now) {
      const { rows } = await query(
        ({ access_tokens: table }) =>
          `SELECT digest, record, expires_at FROM ${table} WHERE digest = ? AND expires_at > ?`,
        [digest, now],
      );
      return rows[0] && (readToken(rows[0]) as StoredAccessToken);
    },
    // writes even if it is revoked, as for authorizations
    async revoke({ tokenId, expiresAt }) {
      await query(
        ({ revoked_access_tokens: revoked }) =>
          `INSERT INTO ${revoked} (token_id, expires_at, turn) VALUES (?, ?, 0)
          ON DUPLICATE KEY UPDATE expires_at = ?, turn = turn + 1`,
        [tokenId, expiresAt, expiresAt],
      );
    },
    async isRevoked(tokenId, now) {
      const { rows } = await query(
        ({ revoked_access_tokens: revoked }) =>
          `SELECT 1 FROM ${revoked} WHERE token_id = ? AND expires_at > ?`,
        [tokenId, now],
      );
      return rows.length > 0;
    },
  };
}
