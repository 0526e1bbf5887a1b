/** The engines whose tables the command line creates, or prints as SQL. */
import { mysqlMigrations } from "../adapters/mysql/schema";
import { mysqlStorage } from "../adapters/mysql/storage";
import { postgresMigrations } from "../adapters/postgres/schema";
import { type PostgresStorage, postgresStorage } from "../adapters/postgres/storage";
import type { PostgresNames } from "../adapters/postgres/tables";
import { type CommandOption, type Given, usageError, type World } from "./command";

interface Engine {
  readonly title: string;
  readonly url: RegExp;
  readonly example: string;
  readonly migrations: (names: PostgresNames) => readonly string[];
  /** Opens storage by the driver of the host. @throws Error when there is none */
  readonly open: (
    url: string,
    from: { readonly names: PostgresNames; readonly world: World },
  ) => { readonly storage: Pick<PostgresStorage, "migrate">; readonly pool: { end(): Promise<void> } };
}

/** By what is written after `--engine`, and as an option of `authmount migrate`. All take the same names of tables. */
export const engines: Readonly<Record<"postgres" | "mysql", Engine>> = {
  postgres: {
    title: "PostgreSQL",
    url: /^postgres(?:ql)?:\/\//i,
    example: "postgres://user@host/database",
    migrations: postgresMigrations,
    open(url, { names, world }) {
      const pool = world.openPostgres(url);
      return { pool, storage: postgresStorage({ pool, ...names }) };
    },
  },
  mysql: {
    title: "MySQL",
    // its driver takes none without a host
    url: /^(?:mysql|mariadb):\/\/(?!.*@\/)/i,
    example: "mysql://user@host/database",
    migrations: mysqlMigrations,
    open(url, { names, world }) {
      const pool = world.openMysql(url);
      return { pool, storage: mysqlStorage({ pool, ...names }) };
    },
  },
};

/** The name of an engine. */
export type EngineName = keyof typeof engines;

/** The names of all of them. */
export const engineNames = Object.keys(engines) as readonly EngineName[];

/** The options that name the tables. */
export const nameOptions: Readonly<Record<string, CommandOption>> = {
  schema: { value: "NAME", text: "The schema of the tables. Default: that of the connection." },
  prefix: { value: "NAME", text: "The prefix of every table name. Default: authmount_." },
};

/** The names of tables, as they were written. @throws TypeError of `usageError` when one is invalid */
export function namesIn({ options: { schema, prefix } }: Given, engine: EngineName): PostgresNames {
  const names = { ...(schema !== undefined && { schema }), ...(prefix !== undefined && { prefix }) };
  try {
    engines[engine].migrations(names);
    return names;
  } catch (error) {
    throw usageError((error as Error).message.replace(/\w+: /, "--"));
  }
}
