/** PostgreSQL loses its primary and the standby takes over: what only its settings and its operators change, and what an asynchronous standby lacks. */
import type { Pool } from "pg";
import type { Response } from "supertest";
import { type PostgresPool, postgresStorage, type PostgresStorage } from "../../lib/postgres";
import { newAccessToken, newDigest, newEndMark, newRefreshToken } from "../../lib/testing/contract/records";
import { redeem, revoke } from "../../__tests__/requests/client-requests";
import { codeBelow, runBlock } from "../../__tests__/sources/doc-block";
import type { TestHost } from "../../__tests__/hosts/host";
import { callApi, familyOf, obtainCode, type Tokens } from "../../__tests__/browser/journey";
import {
  cutting,
  endingWaits,
  failed,
  failOver,
  purchasesOf,
  refreshKept,
  thirtyTwoAtOnce,
  unavailable,
  usableOnce,
  usedUp,
} from "./failover-bed";
import { isGood, opaque, servedStatuses, startAgain, untilServed } from "./outage-bed";
import { type ReplicatedPostgres, untilRows, withReplication } from "./postgres-replication";
import { postgres, type PostgresServer } from "../../__tests__/servers/postgres-server";
import { describeWith } from "../../__tests__/servers/server-process";

afterEach(() => jest.restoreAllMocks());

const page = "storage-postgres.md";

/** From now on the system of this server orders text in another way: numbers by their value, and upper case first. */
async function updateSystem(server: PostgresServer): Promise<void> {
  const pool = server.pool({ max: 1 });
  await pool.query("SET allow_system_table_mods = on");
  await pool.query("UPDATE pg_database SET datlocale = 'en-US-u-kf-upper-kn'");
}

function otherSystem(): void {
  it("knows every use, revocation and end that the primary has acknowledged", () =>
    withReplication("synchronous", async (pair) => {
      const at = Math.floor(Date.now() / 1000);
      const before = postgresStorage({ pool: pair.primary.pool() });
      await before.migrate();
      const all = Array.from({ length: 500 }, () => ({
        token: newRefreshToken(at),
        access: newAccessToken(at),
        end: newEndMark(at),
      }));
      const rotate = ({ refreshTokens }: PostgresStorage, from: ReturnType<typeof newRefreshToken>) =>
        refreshTokens.rotate({ from, to: { ...from, digest: newDigest() } }, at);
      for (const { token, access, end } of all) {
        await before.refreshTokens.create(token, at);
        await rotate(before, token);
        await before.accessTokens.revoke(access, at);
        await before.endMarks.save(end, at);
      }
      await failOver(pair);
      await updateSystem(pair.standby);
      const after = postgresStorage({ pool: pair.standby.pool() });
      await after.migrate();
      const seen = { spent: 0, revoked: 0, ended: 0 };
      for (const { token, access, end } of all) {
        if ((await rotate(after, token)) === "not-rotated") seen.spent += 1;
        if (await after.accessTokens.isRevoked(access.tokenId, at)) seen.revoked += 1;
        if ((await after.endMarks.find([end.key], at))[0] === end.mark) seen.ended += 1;
      }
      expect(seen).toEqual({ spent: 500, revoked: 500, ended: 500 });
    }));
}

/** A host whose standby is cut off as soon as something is spent or revoked, once it is armed. */
async function cutOffHost(
  { openHost, link }: ReplicatedPostgres,
  settings: Parameters<ReplicatedPostgres["openHost"]>[0] = {},
): Promise<{ readonly host: TestHost; readonly arm: () => void }> {
  const { arm, beforeCall } = cutting(link);
  return { host: await openHost({ ...settings, beforeCall }), arm };
}

function waiting(): void {
  it("time limits do not end the wait: temporarily_unavailable, and used up once the standby is back", () =>
    withReplication("synchronous", async (pair) => {
      const config = { statement_timeout: 3_000, query_timeout: 6_000 };
      const { host, arm } = await cutOffHost(pair, { config });
      const code = await obtainCode(host, { client: "web", pair: opaque });
      const attempt = (): Promise<Response> => redeem(host, { client: "web", code, pair: opaque });
      arm();
      const { status, body } = await attempt();
      expect([status, body]).toEqual([503, unavailable]);
      // the pool has given its connection up meanwhile, and the server has not noticed
      const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
      await untilRows(pair.primary, { statement: `${waits} AND now() - query_start > interval '7 seconds'` });
      pair.link.thaw();
      await pair.untilReplicated();
      expect(await servedStatuses(attempt, 2)).toEqual([400, 400]);
    }));

  it("cancelled by an operator: acknowledged, and forgotten by a failover, unless the pool heeds warnings", () =>
    withReplication("synchronous", async (pair) => {
      const { heedWarnings } = runBlock({ page, heading: "A wait that is cancelled" }, {}) as {
        heedWarnings: (pool: Pool) => PostgresPool;
      };
      const { host, arm } = await cutOffHost(pair);
      const careful = await pair.openHost({ around: heedWarnings });
      const purchases = await purchasesOf(host);
      const guarded = await purchasesOf(careful);
      arm();
      const admin = pair.primary.pool({ max: 1 });
      const end = (pid: number): Promise<unknown> => admin.query(`SELECT pg_cancel_backend(${pid})`);
      const cancelling = { ...pair, end };
      const bought = await endingWaits(
        cancelling,
        purchases.map(({ attempt }) => attempt()),
      );
      expect(bought.map(({ status }) => status)).toEqual([200, 200]);
      const failures = await endingWaits(
        cancelling,
        guarded.map(({ attempt }) => attempt()),
      );
      for (const { status, body } of failures) expect([status, body]).toEqual([500, failed]);
      await failOver(pair);
      for (const purchase of purchases) expect(await thirtyTwoAtOnce(purchase)).toEqual(usableOnce);
    }));
}

