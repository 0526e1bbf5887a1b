/** The public names of `authmount/postgres`. */
export {
  postgresStorage,
  type PostgresStorage,
  type PostgresStorageOptions,
} from "./storage/postgres/postgres-storage";
export type { PostgresPool, PostgresRow } from "./storage/postgres/pool";
export type { ClientRegistry } from "./storage/port";
