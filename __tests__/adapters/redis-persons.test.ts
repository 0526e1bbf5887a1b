import type { Authorization } from "../../lib";
import { maxConsents } from "../../lib/protocol/consent";
import { maxAuthorizations } from "../../lib/storage/port";
import { redisStorage } from "../../lib/redis";
import {
  newAuthorization,
  newCode,
  newConsent,
  newDigest,
  newId,
  newRefreshToken,
  newUse,
} from "../../lib/testing/contract/records";
import { endSubject } from "../../lib/end-user/ends";
import { redis } from "../servers/redis-server";
import { ask, type Bed, clockDriftSeconds, keysOf, now, openBed } from "../servers/redis-storage";
import { describeWith } from "../servers/server-process";

const idsOf = (records: readonly Authorization[]): readonly string[] =>
  records.map(({ authorizationId }) => authorizationId);

/** The commands that the server has executed since its statistics were reset, those of scripts included: name → how often. */
async function executed({ client }: Bed): Promise<Readonly<Record<string, number>>> {
  const stats = await ask<string>(client, "INFO", "commandstats");
  const counts = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(
    ([, name = "", calls]) => [name, Number(calls)] as const,
  );
  return Object.fromEntries(counts.filter(([name]) => !/^(?:config|info|eval)/.test(name)));
}

function amongMany(bed: () => Bed): void {
  /** A person with three authorizations at two clients and two consents, among 400 others. */
  async function crowd() {
    const fresh = bed().fresh({ allowEviction: true });
    const { storage } = fresh;
    const others = Array.from({ length: 400 }, () => newAuthorization(now));
    await Promise.all(others.map((one) => storage.authorizations.create(one, now)));
    const subject = newId();
    const own = [1, 2, 3].map(() => newAuthorization(now, { subject }));
    for (const one of own) await storage.authorizations.create(one, now);
    for (const _ of [1, 2]) await storage.consents.save(newConsent(now, { subject }), now);
    await ask(bed().client, "CONFIG", "RESETSTAT");
    return { ...fresh, subject, own, others };
  }

  it("is listed by one look at the index and one at the records", async () => {
    const { storage, subject, own } = await crowd();
    expect(await storage.authorizations.list(subject, { limit: 20 }, now)).toHaveLength(own.length);
    expect(await executed(bed())).toEqual({ zrange: 1, mget: 1 });
  });

  it("is ended without a look at others", async () => {
    const { storage, subject, own, others } = await crowd();
    expect(await storage.authorizations.revokeAll({ subject }, now)).toBe(own.length);
    expect(await executed(bed())).toEqual({ zrange: 1, getrange: own.length, setrange: own.length });
    expect(await storage.authorizations.list(others[0]?.subject ?? "", { limit: 1 }, now)).toHaveLength(1);
  });

  it("gives a consent by as many commands however many there are, and loses them by one script", async () => {
    const { storage } = bed().fresh({ allowEviction: true });
    const subject = newId();
    const save = (): Promise<void> => storage.consents.save(newConsent(now, { subject }), now);
    const counted = async (): Promise<Record<string, number>> => {
      await ask(bed().client, "CONFIG", "RESETSTAT");
      await save();
      return executed(bed());
    };
    await save();
    const few = await counted();
    expect(few).toEqual({ hset: 1, zadd: 1, zcard: 1, zrange: 2, expireat: 2 });
    await Promise.all(Array.from({ length: maxConsents - 3 }, save));
    expect(await counted()).toEqual(few);
    expect(await counted()).toEqual({ ...few, hdel: 1, zrem: 1 });
    await ask(bed().client, "CONFIG", "RESETSTAT");
    expect(await storage.consents.delete({ selection: { subject }, exceptEndMark: "M" }, now)).toBe(true);
    expect(await executed(bed())).toEqual({
      hkeys: 1,
      hget: maxConsents,
      hdel: maxConsents,
      zrem: maxConsents,
    });
  });

  it("is erased without a look at others, and leaves no key with their name but those of consents", async () => {
    const { storage, prefix, subject, own } = await crowd();
    expect(await storage.authorizations.erase({ subject }, now)).toBe(own.length);
    const { zrange, zrem, zremrangebyscore, ...rest } = await executed(bed());
    expect(rest).toEqual({ mget: 1, del: 1, zadd: 1, zcard: 1, expireat: 1 });
    // that of the person, that of each client, and that of what is being erased, which is written and removed
    const indexes = 2 + own.length;
    expect({ zrange, zrem, zremrangebyscore }).toEqual({
      zrange: indexes + 3,
      zrem: indexes,
      zremrangebyscore: indexes + 1,
    });
    const keys = await keysOf(bed().client, prefix);
    expect(keys.filter((key) => key.includes(subject))).toEqual([
      expect.stringContaining("consents:"),
      expect.stringContaining("consents:"),
    ]);
    expect(keys.filter((key) => own.some((one) => key.includes(one.authorizationId)))).toEqual([]);
  });

  it("gives an approval two entries and a record, and reads nothing else", async () => {
    const { storage, subject } = await crowd();
    await storage.authorizations.create(newAuthorization(now, { subject }), now);
    const { zadd, set, get, mget } = await executed(bed());
    expect([zadd, set, get, mget]).toEqual([2, 1, undefined, undefined]);
  });

  it("is asked for all end marks by one command", async () => {
    const { storage } = await crowd();
    const marks = [1, 2, 3].map(() => ({ key: newDigest(), mark: newId(), expiresAt: now + 60 }));
    for (const mark of marks) await storage.endMarks.save(mark, now);
    await ask(bed().client, "CONFIG", "RESETSTAT");
    const keys = [newDigest(), ...marks.map(({ key }) => key)];
    expect(await storage.endMarks.find(keys, now)).toEqual([undefined, ...marks.map(({ mark }) => mark)]);
    expect(await executed(bed())).toEqual({ mget: 1 });
  });
}

