/** The public names of `authmount/sqlite`. */
export {
  sqliteStorage,
  type SqliteFile,
  type SqliteOpened,
  type SqliteStorage,
  type SqliteStorageOptions,
} from "./adapters/sqlite/storage";
export type { SqliteHandle, SqliteStatement, SqliteValue } from "./adapters/sqlite/connection";
export type { ClientRegistry } from "./storage/port";
