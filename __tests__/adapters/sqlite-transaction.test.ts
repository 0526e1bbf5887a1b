/** Calls that are made together share a transaction: each is done exactly once, and is told so, whatever becomes of the others. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type SqliteStorage, sqliteStorage } from "../../lib/sqlite";
import {
  newAssertion,
  newAuthorization,
  newCode,
  newParkedRequest,
  newRefreshToken,
  newUse,
} from "../../lib/testing/contract/records";
import { calmly, hookedHandle, type StatementHook } from "../servers/hooked-handle";
import { drivers, newFile, type OpenedHandle } from "../servers/sqlite-files";

const now = Math.floor(Date.now() / 1000);

/** Lets the seconds that a call waits pass in a moment. */
function hurry(): void {
  const real = performance.now.bind(performance);
  const begin = real();
  const hurried = (): number => begin + 50 * (real() - begin);
  jest.spyOn(performance, "now").mockImplementation(hurried);
}

afterEach(() => jest.restoreAllMocks());

describe.each(drivers)("calls that share a transaction, by $name (RFC 6749 §10.5)", (driver) => {
  let handle: OpenedHandle;
  let other: OpenedHandle;
  let storage: SqliteStorage;
  /** The transactions since it was emptied, as the statements that begin and end them. */
  let transactions: string[];
  let hook: StatementHook;

  beforeEach(async () => {
    const file = newFile();
    [handle, other] = [driver.open(file), driver.open(file)];
    hook = calmly;
    transactions = [];
    const around: StatementHook = (sql, call) => {
      if (/^(?:BEGIN|COMMIT|ROLLBACK)/.test(sql)) transactions.push(sql);
      return hook(sql, call);
    };
    storage = sqliteStorage({ handle: hookedHandle(handle, around) });
    await storage.migrate();
    transactions.length = 0;
  });
  afterEach(() => {
    handle.close();
    other.close();
  });

  /** What another connection counts, which sees what is committed and nothing else. */
  function committed(table: string): number {
    const [row] = other.prepare(`SELECT count(*) AS count FROM authmount_${table}`).all();
    return Number((row as { count: unknown }).count);
  }

  /** The statement fails instead of being run, so many times. */
  function failing(statement: RegExp, { error, times }: { error: Error; times: number }): void {
    let left = times;
    hook = (sql, call) => {
      if (!statement.test(sql) || left === 0) return call();
      left -= 1;
      throw error;
    };
  }

  const busy = Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY", errcode: 5 });
  const full = Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL", errcode: 13 });

  it("is one transaction for those of one turn", async () => {
    const codes = Array.from({ length: 20 }, () => newCode(now));
    await Promise.all(codes.map((code) => storage.authorizationCodes.create(code, now)));
    expect(transactions).toEqual(["BEGIN IMMEDIATE", "COMMIT"]);
    expect(committed("authorization_codes")).toBe(20);
  });

  it.each([63, 64, 65, 200])("is as many of at most 64 as %d calls need, each done once", async (count) => {
    const codes = Array.from({ length: count }, () => newCode(now));
    const created = codes.map((code) => storage.authorizationCodes.create(code, now));
    await Promise.all(created);
    expect(transactions.filter((sql) => sql === "BEGIN IMMEDIATE")).toHaveLength(Math.ceil(count / 64));
    const consumed = await Promise.all(codes.map((code) => storage.authorizationCodes.consume(code, now)));
    expect(new Set(consumed)).toEqual(new Set(["consumed"]));
    const again = await Promise.all(codes.map((code) => storage.authorizationCodes.consume(code, now)));
    expect(new Set(again)).toEqual(new Set(["not-consumed"]));
  });

  it("consumes a code once, uses an assertion once and parks a request once within one transaction (RFC 6749 §4.1.2, 7523 §3, 9126 §4)", async () => {
    const [code, assertion, request] = [newCode(now), newAssertion(now), newParkedRequest(now)];
    await storage.authorizationCodes.create(code, now);
    transactions.length = 0;
    const outcomes = await Promise.all([
      ...Array.from({ length: 20 }, () => storage.authorizationCodes.consume(code, now)),
      ...Array.from({ length: 20 }, () => storage.clientAssertions.use(assertion, now)),
      ...Array.from({ length: 20 }, () => storage.parkedRequests.create(request, { now })),
    ]);
    expect(transactions).toEqual(["BEGIN IMMEDIATE", "COMMIT"]);
    expect(outcomes.filter((outcome) => outcome === "consumed")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "not-consumed")).toHaveLength(19);
    expect(outcomes.filter((outcome) => outcome === "used")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "used-before")).toHaveLength(19);
    expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "taken")).toHaveLength(19);
  });

  it("rotates a refresh token once within one transaction, and tells the others how (RFC 9700 §4.14.2)", async () => {
    const from = newRefreshToken(now);
    const steps = Array.from({ length: 64 }, () => ({ from, to: newRefreshToken(now), use: newUse(now) }));
    await storage.refreshTokens.create(from, now);
    const outcomes = await Promise.all(steps.map((step) => storage.refreshTokens.rotate(step, now)));
    expect(outcomes.filter((outcome) => outcome === "rotated")).toHaveLength(1);
    const winner = steps[outcomes.indexOf("rotated")];
    expect(outcomes.filter((outcome) => outcome !== "rotated")).toEqual(Array(63).fill(winner?.use));
    expect(committed("refresh_tokens")).toBe(2);
  });

  describe("one of which fails by itself", () => {
    it.each([0, 20, 40])(
      "are done without it, each exactly once and with its own result: the one at %d",
      async (at) => {
        const [codes, tokens] = [newCode, newRefreshToken].map((make) =>
          Array.from({ length: 20 }, () => make(now)),
        ) as [ReturnType<typeof newCode>[], ReturnType<typeof newRefreshToken>[]];
        const stored = newCode(now);
        for (const code of [...codes, stored]) await storage.authorizationCodes.create(code, now);
        for (const token of tokens) await storage.refreshTokens.create(token, now);
        const successors = tokens.map(() => newRefreshToken(now));
        const calls = [
          ...codes.map((code) => () => storage.authorizationCodes.consume(code, now)),
          ...tokens.map((from, index) => () => {
            const to = successors[index] ?? newRefreshToken(now);
            return storage.refreshTokens.rotate({ from, to }, now);
          }),
        ] as (() => Promise<unknown>)[];
        calls.splice(at, 0, () => storage.authorizationCodes.create(stored, now));
        transactions.length = 0;
        const outcomes = await Promise.allSettled(calls.map((call) => call()));
        expect(transactions.slice(0, 2)).toEqual(["BEGIN IMMEDIATE", "ROLLBACK"]);
        const [failed] = outcomes.splice(at, 1);
        expect(failed).toMatchObject({
          status: "rejected",
          reason: { message: expect.stringMatching(/UNIQUE/) },
        });
        const results = outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : outcome));
        expect(results).toEqual([...Array(20).fill("consumed"), ...Array(20).fill("rotated")]);
        expect([committed("authorization_codes"), committed("refresh_tokens")]).toEqual([21, 40]);
        for (const { digest, authorizationId } of successors) {
          const handleOf = { digest, authorizationId };
          expect(await storage.refreshTokens.find(handleOf, now)).toMatchObject({ used: false });
        }
      },
    );

    it("are done without all that fail, when several do", async () => {
      const stored = Array.from({ length: 3 }, () => newCode(now));
      for (const code of stored) await storage.authorizationCodes.create(code, now);
      const fresh = Array.from({ length: 5 }, () => newCode(now));
      const outcomes = await Promise.allSettled(
        [...fresh, ...stored].map((code) => storage.authorizationCodes.create(code, now)),
      );
      expect(outcomes.map(({ status }) => status)).toEqual([
        ...Array(5).fill("fulfilled"),
        ...Array(3).fill("rejected"),
      ]);
      expect(committed("authorization_codes")).toBe(8);
    });

    it("leave nothing of it: the half that it had done is undone", async () => {
      const [authorization, code] = [newAuthorization(now), newCode(now)];
      await storage.authorizations.create(authorization, now);
      await storage.authorizationCodes.create(
        { ...code, authorizationId: authorization.authorizationId },
        now,
      );
      const error = new Error("the second statement fails");
      failing(/^UPDATE authmount_authorizations SET last_used_at/, { error, times: 1 });
      const handleOf = { digest: code.digest, authorizationId: authorization.authorizationId };
      await expect(storage.authorizationCodes.consume(handleOf, now)).rejects.toBe(error);
      expect(await storage.authorizationCodes.find(handleOf, now)).toMatchObject({ consumed: false });
      expect(await storage.authorizationCodes.consume(handleOf, now)).toBe("consumed");
    });
  });

  /** Ten new codes at once, one of which is consumed in the same transaction. */
  async function createTen() {
    const codes = Array.from({ length: 10 }, () => newCode(now));
    const spent = newCode(now);
    await storage.authorizationCodes.create(spent, now);
    transactions.length = 0;
    return {
      spent,
      statuses: async () => {
        const created = codes.map((code) => storage.authorizationCodes.create(code, now));
        const all = [...created, storage.authorizationCodes.consume(spent, now)];
        return new Set(
          (await Promise.allSettled(all)).map((each) =>
            each.status === "rejected" ? (each.reason as Error).message : each.status,
          ),
        );
      },
    };
  }

  describe("whose COMMIT fails", () => {
    it("all reject, and nothing is left of them, when it did nothing", async () => {
      const { spent, statuses } = await createTen();
      failing(/^COMMIT/, { error: full, times: 1 });
      expect(await statuses()).toEqual(new Set([full.message]));
      expect(transactions).toEqual(["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"]);
      expect(committed("authorization_codes")).toBe(1);
      expect(await storage.authorizationCodes.consume(spent, now)).toBe("consumed");
    });

    it("all reject, and none is repeated, when it has done its work after all", async () => {
      const { spent, statuses } = await createTen();
      const lost = new Error("disk I/O error");
      hook = (sql, call) => {
        const result = call();
        if (sql === "COMMIT") throw lost;
        return result;
      };
      expect(await statuses()).toEqual(new Set([lost.message]));
      hook = calmly;
      expect(transactions).toEqual(["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"]);
      expect(committed("authorization_codes")).toBe(11);
      expect(await storage.authorizationCodes.consume(spent, now)).toBe("not-consumed");
    });

    it("all reject, and are not repeated, even when it says that the database is busy", async () => {
      const { statuses } = await createTen();
      failing(/^COMMIT/, { error: busy, times: 1 });
      expect(await statuses()).toEqual(new Set([busy.message]));
      expect(transactions).toEqual(["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"]);
    });
  });

  it("are undone by SQLite itself when ROLLBACK finds nothing to undo, and the next ones are done", async () => {
    const { statuses } = await createTen();
    hook = (sql, call) => {
      if (!sql.startsWith("INSERT")) return call();
      handle.exec("ROLLBACK");
      throw full;
    };
    expect(await statuses()).toEqual(new Set([full.message, "fulfilled"]));
    hook = calmly;
    expect(committed("authorization_codes")).toBe(1);
    await storage.authorizationCodes.create(newCode(now), now);
    expect(committed("authorization_codes")).toBe(2);
  });

  it("never become part of a transaction that could not be ended", async () => {
    const { spent, statuses } = await createTen();
    hook = (sql, call) => {
      if (/^(?:COMMIT|ROLLBACK)/.test(sql)) throw full;
      return call();
    };
    expect(await statuses()).toEqual(new Set([full.message]));
    hook = calmly;
    hurry();
    const code = newCode(now);
    await expect(storage.authorizationCodes.create(code, now)).rejects.toMatchObject({
      code: "sqlite-locked",
    });
    expect(committed("authorization_codes")).toBe(1);
    handle.exec("ROLLBACK");
    await storage.authorizationCodes.create(code, now);
    expect(await storage.authorizationCodes.consume(spent, now)).toBe("consumed");
    expect(committed("authorization_codes")).toBe(2);
  });

  describe("that cannot begin", () => {
    it("wait while another connection writes, and are done once it has ended", async () => {
      const { spent, statuses } = await createTen();
      other.exec("BEGIN IMMEDIATE");
      const waiting = statuses();
      while (transactions.length < 5) await nextTurn();
      // reads go on meanwhile
      expect(await storage.authorizationCodes.find(spent, now)).toMatchObject({ consumed: false });
      other.exec("COMMIT");
      expect(await waiting).toEqual(new Set(["fulfilled"]));
      expect(transactions.at(-1)).toBe("COMMIT");
      expect(new Set(transactions.slice(0, -1))).toEqual(new Set(["BEGIN IMMEDIATE"]));
      expect(committed("authorization_codes")).toBe(11);
    });

    it("are joined by nobody: what comes while they wait goes in the next one", async () => {
      const { statuses } = await createTen();
      other.exec("BEGIN IMMEDIATE");
      const waiting = statuses();
      while (transactions.length < 3) await nextTurn();
      const late = storage.authorizationCodes.create(newCode(now), now);
      other.exec("COMMIT");
      await Promise.all([waiting, late]);
      expect(transactions.filter((sql) => sql === "COMMIT")).toHaveLength(2);
      expect(committed("authorization_codes")).toBe(12);
    });

    it("all reject when it fails for another reason, and the next ones are done", async () => {
      const { statuses } = await createTen();
      failing(/^BEGIN/, { error: full, times: 1 });
      expect(await statuses()).toEqual(new Set([full.message]));
      expect(transactions).toEqual(["BEGIN IMMEDIATE"]);
      await storage.authorizationCodes.create(newCode(now), now);
      expect(committed("authorization_codes")).toBe(2);
    });

    it("give up in the time of the first of them, also those that came while others waited", async () => {
      other.exec("BEGIN IMMEDIATE");
      const first = storage.authorizationCodes.create(newCode(now), now);
      const rejected = expect(first).rejects.toMatchObject({ code: "sqlite-locked" });
      while (transactions.length < 3) await nextTurn();
      const second = storage.authorizationCodes.create(newCode(now), now);
      const rejectedToo = expect(second).rejects.toMatchObject({ code: "sqlite-locked" });
      await rejected;
      transactions.length = 0;
      await rejectedToo;
      // its time had begun long before, and the server gives it five seconds in all
      expect(transactions.length).toBeLessThan(20);
      other.exec("COMMIT");
      expect(committed("authorization_codes")).toBe(0);
    });
  });
});