function listed(bed: () => Bed): void {
  it("go on behind any number that were revoked", async () => {
    const { storage } = bed().fresh();
    const subject = newId();
    const all = Array.from({ length: 700 }, (_, index) =>
      newAuthorization(now, { subject, expiresAt: now + 2_000 - index }),
    );
    await Promise.all(all.map((one) => storage.authorizations.create(one, now)));
    const [first, last] = [all[0], all.at(-1)] as [Authorization, Authorization];
    for (const one of all.slice(1, -1)) await storage.authorizations.revoke(one.authorizationId, now);
    const page = await storage.authorizations.list(subject, { limit: 2 }, now);
    expect(idsOf(page)).toEqual(idsOf([first, last]));
    const after = all[300]?.authorizationId ?? "";
    expect(idsOf(await storage.authorizations.list(subject, { after, limit: 2 }, now))).toEqual(
      idsOf([last]),
    );
  });

  it("skip an entry whose record is not there yet, and keep it", async () => {
    const { storage, prefix } = bed().fresh();
    const one = newAuthorization(now);
    const { subject, authorizationId } = one;
    await storage.authorizations.create(one, now);
    // the moment between the entries and the record
    const key = `${prefix}{${authorizationId}}`;
    const value = await ask<string>(bed().client, "GET", key);
    await ask(bed().client, "DEL", key);
    expect(await storage.authorizations.list(subject, { limit: 1 }, now)).toEqual([]);
    expect(await storage.authorizations.revokeAll({ subject }, now)).toBe(0);
    expect(await storage.authorizations.erase({ subject }, now)).toBe(0);
    await ask(bed().client, "SET", key, value);
    expect(idsOf(await storage.authorizations.list(subject, { limit: 1 }, now))).toEqual([authorizationId]);
    expect(await storage.authorizations.revokeAll({ subject }, now)).toBe(1);
  });
}

function cutOff(bed: () => Bed): void {
  it("go on behind an entry that is erased between two looks of one call", async () => {
    const { storage, prefix } = bed().fresh();
    const subject = newId();
    const newOne = (expiresAt: number): Authorization => newAuthorization(now, { subject, expiresAt });
    const ended = [now + 9_000, now + 9_000, now + 9_000].map(newOne);
    const living = [now + 9_000, now + 5_000, now + 4_000].map(newOne);
    for (const one of [...ended, ...living]) await storage.authorizations.create(one, now);
    for (const one of ended) await storage.authorizations.revoke(one.authorizationId, now);
    let gone = 0;
    const watching = redisStorage({
      allowEviction: true,
      prefix,
      client: {
        async sendCommand(args: string[]) {
          const answer = await bed().client.sendCommand(args);
          if (args[1]?.includes("ZREVRANK") !== true || gone > 0) return answer;
          const authorizationId = (answer as unknown as readonly string[]).at(-2) ?? "";
          gone += await storage.authorizations.erase({ subject, authorizationId }, now);
          return answer;
        },
      },
    });
    const first = await watching.authorizations.list(subject, { limit: 3 }, now);
    expect(gone).toBe(1);
    // all that still live, whether or not the one that was erased was one of them
    expect(idsOf(first)).toEqual(idsOf(await storage.authorizations.list(subject, { limit: 9 }, now)));
    const index = `${prefix}authorizations:${JSON.stringify([subject])}`;
    expect(await ask(bed().client, "ZCARD", index)).toBe(5);
  });
}

