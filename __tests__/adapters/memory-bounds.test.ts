import { randomUUID } from "node:crypto";
import v8 from "node:v8";
import vm from "node:vm";
import { type Authorization, type Consent, memoryStorage, type Storage } from "../../lib";
import { endClient, endSubject, withdrawConsent } from "../../lib/end-user/ends";
import { authorizationRecord } from "../records/records";
import { type Looks, watchedEnd } from "./watched-end";

const now = 1_000;
const key = { subject: "alice", clientId: "web", apiId: "orders" };

/** Storage with a thousand authorizations and consents of others, and the looks at them since. */
async function crowded(): Promise<{ storage: Storage; looks: Looks }> {
  const storage = memoryStorage({ clients: [] });
  const looks = { count: 0 };
  for (let n = 0; n < 1_000; n += 1) {
    const expiresAt = watchedEnd(looks);
    const authorization = authorizationRecord({
      authorizationId: `id-${n}`,
      subject: `user-${n}`,
      expiresAt,
    });
    const consent: Consent = {
      ...key,
      subject: `user-${n}`,
      scopes: [],
      grantedAt: now,
      endMarks: [],
      expiresAt,
    };
    await storage.authorizations.create(authorization, now);
    await storage.consents.save(consent, now);
  }
  looks.count = 0;
  return { storage, looks };
}

describe("end marks in memory (RFC 7009 §2.1, floods)", () => {
  it("one person's withdrawals leave room for the ends of others", async () => {
    const storage = memoryStorage({ clients: [], maxEntries: 300 });
    const ports = { storage, emit: () => undefined, clock: () => now, randomId: randomUUID };
    const withdraw = (subject: string, clientId: string) =>
      withdrawConsent(ports, { selection: { ...key, subject, clientId }, longestLifeSeconds: 900 });
    let done = 0;
    const flood = async (): Promise<void> => {
      for (; ; done += 1) await withdraw("mallory", `client-${done}`);
    };
    await expect(flood()).rejects.toMatchObject({ code: "memory-share-used-up" });
    expect(done).toBe(50);
    await withdraw("alice", "web");
    await endSubject(ports, { subject: "alice", end: "erase", longestLifeSeconds: 900 });
    await endClient(ports, "web");
  });

  it("one person's withdrawals leave room for the end of everything of theirs", async () => {
    const storage = memoryStorage({ clients: [], maxEntries: 300 });
    const ports = { storage, emit: () => undefined, clock: () => now, randomId: randomUUID };
    const flood = async (): Promise<void> => {
      for (let n = 0; ; n += 1) {
        const selection = { ...key, subject: "mallory", clientId: `client-${n}` };
        await withdrawConsent(ports, { selection, longestLifeSeconds: 900 });
      }
    };
    await expect(flood()).rejects.toMatchObject({ code: "memory-share-used-up" });
    await storage.authorizations.create(
      authorizationRecord({ authorizationId: "stolen", subject: "mallory" }),
      now,
    );
    await endSubject(ports, { subject: "mallory", end: "erase", longestLifeSeconds: 900 });
    expect(await storage.authorizations.find("stolen", now)).toBeUndefined();
    // what is an end user's id may be a client's as well
    await endClient(ports, "mallory");
  });
});

describe("consents in memory (RFC 6749 §10.2, floods)", () => {
  it("one person's consents for many clients and contexts leave room for those of others", async () => {
    const { consents } = memoryStorage({ clients: [], maxEntries: 90 });
    const save = (subject: string, changes: Partial<Consent> = {}) =>
      consents.save(
        { ...key, subject, scopes: [], grantedAt: now, endMarks: [], expiresAt: 9_000, ...changes },
        now,
      );
    let done = 0;
    const flood = async (): Promise<void> => {
      for (; ; done += 1)
        await save(
          "mallory",
          done % 2 === 0 ? { clientId: `client-${done}` } : { contextKey: `team-${done}` },
        );
    };
    await expect(flood()).rejects.toMatchObject({
      code: "memory-share-used-up",
      message: expect.stringContaining('"mallory"') as string,
    });
    expect(done).toBe(46);
    for (let n = 0; n < 40; n += 1) await save(`user-${n}`);
    // what somebody has allowed already can still be changed
    await save("mallory", { clientId: "client-0", scopes: ["orders:read"] });
    expect(await consents.list("mallory", now)).toHaveLength(done);
    await consents.delete({ selection: { ...key, subject: "mallory" }, exceptEndMark: "M" }, now);
    await save("mallory");
  });
});

