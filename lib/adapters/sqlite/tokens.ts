/** Codes and tokens in SQLite. A step that spends one is a transaction, and only one process at a time has one. RFC 6749 §4.1.2, 9700 §4.14.2. */
import type { AuthorizationCode, RefreshToken, RefreshTokenUse } from "../../protocol/authorization";
import type { EpochSeconds } from "../../protocol/time";
import type { TokenDigest, TokenHandle } from "../../protocol/token-value";
import type {
  AccessTokenStore,
  AuthorizationCodeStore,
  RefreshTokenStore,
  StoredAccessToken,
} from "../../storage/port";
import { readToken } from "../rows";
import type { SqliteRow, Statements } from "./connection";
import type { Database } from "./database";

type Table = "authorization_codes" | "refresh_tokens" | "access_tokens";

interface Expiring {
  readonly digest: TokenDigest;
  readonly expiresAt: EpochSeconds;
}

function find(
  { rows }: Statements,
  { table, digest, now }: { table: Table; digest: TokenDigest; now: EpochSeconds },
): SqliteRow | undefined {
  return rows(`SELECT * FROM authmount_${table} WHERE digest = ? AND expires_at > ?`, digest, now)[0];
}

function setLastUse({ run }: Statements, { authorizationId }: TokenHandle, now: EpochSeconds): void {
  run(
    "UPDATE authmount_authorizations SET last_used_at = ? WHERE authorization_id = ?",
    now,
    authorizationId,
  );
}

/** Authorization codes. `deleteExpired` removes expired ones. @rfc 6749 §4.1.2 */
export function sqliteAuthorizationCodes({ read, write }: Database): AuthorizationCodeStore {
  return {
    create: ({ digest, expiresAt, consumed, ...rest }) =>
      write(({ run }) =>
        run(
          "INSERT INTO authmount_authorization_codes (digest, record, expires_at, consumed) VALUES (?, ?, ?, ?)",
          digest,
          JSON.stringify(rest),
          expiresAt,
          Number(consumed),
        ),
      ),
    async find({ digest }, now) {
      const row = await read((on) => find(on, { table: "authorization_codes", digest, now }));
      return row && ({ ...readToken(row), consumed: Boolean(row["consumed"]) } as AuthorizationCode);
    },
    consume: (handle, now) =>
      write((on) => {
        const consumed = on.rows(
          `UPDATE authmount_authorization_codes SET consumed = 1
          WHERE digest = ? AND expires_at > ? AND NOT consumed RETURNING 1`,
          handle.digest,
          now,
        );
        if (consumed.length === 0) return "not-consumed";
        setLastUse(on, handle, now);
        return "consumed";
      }),
  };
}

function insertRefreshToken(
  { run }: Statements,
  { digest, expiresAt, used, use, ...rest }: RefreshToken,
): void {
  run(
    "INSERT INTO authmount_refresh_tokens (digest, record, expires_at, used, how) VALUES (?, ?, ?, ?, ?)",
    digest,
    JSON.stringify(rest),
    expiresAt,
    Number(used),
    toText(use),
  );
}

function toText(use: RefreshTokenUse | undefined): string {
  return use === undefined ? "" : JSON.stringify(use);
}

function readUse({ how }: SqliteRow): RefreshTokenUse | undefined {
  return how ? (JSON.parse(how as string) as RefreshTokenUse) : undefined;
}

function rotate(
  on: Statements,
  { from, to, use, now }: { from: TokenHandle; to: RefreshToken; use?: RefreshTokenUse; now: EpochSeconds },
): "rotated" | "not-rotated" | RefreshTokenUse {
  const before = find(on, { table: "refresh_tokens", digest: from.digest, now });
  if (before === undefined) return "not-rotated";
  if (before["used"]) return readUse(before) ?? "not-rotated";
  on.run("UPDATE authmount_refresh_tokens SET used = 1, how = ? WHERE digest = ?", toText(use), from.digest);
  insertRefreshToken(on, to);
  setLastUse(on, from, now);
  return "rotated";
}

/** Refresh tokens. `deleteExpired` removes expired ones. @rfc 9700 §4.14.2 */
export function sqliteRefreshTokens({ read, write }: Database): RefreshTokenStore {
  return {
    create: (token) => write((on) => insertRefreshToken(on, token)),
    async find({ digest }, now) {
      const row = await read((on) => find(on, { table: "refresh_tokens", digest, now }));
      if (row === undefined) return undefined;
      const use = readUse(row);
      return { ...readToken(row), used: Boolean(row["used"]), ...(use && { use }) } as RefreshToken;
    },
    rotate: (step, now) => write((on) => rotate(on, { ...step, now })),
  };
}

/** Opaque access tokens, and the ids of revoked access tokens. `deleteExpired` removes expired ones. */
export function sqliteAccessTokens({ read, write }: Database): AccessTokenStore {
  return {
    create: ({ digest, expiresAt, ...rest }: Expiring) =>
      write(({ run }) =>
        run(
          "INSERT INTO authmount_access_tokens (digest, record, expires_at) VALUES (?, ?, ?)",
          digest,
          JSON.stringify(rest),
          expiresAt,
        ),
      ),
    async find(digest, now) {
      const row = await read((on) => find(on, { table: "access_tokens", digest, now }));
      return row && (readToken(row) as StoredAccessToken);
    },
    revoke: ({ tokenId, expiresAt }) =>
      write(({ run }) =>
        run(
          `INSERT INTO authmount_revoked_access_tokens (token_id, expires_at) VALUES (?, ?)
          ON CONFLICT (token_id) DO NOTHING`,
          tokenId,
          expiresAt,
        ),
      ),
    async isRevoked(tokenId, now) {
      const revoked = "SELECT 1 FROM authmount_revoked_access_tokens WHERE token_id = ? AND expires_at > ?";
      return (await read(({ rows }) => rows(revoked, tokenId, now))).length > 0;
    },
  };
}
