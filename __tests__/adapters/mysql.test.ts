import { type MysqlPool, mysqlMigrations, mysqlStorage, type MysqlStorageOptions } from "../../lib/mysql";
import { authorizationRecord, codeRecord, refreshTokenRecord } from "../records/records";
import { newAuthorization, newRefreshToken } from "../../lib/testing/contract/records";
import {
  describeWithMariadb,
  mysqlPool,
  mysqlServer,
  openMysql,
  wrapMysqlPool,
} from "../servers/mysql-storage";
import { newName, numbers, useStorage, webRecord } from "../servers/postgres-storage";

const now = 1_000;

describe("mysqlStorage options (RFC 6749 §10.5)", () => {
  const idle: MysqlPool = { execute: async () => [[]] };

  it.each([
    ["nothing", undefined],
    ["no pool", {}],
    ["a connection string", { pool: "mysql://localhost/test" }],
    ["a pool without execute", { pool: {} }],
  ])("refuses %s instead of a pool", (_, options) => {
    const call = (): unknown => mysqlStorage(options as unknown as MysqlStorageOptions);
    expect(call).toThrow(expect.objectContaining({ code: "mysql-pool-missing" }));
  });

  for (const option of ["prefix", "schema"] as const)
    it.each(["", "Auth_", "`", "a`; DROP TABLE clients; --", "a.b", "ä", "1a", "a".repeat(31), 7, undefined])(
      `refuses the ${option} %j`,
      (name) => {
        const call = (): unknown => mysqlStorage({ pool: idle, [option]: name });
        expect(call).toThrow(new RegExp(`\\b${option}\\b`));
      },
    );

  it("refuses a prefix whose tables could be those of another one", () => {
    expect(() => mysqlMigrations({ prefix: "a_revoked_" })).toThrow(
      expect.objectContaining({ code: "mysql-prefix-ambiguous" }),
    );
  });

  it.each([
    ["rows without a list around them, as mariadb gives them", [{ affected: 1 }]],
    ["nothing", undefined],
    ["lists instead of objects", [[["one"]]]],
  ])("tells a pool that gives %s so", async (_, answer) => {
    const pool = { execute: async () => answer } as unknown as MysqlPool;
    await expect(mysqlStorage({ pool }).migrate()).rejects.toMatchObject({ code: "mysql-pool-answer" });
  });
});

function migrateTests(): void {
  it("makes the tables where it is told, and may be called again", async () => {
    const names = { schema: newName(), prefix: newName() };
    const storage = await openMysql(names);
    await storage.migrate();
    await useStorage(storage);
    const [rows] = await mysqlPool.query(
      `SELECT COUNT(*) AS made FROM information_schema.TABLES WHERE TABLE_SCHEMA = '${names.schema}'`,
    );
    expect(rows).toEqual([{ made: 14 }]);
  });

  it("may be called by 8 processes at once on an empty database", async () => {
    for (let round = 0; round < 3; round += 1) {
      const names = { schema: newName(), prefix: newName() };
      await Promise.all(numbers(8).map(() => mysqlStorage({ pool: mysqlPool, ...names }).migrate()));
      await useStorage(mysqlStorage({ pool: mysqlPool, ...names }));
    }
  });

  it("goes on after a crash at any statement", async () => {
    let statements = 0;
    await openMysql({ pool: wrapMysqlPool(mysqlPool, (_, run) => ((statements += 1), run())) });
    expect(statements).toBeGreaterThan(15);
    for (let crashAt = 1; crashAt <= statements; crashAt += 4) {
      let at = 0;
      const crashing = wrapMysqlPool(mysqlPool, (_, run) =>
        (at += 1) === crashAt ? Promise.reject(new Error("crashed")) : run(),
      );
      const prefix = newName();
      await expect(mysqlStorage({ pool: crashing, prefix }).migrate()).rejects.toThrow("crashed");
      await useStorage(await openMysql({ prefix }));
    }
  });

  it("only reads when there is nothing to do, also once the printed migrations have run", async () => {
    const names = { schema: newName(), prefix: newName() };
    for (const statement of mysqlMigrations(names).join("").split(";\n"))
      if (statement !== "") await mysqlPool.query(statement);
    const texts: string[] = [];
    const pool = wrapMysqlPool(mysqlPool, (text, run) => (texts.push(text), run()));
    await mysqlStorage({ pool, ...names }).migrate();
    expect(texts.filter((text) => !/^(?:SELECT|SHOW) /.test(text))).toEqual([]);
  });

  it("is asked for where a table is missing", async () => {
    const storage = mysqlStorage({ pool: mysqlPool, prefix: newName() });
    const found = storage.authorizationCodes.find(codeRecord(), now);
    await expect(found).rejects.toMatchObject({ code: "mysql-not-migrated" });
  });

  it.each([
    ["another engine", "spent_tokens ENGINE = MyISAM", "mysql-table-engine"],
    ["no key", "spent_tokens DROP PRIMARY KEY", "mysql-table-without-key"],
    [
      "a key on the beginnings of its texts",
      "spent_tokens DROP PRIMARY KEY, ADD UNIQUE (digest(8))",
      "mysql-table-without-key",
    ],
    [
      "text that takes Shop for shop",
      "clients MODIFY client_id VARCHAR(255) NOT NULL",
      "mysql-table-foreign",
    ],
    ["other columns", "end_marks DROP mark", "mysql-table-foreign"],
    ["no place any more", "consents RENAME elsewhere", "mysql-table-missing"],
  ])("refuses a table that has %s", async (_, change, code) => {
    const schema = newName();
    const storage = await openMysql({ schema, prefix: "a_" });
    await mysqlPool.query(`ALTER TABLE ${schema}.a_${change.replace("RENAME ", `RENAME ${schema}.`)}`);
    await expect(storage.migrate()).rejects.toMatchObject({ code });
  });
}

