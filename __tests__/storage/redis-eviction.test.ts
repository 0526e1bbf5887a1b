import { createClient } from "redis";
import { redisStorage, type RedisStorage } from "../../lib/redis";
import { newId } from "../../lib/storage/contract/records";
import { redis, redisClient, type RedisServer, startRedis } from "../fixture/redis-server";
import {
  ask,
  asksAboutMemory,
  everyCall,
  expectJourney,
  keysOf,
  type NodeClient,
  recording,
  refusals,
} from "../fixture/redis-storage";
import { describeWith } from "../fixture/server-process";

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
  let minuteIsOver: () => void;

  beforeEach(() => {
    const { setTimeout: begin } = globalThis;
    const waiting: (() => void)[] = [];
    minuteIsOver = () => waiting.splice(0).forEach((act) => act());
    const hold = (act: () => void, milliseconds?: number): NodeJS.Timeout => {
      if (milliseconds === 60_000) waiting.push(act);
      return begin(milliseconds === 60_000 ? () => undefined : act, milliseconds);
    };
    jest.spyOn(globalThis, "setTimeout").mockImplementation(hold);
  });
  afterEach(() => jest.restoreAllMocks());

  /** A storage that has served, and whose server was given this policy a minute ago. */
  async function servedUntil(
    policy: string,
    storage = redisStorage({ client: client(), prefix: `${newId()}:` }),
  ) {
    await storage.clients.find("web");
    await configure(client(), "maxmemory-policy", policy);
    minuteIsOver();
    return storage;
  }

  it("is noticed by a question beside a call, which is answered", async () => {
    const recorder = recording(client());
    const storage = await servedUntil("allkeys-lru", redisStorage({ client: recorder }));
    await callBeside(client(), storage);
    await expect(storage.clients.find("web")).rejects.toThrow(/noeviction/);
    expect(recorder.commands.filter(asksAboutMemory)).toHaveLength(3);
  });

  it("makes every call reject until the policy is right again", async () => {
    const storage = await servedUntil("volatile-ttl");
    await callBeside(client(), storage);
    const calls = everyCall(storage);
    for (const call of Object.values(calls)) await expect(call()).rejects.toThrow(/noeviction/);
    await configure(client(), "maxmemory-policy", "noeviction");
    expect(await refusals(calls)).toEqual([]);
  });

  it("is refused as well when the server no longer lets itself be asked", async () => {
    const storage = await servedUntil("noeviction");
    await ask(client(), "ACL", "SETUSER", "default", "-info");
    await callBeside(client(), storage);
    await expect(storage.clients.find("web")).rejects.toThrow(/NOPERM/);
    await ask(client(), "ACL", "SETUSER", "default", "+info");
    expect(await storage.clients.find("web")).toBeUndefined();
  });

  it("is asked for once in a minute, however many calls there are", async () => {
    const recorder = recording(client());
    const storage = await servedUntil("noeviction", redisStorage({ client: recorder }));
    await Promise.all(Array.from({ length: 64 }, () => storage.clients.find("web")));
    await storage.clients.find("web");
    expect(recorder.commands.filter(asksAboutMemory)).toHaveLength(2);
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
        await expect(call()).rejects.toThrow(/maxmemory-policy .*noeviction/);
      expect(await keysOf(client, "")).toEqual([]);
    },
  );

  it("is no concern under noeviction", () => expectJourney(client));

  it("is no concern where memory has no limit, whatever the policy", async () => {
    await configure(client, "maxmemory", "0");
    await configure(client, "maxmemory-policy", "allkeys-lru");
    await expectJourney(client);
  });

  it("is borne with allowEviction, and not asked for", async () => {
    await configure(client, "maxmemory-policy", "allkeys-lru");
    const recorder = recording(client);
    await expectJourney(recorder, { allowEviction: true });
    expect(recorder.commands.filter(asksAboutMemory)).toEqual([]);
  });

  it("is asked for once, before the first command", async () => {
    const recorder = recording(client);
    const calls = everyCall(redisStorage({ client: recorder }));
    await Promise.all(Object.values(calls).map((call) => call()));
    await expectJourney({ sendCommand: (args: string[]) => client.sendCommand(args) });
    await Promise.all(Object.values(calls).map((call) => call()));
    const asked = recorder.commands.map(asksAboutMemory);
    expect([asked[0], asked.filter(Boolean).length]).toEqual([true, 1]);
  });

  it("is asked for again after a refusal, and the storage serves once it is set right", async () => {
    await configure(client, "maxmemory-policy", "allkeys-lru");
    const storage = redisStorage({ client, prefix: `${newId()}:` });
    await expect(storage.clients.find("web")).rejects.toThrow(/noeviction/);
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
    expect(recorder.commands.map(asksAboutMemory)).toEqual([true, true, false]);
    other.destroy();
  });

  describe("set later", () => setLater(() => client));
}

describeWith(redis, { name: "redisStorage: eviction (RFC 6749 §10.5)", tests: eviction });
