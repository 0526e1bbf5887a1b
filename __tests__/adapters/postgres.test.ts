import { Client as Connection, type Pool, type PoolConfig, types as pgTypes } from "pg";
import { type PostgresPool, postgresStorage, type PostgresStorageOptions } from "../../lib/postgres";
import {
  aliceAtOrders,
  ask,
  describeWithPostgres,
  newName,
  numbers,
  openStorage,
  pool,
  server,
  sqlError,
  useStorage,
  webRecord,
  wrapPool,
} from "../servers/postgres-storage";
import { accessTokenRecord, authorizationRecord, codeRecord, refreshTokenRecord } from "../records/records";

describe("postgresStorage options (RFC 6749 §10.5)", () => {
  const idle: PostgresPool = { query: async () => ({ rows: [] }) };

  it.each([
    ["nothing", undefined],
    ["no pool", {}],
    ["a connection string", { pool: "postgres://localhost/postgres" }],
    ["a pool without query", { pool: {} }],
  ])("refuses %s instead of a pool", (_, options) => {
    const call = (): unknown => postgresStorage(options as unknown as PostgresStorageOptions);
    expect(call).toThrow(TypeError);
    expect(call).toThrow(expect.objectContaining({ code: "postgres-pool-missing" }));
  });

  const names = [
    "",
    "Auth_",
    "aUth",
    '"',
    'a"; DROP TABLE clients; --',
    "a'b",
    "a.b",
    "a b",
    "a-b",
    "ä",
    "a\n",
    "1a",
    "a".repeat(31),
    7,
    {},
    // a variable of the environment that is not set
    undefined,
  ];
  for (const option of ["prefix", "schema"] as const) {
    it.each(names.map((name) => [name]))(`refuses the ${option} %j`, (name) => {
      const call = (): unknown => postgresStorage({ pool: idle, [option]: name });
      expect(call).toThrow(TypeError);
      expect(call).toThrow(new RegExp(`\\b${option}\\b`));
    });

    it.each(["a", "_", "auth_2", "select", "revoked", "a".repeat(30)])(`takes the ${option} %s`, (name) => {
      const call = (): unknown => postgresStorage({ pool: idle, [option]: name });
      expect(call).not.toThrow();
    });
  }

  it("asks the pool nothing by itself", () => {
    const query = jest.fn(async () => ({ rows: [] }));
    postgresStorage({ pool: { query } });
    expect(query).not.toHaveBeenCalled();
  });
});

function migrateTests(): void {
  it("makes the tables, and may be called again", async () => {
    const storage = postgresStorage({ pool, prefix: newName() });
    await storage.migrate();
    await storage.migrate();
    await useStorage(storage);
    await storage.migrate();
  });

  it("puts the tables where it is told", async () => {
    const [schema, prefix] = [newName(), newName()];
    await openStorage({ schema, prefix });
    const [row] = await ask(
      `SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = '${schema}' AND starts_with(tablename, '${prefix}')`,
    );
    expect(row).toEqual({ tables: 14 });
  });

  it("may be called by 16 processes at once on an empty database", async () => {
    const pools = numbers(16).map(() => server.pool({ max: 1 }));
    for (let round = 0; round < 10; round += 1) {
      const [schema, prefix] = [newName(), newName()];
      for (const place of [{ prefix }, { schema, prefix }]) {
        await Promise.all(pools.map((each) => postgresStorage({ pool: each, ...place }).migrate()));
        await useStorage(postgresStorage({ pool, ...place }));
      }
    }
  });

  it.each([["the schema of the connection"], ["a new schema"]])(
    "goes on after a crash at any statement, in %s",
    async (where) => {
      const place = () => ({ prefix: newName(), ...(where === "a new schema" && { schema: newName() }) });
      let statements = 0;
      await openStorage({ ...place(), pool: wrapPool(pool, (_, run) => ((statements += 1), run())) });
      expect(statements).toBeGreaterThan(15);
      for (let crashAt = 1; crashAt <= statements; crashAt += 1) {
        let at = 0;
        const crashing = wrapPool(pool, (_, run) => {
          at += 1;
          return at === crashAt ? Promise.reject(sqlError("57P01")) : run();
        });
        const names = place();
        await expect(postgresStorage({ pool: crashing, ...names }).migrate()).rejects.toThrow("57P01");
        const storage = postgresStorage({ pool, ...names });
        await storage.migrate();
        await useStorage(storage);
      }
    },
  );

  it("only reads when there is nothing to do", async () => {
    const names = { schema: newName(), prefix: newName() };
    await openStorage(names);
    const texts: string[] = [];
    const watched = wrapPool(pool, ({ text }, run) => (texts.push(text), run()));
    await postgresStorage({ pool: watched, ...names }).migrate();
    expect(texts.filter((text) => !text.startsWith("SELECT "))).toEqual([]);
  });

  it("leaves a newer version that a newer package has recorded alone", async () => {
    const prefix = newName();
    await openStorage({ prefix });
    await ask(`INSERT INTO ${prefix}migrations VALUES (7)`);
    await ask(`DROP INDEX ${prefix}consents_expires_at`);
    await postgresStorage({ pool, prefix }).migrate();
    const versions = await ask(`SELECT version FROM ${prefix}migrations ORDER BY version`);
    expect(versions.map(({ version }) => version)).toEqual([1, 7]);
    const indexes = await ask(`SELECT 1 FROM pg_indexes WHERE indexname = '${prefix}consents_expires_at'`);
    expect(indexes).toEqual([]);
  });

  it.each([
    ["prefixes", () => [{ prefix: newName() }, { prefix: newName() }] as const],
    [
      "schemas",
      () => {
        const prefix = newName();
        return [
          { prefix, schema: newName() },
          { prefix, schema: newName() },
        ] as const;
      },
    ],
  ])("keeps two %s side by side apart", async (_, names) => {
    const [one, two] = await Promise.all(names().map(openStorage));
    if (!one || !two) throw new Error("two storages were to be opened");
    await one.clients.save(webRecord);
    await one.authorizationCodes.create(codeRecord(), 1_000);
    expect(await two.clients.find("web")).toBeUndefined();
    expect(await two.authorizationCodes.find(codeRecord(), 1_000)).toBeUndefined();
    expect(await two.deleteExpired(1_000_000)).toBe(0);
    expect(await one.authorizationCodes.find(codeRecord(), 1_000)).toEqual(codeRecord());
  });
}

