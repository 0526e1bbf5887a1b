/** Storage in PostgreSQL 13 or newer, for any number of processes. RFC 6749 §10.5. */
import { mistakesOf } from "../../protocol/mistake";
import { clockDriftSeconds, type EpochSeconds } from "../../protocol/time";
import type { ClientRegistry, CompleteStorage } from "../../storage/port";
import { type Risk, warningsOf, withRisks } from "../../storage/risks";
import { withSteps } from "../../storage/steps";
import type { TableName } from "../table-names";
import { postgresApprove, postgresAuthorizations, postgresEndMarks } from "./authorizations";
import {
  postgresAssertions,
  postgresClients,
  postgresParkedRequests,
  postgresRegistrations,
} from "./clients";
import { postgresConsents } from "./consents";
import { openDatabase, type PostgresPool, type Query } from "./database";
import { migrate, risksOfServer } from "./schema";
import { checkNames, type PostgresNames } from "./tables";
import {
  postgresAccessTokens,
  postgresAuthorizationCodes,
  postgresRedeem,
  postgresRefreshTokens,
} from "./tokens";

const batchRows = 1_000;

const keys = [
  ["consents", "subject, client_id, api_id, context_key"],
  ["authorizations", "authorization_id"],
  ["authorization_codes", "digest"],
  ["refresh_tokens", "digest"],
  ["spent_tokens", "digest"],
  ["access_tokens", "digest"],
  ["revoked_access_tokens", "token_id"],
  ["end_marks", "key"],
  ["used_assertions", "digest"],
  ["client_registrations", "client_id"],
  ["parked_requests", "digest"],
] as const satisfies readonly (readonly [TableName, string])[];

const advice = "Pass epoch seconds, such as Math.floor(Date.now() / 1000).";

const mistake = mistakesOf({
  "postgres-pool-missing":
    "postgresStorage: pool is missing. Pass a `new Pool(…)` from pg, or { query } over Postgres.js, Prisma, Drizzle, Kysely, Knex, TypeORM and others (docs/storage-postgres.md).",
  "postgres-time-not-whole": `postgresStorage: deleteExpired needs a whole number. ${advice}`,
  "postgres-time-ahead": `postgresStorage: deleteExpired was given a time more than ${clockDriftSeconds} seconds ahead of the database's clock. ${advice}`,
});

/**
 * Refuses a time ahead of the database's clock. It would delete living rows for every process: milliseconds instead of seconds, for
 * example, or the wrong clock of one process.
 */
async function checkTime(query: Query, now: EpochSeconds): Promise<void> {
  if (!Number.isSafeInteger(now)) throw mistake("postgres-time-not-whole");
  const [row] = await query(() => "SELECT extract(epoch FROM now())::bigint AS now");
  if (now <= Number(row?.["now"]) + clockDriftSeconds) return;
  throw mistake("postgres-time-ahead");
}

/**
 * Deletes every row that expired `clockDriftSeconds` before `now` or earlier, and returns the number of rows. Small batches keep
 * each statement short, so that it locks rows only briefly while the server is serving.
 *
 * @throws TypeError (as a rejection) when `now` is not a whole number or is ahead of the database's clock
 */
async function deleteExpired(query: Query, now: EpochSeconds): Promise<number> {
  await checkTime(query, now);
  let deleted = 0;
  for (const [table, key] of keys) {
    let rows;
    let from = 0;
    do {
      // Expiry is checked twice: a consent may have been renewed while the deletion waited for its row. Each batch begins where the last
      // one ended: while a backup runs, the index keeps what was deleted, and all of it would be read again.
      // The second time as a sum: before the statistics know of the expired rows, the planner would compare each of them with the whole batch.
      const found = await query(
        ({ [table]: name }) => `DELETE FROM ${name} WHERE (${key}) IN
          (SELECT ${key} FROM ${name} WHERE expires_at >= $2 AND expires_at <= $1 ORDER BY expires_at LIMIT ${batchRows})
          AND expires_at + 0 <= $1 RETURNING expires_at`,
        [now - clockDriftSeconds, from],
      );
      rows = found.length;
      deleted += rows;
      from = Math.max(from, ...found.map((row) => Number(row["expires_at"])));
    } while (rows === batchRows);
  }
  return deleted;
}

/** The options of `postgresStorage`. */
export interface PostgresStorageOptions extends PostgresNames {
  /**
   * A `pg` Pool, or what runs a statement through Postgres.js, PGlite, Prisma, Drizzle, Kysely, Knex, TypeORM or Neon's driver
   * (docs/storage-postgres.md). It remains yours: you set its size and time limits, add its `error` listener (without one, a
   * Pool lets Node.js end the process when an idle connection breaks) and end it.
   */
  readonly pool: PostgresPool;
}

/** Storage in PostgreSQL, with the calls that maintain it. */
export interface PostgresStorage extends CompleteStorage {
  /** The registered clients, which can be saved and deleted here. */
  readonly clients: ClientRegistry;
  /**
   * Creates the tables or updates them to the newest version; only reads when there is nothing to do. Any number of processes may
   * call it at once, and again after a crash. It needs the right to create tables only when there is something to do.
   *
   * @returns what the server may lose because of its settings, a sentence each, with its id in brackets.
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
  if (typeof options?.pool?.query !== "function") throw mistake("postgres-pool-missing");
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
    parkedRequests: postgresParkedRequests(query),
    async migrate() {
      await migrate(database);
      risks = await risksOfServer(database);
      return warningsOf(risks);
    },
    deleteExpired: (now = clock()) => deleteExpired(query, now),
  };
  const steps = { approve: postgresApprove(query), redeem: postgresRedeem(query) };
  return withRisks(withSteps(storage, steps), () => risks);
}
