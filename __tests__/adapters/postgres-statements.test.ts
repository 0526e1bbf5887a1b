import { createHash } from "node:crypto";
import { endSubject } from "../../lib/end-user/ends";
import { postgresStorage } from "../../lib/postgres";
import { maxConsents } from "../../lib/protocol/consent";
import { newDeviceRequest, newRegistration } from "../../lib/testing/contract/records";
import {
  aliceAtOrders,
  ask,
  describeWithPostgres,
  newName,
  numbers,
  openStorage,
  pool,
  server,
  untilOneWaits,
} from "../servers/postgres-storage";
import { accessTokenRecord, authorizationRecord, codeRecord, refreshTokenRecord } from "../records/records";

const consent = {
  ...aliceAtOrders,
  scopes: ["orders:read"],
  grantedAt: 1_000,
  expiresAt: 9_000,
  endMarks: [],
};
const use = { usedAt: 1_000, salt: "S".repeat(22), secretId: "secret" };

/** Storage over tables of its own, and the statements that it sends. */
async function watchedStorage() {
  const sent: string[] = [];
  const prefix = newName();
  await openStorage({ prefix });
  const watched = postgresStorage({
    prefix,
    schema: "public",
    pool: {
      query(text, values) {
        sent.push(text);
        return pool.query<Record<string, unknown>>(text, values);
      },
    },
  });
  return { watched, sent };
}

/** So many authorizations of one person at one client, by a statement of the test's own. */
async function fillAuthorizations(prefix: string, count: number): Promise<void> {
  await ask(`INSERT INTO ${prefix}authorizations
    SELECT 'id-' || n, 'alice', 'web', 'orders', '', '{}', false, 0, 9000 FROM generate_series(1, ${count}) AS n`);
}

function endTests(): void {
  it("revokes all, in two processes at once, though another one holds the first batch and gives up", async () => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    await fillAuthorizations(prefix, 1_700);
    const connection = await server.pool().connect();
    await connection.query("BEGIN");
    await connection.query(`UPDATE ${prefix}authorizations SET revoked = true`);
    const ends = Promise.all(
      numbers(2).map(() => storage.authorizations.revokeAll({ subject: "alice" }, 1_000)),
    );
    await untilOneWaits();
    await connection.query("ROLLBACK");
    connection.release();
    const counts = await ends;
    expect(counts.reduce((sum, count) => sum + count)).toBe(1_700);
    expect(await ask(`SELECT 1 FROM ${prefix}authorizations WHERE NOT revoked`)).toEqual([]);
    expect(await storage.authorizations.erase({ subject: "alice" }, 1_000)).toBe(1_700);
  });

  it("keeps `revoked` where a refresh waits for the end of its authorization", async () => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    const [record, from] = [authorizationRecord(), refreshTokenRecord()];
    await storage.authorizations.create(record, 1_000);
    await storage.refreshTokens.create(from, 1_000);
    const connection = await server.pool().connect();
    await connection.query("BEGIN");
    await connection.query(`UPDATE ${prefix}authorizations SET revoked = true`);
    const rotating = storage.refreshTokens.rotate({ from, to: refreshTokenRecord("next") }, 1_005);
    await untilOneWaits();
    await connection.query("COMMIT");
    connection.release();
    expect(await rotating).toBe("rotated");
    const found = await storage.authorizations.find(record.authorizationId, 1_000);
    expect(found).toEqual({ ...record, revoked: true });
    expect(await ask(`SELECT last_used_at::int FROM ${prefix}authorizations`)).toEqual([
      { last_used_at: 1_005 },
    ]);
  });

  it("keeps a consent that is given again, under the mark of the end, while its deletion waits", async () => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    for (const contextKey of ["", "acme"]) {
      await storage.consents.save({ ...consent, contextKey, endMarks: ["before"] }, 1_000);
      const connection = await server.pool().connect();
      await connection.query("BEGIN");
      await connection.query(
        `UPDATE ${prefix}consents SET record = '{"scopes":[],"endMarks":["other","the end"]}'`,
      );
      const withdrawal = { selection: aliceAtOrders, exceptEndMark: "the end" };
      const deleting = storage.consents.delete(withdrawal, 1_000);
      await untilOneWaits();
      await connection.query("COMMIT");
      connection.release();
      expect(await deleting).toBe(false);
      expect(await storage.consents.find({ ...aliceAtOrders, contextKey }, 1_000)).toBeDefined();
      await storage.consents.delete({ selection: aliceAtOrders, exceptEndMark: "a later end" }, 1_000);
    }
  });

  it("stores the end mark of a client and deletes it in one statement", async () => {
    const { watched, sent } = await watchedStorage();
    await watched.clients.delete("web");
    expect(sent).toHaveLength(1);
  });

  it("sends one statement for a code, a refresh, a list, a use and a new authorization", async () => {
    const { watched, sent } = await watchedStorage();
    const from = refreshTokenRecord();
    await watched.authorizations.create(authorizationRecord(), 1_000);
    await watched.authorizationCodes.create(codeRecord(), 1_000);
    await watched.refreshTokens.create(from, 1_000);
    await watched.authorizationCodes.consume(codeRecord(), 1_000);
    await watched.refreshTokens.rotate({ from, to: refreshTokenRecord("next"), use }, 1_000);
    await watched.authorizations.list("alice", { limit: 9 }, 1_000);
    await watched.endMarks.find(["one", "two"], 1_000);
    await watched.authorizations.noteUse(authorizationRecord().authorizationId, 1_000);
    expect(sent).toHaveLength(8);
  });

  it("sends one statement for a consent, a second one where another one must go, and one to delete all", async () => {
    const { watched, sent } = await watchedStorage();
    const save = (clientId: string, expiresAt = 9_000): Promise<void> =>
      watched.consents.save({ ...consent, clientId, expiresAt }, 1_000);
    await Promise.all(numbers(maxConsents).map((number) => save(`client-${number}`)));
    expect(sent).toHaveLength(maxConsents);
    await save("client-1");
    expect(sent).toHaveLength(maxConsents + 1);
    await save("another", 9_001);
    expect(sent).toHaveLength(maxConsents + 3);
    const all = { selection: { subject: "alice" }, exceptEndMark: "the end" };
    expect(await watched.consents.delete(all, 1_000)).toBe(true);
    expect(sent).toHaveLength(maxConsents + 4);
    expect(await watched.consents.list("alice", 1_000)).toEqual([]);
  });
}

