/** PostgreSQL loses its primary and the standby takes over: what was acknowledged, what may be used twice, and what two primaries do. */
import type { Pool } from "pg";
import type { Response } from "supertest";
import { type PostgresPool, postgresStorage, type PostgresStorage } from "../../lib/postgres";
import {
  newAccessToken,
  newDeviceRequest,
  newDigest,
  newEndMark,
  newParkedRequest,
  newRefreshToken,
} from "../../lib/testing/contract/records";
import { redeem, refresh, revoke } from "../../__tests__/requests/client-requests";
import { clients as clientRecords } from "../../__tests__/hosts/clients";
import { codeBelow, runBlock } from "../../__tests__/sources/doc-block";
import type { TestHost } from "../../__tests__/hosts/host";
import { callApi, familyOf, obtainCode, type Tokens } from "../../__tests__/browser/journey";
import { isGood, opaque, servedStatuses, shortenTimeLimit, startAgain, untilServed } from "./outage-bed";
import { type ReplicatedPostgres, untilRows, withReplication } from "./postgres-replication";
import { postgres, type PostgresServer } from "../../__tests__/servers/postgres-server";
import { journeys, type Purchase } from "./purchases";
import { describeWith } from "../../__tests__/servers/server-process";

afterEach(() => jest.restoreAllMocks());

const unavailable = { error: "temporarily_unavailable", error_description: "Try again later." };

const failed = { error: "server_error", error_description: "The server could not answer this request." };

const page = "storage-postgres.md";

/** The served answers of 32 attempts at the same moment: how many bought, and how many were refused. */
async function thirtyTwoAtOnce({ attempt }: Pick<Purchase, "attempt">): Promise<Record<string, number>> {
  const answers = await Promise.all(Array.from({ length: 32 }, () => untilServed(attempt)));
  const bought = answers.filter(({ status }) => status === 200).length;
  const refused = answers.filter(({ body }) => body.error === "invalid_grant").length;
  return { bought, refused };
}

const usableOnce = { bought: 1, refused: 31 };
const usedUp = { bought: 0, refused: 32 };

async function failOver({ losePrimary, promote }: ReplicatedPostgres): Promise<void> {
  await losePrimary();
  await promote();
}

/** A host, and what cuts its standby off as soon as something is spent or revoked. */
async function cutOffHost(
  { openHost, link }: ReplicatedPostgres,
  settings: Parameters<ReplicatedPostgres["openHost"]>[0] = {},
): Promise<{ readonly host: TestHost; readonly arm: () => void }> {
  let isArmed = false;
  const host = await openHost({
    ...settings,
    beforeCall(name) {
      if (!isArmed || !/\.(consume|rotate|revoke)$/.test(name)) return;
      isArmed = false;
      link.freeze();
    },
  });
  return { host, arm: () => void (isArmed = true) };
}

function acknowledged(): void {
  it("what was spent is refused, what was issued works and what was revoked stays revoked, once received", () =>
    withReplication("synchronous", async (pair) => {
      const host = await pair.openHost();
      const purchases = await purchasesOf(host);
      const revoked = await familyOf(host, "web", opaque);
      const kept = await familyOf(host, "web", opaque);
      // received and on disk, but not applied yet
      await pair.standby.pool().query("SELECT pg_wal_replay_pause()");
      const statement = "SELECT 1 WHERE pg_get_wal_replay_pause_state() = 'paused'";
      await untilRows(pair.standby, { statement });
      for (const { attempt } of purchases) expect((await attempt()).status).toBe(200);
      expect((await revoke(host, { token: revoked.refreshToken, pair: opaque })).status).toBe(200);
      const { body } = await refreshKept(host, kept);
      await failOver(pair);
      for (const purchase of purchases) expect(await thirtyTwoAtOnce(purchase)).toEqual(usedUp);
      expect(await isGood(host, revoked.accessToken)).toBe(false);
      expect(await isGood(host, kept.accessToken)).toBe(true);
      const { refresh_token: refreshToken = "" } = body as Tokens;
      expect(await thirtyTwoAtOnce({ attempt: () => refreshKept(host, { refreshToken }) })).toEqual(
        usableOnce,
      );
    }));

  it("a standby that hosts reach before its promotion spends nothing", () =>
    withReplication("synchronous", async (pair) => {
      const host = await pair.openHost();
      const code = await obtainCode(host, { client: "web", pair: opaque });
      const attempt = (): Promise<Response> => redeem(host, { client: "web", code, pair: opaque });
      await pair.losePrimary();
      pair.address.leadTo(pair.standby.port);
      const { status, body } = await attempt();
      expect([status, body]).toEqual([500, failed]);
      await pair.promote();
      expect(await thirtyTwoAtOnce({ attempt })).toEqual(usableOnce);
    }));
}

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

function refreshKept(host: TestHost, { refreshToken }: { readonly refreshToken: string }): Promise<Response> {
  return refresh(host, { client: "web", refreshToken, pair: opaque });
}

/** A code and a refresh token. */
function purchasesOf(host: TestHost): Promise<readonly Purchase[]> {
  return Promise.all(Object.values(journeys).map(({ prepare }) => prepare(host)));
}

/** Lets this function of the server end whatever waits for the standby, until all of these are answered. */
async function endingWaits(
  { primary }: ReplicatedPostgres,
  {
    by,
    answers,
  }: { by: "pg_cancel_backend" | "pg_terminate_backend"; answers: readonly Promise<Response>[] },
): Promise<readonly Response[]> {
  const pending = new Set(answers);
  for (const answer of answers) void answer.finally(() => pending.delete(answer));
  const pool = primary.pool({ max: 1 });
  while (pending.size > 0) {
    await pool.query(`SELECT ${by}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`);
  }
  return Promise.all(answers);
}

