// A process ends at any moment while it writes to a SQLite file: what it has acknowledged is there, and nothing can be used twice.
// The attacker has a code or a refresh token that was used just before, and tries again.
import { randomInt } from "node:crypto";
import { rmSync } from "node:fs";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import type { TokenHandle } from "../../lib/protocol/token-value";
import { type SqliteStorage, sqliteStorage } from "../../lib/sqlite";
import { newCode, newParkedRequest, newRefreshToken } from "../../lib/testing/contract/records";
import { lengthOf } from "../../__tests__/servers/cluster-processes";
import { randomOf } from "./schedule";
import { describeWith } from "../../__tests__/servers/server-process";
import { drivers, newFile, type OpenedHandle, type SqliteDriver } from "../../__tests__/servers/sqlite-files";
import { type Line, type SqliteProcess, type SqliteTask, startSqliteProcess } from "./sqlite-process";

const kills = lengthOf({ short: 8, long: 200 });

jest.setTimeout(lengthOf({ short: 600_000, long: 1_800_000 }));

const now = Math.floor(Date.now() / 1000);
const started: SqliteProcess[] = [];

function start(task: SqliteTask): SqliteProcess {
  const child = startSqliteProcess(task);
  started.push(child);
  return child;
}

afterEach(async () => {
  await Promise.all(started.splice(0).map((child) => child.kill().catch(() => undefined)));
});

interface Opened {
  readonly handle: OpenedHandle;
  readonly storage: SqliteStorage;
}

/** Opens the file as another process does after the kill, which finds what the log holds; closes it afterwards. */
async function withFile<T>(file: string, act: (opened: Opened) => Promise<T>): Promise<T> {
  const handle = (drivers[0] as SqliteDriver).open(file);
  try {
    return await act({ handle, storage: sqliteStorage({ handle }) });
  } finally {
    handle.close();
  }
}

