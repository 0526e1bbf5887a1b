import { Cluster, Redis } from "ioredis";
import { createClient } from "redis";
import type { Storage } from "../../lib";
import type { EpochSeconds } from "../../lib/protocol/time";
import { redisStorage, type RedisStorageOptions } from "../../lib/redis";
import {
  awkwardText,
  newAccessToken,
  newAuthorization,
  newCode,
  newConsent,
  newDigest,
  newId,
  newRefreshToken,
} from "../../lib/testing/contract/records";
import { redis, redisClient, type RedisServer, startRedis } from "../servers/redis-server";
import {
  ask,
  type Bed,
  clockDriftSeconds,
  everyCall,
  expectJourney,
  journey,
  keysOf,
  type NodeClient,
  now,
  openBed,
  type Sender,
  spa,
} from "../servers/redis-storage";
import { describeWith } from "../servers/server-process";

const refused = (options: unknown) => () => redisStorage(options as RedisStorageOptions);

describe("redisStorage options", () => {
  const client: Sender = { sendCommand: async () => undefined };
  it.each([
    ["no options", undefined, "redis-client-missing"],
    ["no client", {}, "redis-client-missing"],
    ["a client that is none", { client: { get: () => undefined } }, "redis-client-missing"],
    ["a client that is text", { client: "redis://127.0.0.1" }, "redis-client-missing"],
    ["an empty prefix", { client, prefix: "" }, "redis-prefix-wrong"],
    ["a prefix with an opening brace", { client, prefix: "a{b" }, "redis-prefix-wrong"],
    ["a prefix with a closing brace", { client, prefix: "a}b" }, "redis-prefix-wrong"],
    ["a negative number of replicas", { client, replicas: -1 }, "redis-replicas-not-whole"],
    ["a fraction of replicas", { client, replicas: 0.5 }, "redis-replicas-not-whole"],
    ["no number of replicas", { client, replicas: NaN }, "redis-replicas-not-whole"],
    ["replicas as text", { client, replicas: "1" }, "redis-replicas-not-whole"],
  ])("refuses %s", (_what, options, code) => {
    expect(refused(options)).toThrow(TypeError);
    expect(refused(options)).toThrow(expect.objectContaining({ code }));
  });

  it("refuses replicas with a cluster of ioredis, which sends WAIT to any node", () => {
    const cluster = new Cluster([{ host: "127.0.0.1", port: 1 }], { lazyConnect: true });
    expect(refused({ client: cluster, replicas: 1 })).toThrow(TypeError);
    expect(refused({ client: cluster, replicas: 1 })).toThrow(
      expect.objectContaining({ code: "redis-replicas-of-ioredis-cluster" }),
    );
    expect(refused({ client: cluster })).not.toThrow();
    cluster.disconnect();
  });
});

