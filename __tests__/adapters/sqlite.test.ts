import { closeSync, copyFileSync, existsSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { endSubject } from "../../lib/end-user/ends";
import { sqliteStorage, type SqliteStorage, type SqliteStorageOptions } from "../../lib/sqlite";
import { newParkedRequest } from "../../lib/testing/contract/records";
import { authorizationRecord, codeRecord, confidentialRecord, refreshTokenRecord } from "../records/records";
import { drivers, newFile, type OpenedHandle, type SqliteDriver } from "../servers/sqlite-files";

const [anyDriver] = drivers as [SqliteDriver, ...SqliteDriver[]];
const handles: OpenedHandle[] = [];

function open(file: string): OpenedHandle {
  const handle = anyDriver.open(file);
  handles.push(handle);
  return handle;
}
afterEach(() => {
  for (const handle of handles.splice(0)) handle.close();
});

async function migrated(file: string): Promise<SqliteStorage> {
  const storage = sqliteStorage({ handle: open(file) });
  await storage.migrate();
  return storage;
}

describe("sqliteStorage options (RFC 6749 §10.5)", () => {
  it.each([
    ["nothing", undefined, "sqlite-file-or-handle"],
    ["neither file nor handle", {}, "sqlite-file-or-handle"],
    ["both", { file: "a.sqlite", handle: { exec: jest.fn(), prepare: jest.fn() } }, "sqlite-file-or-handle"],
    ["a handle without prepare", { handle: { exec: jest.fn() } }, "sqlite-handle-wrong"],
    ["a handle that is a path", { handle: "a.sqlite" }, "sqlite-handle-wrong"],
    ["a handle that is null", { handle: null }, "sqlite-handle-wrong"],
  ])("refuses %s", (_, options, code) => {
    expect(() => sqliteStorage(options as unknown as SqliteStorageOptions)).toThrow(
      expect.objectContaining({ name: "TypeError", code }),
    );
  });

  it.each(["", " a.sqlite ", ":memory:", "file:a.sqlite", "file::memory:?cache=shared", "a\0b", 7, null])(
    "refuses the file %j, and says what to write",
    (file) => {
      expect(() => sqliteStorage({ file: file as string })).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^sqlite-file-not-(?:text|a-path)$/) }),
      );
    },
  );

  it("names the reason when the folder of the file is not there, and makes nothing", () => {
    const file = path.join(newFile(), "a.sqlite");
    expect(() => sqliteStorage({ file })).toThrow(
      expect.objectContaining({ code: "sqlite-file-not-created" }),
    );
    expect(existsSync(path.dirname(file))).toBe(false);
  });
});

describe("a file that sqliteStorage opens (RFC 6749 §10.10)", () => {
  it("is readable for its owner only, with its log", async () => {
    const file = newFile();
    const storage = sqliteStorage({ file });
    await storage.migrate();
    for (const name of [file, `${file}-wal`, `${file}-shm`]) expect(statSync(name).mode & 0o077).toBe(0);
    await storage.close();
  });

  it("keeps the rights that it has", async () => {
    const file = newFile();
    closeSync(openSync(file, "w", 0o640));
    const storage = sqliteStorage({ file });
    await storage.migrate();
    expect(statSync(file).mode & 0o777).toBe(0o640);
    await storage.close();
  });

  it("has everything after it was closed and opened again", async () => {
    const file = newFile();
    const before = sqliteStorage({ file });
    await before.migrate();
    await before.clients.save(confidentialRecord());
    await before.authorizations.create(authorizationRecord(), 1_000);
    await before.authorizationCodes.create(codeRecord(), 1_000);
    await before.authorizationCodes.consume(codeRecord(), 1_000);
    await before.close();
    const after = sqliteStorage({ file });
    await after.migrate();
    expect(await after.clients.find("web")).toEqual(confidentialRecord());
    expect(await after.authorizations.find(authorizationRecord().authorizationId, 1_000)).toEqual(
      authorizationRecord(),
    );
    expect(await after.authorizationCodes.consume(codeRecord(), 1_000)).toBe("not-consumed");
    await after.close();
  });

  it("finishes the writes under way before it is closed, and refuses later calls", async () => {
    const file = newFile();
    const storage = sqliteStorage({ file });
    await storage.migrate();
    const tokens = Array.from({ length: 200 }, (_, index) => refreshTokenRecord(`number ${index}`));
    const writes = tokens.map((token) => storage.refreshTokens.create(token, 1_000));
    await storage.close();
    await Promise.all(writes);
    await expect(storage.refreshTokens.create(refreshTokenRecord("late"), 1_000)).rejects.toMatchObject({
      code: "sqlite-closed",
    });
    await expect(storage.refreshTokens.find(refreshTokenRecord("late"), 1_000)).rejects.toMatchObject({
      code: "sqlite-closed",
    });
    const again = sqliteStorage({ file });
    for (const token of tokens) expect(await again.refreshTokens.find(token, 1_000)).toEqual(token);
    await again.close();
  });

  it("can be closed twice", async () => {
    const storage = sqliteStorage({ file: newFile() });
    await storage.close();
    await storage.close();
  });
});

