import { randomBytes } from "node:crypto";
import { Client as Connection, types as pgTypes, type Pool, type PoolConfig } from "pg";
import { browserOriginsOf, type Client, type ConsentKey } from "../../lib";
import {
  postgresStorage,
  type PostgresPool,
  type PostgresStorage,
  type PostgresStorageOptions,
} from "../../lib/postgres";
import { clients, machineSecret, testHost } from "../fixture/host";
import {
  authorize,
  obtainCode,
  obtainTokens,
  postToken,
  redeem,
  refresh,
  type Tokens,
} from "../fixture/journey";
import { postgres, startPostgres, type PostgresServer } from "../fixture/postgres-server";
import {
  accessTokenRecord,
  authorizationRecord,
  codeRecord,
  confidentialRecord,
  publicRecord,
  refreshTokenRecord,
} from "../fixture/records";
import { describeWith } from "../fixture/server-process";

type Rows = ReturnType<PostgresPool["query"]>;

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The same pool, each statement handed to `around`. */
function wrapPool(pool: PostgresPool, around: (statement: Statement, run: () => Rows) => Rows): PostgresPool {
  return { query: (text, values = []) => around({ text, values }, () => pool.query(text, values)) };
}

function failure(code: string): Error {
  return Object.assign(new Error(`fails with ${code}`), { code });
}

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** Unlike any other of the run. */
function newName(): string {
  return `t${randomBytes(6).toString("hex")}_`;
}

describe("postgresStorage options (RFC 6749 §10.5)", () => {
  const pool: PostgresPool = { query: async () => ({ rows: [] }) };

  it.each([
    ["nothing", undefined],
    ["no pool", {}],
    ["a connection string", { pool: "postgres://localhost/postgres" }],
    ["a pool without query", { pool: {} }],
  ])("refuses %s instead of a pool", (_, options) => {
    const call = (): unknown => postgresStorage(options as unknown as PostgresStorageOptions);
    expect(call).toThrow(TypeError);
    expect(call).toThrow(/\bpool\b/);
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
  ];
  for (const option of ["prefix", "schema"] as const) {
    it.each(names.map((name) => [name]))(`refuses the ${option} %j`, (name) => {
      const call = (): unknown => postgresStorage({ pool, [option]: name });
      expect(call).toThrow(TypeError);
      expect(call).toThrow(new RegExp(`\\b${option}\\b`));
    });

    it.each(["a", "_", "auth_2", "select", "a".repeat(30), undefined])(`takes the ${option} %s`, (name) => {
      const call = (): unknown => postgresStorage({ pool, [option]: name });
      expect(call).not.toThrow();
    });
  }

  it("asks the pool nothing by itself", () => {
    const query = jest.fn(async () => ({ rows: [] }));
    postgresStorage({ pool: { query } });
    expect(query).not.toHaveBeenCalled();
  });
});

const web = confidentialRecord();
const key: ConsentKey = { subject: "alice", clientId: "web", apiId: "orders" };

/** One record of each kind through a port, and back. */
async function useStorage(storage: PostgresStorage): Promise<void> {
  const from = refreshTokenRecord();
  const to = refreshTokenRecord("the next one");
  await storage.clients.save(web);
  expect(await storage.clients.find("web")).toEqual(web);
  await storage.consents.save({ ...key, scopes: [], grantedAt: 1_000, expiresAt: 2_000 }, 1_000);
  expect(await storage.consents.list("alice", 1_000)).toHaveLength(1);
  await storage.authorizations.create(authorizationRecord(), 1_000);
  await storage.authorizations.revoke(authorizationRecord().authorizationId, 1_000);
  await storage.authorizationCodes.create(codeRecord(), 1_000);
  expect(await storage.authorizationCodes.consume(codeRecord(), 1_000)).toBe("consumed");
  await storage.refreshTokens.create(from, 1_000);
  expect(await storage.refreshTokens.rotate({ from, to }, 1_000)).toBe("rotated");
  await storage.accessTokens.create({ ...accessTokenRecord(), digest: "digest" }, 1_000);
  expect(await storage.accessTokens.find("digest", 1_000)).toBeDefined();
  await storage.accessTokens.revoke({ tokenId: "token", expiresAt: 2_000 }, 1_000);
  expect(await storage.accessTokens.isRevoked("token", 1_000)).toBe(true);
  expect(await storage.deleteExpired(1_000_000)).toBeGreaterThan(0);
}

let server: PostgresServer;
let pool: Pool;

/** Storage with tables of its own, made already. */
async function openStorage(options: Partial<PostgresStorageOptions> = {}): Promise<PostgresStorage> {
  const storage = postgresStorage({ pool, prefix: newName(), ...options });
  await storage.migrate();
  return storage;
}

async function ask(text: string): Promise<readonly Record<string, unknown>[]> {
  return (await pool.query<Record<string, unknown>>(text)).rows;
}

/** Resolves once a statement waits for a lock that another transaction holds. */
async function untilOneWaits(): Promise<void> {
  const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  while ((await ask(waiting)).length === 0);
}

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
    expect(row).toEqual({ tables: 11 });
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
          return at === crashAt ? Promise.reject(failure("57P01")) : run();
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
    expect(texts).toEqual([expect.stringMatching(/^SELECT /)]);
  });

  it("leaves a newer version that a newer package has recorded alone", async () => {
    const prefix = newName();
    await openStorage({ prefix });
    await ask(`INSERT INTO ${prefix}migrations VALUES (7)`);
    await ask(`DROP INDEX ${prefix}consents_expires_at`);
    await postgresStorage({ pool, prefix }).migrate();
    const versions = await ask(`SELECT version FROM ${prefix}migrations ORDER BY version`);
    expect(versions.map(({ version }) => version)).toEqual([1, 2, 7]);
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
    await one.clients.save(web);
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
    const consent = { ...key, scopes: ["orders:read"], grantedAt: 1_000, expiresAt: 4_102_444_800 };
    await storage.consents.save(consent, 1_000);
    const { authorizationId } = authorizationRecord();
    expect(await storage.authorizations.find(authorizationId, 1_000)).toEqual(authorizationRecord());
    expect(await storage.authorizationCodes.find(codeRecord(), 1_000)).toEqual(codeRecord());
    expect(await storage.refreshTokens.find(refreshTokenRecord(), 1_000)).toEqual(refreshTokenRecord());
    expect(await storage.accessTokens.find("digest", 1_000)).toMatchObject(accessTokenRecord());
    expect(await storage.consents.find(key, 1_000)).toEqual(consent);
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
    await storage.consents.delete({ key, exceptEndMark: "a mark" }, 1_000);
    await storage.authorizations.revokeAll(key, 1_000);
    const [texts, values] = [calls.map(([text]) => text), calls.map((args) => args[1])];
    expect(
      texts.filter((text) => !/^(?:SELECT|INSERT|UPDATE|DELETE|WITH|CREATE) /.test(String(text))),
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
    return state.calls <= times ? Promise.reject(failure(code)) : run();
  });
  return { state, storage: postgresStorage({ pool: wrapped, ...storage }) };
}

