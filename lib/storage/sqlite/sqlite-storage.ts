/** Storage in one SQLite file, for one machine and the processes on it. RFC 6749 §10.5. */
import type { EpochSeconds } from "../../protocol/time";
import type { ClientRegistry, Storage } from "../port";
import { sqliteAssertions } from "./assertions";
import { sqliteAuthorizations } from "./authorizations";
import { sqliteClients } from "./clients";
import { sqliteConsents } from "./consents";
import { openDatabase } from "./database";
import { deleteExpired } from "./delete-expired";
import { sqliteEndMarks } from "./end-marks";
import { type OwnHandle, openFile, type SqliteHandle } from "./handle";
import { sqliteRegistrations } from "./registrations";
import { migrate } from "./schema";
import { sqliteAccessTokens, sqliteAuthorizationCodes, sqliteRefreshTokens } from "./tokens";

/** A file that the storage opens itself, with the first driver that is there: `node:sqlite`, `better-sqlite3` or `libsql`. */
export interface SqliteFile {
  /**
   * The path of the file, on a local disk. It is created, readable for its owner only, when there is none. Nothing else in this process
   * may open it: another driver would have locks of its own, and closing the file in any other way ends the locks of all.
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
export interface SqliteStorage extends Storage {
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
  if (typeof file !== "string")
    throw new TypeError('sqliteStorage: file must be a path, such as "authmount.sqlite".');
  // drivers leave out spaces at the ends, and open another file than the one that was made for its owner alone
  if (
    file !== file.trim() ||
    file === "" ||
    file.startsWith(":") ||
    file.startsWith("file:") ||
    file.includes("\0")
  ) {
    throw new TypeError(
      'sqliteStorage: file must be the path of a file on disk, neither empty nor a URI nor ":memory:". In memory, use memoryStorage.',
    );
  }
  return file;
}

function opened(options: SqliteStorageOptions): { readonly handle: SqliteHandle; readonly own?: OwnHandle } {
  const { file, handle } = (options ?? {}) as Partial<SqliteFile & SqliteOpened>;
  if ((file === undefined) === (handle === undefined)) {
    throw new TypeError(
      "sqliteStorage: pass either { file } with a path, or { handle } with an open database.",
    );
  }
  if (handle === undefined) {
    const own = openFile(checkFile(file));
    return { handle: own, own };
  }
  if (typeof handle?.prepare === "function" && typeof handle.exec === "function") return { handle };
  throw new TypeError(
    "sqliteStorage: handle must be an open database with exec and prepare, of node:sqlite, better-sqlite3 or libsql.",
  );
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
    migrate: () => migrate(database),
    deleteExpired: (now = clock()) => deleteExpired(database, { now, clock: clock() }),
    close: () => (closing ??= database.end().then(() => void own?.close())),
  };
}