/** Connections that were opened while the server had this setting. */
async function withSetting(setting: string, use: (pool: MysqlPool) => Promise<void>): Promise<void> {
  const [name = ""] = setting.split(" ");
  const [rows] = await mysqlPool.query(`SELECT @@GLOBAL.${name} AS value`);
  const [{ value } = { value: "" }] = rows as readonly { value: string | number }[];
  await mysqlPool.query(`SET GLOBAL ${setting}`);
  try {
    await use(mysqlServer.pool({ connectionLimit: 1 }));
  } finally {
    await mysqlPool.query(`SET GLOBAL ${name} = ${typeof value === "number" ? value : `'${value}'`}`);
  }
}

/** Answers what the session's settings are as if these were among them. */
function pretending(settings: Readonly<Record<string, string>>): MysqlPool {
  const rows = Object.entries(settings).map(([name, Value]) => ({ Variable_name: name, Value }));
  return wrapMysqlPool(mysqlPool, async (text, run) => {
    const [found, ...rest] = await run();
    const names = Object.keys(settings);
    const others = (found as readonly { Variable_name: unknown }[]).filter?.(
      ({ Variable_name: name }) => !names.includes(String(name)),
    );
    return text.startsWith("SHOW ") ? [[...others, ...rows]] : [found, ...rest];
  });
}

function sessionTests(): void {
  it.each([
    ["sql_mode = ''", "mysql-not-strict"],
    ["sql_mode = 'ANSI,ONLY_FULL_GROUP_BY'", "mysql-not-strict"],
    ["autocommit = 0", "mysql-no-autocommit"],
  ])("migrate() refuses connections with %s", (setting, code) =>
    withSetting(setting, async (pool) => {
      const storage = mysqlStorage({ pool, prefix: newName() });
      await expect(storage.migrate()).rejects.toMatchObject({ code });
    }),
  );

  it("serves where SQL is written in other ways", () =>
    withSetting("sql_mode = 'ANSI,TRADITIONAL,NO_BACKSLASH_ESCAPES,ONLY_FULL_GROUP_BY'", async (pool) =>
      useStorage(await openMysql({ pool })),
    ));

  it.each(["0", "1", "3", "8"])(
    "migrate() refuses a Galera cluster with wsrep_sync_wait = %s",
    async (wait) => {
      const pool = pretending({ wsrep_on: "ON", wsrep_sync_wait: wait });
      await expect(openMysql({ pool })).rejects.toMatchObject({ code: "mysql-no-sync-wait" });
    },
  );

  it.each(["7", "15"])("migrate() takes a Galera cluster with wsrep_sync_wait = %s", async (wait) => {
    await useStorage(await openMysql({ pool: pretending({ wsrep_on: "ON", wsrep_sync_wait: wait }) }));
  });

  it.each([
    [{ innodb_flush_log_at_trx_commit: "2" }, "mysql-setting-not-1"],
    [{ log_bin: "ON", sync_binlog: "0" }, "mysql-setting-not-1"],
    [{ innodb_doublewrite: "OFF" }, "mysql-doublewrite-off"],
  ])("migrate() warns of %j", async (settings, code) => {
    const storage = mysqlStorage({ pool: pretending(settings), prefix: newName() });
    expect(await storage.migrate()).toEqual([expect.stringContaining(`[${code}]`)]);
  });

  it("migrate() warns of nothing where all is as it should be, whatever a log that is off would do", async () => {
    const storage = mysqlStorage({ pool: mysqlPool, prefix: newName() });
    expect(await storage.migrate()).toEqual([]);
  });
}

