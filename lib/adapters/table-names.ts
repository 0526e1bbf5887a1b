/** The names of the tables in databases of the host. RFC 6749 §10.5 (two servers must not share them by accident). */

/** The tables without their prefix. `migrations` holds the versions of the schema that were created. */
export const tableNames = [
  "clients",
  "browser_origins",
  "consents",
  "authorizations",
  "authorization_codes",
  "refresh_tokens",
  "spent_tokens",
  "access_tokens",
  "revoked_access_tokens",
  "end_marks",
  "used_assertions",
  "client_registrations",
  "parked_requests",
  "migrations",
] as const;

/** The name of a table without its prefix. */
export type TableName = (typeof tableNames)[number];

const plainName = /^[a-z_][a-z0-9_]{0,29}$/;

/** What is wrong with an option that names tables, if something is. Only plain names pass, because they are written into statements. */
export function nameProblem(
  option: "schema" | "prefix",
  name: unknown,
): "undefined" | "not-plain" | "ambiguous" | undefined {
  // it may be a variable that somebody forgot to set, and the default may name another server's tables
  if (name === undefined) return "undefined";
  if (typeof name !== "string" || !plainName.test(name)) return "not-plain";
  return option === "prefix" && /.revoked_$/.test(name) ? "ambiguous" : undefined;
}