function retryTests(): void {
  it.each(["40001", "40P01"])("repeats what the server has undone, %s", async (code) => {
    const { storage, state } = await failing(code, 3);
    await storage.authorizationCodes.create(codeRecord(), 1_000);
    expect(state.calls).toBe(4);
    expect(await storage.authorizationCodes.consume(codeRecord(), 1_000)).toBe("consumed");
    expect(await storage.authorizationCodes.consume(codeRecord(), 1_000)).toBe("not-consumed");
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

const spa = (...origins: readonly string[]): Client =>
  publicRecord("browser", { redirectUris: origins.map((origin) => `${origin}/callback`) });

function clientTests(): void {
  it("replaces a client, and forgets the origins that it had before", async () => {
    const { clients: registry } = await openStorage();
    await registry.save(spa("https://one.example", "https://two.example"));
    const changed = spa("https://two.example", "https://three.example");
    await registry.save(changed);
    expect(await registry.find("spa")).toEqual(changed);
    const origins = ["https://one.example", "https://two.example", "https://three.example"];
    expect(await Promise.all(origins.map((origin) => registry.isBrowserOrigin(origin)))).toEqual([
      false,
      true,
      true,
    ]);
  });

  it("forgets every origin of a client that is no browser client any more", async () => {
    const { clients: registry } = await openStorage();
    await registry.save(spa("https://one.example"));
    await registry.save(
      confidentialRecord({ clientId: "spa", redirectUris: ["https://one.example/callback"] }),
    );
    expect(await registry.isBrowserOrigin("https://one.example")).toBe(false);
  });

  it.each([
    ["of the wrong shape", { clientId: "web" }],
    ["with an unsafe redirect URI", { ...web, redirectUris: ["javascript:alert(1)"] }],
    ["with a secret that is no digest", { ...web, secretDigests: ["a secret"] }],
    ["that is none", undefined],
  ])("refuses a record %s and keeps the one before", async (_, wrong) => {
    const { clients: registry } = await openStorage();
    await registry.save(web);
    await expect(registry.save(wrong as Client)).rejects.toThrow(TypeError);
    expect(await registry.find("web")).toEqual(web);
  });

  it("stores nothing of a wrong record", async () => {
    const prefix = newName();
    const { clients: registry } = await openStorage({ prefix });
    const wrong = { ...spa("https://one.example"), name: "" };
    await expect(registry.save(wrong)).rejects.toThrow(TypeError);
    expect(
      await ask(
        `SELECT client_id FROM ${prefix}clients UNION SELECT client_id FROM ${prefix}browser_origins`,
      ),
    ).toEqual([]);
  });

  it("keeps an origin that two clients share until both are deleted", async () => {
    const { clients: registry } = await openStorage();
    const other = { ...spa("https://one.example"), clientId: "other" };
    await registry.save(spa("https://one.example"));
    await registry.save(other);
    await registry.delete("spa");
    expect(await registry.find("spa")).toBeUndefined();
    expect(await registry.find("other")).toEqual(other);
    expect(await registry.isBrowserOrigin("https://one.example")).toBe(true);
    await registry.delete("other");
    expect(await registry.isBrowserOrigin("https://one.example")).toBe(false);
  });

  it("does nothing when there is no client to delete", async () => {
    const { clients: registry } = await openStorage();
    await registry.save(web);
    await registry.delete("WEB");
    expect(await registry.find("web")).toEqual(web);
  });

  it("ends in one whole client when 16 save it at once", async () => {
    const { clients: registry } = await openStorage();
    const versions = numbers(16).map((n) => spa("https://every.example", `https://only-${n}.example`));
    const origins = [...new Set(versions.flatMap(browserOriginsOf))];
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(versions.map((version) => registry.save(version)));
      const found = await registry.find("spa");
      const known = await Promise.all(origins.map((origin) => registry.isBrowserOrigin(origin)));
      expect(origins.filter((_, index) => known[index])).toEqual(found && browserOriginsOf(found));
    }
  });

  it("knows the origin of a client that is saved and deleted at once if and only if it is there", async () => {
    const { clients: registry } = await openStorage();
    for (let round = 0; round < 30; round += 1) {
      await Promise.all([registry.save(spa("https://one.example")), registry.delete("spa")]);
      const found = await registry.find("spa");
      expect(await registry.isBrowserOrigin("https://one.example")).toBe(found !== undefined);
      await registry.delete("spa");
    }
  });
}

/** Codes, spent, by a statement of the test's own. */
async function fillCodes(
  prefix: string,
  { rows, expiresAt }: { rows: number; expiresAt: number },
): Promise<void> {
  await ask(`INSERT INTO ${prefix}authorization_codes
    SELECT 'code-' || n, '{}', ${expiresAt} FROM generate_series(1, ${rows}) AS n`);
  await ask(`INSERT INTO ${prefix}spent_tokens SELECT digest, expires_at FROM ${prefix}authorization_codes`);
}

const unmarked = (
  prefix: string,
): string => `SELECT count(*)::int AS tokens FROM ${prefix}authorization_codes AS token
  WHERE NOT EXISTS (SELECT 1 FROM ${prefix}spent_tokens AS mark WHERE mark.digest = token.digest)`;

async function storeOneOfEach(storage: PostgresStorage, expiresAt: number): Promise<void> {
  const name = `of ${expiresAt}`;
  const authorizationId = String(expiresAt).padStart(22, "A");
  const code = codeRecord(`code ${name}`, { expiresAt });
  const from = refreshTokenRecord(`token ${name}`, { expiresAt });
  await storage.consents.save({ ...key, subject: name, scopes: [], grantedAt: 1_000, expiresAt }, 1_000);
  await storage.authorizations.create(authorizationRecord({ authorizationId, expiresAt }), 1_000);
  await storage.authorizationCodes.create(code, 1_000);
  await storage.authorizationCodes.consume(code, 1_000);
  await storage.refreshTokens.create(from, 1_000);
  await storage.accessTokens.create({ ...accessTokenRecord({ expiresAt }), digest: name }, 1_000);
  await storage.accessTokens.revoke({ tokenId: name, expiresAt }, 1_000);
  await storage.endMarks.save({ key: name, mark: "a mark", expiresAt }, 1_000);
}

function deleteTests(): void {
  const expiring = [
    "consents",
    "authorizations",
    "authorization_codes",
    "refresh_tokens",
    "spent_tokens",
    "access_tokens",
    "revoked_access_tokens",
    "end_marks",
  ];

  it("deletes what ended 300 seconds ago and nothing else, and tells how much", async () => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    await storage.clients.save(spa("https://one.example"));
    for (const expiresAt of [2_000, 2_001]) await storeOneOfEach(storage, expiresAt);
    expect(await storage.deleteExpired(2_299)).toBe(0);
    expect(await storage.deleteExpired(2_300)).toBe(8);
    for (const table of expiring)
      expect(await ask(`SELECT expires_at::int FROM ${prefix}${table}`)).toEqual([{ expires_at: 2_001 }]);
    expect(await storage.deleteExpired(2_301)).toBe(8);
    expect(await storage.deleteExpired(2_000_000)).toBe(0);
    expect(await storage.clients.find("spa")).toBeDefined();
    expect(await storage.clients.isBrowserOrigin("https://one.example")).toBe(true);
  });

  it("goes by the clock of the process when it is given no time", async () => {
    const storage = await openStorage();
    const now = Math.floor(Date.now() / 1000);
    await storage.authorizationCodes.create(codeRecord("old", { expiresAt: now - 301 }), 1_000);
    await storage.authorizationCodes.create(codeRecord("new", { expiresAt: now }), 1_000);
    expect(await storage.deleteExpired()).toBe(1);
  });

  it("deletes 1000 rows at most by one statement, and goes on until all are gone", async () => {
    const prefix = newName();
    await openStorage({ prefix });
    await fillCodes(prefix, { rows: 2_500, expiresAt: 1_000 });
    const deleted: number[] = [];
    const watched = wrapPool(pool, async ({ text }, run) => {
      const result = await run();
      if (text.startsWith("DELETE")) deleted.push(result.rows.length);
      return result;
    });
    expect(await postgresStorage({ pool: watched, prefix }).deleteExpired(9_000)).toBe(5_000);
    expect(Math.max(...deleted)).toBeLessThanOrEqual(1_000);
    expect(await ask(`SELECT * FROM ${prefix}authorization_codes`)).toEqual([]);
    expect(await ask(`SELECT * FROM ${prefix}spent_tokens`)).toEqual([]);
  });

  it("keeps a consent that is given again in the same moment", async () => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    await storage.consents.save({ ...key, scopes: [], grantedAt: 1_000, expiresAt: 1_100 }, 1_000);
    const renewing = new Connection({ connectionString: server.url });
    await renewing.connect();
    await renewing.query("BEGIN");
    await renewing.query(`UPDATE ${prefix}consents SET expires_at = 99000`);
    const deleting = storage.deleteExpired(9_000);
    await untilOneWaits();
    await renewing.query("COMMIT");
    await renewing.end();
    await deleting;
    expect(await storage.consents.find(key, 9_000)).toMatchObject({ expiresAt: 99_000 });
  });
}