function countingTests(): void {
  it.each(["FOUND_ROWS", "-FOUND_ROWS"])(
    "gives the same answers where a driver counts by %s, also for what changes nothing",
    async (flag) => {
      const storage = await openMysql({ pool: mysqlServer.pool({ flags: [flag] }) });
      await storage.clients.save(webRecord);
      for (let round = 0; round < 2; round += 1)
        expect(await storage.clients.replace({ from: webRecord, to: webRecord })).toBe("replaced");
      const registration = { client: webRecord, expiresAt: now + 600 };
      await storage.clientRegistrations.create(registration, { limit: 5, now });
      for (let round = 0; round < 2; round += 1)
        expect(await storage.clientRegistrations.extend({ clientId: "web", expiresAt: now + 600 }, now)).toBe(
          true,
        );
      await storage.authorizations.create(authorizationRecord(), now);
      const { subject } = authorizationRecord();
      expect(await storage.authorizations.revokeAll({ subject }, now)).toBe(1);
      expect(await storage.authorizations.revokeAll({ subject }, now)).toBe(0);
      const from = refreshTokenRecord();
      await storage.refreshTokens.create(from, now);
      const answers = numbers(12).map((n) =>
        storage.refreshTokens.rotate({ from, to: refreshTokenRecord(`number ${n}`) }, now),
      );
      expect((await Promise.all(answers)).filter((answer) => answer === "rotated")).toHaveLength(1);
    },
  );

  it("refuses what is longer than its column, and does not cut it", async () => {
    const storage = await openMysql();
    const record = newAuthorization(now, { subject: "ä".repeat(511) });
    await expect(storage.authorizations.create(record, now)).rejects.toMatchObject({ errno: 1406 });
    expect(await storage.authorizations.find(record.authorizationId, now)).toBeUndefined();
  });

  it("takes neither another case nor a space behind it for the same digest", async () => {
    const storage = await openMysql();
    const { authorizationId, ...token } = newRefreshToken(now, { digest: "Aa" });
    await storage.refreshTokens.create({ ...token, authorizationId }, now);
    for (const digest of ["aA", "AA", "Aa ", "Aa\0"])
      expect(await storage.refreshTokens.find({ authorizationId, digest }, now)).toBeUndefined();
  });

  it("keeps a successor that outlives its token, and when it was used, after the token's own end", async () => {
    const storage = await openMysql();
    const record = newAuthorization(now, { expiresAt: now + 9_000 });
    const { authorizationId, subject } = record;
    await storage.authorizations.create(record, now);
    const [first, second, third] = [100, 5_000, 200].map((life) =>
      newRefreshToken(now, { authorizationId, expiresAt: now + life }),
    );
    if (!first || !second || !third) throw new Error("there are three");
    await storage.refreshTokens.create(first, now);
    await storage.refreshTokens.rotate({ from: first, to: second }, now + 50);
    await storage.deleteExpired(now + 1_000);
    expect(await storage.refreshTokens.find(first, now + 1_000)).toBeUndefined();
    expect(await storage.refreshTokens.find(second, now + 1_000)).toEqual(second);
    expect(await storage.refreshTokens.find(second, now + 5_000)).toBeUndefined();
    expect(await storage.refreshTokens.rotate({ from: second, to: third }, now + 150)).toBe("rotated");
    await storage.deleteExpired(now + 1_000);
    // the mark of the second token outlives its successor
    expect(await storage.refreshTokens.find(third, now + 1_000)).toBeUndefined();
    expect(await storage.refreshTokens.rotate({ from: third, to: first }, now + 1_000)).toBe("not-rotated");
    expect(await storage.refreshTokens.find(second, now + 1_000)).toEqual({ ...second, used: true });
    expect(await storage.deleteExpired(now + 6_000)).toBeGreaterThan(0);
    const listed = await storage.authorizations.list(subject, { limit: 5 }, now + 6_000);
    expect(listed).toEqual([{ ...record, lastUsedAt: now + 150 }]);
  });
}

