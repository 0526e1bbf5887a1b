// Who: nobody with bad intentions. During a rolling update, processes of the previous version and of this one serve the same people
// from one Redis, whose records both have written.
import type { RedisStorage } from "../../lib/redis";
import {
  newAuthorization,
  newCode,
  newDigest,
  newId,
  newRefreshToken,
  newUse,
} from "../../lib/storage/contract/records";
import { redis } from "../fixture/redis-server";
import { ask, type Bed, clockDriftSeconds, now, openBed, type Sender } from "../fixture/redis-storage";
import { describeWith } from "../fixture/server-process";

/** The scripts of the previous version. */
const spendOrLeave = `
local value = redis.call("GET", KEYS[1])
if not value or string.sub(value, 1, 1) ~= "0" then return 0 end
if cjson.decode(string.sub(value, 2)).expiresAt <= tonumber(ARGV[1]) then return 0 end
redis.call("SETRANGE", KEYS[1], 0, "1")
`;
const earlierSpend = `${spendOrLeave}return 1`;
const earlierRotate = `
if redis.call("EXISTS", KEYS[2]) == 1 then return 1 end
${spendOrLeave}redis.call("SET", KEYS[2], ARGV[2], "EXAT", ARGV[3])
return 1`;
const earlierFlag = `
if redis.call("GETRANGE", KEYS[1], 0, 0) ~= "0" then return 0 end
redis.call("SETRANGE", KEYS[1], 0, "1")
return 1`;

/** The previous version: how it wrote records, how it read them, and what its scripts say. */
function earlierProcess(client: Sender, prefix: string) {
  const forgetAt = now + 600 + clockDriftSeconds;
  const write = (key: string, record: object) =>
    ask(client, "SET", `${prefix}${key}`, `0${JSON.stringify(record)}`, "EXAT", forgetAt);
  return {
    write,
    async read(key: string): Promise<{ flag: string; record: unknown }> {
      const value = await ask<string>(client, "GET", `${prefix}${key}`);
      return { flag: value.slice(0, 1), record: JSON.parse(value.slice(1)) };
    },
    run: (script: string, keys: readonly string[], ...args: readonly (string | number)[]) =>
      ask<number>(client, "EVAL", script, keys.length, ...keys.map((key) => `${prefix}${key}`), ...args),
    async approve(authorization: ReturnType<typeof newAuthorization>) {
      const { revoked: _, ...record } = authorization;
      const { subject, clientId, apiId, authorizationId } = record;
      const index = `${prefix}authorizations:${JSON.stringify([subject, clientId, apiId])}`;
      await ask(client, "ZADD", index, forgetAt, authorizationId);
      await ask(client, "EXPIREAT", index, forgetAt);
      await write(`{${authorizationId}}`, record);
    },
  };
}

/** A record as it is written, without its flag. */
function withoutFlag<T extends object>(record: T, flag: keyof T): object {
  const { [flag]: _, ...rest } = record;
  return rest;
}