function twoPrimaries(): void {
  it("asynchronous: both acknowledge, so a code or refresh token is usable once at each", () =>
    withReplication("asynchronous", async (pair) => {
      const host = await pair.openHost();
      const stale = await pair.openHost({ config: { port: pair.primary.port } });
      const code = await obtainCode(host, { client: "web", pair: opaque });
      await pair.untilReplicated();
      await failOver(pair);
      await startAgain(pair.primary);
      for (const each of [host, stale]) {
        const attempt = (): Promise<Response> => redeem(each, { client: "web", code, pair: opaque });
        expect(await thirtyTwoAtOnce({ attempt })).toEqual(usableOnce);
      }
    }));
}

/** Everything that a host acknowledged while the standby heard nothing, and the primary died. */
async function loseWindow(pair: ReplicatedPostgres) {
  const host = await pair.openHost();
  const purchases = await purchasesOf(host);
  const rotated = await familyOf(host, "web", opaque);
  const revoked = await familyOf(host, "web", opaque);
  await pair.untilReplicated();
  pair.link.freeze();
  for (const { attempt } of purchases) expect((await attempt()).status).toBe(200);
  const { body } = await refreshKept(host, rotated);
  expect((await revoke(host, { token: revoked.refreshToken, pair: opaque })).status).toBe(200);
  expect(await isGood(host, revoked.accessToken)).toBe(false);
  const code = await obtainCode(host, { client: "web", pair: opaque });
  const jwt = (await familyOf(host)).accessToken;
  await failOver(pair);
  const { refresh_token: successor = "" } = body as Tokens;
  return { host, purchases, rotated, revoked, successor, issued: { code, jwt } };
}

function lostWindow(): void {
  it("what was spent can be spent once more, what was revoked works again, and what was issued is unknown", () =>
    withReplication("asynchronous", async (pair) => {
      const { host, purchases, rotated, revoked, successor, issued } = await loseWindow(pair);
      for (const purchase of purchases) expect(await thirtyTwoAtOnce(purchase)).toEqual(usableOnce);
      expect(await isGood(host, revoked.accessToken)).toBe(true);
      const { code, jwt } = issued;
      const ask = (): Promise<Response> => redeem(host, { client: "web", code, pair: opaque });
      expect((await untilServed(ask)).status).toBe(400);
      expect((await callApi(host, "/orders", jwt)).status).toBe(401);
      // the client that has the newest refresh token is refused; this ends nothing, and neither does its revocation
      const { status, body } = await refreshKept(host, { refreshToken: successor });
      expect([status, body.error]).toEqual([400, "invalid_grant"]);
      expect((await revoke(host, { token: successor, pair: opaque })).status).toBe(200);
      expect(await isGood(host, rotated.accessToken)).toBe(true);
      // whoever has copied the one that was used is served
      expect((await refreshKept(host, rotated)).status).toBe(200);
    }));

  it("the statements for a restored backup close it", () =>
    withReplication("asynchronous", async (pair) => {
      const { host, purchases, rotated, revoked } = await loseWindow(pair);
      const [statements = ""] = codeBelow("storage.md", "After a restore", "sql");
      await pair.standby.pool().query(statements);
      for (const { accessToken } of [rotated, revoked]) expect(await isGood(host, accessToken)).toBe(false);
      for (const purchase of purchases) expect(await thirtyTwoAtOnce(purchase)).toEqual(usedUp);
    }));
}

describeWith(postgres, {
  name: "PostgreSQL that loses its primary (RFC 6749 §4.1.2, §10.5; 7009 §2.1; 9700 §4.14.2)",
  tests() {
    describe("a standby whose system orders text in another way", otherSystem);
    describe("a commit that waits for the standby", waiting);
    describe("an old primary that comes back", twoPrimaries);
    describe("what an asynchronous standby had not received", lostWindow);
  },
});
