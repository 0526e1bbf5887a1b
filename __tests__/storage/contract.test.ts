import { AssertionError } from "node:assert";
import { randomBytes } from "node:crypto";
import { Cluster, Redis } from "ioredis";
import { Pool, type PoolConfig } from "pg";
import { createClient, createCluster } from "redis";
import { type Client, memoryStorage, type Storage } from "../../lib";
import { type PostgresStorage, postgresStorage } from "../../lib/postgres";
import { type RedisClient, redisStorage } from "../../lib/redis";
import { type OpenStorage, storageContract } from "../../lib/testing";
import { postgres, startPostgres } from "../fixture/postgres-server";
import {
  redis,
  redisClient,
  type RedisCluster,
  redisClusterClient,
  startRedis,
  startRedisCluster,
} from "../fixture/redis-server";
import { describeWith, freePort } from "../fixture/server-process";

/** A server that somebody else keeps, in place of one of our own. */
const given = {
  postgres: process.env["AUTHMOUNT_TEST_POSTGRES"],
  redis: process.env["AUTHMOUNT_TEST_REDIS"],
};
/** Two runs on a given server must not meet. */
const runId = randomBytes(4).toString("hex");

interface ClientTable {
  readonly clients: {
    save(client: Client): Promise<void>;
    delete(clientId: string): Promise<void>;
  };
}

/** Registers the clients of a rule, and forgets them when it is over: a given server is left as it was. */
async function openWith(
  { storage, peer }: { storage: Storage & ClientTable; peer: Storage },
  clients: readonly Client[],
): Promise<OpenStorage> {
  for (const client of clients) await storage.clients.save(client);
  return {
    storage,
    peer,
    async close() {
      for (const { clientId } of clients) await storage.clients.delete(clientId);
    },
  };
}

describe("storage contract: memory (RFC 6749 §4.1.2, §10.5)", () => {
  storageContract({ test: it, open: async ({ clients }) => ({ storage: memoryStorage({ clients }) }) });
});

describeWith(
  { name: postgres.name, found: given.postgres !== undefined || postgres.found },
  { name: "storage contract: PostgreSQL (RFC 6749 §4.1.2, §10.5)", tests: postgresContract },
);

function postgresContract(): void {
  let newPool: (config?: PoolConfig) => Pool;
  let close: () => Promise<void>;

  beforeAll(async () => {
    if (given.postgres === undefined) {
      const server = await startPostgres();
      newPool = (config) => server.pool(config);
      close = () => server.close();
      return;
    }
    const pools: Pool[] = [];
    newPool = (config) => {
      const pool = new Pool({ connectionString: given.postgres, ...config });
      pools.push(pool);
      return pool;
    };
    close = async () => void (await Promise.all(pools.map((pool) => pool.end())));
  });
  afterAll(() => close());

  describe.each([
    ["read committed", "committed"],
    ["repeatable read", "repeatable"],
    ["serializable", "serializable"],
  ])("at %s", (isolation, name) => {
    const schema = `contract_${name}_${runId}`;
    const options = `-c default_transaction_isolation=${isolation.replace(" ", "\\ ")}`;
    let pools: readonly Pool[];
    let stores: { readonly storage: PostgresStorage; readonly peer: PostgresStorage };

    beforeAll(async () => {
      const [own, others] = [newPool({ options, max: 8 }), newPool({ options, max: 8 })];
      pools = [own, others];
      stores = {
        storage: postgresStorage({ pool: own, schema }),
        peer: postgresStorage({ pool: others, schema }),
      };
      await stores.storage.migrate();
    });
    afterAll(async () => {
      await pools[0]?.query(`DROP SCHEMA "${schema}" CASCADE`);
    });

    it("is the isolation of both pools", async () => {
      for (const pool of pools) {
        const { rows } = await pool.query("SHOW transaction_isolation");
        expect(rows).toEqual([{ transaction_isolation: isolation }]);
      }
    });

    storageContract({
      test: it,
      open: ({ clients }) => openWith(stores, clients),
      async openUnreachable() {
        const pool = new Pool({ host: "127.0.0.1", port: await freePort() });
        return { storage: postgresStorage({ pool }), close: () => pool.end() };
      },
    });
  });
}

/** A kind of client of `redis` or `ioredis`. */
interface Driver {
  readonly name: string;
  readonly connect: () => Promise<Connected>;
  /** A client whose server is not there. */
  readonly fail: () => Promise<Connected>;
}

interface Connected {
  readonly client: RedisClient;
  readonly close: () => Promise<void> | void;
}

function declareRedisContract({ name, connect, fail }: Driver): void {
  describe(`by ${name}`, () => {
    const prefix = `authmount-test-${runId}:`;
    let connected: readonly Connected[] = [];
    let stores: { readonly storage: Storage & ClientTable; readonly peer: Storage };

    beforeAll(async () => {
      const [own, other] = [await connect(), await connect()];
      connected = [own, other];
      stores = {
        storage: redisStorage({ client: own.client, prefix }),
        peer: redisStorage({ client: other.client, prefix }),
      };
    });
    afterAll(async () => {
      for (const { close } of connected) await close();
    });

    storageContract({
      test: it,
      open: ({ clients }) => openWith(stores, clients),
      async openUnreachable() {
        const { client, close } = await fail();
        return { storage: redisStorage({ client }), close: async () => close() };
      },
    });
  });
}

describeWith(
  { name: redis.name, found: given.redis !== undefined || redis.found },
  { name: "storage contract: Redis (RFC 6749 §4.1.2, §10.5)", tests: redisContract },
);

