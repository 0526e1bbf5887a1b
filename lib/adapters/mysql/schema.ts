/** The versions of the tables: which ones there are, how they are created, and checks that they and the session keep what single use rests on. RFC 6749 §10.5. */
import { mistakesOf } from "../../protocol/mistake";
import type { Risk } from "../../storage/risks";
import { type TableName, tableNames } from "../table-names";
import { type Database, listOf, type Row, type Run } from "./database";
import {
  checkNames,
  columnsOf,
  type MysqlNames,
  type Tables,
  type TableShape,
  tableShapes,
  tablesNamed,
} from "./tables";

const mistake = mistakesOf({
  "mysql-table-foreign": (table: string, column: string) =>
    `mysqlStorage: the table ${table} exists but is not authmount's: it has no column ${column}. Choose another prefix or schema, or rename that table.`,
  "mysql-table-engine": (table: string, engine: string) =>
    `mysqlStorage: the table ${table} is of the engine ${engine}, which can lose what it has acknowledged, or half of a statement. Run: ALTER TABLE … ENGINE = InnoDB.`,
  "mysql-table-without-key": (table: string, key: string) =>
    `mysqlStorage: the table ${table} has no primary key or unique index on (${key}), so a token could be used twice. Finish the restore that left it out, or add it: ALTER TABLE … ADD PRIMARY KEY (${key}).`,
  "mysql-table-missing": (table: string, versions: string) =>
    `mysqlStorage: the table ${table} is missing, although ${versions} says that it was created. Restore it, or empty ${versions} and call migrate() again.`,
  "mysql-not-strict":
    "mysqlStorage: the connections are not in strict mode, so the database would cut what is too long, and two tokens could become one. Add STRICT_TRANS_TABLES to sql_mode.",
  "mysql-no-autocommit":
    "mysqlStorage: the connections do not commit by themselves (autocommit is off), so nothing would last. Turn it on.",
  "mysql-no-sync-wait":
    "mysqlStorage: this is a Galera cluster whose nodes do not wait for each other, so a token that was used at one node could be used again at another. Set wsrep_sync_wait = 7.",
});

const settingNames = [
  "autocommit",
  "innodb_doublewrite",
  "innodb_flush_log_at_trx_commit",
  "log_bin",
  "sql_mode",
  "sync_binlog",
  "wsrep_on",
  "wsrep_sync_wait",
] as const;

type Settings = ReadonlyMap<string, string>;

/** The settings of this connection. A server leaves out those that it does not know. */
async function settingsOf(run: Run): Promise<Settings> {
  const { rows } = await run(
    `SHOW SESSION VARIABLES WHERE Variable_name IN (${settingNames.map((name) => `'${name}'`).join(", ")})`,
  );
  return new Map(rows.map((row) => [String(row["Variable_name"]), String(row["Value"]).toUpperCase()]));
}

/** Waits for other nodes before it reads, updates, deletes and inserts. */
const allWaits = 7;

function checkSession(settings: Settings): void {
  if (!/STRICT_(?:TRANS|ALL)_TABLES/.test(settings.get("sql_mode") ?? "")) throw mistake("mysql-not-strict");
  if (settings.get("autocommit") !== "ON") throw mistake("mysql-no-autocommit");
  const waits = Number(settings.get("wsrep_sync_wait"));
  if (settings.get("wsrep_on") === "ON" && (waits & allWaits) !== allWaits)
    throw mistake("mysql-no-sync-wait");
}

interface Found {
  readonly table: string;
  readonly engine: string;
  readonly columns: readonly Row[];
  readonly keys: readonly Row[];
}

