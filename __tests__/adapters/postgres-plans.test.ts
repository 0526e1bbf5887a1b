import type { Pool } from "pg";
import type { Storage } from "../../lib";
import { postgresStorage, type PostgresStorage } from "../../lib/postgres";
import { newRegistration } from "../../lib/testing/contract/records";
import { postgres, type PostgresServer, startPostgres } from "../servers/postgres-server";
import {
  accessTokenRecord,
  authorizationRecord,
  codeRecord,
  publicRecord,
  refreshTokenRecord,
} from "../records/records";
import { describeWith } from "../servers/server-process";

const rows = 1_000_000;
/** Row n ends at second n. */
const columns: Readonly<Record<string, string>> = {
  clients: "'client-' || n, '{}'",
  browser_origins: "'https://' || n || '.example', 'client-' || n",
  consents: "'user-' || n, 'client-' || n % 1000, 'orders', '', '{}', n",
  authorizations:
    "'authorization-' || n, 'user-' || n, 'client-' || n % 1000, 'orders', '', '{\"grantedScopes\":[\"orders:write\",\"orders:read\"]}', false, 0, n",
  authorization_codes: "'code-' || n, '{}', n",
  refresh_tokens: "'token-' || n, '{}', n",
  spent_tokens: "'code-' || n, '', n",
  access_tokens: "'access-' || n, '{}', n",
  revoked_access_tokens: "'id-' || n, n",
  end_marks: "'key-' || n, 'mark-' || n, n",
  used_assertions: "'assertion-' || n, n",
  client_registrations: "'client-' || n, '{}', n % 2 = 0, n",
  parked_requests: "'request-' || n, 'client-' || n % 100, 'open', '', '', n",
};