function markTests(): void {
  const expiresAt = 2_000;
  const spendings: [string, (storage: PostgresStorage, now: number) => Promise<string>][] = [
    ["code", (storage, now) => storage.authorizationCodes.consume(codeRecord("a", { expiresAt }), now)],
    [
      "refresh token",
      (storage, now) => {
        const to = refreshTokenRecord(randomBytes(8).toString("hex"));
        return storage.refreshTokens.rotate({ from: refreshTokenRecord("a", { expiresAt }), to }, now);
      },
    ],
  ];

  it.each(spendings)("never lets a %s be spent twice by clocks 300 seconds apart", async (_, spend) => {
    const storage = await openStorage();
    await storage.authorizationCodes.create(codeRecord("a", { expiresAt }), 1_000);
    await storage.refreshTokens.create(refreshTokenRecord("a", { expiresAt }), 1_000);
    expect(await spend(storage, 1_000)).toMatch(/^(?:consumed|rotated)$/);
    for (let ahead = expiresAt - 2; ahead <= expiresAt + 302; ahead += 1) {
      await storage.deleteExpired(ahead);
      expect(await spend(storage, ahead - 300)).toMatch(/^not-/);
    }
  });

  it.each(spendings)(
    "shows a %s as spent for as long as it is found by such a clock",
    async (kind, spend) => {
      const storage = await openStorage();
      const [code, token] = [codeRecord("a", { expiresAt }), refreshTokenRecord("a", { expiresAt })];
      await storage.authorizationCodes.create(code, 1_000);
      await storage.refreshTokens.create(token, 1_000);
      await spend(storage, 1_000);
      await storage.deleteExpired(expiresAt + 299);
      const at = expiresAt - 1;
      if (kind === "code") {
        expect(await storage.authorizationCodes.find(code, at)).toEqual({ ...code, consumed: true });
      } else expect(await storage.refreshTokens.find(token, at)).toEqual({ ...token, used: true });
    },
  );

  it("removes no mark before its token, wherever it is interrupted", async () => {
    let finished = false;
    for (let crashAt = 1; !finished; crashAt += 1) {
      const prefix = newName();
      await openStorage({ prefix });
      await fillCodes(prefix, { rows: 2_500, expiresAt: 1_000 });
      let at = 0;
      const crashing = wrapPool(pool, (_, run) => {
        at += 1;
        return at === crashAt ? Promise.reject(failure("57P01")) : run();
      });
      finished = await postgresStorage({ pool: crashing, prefix })
        .deleteExpired(9_000)
        .then(
          () => true,
          () => false,
        );
      expect(await ask(unmarked(prefix))).toEqual([{ tokens: 0 }]);
    }
  });
}