/** A role that may log in and nothing else, but for what is granted. */
async function newRole(grants: readonly string[]): Promise<Pool> {
  const role = newName();
  await ask(`CREATE ROLE ${role} LOGIN`);
  for (const grant of grants) await ask(`GRANT ${grant} TO ${role}`);
  return server.pool({ user: role });
}

function roleTests(): void {
  it("lets a role without the right to create serve once the tables are there", async () => {
    const names = { schema: newName(), prefix: newName() };
    await openStorage(names);
    const own = await newRole([
      `USAGE ON SCHEMA ${names.schema}`,
      `SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${names.schema}`,
    ]);
    const served = postgresStorage({ pool: own, ...names });
    await served.migrate();
    await useStorage(served);
  });

  it("tells a role that may not create tables so", async () => {
    const schema = newName();
    await ask(`CREATE SCHEMA ${schema}`);
    const own = await newRole([`USAGE ON SCHEMA ${schema}`]);
    const message = `permission denied for schema ${schema}`;
    await expect(postgresStorage({ pool: own, schema }).migrate()).rejects.toMatchObject({
      code: "42501",
      message,
    });
  });

  it("tells a role that may not create schemas so", async () => {
    const storage = postgresStorage({ pool: await newRole([]), schema: newName() });
    const message = "permission denied for database postgres";
    await expect(storage.migrate()).rejects.toMatchObject({ code: "42501", message });
  });
}

