import { type PostgresPool, postgresStorage, type PostgresStorage } from "../../lib/postgres";
import { runOn, sqlState } from "../../lib/adapters/postgres/database";
import { storageContract } from "../../lib/testing";
import { handleNames, openHandle } from "./postgres-handles";
import {
  describeWithPostgres,
  newName,
  numbers,
  server,
  useStorage,
  webRecord,
} from "../../__tests__/servers/postgres-storage";
import { codeRecord } from "../../__tests__/records/records";
import { freePort } from "../../__tests__/servers/server-process";

/** Makes the database undo the first two insertions of a mark. Returns how many it was asked for so far. */
async function undoTwice(pool: PostgresPool, { prefix, code }: { prefix: string; code: string }) {
  const statements = [
    `CREATE SEQUENCE ${prefix}attempts`,
    `CREATE FUNCTION ${prefix}undo() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
      IF nextval(''${prefix}attempts'') <= 2 THEN RAISE EXCEPTION ''undone'' USING ERRCODE = ''${code}''; END IF;
      RETURN NEW;
    END'`,
    `CREATE TRIGGER ${prefix}undone BEFORE INSERT ON ${prefix}spent_tokens FOR EACH ROW EXECUTE FUNCTION ${prefix}undo()`,
  ];
  for (const statement of statements) await pool.query(statement, []);
  return async () => {
    const { rows } = await pool.query(`SELECT last_value AS attempts FROM ${prefix}attempts`, []);
    return Number(rows[0]?.["attempts"]);
  };
}

/** What matters most for a handle, beside the contract: how it gives rows, errors and its connections. */
function handleTests(
  name: string,
  open: () => { readonly pool: PostgresPool; readonly otherPool: PostgresPool },
): void {
  it("makes the tables in eight calls at once, and keeps and deletes one record of each kind", async () => {
    const { pool, otherPool } = open();
    const prefix = newName();
    const pools = [pool, otherPool, pool, otherPool, pool, otherPool, pool, otherPool];
    await Promise.all(pools.map((each) => postgresStorage({ pool: each, prefix }).migrate()));
    await useStorage(postgresStorage({ pool, prefix }));
    await postgresStorage({ pool: otherPool, prefix }).migrate();
  });

  it("gives one of 32 simultaneous calls the code", async () => {
    const { pool, otherPool } = open();
    const prefix = newName();
    const storage = postgresStorage({ pool, prefix });
    const other = postgresStorage({ pool: otherPool, prefix });
    await storage.migrate();
    await storage.authorizationCodes.create(codeRecord(), 1_000);
    const answers = await Promise.all(
      numbers(32).map((n) => (n % 2 ? storage : other).authorizationCodes.consume(codeRecord(), 1_000)),
    );
    expect(answers.filter((answer) => answer === "consumed")).toHaveLength(1);
  });

  it.each(["40001", "40P01"])("repeats what the database has undone, %s", async (code) => {
    const { pool } = open();
    const prefix = newName();
    const storage = postgresStorage({ pool, prefix });
    await storage.migrate();
    const attempts = await undoTwice(pool, { prefix, code });
    await storage.authorizationCodes.create(codeRecord(), 1_000);
    expect(await storage.authorizationCodes.consume(codeRecord(), 1_000)).toBe("consumed");
    expect(await attempts()).toBe(3);
  });

  it("names a prepared statement only if the page says so: otherwise poolers in transaction mode work", async () => {
    const { pool } = open();
    const prefix = newName();
    const storage = postgresStorage({ pool, prefix });
    await storage.migrate();
    const saved = numbers(32).map((n) => storage.clients.save({ ...webRecord, clientId: `client-${n}` }));
    await Promise.all(saved);
    const text = "SELECT count(*) AS named FROM pg_prepared_statements WHERE strpos(statement, $1) > 0";
    const answers = await Promise.all(numbers(32).map(() => pool.query(text, [prefix])));
    const named = answers.map(({ rows }) => Number(rows[0]?.["named"]));
    expect(named.some((count) => count > 0)).toBe(name.includes("prepared"));
  });

  it("asks for migrate() where a table is missing, which it tells by the code of the database", async () => {
    const storage = postgresStorage({ pool: open().pool, prefix: newName() });
    const found = storage.authorizationCodes.find(codeRecord(), 1_000);
    await expect(found).rejects.toMatchObject({ code: "postgres-not-migrated" });
  });
}