function erased(bed: () => Bed): void {
  it("erase leaves no key that names the person, whatever has expired before", async () => {
    const { storage, prefix } = bed().fresh();
    const [subject, clientId, lasting, year] = [newId(), newId(), newId(), 31_536_000];
    // what Redis has removed when the person is erased, beside what it would keep much longer
    const gone = [clientId, lasting, newId()].map((of) =>
      newAuthorization(now, { subject, clientId: of, expiresAt: now + 100 }),
    );
    const kept = newAuthorization(now, { subject, clientId: lasting, expiresAt: now + year });
    const lost = newAuthorization(now, { subject, clientId, expiresAt: now + year });
    for (const one of [...gone, kept, lost]) await storage.authorizations.create(one, now);
    // an approval that was ended while it was stored takes itself back
    const { authorizationId } = lost;
    await storage.authorizations.erase({ subject, authorizationId }, now);
    for (const expiresAt of [now + 100, now + year])
      await storage.consents.save(newConsent(now, { subject, expiresAt }), now);
    for (const one of gone) await ask(bed().client, "DEL", `${prefix}{${one.authorizationId}}`);
    const later = now + 100 + clockDriftSeconds + 1;
    await endSubject(
      { storage, emit: () => undefined, clock: () => later, randomId: newId },
      { subject, end: "erase", longestLifeSeconds: year },
    );
    const named = (await keysOf(bed().client, prefix)).filter((key) => key.includes(subject));
    // the clock of Redis is not there yet: an index ends with its last record
    const ends = await Promise.all(named.map((key) => bed().expiryOf(key)));
    expect(named.filter((_, place) => (ends[place] ?? 0) >= later)).toEqual([]);
  });
}

function limited(bed: () => Bed): void {
  it("leaves in the index what only a clock that is ahead calls expired, so that an end finds it", async () => {
    const { storage } = bed().fresh();
    const old = newAuthorization(now, { expiresAt: now + 120 });
    const { subject, clientId, apiId } = old;
    const key = { subject, clientId, apiId };
    await storage.authorizations.create(old, now);
    for (let count = 0; count < maxAuthorizations; count += 1)
      await storage.authorizations.create(newAuthorization(now, key), now + 290);
    expect((await storage.authorizations.find(old.authorizationId, now))?.revoked).toBe(false);
    await storage.authorizations.revokeAll(key, now);
    expect((await storage.authorizations.find(old.authorizationId, now))?.revoked).toBe(true);
  });

  it("is kept by a flood of one person, without reading again what has ended", async () => {
    const { storage, prefix } = bed().fresh({ allowEviction: true });
    const [subject, clientId] = [newId(), newId()];
    const flood = Array.from({ length: 500 }, () => newAuthorization(now, { subject, clientId }));
    await Promise.all(flood.map((one) => storage.authorizations.create(one, now)));
    const last = newAuthorization(now, { subject, clientId });
    await storage.authorizations.create(last, now);
    const living = await storage.authorizations.list(subject, { limit: 1_000 }, now);
    expect(living).toHaveLength(maxAuthorizations);
    expect(idsOf(living)).toContain(last.authorizationId);
    const index = `${prefix}authorizations:${JSON.stringify([subject, clientId, "orders"])}`;
    expect(await ask(bed().client, "ZCARD", index)).toBe(maxAuthorizations);
    await ask(bed().client, "CONFIG", "RESETSTAT");
    await storage.authorizations.create(newAuthorization(now, { subject, clientId }), now);
    expect(await executed(bed())).toMatchObject({ mget: 1, getrange: 1, setrange: 1, zrem: 1 });
  });

  it("costs a flood few looks at the records, as simultaneous calls share them", async () => {
    const { storage } = bed().fresh({ allowEviction: true });
    const [subject, clientId] = [newId(), newId()];
    await ask(bed().client, "CONFIG", "RESETSTAT");
    const flood = Array.from({ length: 2_000 }, () => newAuthorization(now, { subject, clientId }));
    await Promise.all(flood.map((one) => storage.authorizations.create(one, now)));
    const { mget = 0 } = await executed(bed());
    expect(mget).toBeLessThan(200);
  });

  it("fails all calls that share a look that fails, and the next call makes up for it", async () => {
    const { client } = bed();
    const broken = { isBroken: false };
    const storage = redisStorage({
      allowEviction: true,
      prefix: `${newId()}:`,
      client: {
        async sendCommand(args: string[]) {
          if (broken.isBroken && args[0] === "MGET") throw new Error("the connection was lost");
          return client.sendCommand(args);
        },
      },
    });
    const key = { subject: newId(), clientId: newId() };
    for (let count = 0; count < maxAuthorizations; count += 1)
      await storage.authorizations.create(newAuthorization(now, key), now);
    broken.isBroken = true;
    const failed = [1, 2, 3].map(() => storage.authorizations.create(newAuthorization(now, key), now));
    for (const outcome of await Promise.allSettled(failed)) expect(outcome.status).toBe("rejected");
    broken.isBroken = false;
    await storage.authorizations.create(newAuthorization(now, key), now);
    const living = await storage.authorizations.list(key.subject, { limit: 200 }, now);
    expect(living).toHaveLength(maxAuthorizations);
  });
}

