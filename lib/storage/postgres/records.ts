/** How records lie in rows: the columns that queries need, and everything else as JSON text. RFC 6749 §1.3. */
import type { PostgresRow } from "./pool";

/** What a row with the columns `record` and `expires_at` holds. The driver may give a bigint as text. */
export function readRecord({ record, expires_at: expiresAt }: PostgresRow): object {
  return { ...(JSON.parse(record as string) as object), expiresAt: Number(expiresAt) };
}

/** The same with the columns that consents and authorizations share. */
export function readApproval(row: PostgresRow): object {
  const { subject, client_id: clientId, api_id: apiId } = row;
  return { ...readRecord(row), subject, clientId, apiId };
}

/** The condition on (subject, client, API), the first three values. */
export const ofKey = "subject = $1 AND client_id = $2 AND api_id = $3";
