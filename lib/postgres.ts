/** The public names of `authmount/postgres`. */
export {
  postgresStorage,
  type PostgresStorage,
  type PostgresStorageOptions,
} from "./adapters/postgres/storage";
export { postgresMigrations } from "./adapters/postgres/schema";
export type { PostgresNames } from "./adapters/postgres/tables";
export type { PostgresPool, PostgresRow } from "./adapters/postgres/database";
export type { ClientRegistry } from "./storage/port";
