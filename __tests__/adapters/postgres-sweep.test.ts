import { postgresStorage } from "../../lib/postgres";
import { describeWithPostgres, newName, pool, wrapPool } from "../servers/postgres-storage";

const living = 300_000;
const expired = 30_000;
const farAway = 4_000_000_000;

/** Columns of each kind of key, for row n. */
const columnsOf: Readonly<Record<string, string>> = {
  refresh_tokens: "md5(n::text), '{}'",
  revoked_access_tokens: "md5(n::text)",
  authorizations: "md5(n::text), 'user-' || n, 'client-1', 'orders', '', '{}', false, 0",
  consents: "'user-' || n, 'client-1', 'orders', '', '{}'",
};

interface PlanNode {
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Join Filter"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** How many rows, and pairs of rows, a statement has looked at. */
function lookedAt(plan: PlanNode): number {
  const own =
    (plan["Actual Rows"] ?? 0) +
    (plan["Rows Removed by Join Filter"] ?? 0) +
    (plan["Rows Removed by Filter"] ?? 0);
  const inner = (plan.Plans ?? []).map(lookedAt);
  return own * (plan["Actual Loops"] ?? 1) + inner.reduce((sum, each) => sum + each, 0);
}

describeWithPostgres(() => {
  describe("deleteExpired before the statistics know of the expired rows (PostgreSQL EXPLAIN ANALYZE)", () => {
    const prefix = newName();
    const seen: number[] = [];

    beforeAll(async () => {
      const storage = postgresStorage({ pool, prefix });
      await storage.migrate();
      for (const [name, columns] of Object.entries(columnsOf)) {
        const table = `${prefix}${name}`;
        const fill = (from: number, to: number, expiresAt: string): Promise<unknown> =>
          pool.query(
            `INSERT INTO ${table} SELECT ${columns}, ${expiresAt} FROM generate_series(${from}, ${to}) AS n`,
          );
        await pool.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
        await fill(1, living, `${farAway} + n`);
        await pool.query(`VACUUM ANALYZE ${table}`);
        await fill(living + 1, living + expired, "1000");
      }
    });

    it("looks at a few rows for each row that it deletes", async () => {
      const watched = wrapPool(pool, async ({ text, values }, run) => {
        if (text.startsWith("DELETE FROM")) {
          const connection = await pool.connect();
          await connection.query("BEGIN");
          const { rows } = await connection.query<{ "QUERY PLAN": readonly { Plan: PlanNode }[] }>(
            `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
            [...values],
          );
          await connection.query("ROLLBACK");
          connection.release();
          seen.push(lookedAt(rows[0]?.["QUERY PLAN"][0]?.Plan ?? {}));
        }
        return run();
      });
      const deleted = await postgresStorage({ pool: watched, prefix }).deleteExpired();
      expect(deleted).toBe(expired * Object.keys(columnsOf).length);
      // a batch has 1,000 rows
      expect(Math.max(...seen)).toBeLessThan(10_000);
    });
  });
});
