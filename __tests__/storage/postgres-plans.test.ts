import type { Pool } from "pg";
import type { Storage } from "../../lib";
import { postgresStorage, type PostgresStorage } from "../../lib/postgres";
import { postgres, type PostgresServer, startPostgres } from "../fixture/postgres-server";
import {
  accessTokenRecord,
  authorizationRecord,
  codeRecord,
  publicRecord,
  refreshTokenRecord,
} from "../fixture/records";
import { describeWith } from "../fixture/server-process";

const rows = 1_000_000;
/** Row n ends at second n. */
const columns: Readonly<Record<string, string>> = {
  clients: "'client-' || n, '{}'",
  browser_origins: "'https://' || n || '.example', 'client-' || n",
  consents: "'user-' || n, 'client-' || n % 1000, 'orders', '{}', n",
  authorizations: "'authorization-' || n, 'user-' || n, 'client-' || n % 1000, 'orders', '{}', false, n",
  authorization_codes: "'code-' || n, '{}', n",
  refresh_tokens: "'token-' || n, '{}', n",
  spent_tokens: "'code-' || n, n",
  access_tokens: "'access-' || n, '{}', n",
  revoked_access_tokens: "'id-' || n, n",
  end_marks: "'key-' || n, 'mark-' || n, n",
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
  const key = { subject: "user-7", clientId: "client-7", apiId: "orders" };
  const handle = { authorizationId: "authorization-7", digest: "code-7" };
  const from = { authorizationId: "authorization-7", digest: "token-7" };
  const spa = publicRecord("browser");
  const consent = { ...key, scopes: [], grantedAt: 1, expiresAt: 2 * rows };
  return {
    "clients.find": () => clients.find("client-7"),
    "clients.isBrowserOrigin": () => clients.isBrowserOrigin("https://7.example"),
    "clients.save": () => clients.save(spa),
    "clients.delete": () => clients.delete(spa.clientId),
    "consents.find": () => consents.find(key, 1),
    "consents.save": () => consents.save(consent, 1),
    "consents.list": () => consents.list("user-7", 1),
    "consents.delete": () => consents.delete({ key, exceptEndMark: "a mark" }, 1),
    "authorizations.create": () => authorizations.create(authorizationRecord(), 1),
    "authorizations.find": () => authorizations.find("authorization-7", 1),
    "authorizations.revoke": () => authorizations.revoke("authorization-7", 1),
    "authorizations.revokeAll": () => authorizations.revokeAll(key, 1),
    "authorizationCodes.create": () => authorizationCodes.create(codeRecord(), 1),
    "authorizationCodes.find": () => authorizationCodes.find(handle, 1),
    "authorizationCodes.consume": () => authorizationCodes.consume(handle, 1),
    "refreshTokens.create": () => refreshTokens.create(refreshTokenRecord(), 1),
    "refreshTokens.find": () => refreshTokens.find(from, 1),
    "refreshTokens.rotate": () => refreshTokens.rotate({ from, to: refreshTokenRecord("next") }, 1),
    "accessTokens.create": () => accessTokens.create({ ...accessTokenRecord(), digest: "new" }, 1),
    "accessTokens.find": () => accessTokens.find("access-7", 1),
    "accessTokens.revoke": () => accessTokens.revoke({ tokenId: "new", expiresAt: rows }, 1),
    "accessTokens.isRevoked": () => accessTokens.isRevoked("id-7", 1),
    "endMarks.find": () => endMarks.find("key-7", 1),
    "endMarks.save": () => endMarks.save({ key: "new", mark: "a mark", expiresAt: rows }, 1),
    // few rows go, more than a batch, and no more than have just been added
    deleteExpired: () => storage.deleteExpired(1_500 + 300),
  };
}

const ports: readonly (keyof Storage)[] = [
  "clients",
  "consents",
  "authorizations",
  "authorizationCodes",
  "refreshTokens",
  "accessTokens",
  "endMarks",
];

/** A node of `EXPLAIN (FORMAT JSON)`. */
interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Cond"?: string;
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
    }, 300_000);
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
          Object.keys(storage[port]).map((method) => `${port}.${method}`),
        );
        const asked = [...new Set(statements.map(({ method }) => method))];
        expect(asked.toSorted()).toEqual([...methods, "deleteExpired"].toSorted());
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
          expect(new Set(deletions.map(({ text }) => text)).size).toBe(8);
          for (const { text } of deletions) {
            const plan = await explain(`EXPLAIN (FORMAT JSON) ${text}`, [now]);
            expect({ text, slow: slowNodes(plan) }).toEqual({ text, slow: [] });
          }
        },
      );
    });
  },
});
