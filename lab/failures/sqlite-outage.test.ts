// A SQLite file that is locked, full, read-only or closed while requests are under way. Nobody buys twice with a code or a refresh token,
// and what was answered stays good.
import type { Response } from "supertest";
import { type SqliteStorage, sqliteStorage } from "../../lib/sqlite";
import { newAccessToken, newRefreshToken } from "../../lib/testing/contract/records";
import { calmly } from "../../__tests__/servers/hooked-handle";
import { callApi, obtainTokens } from "../../__tests__/browser/journey";
import { everythingUnderWay } from "../../__tests__/storage/latch";
import { expectHarmless, isGood, opaque, servedStatuses } from "./outage-bed";
import { journeys, type Purchase } from "./purchases";
import { newSqliteBed, type SqliteBed } from "./sqlite-bed";
import { drivers } from "../../__tests__/servers/sqlite-files";
import { startSqliteProcess } from "./sqlite-process";

const now = (): number => Math.floor(Date.now() / 1000);

const unavailable = { error: "temporarily_unavailable", error_description: "Try again later." };

const spends = /\.(?:consume|rotate)$/;

describe.each(drivers)(
  "a SQLite file that cannot be used for a while, by $name (RFC 6749 §5.2)",
  (driver) => {
    let bed: SqliteBed;
    let purchases: readonly Purchase[];
    let token: string;
    /** What is to be done however a test ends. */
    let finish: () => unknown;

    beforeEach(async () => {
      bed = await newSqliteBed(driver);
      const { host } = bed;
      const prepared: Purchase[] = [];
      for (let count = 0; count < 4; count += 1)
        for (const { prepare } of Object.values(journeys)) prepared.push(await prepare(host));
      purchases = prepared;
      ({ access_token: token } = await obtainTokens(host, { client: "web", pair: opaque }));
      host.events.length = 0;
      finish = () => undefined;
    });
    afterEach(async () => {
      await finish();
      bed.close();
    });

    const secrets = (): readonly string[] => [token, ...purchases.flatMap((each) => each.secrets)];

    const once = (): Promise<Response[]> => Promise.all(purchases.map(({ attempt }) => attempt()));

    const twice = (): Promise<Response[]> =>
      Promise.all(purchases.flatMap(({ attempt }) => [attempt(), attempt()]));

    function expectUnavailable(answers: readonly Response[]): void {
      for (const { status, body } of answers) expect([status, body]).toEqual([503, unavailable]);
      expectHarmless(bed.host, secrets());
    }

    function expectFailed(answers: readonly Response[]): void {
      for (const { status, body } of answers)
        expect([status, body]).toMatchObject([500, { error: "server_error" }]);
      expectHarmless(bed.host, secrets());
    }

    /** Nothing was spent: each buys now, and once. */
    async function expectUnspent(): Promise<void> {
      for (const { attempt } of purchases) expect(await servedStatuses(attempt, 2)).toEqual([200, 400]);
    }

    /** Each has bought once in all, these answers included. */
    async function expectBoughtOnce(answers: readonly Response[]): Promise<void> {
      for (const [index, { attempt }] of purchases.entries()) {
        const statuses = [answers[index]?.status, ...(await servedStatuses(attempt, 2))];
        expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      }
    }

    const causes = (): readonly string[] =>
      bed.host.events.flatMap((event) =>
        event.kind === "server-error" ? [(event.cause as Error).message] : [],
      );

    /** Once so many storage calls have been made. */
    function afterCalls(count: number, act: () => unknown): void {
      let calls = 0;
      bed.beforeCall = () => {
        calls += 1;
        if (calls === count) act();
      };
    }

    async function lockByOtherProcess(): Promise<() => Promise<void>> {
      const locker = startSqliteProcess({ file: bed.file, act: "lock" });
      finish = () => locker.kill();
      await locker.begun;
      return () => locker.kill();
    }

    describe("because another process writes for long", () => {
      it("is temporarily_unavailable, spends nothing, and answers what only reads meanwhile", async () => {
        const free = await lockByOtherProcess();
        let answered = 0;
        const asked = purchases.flatMap(({ attempt }) => [attempt(), attempt()]);
        const answers = asked.map((answer) => answer.finally(() => (answered += 1)));
        expect((await callApi(bed.host, "/reports", token)).status).toBe(200);
        expect(answered).toBe(0);
        expectUnavailable(await Promise.all(answers));
        expect((await callApi(bed.host, "/reports", token)).status).toBe(200);
        await free();
        // a write that was still waiting would be done now, for nobody
        await everythingUnderWay();
        await expectUnspent();
      });

      it("serves what has waited once the other process is killed", async () => {
        const free = await lockByOtherProcess();
        const answers = twice();
        await everythingUnderWay();
        await free();
        const statuses = (await answers).map(({ status }) => status);
        const pairs = purchases.map((_, index) =>
          statuses.slice(2 * index, 2 * index + 2).toSorted((a, b) => a - b),
        );
        expect(pairs).toEqual(purchases.map(() => [200, 400]));
        expect(bed.host.events.filter(({ kind }) => kind === "server-error")).toEqual([]);
      });

      it("spends nothing when it is locked just before the code or token is spent", async () => {
        let locked = false;
        bed.beforeCall = (name) => {
          if (!spends.test(name) || locked) return;
          locked = true;
          bed.other.exec("BEGIN IMMEDIATE");
        };
        const answers = await once();
        expectUnavailable(answers);
        bed.other.exec("COMMIT");
        await everythingUnderWay();
        await expectUnspent();
      });
    });

    it("because the host has left a transaction open on the handle: says so, and commits nothing of it", async () => {
      bed.handle.exec("CREATE TABLE notes (text TEXT)");
      bed.handle.exec("BEGIN");
      bed.handle.exec("INSERT INTO notes VALUES ('half done')");
      expectUnavailable(await once());
      expect(causes()).toContainEqual(expect.stringContaining("a handle that nothing else uses"));
      expect((await callApi(bed.host, "/reports", token)).status).toBe(200);
      expect(bed.other.prepare("SELECT * FROM notes").all()).toEqual([]);
      bed.handle.exec("ROLLBACK");
      await expectUnspent();
    });

    describe("because the disk is full", () => {
      const fillers: Record<string, (storage: SqliteStorage) => Promise<void>> = {
        "access tokens": ({ accessTokens }) => accessTokens.create(newAccessToken(now()), now()),
        "refresh tokens": ({ refreshTokens }) => refreshTokens.create(newRefreshToken(now()), now()),
      };

      it.each(Object.entries(fillers))(
        "for %s: does nothing by half, and works after there is space again",
        async (_name, fill) => {
          bed.handle.exec("PRAGMA max_page_count = 1");
          const filled = async (): Promise<void> => {
            for (;;) await fill(bed.storage);
          };
          // the driver's errors may be of another file's realm, which toThrow does not know
          await expect(filled()).rejects.toMatchObject({ message: expect.stringContaining("full") });
          expectFailed(await once());
          expect((await callApi(bed.host, "/reports", token)).status).toBe(200);
          bed.handle.exec("PRAGMA max_page_count = 1000000");
          expect(bed.handle.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
          await expectUnspent();
        },
      );
    });

    it("because it is read-only: answers what only reads, and spends nothing", async () => {
      bed.handle.exec("PRAGMA query_only = ON");
      expectFailed(await once());
      expect(causes()).toContainEqual(expect.stringContaining("readonly"));
      expect((await callApi(bed.host, "/reports", token)).status).toBe(200);
      bed.handle.exec("PRAGMA query_only = OFF");
      await expectUnspent();
    });

    describe("because its disk fails", () => {
      const lost = new Error("disk I/O error");

      /** The transactions that spend something fail at their end, before or after they are on the disk. */
      function failCommits(moment: "before" | "after"): void {
        let isSpending = false;
        bed.beforeCall = (name) => void (isSpending ||= spends.test(name));
        bed.hook = (sql, call) => {
          const fails = isSpending && sql === "COMMIT";
          if (fails && moment === "before") throw lost;
          const result = call();
          if (fails) throw lost;
          return result;
        };
      }

      it.each([
        ["before", [200, 400]],
        ["after", [400, 400]],
      ] as const)(
        "when a code or token is spent: lets nothing buy twice, and nothing that is spent on the disk: %s",
        async (moment, expected) => {
          const attempts = purchases.slice(0, 2);
          for (const { attempt } of attempts) {
            failCommits(moment);
            const answer = await attempt();
            bed.hook = calmly;
            expectFailed([answer]);
            expect(await servedStatuses(attempt, 2)).toEqual(expected);
          }
        },
      );
    });

    describe("because it is closed while requests are under way", () => {
      it.each([1, 10, 25, 40, 45])(
        "by the host, under the storage, at the call %d: each buys once in all",
        async (count) => {
          afterCalls(count, () => void bed.handle.close());
          const answers = await once();
          expect(answers.map(({ status }) => status)).toContain(500);
          expectHarmless(bed.host, secrets());
          bed.openAgain();
          await expectBoughtOnce(answers);
          expect(await isGood(bed.host, token)).toBe(true);
        },
      );

      it.each([1, 10, 25, 40, 45])(
        "by storage.close(), at the call %d: ends the writes under way, and each buys once in all",
        async (count) => {
          const own = sqliteStorage({ file: bed.file });
          bed.storage = own;
          let closing: Promise<void> | undefined;
          afterCalls(count, () => (closing = own.close()));
          const answers = await once();
          await closing;
          expect(answers.map(({ status }) => status)).toContain(500);
          expect(causes()).toContainEqual(expect.stringContaining("the storage is closed"));
          await expect(own.clients.find("web")).rejects.toMatchObject({ code: "sqlite-closed" });
          bed.handle.close();
          bed.openAgain();
          await expectBoughtOnce(answers);
          expect(await isGood(bed.host, token)).toBe(true);
        },
      );
    });
  },
);