/** Tables with 2,500 expired codes, refresh tokens and marks, and a host that serves from them. */
async function busyHost() {
  const prefix = newName();
  const storage = await openStorage({ prefix });
  await storage.clients.save({ ...clients.web, trusted: true });
  await fillCodes(prefix, { rows: 2_500, expiresAt: 1_000 });
  await ask(
    `INSERT INTO ${prefix}refresh_tokens SELECT 'token-' || n, '{}', 1000 FROM generate_series(1, 2500) AS n`,
  );
  return { prefix, storage, host: testHost({ storage }) };
}

function servingTests(): void {
  it("loses nothing that lives while 4 processes delete and 200 codes are exchanged", async () => {
    const { prefix, host } = await busyHost();
    const cleaners = numbers(4).map(() => postgresStorage({ pool: server.pool({ max: 1 }), prefix }));
    const state = { serving: true };
    const deleting = cleaners.map(async (cleaner) => {
      let deleted = 0;
      do deleted += await cleaner.deleteExpired();
      while (state.serving);
      return deleted;
    });
    let next = 0;
    const tokens: string[] = [];
    async function exchange(): Promise<void> {
      while (next < 200) {
        next += 1;
        const code = await obtainCode(host, { client: "web" });
        const { status, body } = await redeem(host, { client: "web", code });
        expect(status).toBe(200);
        tokens.push((body as Tokens).refresh_token ?? "");
      }
    }
    await Promise.all(numbers(10).map(exchange));
    state.serving = false;
    const deleted = await Promise.all(deleting);
    expect(deleted.reduce((sum, each) => sum + each)).toBe(7_500);
    const statuses: number[] = [];
    for (const refreshToken of tokens)
      statuses.push((await refresh(host, { client: "web", refreshToken })).status);
    expect(statuses).toEqual(numbers(200).map(() => 200));
    expect(host.events.filter(({ kind }) => kind === "server-error")).toEqual([]);
  });

  it("carries every journey of the server", async () => {
    const storage = await openStorage();
    for (const client of Object.values(clients)) await storage.clients.save(client);
    const host = testHost({ storage });
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(400);
    const opaque = await obtainTokens(host, { client: "native", pair: { api: "reports" } });
    expect(opaque.access_token).not.toContain(".");
    const fields = {
      grant_type: "client_credentials",
      client_id: "machine",
      client_secret: machineSecret.secret,
    };
    expect((await postToken(host, { fields })).status).toBe(200);
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(302);
  });
}

describeWith(postgres, {
  name: "PostgreSQL",
  tests() {
    beforeAll(async () => {
      server = await startPostgres(["synchronous_commit=off", "deadlock_timeout=50ms"]);
      pool = server.pool({ max: 16 });
    });
    afterAll(() => server.close());

    describe("postgresStorage migrate()", migrateTests);
    describe("postgresStorage roles (RFC 6749 §10.5)", roleTests);
    describe("postgresStorage connections", driverTests);
    describe("postgresStorage repetitions (RFC 6749 §10.5)", retryTests);
    describe("postgresStorage client table (RFC 6749 §2)", clientTests);
    describe("postgresStorage deleteExpired() (RFC 6749 §10.5)", deleteTests);
    describe("postgresStorage marks of spent tokens (RFC 6749 §4.1.2, 9700 §4.14.2)", markTests);
    describe("postgresStorage while it serves (RFC 6749 §4.1)", servingTests);
  },
});