function recordsOfEarlier(bed: () => Bed): void {
  let storage: RedisStorage;
  let earlier: ReturnType<typeof earlierProcess>;

  beforeEach(() => {
    const fresh = bed().fresh();
    storage = fresh.storage;
    earlier = earlierProcess(bed().client, fresh.prefix);
  });

  it("authorizations are found, revoked, and revoked together", async () => {
    const [one, other] = [newAuthorization(now), newAuthorization(now)];
    await earlier.approve(one);
    await earlier.approve(other);
    expect(await storage.authorizations.find(one.authorizationId, now)).toEqual(one);
    await storage.authorizations.revoke(one.authorizationId, now);
    expect(await storage.authorizations.find(one.authorizationId, now)).toEqual({ ...one, revoked: true });
    const { subject, clientId, apiId } = other;
    expect(await storage.authorizations.revokeAll({ subject, clientId, apiId }, now)).toBe(1);
    expect(await storage.authorizations.find(other.authorizationId, now)).toMatchObject({ revoked: true });
  });

  it("authorizations are revoked as those without a context, and those with one are not", async () => {
    const one = newAuthorization(now);
    const { subject, clientId, apiId } = one;
    await earlier.approve(one);
    const selection = { subject, clientId, apiId };
    expect(await storage.authorizations.revokeAll({ ...selection, contextKey: "acme" }, now)).toBe(0);
    expect(await storage.authorizations.revokeAll({ ...selection, contextKey: "" }, now)).toBe(1);
  });

  it("authorizations are not in the index of their person: its end mark ends them", async () => {
    const one = newAuthorization(now);
    await earlier.approve(one);
    expect(await storage.authorizations.list(one.subject, { limit: 10 }, now)).toEqual([]);
    expect(await storage.authorizations.revokeAll({ subject: one.subject }, now)).toBe(0);
  });

  it("authorizations are erased by their id, and with a new one for the same client and API", async () => {
    const [one, other] = [newAuthorization(now), newAuthorization(now)];
    await earlier.approve(one);
    await earlier.approve(other);
    const { subject, clientId, apiId, authorizationId } = one;
    expect(await storage.authorizations.erase({ subject: other.subject, authorizationId }, now)).toBe(0);
    expect(await storage.authorizations.erase({ subject, authorizationId }, now)).toBe(1);
    const next = newAuthorization(now, { subject: other.subject, clientId: other.clientId });
    await storage.authorizations.create(next, now);
    expect(await storage.authorizations.erase({ subject: other.subject }, now)).toBe(2);
    for (const { authorizationId: gone } of [one, other, next])
      expect(await storage.authorizations.find(gone, now)).toBeUndefined();
    expect(await storage.authorizations.revokeAll({ subject, clientId, apiId }, now)).toBe(0);
  });

  it("codes and refresh tokens are spent once, whose authorizations stay as they were", async () => {
    const authorization = newAuthorization(now);
    const { authorizationId } = authorization;
    const [code, from] = [newCode(now, { authorizationId }), newRefreshToken(now, { authorizationId })];
    await earlier.approve(authorization);
    await earlier.write(`{${authorizationId}}:code:${code.digest}`, withoutFlag(code, "consumed"));
    await earlier.write(`{${authorizationId}}:refresh:${from.digest}`, withoutFlag(from, "used"));
    const use = newUse(now);
    expect(await storage.authorizationCodes.consume(code, now)).toBe("consumed");
    expect(await storage.authorizationCodes.consume(code, now)).toBe("not-consumed");
    const to = { ...from, digest: newDigest() };
    expect(await storage.refreshTokens.rotate({ from, to, use }, now)).toBe("rotated");
    expect(await storage.refreshTokens.rotate({ from, to: { ...to, digest: newDigest() } }, now)).toEqual(
      use,
    );
    expect(await storage.refreshTokens.find(from, now)).toEqual({ ...from, used: true, use });
    expect(await storage.authorizations.find(authorizationId, now)).toEqual(authorization);
  });

  it("a refresh token that an earlier process has used is one without a use", async () => {
    const from = newRefreshToken(now);
    const to = { ...from, digest: newDigest() };
    const [key, toKey] = [from, to].map(
      ({ authorizationId, digest }) => `{${authorizationId}}:refresh:${digest}`,
    ) as [string, string];
    await storage.refreshTokens.create(from, now);
    const value = `0${JSON.stringify(withoutFlag(to, "used"))}`;
    expect(await earlier.run(earlierRotate, [key, toKey], now, value, now + 900)).toBe(1);
    expect(await storage.refreshTokens.find(from, now)).toEqual({ ...from, used: true });
    expect(await storage.refreshTokens.find(to, now)).toEqual(to);
    const again = { from, to: { ...to, digest: newDigest() }, use: newUse(now) };
    expect(await storage.refreshTokens.rotate(again, now)).toBe("not-rotated");
  });
}

function recordsForEarlier(bed: () => Bed): void {
  let storage: RedisStorage;
  let earlier: ReturnType<typeof earlierProcess>;

  beforeEach(() => {
    const fresh = bed().fresh();
    storage = fresh.storage;
    earlier = earlierProcess(bed().client, fresh.prefix);
  });

  it("authorizations are read and revoked", async () => {
    const authorization = newAuthorization(now, { context: { key: "acme" }, endMarks: [newId()] });
    const { authorizationId } = authorization;
    const code = newCode(now, { authorizationId });
    await storage.authorizations.create(authorization, now);
    await storage.authorizationCodes.create(code, now);
    const key = `{${authorizationId}}`;
    const fields = withoutFlag(authorization, "revoked");
    expect(await earlier.read(key)).toEqual({ flag: "0", record: { ...fields, lastUsedAt: 0 } });
    await storage.authorizationCodes.consume(code, now);
    expect(await earlier.read(key)).toEqual({ flag: "0", record: { ...fields, lastUsedAt: now } });
    expect(await earlier.run(earlierFlag, [key])).toBe(1);
    const found = await storage.authorizations.find(authorizationId, now);
    expect(found).toEqual({ ...authorization, revoked: true });
  });

  it("codes and refresh tokens are spent once, and a token that was used with a use is used", async () => {
    const [code, from] = [newCode(now), newRefreshToken(now)];
    const codeKey = `{${code.authorizationId}}:code:${code.digest}`;
    await storage.authorizationCodes.create(code, now);
    expect(await earlier.run(earlierSpend, [codeKey], now)).toBe(1);
    expect(await storage.authorizationCodes.consume(code, now)).toBe("not-consumed");
    await storage.refreshTokens.create(from, now);
    const [to, use] = [{ ...from, digest: newDigest() }, newUse(now)];
    await storage.refreshTokens.rotate({ from, to, use }, now);
    const key = `{${from.authorizationId}}:refresh:${from.digest}`;
    expect(await earlier.read(key)).toEqual({ flag: "1", record: { ...withoutFlag(from, "used"), use } });
    const keys = [key, `{${from.authorizationId}}:refresh:${newDigest()}`];
    expect(await earlier.run(earlierRotate, keys, now, "0{}", now + 900)).toBe(0);
    const next = [`{${from.authorizationId}}:refresh:${to.digest}`, keys[1] ?? ""];
    expect(await earlier.run(earlierRotate, next, now, "0{}", now + 900)).toBe(1);
  });
}

describeWith(redis, {
  name: "redisStorage beside an earlier version (RFC 6749 §10.5, 9700 §4.14.2)",
  tests() {
    const bed = openBed();
    describe("what that one has written", () => recordsOfEarlier(bed));
    describe("what it reads", () => recordsForEarlier(bed));
  },
});