describe("a handle that the host has opened", () => {
  it("is set up so that an acknowledged write survives a power failure, and nobody waits inside the driver", async () => {
    const handle = open(newFile());
    handle.exec("PRAGMA synchronous = OFF; PRAGMA busy_timeout = 5000");
    await sqliteStorage({ handle }).migrate();
    const setting = (name: string): unknown =>
      Object.values(handle.prepare(`PRAGMA ${name}`).all()[0] as Record<string, unknown>)[0];
    expect([setting("journal_mode"), setting("synchronous"), setting("busy_timeout")]).toEqual(["wal", 2, 0]);
  });

  it("is refused when its database is in memory, with the remedy", async () => {
    await expect(sqliteStorage({ handle: open(":memory:") }).migrate()).rejects.toMatchObject({
      code: "sqlite-no-write-ahead-log",
    });
  });

  it("stays open when the storage is closed", async () => {
    const handle = open(newFile());
    const storage = sqliteStorage({ handle });
    await storage.migrate();
    await storage.close();
    expect(handle.prepare("SELECT 1 AS one").all()).toEqual([{ one: 1 }]);
  });

  it("may have tables of the host beside ours", async () => {
    const handle = open(newFile());
    handle.exec("CREATE TABLE clients (name TEXT); INSERT INTO clients VALUES ('a client of the host')");
    const storage = sqliteStorage({ handle });
    await storage.migrate();
    await storage.clients.save(confidentialRecord());
    expect(handle.prepare("SELECT name FROM clients").all()).toEqual([{ name: "a client of the host" }]);
  });
});

describe("migrate() of sqliteStorage", () => {
  it("makes the tables once, whoever calls it at the same time", async () => {
    const file = newFile();
    const storages = Array.from({ length: 8 }, () => sqliteStorage({ handle: open(file) }));
    await Promise.all(storages.map(({ migrate }) => migrate()));
    expect(open(file).prepare("SELECT version FROM authmount_migrations").all()).toEqual([{ version: 1 }]);
  });

  it("only reads when there is nothing to do", async () => {
    const file = newFile();
    await migrated(file);
    const other = open(file);
    other.exec("BEGIN IMMEDIATE");
    await expect(sqliteStorage({ handle: open(file) }).migrate()).resolves.toBeUndefined();
    other.exec("ROLLBACK");
  });

  it("is all or nothing: a table of somebody else stops it and stays as it is", async () => {
    const handle = open(newFile());
    handle.exec("CREATE TABLE authmount_refresh_tokens (mine TEXT)");
    // the class of a native driver's errors may be that of another test file
    await expect(sqliteStorage({ handle }).migrate()).rejects.toMatchObject({
      message: expect.stringContaining("authmount_refresh_tokens already exists") as string,
    });
    const tables = "SELECT name FROM sqlite_schema WHERE type = 'table'";
    expect(handle.prepare(tables).all()).toEqual([{ name: "authmount_refresh_tokens" }]);
  });

  it("is named by the error of a call before it", async () => {
    const storage = sqliteStorage({ handle: open(newFile()) });
    const notMigrated = { code: "sqlite-not-migrated" };
    await expect(storage.clients.find("web")).rejects.toMatchObject(notMigrated);
    await expect(storage.clients.save(confidentialRecord())).rejects.toMatchObject(notMigrated);
  });
});