describeWithPostgres(() => {
  describe.each(handleNames)("postgresStorage by %s (RFC 6749 §10.5)", (name) => {
    const prefix = newName();
    const ends: (() => Promise<void>)[] = [];
    let pools: { readonly pool: PostgresPool; readonly otherPool: PostgresPool };
    let storage: PostgresStorage;
    let peer: PostgresStorage;

    beforeAll(async () => {
      const own = await openHandle(name, server.url);
      // PGlite is a database of its own
      const other = name === "PGlite" ? own : await openHandle(name, server.url);
      ends.push(own.end, other.end);
      pools = { pool: own.pool, otherPool: other.pool };
      storage = postgresStorage({ pool: own.pool, prefix });
      peer = postgresStorage({ pool: other.pool, prefix });
      await storage.migrate();
      await peer.migrate();
    });
    afterAll(async () => {
      for (const end of ends) await end();
    });

    handleTests(name, () => pools);

    storageContract({
      test: it,
      async open({ clients }) {
        for (const client of clients) await storage.clients.save(client);
        return { storage, peer };
      },
      async openUnreachable() {
        const { pool, end } = await openHandle(
          name,
          `postgres://postgres@127.0.0.1:${await freePort()}/postgres`,
        );
        if (name === "PGlite") await end();
        return { storage: postgresStorage({ pool }), close: end };
      },
    });
  });
});

describe("the SQLSTATE of an error (RFC 6749 §10.5)", () => {
  const inner = Object.assign(new Error("could not serialize access"), { code: "40001" });
  it.each([
    ["a driver", inner],
    ["a library that wraps it, as Drizzle does", new Error("Failed query", { cause: inner })],
    ["a wrapper of a wrapper", new Error("outer", { cause: new Error("Failed query", { cause: inner }) })],
    [
      "a wrapper with a code of its own",
      Object.assign(new Error("outer", { cause: inner }), { code: "E_QUERY" }),
    ],
    [
      "a Prisma with engines",
      Object.assign(new Error("raw query failed"), { code: "P2010", meta: { code: "40001" } }),
    ],
  ])("is found in that of %s", (_, error) => {
    expect(sqlState(error)).toBe("40001");
  });

  it("is searched for in an error that is its own cause, and comes to an end", () => {
    const error: Error & { cause?: unknown } = Object.assign(new Error("itself"), { code: "08006" });
    error.cause = error;
    expect(sqlState(error)).toBe("08006");
  });

  it.each([
    [
      "a lost connection around it",
      Object.assign(new Error("reset", { cause: inner }), { code: "ECONNRESET" }),
    ],
    [
      "a connection that the server has ended",
      Object.assign(new Error("ended", { cause: inner }), { code: "57P01" }),
    ],
  ])("does not make a statement repeat after %s: it may have been executed", async (_, error) => {
    const query = jest.fn().mockRejectedValue(error);
    await expect(runOn({ query })("SELECT 1")).rejects.toBe(error);
    expect(query).toHaveBeenCalledTimes(1);
  });

  it.each([undefined, null, "a text", 7, {}])("is not in %j", (error) => {
    expect(sqlState(error)).toBeUndefined();
  });
});

describe("a pool that gives no rows", () => {
  it.each([
    ["a list, as TypeORM gives it", []],
    ["an object without them", {}],
  ])("is told so: %s", async (_, answer) => {
    const pool = { query: async () => answer } as unknown as PostgresPool;
    await expect(postgresStorage({ pool }).migrate()).rejects.toMatchObject({ code: "postgres-pool-answer" });
  });
});