function keyNames(bed: () => Bed): void {
  it("begin with the prefix, which is authmount: when left out", async () => {
    await journey(redisStorage({ client: bed().client }));
    const { storage, prefix } = bed().fresh();
    await journey(storage);
    const keys = await keysOf(bed().client, "");
    expect(keys.filter((key) => key.startsWith("authmount:"))).toHaveLength(22);
    expect(keys.filter((key) => key.startsWith(prefix))).toHaveLength(22);
  });

  it("of another prefix are not seen", async () => {
    const [{ storage: one }, { storage: other }] = [bed().fresh(), bed().fresh()];
    const [authorization, code, from, token, consent] = [
      newAuthorization(now),
      newCode(now),
      newRefreshToken(now),
      newAccessToken(now),
      newConsent(now),
    ];
    await one.clients.save(spa);
    await one.consents.save(consent, now);
    await one.authorizations.create(authorization, now);
    await one.authorizationCodes.create(code, now);
    await one.refreshTokens.create(from, now);
    await one.accessTokens.create(token, now);
    await one.accessTokens.revoke(token, now);
    await other.authorizations.revokeAll(authorization, now);
    await other.consents.delete({ selection: consent, exceptEndMark: "a mark" }, now);
    await other.clients.delete(spa.clientId);
    expect(await other.clients.find(spa.clientId)).toBeUndefined();
    expect(await other.clients.isBrowserOrigin("https://spa.example")).toBe(false);
    expect(await other.consents.list(consent.subject, now)).toEqual([]);
    expect(await other.authorizations.find(authorization.authorizationId, now)).toBeUndefined();
    expect(await other.authorizationCodes.consume(code, now)).toBe("not-consumed");
    expect(await other.refreshTokens.find(from, now)).toBeUndefined();
    expect(await other.accessTokens.find(token.digest, now)).toBeUndefined();
    expect(await other.accessTokens.isRevoked(token.tokenId, now)).toBe(false);
    expect(await one.clients.find(spa.clientId)).toEqual(spa);
    expect(await one.consents.find(consent, now)).toEqual(consent);
    expect(await one.authorizations.find(authorization.authorizationId, now)).toEqual(authorization);
    expect(await one.authorizationCodes.consume(code, now)).toBe("consumed");
  });

  it("of records end by themselves 300 seconds after the record, those of clients do not (RFC 6749 §10.5)", async () => {
    const { storage, prefix } = bed().fresh();
    await journey(storage, "A".repeat(22));
    const lives: Record<string, number> = {};
    for (const key of await keysOf(bed().client, prefix)) {
      const name = key
        .slice(prefix.length)
        .replace(
          /(?<=code:|refresh:|access:|revoked:|consents:|authorizations:|assertion:|parked:|open:).*/,
          "",
        );
      const expiry = await bed().expiryOf(key);
      lives[name] = Math.max(lives[name] ?? -1, expiry < 0 ? expiry : expiry - now - clockDriftSeconds);
      expect([name, expiry < 0]).toEqual([name, /^(client|origin|clients)(:|$)/.test(name)]);
    }
    expect(lives).toEqual({
      clients: -1,
      "client:spa": -1,
      "origin:https://spa.example": -1,
      "origin:https://spa.example:8443": -1,
      "consents:": 600,
      "authorizations:": 700,
      [`{${"A".repeat(22)}}`]: 700,
      [`{${"A".repeat(22)}}:code:`]: 710,
      [`{${"A".repeat(22)}}:refresh:`]: 730,
      "access:": 740,
      "revoked:": 750,
      "assertion:": 760,
      "parked:": 790,
      "open:": 785,
      "{registrations}": 780,
      "{registrations}:new": 780,
      "{registrations}:extended": 780,
    });
  });

  it("of a spent or revoked record end when they would have ended", async () => {
    const { storage, prefix } = bed().fresh();
    const [code, from, authorization] = [newCode(now), newRefreshToken(now), newAuthorization(now)];
    await storage.authorizationCodes.create(code, now);
    await storage.refreshTokens.create(from, now);
    await storage.authorizations.create(authorization, now);
    await storage.authorizationCodes.consume(code, now);
    await storage.refreshTokens.rotate({ from, to: { ...from, digest: newDigest() } }, now);
    await storage.authorizations.revoke(authorization.authorizationId, now);
    const expiries = await Promise.all((await keysOf(bed().client, prefix)).map(bed().expiryOf));
    expect(new Set(expiries)).toEqual(new Set([now + 600 + clockDriftSeconds]));
  });
}

function keyTags(bed: () => Bed): void {
  it("of one authorization have its id as their one hash tag, and those of all registrations the same word", async () => {
    const { storage, prefix } = bed().fresh();
    const authorizationId = newId();
    await journey(storage, authorizationId);
    const ofPerson = `${prefix}consents:`;
    const keys = (await keysOf(bed().client, prefix)).filter((key) => !key.startsWith(ofPerson));
    const tagged = keys.filter((key) => key.includes("{"));
    expect(tagged).toHaveLength(7);
    expect(new Set(tagged.map((key) => /^[^{]*\{([^}]*)\}[^{}]*$/.exec(key)?.[1]))).toEqual(
      new Set([authorizationId, "registrations"]),
    );
  });

  it("are named by each script that uses them, all with one hash tag", async () => {
    const { storage, commands } = bed().fresh();
    await journey(storage);
    const code = newCode(now);
    const refreshToken = newRefreshToken(now, { authorizationId: code.authorizationId });
    await storage.atOnce?.redeem?.({ code, refreshToken }, now);
    const scripts = commands.filter(([name]) => name === "EVAL");
    expect(new Set(scripts.map(([, script]) => script)).size).toBe(13);
    for (const [, script = "", count = "", ...rest] of scripts) {
      const used = [...script.matchAll(/redis\.call\("[A-Z]+", ([^,)]+)/g)].map(([, key]) => key);
      const named = rest.slice(0, Number(count));
      expect(used.length).toBe(script.split("redis.call").length - 1);
      const isOfMany = script.includes("#KEYS");
      expect(new Set(used)).toEqual(
        new Set(isOfMany ? ["KEYS[i]"] : named.map((_, index) => `KEYS[${index + 1}]`)),
      );
      expect(new Set(named.map((key) => /\{[^}]+\}/.exec(key)?.[0] ?? key)).size).toBe(1);
    }
  });
}