describe("memoryStorage looks at the records of one person alone, however many there are (floods)", () => {
  it("in authorizations.revokeAll", async () => {
    const { storage, looks } = await crowded();
    await storage.authorizations.create(authorizationRecord({ authorizationId: "alice's" }), now);
    looks.count = 0;
    expect(await storage.authorizations.revokeAll(key, now)).toBe(1);
    expect(looks.count).toBe(0);
    expect(await storage.authorizations.revokeAll({ ...key, subject: "user-7" }, now)).toBe(1);
    expect(looks.count).toBeLessThan(10);
  });

  it("in authorizations.narrowAll", async () => {
    const { storage, looks } = await crowded();
    await storage.authorizations.create(authorizationRecord({ authorizationId: "alice's" }), now);
    looks.count = 0;
    expect(await storage.authorizations.narrowAll({ selection: key, scopes: [] }, now)).toBe(1);
    expect(looks.count).toBe(0);
  });

  it("in authorizations.list, erase and create", async () => {
    const { storage, looks } = await crowded();
    const { authorizations } = storage;
    expect(await authorizations.list("user-7", { limit: 10 }, now)).toHaveLength(1);
    await authorizations.create(authorizationRecord({ authorizationId: "another", subject: "user-7" }), now);
    expect(await authorizations.erase({ subject: "user-7" }, now)).toBe(2);
    expect(looks.count).toBeLessThan(20);
  });

  it("in authorizations.create, and not at those that were revoked", async () => {
    const { authorizations } = memoryStorage({ clients: [] });
    const looks = { count: 0 };
    for (let n = 0; n < 1_000; n += 1) {
      const record = { authorizationId: `id-${n}`, expiresAt: watchedEnd(looks) };
      await authorizations.create(authorizationRecord(record), now);
      await authorizations.revoke(`id-${n}`, now);
    }
    looks.count = 0;
    await authorizations.create(authorizationRecord({ authorizationId: "another" }), now);
    expect(looks.count).toBeLessThan(20);
  });

  it("in consents.list", async () => {
    const { storage, looks } = await crowded();
    expect(await storage.consents.list("user-7", now)).toHaveLength(1);
    expect(looks.count).toBeLessThan(10);
  });
});

v8.setFlagsFromString("--expose-gc");
const collectGarbage = vm.runInNewContext("gc") as () => void;

async function heapMegabytes(): Promise<number> {
  // what the tests before have left goes some turns later
  for (let turn = 0; turn < 10; turn += 1) {
    await new Promise(setImmediate);
    collectGarbage();
  }
  return process.memoryUsage().heapUsed / 2 ** 20;
}

describe("memoryStorage keeps nothing of what has expired (memory back to the start)", () => {
  it("of 50,000 authorizations and consents of different people", async () => {
    const storage = memoryStorage({ clients: [] });
    const before = await heapMegabytes();
    for (let n = 0; n < 50_000; n += 1) {
      const subject = `user-${n}`;
      const record: Authorization = authorizationRecord({
        authorizationId: `id-${n}`,
        subject,
        expiresAt: 2_000,
      });
      await storage.authorizations.create(record, now);
      await storage.consents.save(
        { ...key, subject, scopes: [], grantedAt: now, endMarks: [], expiresAt: 2_000 },
        now,
      );
    }
    const full = (await heapMegabytes()) - before;
    for (const at of [3_000, 4_000]) {
      await storage.authorizations.create(authorizationRecord({ expiresAt: 9_000 }), at);
      await storage.consents.save({ ...key, scopes: [], grantedAt: at, endMarks: [], expiresAt: 9_000 }, at);
    }
    expect(full).toBeGreaterThan(10);
    expect((await heapMegabytes()) - before).toBeLessThan(full / 10);
    expect(await storage.consents.list("alice", 4_000)).toHaveLength(1);
  });
});