describe("deleteExpired() of sqliteStorage", () => {
  const now = Math.floor(Date.now() / 1000);

  it("deletes what expired five minutes ago, and nothing else", async () => {
    const storage = await migrated(newFile());
    const ends = [now - 301, now - 300, now - 299, now + 1];
    for (const [index, expiresAt] of ends.entries()) {
      await storage.refreshTokens.create({ ...refreshTokenRecord(`number ${index}`), expiresAt }, 1_000);
      await storage.parkedRequests.create(newParkedRequest(1_000, { expiresAt }), { now: 1_000 });
    }
    expect(await storage.deleteExpired(now)).toBe(4);
    expect(await storage.deleteExpired(now)).toBe(0);
    expect(await storage.refreshTokens.find(refreshTokenRecord("number 2"), 1_000)).toBeDefined();
  });

  it("counts thousands, in batches, while others write", async () => {
    const storage = await migrated(newFile());
    const revocations = Array.from({ length: 2_000 }, (_, index) =>
      storage.accessTokens.revoke({ tokenId: `token ${index}`, expiresAt: 2_000 }, 1_000),
    );
    await Promise.all(revocations);
    const deleting = storage.deleteExpired();
    await storage.accessTokens.revoke({ tokenId: "meanwhile", expiresAt: now + 60 }, now);
    expect(await deleting).toBe(2_000);
    expect(await storage.accessTokens.isRevoked("meanwhile", now)).toBe(true);
  });

  it.each([Date.now(), now + 400, now + 0.5, NaN, Infinity])("refuses the time %d", async (time) => {
    const storage = await migrated(newFile());
    await expect(storage.deleteExpired(time)).rejects.toMatchObject({
      code: expect.stringMatching(/^sqlite-time-(?:ahead|not-whole)$/),
    });
  });
});

/** The plan of each statement that was prepared, as SQLite explains it. */
async function plansOf(use: (storage: SqliteStorage) => Promise<unknown>): Promise<readonly string[]> {
  const handle = open(newFile());
  const statements = new Set<string>();
  const storage = sqliteStorage({
    handle: {
      exec: (sql) => handle.exec(sql),
      prepare(sql) {
        statements.add(sql);
        return handle.prepare(sql);
      },
    },
  });
  await storage.migrate();
  statements.clear();
  await use(storage);
  return [...statements].flatMap((sql) =>
    handle
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...Array.from({ length: sql.split("?").length - 1 }, () => 0))
      .map((row) => (row as { detail: string }).detail),
  );
}