function registrationTests(): void {
  it("sends one statement for a parked request, and a second one for what is taken or not open", async () => {
    const { watched, sent } = await watchedStorage();
    const { parkedRequests } = watched;
    const request = newDeviceRequest(1_000);
    const { key, owner } = request;
    for (const outcome of ["created", "taken"])
      expect(await parkedRequests.create(request, { limit: 2, now: 1_000 })).toBe(outcome);
    const another = newDeviceRequest(1_000, { owner });
    expect(await parkedRequests.create(another, { limit: 1, now: 1_000 })).toBe("full");
    expect(await parkedRequests.find(key, 1_000)).toEqual(request);
    expect(await parkedRequests.close({ key, as: "denied", by: "an answer" }, 1_000)).toBe("closed");
    expect(sent).toHaveLength(6);
    expect(await parkedRequests.close({ key, as: "approved", by: "another" }, 1_000)).toBe("not-open");
    expect(sent).toHaveLength(8);
  });

  it("sends one statement for an assertion and a registration, and a second one where another one must go", async () => {
    const { watched, sent } = await watchedStorage();
    const create = () => watched.clientRegistrations.create(newRegistration(1_000), { limit: 2, now: 1_000 });
    await watched.clientAssertions.use({ digest: "digest", expiresAt: 2_000 }, 1_000);
    await create();
    await create();
    await watched.clientRegistrations.find("agent", 1_000);
    await watched.clientRegistrations.extend({ clientId: "agent", expiresAt: 2_000 }, 1_000);
    expect(sent).toHaveLength(5);
    await create();
    expect(sent).toHaveLength(7);
  });

  it("keeps a registration whose extension commits while its removal waits", async () => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    const [one, next] = [newRegistration(1_000), newRegistration(1_000, { expiresAt: 1_700 })];
    const bound = { limit: 1, now: 1_000 };
    await storage.clientRegistrations.create(one, bound);
    const connection = await server.pool().connect();
    await connection.query("BEGIN");
    await connection.query(`UPDATE ${prefix}client_registrations SET extended = true`);
    const creating = storage.clientRegistrations.create(next, bound);
    await untilOneWaits();
    await connection.query("COMMIT");
    connection.release();
    expect(await creating).toBe("created");
    expect(await storage.clientRegistrations.find(one.client.clientId, 1_000)).toEqual(one.client);
  });
}