function commandsSent(bed: () => Bed): void {
  it("are those that Redis has since 6.2", async () => {
    const { storage, commands } = bed().fresh();
    const authorization = newAuthorization(now);
    await journey(storage);
    for (const call of Object.values(everyCall(storage))) await call();
    await storage.authorizations.create(authorization, now);
    await storage.authorizations.erase(authorization, now);
    const inScripts = commands
      .filter(([name]) => name === "EVAL")
      .flatMap(([, script = ""]) => [...script.matchAll(/redis\.call\("([A-Z]+)"/g)].map(([, name]) => name));
    const sent = new Set(commands.map(([name]) => name));
    expect(sent).toEqual(
      new Set([
        "DEL",
        "EVAL",
        "EXISTS",
        "GET",
        "HGET",
        "HVALS",
        "INFO",
        "MGET",
        "SET",
        "ZADD",
        "ZRANGE",
        "ZREM",
      ]),
    );
    expect(new Set(inScripts)).toEqual(
      new Set([
        "DEL",
        "EXISTS",
        "EXPIREAT",
        "GET",
        "GETRANGE",
        "HDEL",
        "HGET",
        "HKEYS",
        "HSET",
        "SET",
        "SETRANGE",
        "ZADD",
        "ZCARD",
        "ZCOUNT",
        "ZRANGE",
        "ZREM",
        "ZREMRANGEBYSCORE",
        "ZREVRANK",
      ]),
    );
  });

  it("need no script that the server remembers", async () => {
    const { storage } = bed().fresh();
    const code = newCode(now);
    await storage.authorizationCodes.create(code, now);
    await journey(storage);
    await ask(bed().client, "SCRIPT", "FLUSH");
    expect(await storage.authorizationCodes.consume(code, now)).toBe("consumed");
  });

  it.each([2, 3] as const)("are understood by a client of redis with RESP %s", async (RESP) => {
    const other = createClient({ url: bed().server.url, RESP });
    await other.connect();
    await expectJourney(other);
    other.destroy();
  });

  it("are understood by a client of ioredis", async () => {
    const other = new Redis(bed().server.port, "127.0.0.1");
    await expectJourney(other);
    other.disconnect();
  });

  it("are understood by anything that sends a command", async () => {
    await expectJourney({ sendCommand: (args: string[]) => bed().client.sendCommand(args) });
  });
}

function consentsOfOne(bed: () => Bed): void {
  const [short, long] = [now + 100, now + 1_000];

  it.each([
    ["shorter", [long, short]],
    ["longer", [short, long]],
  ])("are kept as long as the last of them when a %s one is saved", async (_which, ends) => {
    const { storage, prefix } = bed().fresh();
    for (const expiresAt of ends)
      await storage.consents.save(newConsent(now, { subject: "alice", expiresAt }), now);
    expect(await bed().expiryOf(`${prefix}consents:{["alice"]}`)).toBe(long + clockDriftSeconds);
    expect(await storage.consents.list("alice", short)).toHaveLength(1);
  });

  it("are kept no longer when the last of them is replaced by a shorter one", async () => {
    const { storage, prefix } = bed().fresh();
    const consent = newConsent(now, { subject: "alice", expiresAt: long });
    await storage.consents.save(consent, now);
    await storage.consents.save({ ...consent, expiresAt: short }, now);
    expect(await bed().expiryOf(`${prefix}consents:{["alice"]}`)).toBe(short + clockDriftSeconds);
  });

  it("are dropped when they have expired and another is saved", async () => {
    const { storage, prefix } = bed().fresh();
    const [gone, live] = [
      newConsent(now, { subject: "alice", expiresAt: short }),
      newConsent(now, { subject: "alice", expiresAt: short + 1 }),
    ];
    await storage.consents.save(gone, now);
    await storage.consents.save(live, now);
    expect(await ask(bed().client, "HLEN", `${prefix}consents:{["alice"]}`)).toBe(2);
    await storage.consents.save(newConsent(now, { subject: "alice", expiresAt: long }), short);
    expect(await ask(bed().client, "HLEN", `${prefix}consents:{["alice"]}`)).toBe(2);
    expect(await storage.consents.find(live, now)).toEqual(live);
    expect(await storage.consents.find(gone, now)).toBeUndefined();
  });

  it.each([
    "",
    " ",
    "{",
    "}",
    "{}",
    "{a}",
    "a}b{c",
    "a b",
    "a\nb",
    "a:b",
    "münchen",
    "\u65e5本",
    awkwardText,
    "*",
    "\\",
  ])("are those of nobody else: %j", async (subject) => {
    const { storage } = bed().fresh();
    const [consent, authorization] = [newConsent(now, { subject }), newAuthorization(now, { subject })];
    const others = [`${subject} `, `${subject}x`, `x${subject}`];
    for (const other of others) await storage.consents.save({ ...consent, subject: other }, now);
    expect(await storage.consents.list(subject, now)).toEqual([]);
    await storage.consents.save(consent, now);
    await storage.authorizations.create(authorization, now);
    for (const other of others)
      await storage.authorizations.revokeAll({ ...authorization, subject: other }, now);
    expect(await storage.authorizations.find(authorization.authorizationId, now)).toEqual(authorization);
    await storage.authorizations.revokeAll(authorization, now);
    expect(await storage.authorizations.find(authorization.authorizationId, now)).toMatchObject({
      revoked: true,
    });
    expect(await storage.consents.list(subject, now)).toEqual([consent]);
  });
}

function authorizationIndex(bed: () => Bed): void {
  const key = { subject: "alice", clientId: "web", apiId: "orders" };
  const indexes = ['authorizations:["alice","web","orders"]', 'authorizations:["alice"]'];

  it.each([
    ["shorter", [1_000, 100]],
    ["longer", [100, 1_000]],
  ])("are kept as long as their last entry when a %s one is added", async (_which, lives) => {
    const { storage, prefix } = bed().fresh();
    for (const life of lives) {
      await storage.authorizations.create(newAuthorization(now, { ...key, expiresAt: now + life }), now);
    }
    for (const index of indexes)
      expect(await bed().expiryOf(`${prefix}${index}`)).toBe(now + 1_000 + clockDriftSeconds);
  });

  it("drop an entry once its record is forgotten, and not before", async () => {
    const { storage, prefix } = bed().fresh();
    const forgotten = now + 100 + clockDriftSeconds;
    const add = (then: EpochSeconds) =>
      storage.authorizations.create(newAuthorization(now, { ...key, expiresAt: then + 100 }), then);
    await add(now);
    await add(forgotten);
    const sizes = () => Promise.all(indexes.map((index) => ask(bed().client, "ZCARD", `${prefix}${index}`)));
    expect(await sizes()).toEqual([2, 2]);
    await add(forgotten + 1);
    expect(await sizes()).toEqual([2, 2]);
  });

  it("are written before the authorization they are for", async () => {
    const { storage, commands } = bed().fresh();
    await storage.authorizations.create(newAuthorization(now), now);
    expect(commands.slice(-3).map(([name]) => name)).toEqual(["EVAL", "EVAL", "SET"]);
  });
}

function oneServer(): void {
  const bed = openBed();
  describe("keys", () => {
    keyNames(bed);
    keyTags(bed);
  });
  describe("commands", () => commandsSent(bed));
  describe("consents of one end user (RFC 6749 §10.2)", () => consentsOfOne(bed));
  describe("the indexes of authorizations (RFC 7009 §2.1)", () => authorizationIndex(bed));
}

function fullMemory(): void {
  let server: RedisServer;
  let client: NodeClient;
  let storage: Storage;
  const limit = (bytes: number) => ask(client, "CONFIG", "SET", "maxmemory", bytes);

  beforeAll(async () => {
    server = await startRedis(["--maxmemory-policy", "noeviction"]);
    client = await redisClient(server.url);
    storage = redisStorage({ client });
  });
  afterEach(() => limit(0));
  afterAll(async () => {
    client.destroy();
    await server.close();
  });

  /** Does it while the server takes no more, and when there is memory again. */
  async function full(run: () => Promise<unknown>): Promise<void> {
    await limit(1);
    await expect(run()).rejects.toThrow(/OOM/);
    await limit(0);
  }

  it("leaves a code unconsumed when its redemption fails", async () => {
    const code = newCode(now);
    await storage.authorizationCodes.create(code, now);
    await full(() => storage.authorizationCodes.consume(code, now));
    expect(await storage.authorizationCodes.find(code, now)).toEqual(code);
    expect(await storage.authorizationCodes.consume(code, now)).toBe("consumed");
  });

  it("leaves a refresh token unused and stores no successor when its rotation fails", async () => {
    const from = newRefreshToken(now);
    const to = { ...from, digest: newDigest() };
    await storage.refreshTokens.create(from, now);
    await full(() => storage.refreshTokens.rotate({ from, to }, now));
    expect(await storage.refreshTokens.find(from, now)).toEqual(from);
    expect(await storage.refreshTokens.find(to, now)).toBeUndefined();
    expect(await storage.refreshTokens.rotate({ from, to }, now)).toBe("rotated");
    expect(await storage.refreshTokens.find(to, now)).toEqual(to);
  });

  it("stores nothing of what could not be created", async () => {
    const [authorization, code, token, consent] = [
      newAuthorization(now),
      newCode(now),
      newAccessToken(now),
      newConsent(now),
    ];
    await ask(client, "FLUSHALL");
    await full(() => storage.authorizations.create(authorization, now));
    await full(() => storage.authorizationCodes.create(code, now));
    await full(() => storage.refreshTokens.create(newRefreshToken(now), now));
    await full(() => storage.accessTokens.create(token, now));
    await full(() => storage.accessTokens.revoke(token, now));
    await full(() => storage.consents.save(consent, now));
    expect(await keysOf(client, "")).toEqual([]);
    await expectJourney(client);
  });

  it("says so when a revocation fails, and takes it later (RFC 7009 §2.2.1)", async () => {
    const authorization = newAuthorization(now);
    await storage.authorizations.create(authorization, now);
    await full(() => storage.authorizations.revoke(authorization.authorizationId, now));
    await full(() => storage.authorizations.revokeAll(authorization, now));
    expect(await storage.authorizations.find(authorization.authorizationId, now)).toMatchObject({
      revoked: false,
    });
    await storage.authorizations.revokeAll(authorization, now);
    expect(await storage.authorizations.find(authorization.authorizationId, now)).toMatchObject({
      revoked: true,
    });
  });

  it("still lets records be found", async () => {
    const code = newCode(now);
    await storage.authorizationCodes.create(code, now);
    await limit(1);
    expect(await storage.authorizationCodes.find(code, now)).toEqual(code);
  });
}

function crash(): void {
  it("takes back nothing that was acknowledged", async () => {
    const server = await startRedis();
    const client = await redisClient(server.url);
    const storage = redisStorage({ client });
    const authorizationId = newId();
    const [authorization, open] = [newAuthorization(now), newCode(now, { authorizationId })];
    const [code, from, token] = [newCode(now), newRefreshToken(now), newAccessToken(now)];
    const [to, consent] = [{ ...from, digest: newDigest() }, newConsent(now)];
    await storage.clients.save(spa);
    await storage.consents.save(consent, now);
    await storage.authorizations.create(authorization, now);
    await storage.authorizationCodes.create(open, now);
    await storage.authorizationCodes.create(code, now);
    await storage.refreshTokens.create(from, now);
    await storage.accessTokens.create(token, now);
    await storage.authorizationCodes.consume(code, now);
    await storage.refreshTokens.rotate({ from, to }, now);
    await storage.accessTokens.revoke(token, now);
    await storage.authorizations.revoke(authorization.authorizationId, now);
    await server.stop("SIGKILL");
    await server.start();
    try {
      expect(await storage.clients.find(spa.clientId)).toEqual(spa);
      expect(await storage.clients.isBrowserOrigin("https://spa.example")).toBe(true);
      expect(await storage.consents.find(consent, now)).toEqual(consent);
      expect(await storage.authorizations.find(authorization.authorizationId, now)).toMatchObject({
        revoked: true,
      });
      expect(await storage.authorizationCodes.consume(code, now)).toBe("not-consumed");
      expect(await storage.authorizationCodes.consume(open, now)).toBe("consumed");
      expect(await storage.refreshTokens.find(from, now)).toEqual({ ...from, used: true });
      expect(await storage.refreshTokens.find(to, now)).toEqual(to);
      expect(await storage.accessTokens.isRevoked(token.tokenId, now)).toBe(true);
    } finally {
      client.destroy();
      await server.close();
    }
  });
}

describeWith(redis, { name: "redisStorage", tests: oneServer });
describeWith(redis, { name: "redisStorage: full memory (RFC 6749 §10.5)", tests: fullMemory });
describeWith(redis, { name: "redisStorage: a crash of the server (RFC 6749 §10.5)", tests: crash });
