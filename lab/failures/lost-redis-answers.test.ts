/** Client libraries that send a command again whose answer was lost, and the options that keep them from it (RFC 6749 §4.1.2). */
import { chown, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Cluster } from "ioredis";
import * as nodeRedis from "redis";
import { redisStorage, type RedisStorage } from "../../lib/redis";
import { newCode } from "../../lib/testing/contract/records";
import { type CutProxy, startCutProxy } from "../../__tests__/servers/cut-proxy";
import { runWaitingBlock } from "../../__tests__/sources/doc-block";
import { askRedis, redis, startRedis } from "../../__tests__/servers/redis-server";
import { now } from "../../__tests__/servers/redis-storage";
import {
  describeWith,
  freePort,
  newFolder,
  runAs,
  startServer,
} from "../../__tests__/servers/server-process";

/** What the page says about the cluster client. */
interface PageOptions {
  readonly redisOptions: { readonly maxRetriesPerRequest: number };
  readonly retryDelayOnFailover: number;
}

type SentinelOptions = Parameters<typeof nodeRedis.createSentinel>[0];

/** A storage as the page opens it, but by the proxy. */
interface Opened {
  readonly storage: RedisStorage;
  readonly close: () => Promise<void>;
}

interface Bed {
  readonly proxy: CutProxy;
  /** As docs/storage-redis.md says; `defaults` for the client library's own options. */
  readonly open: (options: "page" | "defaults") => Promise<Opened>;
  readonly close: () => Promise<unknown>;
}

/** Asks until the client is connected again. */
async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    try {
      return await ask();
    } catch {
      await delay(50);
    }
  }
  return ask();
}

/** Runs the block of the page with a client library in which something is changed. */
async function openAsPage(index: number, modules: Readonly<Record<string, unknown>>): Promise<RedisStorage> {
  const block = { page: "storage-redis.md", heading: "When an answer is lost", index };
  const exported = await runWaitingBlock(
    { ...block, modules: { "authmount/redis": { redisStorage }, ...modules } },
    {},
  );
  return exported["storage"] as RedisStorage;
}

/** A cluster of one master. */
async function clusterBed(): Promise<Bed> {
  const server = await startRedis(["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"]);
  await askRedis(server.url, async (client) => {
    await client.sendCommand(["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    while (!String(await client.sendCommand(["CLUSTER", "INFO"])).includes("cluster_state:ok"));
  });
  const proxy = await startCutProxy(server.port);
  const node = { host: "127.0.0.1", port: proxy.port };
  return {
    proxy,
    async open(wanted) {
      let client: Cluster | undefined;
      // called by `new`
      function ProxiedCluster(_nodes: unknown, { redisOptions, ...options }: PageOptions) {
        // what the page says of each connection does not suffice
        client = new Cluster([node], {
          redisOptions,
          ...(wanted === "page" && options),
          natMap: () => node,
        });
        return client;
      }
      const storage = await openAsPage(0, { ioredis: { Cluster: ProxiedCluster } });
      return { storage, close: async () => client?.disconnect() };
    },
    close: async () => (await proxy.close(), server.close()),
  };
}

/** A server, and a Sentinel that watches it under the name of the page. */
async function sentinelBed(): Promise<Bed> {
  const server = await startRedis();
  const proxy = await startCutProxy(server.port);
  const [folder, port] = [await newFolder("sentinel"), await freePort()];
  const file = path.join(folder, "sentinel.conf");
  await writeFile(file, `sentinel monitor mymaster 127.0.0.1 ${server.port} 1\n`);
  // a Sentinel writes what it learns into its file
  if (runAs.uid !== undefined && runAs.gid !== undefined) await chown(file, runAs.uid, runAs.gid);
  const sentinel = await startServer({
    command: "redis-server",
    args: [file, "--sentinel", "--port", String(port), "--bind", "127.0.0.1", "--dir", folder],
    folder,
    isReady: async () =>
      (await askRedis(`redis://127.0.0.1:${port}`, (client) => client.sendCommand(["PING"]))) === "PONG",
  });
  const places = {
    sentinelRootNodes: [{ host: "127.0.0.1", port }],
    nodeAddressMap: { [`127.0.0.1:${server.port}`]: { host: "127.0.0.1", port: proxy.port } },
  };
  return {
    proxy,
    async open(wanted) {
      let client: ReturnType<typeof nodeRedis.createSentinel> | undefined;
      function createSentinel({ name, ...options }: SentinelOptions) {
        client = nodeRedis.createSentinel({ name, ...(wanted === "page" && options), ...places });
        return client;
      }
      const storage = await openAsPage(1, { redis: { createSentinel } });
      return { storage, close: async () => client?.destroy() };
    },
    close: async () => (await proxy.close(), await sentinel.close(), server.close()),
  };
}

function declare(openBed: () => Promise<Bed>): void {
  let bed: Bed;

  beforeAll(async () => {
    // what the page prints when a connection is lost
    jest.spyOn(console, "error").mockReturnValue(undefined);
    bed = await openBed();
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await bed.close();
  });

  /** Redeems a code whose answer is lost on the way. */
  async function loseAnswer({ authorizationCodes }: RedisStorage) {
    const code = newCode(now);
    await authorizationCodes.create(code, now);
    const cutsBefore = bed.proxy.cuts();
    bed.proxy.cutNext("answer");
    const told = await authorizationCodes.consume(code, now).catch(() => "rejected" as const);
    expect(bed.proxy.cuts()).toBe(cutsBefore + 1);
    return { code, told };
  }

  it("does not send it again with the options of the page, and serves the next command", async () => {
    const { storage, close } = await bed.open("page");
    const { code, told } = await loseAnswer(storage);
    expect(told).toBe("rejected");
    const { authorizationCodes } = storage;
    expect(await untilAnswered(() => authorizationCodes.find(code, now))).toEqual({
      ...code,
      consumed: true,
    });
    await close();
  });

  it("sends it again by default: the winner is told that it has lost", async () => {
    const { storage, close } = await bed.open("defaults");
    expect((await loseAnswer(storage)).told).toBe("not-consumed");
    await close();
  });
}

describeWith(redis, {
  name: "a command whose answer is lost, by the cluster client of ioredis (RFC 6749 §4.1.2)",
  tests: () => declare(clusterBed),
});
describeWith(redis, {
  name: "a command whose answer is lost, by the Sentinel client of redis (RFC 6749 §4.1.2)",
  tests: () => declare(sentinelBed),
});
