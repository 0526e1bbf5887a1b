/** The public names of `authmount/mysql`. */
export { mysqlStorage, type MysqlStorage, type MysqlStorageOptions } from "./adapters/mysql/storage";
export { mysqlMigrations } from "./adapters/mysql/schema";
export type { MysqlNames } from "./adapters/mysql/tables";
export type { MysqlPool, MysqlValue } from "./adapters/mysql/database";
export type { ClientRegistry } from "./storage/port";
