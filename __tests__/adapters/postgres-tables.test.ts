import { randomBytes } from "node:crypto";
import * as fc from "fast-check";
import type { Pool } from "pg";
import { postgresStorage, type PostgresStorage, type PostgresStorageOptions } from "../../lib/postgres";
import { assess } from "../../lib/review/assess";
import { weaknessesOf } from "../../lib/review/weaknesses";
import { checkNames, tablesIn } from "../../lib/adapters/postgres/tables";
import { schemaVersions } from "../../lib/adapters/postgres/schema";
import { postgres, type PostgresServer, startPostgres } from "../servers/postgres-server";
import { emptyStorage, goodOptions } from "../records/options";
import { codeRecord, confidentialRecord, refreshTokenRecord } from "../records/records";
import { describeWith } from "../servers/server-process";

/** Every name that takes a place in a schema: of tables, of their indexes and of the indexes of their primary keys. */
function namesOf(prefix: string): readonly string[] {
  const made = schemaVersions.flatMap((statementsOn) => statementsOn(tablesIn("public", prefix)));
  const tables = made.flatMap(
    (text) => /^CREATE TABLE IF NOT EXISTS "public"\."([^"]+)"/.exec(text)?.[1] ?? [],
  );
  const indexes = made.flatMap((text) => /^CREATE INDEX IF NOT EXISTS "([^"]+)"/.exec(text)?.[1] ?? []);
  expect(tables.length + indexes.length).toBe(made.length);
  const all = [...tables, `${prefix}migrations`];
  return [...all, ...indexes, ...all.map((name) => `${name}_pkey`)];
}

function isTaken(prefix: string): boolean {
  try {
    checkNames({ prefix });
    return true;
  } catch {
    return false;
  }
}

