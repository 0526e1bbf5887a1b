/** Storage in PostgreSQL 13 or newer, for any number of processes. RFC 6749 §10.5. */
import type { EpochSeconds } from "../../protocol/time";
import type { ClientRegistry, Storage } from "../port";
import { postgresAuthorizations, postgresConsents, postgresEndMarks } from "./approvals";
import { postgresClients } from "./clients";
import { deleteExpired } from "./delete-expired";
import { openDatabase } from "./database";
import { checkNames, type PostgresNames } from "./names";
import type { PostgresPool } from "./pool";
import { migrate } from "./schema";
import { postgresAccessTokens, postgresAuthorizationCodes, postgresRefreshTokens } from "./tokens";

/** What `postgresStorage` takes. */
export interface PostgresStorageOptions extends PostgresNames {
  /**
   * A `pg` Pool. It stays yours: its size, its time limits, its `error` listener (without one, node ends the process when an
   * idle connection breaks) and its end.
   */
  readonly pool: PostgresPool;
}

/** Storage in PostgreSQL, with what its keeper needs. */
export interface PostgresStorage extends Storage {
  readonly clients: ClientRegistry;
  /**
   * Makes the tables, or brings them to the newest version; only reads when there is nothing to do. Any number of processes
   * may call it at once, and again after a crash. It needs the right to create tables when there is something to do.
   *
   * @throws Error (as a rejection) when a table of this name is another one's, or has lost its primary key.
   */
  readonly migrate: () => Promise<void>;
  /**
   * Deletes expired rows in batches of 1,000, safe while serving and from several processes at once. Run it now and then,
   * every minute say.
   *
   * @param now epoch seconds; the clock of this process when left out. Rows go five minutes after they have expired.
   * @returns the number of rows.
   * @throws TypeError (as a rejection) when `now` is no whole number, or more than five minutes ahead of the database's clock.
   */
  readonly deleteExpired: (now?: EpochSeconds) => Promise<number>;
}

/**
 * Storage in PostgreSQL. Call `migrate()` once before the first request.
 *
 * @throws TypeError when an option is wrong.
 */
export function postgresStorage(options: PostgresStorageOptions): PostgresStorage {
  if (typeof options?.pool?.query !== "function") {
    throw new TypeError("postgresStorage: pool is missing. Write `new Pool(…)` of pg.");
  }
  checkNames(options);
  const database = openDatabase(options.pool, options);
  const { query } = database;
  return {
    clients: postgresClients(query),
    consents: postgresConsents(query),
    authorizations: postgresAuthorizations(query),
    authorizationCodes: postgresAuthorizationCodes(query),
    refreshTokens: postgresRefreshTokens(query),
    accessTokens: postgresAccessTokens(query),
    endMarks: postgresEndMarks(query),
    migrate: () => migrate(database),
    deleteExpired: (now = Math.floor(Date.now() / 1000)) => deleteExpired(query, now),
  };
}
