import { createHash } from "node:crypto";
import { Cluster } from "ioredis";
import { type IoRedisClient, type RedisClient, redisStorage, type RedisStorage } from "../../lib/redis";
import {
  newAccessToken,
  newAuthorization,
  newCode,
  newDigest,
  newId,
  newRefreshToken,
} from "../../lib/testing/contract/records";
import { refresh } from "../../__tests__/requests/client-requests";
import { clients } from "../../__tests__/hosts/clients";
import { testHost } from "../../__tests__/hosts/host";
import { obtainTokens } from "../../__tests__/browser/journey";
import { clusterWithReplicas } from "../../__tests__/servers/redis-replication";
import { redis } from "../../__tests__/servers/redis-server";
import { moveSlotOf } from "./redis-slot";
import { now } from "../../__tests__/servers/redis-storage";
import { describeWith } from "../../__tests__/servers/server-process";

const late = expect.objectContaining({ code: "redis-kept-refusing" });

/** An authorization with a code and a refresh token, and the names of their keys. */
async function given(options: { client: RedisClient; replicas: number }) {
  const [prefix, authorizationId] = [`${newId()}:`, newId()];
  const storage = redisStorage({ ...options, prefix });
  const [code, from] = [newCode(now, { authorizationId }), newRefreshToken(now, { authorizationId })];
  await storage.authorizations.create(newAuthorization(now, { authorizationId }), now);
  await storage.authorizationCodes.create(code, now);
  await storage.refreshTokens.create(from, now);
  const key = `${prefix}{${authorizationId}}`;
  return {
    storage,
    authorizationId,
    code,
    from,
    key,
    fromKey: `${key}:refresh:${from.digest}`,
    codeKey: `${key}:code:${code.digest}`,
  };
}

/** Rotations of one token to different ones, all at once. */
function rotations(storage: RedisStorage, from: ReturnType<typeof newRefreshToken>) {
  return Array.from({ length: 8 }, () =>
    storage.refreshTokens.rotate({ from, to: { ...from, digest: newDigest() } }, now),
  );
}