describe("postgresStorage prefixes never share a name (RFC 6749 §10.5)", () => {
  const bare = namesOf("x").map((name) => name.slice(1));

  it("refuses every ending by which one prefix and another make the same name", () => {
    const endings = bare.flatMap((name) =>
      bare.filter((other) => name.endsWith(other)).map((other) => name.slice(0, -other.length)),
    );
    const shared = [...new Set(endings)].filter((ending) => ending !== "");
    expect(shared).toEqual(["revoked_"]);
    for (const ending of shared) expect(isTaken(`north_${ending}`)).toBe(false);
  });

  it("holds for any two prefixes that are taken", () => {
    const piece = fc.constantFrom("a", "_", "north_", "revoked_", "access_", "tokens", "end_", ...bare);
    const prefix = fc
      .array(piece, { minLength: 1, maxLength: 4 })
      .map((pieces) => pieces.join("").slice(0, 30));
    const pair = fc.oneof(
      fc.tuple(prefix, prefix),
      fc.tuple(prefix, piece).map(([one, more]) => [one, `${one}${more}`.slice(0, 30)] as const),
    );
    fc.assert(
      fc.property(pair, ([one, other]) => {
        fc.pre(one !== other && isTaken(one) && isTaken(other));
        const names = new Set(namesOf(one));
        expect(namesOf(other).filter((name) => names.has(name))).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(["authmount_", "north_", "revoked_", "revoked", "north_revoked", "a_revoked_tokens_"])(
    "takes the prefix %s, which shares nothing",
    (prefix) => expect(isTaken(prefix)).toBe(true),
  );

  it("makes no name that PostgreSQL would cut (63 bytes)", () => {
    expect(namesOf("a".repeat(30)).filter((name) => name.length > 63)).toEqual([]);
  });
});

let server: PostgresServer;
let pool: Pool;

function newName(): string {
  return `t${randomBytes(6).toString("hex")}_`;
}

async function ask(text: string): Promise<readonly Record<string, unknown>[]> {
  return (await pool.query<Record<string, unknown>>(text)).rows;
}

async function openStorage(options: Partial<PostgresStorageOptions> = {}): Promise<PostgresStorage> {
  const storage = postgresStorage({ pool, prefix: newName(), ...options });
  await storage.migrate();
  return storage;
}

/** A pool whose connections look for names in these schemas. */
function searching(...schemas: readonly string[]): Pool {
  return server.pool({ options: `-c search_path=${schemas.join(",")}` });
}

async function newSchema(): Promise<string> {
  const schema = newName();
  await ask(`CREATE SCHEMA ${schema}`);
  return schema;
}

const web = confidentialRecord();

function missingTableTests(): void {
  it("says what to do where migrate() was forgotten", async () => {
    const storage = postgresStorage({ pool, prefix: newName() });
    const failed = storage.clients.find("web");
    await expect(failed).rejects.toMatchObject({
      code: "postgres-not-migrated",
      cause: { code: "42P01" },
    });
  });

  it("says so of a column that a newer version needs, too", async () => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    await ask(`ALTER TABLE ${prefix}consents DROP COLUMN expires_at`);
    const key = { subject: "alice", clientId: "web", apiId: "orders" };
    await expect(storage.consents.find(key, 0)).rejects.toMatchObject({ code: "postgres-not-migrated" });
  });
}

function schemaTests(): void {
  it("makes tables of its own where the first schema has none and the second has some", async () => {
    const [north, south] = [await newSchema(), await newSchema()];
    const ofSouth = await openStorage({ pool: searching(south), prefix: "authmount_" });
    await ofSouth.clients.save(web);
    const ofNorth = postgresStorage({ pool: searching(north, south) });
    await ofNorth.migrate();
    expect(await ofNorth.clients.find("web")).toBeUndefined();
    await ofNorth.clients.save({ ...web, name: "North" });
    expect((await ofSouth.clients.find("web"))?.name).toBe(web.name);
  });

  it("fails before it is migrated, and asks no other schema of the search path", async () => {
    const [north, south] = [await newSchema(), await newSchema()];
    await openStorage({ pool: searching(south), prefix: "authmount_" });
    const ofNorth = postgresStorage({ pool: searching(north, south) });
    await expect(ofNorth.clients.find("web")).rejects.toMatchObject({ cause: { code: "42P01" } });
  });

  it("stays in the schema of its first statement, wherever later connections look", async () => {
    const [north, south] = [await newSchema(), await newSchema()];
    await openStorage({ pool: searching(north), prefix: "authmount_" });
    await openStorage({ pool: searching(south), prefix: "authmount_" });
    const [first, later] = [searching(north), searching(south)];
    let current = first;
    const storage = postgresStorage({
      pool: { query: (text, values) => current.query<Record<string, unknown>>(text, values) },
    });
    await storage.clients.save(web);
    current = later;
    expect(await storage.clients.find("web")).toEqual(web);
  });

  it("asks for the schema once, and again where that has failed", async () => {
    const texts: string[] = [];
    const schema = await newSchema();
    const own = searching(schema);
    await openStorage({ pool: own, prefix: "authmount_" });
    const storage = postgresStorage({
      pool: {
        query(text, values) {
          texts.push(text);
          if (texts.length === 1) return Promise.reject(new Error("away"));
          return own.query<Record<string, unknown>>(text, values);
        },
      },
    });
    await expect(storage.clients.find("web")).rejects.toThrow("away");
    await Promise.all([storage.clients.find("web"), storage.clients.find("web")]);
    expect(texts.filter((text) => text.includes("current_schema"))).toHaveLength(2);
  });

  it("says so where no schema of the search path exists", async () => {
    const storage = postgresStorage({ pool: searching("nowhere") });
    await expect(storage.migrate()).rejects.toMatchObject({ code: "postgres-no-schema" });
    await expect(storage.clients.find("web")).rejects.toMatchObject({ code: "postgres-no-schema" });
  });

  it("serves in a schema whose name is no plain one", async () => {
    const schema = `Odd"${newName()}`;
    const quoted = `"${schema.replaceAll('"', '""')}"`;
    await ask(`CREATE SCHEMA ${quoted}`);
    const storage = await openStorage({ pool: searching(quoted) });
    await storage.clients.save(web);
    expect(await storage.clients.find("web")).toEqual(web);
  });
}

function checkTests(): void {
  it.each([
    ["clients", "id integer, name text", '"client_id" of type text'],
    ["clients", "client_id text PRIMARY KEY", '"record" of type text'],
    [
      "consents",
      "subject char(20), client_id text, api_id text, record text, expires_at bigint",
      '"subject" of type text',
    ],
    ["end_marks", "key text PRIMARY KEY, mark text, expires_at timestamptz", '"expires_at" of type bigint'],
    ["migrations", "id serial, name text", '"version" of type integer'],
  ])("refuses a table called %s with (%s), and makes nothing", async (table, columns, missing) => {
    const prefix = newName();
    await ask(`CREATE TABLE ${prefix}${table} (${columns})`);
    const migrating = postgresStorage({ pool, prefix }).migrate();
    await expect(migrating).rejects.toMatchObject({
      code: "postgres-table-foreign",
      message: expect.stringContaining(
        `"${prefix}${table}" exists but is not authmount's: it has no column ${missing}`,
      ) as string,
    });
    await expect(postgresStorage({ pool, prefix }).migrate()).rejects.toMatchObject({
      code: "postgres-table-foreign",
    });
    expect(await ask(`SELECT 1 FROM pg_tables WHERE starts_with(tablename, '${prefix}')`)).toHaveLength(1);
  });

  it.each([
    ["clients", "client_id"],
    ["browser_origins", "origin, client_id"],
    ["consents", "subject, client_id, api_id, context_key"],
    ["authorizations", "authorization_id"],
    ["authorization_codes", "digest"],
    ["refresh_tokens", "digest"],
    ["spent_tokens", "digest"],
    ["access_tokens", "digest"],
    ["revoked_access_tokens", "token_id"],
    ["end_marks", "key"],
    ["used_assertions", "digest"],
    ["client_registrations", "client_id"],
    ["parked_requests", "digest"],
    ["migrations", "version"],
  ])("refuses %s without its primary key, until it has one or a unique index on (%s)", async (table, key) => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    await ask(`ALTER TABLE ${prefix}${table} DROP CONSTRAINT ${prefix}${table}_pkey`);
    await expect(storage.migrate()).rejects.toMatchObject({
      code: "postgres-table-without-key",
      message: expect.stringContaining(`"${prefix}${table}"`) as string,
    });
    await expect(storage.migrate()).rejects.toMatchObject({ code: "postgres-table-without-key" });
    await ask(`CREATE INDEX ON ${prefix}${table} (${key})`);
    await ask(`CREATE UNIQUE INDEX ON ${prefix}${table} (${key}) WHERE ${key.split(",")[0]} IS NULL`);
    await expect(storage.migrate()).rejects.toMatchObject({ code: "postgres-table-without-key" });
    await ask(`CREATE UNIQUE INDEX ON ${prefix}${table} (${key})`);
    await storage.migrate();
  });

  it.each([
    ["spent_tokens", "digest", '"default"'],
    ["revoked_access_tokens", "token_id", '"en-x-icu"'],
    ["authorizations", "context_key", '"POSIX"'],
  ])(
    "refuses %s whose column %s has the collation %s, until it compares bytes",
    async (table, column, collation) => {
      const prefix = newName();
      const storage = await openStorage({ prefix });
      await ask(`ALTER TABLE ${prefix}${table} ALTER COLUMN ${column} TYPE text COLLATE ${collation}`);
      const remedy = `ALTER COLUMN ${column} TYPE text COLLATE "C"`;
      await expect(storage.migrate()).rejects.toMatchObject({
        code: "postgres-table-collation",
        message: expect.stringContaining(`"${prefix}${table}"`) as string,
      });
      await expect(storage.migrate()).rejects.toThrow(`Run: ALTER TABLE … ${remedy}.`);
      await ask(`ALTER TABLE ${prefix}${table} ${remedy}`);
      await storage.migrate();
    },
  );

  it("takes a unique index in another order for no key: it would miss rows after an update of the system", async () => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    await ask(`ALTER TABLE ${prefix}spent_tokens DROP CONSTRAINT ${prefix}spent_tokens_pkey`);
    await ask(`CREATE UNIQUE INDEX ON ${prefix}spent_tokens (digest COLLATE "en-x-icu")`);
    await expect(storage.migrate()).rejects.toMatchObject({ code: "postgres-table-without-key" });
  });

  it("tells of settings and tables by which a crash loses what was acknowledged, and so does the assessment", async () => {
    const prefix = newName();
    const careless = server.pool({ options: "-c synchronous_commit=off" });
    const storage = postgresStorage({ pool: careless, prefix });
    await storage.migrate();
    await ask(`ALTER TABLE ${prefix}spent_tokens SET UNLOGGED`);
    expect(await storage.migrate()).toEqual([
      expect.stringMatching(/^fsync .* \[postgres-setting-off\]$/),
      expect.stringMatching(/^synchronous_commit .* \[postgres-setting-off\]$/),
      expect.stringMatching(`${prefix}spent_tokens .* \\[postgres-table-unlogged\\]$`),
    ]);
    const options = { ...goodOptions, storage: { ...storage, clients: emptyStorage.clients } };
    expect(weaknessesOf(options)).toContainEqual(
      expect.objectContaining({
        code: "storage-may-lose-records",
        problem: expect.stringContaining("fsync is off"),
      }),
    );
    const item = assess(options).items.find(({ section }) => section === "4.1.3");
    expect(item).toMatchObject({
      state: "weakened",
      by: [{ code: "storage-may-lose-records", path: "storage" }],
    });
  });

  it("refuses to serve where a table has gone, and makes it again where it is told to", async () => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    await ask(`DROP TABLE ${prefix}end_marks`);
    await expect(storage.migrate()).rejects.toMatchObject({ code: "postgres-table-missing" });
    await ask(`DELETE FROM ${prefix}migrations`);
    await storage.migrate();
    expect(await storage.endMarks.find(["key"], 1_000)).toEqual([undefined]);
  });

  it("takes tables with further columns, as a newer version may have added some", async () => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    await ask(`ALTER TABLE ${prefix}clients ADD COLUMN note text`);
    await storage.migrate();
  });
}