describe("the indexes of sqliteStorage", () => {
  const selection = { subject: "alice", clientId: "web", apiId: "orders" };

  it("no call looks through a whole table", async () => {
    const plans = await plansOf(async (storage) => {
      const client = confidentialRecord();
      await storage.clients.save(client);
      await storage.clients.replace({ from: client, to: { ...client, name: "Another name" } });
      await storage.clients.isBrowserOrigin("https://a.example");
      await storage.clients.list({ limit: 10 });
      await storage.clients.delete("web");
      await storage.consents.save({ ...selection, scopes: [], grantedAt: 1, endMarks: [], expiresAt: 9 }, 1);
      await storage.consents.find(selection, 1);
      await storage.consents.list("alice", 1);
      await storage.consents.delete({ selection, exceptEndMark: "" }, 1);
      await storage.authorizations.create(authorizationRecord(), 1_000);
      await storage.authorizations.find("a", 1);
      await storage.authorizations.revoke("a", 1);
      await storage.authorizations.list("alice", { limit: 2, after: "a" }, 1);
      await storage.authorizations.revokeAll({ subject: "alice" }, 1);
      await storage.authorizations.revokeAll({ ...selection, contextKey: "" }, 1);
      await storage.authorizations.erase({ subject: "alice", authorizationId: "a" }, 1);
      await storage.authorizations.erase({ subject: "alice" }, 1);
      await storage.authorizationCodes.create(codeRecord(), 1_000);
      await storage.authorizationCodes.consume(codeRecord(), 1_000);
      await storage.refreshTokens.create(refreshTokenRecord(), 1_000);
      await storage.refreshTokens.rotate({ from: refreshTokenRecord(), to: refreshTokenRecord("b") }, 1_000);
      await storage.accessTokens.find("a", 1);
      await storage.accessTokens.isRevoked("a", 1);
      await storage.endMarks.find(["a", "b"], 1);
      await storage.parkedRequests.create(newParkedRequest(1_000), { now: 1_000 });
      await storage.parkedRequests.find("a", 1);
      await storage.clientRegistrations.create({ client, expiresAt: 9 }, { limit: 1, now: 1 });
      await storage.clientRegistrations.extend({ clientId: "web", expiresAt: 10 }, 1);
      await storage.deleteExpired();
    });
    expect(plans.length).toBeGreaterThan(30);
    // SCAN is a whole table, except of a list that the statement was given or of what it has found itself
    expect(plans.filter((plan) => /^SCAN (?!json_each|value|pools|\(subquery)/.test(plan))).toEqual([]);
  });
});

describe("a file that is changed under an open storage (RFC 6749 §10.5)", () => {
  const changes: readonly (readonly [string, (file: string) => void])[] = [
    ["removed", (file) => rmSync(file)],
    ["replaced", (file) => (copyFileSync(file, `${file}.copy`), renameSync(`${file}.copy`, file))],
    ["left without its log", (file) => rmSync(`${file}-wal`)],
    ["left without its shared memory", (file) => rmSync(`${file}-shm`)],
  ];

  it.each(changes)(
    "is noticed when it is %s: nothing is acknowledged or believed any more",
    async (_, change) => {
      const file = newFile();
      const storage = await migrated(file);
      await storage.authorizationCodes.create(codeRecord(), 1_000);
      change(file);
      await expect(storage.authorizationCodes.consume(codeRecord(), 1_000)).rejects.toMatchObject({
        code: "sqlite-file-replaced",
      });
      await expect(storage.authorizationCodes.find(codeRecord(), 1_000)).rejects.toMatchObject({
        code: "sqlite-file-replaced",
      });
    },
  );

  it("goes on while other connections come and go", async () => {
    const file = newFile();
    const storage = await migrated(file);
    await storage.authorizationCodes.create(codeRecord(), 1_000);
    for (let time = 0; time < 3; time += 1) {
      const other = anyDriver.open(file);
      await sqliteStorage({ handle: other }).refreshTokens.create(
        refreshTokenRecord(`number ${time}`),
        1_000,
      );
      other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      other.close();
    }
    expect(await storage.authorizationCodes.consume(codeRecord(), 1_000)).toBe("consumed");
    expect(await storage.refreshTokens.find(refreshTokenRecord("number 2"), 1_000)).toBeDefined();
  });
});

describe("an end of more authorizations than one statement changes (RFC 7009 §2.1)", () => {
  it("revokes and erases all of them", async () => {
    const storage = await migrated(newFile());
    for (let index = 0; index < 501; index += 1) {
      const authorizationId = String(index).padStart(22, "a");
      const clientId = `client-${index % 10}`;
      await storage.authorizations.create(authorizationRecord({ authorizationId, clientId }), 1_000);
    }
    const { subject } = authorizationRecord();
    expect(await storage.authorizations.revokeAll({ subject }, 1_000)).toBe(501);
    expect(await storage.authorizations.list(subject, { limit: 1 }, 1_000)).toEqual([]);
    expect(await storage.authorizations.erase({ subject }, 1_000)).toBe(501);
  });

  it("erase leaves no row that names the person, whatever has expired before", async () => {
    const file = newFile();
    const storage = await migrated(file);
    const consent = {
      subject: "alice",
      clientId: "web",
      apiId: "orders",
      scopes: [],
      grantedAt: 1_000,
      endMarks: [],
    };
    for (const [index, expiresAt] of [1_100, 9_000].entries()) {
      const authorization = authorizationRecord({ authorizationId: `${index}`, expiresAt });
      await storage.authorizations.create(authorization, 1_000);
      await storage.consents.save({ ...consent, contextKey: `${index}`, expiresAt }, 1_000);
    }
    await endSubject(
      { storage, emit: () => undefined, clock: () => 2_000, randomId: () => "I".repeat(22) },
      { subject: "alice", end: "erase", longestLifeSeconds: 9_000 },
    );
    for (const table of ["authorizations", "consents"])
      expect(open(file).prepare(`SELECT subject FROM authmount_${table}`).all()).toEqual([]);
  });
});