function waiting(): void {
  it("the primary dies: nothing is acknowledged, and all is usable once", () =>
    withReplication("synchronous", async (pair) => {
      const { host, arm } = await cutOffHost(pair);
      const purchases = await purchasesOf(host);
      arm();
      const answers = purchases.map(({ attempt }) => attempt());
      await pair.untilWaiting(answers.length);
      await pair.losePrimary();
      for (const { status, body } of await Promise.all(answers))
        expect([status, body]).toEqual([500, failed]);
      await pair.promote();
      for (const purchase of purchases) expect(await thirtyTwoAtOnce(purchase)).toEqual(usableOnce);
    }));

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
      const by = "pg_cancel_backend";
      const bought = await endingWaits(pair, { by, answers: purchases.map(({ attempt }) => attempt()) });
      expect(bought.map(({ status }) => status)).toEqual([200, 200]);
      const failures = await endingWaits(pair, { by, answers: guarded.map(({ attempt }) => attempt()) });
      for (const { status, body } of failures) expect([status, body]).toEqual([500, failed]);
      await failOver(pair);
      for (const purchase of purchases) expect(await thirtyTwoAtOnce(purchase)).toEqual(usableOnce);
    }));

  it.each([
    ["refresh token", "refreshToken"],
    ["access token", "accessToken"],
  ] as const)("terminated: the revocation of a %s that is asked again waits again", (_, name) =>
    withReplication("synchronous", async (pair) => {
      const { host, arm } = await cutOffHost(pair);
      const family = await familyOf(host, "web", opaque);
      arm();
      const ask = (): Promise<Response> => revoke(host, { token: family[name], pair: opaque });
      const [first] = await endingWaits(pair, { by: "pg_terminate_backend", answers: [ask()] });
      expect(first?.status).toBe(500);
      const second = ask();
      const answered = second.then(({ status }) => status);
      expect(await Promise.race([answered, pair.untilWaiting(1)])).toEqual([expect.any(Number)]);
      pair.link.thaw();
      expect((await second).status).toBe(200);
      await failOver(pair);
      expect(await isGood(host, family.accessToken)).toBe(false);
    }),
  );
}

/** What changes nothing when it is asked a second time. */
const repeatable: Readonly<Record<string, (storage: PostgresStorage) => Promise<() => Promise<unknown>>>> = {
  async "the deletion of a client"({ clients }) {
    await clients.save(clientRecords.web);
    return () => clients.delete("web");
  },
  async "the use of a refresh token"({ refreshTokens }) {
    const at = Math.floor(Date.now() / 1000);
    const from = newRefreshToken(at);
    const to = { ...from, digest: newDigest() };
    const use = { usedAt: at, salt: "salt", secretId: "id" };
    await refreshTokens.create(from, at);
    return () => refreshTokens.rotate({ from, to, use }, at);
  },
  async "the use of a pushed request"({ parkedRequests }) {
    const at = Math.floor(Date.now() / 1000);
    const request = newParkedRequest(at);
    return () => parkedRequests.create(request, { now: at });
  },
  async "the answer to a device"({ parkedRequests }) {
    const at = Math.floor(Date.now() / 1000);
    const request = newDeviceRequest(at);
    await parkedRequests.create(request, { limit: 1, now: at });
    return () => parkedRequests.close({ key: request.key, as: "denied", by: "a page" }, at);
  },
};

function repeatedCalls(): void {
  it.each(Object.entries(repeatable))("%s waits for the standby again when it is asked again", (_, prepare) =>
    withReplication("synchronous", async (pair) => {
      const storage = postgresStorage({ pool: pair.primary.pool() });
      await storage.migrate();
      const ask = await prepare(storage);
      await pair.untilReplicated();
      pair.link.freeze();
      const first = ask().then(
        () => "answered",
        () => "failed",
      );
      const [pid] = await pair.untilWaiting(1);
      await pair.primary.pool({ max: 1 }).query(`SELECT pg_terminate_backend(${pid})`);
      expect(await first).toBe("failed");
      const second = ask().then(() => "answered");
      expect(await Promise.race([second, pair.untilWaiting(1)])).toEqual([expect.any(Number)]);
      pair.link.thaw();
      expect(await second).toBe("answered");
    }),
  );
}

function twoPrimaries(): void {
  it("synchronous: the old one acknowledges nothing, and goes on believing what the new one has revoked", () =>
    withReplication("synchronous", async (pair) => {
      const host = await pair.openHost();
      const stale = await pair.openHost({ config: { port: pair.primary.port } });
      const code = await obtainCode(host, { client: "web", pair: opaque });
      const { accessToken, refreshToken } = await familyOf(host, "web", opaque);
      await failOver(pair);
      await startAgain(pair.primary);
      const ask = (): Promise<Response> => revoke(host, { token: refreshToken, pair: opaque });
      expect((await untilServed(ask)).status).toBe(200);
      expect(await isGood(host, accessToken)).toBe(false);
      expect(await isGood(stale, accessToken)).toBe(true);
      shortenTimeLimit();
      expect((await redeem(stale, { client: "web", code, pair: opaque })).status).toBe(503);
      jest.restoreAllMocks();
      const attempt = (): Promise<Response> => redeem(host, { client: "web", code, pair: opaque });
      expect(await thirtyTwoAtOnce({ attempt })).toEqual(usableOnce);
    }));

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
    describe("a synchronous standby takes over", acknowledged);
    describe("a standby whose system orders text in another way", otherSystem);
    describe("a commit that waits for the standby", waiting);
    describe("a call whose wait was terminated", repeatedCalls);
    describe("an old primary that comes back", twoPrimaries);
    describe("what an asynchronous standby had not received", lostWindow);
  },
});
