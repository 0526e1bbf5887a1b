/** How records lie in the rows of SQL databases: the columns that queries need, and everything else as JSON text. RFC 6749 §1.3. */
import type { Authorization, AuthorizationCode, RefreshToken } from "../protocol/authorization";
import type { Client } from "../protocol/client";
import type { Consent } from "../protocol/consent";
import type { EpochSeconds } from "../protocol/time";
import type { TokenDigest } from "../protocol/token-value";
import type { DeviceRequest, ParkedRequest } from "../storage/client-ports";
import { type ListedAuthorization, maxAuthorizations } from "../storage/port";

type Row = Readonly<Record<string, unknown>>;

/** What a row with the columns `record` and `expires_at` holds. The driver may give a bigint as text. */
function readRecord({ record, expires_at: expiresAt }: Row): object {
  return { ...(JSON.parse(record as string) as object), expiresAt: Number(expiresAt) };
}

/** The same with the columns that consents and authorizations share. */
function readApproval(row: Row): object {
  const { subject, client_id: clientId, api_id: apiId } = row;
  return { ...readRecord(row), subject, clientId, apiId };
}

/** The client of a row whose record is all of it. */
export function readClient({ record }: Row): Client {
  return JSON.parse(record as string) as Client;
}

/** A consent. The column `context_key` is left out or empty where there is no context. */
export function readConsent(row: Row): Consent {
  const { context_key: contextKey } = row;
  return { ...readApproval(row), ...(Boolean(contextKey) && { contextKey }) } as Consent;
}

/** An authorization. The driver may give a boolean as a number. */
export function readAuthorization(row: Row): Authorization {
  const { authorization_id: authorizationId, revoked } = row;
  return { ...readApproval(row), authorizationId, revoked: Boolean(revoked) } as Authorization;
}

/** What lies in the column `record` of an authorization. */
export function recordOf({
  authorizationId: _id,
  subject: _subject,
  clientId: _client,
  apiId: _api,
  revoked: _revoked,
  expiresAt: _end,
  ...rest
}: Authorization): string {
  return JSON.stringify(rest);
}

/** An authorization with its last use, which is 0 where there was none. */
export function readListed(row: Row): ListedAuthorization {
  const lastUsedAt = Number(row["last_used_at"]);
  return { ...readAuthorization(row), ...(lastUsedAt > 0 && { lastUsedAt }) };
}

/** A code or token without what its other columns say. */
export function readToken(row: Row): object {
  return { ...readRecord(row), digest: row["digest"] };
}

/** A code or token whose other facts are in rows of their own. */
interface UnchangingToken {
  readonly digest: TokenDigest;
  readonly expiresAt: EpochSeconds;
  readonly consumed?: undefined;
  readonly used?: undefined;
  readonly use?: undefined;
}

/** The values of a code or token: digest, record, expires_at. Whether it was spent is not among them: token rows never change, and the marks tell. */
export function tokenValues({ digest, expiresAt, ...rest }: UnchangingToken): [string, string, number] {
  return [digest, JSON.stringify(rest), expiresAt];
}

/** The same of a code. */
export function codeValues(code: AuthorizationCode): [string, string, number] {
  return tokenValues({ ...code, consumed: undefined });
}

/** The same of a refresh token. */
export function refreshValues(token: RefreshToken): [string, string, number] {
  return tokenValues({ ...token, used: undefined, use: undefined });
}

/** The values of a parked request: digest, owner, state, answered_by, device, expires_at. Text is empty where there is none. */
export function parkedValues(request: ParkedRequest): readonly (string | number)[] {
  const { key, owner, state, by = "", device, expiresAt } = request;
  return [key, owner, state, by, device ? JSON.stringify(device) : "", expiresAt];
}

/** A parked request. */
export function readParked(row: Row): ParkedRequest {
  const { digest: key, owner, state, answered_by: by, device, expires_at: expiresAt } = row;
  return {
    ...({ key, owner, state } as Pick<ParkedRequest, "key" | "owner" | "state">),
    ...(state !== "open" && { by: by as string }),
    ...(device !== "" && { device: JSON.parse(device as string) as DeviceRequest }),
    expiresAt: Number(expiresAt),
  };
}

/**
 * The query that finds what a new authorization ends, which is not among these living ones yet, as `surplusOf` says it.
 *
 * @param createdAt the expression that reads it from the column `record`.
 */
export function surplusIn(living: string, createdAt: string): string {
  return `SELECT authorization_id FROM (
      SELECT authorization_id, last_used_at > 0 AS is_used, row_number() OVER (
        PARTITION BY last_used_at > 0 ORDER BY last_used_at DESC, ${createdAt} DESC, expires_at DESC
      ) AS place FROM ${living}
    ) AS pools WHERE place > CASE WHEN is_used THEN ${maxAuthorizations} ELSE ${maxAuthorizations - 1} END`;
}
