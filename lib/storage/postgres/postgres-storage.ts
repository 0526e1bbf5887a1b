/** Storage in PostgreSQL 13 or newer, for any number of processes. RFC 6749 §10.5. */
import type { EpochSeconds } from "../../protocol/time";
import type { ClientRegistry, Storage } from "../port";
import { type Risk, warningsOf, withRisks } from "../risks";
import { postgresAssertions } from "./assertions";
import { postgresAuthorizations } from "./authorizations";
import { postgresClients } from "./clients";
import { postgresConsents } from "./consents";
import { deleteExpired } from "./delete-expired";
import { openDatabase } from "./database";
import { postgresEndMarks } from "./end-marks";
import { risksOfServer } from "./check-tables";
import { checkNames, type PostgresNames } from "./names";
import type { PostgresPool } from "./pool";
import { postgresRegistrations } from "./registrations";
import { migrate } from "./schema";
import { postgresAccessTokens, postgresAuthorizationCodes, postgresRefreshTokens } from "./tokens";

/** The options of `postgresStorage`. */
export interface PostgresStorageOptions extends PostgresNames {
  /**
   * A `pg` Pool, or what runs a statement through Postgres.js, PGlite, Prisma, Drizzle, Kysely, Knex, TypeORM or Neon's driver
   * (docs/storage-postgres-handles.md). It remains yours: you set its size and time limits, add its `error` listener (without one, a
   * Pool lets Node.js end the process when an idle connection breaks) and end it.
   */
  readonly pool: PostgresPool;
}

/** Storage in PostgreSQL, with the calls that maintain it. */
export interface PostgresStorage extends Storage {
  /** The registered clients, which can be saved and deleted here. */
  readonly clients: ClientRegistry;
  /**
   * Creates the tables or updates them to the newest version; only reads when there is nothing to do. Any number of processes may
   * call it at once, and again after a crash. It needs the right to create tables only when there is something to do.
   *
   * @returns what the server may lose because of its settings, a sentence each.
   * @throws Error (as a rejection) when a table with one of the names belongs to something else, is missing or incomplete although
   * it was created, or has lost its primary key.
   */
  readonly migrate: () => Promise<readonly string[]>;
  /**
   * Deletes expired rows in batches. It is safe while the server is serving, and from several processes at once. Run it regularly,
   * for example every minute: nothing else removes rows.
   *
   * @param now epoch seconds; the clock of this process when left out. Rows are deleted five minutes after they have expired.
   * @returns the number of rows.
   * @throws TypeError (as a rejection) when `now` is not a whole number, or more than five minutes ahead of the database's clock.
   */
  readonly deleteExpired: (now?: EpochSeconds) => Promise<number>;
}

const clock = (): EpochSeconds => Math.floor(Date.now() / 1000);

/**
 * Storage in PostgreSQL. Call `migrate()` once before the first request.
 *
 * @throws TypeError when an option is invalid.
 */
export function postgresStorage(options: PostgresStorageOptions): PostgresStorage {
  if (typeof options?.pool?.query !== "function") {
    throw new TypeError(
      "postgresStorage: pool is missing. Pass a `new Pool(…)` from pg, or { query } over Postgres.js, Prisma, Drizzle, Kysely, Knex, TypeORM and others (docs/storage-postgres-handles.md).",
    );
  }
  checkNames(options);
  const database = openDatabase(options.pool, options);
  const { query } = database;
  let risks: readonly Risk[] = [];
  const storage: PostgresStorage = {
    clients: postgresClients(query, clock),
    consents: postgresConsents(query),
    authorizations: postgresAuthorizations(query),
    authorizationCodes: postgresAuthorizationCodes(query),
    refreshTokens: postgresRefreshTokens(query),
    accessTokens: postgresAccessTokens(query),
    endMarks: postgresEndMarks(query),
    clientAssertions: postgresAssertions(query),
    clientRegistrations: postgresRegistrations(query),
    async migrate() {
      await migrate(database);
      risks = await risksOfServer(database);
      return warningsOf(risks);
    },
    deleteExpired: (now = clock()) => deleteExpired(query, now),
  };
  return withRisks(storage, () => risks);
}
