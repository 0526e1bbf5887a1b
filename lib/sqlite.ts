/** The public names of `authmount/sqlite`. */
export {
  sqliteStorage,
  type SqliteFile,
  type SqliteOpened,
  type SqliteStorage,
  type SqliteStorageOptions,
} from "./storage/sqlite/sqlite-storage";
export type { SqliteHandle, SqliteStatement, SqliteValue } from "./storage/sqlite/handle";
export type { ClientRegistry } from "./storage/port";
