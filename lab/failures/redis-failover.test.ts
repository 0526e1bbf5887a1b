/** What someone gains when Redis loses a master or a replica: a withdrawal that is forgotten, an API that stands still. */
import { setTimeout as delay } from "node:timers/promises";
import { redisStorage } from "../../lib/redis";
import { newAccessToken, newAuthorization, newId } from "../../lib/testing/contract/records";
import { clients } from "../../__tests__/hosts/clients";
import { testHost } from "../../__tests__/hosts/host";
import { callApi, obtainTokens } from "../../__tests__/browser/journey";
import { clusterWithReplicas, startReplicatedRedis } from "../../__tests__/servers/redis-replication";
import {
  askRedis,
  redis,
  redisClient,
  redisClusterClient,
  type RedisServer,
} from "../../__tests__/servers/redis-server";
import { holdRechecks, now } from "../../__tests__/servers/redis-storage";
import { describeWith } from "../../__tests__/servers/server-process";

function withdrawal(): void {
  const opened = clusterWithReplicas();

  async function shardOf(key: string): Promise<number> {
    const slot = await askRedis(opened().cluster.servers[0]?.url ?? "", (asking) =>
      asking.sendCommand(["CLUSTER", "KEYSLOT", key]),
    );
    return Math.floor((Number(slot) * 3) / 16_384);
  }

  it("ends every authorization that was acknowledged, although the master of the index is lost", async () => {
    const { cluster, client } = opened();
    const storage = redisStorage({ client, prefix: "lost:", replicas: 1 });
    const key = { subject: newId(), clientId: "web", apiId: "orders" };
    const shard = await shardOf(`lost:authorizations:${JSON.stringify(Object.values(key))}`);
    /** An authorization whose record outlives the index. */
    async function elsewhere(): Promise<ReturnType<typeof newAuthorization>> {
      const authorization = newAuthorization(now, key);
      return (await shardOf(authorization.authorizationId)) === shard ? elsewhere() : authorization;
    }
    const [early, late] = [await elsewhere(), await elsewhere()];
    const [master, replica] = [cluster.servers[shard], cluster.servers[shard + 3]] as [
      RedisServer,
      RedisServer,
    ];
    await storage.authorizations.create(early, now);
    process.kill(replica.pid(), "SIGSTOP");
    await expect(storage.authorizations.create(late, now)).rejects.toMatchObject({
      code: "redis-replicas-missing",
    });
    await master.stop("SIGKILL");
    process.kill(replica.pid(), "SIGCONT");
    // a client that learns the cluster from a server which has not heard of it would go on asking the lost master
    const isMaster = new RegExp(`:${replica.port}@.* (?:myself,)?master`);
    for (const server of cluster.servers.filter((one) => one !== master)) {
      const nodes = () => askRedis(server.url, (asking) => asking.sendCommand(["CLUSTER", "NODES"]));
      while (!isMaster.test(String(await nodes()))) await delay(20);
    }

    const other = await redisClusterClient(cluster);
    const after = redisStorage({ client: other, prefix: "lost:" });
    while ((await after.authorizations.revokeAll(key, now).catch(() => 0)) < 1);
    expect(await after.authorizations.find(early.authorizationId, now)).toMatchObject({ revoked: true });
    expect(await after.authorizations.find(late.authorizationId, now)).toBeUndefined();
    other.destroy();
  });
}

function stalledReplica(): void {
  it("keeps no API call from its answer while revocations wait for it", async () => {
    const { server, whileStalled, close } = await startReplicatedRedis();
    const client = await redisClient(server.url);
    try {
      const storage = redisStorage({ client, replicas: 1 });
      await storage.clients.save(clients.web);
      const host = testHost({ storage, revocationLagSeconds: 0 });
      const { access_token: accessToken } = await obtainTokens(host, { client: "web" });
      const order: string[] = [];
      await whileStalled(async () => {
        const revocations = Array.from({ length: 12 }, async () => {
          await storage.accessTokens.revoke(newAccessToken(now), now).catch(() => order.push("revocation"));
        });
        expect((await callApi(host, "/orders", accessToken)).status).toBe(200);
        order.push("API call");
        await Promise.all(revocations);
      });
      expect(order[0]).toBe("API call");
      expect(order).toHaveLength(13);
    } finally {
      client.destroy();
      await close();
    }
  });
}

function demotedMaster(): void {
  afterEach(() => jest.restoreAllMocks());

  it("accepts no token that was revoked at the new master, once it has asked for the server's role again", async () => {
    const passTime = holdRechecks();
    const { server, replica, close } = await startReplicatedRedis();
    const [client, newClient] = [await redisClient(server.url), await redisClient(replica.url)];
    try {
      const storage = redisStorage({ client });
      await storage.clients.save(clients.web);
      const host = testHost({ storage, revocationLagSeconds: 0 });
      const { access_token: accessToken } = await obtainTokens(host, { client: "web" });
      await askRedis(server.url, (asked) => asked.sendCommand(["WAIT", "1", "0"]));
      await newClient.sendCommand(["REPLICAOF", "NO", "ONE"]);
      // it keeps its connections, and hears nothing of the new master
      await client.sendCommand(["REPLICAOF", "127.0.0.1", "1"]);
      const { authorizations } = redisStorage({ client: newClient });
      for (const { authorizationId } of await authorizations.list("alice", { limit: 9 }, now))
        await authorizations.revoke(authorizationId, now);
      expect((await callApi(host, "/orders", accessToken)).status).toBe(200);
      passTime();
      // the question goes beside the first call
      await callApi(host, "/orders", accessToken);
      await client.sendCommand(["PING"]);
      await new Promise(setImmediate);
      expect((await callApi(host, "/orders", accessToken)).status).toBe(500);
    } finally {
      client.destroy();
      newClient.destroy();
      await close();
    }
  });
}

describeWith(redis, {
  name: "a withdrawal before a failover (RFC 7009 §2.1, 6749 §10.5)",
  tests: withdrawal,
});
describeWith(redis, { name: "a replica of Redis that stands still (RFC 6749 §10.5)", tests: stalledReplica });
describeWith(redis, {
  name: "a process whose Redis has become a replica (RFC 7009 §2.1)",
  tests: demotedMaster,
});
