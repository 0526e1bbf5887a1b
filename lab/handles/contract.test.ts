/** The storage contract by the drivers and settings that `__tests__/testing/contract/contract.test` leaves out. */
import { Cluster, Redis } from "ioredis";
import { createCluster } from "redis";
import { postgres } from "../../__tests__/servers/postgres-server";
import {
  redis,
  type RedisCluster,
  redisClusterClient,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from "../../__tests__/servers/redis-server";
import { describeWith, freePort } from "../../__tests__/servers/server-process";
import { postgresContract, redisContract } from "../../__tests__/testing/contract/on-servers";

describeWith(postgres, {
  name: "storage contract: PostgreSQL (RFC 6749 §4.1.2, §10.5)",
  tests: () => {
    describe("at repeatable read", () => postgresContract("repeatable read"));
    describe("at serializable", () => postgresContract("serializable"));
  },
});

describeWith(redis, {
  name: "storage contract: Redis by ioredis (RFC 6749 §4.1.2, §10.5)",
  tests: () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await startRedis();
    });
    afterAll(() => server.close());

    redisContract({
      async connect() {
        const client = new Redis(server.url, { lazyConnect: true });
        client.on("error", () => undefined);
        await client.connect();
        return { client, close: () => client.disconnect() };
      },
      async fail() {
        const client = new Redis({
          host: "127.0.0.1",
          port: await freePort(),
          enableOfflineQueue: false,
          maxRetriesPerRequest: 0,
        });
        client.on("error", () => undefined);
        return { client, close: () => client.disconnect() };
      },
    });
  },
});

describeWith(redis, {
  name: "storage contract: a Redis cluster of three masters (RFC 6749 §4.1.2, §10.5)",
  tests: () => {
    let cluster: RedisCluster;
    beforeAll(async () => {
      cluster = await startRedisCluster();
    });
    afterAll(() => cluster.close());

    describe("by redis", () =>
      redisContract({
        async connect() {
          const client = await redisClusterClient(cluster);
          return { client, close: () => client.destroy() };
        },
        async fail() {
          const client = createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${await freePort()}` }] });
          client.on("error", () => undefined);
          await client.connect().catch(() => undefined);
          return { client, close: () => undefined };
        },
      }));

    describe("by ioredis", () =>
      redisContract({
        async connect() {
          const nodes = cluster.servers.map(({ port }) => ({ host: "127.0.0.1", port }));
          const client = new Cluster(nodes, { lazyConnect: true });
          client.on("error", () => undefined);
          await client.connect();
          return { client, close: () => client.disconnect() };
        },
        async fail() {
          const client = new Cluster([{ host: "127.0.0.1", port: await freePort() }], {
            enableOfflineQueue: false,
            redisOptions: { maxRetriesPerRequest: 0 },
          });
          client.on("error", () => undefined);
          return { client, close: () => client.disconnect() };
        },
      }));
  },
});
