/** The public names of `authmount/postgres`. */
export {
  postgresStorage,
  type PostgresStorage,
  type PostgresStorageOptions,
} from "./storage/postgres/postgres-storage";
export { postgresMigrations } from "./storage/postgres/schema";
export type { PostgresNames } from "./storage/postgres/names";
export type { PostgresPool, PostgresRow } from "./storage/postgres/pool";
export type { ClientRegistry } from "./storage/port";
