/** How records lie in the rows of SQL databases: the columns that queries need, and everything else as JSON text. RFC 6749 §1.3. */
import type { Authorization } from "../protocol/authorization";
import type { Client } from "../protocol/client";
import type { Consent } from "../protocol/consent";
import type { ListedAuthorization } from "./port";

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

/** An authorization with its last use, which is 0 where there was none. */
export function readListed(row: Row): ListedAuthorization {
  const lastUsedAt = Number(row["last_used_at"]);
  return { ...readAuthorization(row), ...(lastUsedAt > 0 && { lastUsedAt }) };
}

/** A code or token without what its other columns say. */
export function readToken(row: Row): object {
  return { ...readRecord(row), digest: row["digest"] };
}

/**
 * The order of authorizations in which those at the end have to go first, as `inEndingOrder` says it.
 *
 * @param createdAt the expression that reads it from the column `record`.
 */
export function endingLast(createdAt: string): string {
  // not read as JSON: the host's texts in it may have what a database refuses. A quote inside a text is escaped, so this is a key
  const wasUsed = `(last_used_at > 0 OR record NOT LIKE '%"endMarks":%')`;
  return `${wasUsed} DESC, CASE WHEN ${wasUsed} THEN expires_at ELSE ${createdAt} END DESC, expires_at DESC`;
}