function driverTests(): void {
  it.each([
    ["numbers as text", { supportBigNumbers: true, bigNumberStrings: true }],
    ["letters in latin1", { charset: "latin1" }],
  ])("keeps each record where a driver gives %s", async (_, config) => {
    const storage = await openMysql({ pool: mysqlServer.pool(config) });
    await useStorage(storage);
    const record = newAuthorization(now, { subject: "ä€😀", context: { key: "ß", data: { text: "ä€😀" } } });
    await storage.authorizations.create(record, now);
    expect(await storage.authorizations.find(record.authorizationId, now)).toEqual(record);
    expect(await storage.authorizations.list("ä€😀", { limit: 5 }, now)).toEqual([record]);
  });
}

/** Storage whose first statements fail with this error, counted. */
async function failing(error: object, times: number) {
  const prefix = newName();
  await openMysql({ prefix });
  const state = { calls: 0 };
  const pool = wrapMysqlPool(mysqlPool, (_, run) => {
    state.calls += 1;
    return state.calls <= times ? Promise.reject(Object.assign(new Error("fails"), error)) : run();
  });
  return { state, storage: mysqlStorage({ pool, prefix }) };
}

const deadlock = { errno: 1213, code: "ER_LOCK_DEADLOCK", sqlState: "40001" };

function retryTests(): void {
  it.each([
    ["a deadlock", deadlock],
    ["a lock that was waited for too long", { errno: 1205, code: "ER_LOCK_WAIT_TIMEOUT" }],
    ["a row that another statement has changed meanwhile", { errno: 1020, code: "ER_CHECKREAD" }],
    ["a deadlock that TypeORM wraps", { driverError: deadlock }],
    ["a deadlock that Sequelize wraps", { parent: deadlock }],
    [
      "a deadlock in an error of Prisma",
      { code: "P2010", meta: { driverAdapterError: { cause: { kind: "mysql", originalCode: "1213" } } } },
    ],
  ])("repeats what the server has undone: %s", async (_, error) => {
    const { storage, state } = await failing(error, 3);
    await storage.authorizationCodes.create(codeRecord(), now);
    expect(state.calls).toBe(4);
    expect(await storage.authorizationCodes.consume(codeRecord(), now)).toBe("consumed");
    expect(await storage.authorizationCodes.consume(codeRecord(), now)).toBe("not-consumed");
  });

  it("gives up what the server undoes again and again", async () => {
    const { storage, state } = await failing(deadlock, Infinity);
    await expect(storage.authorizationCodes.consume(codeRecord(), now)).rejects.toMatchObject(deadlock);
    expect(state.calls).toBeLessThan(100);
  });

  it.each([
    [{ code: "ECONNRESET", errno: -104 }],
    [{ code: "ETIMEDOUT", errno: -110 }],
    [{ code: "PROTOCOL_CONNECTION_LOST" }],
    [{ errno: 1927, code: "ER_CONNECTION_KILLED" }],
    [{ errno: 1317, code: "ER_QUERY_INTERRUPTED" }],
    [{ errno: 1053, code: "ER_SERVER_SHUTDOWN" }],
    [{ code: "ECONNRESET", cause: deadlock }],
  ])("never repeats what may have been done: %j", async (error) => {
    const { storage, state } = await failing(error, 1);
    await expect(storage.authorizationCodes.consume(codeRecord(), now)).rejects.toMatchObject(error);
    expect(state.calls).toBe(1);
  });
}

describeWithMariadb(() => {
  describe("mysqlStorage migrate()", migrateTests);
  describe("mysqlStorage and the settings of a connection (RFC 6749 §10.5)", sessionTests);
  describe("mysqlStorage and what drivers count (RFC 6749 §10.5, 9700 §4.14.2)", countingTests);
  describe("mysqlStorage and what drivers give", driverTests);
  describe("mysqlStorage repetitions (RFC 6749 §10.5)", retryTests);
});