function rotated(bed: () => Bed): void {
  const given = async () => {
    const fresh = bed().fresh();
    const from = newRefreshToken(now);
    await fresh.storage.refreshTokens.create(from, now);
    return { ...fresh, from, to: { ...from, digest: newDigest() }, use: newUse(now) };
  };

  it("with a use says it to those who lose, and keeps its expiry", async () => {
    const { storage, prefix, from, to, use } = await given();
    const key = `${prefix}{${from.authorizationId}}:refresh:${from.digest}`;
    const expiry = await bed().expiryOf(key);
    expect(await storage.refreshTokens.rotate({ from, to, use }, now)).toBe("rotated");
    expect(await bed().expiryOf(key)).toBe(expiry);
    const other = { from, to: { ...to, digest: newDigest() } };
    expect(await storage.refreshTokens.rotate({ ...other, use: newUse(now) }, now)).toEqual(use);
    expect(await storage.refreshTokens.rotate(other, now)).toEqual(use);
    expect(await storage.refreshTokens.find(other.to, now)).toBeUndefined();
    expect(await storage.refreshTokens.rotate(other, from.expiresAt)).toBe("not-rotated");
  });

  it("counts as rotated when a lost command is repeated, and keeps the first use", async () => {
    const { storage, from, to, use } = await given();
    for (const _ of [1, 2])
      expect(await storage.refreshTokens.rotate({ from, to, use }, now)).toBe("rotated");
    expect(await storage.refreshTokens.find(from, now)).toEqual({ ...from, used: true, use });
  });

  it.each([null, 1, 0, "1", "yes", "0{}", ["rotated"], {}])(
    "is nobody's when the answer is unclear: %j",
    async (answer) => {
      const storage = redisStorage({ client: { sendCommand: async () => answer }, allowEviction: true });
      const from = newRefreshToken(now);
      const step = { from, to: { ...from, digest: newDigest() } };
      await expect(storage.refreshTokens.rotate(step, now)).rejects.toMatchObject({
        code: "redis-client-answer",
      });
    },
  );
}

function lastUsed(bed: () => Bed): void {
  it("is in the record, which keeps its expiry and its fields", async () => {
    const { storage, prefix } = bed().fresh();
    const authorization = newAuthorization(now, { amr: ["pwd"], context: { key: "acme" } });
    const { authorizationId, subject } = authorization;
    const code = newCode(now, { authorizationId });
    await storage.authorizations.create(authorization, now);
    await storage.authorizationCodes.create(code, now);
    const keys = await keysOf(bed().client, prefix);
    const expiry = await bed().expiryOf(`${prefix}{${authorizationId}}`);
    await storage.authorizationCodes.consume(code, now + 7);
    expect(await keysOf(bed().client, prefix)).toHaveLength(keys.length);
    expect(await bed().expiryOf(`${prefix}{${authorizationId}}`)).toBe(expiry);
    const page = await storage.authorizations.list(subject, { limit: 1 }, now);
    expect(page).toEqual([{ ...authorization, lastUsedAt: now + 7 }]);
    expect(await storage.authorizations.find(authorizationId, now)).toEqual(authorization);
  });
}

describeWith(redis, {
  name: "redisStorage: one person among many (RFC 7009 §2.1, 9700 §4.14.2)",
  tests() {
    const bed = openBed();
    describe("a person", () => amongMany(bed));
    describe("the pages of a list", () => {
      listed(bed);
      cutOff(bed);
    });
    describe("the end of a person", () => erased(bed));
    describe("the limit", () => limited(bed));
    describe("a refresh token that is rotated", () => rotated(bed));
    describe("the last use", () => lastUsed(bed));
  },
});