function driverTests(): void {
  const int8: number = pgTypes.builtins.INT8;
  const parsers: Record<string, (text: string) => unknown> = {
    text: (text) => text,
    Number,
    BigInt,
  };
  it.each(Object.entries(parsers))("gives numbers though the host reads int8 as %s", async (_, parse) => {
    const getTypeParser = (oid: number, format?: "text"): unknown =>
      oid === int8 ? parse : pgTypes.getTypeParser(oid, format ?? "text");
    const config = { types: { getTypeParser } } as unknown as PoolConfig;
    const { rows } = await server.pool(config).query("SELECT 5::bigint AS five");
    expect(rows).toEqual([{ five: parse("5") }]);
    const storage = await openStorage({ pool: server.pool(config) });
    await storage.authorizations.create(authorizationRecord(), 1_000);
    await storage.authorizationCodes.create(codeRecord(), 1_000);
    await storage.refreshTokens.create(refreshTokenRecord(), 1_000);
    await storage.accessTokens.create({ ...accessTokenRecord(), digest: "digest" }, 1_000);
    const consent = {
      ...aliceAtOrders,
      scopes: ["orders:read"],
      grantedAt: 1_000,
      endMarks: [],
      expiresAt: 4_102_444_800,
    };
    await storage.consents.save(consent, 1_000);
    const { authorizationId } = authorizationRecord();
    expect(await storage.authorizations.find(authorizationId, 1_000)).toEqual(authorizationRecord());
    expect(await storage.authorizationCodes.find(codeRecord(), 1_000)).toEqual(codeRecord());
    expect(await storage.refreshTokens.find(refreshTokenRecord(), 1_000)).toEqual(refreshTokenRecord());
    expect(await storage.accessTokens.find("digest", 1_000)).toMatchObject(accessTokenRecord());
    expect(await storage.consents.find(aliceAtOrders, 1_000)).toEqual(consent);
    expect(await storage.consents.list("alice", 1_000)).toEqual([consent]);
    expect(await storage.deleteExpired(1_600 + 300)).toBe(1);
    await storage.migrate();
  });

  it("needs no two statements on one connection", async () => {
    const connection = { connectionString: server.url };
    const pooler: PostgresPool = {
      async query(text, values) {
        const own = new Connection(connection);
        await own.connect();
        try {
          return await own.query<Record<string, unknown>>(text, values);
        } finally {
          await own.end();
        }
      },
    };
    await useStorage(await openStorage({ pool: pooler, schema: newName() }));
  });

  it("sends whole statements: no transaction, no setting, no prepared name", async () => {
    const calls: unknown[][] = [];
    const watched = {
      query(...args: [string, unknown[]?]) {
        calls.push(args);
        return pool.query<Record<string, unknown>>(...args);
      },
    };
    const storage = await openStorage({ pool: watched, schema: newName() });
    await useStorage(storage);
    await storage.clients.delete("web");
    await storage.consents.delete({ selection: aliceAtOrders, exceptEndMark: "a mark" }, 1_000);
    await storage.authorizations.revokeAll(aliceAtOrders, 1_000);
    const [texts, values] = [calls.map(([text]) => text), calls.map((args) => args[1])];
    expect(
      texts.filter((text) => !/^(?:SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER) /.test(String(text))),
    ).toEqual([]);
    expect(values.filter((each) => !Array.isArray(each))).toEqual([]);
    expect(calls.filter((args) => args.length !== 2)).toEqual([]);
  });
}

/** Storage whose first statements fail, counted. */
async function failing(code: string, times: number) {
  const storage = { prefix: newName() };
  await openStorage(storage);
  const state = { calls: 0 };
  const wrapped = wrapPool(pool, (_, run) => {
    state.calls += 1;
    return state.calls <= times ? Promise.reject(sqlError(code)) : run();
  });
  return { state, storage: postgresStorage({ pool: wrapped, schema: "public", ...storage }) };
}

function retryTests(): void {
  it.each(["40001", "40P01"])("repeats what the server has undone, %s", async (code) => {
    const { storage, state } = await failing(code, 3);
    await storage.authorizationCodes.create(codeRecord(), 1_000);
    expect(state.calls).toBe(4);
    expect(await storage.authorizationCodes.consume(codeRecord(), 1_000)).toBe("consumed");
    expect(await storage.authorizationCodes.consume(codeRecord(), 1_000)).toBe("not-consumed");
  });

  it("pauses before it repeats, each time a little longer, so that calls that met do not meet again", async () => {
    const { storage } = await failing("40001", 4);
    const longest = jest.spyOn(Math, "random").mockReturnValue(1);
    const begin = performance.now();
    await storage.authorizationCodes.create(codeRecord(), 1_000);
    expect(performance.now() - begin).toBeGreaterThan(40);
    longest.mockRestore();
  });

  it.each(["40001", "40P01"])("gives up what the server undoes again and again, %s", async (code) => {
    const { storage, state } = await failing(code, Infinity);
    await expect(storage.authorizationCodes.consume(codeRecord(), 1_000)).rejects.toMatchObject({ code });
    expect(state.calls).toBeLessThan(100);
  });

  it.each([
    "08006",
    "08003",
    "57014",
    "57P01",
    "53300",
    "25006",
    "40003",
    "40002",
    "ECONNRESET",
    "ETIMEDOUT",
  ])("never repeats what may have been done, %s", async (code) => {
    const { storage, state } = await failing(code, 1);
    await expect(storage.authorizationCodes.consume(codeRecord(), 1_000)).rejects.toMatchObject({ code });
    expect(state.calls).toBe(1);
  });

  it("serves where every statement is serializable", async () => {
    const prefix = newName();
    await openStorage({ prefix });
    const strict = server.pool({ options: "-c default_transaction_isolation=serializable" });
    const storage = postgresStorage({ pool: strict, prefix });
    const from = refreshTokenRecord();
    await storage.refreshTokens.create(from, 1_000);
    const outcomes = await Promise.all(
      numbers(16).map((n) =>
        storage.refreshTokens.rotate({ from, to: refreshTokenRecord(`number ${n}`) }, 1_000),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === "rotated")).toHaveLength(1);
  });
}

describeWithPostgres(() => {
  describe("postgresStorage migrate()", migrateTests);
  describe("postgresStorage roles (RFC 6749 §10.5)", roleTests);
  describe("postgresStorage connections", driverTests);
  describe("postgresStorage repetitions (RFC 6749 §10.5)", retryTests);
});