function preparedTests(): void {
  it("goes on with prepared statements when a later version adds columns", async () => {
    const prefix = newName();
    await openStorage({ prefix });
    // one connection, which keeps what it has prepared
    const connection = await server.pool({ max: 1 }).connect();
    const query = (text: string, values: unknown[] = []) =>
      connection.query<Record<string, unknown>>({
        name: createHash("sha256").update(text).digest("base64url"),
        text,
        values,
      });
    const storage = postgresStorage({ prefix, schema: "public", pool: { query } });
    const { authorizationId } = authorizationRecord();
    await storage.authorizations.create(authorizationRecord(), 1_000);
    await storage.authorizationCodes.create(codeRecord(), 1_000);
    await storage.refreshTokens.create(refreshTokenRecord(), 1_000);
    await storage.accessTokens.create({ ...accessTokenRecord(), digest: "digest" }, 1_000);
    await storage.consents.save(consent, 1_000);
    const inContext = { ...consent, contextKey: "acme" };
    await storage.consents.save(inContext, 1_000);
    const reads = [
      () => storage.authorizations.find(authorizationId, 1_000),
      () => storage.authorizations.list("alice", { limit: 9 }, 1_000),
      () => storage.authorizations.list("alice", { limit: 9, after: authorizationId }, 1_000),
      () => storage.authorizationCodes.find(codeRecord(), 1_000),
      () => storage.refreshTokens.find(refreshTokenRecord(), 1_000),
      () => storage.accessTokens.find("digest", 1_000),
      () => storage.consents.find(consent, 1_000),
      () => storage.consents.find(inContext, 1_000),
      () => storage.consents.list("alice", 1_000),
      () => storage.endMarks.find(["key"], 1_000),
      () => storage.clients.list({ limit: 9 }),
    ];
    const before = [];
    for (const read of reads) before.push(await read());
    expect(before).not.toContain(undefined);
    for (const { table } of await ask(
      `SELECT table_name AS table FROM information_schema.tables WHERE table_name LIKE '${prefix}%'`,
    ))
      await ask(`ALTER TABLE ${String(table)} ADD COLUMN later text NOT NULL DEFAULT ''`);
    const after = [];
    for (const read of reads) after.push(await read());
    expect(after).toEqual(before);
    connection.release();
  });
}

function erasedTests(): void {
  it("erase leaves no row that names the person, whatever has expired before", async () => {
    const prefix = newName();
    const storage = await openStorage({ prefix });
    for (const [index, expiresAt] of [1_100, 9_000].entries()) {
      await storage.authorizations.create(
        authorizationRecord({ authorizationId: `${index}`, expiresAt }),
        1_000,
      );
      await storage.consents.save({ ...consent, clientId: `${index}`, expiresAt }, 1_000);
      await storage.consents.save({ ...consent, contextKey: `${index}`, expiresAt }, 1_000);
    }
    await endSubject(
      { storage, emit: () => undefined, clock: () => 2_000, randomId: () => "I".repeat(22) },
      { subject: "alice", end: "erase", longestLifeSeconds: 9_000 },
    );
    for (const table of ["authorizations", "consents"])
      expect(await ask(`SELECT subject FROM ${prefix}${table}`)).toEqual([]);
  });
}

function stepTests(): void {
  it("approve stores neither the authorization nor the code when one of them cannot be stored", async () => {
    const storage = await openStorage();
    const code = codeRecord();
    await storage.authorizationCodes.create(code, 1_000);
    const authorization = authorizationRecord();
    await expect(storage.atOnce?.approve?.({ authorization, code }, 1_000)).rejects.toMatchObject({
      code: "23505",
    });
    expect(await storage.authorizations.find(authorization.authorizationId, 1_000)).toBeUndefined();
  });

  it.each(["refreshToken", "accessToken"] as const)(
    "redeem leaves the code unspent when its %s cannot be stored",
    async (name) => {
      const storage = await openStorage();
      const code = codeRecord();
      const [refreshToken, accessToken] = [
        refreshTokenRecord(),
        { ...accessTokenRecord(), digest: code.digest },
      ];
      await storage.authorizationCodes.create(code, 1_000);
      if (name === "refreshToken") await storage.refreshTokens.create(refreshToken, 1_000);
      else await storage.accessTokens.create(accessToken, 1_000);
      const step = { code, refreshToken, accessToken };
      await expect(storage.atOnce?.redeem?.(step, 1_000)).rejects.toMatchObject({ code: "23505" });
      expect(await storage.authorizationCodes.find(code, 1_000)).toMatchObject({ consumed: false });
      const other =
        name === "refreshToken"
          ? storage.accessTokens.find(accessToken.digest, 1_000)
          : storage.refreshTokens.find(refreshToken, 1_000);
      expect(await other).toBeUndefined();
      expect(await storage.atOnce?.redeem?.({ code }, 1_000)).toBe("consumed");
    },
  );
}

describeWithPostgres(() => {
  describe("postgresStorage and steps at once (RFC 6749 §4.1.2)", stepTests);
  describe("postgresStorage and prepared statements (RFC 6749 §10.5)", preparedTests);
  describe("postgresStorage and the end of a person (RFC 7009 §2.1)", erasedTests);
  describe("postgresStorage registrations (RFC 7591 §3)", registrationTests);
  describe("postgresStorage ends against what is under way (RFC 7009 §2.1)", endTests);
});
