/** Storage in MySQL or MariaDB, for any number of processes. RFC 6749 §10.5. */
import { mistakesOf } from "../../protocol/mistake";
import { clockDriftSeconds, type EpochSeconds } from "../../protocol/time";
import type { ClientRegistry, CompleteStorage } from "../../storage/port";
import { type Risk, warningsOf, withRisks } from "../../storage/risks";
import { withSteps } from "../../storage/steps";
import { type TableName, tableNames } from "../table-names";
import { mysqlAuthorizations, mysqlEndMarks } from "./authorizations";
import { mysqlAssertions, mysqlClients, mysqlParkedRequests, mysqlRegistrations } from "./clients";
import { mysqlConsents } from "./consents";
import { type MysqlPool, openDatabase, type Query } from "./database";
import { migrate } from "./schema";
import { checkNames, type MysqlNames, type Tables, tableShapes } from "./tables";
import { mysqlAccessTokens, mysqlAuthorizationCodes, mysqlRedeem, mysqlRefreshTokens } from "./tokens";

const batchRows = 1_000;

const advice = "Pass epoch seconds, such as Math.floor(Date.now() / 1000).";

const mistake = mistakesOf({
  "mysql-pool-missing":
    "mysqlStorage: pool is missing. Pass a `createPool(…)` from mysql2/promise, or { execute } over mariadb, Knex, TypeORM, Sequelize and others (docs/storage-mysql.md).",
  "mysql-time-not-whole": `mysqlStorage: deleteExpired needs a whole number. ${advice}`,
  "mysql-time-ahead": `mysqlStorage: deleteExpired was given a time more than ${clockDriftSeconds} seconds ahead of the database's clock. ${advice}`,
});

/**
 * Refuses a time ahead of the database's clock. It would delete living rows for every process: milliseconds instead of seconds, for
 * example, or the wrong clock of one process.
 */
async function checkTime(query: Query, now: EpochSeconds): Promise<void> {
  if (!Number.isSafeInteger(now)) throw mistake("mysql-time-not-whole");
  const { rows } = await query(() => "SELECT UNIX_TIMESTAMP() AS now");
  if (now <= Number(rows[0]?.["now"]) + clockDriftSeconds) return;
  throw mistake("mysql-time-ahead");
}

/** Rows that end in these seconds, the first and the last included. */
type Span = readonly [from: EpochSeconds, to: EpochSeconds];

const inSpan = "expires_at >= ? AND expires_at <= ?";

/** Carries the last uses that these marks tell into the authorizations, before the marks are deleted. */
async function carryUses(query: Query, span: Span): Promise<void> {
  await query(
    ({ authorizations, spent_tokens: spent }) => `UPDATE ${authorizations} AS own JOIN (
        SELECT authorization_id, MAX(used_at) AS used_at FROM ${spent} WHERE ${inSpan} GROUP BY authorization_id
      ) AS mark ON mark.authorization_id = own.authorization_id
      SET own.last_used_at = mark.used_at WHERE own.last_used_at < mark.used_at`,
    span,
  );
}

/** Deletes the rows of a table that have expired at this time. Each batch begins where the last one ended: until it is purged, the index keeps what was deleted. */
async function sweep(query: Query, { table, end }: { table: TableName; end: EpochSeconds }): Promise<number> {
  for (let [from, deleted] = [0, 0]; ;) {
    const { rows } = await query(
      ({ [table]: name }: Tables) =>
        `SELECT expires_at FROM ${name} WHERE ${inSpan} ORDER BY expires_at LIMIT 1 OFFSET ${batchRows - 1}`,
      [from, end],
    );
    const span: Span = [from, Number(rows[0]?.["expires_at"] ?? end)];
    if (table === "spent_tokens") await carryUses(query, span);
    const { affected } = await query(
      ({ [table]: name }: Tables) =>
        `DELETE FROM ${name} WHERE ${inSpan} ORDER BY expires_at LIMIT ${batchRows}`,
      span,
    );
    deleted += affected;
    if (rows.length === 0) return deleted;
    from = span[1];
  }
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
  for (const table of tableNames)
    if ("expires_at" in tableShapes[table].columns)
      deleted += await sweep(query, { table, end: now - clockDriftSeconds });
  return deleted;
}

/** The options of `mysqlStorage`. */
export interface MysqlStorageOptions extends MysqlNames {
  /**
   * A promise pool of `mysql2`, or what runs a statement through mariadb, Knex, TypeORM or Sequelize (docs/storage-mysql.md). It remains
   * yours: you set its size and time limits, and end it.
   */
  readonly pool: MysqlPool;
}

/** Storage in MySQL or MariaDB, with the calls that maintain it. */
export interface MysqlStorage extends CompleteStorage {
  /** The registered clients, which can be saved and deleted here. */
  readonly clients: ClientRegistry;
  /**
   * Creates the tables or updates them to the newest version; only reads when there is nothing to do. Any number of processes may
   * call it at once, and again after a crash. It needs the right to create tables only when there is something to do.
   *
   * @returns what the server may lose because of its settings, a sentence each, with its id in brackets.
   * @throws Error (as a rejection) when a table with one of the names belongs to something else, is missing or incomplete although
   * it was created, has lost its primary key or is not of InnoDB; when the connections are not in strict mode or do not commit by
   * themselves; and in a Galera cluster whose nodes do not wait for each other.
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
 * Storage in MySQL or MariaDB. Call `migrate()` once before the first request.
 *
 * @throws TypeError when an option is invalid.
 */
export function mysqlStorage(options: MysqlStorageOptions): MysqlStorage {
  if (typeof options?.pool?.execute !== "function") throw mistake("mysql-pool-missing");
  checkNames(options);
  const database = openDatabase(options.pool, options);
  const { query } = database;
  let risks: readonly Risk[] = [];
  const storage: MysqlStorage = {
    clients: mysqlClients(query, clock),
    consents: mysqlConsents(query),
    authorizations: mysqlAuthorizations(query),
    authorizationCodes: mysqlAuthorizationCodes(query),
    refreshTokens: mysqlRefreshTokens(query),
    accessTokens: mysqlAccessTokens(query),
    endMarks: mysqlEndMarks(query),
    clientAssertions: mysqlAssertions(query),
    clientRegistrations: mysqlRegistrations(query),
    parkedRequests: mysqlParkedRequests(query),
    async migrate() {
      risks = await migrate(database, options);
      return warningsOf(risks);
    },
    deleteExpired: (now = clock()) => deleteExpired(query, now),
  };
  return withRisks(withSteps(storage, { redeem: mysqlRedeem(query) }), () => risks);
}
