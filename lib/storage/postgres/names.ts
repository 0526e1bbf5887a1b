/** What the tables are called, and in which schema they are. RFC 6749 §10.5 (two servers must not share them by accident). */

/** Where the tables are put. */
export interface PostgresNames {
  /**
   * An existing or new schema. Left out: the first one of the connection's `search_path` that exists, as it is at the first
   * statement; no other one is looked into.
   */
  readonly schema?: string;
  /** What every table and index name begins with; default `"authmount_"`. It must not end in `revoked_`. */
  readonly prefix?: string;
}

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
  "migrations",
] as const;

export type TableName = (typeof tableNames)[number];

/** Each table by its full quoted name. */
export type Tables = Readonly<Record<TableName, string>> & {
  readonly schema: string;
  /** The name of a table or index without its schema. */
  readonly named: (name: string) => string;
};

const plainName = /^[a-z_][a-z0-9_]{0,29}$/;

function nameProblem(option: string, name: unknown): string | undefined {
  // set to undefined: a variable that somebody has forgotten to set, and the default may be another server's tables
  if (name === undefined) return "is undefined. Set it, or leave it out for the default.";
  if (typeof name !== "string" || !plainName.test(name)) {
    return "must be 1 to 30 lower-case letters, digits and underscores, and begin with no digit.";
  }
  return option === "prefix" && /.revoked_$/.test(name)
    ? `must not end in "revoked_": its access_tokens would be the revoked_access_tokens of another prefix.`
    : undefined;
}

/** @throws TypeError when a name is wrong, or is there and `undefined`. */
export function checkNames(names: PostgresNames): void {
  for (const option of ["schema", "prefix"] as const) {
    const problem = Object.hasOwn(names, option) ? nameProblem(option, names[option]) : undefined;
    if (problem !== undefined) throw new TypeError(`postgresStorage: ${option} ${problem}`);
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function tablesIn(schema: string, prefix = "authmount_"): Tables {
  const named = (name: string): string => `${prefix}${name}`;
  const tables = tableNames.map((name) => [name, `${quoted(schema)}.${quoted(named(name))}`]);
  return { ...(Object.fromEntries(tables) as Record<TableName, string>), schema, named };
}