async function expectSound({ handle, storage }: Opened): Promise<void> {
  expect(handle.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  await storage.migrate();
}

/** What of this step must be there, and is not. A step that was not acknowledged was done or not, but never half. */
type Check = (storage: SqliteStorage, line: Line, acknowledged: boolean) => Promise<boolean>;

const checks: Readonly<Record<string, Check>> = {
  async authorize({ authorizations }, { authorizationId }, acknowledged) {
    return !acknowledged || (await authorizations.find(authorizationId as string, now)) !== undefined;
  },
  async code({ authorizationCodes }, { code }, acknowledged) {
    return !acknowledged || (await authorizationCodes.find(code as TokenHandle, now)) !== undefined;
  },
  async consume({ authorizationCodes, authorizations }, { code }, acknowledged) {
    const handle = code as TokenHandle;
    const consumed = (await authorizationCodes.find(handle, now))?.consumed === true;
    const { subject = "" } = (await authorizations.find(handle.authorizationId, now)) ?? {};
    const [listed] = await authorizations.list(subject, { limit: 1 }, now);
    // a revoked one is not listed; the last use is of the same step
    if (listed !== undefined && (listed.lastUsedAt !== undefined) !== consumed) return false;
    const again = [
      await authorizationCodes.consume(handle, now),
      await authorizationCodes.consume(handle, now),
    ];
    return (
      (consumed || !acknowledged) &&
      again.join(" ") === (consumed ? "not-consumed" : "consumed") + " not-consumed"
    );
  },
  async token({ refreshTokens }, { token }, acknowledged) {
    return !acknowledged || (await refreshTokens.find(token as TokenHandle, now)) !== undefined;
  },
  async rotate({ refreshTokens }, { from, to }, acknowledged) {
    const used = (await refreshTokens.find(from as TokenHandle, now))?.used === true;
    const replaced = (await refreshTokens.find(to as TokenHandle, now)) !== undefined;
    if (used !== replaced || (acknowledged && !used)) return false;
    const step = { from: from as TokenHandle, to: newRefreshToken(now) };
    return !used || (await refreshTokens.rotate(step, now)) === "not-rotated";
  },
  async "revoke access token"({ accessTokens }, { tokenId }, acknowledged) {
    return !acknowledged || accessTokens.isRevoked(tokenId as string, now);
  },
  async "use assertion"({ clientAssertions }, { digest }, acknowledged) {
    const assertion = { digest: digest as string, clientId: "shop", expiresAt: now + 3_600 };
    return !acknowledged || (await clientAssertions.use(assertion, now)) === "used-before";
  },
  async park({ parkedRequests }, { key }, acknowledged) {
    const request = newParkedRequest(now, { key: key as string });
    if ((await parkedRequests.create(request, { now })) === "created") return !acknowledged;
    const found = await parkedRequests.find(request.key, now);
    return found !== undefined && found.by !== request.by;
  },
  async revoke({ authorizations }, { authorizationId }, acknowledged) {
    return !acknowledged || (await authorizations.find(authorizationId as string, now))?.revoked === true;
  },
};

const nameOf = ({ acknowledged: _acknowledged, ...step }: Line): string => JSON.stringify(step);

/** The last mark of each key that was acknowledged, or one that was begun after it. */
async function wrongMarks({ endMarks }: SqliteStorage, lines: readonly Line[]): Promise<readonly string[]> {
  const allowed = new Map<string, string[]>();
  for (const { step, key, mark, acknowledged } of lines) {
    if (step !== "end mark") continue;
    const before = acknowledged === true ? [] : (allowed.get(key as string) ?? []);
    allowed.set(key as string, [...before, mark as string]);
  }
  const keys = [...allowed.keys()].filter((key) =>
    lines.some((line) => line["key"] === key && line["acknowledged"] === true),
  );
  const found = await endMarks.find(keys, now);
  return keys.filter((key, index) => !(allowed.get(key) ?? []).includes(found[index] ?? ""));
}

/** Steps that are not as they must be, after the process that printed these lines was killed. */
async function wrongSteps(storage: SqliteStorage, lines: readonly Line[]): Promise<readonly string[]> {
  const acknowledged = new Set(lines.filter((line) => line["acknowledged"] === true).map(nameOf));
  const wrong = [...(await wrongMarks(storage, lines))];
  // what reads comes before what tries to use things again
  const begun = lines.filter((line) => line["acknowledged"] === false);
  for (const line of begun.toSorted((a, b) => Number(a.step === "rotate") - Number(b.step === "rotate"))) {
    const isRight = await checks[line.step]?.(storage, line, acknowledged.has(nameOf(line)));
    if (isRight === false) wrong.push(`${nameOf(line)} acknowledged: ${acknowledged.has(nameOf(line))}`);
  }
  return wrong;
}

function writes(): void {
  it(`keeps all that was acknowledged, and lets nothing be used again, ${kills} kills`, async () => {
    const seed = randomInt(2 ** 31);
    process.stderr.write(`SQLite: seed ${seed}\n`);
    const random = randomOf(seed);
    const file = newFile();
    const wrong: string[] = [];
    const counts = { acknowledged: 0, inDoubt: 0 };
    const earlier: Line[] = [];
    for (let kill = 0; kill < kills; kill += 1) {
      const child = start({ file, act: "write" });
      await child.begun;
      await delay(random() * 400);
      await child.kill();
      const acknowledged = child.lines.filter((line) => line["acknowledged"] === true);
      counts.acknowledged += acknowledged.length;
      counts.inDoubt += child.lines.length - 2 * acknowledged.length;
      await withFile(file, async (opened) => {
        await expectSound(opened);
        wrong.push(...(await wrongSteps(opened.storage, child.lines)));
      });
      earlier.push(...acknowledged.filter(({ step }) => step === "consume" || step === "rotate"));
    }
    // nothing of before has come back by a later kill
    await withFile(file, async ({ storage }) => {
      for (const line of earlier)
        if (!(await checks[line.step]?.(storage, line, true))) wrong.push(nameOf(line));
    });
    process.stderr.write(`SQLite: ${kills} kills, ${JSON.stringify(counts)}\n`);
    expect([wrong.length, wrong.slice(0, 3)]).toEqual([0, []]);
    expect(counts.acknowledged).toBeGreaterThan(kills);
    expect(counts.inDoubt).toBeGreaterThan(0);
  });
}

/** Does it for each of so many statements, a few at a time. */
async function atEachStatement(count: number, act: (killBefore: number) => Promise<void>): Promise<void> {
  const left = Array.from({ length: count }, (_, index) => index).values();
  await Promise.all(
    Array.from({ length: 2 }, async () => {
      for (const killBefore of left) await act(killBefore);
    }),
  );
}

/** The statements of a whole run. */
async function statementsOf(task: SqliteTask): Promise<number> {
  const child = start(task);
  await child.ended;
  return child.lines.find(({ step }) => step === "done")?.["statements"] as number;
}

function maintenance(): void {
  it("is migrated by the next process, whichever statement of migrate() was the last", async () => {
    const count = await statementsOf({ file: newFile(), act: "migrate" });
    expect(count).toBeGreaterThan(20);
    await atEachStatement(count, async (killBefore) => {
      const file = newFile();
      await start({ file, act: "migrate", killBefore }).ended;
      await withFile(file, async (opened) => {
        await expectSound(opened);
        const code = newCode(now);
        await opened.storage.authorizationCodes.create(code, now);
        expect(await opened.storage.authorizationCodes.consume(code, now)).toBe("consumed");
      });
    });
  });

  it("loses no row that lives, whichever statement of deleteExpired() was the last", async () => {
    const [expired, living] = [600, 10].map((count) => Array.from({ length: count }, () => newCode(now)));
    async function filled(): Promise<string> {
      const file = newFile();
      await withFile(file, async ({ storage }) => {
        await storage.migrate();
        const rows = expired?.map((code) => ({ ...code, expiresAt: now - 1_000 })) ?? [];
        await Promise.all(
          [...rows, ...(living ?? [])].map((code) => storage.authorizationCodes.create(code, now)),
        );
      });
      return file;
    }
    const count = await statementsOf({ file: await filled(), act: "deleteExpired" });
    await atEachStatement(count, async (killBefore) => {
      const file = await filled();
      await start({ file, act: "deleteExpired", killBefore }).ended;
      await withFile(file, async (opened) => {
        await expectSound(opened);
        // whole batches are gone, and the next call deletes the rest
        expect([600, 350, 100, 0]).toContain(await opened.storage.deleteExpired());
        for (const code of living ?? [])
          expect(await opened.storage.authorizationCodes.consume(code, now)).toBe("consumed");
      });
    });
  });
}

function locks(): void {
  it("does not stop another process for longer than it lives, and what it had not committed is undone", async () => {
    await withFile(newFile(), async (opened) => {
      const { storage, handle } = opened;
      await storage.migrate();
      const [held, own] = [newCode(now), newCode(now)];
      for (const code of [held, own]) await storage.authorizationCodes.create(code, now);
      const { digest, authorizationId } = held;
      const [{ file }] = handle.prepare("PRAGMA database_list").all() as [{ file: string }];
      const holder = start({ file, act: "hold", code: { digest, authorizationId } });
      await holder.begun;
      let answered = false;
      const consumed = storage.authorizationCodes.consume(own, now).finally(() => (answered = true));
      for (let turn = 0; turn < 20; turn += 1) await nextTurn();
      expect(answered).toBe(false);
      expect(await storage.authorizationCodes.find(held, now)).toMatchObject({ consumed: false });
      await holder.kill();
      expect(await consumed).toBe("consumed");
      expect(await storage.authorizationCodes.consume(held, now)).toBe("consumed");
      expect(await storage.authorizationCodes.consume(held, now)).toBe("not-consumed");
      await expectSound(opened);
    });
  });
}

function cleanUps(): void {
  it("spends no code that another process has spent since", async () => {
    await withFile(newFile(), async ({ storage, handle }) => {
      await storage.migrate();
      const code = newCode(now);
      await storage.authorizationCodes.create(code, now);
      const [{ file }] = handle.prepare("PRAGMA database_list").all() as [{ file: string }];
      rmSync(`${file}-shm`);
      const { digest, authorizationId } = code;
      await start({ file, act: "consume", code: { digest, authorizationId } }).ended;
      await expect(storage.authorizationCodes.consume(code, now)).rejects.toMatchObject({
        code: "sqlite-file-replaced",
      });
    });
  });
}

const found = drivers.some(({ name }) => name === "better-sqlite3");

describeWith(
  { name: "better-sqlite3", found },
  {
    name: "a SQLite file whose process is killed (RFC 6749 §4.1.2, 9700 §4.14.2)",
    tests() {
      describe("while it writes", writes);
      describe("while it maintains the tables", maintenance);
      describe("while it holds the lock of the writer", locks);
      describe("or whose shared memory (-shm) a clean-up removes while it is open", cleanUps);
    },
  },
);
