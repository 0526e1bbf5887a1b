/** How records lie in the rows of SQL databases: the columns that queries need, and everything else as JSON text. RFC 6749 §1.3. */

type Row = Readonly<Record<string, unknown>>;

/** What a row with the columns `record` and `expires_at` holds. The driver may give a bigint as text. */
export function readRecord({ record, expires_at: expiresAt }: Row): object {
  return { ...(JSON.parse(record as string) as object), expiresAt: Number(expiresAt) };
}

/** The same with the columns that consents and authorizations share. */
export function readApproval(row: Row): object {
  const { subject, client_id: clientId, api_id: apiId } = row;
  return { ...readRecord(row), subject, clientId, apiId };
}