interface Statement {
  readonly method: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** What each method of each port is asked on the full tables. */
function questions(storage: PostgresStorage): Readonly<Record<string, () => Promise<unknown>>> {
  const { authorizations, authorizationCodes, refreshTokens, accessTokens, clients, consents, endMarks } =
    storage;
  const { clientAssertions, clientRegistrations, parkedRequests, atOnce } = storage;
  const accessToken = { ...accessTokenRecord(), digest: "new" };
  const key = { subject: "user-7", clientId: "client-7", apiId: "orders" };
  const handle = { authorizationId: "authorization-7", digest: "code-7" };
  const from = { authorizationId: "authorization-7", digest: "token-7" };
  const spa = publicRecord("browser");
  const inContext = { ...key, contextKey: "acme" };
  const consent = { ...key, scopes: [], grantedAt: 1, endMarks: [], expiresAt: 2 * rows };
  const exceptEndMark = "a mark";
  const scopes = ["orders:read"];
  const page = { limit: 50, after: "authorization-7" };
  const one = { subject: "user-7", authorizationId: "authorization-7" };
  return {
    "clients.find": () => clients.find("client-7"),
    "clients.isBrowserOrigin": () => clients.isBrowserOrigin("https://7.example"),
    "clients.save": () => clients.save(spa),
    "clients.replace": () => clients.replace({ from: spa, to: { ...spa, name: "Another name" } }),
    "clients.delete": () => clients.delete(spa.clientId),
    "clients.list": () => clients.list({ limit: 50 }),
    "clients.list, a later page": () => clients.list({ after: "client-7", limit: 50 }),
    "consents.find": () => consents.find(key, 1),
    "consents.find, in a context": () => consents.find(inContext, 1),
    "consents.save": () => consents.save(consent, 1),
    "consents.save, in a context": () => consents.save({ ...consent, ...inContext }, 1),
    "consents.list": () => consents.list("user-7", 1),
    "consents.delete": () => consents.delete({ selection: key, exceptEndMark }, 1),
    "consents.delete, without a context": () =>
      consents.delete({ selection: { ...key, contextKey: "" }, exceptEndMark }, 1),
    "consents.delete, in a context": () => consents.delete({ selection: inContext, exceptEndMark }, 1),
    "authorizations.create": () => authorizations.create(authorizationRecord(), 1),
    "atOnce.approve": async () =>
      atOnce?.approve?.(
        { authorization: authorizationRecord({ authorizationId: "approved" }), code: codeRecord("approved") },
        1,
      ),
    "atOnce.redeem": async () =>
      atOnce?.redeem?.(
        {
          code: handle,
          refreshToken: refreshTokenRecord("paid"),
          accessToken: { ...accessToken, digest: "paid" },
        },
        1,
      ),
    "authorizations.find": () => authorizations.find("authorization-7", 1),
    "authorizations.revoke": () => authorizations.revoke("authorization-7", 1),
    "authorizations.revokeAll": () => authorizations.revokeAll({ subject: "user-7" }, 1),
    "authorizations.revokeAll, of a client": () => authorizations.revokeAll(key, 1),
    "authorizations.revokeAll, in a context": () => authorizations.revokeAll(inContext, 1),
    "authorizations.narrowAll": () =>
      authorizations.narrowAll({ selection: { subject: "user-8" }, scopes }, 1),
    "authorizations.narrowAll, of a client": () => authorizations.narrowAll({ selection: key, scopes }, 1),
    "authorizations.narrowAll, in a context": () =>
      authorizations.narrowAll({ selection: inContext, scopes }, 1),
    "authorizations.list": () => authorizations.list("user-7", { limit: 50 }, 1),
    "authorizations.list, a later page": () => authorizations.list("user-7", page, 1),
    "authorizations.erase": () => authorizations.erase({ subject: "user-6" }, 1),
    "authorizations.erase, one": () => authorizations.erase(one, 1),
    "authorizations.noteUse": () => authorizations.noteUse("authorization-7", 1),
    "authorizationCodes.create": () => authorizationCodes.create(codeRecord(), 1),
    "authorizationCodes.find": () => authorizationCodes.find(handle, 1),
    "authorizationCodes.consume": () => authorizationCodes.consume(handle, 1),
    "refreshTokens.create": () => refreshTokens.create(refreshTokenRecord(), 1),
    "refreshTokens.find": () => refreshTokens.find(from, 1),
    "refreshTokens.rotate": () => refreshTokens.rotate({ from, to: refreshTokenRecord("next") }, 1),
    "accessTokens.create": () => accessTokens.create(accessToken, 1),
    "accessTokens.find": () => accessTokens.find("access-7", 1),
    "accessTokens.revoke": () => accessTokens.revoke({ tokenId: "new", expiresAt: rows }, 1),
    "accessTokens.isRevoked": () => accessTokens.isRevoked("id-7", 1),
    "endMarks.find": () => endMarks.find(["key-7", "key-8", "new"], 1),
    "endMarks.save": () => endMarks.save({ key: "new", mark: "a mark", expiresAt: rows }, 1),
    "clientAssertions.use": () => clientAssertions.use({ digest: "new", expiresAt: rows }, 1),
    // 500 extended and 500 other ones live, and some of these go
    "clientRegistrations.create": () =>
      clientRegistrations.create(newRegistration(rows), { limit: 900, now: rows - 1_000 }),
    "clientRegistrations.find": () => clientRegistrations.find("client-7", 1),
    "clientRegistrations.extend": () =>
      clientRegistrations.extend({ clientId: "client-7", expiresAt: rows }, 1),
    "parkedRequests.create": () =>
      parkedRequests.create(
        { key: "new", owner: "client-7", state: "open", expiresAt: rows },
        { limit: 10_000, now: 1 },
      ),
    "parkedRequests.find": () => parkedRequests.find("request-7", 1),
    "parkedRequests.close": () =>
      parkedRequests.close({ key: "request-7", as: "approved", by: "an answer" }, 1),
    // few rows go, more than a batch, and no more than have just been added
    deleteExpired: () => storage.deleteExpired(1_500 + 300),
  };
}

const ports = [
  "atOnce",
  "clients",
  "consents",
  "authorizations",
  "authorizationCodes",
  "refreshTokens",
  "accessTokens",
  "endMarks",
  "clientAssertions",
  "clientRegistrations",
  "parkedRequests",
] as const satisfies readonly (keyof Storage)[];

/** A node of `EXPLAIN (FORMAT JSON)`. */
interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Cond"?: string;
  /** Of each loop; like the following ones with ANALYZE only. */
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(plan: PlanNode): readonly PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

const indexScans = ["Index Scan", "Index Only Scan", "Bitmap Index Scan"];

/** The nodes that read a table or an index other than by a condition on the index. */
function slowNodes(plan: PlanNode): readonly string[] {
  return nodesOf(plan)
    .filter((node) => {
      const type = node["Node Type"];
      if (indexScans.includes(type)) return node["Index Cond"] === undefined;
      return node["Relation Name"] !== undefined && !["ModifyTable", "Bitmap Heap Scan"].includes(type);
    })
    .map((node) => `${node["Node Type"]} on ${node["Relation Name"]}`);
}

/** How many rows of tables the statement has looked at, whether it needed them or not. */
function rowsReadBy(plan: PlanNode): number {
  return nodesOf(plan)
    .filter((node) => node["Relation Name"] !== undefined && node["Node Type"] !== "ModifyTable")
    .map((node) => {
      const each = (node["Actual Rows"] ?? 0) + (node["Rows Removed by Filter"] ?? 0);
      return each * (node["Actual Loops"] ?? 0);
    })
    .reduce((sum, read) => sum + read, 0);
}

let server: PostgresServer;
let pool: Pool;
const statements: Statement[] = [];

/** Without the indexes first: filling a table that has them takes three times as long. */
async function fill(table: string): Promise<void> {
  const name = `authmount_${table}`;
  const { rows: indexes } = await pool.query<{ indexname: string; indexdef: string }>(
    "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = $1 AND indexname NOT LIKE '%_pkey'",
    [name],
  );
  const { rows: keys } = await pool.query<{ conname: string; definition: string }>(
    "SELECT conname, pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE conrelid = $1::regclass AND contype = 'p'",
    [name],
  );
  for (const { conname } of keys) await pool.query(`ALTER TABLE ${name} DROP CONSTRAINT ${conname}`);
  for (const { indexname } of indexes) await pool.query(`DROP INDEX ${indexname}`);
  await pool.query(`ALTER TABLE ${name} SET UNLOGGED`);
  await pool.query(`INSERT INTO ${name} SELECT ${columns[table]} FROM generate_series(1, ${rows}) AS n`);
  for (const { conname, definition } of keys)
    await pool.query(`ALTER TABLE ${name} ADD CONSTRAINT ${conname} ${definition}`);
  for (const { indexdef } of indexes) await pool.query(indexdef);
  await pool.query(`ANALYZE ${name}`);
}

/** Runs every method once, and keeps what it has sent. */
async function watchMethods(): Promise<void> {
  let method = "";
  const watched = postgresStorage({
    pool: {
      query(text, values = []) {
        statements.push({ method, text, values });
        return pool.query<Record<string, unknown>>(text, values);
      },
    },
  });
  for (const [name, run] of Object.entries(questions(watched))) {
    method = name;
    await run();
  }
}

async function explain(explanation: string, values: readonly unknown[]): Promise<PlanNode> {
  const { rows: found } = await pool.query<{ "QUERY PLAN": readonly { Plan: PlanNode }[] }>(explanation, [
    ...values,
  ]);
  const plan = found[0]?.["QUERY PLAN"][0]?.Plan;
  if (!plan) throw new Error(`no plan of ${explanation}`);
  return plan;
}

/** How many blocks a statement with a limit has read to find refresh tokens; infinitely many for all other statements. */
function blocksReadBy(plan: PlanNode): number {
  const limit = nodesOf(plan).find((node) => node["Node Type"] === "Limit");
  const isOurs = limit?.Plans?.[0]?.["Relation Name"] === "authmount_refresh_tokens";
  return isOurs ? (limit["Shared Hit Blocks"] ?? 0) + (limit["Shared Read Blocks"] ?? 0) : Infinity;
}

/** Runs a method, undoes what it has done, and tells what each of its statements has read. */
async function whatIsRead(
  run: (storage: PostgresStorage) => Promise<unknown>,
  readBy: (plan: PlanNode) => number,
): Promise<readonly number[]> {
  const connection = await pool.connect();
  const read: number[] = [];
  const storage = postgresStorage({
    schema: "public",
    pool: {
      async query(text, values = []) {
        await connection.query("SAVEPOINT before");
        const explained = await connection.query<{ "QUERY PLAN": readonly { Plan: PlanNode }[] }>(
          `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
          values,
        );
        read.push(...explained.rows.map((row) => readBy(row["QUERY PLAN"][0]?.Plan ?? unplanned)));
        await connection.query("ROLLBACK TO before");
        return connection.query<Record<string, unknown>>(text, values);
      },
    },
  });
  await connection.query("BEGIN");
  await run(storage);
  await connection.query("ROLLBACK");
  connection.release();
  return read;
}

const unplanned: PlanNode = { "Node Type": "none", "Actual Rows": Infinity };

function insertAuthorizations(values: string, count: number): Promise<unknown> {
  return pool.query(`INSERT INTO authmount_authorizations
    (authorization_id, subject, client_id, api_id, record, revoked, last_used_at, expires_at, context_key)
    SELECT ${values} FROM generate_series(1, ${count}) AS n`);
}

/**
 * Authorizations of one person among the million: 3,000 revoked and 150 living ones of one client, 120 of it in a context, and 10
 * for each of 20 other clients.
 */
async function addBusyPerson(): Promise<void> {
  const end = 2 * rows;
  await insertAuthorizations(
    `'revoked-' || n, 'busy', 'client-1', 'orders', '{"grantedScopes":["orders:read"]}', true, 0, ${end} + n, ''`,
    3_000,
  );
  await insertAuthorizations(
    `'plain-' || n, 'busy', 'client-1', 'orders', '{"grantedScopes":["orders:read"]}', false, 0, ${end} + n, ''`,
    150,
  );
  await insertAuthorizations(
    `'acme-' || n, 'busy', 'client-1', 'orders', '{"grantedScopes":["orders:read"]}', false, 0, ${end} + n, 'acme'`,
    120,
  );
  await insertAuthorizations(
    `'other-' || n, 'busy', 'client-' || 2 + n % 20, 'orders', '{"grantedScopes":["orders:read"]}', false, 0, ${end} + n, ''`,
    200,
  );
}

describeWith(postgres, {
  name: "PostgreSQL",
  tests() {
    beforeAll(async () => {
      server = await startPostgres([
        "synchronous_commit=off",
        "wal_level=minimal",
        "max_wal_senders=0",
        "autovacuum=off",
        "shared_buffers=256MB",
        "max_wal_size=4GB",
        "maintenance_work_mem=192MB",
      ]);
      pool = server.pool({ max: 2 });
      await postgresStorage({ pool }).migrate();
      const tables = Object.keys(columns);
      const worker = async (): Promise<void> => {
        for (let table = tables.shift(); table !== undefined; table = tables.shift()) await fill(table);
      };
      await Promise.all([worker(), worker()]);
      await watchMethods();
    });
    afterAll(() => server.close());

    describe("plans on tables of 1,000,000 rows (PostgreSQL EXPLAIN)", () => {
      it("are asked for every table that grows", async () => {
        const { rows: found } = await pool.query<{ relname: string; rows: number }>(
          "SELECT relname, reltuples::int AS rows FROM pg_class WHERE relkind = 'r' AND starts_with(relname, 'authmount_')",
        );
        const full = found.filter((table) => table.rows >= 0.99 * rows).map(({ relname }) => relname);
        const small = found.filter((table) => table.rows < 0.99 * rows).map(({ relname }) => relname);
        expect(full.toSorted()).toEqual(
          Object.keys(columns)
            .map((table) => `authmount_${table}`)
            .toSorted(),
        );
        expect(small).toEqual(["authmount_migrations"]);
      });

      it("are asked for every method", () => {
        const storage = postgresStorage({ pool });
        const methods = ports.flatMap((port) =>
          Object.keys(storage[port] ?? {}).map((method) => `${port}.${method}`),
        );
        const asked = [...new Set(statements.map(({ method }) => method.split(",")[0] ?? ""))];
        expect([...asked, "atOnce.of"].toSorted()).toEqual([...methods, "deleteExpired"].toSorted());
        expect(Object.keys(storage).toSorted()).toEqual([...ports, "deleteExpired", "migrate"].toSorted());
      });

      it("read by an index for the values that were sent", async () => {
        for (const { method, text, values } of statements) {
          const plan = await explain(`EXPLAIN (FORMAT JSON) ${text}`, values);
          expect({ method, text, slow: slowNodes(plan) }).toEqual({ method, text, slow: [] });
        }
      });

      it("read by an index when they are made for all values", async () => {
        for (const { method, text } of statements) {
          const plan = await explain(`EXPLAIN (FORMAT JSON, GENERIC_PLAN) ${text}`, []);
          expect({ method, text, slow: slowNodes(plan) }).toEqual({ method, text, slow: [] });
        }
      });

      it.each([0, 1, 1_000, rows / 2, 2 * rows])(
        "delete by an index what ended before second %i",
        async (now) => {
          const deletions = statements.filter(
            ({ text }) => text.startsWith("DELETE FROM") && text.includes("LIMIT"),
          );
          expect(new Set(deletions.map(({ text }) => text)).size).toBe(11);
          for (const { text } of deletions) {
            const plan = await explain(`EXPLAIN (FORMAT JSON) ${text}`, [now, 0]);
            expect({ text, slow: slowNodes(plan) }).toEqual({ text, slow: [] });
          }
        },
      );
    });

    describe("blocks read by deleteExpired (PostgreSQL EXPLAIN ANALYZE)", () => {
      // one transaction, in which the index keeps all that was deleted, as during a backup
      it("are no more for later batches than for the first", async () => {
        const blocks = await whatIsRead(({ deleteExpired }) => deleteExpired(300 + 20_000), blocksReadBy);
        const [first = 0, ...others] = blocks.filter((count) => Number.isFinite(count));
        expect(others.length).toBeGreaterThan(10);
        expect(Math.max(...others)).toBeLessThan(2 * first);
      });
    });

    describe("rows read of a busy person among 1,000,000 (PostgreSQL EXPLAIN ANALYZE)", () => {
      beforeAll(addBusyPerson);
      const subject = "busy";
      const ofClient = { subject, clientId: "client-1", apiId: "orders" };
      const inContext = { ...ofClient, contextKey: "acme" };
      const record = authorizationRecord({ ...ofClient, authorizationId: "new", expiresAt: 3 * rows });
      const page = { limit: 50, after: "plain-60" };
      // what is changed is read twice: to find it, and by its primary key
      const cases: [string, (storage: PostgresStorage) => Promise<unknown>, readonly number[]][] = [
        ["a page of the list", ({ authorizations }) => authorizations.list(subject, { limit: 50 }, 1), [470]],
        ["a later page", ({ authorizations }) => authorizations.list(subject, page, 1), [471]],
        ["the end of all", ({ authorizations }) => authorizations.revokeAll({ subject }, 1), [940]],
        ["the end of a client", ({ authorizations }) => authorizations.revokeAll(ofClient, 1), [540]],
        ["the end of a context", ({ authorizations }) => authorizations.revokeAll(inContext, 1), [240]],
        [
          "taking a part of a client",
          ({ authorizations }) =>
            authorizations.narrowAll({ selection: ofClient, scopes: ["orders:read"] }, 1),
          [270],
        ],
        ["a new one beyond the limit", ({ authorizations }) => authorizations.create(record, 1), [150, 51]],
        [
          "erasing one",
          ({ authorizations }) => authorizations.erase({ subject, authorizationId: "acme-1" }, 1),
          [2],
        ],
        [
          "erasing all",
          ({ authorizations }) => authorizations.erase({ subject }, 1),
          [1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 940],
        ],
      ];
      for (const statistics of ["before the statistics know", "once the statistics know"]) {
        describe(statistics, () => {
          beforeAll(async () => {
            if (statistics.startsWith("before")) return;
            await pool.query("ANALYZE authmount_authorizations");
          });
          it.each(cases)("%s reads no more than it names", async (_, run, expected) => {
            expect(await whatIsRead(run, rowsReadBy)).toEqual(expected);
          });
        });
      }
    });
  },
});