function keyTests(): void {
  const eight = Array.from({ length: 8 }, (_, index) => index);

  it("lets none of 8 rotations win while spent_tokens has no primary key", async () => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    const from = refreshTokenRecord();
    await storage.refreshTokens.create(from, 1_000);
    await ask(`ALTER TABLE ${prefix}spent_tokens DROP CONSTRAINT ${prefix}spent_tokens_pkey`);
    const rotations = eight.map((n) =>
      storage.refreshTokens.rotate({ from, to: refreshTokenRecord(`next ${n}`) }, 1_000),
    );
    const outcomes = await Promise.allSettled(rotations);
    expect(outcomes.map(({ status }) => status)).toEqual(eight.map(() => "rejected"));
    await expect(rotations[0]).rejects.toMatchObject({ code: "42P10" });
    await ask(`ALTER TABLE ${prefix}spent_tokens ADD PRIMARY KEY (digest)`);
    const to = refreshTokenRecord("the one");
    expect(await storage.refreshTokens.rotate({ from, to }, 1_000)).toBe("rotated");
  });

  it.each<[string, string, (storage: PostgresStorage) => Promise<unknown>]>([
    ["spent_tokens", "consume", ({ authorizationCodes }) => authorizationCodes.consume(codeRecord(), 1_000)],
    [
      "revoked_access_tokens",
      "revoke",
      ({ accessTokens }) => accessTokens.revoke({ tokenId: "token", expiresAt: 2_000 }, 1_000),
    ],
    [
      "end_marks",
      "save",
      ({ endMarks }) => endMarks.save({ key: "key", mark: "mark", expiresAt: 2_000 }, 1_000),
    ],
    [
      "used_assertions",
      "use",
      ({ clientAssertions }) => clientAssertions.use({ digest: "digest", expiresAt: 2_000 }, 1_000),
    ],
    [
      "parked_requests",
      "create",
      ({ parkedRequests }) =>
        parkedRequests.create({ key: "key", owner: "web", state: "open", expiresAt: 2_000 }, { now: 1_000 }),
    ],
    ["browser_origins", "save", ({ clients }) => clients.save(web)],
    ["clients", "save", ({ clients }) => clients.save(web)],
  ])("fails where %s has no primary key, in %s", async (table, _, call) => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    await storage.authorizationCodes.create(codeRecord(), 1_000);
    await ask(`ALTER TABLE ${prefix}${table} DROP CONSTRAINT ${prefix}${table}_pkey`);
    await expect(call(storage)).rejects.toMatchObject({ code: "42P10" });
  });
}

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}