function resharding(): void {
  let ioClient: Cluster;
  let careful: Cluster;
  // ahead of the end of the servers
  afterAll(() => (ioClient.disconnect(), careful.disconnect()));
  const opened = clusterWithReplicas();

  beforeAll(async () => {
    ioClient = new Cluster(opened().cluster.rootNodes.map(({ url }) => url));
    ioClient.on("error", () => undefined);
    await ioClient.ping();
    careful = new Cluster(
      opened().cluster.rootNodes.map(({ url }) => url),
      { redisOptions: { maxRetriesPerRequest: 0 }, retryDelayOnFailover: 0 },
    );
    careful.on("error", () => undefined);
    await careful.ping();
  });

  const ways: readonly (readonly [string, () => { client: RedisClient; replicas: number }])[] = [
    ["redis", () => ({ client: opened().client, replicas: 0 })],
    ["redis with replicas", () => ({ client: opened().client, replicas: 1 })],
    ["ioredis", () => ({ client: ioClient, replicas: 0 })],
    ["ioredis with the options that the docs ask for", () => ({ client: careful, replicas: 0 })],
  ];

  describe.each(ways)("%s", (_name, way) => {
    it("rotates a token once whose slot comes to another master meanwhile (TRYAGAIN)", async () => {
      const { storage, key, from, fromKey } = await given(way());
      const slot = await moveSlotOf(opened().cluster, key);
      await slot.take([fromKey]);
      // however slow this machine is, the adapter has not lost its patience
      const clock = jest.spyOn(performance, "now").mockReturnValue(performance.now());
      const told = Promise.all(rotations(storage, from)).finally(() => clock.mockRestore());
      while ((await slot.refused("TRYAGAIN")) < 8);
      await slot.finish();
      expect((await told).map(String).toSorted()).toEqual([
        ...Array.from({ length: 7 }, () => "not-rotated"),
        "rotated",
      ]);
      expect(await storage.refreshTokens.find(from, now)).toEqual({ ...from, used: true });
    });

    it("fails in time while the slot does not come to rest, and has used nothing", async () => {
      const { storage, key, from, fromKey } = await given(way());
      const slot = await moveSlotOf(opened().cluster, key);
      await slot.take([fromKey]);
      const to = { ...from, digest: newDigest() };
      await expect(storage.refreshTokens.rotate({ from, to }, now)).rejects.toEqual(late);
      await slot.finish();
      expect(await storage.refreshTokens.find(from, now)).toEqual(from);
      expect(await storage.refreshTokens.rotate({ from, to }, now)).toBe("rotated");
    });

    it("consumes and revokes in a slot that moves, where the keys are already (ASK)", async () => {
      const { storage, key, authorizationId, code, codeKey } = await given(way());
      const slot = await moveSlotOf(opened().cluster, key);
      await slot.take([key, codeKey]);
      const told = Array.from({ length: 8 }, () => storage.authorizationCodes.consume(code, now));
      expect((await Promise.all(told)).filter((one) => one === "consumed")).toHaveLength(1);
      await storage.authorizations.revoke(authorizationId, now);
      expect(await storage.authorizations.find(authorizationId, now)).toMatchObject({ revoked: true });
      expect(await slot.refused("ASK")).toBeGreaterThan(0);
      await slot.finish();
      expect(await storage.authorizations.find(authorizationId, now)).toMatchObject({ revoked: true });
    });

    it("finds a slot that has moved without a word (MOVED)", async () => {
      const { storage, key, code, authorizationId } = await given(way());
      await storage.accessTokens.revoke(newAccessToken(now), now);
      await (await moveSlotOf(opened().cluster, key)).finish();
      expect(await storage.authorizationCodes.consume(code, now)).toBe("consumed");
      await storage.authorizations.revoke(authorizationId, now);
      expect(await storage.authorizations.find(authorizationId, now)).toMatchObject({ revoked: true });
    });
  });

  it("is temporarily_unavailable to a client, whose token is as good as before (RFC 6749 §5.2)", async () => {
    const prefix = `${newId()}:`;
    const storage = redisStorage({ client: opened().client, prefix });
    await storage.clients.save(clients.web);
    const host = testHost({ storage });
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "web" });
    const key = `${prefix}{${refreshToken.split(".")[0] ?? ""}}`;
    const slot = await moveSlotOf(opened().cluster, key);
    await slot.take([`${key}:refresh:${createHash("sha256").update(refreshToken).digest("base64url")}`]);
    const refused = await refresh(host, { client: "web", refreshToken });
    expect([refused.status, refused.body]).toEqual([
      503,
      { error: "temporarily_unavailable", error_description: "Try again later." },
    ]);
    expect(await slot.refused("TRYAGAIN")).toBeGreaterThan(0);
    await slot.finish();
    expect((await refresh(host, { client: "web", refreshToken })).status).toBe(200);
  });
}

/** A client that gives up so many times before it answers. */
function givingUp(times: number, retryDelayOnFailover: number): RedisClient {
  const answers = Array.from({ length: times }, () => "Too many Cluster redirections. Last error: TRYAGAIN");
  return {
    isCluster: true,
    status: "ready",
    options: { retryDelayOnFailover },
    nodes: () => [{ isCluster: false, options: {}, call: () => Promise.resolve("role:master") }],
    call: async () => {
      const message = answers.shift();
      if (message !== undefined) throw new Error(message);
      return `0${JSON.stringify({ expiresAt: now + 60 })}`;
    },
  } as IoRedisClient;
}

describe("new Redis.Cluster() that gives up after its redirections (RFC 6749 §5.2)", () => {
  const options = { allowEviction: true };

  it("is asked again, for two seconds in all, where none of them can be a lost connection", async () => {
    const { accessTokens } = redisStorage({ client: givingUp(3, 0), ...options });
    expect(await accessTokens.isRevoked("a", now)).toBe(true);
    const never = redisStorage({ client: givingUp(1_000, 0), ...options }).accessTokens.isRevoked("a", now);
    await expect(never).rejects.toEqual(late);
  });

  it("is not asked again where one of them may be: the command could be executed twice", async () => {
    const { accessTokens } = redisStorage({ client: givingUp(1, 100), ...options });
    await expect(accessTokens.isRevoked("a", now)).rejects.toEqual(late);
  });
});

describeWith(redis, {
  name: "redisStorage in a cluster whose slots move (RFC 6749 §4.1.2, §5.2, 9700 §4.14.2)",
  tests: resharding,
});
