import { setTimeout as delay } from "node:timers/promises";
import { Cluster } from "ioredis";
import { createCluster } from "redis";
import type { AuthorizationCode, RefreshToken } from "../../lib";
import type { EpochSeconds } from "../../lib/protocol/time";
import { type RedisClient, redisStorage, type RedisStorage } from "../../lib/redis";
import { newCode, newDigest, newId, newRefreshToken } from "../../lib/testing/contract/records";
import {
  askRedis,
  redis,
  type RedisCluster,
  type RedisServer,
  startRedisCluster,
} from "../../__tests__/servers/redis-server";
import { describeWith } from "../../__tests__/servers/server-process";

/** The servers have a clock of their own, so records live by the real one; one of a long run outlives it. */
const now: EpochSeconds = Math.floor(Date.now() / 1000);
const expiresAt: EpochSeconds = now + 7_200;

const isLong = process.env["AUTHMOUNT_LONG"] === "1";
const losses = isLong ? 20 : 1;
const testMilliseconds = isLong ? 1_800_000 : 600_000;
const workers = 3;

const seed = Number(process.env["AUTHMOUNT_SEED"] ?? Date.now() % 2 ** 32);
let state = seed;

/** The next number of the seed below this one. */
function pick(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

const hung = "has neither answered nor failed";

/** No call may take longer than that: what a process waits for it, its end user does too. */
async function bounded<T>(call: Promise<T>): Promise<T> {
  const patience = new AbortController();
  try {
    const late = delay(40_000, undefined, { signal: patience.signal }).then(() =>
      Promise.reject(new Error(hung)),
    );
    late.catch(() => undefined);
    return await Promise.race([call, late]);
  } finally {
    patience.abort();
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000;
  while (!(await isSo().catch(() => false))) {
    if (Date.now() > end) throw new Error(`has not come to be: ${isSo.toString()}`);
    await delay(50);
  }
}

function ask(server: RedisServer, ...args: readonly string[]): Promise<unknown> {
  return askRedis(server.url, (client) => client.sendCommand([...args]));
}

const isMaster = async (server: RedisServer): Promise<boolean> =>
  ((await ask(server, "ROLE")) as string[])[0] === "master";

/** A replica that has caught up with its master. */
async function isReplica(server: RedisServer): Promise<boolean> {
  const role = (await ask(server, "ROLE")) as string[];
  return role[0] === "slave" && role[3] === "connected";
}

const sees = async (server: RedisServer, fact: string): Promise<boolean> =>
  String(await ask(server, "CLUSTER", "INFO")).includes(fact);

/** What one thing that may be used once was told: by whoever used it, and whether it was stored at all. */
interface Entry {
  readonly code: AuthorizationCode;
  readonly from: RefreshToken;
  readonly to: RefreshToken;
  /** What a second rotation would give: the same one again is the same rotation. */
  readonly again: RefreshToken;
  readonly created: Set<"code" | "from">;
  /** What each call for the code and the token was told. */
  readonly consumed: string[];
  readonly rotated: unknown[];
}

interface Load {
  readonly entries: readonly Entry[];
  readonly problems: readonly string[];
  stop(): Promise<void>;
}

function newEntry(): Entry {
  const authorizationId = newId();
  const from = newRefreshToken(now, { authorizationId, expiresAt });
  return {
    code: newCode(now, { authorizationId, expiresAt }),
    from,
    to: { ...from, digest: newDigest() },
    again: { ...from, digest: newDigest() },
    created: new Set(),
    consumed: [],
    rotated: [],
  };
}

/** Goes on storing and using codes and refresh tokens, and writes down what it was told. */
function startLoad({ authorizationCodes, refreshTokens }: RedisStorage): Load {
  const entries: Entry[] = [];
  const problems: string[] = [];
  const stopping = new AbortController();

  async function told<T>(call: Promise<T>): Promise<T | "rejected"> {
    try {
      return await bounded(call);
    } catch (error) {
      if (error instanceof Error && error.message === hung) problems.push(hung);
      // a client that rejects at once would keep everything else from its turn
      await delay(5);
      return "rejected";
    }
  }

  async function work(): Promise<void> {
    while (!stopping.signal.aborted) {
      const entry = newEntry();
      entries.push(entry);
      const { code, from, to, created, consumed, rotated } = entry;
      const steps: readonly (() => Promise<unknown>)[] = [
        async () => (await told(authorizationCodes.create(code, now))) === "rejected" || created.add("code"),
        async () => (await told(refreshTokens.create(from, now))) === "rejected" || created.add("from"),
        async () => consumed.push(await told(authorizationCodes.consume(code, now))),
        async () => rotated.push(await told(refreshTokens.rotate({ from, to }, now))),
      ];
      for (const step of steps) if (!stopping.signal.aborted) await step();
    }
  }
  const working = Promise.all(Array.from({ length: workers }, work));
  return {
    entries,
    problems,
    async stop() {
      stopping.abort();
      await working;
    },
  };
}

const acknowledged = ({ entries }: Load): number =>
  entries.filter(({ rotated }) => rotated.includes("rotated")).length;

async function missingOfOne(entry: Entry, storage: RedisStorage): Promise<readonly string[]> {
  const { code, from, to, again, created, consumed, rotated } = entry;
  const [foundCode, foundFrom, foundTo, foundAgain] = await Promise.all([
    storage.authorizationCodes.find(code, now),
    storage.refreshTokens.find(from, now),
    storage.refreshTokens.find(to, now),
    storage.refreshTokens.find(again, now),
  ]);
  const wasRotated = rotated.includes("rotated");
  const missing: readonly (readonly [boolean, string])[] = [
    [created.has("code") && !foundCode, "a code that was stored"],
    [created.has("from") && !foundFrom, "a refresh token that was stored"],
    [consumed.includes("consumed") && !foundCode?.consumed, "the mark of a code that was consumed"],
    [wasRotated && !foundFrom?.used, "the mark of a refresh token that was rotated"],
    [wasRotated && !foundTo && !foundAgain, "the successor of a refresh token"],
  ];
  return missing.filter(([isMissing]) => isMissing).map(([, what]) => what);
}

/** What was acknowledged and is not there, by the words of the storage. */
async function missingOf(entries: readonly Entry[], storage: RedisStorage): Promise<readonly string[]> {
  return (await Promise.all(entries.map((entry) => missingOfOne(entry, storage)))).flat();
}

/** Tries each code and each refresh token again, and writes down what that was told. */
async function useAgain(entries: readonly Entry[], storage: RedisStorage): Promise<void> {
  for (const { code, from, again, consumed, rotated } of entries) {
    consumed.push(await storage.authorizationCodes.consume(code, now));
    rotated.push(await storage.refreshTokens.rotate({ from, to: again }, now));
  }
}

const usedTwice = (entries: readonly Entry[]): readonly Entry[] =>
  entries.filter(({ consumed, rotated }) =>
    [consumed.filter((told) => told === "consumed"), rotated.filter((told) => told === "rotated")].some(
      ({ length }) => length > 1,
    ),
  );

/** Something can be stored at every master: it is enough to come by each of them. */
async function untilStored({ authorizationCodes }: RedisStorage): Promise<void> {
  await until(async () => {
    const codes = Array.from({ length: 32 }, () => newCode(now));
    await bounded(Promise.all(codes.map((code) => authorizationCodes.create(code, now))));
    return true;
  });
}

/** Something can be stored and used at every master. */
async function untilServed({ authorizationCodes }: RedisStorage): Promise<void> {
  await until(async () => {
    const codes = Array.from({ length: 32 }, () => newCode(now));
    const served = codes.map(async (code) => {
      await authorizationCodes.create(code, now);
      return authorizationCodes.consume(code, now);
    });
    return (await bounded(Promise.all(served))).every((told) => told === "consumed");
  });
}

async function nodeRedis({ rootNodes }: RedisCluster) {
  const client = createCluster({
    rootNodes: [...rootNodes],
    topologyRefreshOnReconnectionAttemptStrategy: 500,
  });
  client.on("error", () => undefined);
  await client.connect();
  return { client: client as RedisClient, close: () => client.destroy() };
}

async function ioRedis({ servers }: RedisCluster) {
  const client = new Cluster(servers.map(({ port }) => ({ host: "127.0.0.1", port })));
  client.on("error", () => undefined);
  await client.ping();
  return { client: client as RedisClient, close: () => client.disconnect() };
}

const figures: string[] = [];
const tell = (text: string): void => void process.stderr.write(`redis cluster, seed ${seed}: ${text}\n`);

afterAll(() => figures.forEach(tell));

const hasRejected = ({ consumed, rotated, created }: Entry): boolean =>
  created.size < 2 || consumed.includes("rejected") || rotated.includes("rejected");

function figuresOf(loads: readonly Load[], client: string): string {
  const entries = loads.flatMap((load) => load.entries);
  const count = (is: (entry: Entry) => boolean): number => entries.filter(is).length;
  const spent = count(({ consumed }) => consumed.includes("consumed"));
  const rotated = count((entry) => entry.rotated.includes("rotated"));
  return `${client}: ${loads.length} losses, ${entries.length} pairs of code and token, ${spent} codes consumed, ${rotated} tokens rotated, ${count(hasRejected)} pairs with a rejected call`;
}

/** A code whose keys are at the first, second or third master of the cluster as it was formed. */
async function codeAt(cluster: RedisCluster, shard: number): Promise<AuthorizationCode> {
  for (;;) {
    const code = newCode(now, { expiresAt });
    const slot = Number(
      await ask(cluster.servers[0] as RedisServer, "CLUSTER", "KEYSLOT", code.authorizationId),
    );
    if (Math.floor((slot * 3) / 16_384) === shard) return code;
  }
}

async function pickMaster(cluster: RedisCluster): Promise<RedisServer> {
  const are = await Promise.all(cluster.servers.map(isMaster));
  const masters = cluster.servers.filter((_, index) => are[index]);
  return masters[pick(masters.length)] as RedisServer;
}

function withReplicas(): void {
  let cluster: RedisCluster;
  let client: Awaited<ReturnType<typeof nodeRedis>>;
  let storage: RedisStorage;

  beforeAll(async () => {
    cluster = await startRedisCluster({ replicas: true });
    client = await nodeRedis(cluster);
    storage = redisStorage({ client: client.client, replicas: 1 });
    tell("begins");
  });
  afterAll(async () => {
    client.close();
    await cluster.close();
  });

  it("finds all keys of one authorization in one slot", async () => {
    const prefix = `${newId()}:`;
    const own = redisStorage({ client: client.client, prefix, replicas: 1 });
    const { code, from, to } = newEntry();
    await own.authorizationCodes.create(code, now);
    await own.refreshTokens.create(from, now);
    await own.authorizationCodes.consume(code, now);
    await own.refreshTokens.rotate({ from, to }, now);
    const keys = await Promise.all(
      cluster.servers
        .slice(0, 3)
        .map(async (server) => (await ask(server, "KEYS", `${prefix}*`)) as string[]),
    );
    const slots = keys.flat().map((key) => ask(cluster.servers[0] as RedisServer, "CLUSTER", "KEYSLOT", key));
    expect(slots).toHaveLength(3);
    expect(new Set(await Promise.all(slots)).size).toBe(1);
  });

  it("refuses a master that may evict, whichever of them it is", async () => {
    const [evicting] = cluster.servers as [RedisServer];
    await ask(evicting, "CONFIG", "SET", "maxmemory", "100mb");
    await ask(evicting, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    const code = await codeAt(cluster, 0);
    const told = Array.from({ length: 16 }, () =>
      redisStorage({ client: client.client })
        .authorizationCodes.find(code, now)
        .then(
          () => "served",
          () => "refused",
        ),
    );
    expect(new Set(await Promise.all(told))).toEqual(new Set(["refused"]));
  });

  it("consumes a code at a master with a replica while another master has none", async () => {
    await ask(cluster.servers[0] as RedisServer, "CONFIG", "SET", "maxmemory", "0");
    const [code, other] = [await codeAt(cluster, 1), await codeAt(cluster, 0)];
    await storage.authorizationCodes.create(code, now);
    await storage.authorizationCodes.create(other, now);
    const replica = cluster.servers[3] as RedisServer;
    await replica.stop("SIGKILL");
    try {
      const told = await Promise.allSettled([
        storage.authorizationCodes.consume(other, now),
        storage.authorizationCodes.consume(code, now),
      ]);
      expect(told).toEqual([
        {
          status: "rejected",
          reason: expect.objectContaining({ code: "redis-replicas-missing" }),
        },
        { status: "fulfilled", value: "consumed" },
      ]);
    } finally {
      await replica.start();
      await until(() => isReplica(replica));
    }
  });

  it(
    "loses nothing that was acknowledged, and gives nothing twice, when masters are lost",
    async () => {
      await untilServed(storage);
      const loads: Load[] = [];
      for (let loss = 0; loss < losses; loss += 1) {
        const load = startLoad(storage);
        loads.push(load);
        await until(async () => acknowledged(load) >= 100);
        const lost = await pickMaster(cluster);
        const left = cluster.servers.filter((server) => server !== lost);
        await lost.stop("SIGKILL");
        await until(async () => (await Promise.all(left.map(isMaster))).filter(Boolean).length === 3);
        for (const server of left) await until(() => sees(server, "cluster_state:ok"));
        // by the same client, and without the server that was lost
        await untilStored(storage);
        await load.stop();
        expect(load.problems).toEqual([]);
        expect(await missingOf(load.entries, storage)).toEqual([]);

        await lost.start();
        await until(() => isReplica(lost));
        await untilServed(storage);
        expect(await missingOf(load.entries, storage)).toEqual([]);
        await useAgain(load.entries, storage);
        expect(usedTwice(load.entries)).toEqual([]);
      }
      figures.push(figuresOf(loads, "redis with replicas"));
      const entries = loads.flatMap((load) => load.entries);
      expect(await missingOf(entries, storage)).toEqual([]);
    },
    testMilliseconds,
  );
}

function withoutReplicas(): void {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startRedisCluster();
    // the masters that are left serve what is theirs
    for (const server of cluster.servers)
      await ask(server, "CONFIG", "SET", "cluster-require-full-coverage", "no");
  });
  afterAll(() => cluster.close());

  it.each([
    ["redis", nodeRedis],
    ["ioredis", ioRedis],
  ] as const)(
    "has everything that was acknowledged, and gives nothing twice, when a master was lost and is back: %s",
    async (name, connect) => {
      const { client, close } = await connect(cluster);
      const storage = redisStorage({ client, prefix: `${name}:` });
      const loads: Load[] = [];
      for (let loss = 0; loss < losses; loss += 1) {
        const load = startLoad(storage);
        loads.push(load);
        await until(async () => acknowledged(load) >= 100);
        const lost = cluster.servers[pick(3)] as RedisServer;
        const left = cluster.servers.filter((server) => server !== lost);
        await lost.stop("SIGKILL");
        await until(() => sees(left[0] as RedisServer, "cluster_slots_fail:546"));
        await lost.start();
        for (const server of cluster.servers) await until(() => sees(server, "cluster_slots_ok:16384"));
        await untilServed(storage);
        await load.stop();
        expect(load.problems).toEqual([]);
        expect(await missingOf(load.entries, storage)).toEqual([]);
        await useAgain(load.entries, storage);
        expect(usedTwice(load.entries)).toEqual([]);
      }
      figures.push(figuresOf(loads, `${name} without replicas`));
      close();
    },
    testMilliseconds,
  );
}

describeWith(redis, {
  name: "redisStorage in a cluster with replicas (RFC 6749 §4.1.2, 9700 §4.14.2)",
  tests: withReplicas,
});
describeWith(redis, {
  name: "redisStorage in a cluster without replicas (RFC 6749 §4.1.2, 9700 §4.14.2)",
  tests: withoutReplicas,
});
