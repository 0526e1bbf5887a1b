/** A PostgreSQL server for the tests of a file, and storage with tables of its own. */
import { randomBytes } from "node:crypto";
import type { Pool } from "pg";
import type { ConsentKey } from "../../lib";
import {
  type PostgresPool,
  postgresStorage,
  type PostgresStorage,
  type PostgresStorageOptions,
} from "../../lib/postgres";
import { newDeviceRequest } from "../../lib/testing/contract/records";
import { postgres, type PostgresServer, startPostgres } from "./postgres-server";
import {
  accessTokenRecord,
  authorizationRecord,
  codeRecord,
  confidentialRecord,
  refreshTokenRecord,
} from "../records/records";
import { describeWith } from "./server-process";

/** What a pool answers. */
export type Rows = ReturnType<PostgresPool["query"]>;

/** What a pool is asked. */
export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The same pool, each statement handed to `around`. */
export function wrapPool(
  pool: PostgresPool,
  around: (statement: Statement, run: () => Rows) => Rows,
): PostgresPool {
  return { query: (text, values = []) => around({ text, values }, () => pool.query(text, values)) };
}

/** An error with this SQLSTATE. */
export function sqlError(code: string): Error {
  return Object.assign(new Error(`fails with ${code}`), { code });
}

/** 0, 1, 2 and so on. */
export function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** Unlike any other of the run. */
export function newName(): string {
  return `t${randomBytes(6).toString("hex")}_`;
}

/** A confidential client. */
export const webRecord = confidentialRecord();

/** Names a consent. */
export const aliceAtOrders: ConsentKey = { subject: "alice", clientId: "web", apiId: "orders" };

/** One record of each kind through a port, and back. */
export async function useStorage(storage: PostgresStorage): Promise<void> {
  const from = refreshTokenRecord();
  const to = refreshTokenRecord("the next one");
  await storage.clients.save(webRecord);
  expect(await storage.clients.find("web")).toEqual(webRecord);
  await storage.consents.save(
    { ...aliceAtOrders, scopes: [], grantedAt: 1_000, endMarks: [], expiresAt: 2_000 },
    1_000,
  );
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
  const assertion = { digest: "digest", expiresAt: 2_000 };
  expect(await storage.clientAssertions.use(assertion, 1_000)).toBe("used");
  const [request, answer] = [newDeviceRequest(1_000), { as: "denied", by: "an answer" } as const];
  expect(await storage.parkedRequests.create(request, { limit: 1, now: 1_000 })).toBe("created");
  expect(await storage.parkedRequests.close({ key: request.key, ...answer }, 1_000)).toBe("closed");
  expect(await storage.parkedRequests.find(request.key, 1_000)).toMatchObject({ by: "an answer" });
  const registration = { client: webRecord, expiresAt: 2_000 };
  expect(await storage.clientRegistrations.create(registration, { limit: 1, now: 1_000 })).toBe("created");
  expect(await storage.clientRegistrations.find("web", 1_000)).toEqual(webRecord);
  expect(await storage.deleteExpired(1_000_000)).toBeGreaterThan(0);
}

/** The server of the tests that run. */
export let server: PostgresServer;

/** Its connections. */
export let pool: Pool;

/** Tests that need the server; they are skipped where it cannot be had. */
export function describeWithPostgres(tests: () => void): void {
  describeWith(postgres, {
    name: "PostgreSQL",
    tests() {
      beforeAll(async () => {
        server = await startPostgres(["synchronous_commit=off", "deadlock_timeout=50ms"]);
        pool = server.pool({ max: 16 });
      });
      afterAll(() => server.close());
      tests();
    },
  });
}

/** Storage with tables of its own, made already. */
export async function openStorage(options: Partial<PostgresStorageOptions> = {}): Promise<PostgresStorage> {
  const storage = postgresStorage({ pool, prefix: newName(), ...options });
  await storage.migrate();
  return storage;
}

/** The rows that a statement gives. */
export async function ask(text: string): Promise<readonly Record<string, unknown>[]> {
  return (await pool.query<Record<string, unknown>>(text)).rows;
}

/** Resolves once a statement waits for a lock that another transaction holds. */
export async function untilOneWaits(): Promise<void> {
  const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  while ((await ask(waiting)).length === 0);
}
