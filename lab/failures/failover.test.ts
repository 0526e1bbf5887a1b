/** A database loses its primary and a standby that confirms every commit takes over: nothing that was acknowledged is lost or usable twice. */
import type { Response } from "supertest";
import {
  newDeviceRequest,
  newDigest,
  newParkedRequest,
  newRefreshToken,
} from "../../lib/testing/contract/records";
import { redeem, revoke } from "../../__tests__/requests/client-requests";
import { clients as clientRecords } from "../../__tests__/hosts/clients";
import { familyOf, obtainCode, type Tokens } from "../../__tests__/browser/journey";
import { describeWith } from "../../__tests__/servers/server-process";
import {
  cutting,
  endingWaits,
  failed,
  failOver,
  purchasesOf,
  refreshKept,
  thirtyTwoAtOnce,
  usableOnce,
  usedUp,
} from "./failover-bed";
import { replicatedMariadb } from "./mysql-replication";
import { isGood, opaque, shortenTimeLimit, startAgain, untilServed } from "./outage-bed";
import { replicatedPostgres } from "./postgres-replication";
import { hostOver, type Replicated, type Replication, withPair, type Writable } from "./replication";

afterEach(() => jest.restoreAllMocks());

function acknowledged({ start }: Replication): void {
  it("what was spent is refused, what was issued works and what was revoked stays revoked, once received", () =>
    withPair(start("synchronous"), async (pair) => {
      const host = await hostOver(await pair.openStorage());
      const purchases = await purchasesOf(host);
      const revoked = await familyOf(host, "web", opaque);
      const kept = await familyOf(host, "web", opaque);
      // received and on disk, but not applied yet
      await pair.pauseReplay();
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
    withPair(start("synchronous"), async (pair) => {
      const host = await hostOver(await pair.openStorage());
      const code = await obtainCode(host, { client: "web", pair: opaque });
      const attempt = (): Promise<Response> => redeem(host, { client: "web", code, pair: opaque });
      await pair.untilReplicated();
      await pair.losePrimary();
      pair.address.leadTo(pair.standby.port);
      const { status, body } = await attempt();
      expect([status, body]).toEqual([500, failed]);
      await pair.promote();
      expect(await thirtyTwoAtOnce({ attempt })).toEqual(usableOnce);
    }));
}

/** A connection that was ended may wait still for a moment. */
async function untilNoneWaits({ untilWaiting }: Replicated): Promise<void> {
  while ((await untilWaiting(0)).length > 0);
}

function waiting({ start }: Replication): void {
  it("the primary dies: nothing is acknowledged, and all is usable once", () =>
    withPair(start("synchronous"), async (pair) => {
      const { arm, beforeCall } = cutting(pair.link);
      const host = await hostOver(await pair.openStorage(), beforeCall);
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

  it.each([
    ["refresh token", "refreshToken"],
    ["access token", "accessToken"],
  ] as const)("terminated: the revocation of a %s that is asked again waits again", (_, name) =>
    withPair(start("synchronous"), async (pair) => {
      const { arm, beforeCall } = cutting(pair.link);
      const host = await hostOver(await pair.openStorage(), beforeCall);
      const family = await familyOf(host, "web", opaque);
      arm();
      const ask = (): Promise<Response> => revoke(host, { token: family[name], pair: opaque });
      const [first] = await endingWaits({ ...pair, end: pair.terminate }, [ask()]);
      expect(first?.status).toBe(500);
      await untilNoneWaits(pair);
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
const repeatable: Readonly<Record<string, (storage: Writable) => Promise<() => Promise<unknown>>>> = {
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

function repeatedCalls({ start }: Replication): void {
  let pair: Replicated;

  beforeAll(async () => {
    pair = await start("synchronous");
  });
  afterAll(() => pair.close());

  it.each(Object.entries(repeatable))(
    "%s waits for the standby again when it is asked again",
    async (_, prepare) => {
      const ask = await prepare(await pair.openStorage());
      await pair.untilReplicated();
      pair.link.freeze();
      const first = ask().then(
        () => "answered",
        () => "failed",
      );
      const [id = 0] = await pair.untilWaiting(1);
      await pair.terminate(id);
      expect(await first).toBe("failed");
      await untilNoneWaits(pair);
      const second = ask().then(() => "answered");
      expect(await Promise.race([second, pair.untilWaiting(1)])).toEqual([expect.any(Number)]);
      pair.link.thaw();
      expect(await second).toBe("answered");
    },
  );
}

function oldPrimary({ start }: Replication): void {
  it("acknowledges nothing, and goes on believing what the new one has revoked", () =>
    withPair(start("synchronous"), async (pair) => {
      const host = await hostOver(await pair.openStorage());
      const stale = await hostOver(await pair.openStorage({ port: pair.primary.port }));
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
}

for (const database of [replicatedPostgres, replicatedMariadb]) {
  describeWith(database, {
    name: `${database.name} that loses its primary (RFC 6749 §4.1.2, §10.5; 7009 §2.1; 9700 §4.14.2)`,
    tests() {
      describe("a standby takes over", () => acknowledged(database));
      describe("a commit that waits for the standby", () => waiting(database));
      describe("a call whose wait was terminated", () => repeatedCalls(database));
      describe("an old primary that comes back", () => oldPrimary(database));
    },
  });
}
