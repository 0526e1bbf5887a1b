import { mysqlStorage } from "../../lib/mysql";
import {
  newAccessToken,
  newAuthorization,
  newCode,
  newConsent,
  newDeviceRequest,
  newEndKey,
  newRefreshToken,
} from "../../lib/testing/contract/records";
import { describeWithMariadb, mysqlPool, openMysql, wrapMysqlPool } from "../servers/mysql-storage";
import { newName, numbers, webRecord } from "../servers/postgres-storage";

const now = 1_000;
const seconds = (): number => Math.floor(Date.now() / 1000);

function sweepTests(): void {
  it("deletes rows of each table five minutes after their end, and no sooner", async () => {
    const storage = await openMysql();
    const end = { expiresAt: 2_000 };
    const [code, token] = [newCode(now, end), newAccessToken(now, end)];
    await storage.consents.save(newConsent(now, end), now);
    await storage.authorizations.create(newAuthorization(now, end), now);
    await storage.authorizationCodes.create(code, now);
    // its mark is a row of its own
    await storage.authorizationCodes.consume(code, now);
    await storage.refreshTokens.create(newRefreshToken(now, end), now);
    await storage.accessTokens.create(token, now);
    await storage.accessTokens.revoke(token, now);
    await storage.endMarks.save({ key: newEndKey(), mark: "mark", ...end }, now);
    await storage.clientAssertions.use({ digest: "digest", ...end }, now);
    await storage.clientRegistrations.create({ client: webRecord, ...end }, { limit: 1, now });
    await storage.parkedRequests.create({ ...newDeviceRequest(now), ...end }, { limit: 1, now });
    expect(await storage.deleteExpired(2_299)).toBe(0);
    expect(await storage.deleteExpired(2_300)).toBe(11);
    expect(await storage.deleteExpired(2_000_000)).toBe(0);
  });

  it.each([
    ["all at once", 0],
    ["one after the other", 1],
  ])("deletes any number of rows, at most 1,000 in a statement, whether they end %s", async (_, step) => {
    const prefix = newName();
    await openMysql({ prefix });
    const rows = numbers(2_500).map((n) => `('${n}', ${now + n * step})`);
    await mysqlPool.query(`INSERT INTO ${prefix}used_assertions (digest, expires_at) VALUES ${rows.join()}`);
    const deletions: number[] = [];
    const watched = wrapMysqlPool(mysqlPool, async (text, run) => {
      const answer = await run();
      if (text.startsWith("DELETE ")) deletions.push((answer[0] as { affectedRows: number }).affectedRows);
      return answer;
    });
    expect(await mysqlStorage({ pool: watched, prefix }).deleteExpired(9_000)).toBe(2_500);
    expect(Math.max(...deletions)).toBe(1_000);
  });

  it.each<readonly [string, () => unknown, string]>([
    ["milliseconds", () => Date.now(), "mysql-time-ahead"],
    ["more than 300 seconds from now", () => seconds() + 310, "mysql-time-ahead"],
    ["half a second", () => 1_000.5, "mysql-time-not-whole"],
    ["a text", () => "1000", "mysql-time-not-whole"],
  ])("refuses %s, and deletes nothing", async (_, given, code) => {
    const storage = await openMysql();
    await storage.clientAssertions.use({ digest: "digest", expiresAt: now }, now);
    await expect(storage.deleteExpired(given() as number)).rejects.toMatchObject({ code });
    expect(await storage.deleteExpired(seconds() + 290)).toBe(1);
  });
}

function registrationTests(): void {
  it("one that is extended while it is chosen to make room stays", async () => {
    const prefix = newName();
    const plain = await openMysql({ prefix });
    const extension = { clientId: "web", expiresAt: 9_000 };
    const pool = wrapMysqlPool(mysqlPool, async (text, run) => {
      if (text.startsWith("DELETE ")) await plain.clientRegistrations.extend(extension, now);
      return run();
    });
    await plain.clientRegistrations.create({ client: webRecord, expiresAt: 2_000 }, { limit: 1, now });
    const other = { client: { ...webRecord, clientId: "other" }, expiresAt: 2_000 };
    await mysqlStorage({ pool, prefix }).clientRegistrations.create(other, { limit: 1, now });
    expect(await plain.clientRegistrations.find("web", 8_000)).toEqual(webRecord);
  });
}

describeWithMariadb(() => {
  describe("mysqlStorage deleteExpired() (RFC 6749 §10.5)", sweepTests);
  describe("mysqlStorage registrations (RFC 7591 §3)", registrationTests);
});
