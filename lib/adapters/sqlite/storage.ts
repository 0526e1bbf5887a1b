/** Storage in one SQLite file, for one machine and the processes on it. RFC 6749 §10.5. */
import { mistakesOf } from "../../protocol/mistake";
import { clockDriftSeconds, type EpochSeconds } from "../../protocol/time";
import type { ClientRegistry, CompleteStorage } from "../../storage/port";
import { sqliteAuthorizations, sqliteEndMarks } from "./authorizations";
import { sqliteAssertions, sqliteClients, sqliteParkedRequests, sqliteRegistrations } from "./clients";
import { openFile, type OwnHandle, type SqliteHandle } from "./connection";
import { sqliteConsents } from "./consents";
import { type Database, openDatabase } from "./database";
import { migrate } from "./schema";
import { sqliteAccessTokens, sqliteAuthorizationCodes, sqliteRefreshTokens } from "./tokens";

/** This process does nothing else, and no process can write, while a batch is deleted. */
const batchRows = 250;

const tables = [
  "consents",
  "authorizations",
  "authorization_codes",
  "refresh_tokens",
  "access_tokens",
  "revoked_access_tokens",
  "end_marks",
  "used_assertions",
  "client_registrations",
  "parked_requests",
];

const advice = "Pass epoch seconds, such as Math.floor(Date.now() / 1000).";

const mistake = mistakesOf({
  "sqlite-file-not-text": 'sqliteStorage: file must be a path, such as "authmount.sqlite".',
  "sqlite-file-not-a-path":
    'sqliteStorage: file must be the path of a file on disk, neither empty nor a URI nor ":memory:". In memory, use memoryStorage.',
  "sqlite-file-or-handle":
    "sqliteStorage: pass either { file } with a path, or { handle } with an open database.",
  "sqlite-handle-wrong":
    "sqliteStorage: handle must be an open database with exec and prepare, of node:sqlite, better-sqlite3 or libsql.",
  "sqlite-time-not-whole": `sqliteStorage: deleteExpired needs a whole number. ${advice}`,
  "sqlite-time-ahead": `sqliteStorage: deleteExpired was given a time more than ${clockDriftSeconds} seconds ahead of the clock. ${advice}`,
});

/**
 * Deletes every row that expired `clockDriftSeconds` before `now` or earlier, and returns the number of rows.
 *
 * @param clock the time of this machine, which all processes share.
 * @throws TypeError (as a rejection) when `now` is not a whole number, or is ahead of the clock.
 */
async function deleteExpired(
  { write }: Database,
  { now, clock }: { now: EpochSeconds; clock: EpochSeconds },
): Promise<number> {
  if (!Number.isSafeInteger(now)) throw mistake("sqlite-time-not-whole");
  // it would delete living rows: milliseconds instead of seconds, for example
  if (now > clock + clockDriftSeconds) throw mistake("sqlite-time-ahead");
  let deleted = 0;
  for (const table of tables) {
    const statement = `DELETE FROM authmount_${table} WHERE rowid IN
      (SELECT rowid FROM authmount_${table} WHERE expires_at <= ? ORDER BY expires_at LIMIT ${batchRows}) RETURNING 1`;
    let found;
    do {
      found = (await write(({ rows }) => rows(statement, now - clockDriftSeconds))).length;
      deleted += found;
    } while (found === batchRows);
  }
  return deleted;
}

/** A file that the storage opens itself, with the first driver that is there: `node:sqlite`, `better-sqlite3` or `libsql`. */
export interface SqliteFile {
  /**
   * The path of the file, on a local disk. It is created, readable for its owner only, when there is none. Nothing else in this process may
   * open it: another driver would not share its locks, and closing the file in any other way releases the locks of all.
   */
  readonly file: string;
}

/** A database that the host has opened. */
export interface SqliteOpened {
  /**
   * A `DatabaseSync` of `node:sqlite`, or a `Database` of `better-sqlite3` or `libsql`, that nothing else uses: the storage sets up the
   * connection for itself. It remains yours to close. The tables begin with `authmount_`, so the file may have others, as long as this
   * process opens it with one driver only.
   */
  readonly handle: SqliteHandle;
}

/** The options of `sqliteStorage`: one of the two. */
export type SqliteStorageOptions = SqliteFile | SqliteOpened;

/** Storage in SQLite, with the calls that maintain it. */
export interface SqliteStorage extends CompleteStorage {
  /** The registered clients, which can be saved and deleted here. */
  readonly clients: ClientRegistry;
  /**
   * Creates the tables or updates them to the newest version, in one transaction; only reads when there is nothing to do. Any number of
   * processes may call it at once, and again after a crash.
   */
  readonly migrate: () => Promise<void>;
  /**
   * Deletes expired rows in batches. It is safe while the server is serving, and from several processes at once. Run it regularly,
   * for example every minute: nothing else removes rows.
   *
   * @param now epoch seconds; the clock of this process when left out. Rows are deleted five minutes after they have expired.
   * @returns the number of rows.
   * @throws TypeError (as a rejection) when `now` is not a whole number, or more than five minutes ahead of the clock.
   */
  readonly deleteExpired: (now?: EpochSeconds) => Promise<number>;
  /** Waits for the writes under way, refuses later calls, and closes the file if the storage has opened it. */
  readonly close: () => Promise<void>;
}

const clock = (): EpochSeconds => Math.floor(Date.now() / 1000);

/** The file as SQLite would open it: its other names for a place are refused, because a database in memory keeps nothing. */
function checkFile(file: unknown): string {
  if (typeof file !== "string") throw mistake("sqlite-file-not-text");
  // drivers leave out spaces at the ends, and open another file than the one that was made for its owner alone
  if (
    file !== file.trim() ||
    file === "" ||
    file.startsWith(":") ||
    file.startsWith("file:") ||
    file.includes("\0")
  ) {
    throw mistake("sqlite-file-not-a-path");
  }
  return file;
}

function opened(options: SqliteStorageOptions): { readonly handle: SqliteHandle; readonly own?: OwnHandle } {
  const { file, handle } = (options ?? {}) as Partial<SqliteFile & SqliteOpened>;
  if ((file === undefined) === (handle === undefined)) {
    throw mistake("sqlite-file-or-handle");
  }
  if (handle === undefined) {
    const own = openFile(checkFile(file));
    return { handle: own, own };
  }
  if (typeof handle?.prepare === "function" && typeof handle.exec === "function") return { handle };
  throw mistake("sqlite-handle-wrong");
}

/**
 * Storage in one SQLite file, for any number of processes on one machine. Call `migrate()` once before the first request.
 *
 * @throws TypeError when an option is invalid.
 * @throws Error when no driver is found, or the file cannot be opened.
 */
export function sqliteStorage(options: SqliteStorageOptions): SqliteStorage {
  const { handle, own } = opened(options);
  let closing: Promise<void> | undefined;
  const database = openDatabase(handle);
  return {
    clients: sqliteClients(database, clock),
    consents: sqliteConsents(database),
    authorizations: sqliteAuthorizations(database),
    authorizationCodes: sqliteAuthorizationCodes(database),
    refreshTokens: sqliteRefreshTokens(database),
    accessTokens: sqliteAccessTokens(database),
    endMarks: sqliteEndMarks(database),
    clientAssertions: sqliteAssertions(database),
    clientRegistrations: sqliteRegistrations(database),
    parkedRequests: sqliteParkedRequests(database),
    migrate: () => migrate(database),
    deleteExpired: (now = clock()) => deleteExpired(database, { now, clock: clock() }),
    close: () => (closing ??= database.end().then(() => void own?.close())),
  };
}
