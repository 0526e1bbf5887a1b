import { readFileSync } from "node:fs";
import path from "node:path";
import { createClient, createCluster } from "redis";
import { weaknessesOf } from "../../lib/review/weaknesses";
import { redisStorage, type RedisStorage } from "../../lib/redis";
import { newCode, newId } from "../../lib/testing/contract/records";
import { goodOptions } from "../records/options";
import { startReplicatedRedis } from "../servers/redis-replication";
import {
  askRedis,
  redis,
  redisClient,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from "../servers/redis-server";
import {
  ask,
  asksAboutServer,
  everyCall,
  expectJourney,
  holdRechecks,
  keysOf,
  type NodeClient,
  now,
  recording,
  refusals,
  spa,
} from "../servers/redis-storage";
import { describeWith } from "../servers/server-process";

/** A call beside which the question is asked; the answer to it comes first. */
async function callBeside(client: NodeClient, storage: RedisStorage): Promise<void> {
  expect(await storage.clients.find("web")).toBeUndefined();
  await ask(client, "PING");
  await new Promise(setImmediate);
}

/** Sets one of the server's own settings. */
const configure = (client: NodeClient, ...setting: readonly [name: string, value: string]) =>
  ask(client, "CONFIG", "SET", ...setting);

function setLater(client: () => NodeClient): void {
  let passTime: () => void;

  beforeEach(() => (passTime = holdRechecks()));
  afterEach(() => jest.restoreAllMocks());

  /** A storage that has served, and whose server was given this policy after the last question. */
  async function servedUntil(
    policy: string,
    storage = redisStorage({ client: client(), prefix: `${newId()}:` }),
  ) {
    await storage.clients.find("web");
    await configure(client(), "maxmemory-policy", policy);
    passTime();
    return storage;
  }

  it("is noticed by a question beside a call, which is answered", async () => {
    const recorder = recording(client());
    const storage = await servedUntil("allkeys-lru", redisStorage({ client: recorder }));
    await callBeside(client(), storage);
    await expect(storage.clients.find("web")).rejects.toMatchObject({ code: "redis-may-evict" });
    expect(recorder.commands.filter(asksAboutServer)).toHaveLength(3);
  });

  it("makes every call reject until the policy is right again", async () => {
    const storage = await servedUntil("volatile-ttl");
    await callBeside(client(), storage);
    const calls = everyCall(storage);
    for (const call of Object.values(calls))
      await expect(call()).rejects.toMatchObject({ code: "redis-may-evict" });
    await configure(client(), "maxmemory-policy", "noeviction");
    expect(await refusals(calls)).toEqual([]);
  });

  it("is refused as well when the server no longer lets itself be asked", async () => {
    const storage = await servedUntil("noeviction");
    await ask(client(), "ACL", "SETUSER", "default", "-info");
    await callBeside(client(), storage);
    await expect(storage.clients.find("web")).rejects.toMatchObject({ code: "redis-right-missing" });
    await ask(client(), "ACL", "SETUSER", "default", "+info");
    expect(await storage.clients.find("web")).toBeUndefined();
  });

  it("is asked for once when the time has come, however many calls there are", async () => {
    const recorder = recording(client());
    const storage = await servedUntil("noeviction", redisStorage({ client: recorder }));
    await Promise.all(Array.from({ length: 64 }, () => storage.clients.find("web")));
    await storage.clients.find("web");
    expect(recorder.commands.filter(asksAboutServer)).toHaveLength(2);
  });
}

function eviction(): void {
  let server: RedisServer;
  let client: NodeClient;

  beforeAll(async () => {
    server = await startRedis();
    client = await redisClient(server.url);
  });
  beforeEach(async () => {
    await configure(client, "maxmemory", "100mb");
    await configure(client, "maxmemory-policy", "noeviction");
  });
  afterAll(async () => {
    client.destroy();
    await server.close();
  });

  it.each(["allkeys-lru", "volatile-lru", "volatile-ttl", "allkeys-random"])(
    "makes every call reject under %s, with an error that says what to set",
    async (policy) => {
      await configure(client, "maxmemory-policy", policy);
      const calls = everyCall(redisStorage({ client, prefix: `${newId()}:` }));
      for (const call of Object.values(calls))
        await expect(call()).rejects.toMatchObject({ code: "redis-may-evict" });
      expect(await keysOf(client, "")).toEqual([]);
    },
  );

  it("is no concern under noeviction", () => expectJourney(client));

  it("is no concern where memory has no limit, whatever the policy", async () => {
    await configure(client, "maxmemory", "0");
    await configure(client, "maxmemory-policy", "allkeys-lru");
    await expectJourney(client);
  });

  it("is borne with allowEviction", async () => {
    await configure(client, "maxmemory-policy", "allkeys-lru");
    await expectJourney(client, { allowEviction: true });
  });

  it("is asked for once, before the first command", async () => {
    const recorder = recording(client);
    const calls = everyCall(redisStorage({ client: recorder }));
    await Promise.all(Object.values(calls).map((call) => call()));
    await expectJourney({ sendCommand: (args: string[]) => client.sendCommand(args) });
    await Promise.all(Object.values(calls).map((call) => call()));
    const asked = recorder.commands.map(asksAboutServer);
    expect([asked[0], asked.filter(Boolean).length]).toEqual([true, 1]);
  });

  it("is asked for again after a refusal, and the storage serves once it is set right", async () => {
    await configure(client, "maxmemory-policy", "allkeys-lru");
    const storage = redisStorage({ client, prefix: `${newId()}:` });
    await expect(storage.clients.find("web")).rejects.toMatchObject({ code: "redis-may-evict" });
    await configure(client, "maxmemory-policy", "noeviction");
    expect(await refusals(everyCall(storage))).toEqual([]);
  });

  it("is asked for again when the server could not be asked", async () => {
    const other = createClient({ url: server.url, disableOfflineQueue: true });
    other.on("error", () => undefined);
    await other.connect();
    const recorder = recording(other);
    const storage = redisStorage({ client: recorder, prefix: `${newId()}:` });
    await server.stop("SIGKILL");
    await expect(storage.clients.find("web")).rejects.toThrow();
    const back = other.isReady ? undefined : new Promise((resolve) => other.once("ready", resolve));
    await server.start();
    await back;
    expect(await storage.clients.find("web")).toBeUndefined();
    expect(recorder.commands.map(asksAboutServer)).toEqual([true, true, false]);
    other.destroy();
  });

  describe("set later", () => setLater(() => client));
}

function rights(): void {
  const docs = readFileSync(path.join(__dirname, "../../docs/storage-redis.md"), "utf8");
  const inDocs = [...docs.matchAll(/^ +ACL SETUSER authmount ((?:\+\w+ ?)+)$/gm)].flatMap(([, list = ""]) =>
    list.replaceAll("+", "").split(" "),
  );
  let server: RedisServer;

  beforeAll(async () => (server = await startRedis()));
  afterAll(() => server.close());

  /** A client of a user that may use these commands only. */
  async function userWith(commands: readonly string[], keys = "~*") {
    const name = newId();
    const rules = ["on", "nopass", keys, "-@all", ...commands.map((command) => `+${command}`)];
    await askRedis(server.url, (admin) => admin.sendCommand(["ACL", "SETUSER", name, ...rules]));
    const client = createClient({
      url: server.url,
      username: name,
      password: "any",
      disableClientInfo: true,
    });
    client.on("error", () => undefined);
    return client.connect();
  }

  it("that the docs name are enough for every call, with replicas too", async () => {
    const client = await userWith(inDocs);
    await expectJourney(client, { replicas: 0 });
    const storage = redisStorage({ client, prefix: `${newId()}:` });
    expect(await refusals(everyCall(storage))).toEqual([]);
    const waiting = redisStorage({ client, prefix: `${newId()}:`, replicas: 1 });
    await expect(waiting.clients.save(spa)).rejects.toMatchObject({ code: "redis-replicas-missing" });
    client.destroy();
  });

  it.each([
    ["info", (storage: RedisStorage) => storage.clients.find("web")],
    ["get", (storage: RedisStorage) => storage.clients.find("web")],
    ["setrange", (storage: RedisStorage) => spendCode(storage)],
  ])("that lack %s make the call fail with an error that names all commands", async (missing, call) => {
    const client = await userWith(inDocs.filter((command) => command !== missing));
    const failed = call(redisStorage({ client, prefix: `${newId()}:` }));
    await expect(failed).rejects.toMatchObject({ code: "redis-right-missing" });
    await expect(failed).rejects.toThrow(`these commands: ${inDocs.join(" ")}.`);
    client.destroy();
  });
}

async function spendCode({ authorizationCodes }: RedisStorage): Promise<unknown> {
  const code = newCode(now);
  await authorizationCodes.create(code, now);
  return authorizationCodes.consume(code, now);
}

function role(): void {
  it.each([{}, { allowEviction: true }])(
    "a client that has connected to a replica gets no answer from any call (%j)",
    async (options) => {
      const { replica, close } = await startReplicatedRedis();
      const client = await redisClient(replica.url);
      const calls = everyCall(redisStorage({ client, ...options }));
      for (const call of Object.values(calls))
        await expect(call()).rejects.toMatchObject({ code: "redis-server-is-replica" });
      client.destroy();
      await close();
    },
  );
}

function told(): void {
  it("by migrate(), and in the assessment, where a crash or a failover may lose what was acknowledged", async () => {
    const { server, close } = await startReplicatedRedis(["--appendonly", "no"]);
    const client = await redisClient(server.url);
    const storage = redisStorage({ client });
    expect(weaknessesOf({ ...goodOptions, storage }).map(({ path: at }) => at)).not.toContain("storage");
    expect(await storage.migrate()).toEqual([
      expect.stringContaining("[redis-without-append-only-file]"),
      expect.stringContaining("[redis-replicas-not-waited-for]"),
    ]);
    expect(weaknessesOf({ ...goodOptions, storage })).toContainEqual(
      expect.objectContaining({
        code: "storage-may-lose-records",
        problem:
          "may lose what it has acknowledged: Redis has no append-only file, a master has 1 replicas, and replicas is 0",
      }),
    );
    client.destroy();
    await close();
  });
}

function masterAway(): void {
  it("keeps a process that starts meanwhile from nothing that the other masters hold", async () => {
    const cluster = await startRedisCluster();
    for (const { url } of cluster.servers)
      await askRedis(url, (asked) =>
        asked.sendCommand(["CONFIG", "SET", "cluster-require-full-coverage", "no"]),
      );
    await cluster.servers[2]?.stop("SIGKILL");
    const client = createCluster({ rootNodes: cluster.rootNodes.slice(0, 2), minimizeConnections: true });
    client.on("error", () => undefined);
    await client.connect();
    const { authorizationCodes } = redisStorage({ client });
    const stored = Array.from({ length: 32 }, () => authorizationCodes.create(newCode(now), now));
    expect(await Promise.any(stored)).toBeUndefined();
    await cluster.servers[2]?.start();
    await Promise.allSettled(stored);
    client.destroy();
    await cluster.close();
  });
}

describeWith(redis, {
  name: "redisStorage: servers (RFC 6749 §10.5, 7009 §2.1)",
  tests() {
    describe("rights", rights);
    describe("a replica", role);
    describe("settings are told", told);
    describe("a master of a cluster that is away", masterAway);
  },
});

describeWith(redis, { name: "redisStorage: eviction (RFC 6749 §10.5)", tests: eviction });