function missingColumn(shape: TableShape, found: readonly Row[]): string | undefined {
  const types = new Map(found.map(({ name, type }) => [name, type]));
  // without its length: a text that is too long is refused, and not cut
  const missing = Object.entries(shape.columns).find(
    ([name, type]) => types.get(name) !== type.replace(/\(.*/, ""),
  );
  return missing && `"${missing[0]}" of type ${missing[1]}`;
}

function hasKey({ key }: TableShape, found: readonly Row[]): boolean {
  return found.some((row) => row["key_columns"] === key.toSorted().join());
}

/** Throws when this table must not be used. */
function checkTable(shape: TableShape, { table, engine, columns, keys }: Found): void {
  const column = missingColumn(shape, columns);
  if (column !== undefined) throw mistake("mysql-table-foreign", table, column);
  if (engine !== "InnoDB") throw mistake("mysql-table-engine", table, engine);
  if (!hasKey(shape, keys)) throw mistake("mysql-table-without-key", table, shape.key.join(", "));
}

const questions = {
  columns: ["TABLE_NAME AS tab, COLUMN_NAME AS name, DATA_TYPE AS type FROM information_schema.COLUMNS"],
  engines: ["TABLE_NAME AS tab, ENGINE AS engine FROM information_schema.TABLES"],
  // every set of columns that an index keeps unique; an index on the beginnings of texts does not count
  keys: [
    "TABLE_NAME AS tab, GROUP_CONCAT(COLUMN_NAME ORDER BY COLUMN_NAME) AS key_columns FROM information_schema.STATISTICS",
    "AND NON_UNIQUE = 0 GROUP BY TABLE_NAME, INDEX_NAME HAVING COUNT(SUB_PART) = 0",
  ],
} as const;

/**
 * The names of the tables that exist. It only reads.
 *
 * @throws Error (as a rejection) when a table lacks an expected column, is of another engine, or when nothing keeps its keys unique.
 */
async function checkTables({ run, tables, inSchema }: Database): Promise<ReadonlySet<TableName>> {
  const [condition, ...values] = inSchema;
  const [marks, names] = listOf(tableNames.map(tables.named));
  const where = `TABLE_SCHEMA ${condition} AND TABLE_NAME IN (${marks})`;
  const ask = async ([select, rest = ""]: readonly [string, string?]): Promise<readonly Row[]> =>
    (await run(`SELECT ${select} WHERE ${where} ${rest}`, [...values, ...names])).rows;
  // columns first: a table that another process creates in between is then left out instead of being seen half-finished
  const columns = await ask(questions.columns);
  const engines = await ask(questions.engines);
  const keys = await ask(questions.keys);
  const present = new Set<TableName>();
  for (const name of tableNames) {
    const ofTable = (row: Row): boolean => row["tab"] === tables.named(name);
    const found = { columns: columns.filter(ofTable), keys: keys.filter(ofTable) };
    if (found.columns.length === 0) continue;
    const engine = String(engines.find(ofTable)?.["engine"]);
    checkTable(tableShapes[name], { ...found, engine, table: tables[name] });
    present.add(name);
  }
  return present;
}

const settingNotOne = (name: string): Risk => ({
  code: "mysql-setting-not-1",
  problem: `${name} is not 1`,
  fix: "Set it to 1.",
});

const writesOnce: Risk = {
  code: "mysql-doublewrite-off",
  problem: "innodb_doublewrite is off",
  fix: "Set it to ON.",
};

/** What the server may lose after a crash although it has acknowledged it. */
function risksOf(settings: Settings): readonly Risk[] {
  const isRisky = {
    innodb_flush_log_at_trx_commit: settings.get("innodb_flush_log_at_trx_commit") !== "1",
    // where there is a binary log, a transaction that it lacks is undone after a crash
    sync_binlog: settings.get("log_bin") === "ON" && settings.get("sync_binlog") !== "1",
  };
  const risky = Object.entries(isRisky).filter(([, is]) => is);
  const isTorn = /^(?:OFF|DETECT_ONLY)$/.test(settings.get("innodb_doublewrite") ?? "");
  return [...risky.map(([name]) => settingNotOne(name)), ...(isTorn ? [writesOnce] : [])];
}

function createTable(table: TableName, tables: Tables): string {
  // both said, because a server may have other defaults
  return `CREATE TABLE IF NOT EXISTS ${tables[table]} (${columnsOf(tableShapes[table])}) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`;
}

/** The statements that bring the tables from the version before to this one. Each is complete by itself and may run again. */
type SchemaVersion = (tables: Tables) => readonly string[];

/**
 * The versions of the schema, in their order. A published version never changes: the next one goes to the end of the list, and only adds
 * to the tables, so that processes of the version before can go on.
 */
const schemaVersions: readonly SchemaVersion[] = [
  (tables) => tableNames.filter((table) => table !== "migrations").map((table) => createTable(table, tables)),
];

function recorded({ migrations }: Tables, version: number): string {
  return `INSERT INTO ${migrations} (version) VALUES (${version}) ON DUPLICATE KEY UPDATE version = version`;
}

/** The statements before the first version. */
function beginning({ schema }: MysqlNames, tables: Tables): readonly string[] {
  const place = schema === undefined ? [] : [`CREATE DATABASE IF NOT EXISTS \`${schema}\``];
  return [...place, createTable("migrations", tables)];
}

/**
 * What `migrate()` does, as SQL for the tool that runs your other migrations: the nth text brings the tables from version n - 1 to
 * version n. Each is complete, with its row in the table of versions, and may run again. Once all have run, `migrate()` only reads.
 * A published text never changes, and a new version adds one at the end.
 *
 * The names are those of `mysqlStorage`. With a schema, the first text creates it. Without one, the names in the texts have none: the tool
 * must be in the same schema as the server.
 *
 * @throws TypeError when a name is invalid.
 */
export function mysqlMigrations(names: MysqlNames = {}): readonly string[] {
  checkNames(names);
  const tables = tablesNamed(names);
  return schemaVersions.map((statementsOn, index) =>
    [...(index === 0 ? beginning(names, tables) : []), ...statementsOn(tables), recorded(tables, index + 1)]
      .map((statement) => `${statement};\n`)
      .join(""),
  );
}

/** Runs the versions that the database lacks. */
async function runVersions({ run, tables }: Database): Promise<void> {
  const { rows } = await run(`SELECT MAX(version) AS version FROM ${tables.migrations}`);
  const current = Number(rows[0]?.["version"] ?? 0);
  for (const [index, statementsOn] of schemaVersions.entries()) {
    if (index < current) continue;
    for (const statement of [...statementsOn(tables), recorded(tables, index + 1)]) await run(statement);
  }
}

/**
 * Updates the tables to the newest version. With nothing to do it only reads. It takes no lock: every step may run twice, and a
 * process that dies in the middle leaves nothing that the next call cannot complete. Gives what the server may lose.
 *
 * @throws Error (as a rejection) when a setting of the connection or a table must not be used, or a table is missing although it was created
 */
export async function migrate(database: Database, names: MysqlNames): Promise<readonly Risk[]> {
  const { run, tables } = database;
  const settings = await settingsOf(run);
  checkSession(settings);
  const before = await checkTables(database);
  if (!before.has("migrations")) for (const statement of beginning(names, tables)) await run(statement);
  await runVersions(database);
  const after = await checkTables(database);
  const missing = tableNames.find((name) => !after.has(name));
  if (missing !== undefined) throw mistake("mysql-table-missing", tables[missing], tables.migrations);
  return risksOf(settings);
}