function redisContract(): void {
  let url: string;
  let close: () => Promise<void>;

  beforeAll(async () => {
    if (given.redis === undefined) {
      const server = await startRedis();
      url = server.url;
      close = () => server.close();
      return;
    }
    url = given.redis;
    close = async () => undefined;
  });
  afterAll(() => close());

  declareRedisContract({
    name: "redis",
    async connect() {
      const client = await redisClient(url);
      return { client, close: () => client.destroy() };
    },
    async fail() {
      const nowhere = `redis://127.0.0.1:${await freePort()}`;
      const client = createClient({ url: nowhere, disableOfflineQueue: true });
      client.on("error", () => undefined);
      // it goes on trying until it is destroyed
      const connecting = client.connect().catch(() => undefined);
      return {
        client,
        async close() {
          client.destroy();
          await connecting;
        },
      };
    },
  });

  declareRedisContract({
    name: "ioredis",
    async connect() {
      const client = new Redis(url, { lazyConnect: true });
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
}

describeWith(redis, {
  name: "storage contract: a Redis cluster of three masters (RFC 6749 §4.1.2, §10.5)",
  tests: redisClusterContract,
});

function redisClusterContract(): void {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(() => cluster.close());

  declareRedisContract({
    name: "redis",
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
  });

  declareRedisContract({
    name: "ioredis",
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
  });
}

interface CollectedRule {
  readonly name: string;
  readonly run: () => Promise<void>;
}

function collectRules(
  options: Omit<Parameters<typeof storageContract>[0], "test">,
): readonly CollectedRule[] {
  const collected: CollectedRule[] = [];
  storageContract({ ...options, test: (name, run) => void collected.push({ name, run }) });
  return collected;
}

/** Finds nothing, whatever was stored. */
function emptyStorage(clients: readonly Client[]): Storage {
  const storage = memoryStorage({ clients });
  return {
    ...storage,
    clients: { find: async () => undefined, isBrowserOrigin: async () => false },
    authorizations: { ...storage.authorizations, find: async () => undefined },
  };
}

const openMemory = async ({ clients }: { clients: readonly Client[] }): Promise<OpenStorage> => ({
  storage: memoryStorage({ clients }),
});

describe("storageContract by any test runner (RFC 6749 §10.5)", () => {
  it("declares rules whose names all differ", () => {
    const names = collectRules({ open: openMemory, openUnreachable: () => openMemory({ clients: [] }) }).map(
      ({ name }) => name,
    );
    expect(names.length).toBeGreaterThan(40);
    expect(new Set(names).size).toBe(names.length);
  });

  it("declares one rule more when a store can be opened that is not there", () => {
    const without = collectRules({ open: openMemory });
    const names = collectRules({ open: openMemory, openUnreachable: () => openMemory({ clients: [] }) }).map(
      ({ name }) => name,
    );
    expect(names.slice(0, -1)).toEqual(without.map(({ name }) => name));
    expect(names.at(-1)).toBe("every call rejects while the store cannot be reached");
  });

  it("opens nothing before a rule is run", () => {
    const open = jest.fn(openMemory);
    collectRules({ open, openUnreachable: () => open({ clients: [] }) });
    expect(open).not.toHaveBeenCalled();
  });

  it("lets every rule be run by hand, in any order and more than once", async () => {
    const rules = collectRules({ open: openMemory });
    for (const { run } of rules.toReversed()) await run();
    await Promise.all(rules.map(({ run }) => run()));
  });

  it("asks for other clients for each rule", async () => {
    const open = jest.fn(openMemory);
    const rules = collectRules({ open });
    for (const { run } of rules) await run();
    const ids = open.mock.calls.flatMap(([{ clients }]) => clients.map(({ clientId }) => clientId));
    expect(ids).toHaveLength(rules.length * 2);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each([
    ["clients.find returns a registered client with every property", /Web-.*: nothing was found/],
    [
      "clients.isBrowserOrigin is true for each origin of a browser client",
      /isBrowserOrigin\("https:\/\/spa-/,
    ],
    [
      "authorizations.find returns what authorizations.create stored, with every field",
      /must be left alone: nothing was found/,
    ],
  ])("rejects with an AssertionError that says what is wrong: %s", async (name, message) => {
    const rules = collectRules({ open: async ({ clients }) => ({ storage: emptyStorage(clients) }) });
    const error: unknown = await rules
      .find((rule) => rule.name === name)
      ?.run()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(AssertionError);
    expect((error as AssertionError).message).toMatch(message);
  });

  it("names the call that has answered while the store could not be reached", async () => {
    const rules = collectRules({ open: openMemory, openUnreachable: () => openMemory({ clients: [] }) });
    await expect(rules.at(-1)?.run()).rejects.toThrow("clients.find did not reject");
  });

  it.each([
    ["keeps its rules", memoryStorage],
    ["breaks one", ({ clients }: { clients: readonly Client[] }) => emptyStorage(clients)],
  ])("closes what it has opened once for each rule, when the storage %s", async (_, newStorage) => {
    const close = jest.fn(async () => undefined);
    const rules = collectRules({ open: async (asked) => ({ storage: newStorage(asked), close }) });
    await Promise.allSettled(rules.map(({ run }) => run()));
    expect(close).toHaveBeenCalledTimes(rules.length);
  });

  it("rejects when the storage cannot be opened or closed", async () => {
    const error = new Error("no such host");
    const unopened = collectRules({ open: () => Promise.reject(error) });
    const unclosed = collectRules({
      open: async (asked) => ({ ...(await openMemory(asked)), close: () => Promise.reject(error) }),
    });
    for (const rules of [unopened, unclosed]) await expect(rules[0]?.run()).rejects.toBe(error);
  });
});