function timeTests(): void {
  it.each<[string, () => unknown, string]>([
    ["milliseconds", () => Date.now(), "postgres-time-ahead"],
    ["more than 300 seconds from now", () => seconds() + 310, "postgres-time-ahead"],
    ["half a second", () => 1_000.5, "postgres-time-not-whole"],
    ["NaN", () => Number.NaN, "postgres-time-not-whole"],
    ["a Date, as some timers give", () => new Date(), "postgres-time-not-whole"],
    ["a text", () => "1000", "postgres-time-not-whole"],
    ["null", () => null, "postgres-time-not-whole"],
  ])("refuses %s, and deletes nothing", async (_, given, code) => {
    const storage = await openStorage();
    const now = seconds();
    await storage.authorizationCodes.create(codeRecord("living", { expiresAt: now + 60 }), now);
    const deleting = storage.deleteExpired(given() as number);
    await expect(deleting).rejects.toMatchObject({ name: "TypeError", code });
    expect(await storage.authorizationCodes.find(codeRecord("living"), now)).toBeDefined();
  });

  it("refuses the clock of its own process where that is years ahead", async () => {
    const storage = await openStorage();
    jest.spyOn(Date, "now").mockReturnValue(4_102_444_800_000);
    await expect(storage.deleteExpired()).rejects.toMatchObject({ code: "postgres-time-ahead" });
    jest.restoreAllMocks();
    expect(await storage.deleteExpired()).toBe(0);
  });

  it("takes a clock that is less than five minutes ahead", async () => {
    const storage = await openStorage();
    expect(await storage.deleteExpired(seconds() + 290)).toBe(0);
  });
}

describeWith(postgres, {
  name: "PostgreSQL",
  tests() {
    beforeAll(async () => {
      server = await startPostgres(["synchronous_commit=off"]);
      pool = server.pool({ max: 16 });
    });
    afterAll(() => server.close());

    describe("tables that are missing (RFC 6749 §10.5)", missingTableTests);
    describe("postgresStorage without schema (search_path)", schemaTests);
    describe("postgresStorage migrate() looks at what is there", checkTests);
    describe("postgresStorage without a primary key (RFC 6749 §4.1.2, 9700 §4.14.2)", keyTests);
    describe("postgresStorage deleteExpired() times (RFC 7519 §2, NumericDate)", timeTests);
  },
});
