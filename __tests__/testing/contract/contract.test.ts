import { AssertionError } from "node:assert";
import { createClient } from "redis";
import { type Client, memoryStorage, type Storage } from "../../../lib";
import { type OpenStorage, storageContract } from "../../../lib/testing";
import { mariadb } from "../../servers/mariadb-server";
import { postgres } from "../../servers/postgres-server";
import { redis, redisClient, type RedisServer, startRedis } from "../../servers/redis-server";
import { describeWith, freePort } from "../../servers/server-process";
import { mariadbContract, postgresContract, redisContract } from "./on-servers";

describe("storage contract: memory (RFC 6749 §4.1.2, §10.5)", () => {
  storageContract({ test: it, open: async ({ clients }) => ({ storage: memoryStorage({ clients }) }) });
});

describeWith(postgres, {
  name: "storage contract: PostgreSQL (RFC 6749 §4.1.2, §10.5)",
  tests: () => postgresContract("read committed"),
});

describeWith(mariadb, {
  name: "storage contract: MariaDB (RFC 6749 §4.1.2, §10.5)",
  tests: mariadbContract,
});

describeWith(redis, {
  name: "storage contract: Redis (RFC 6749 §4.1.2, §10.5)",
  tests: () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await startRedis();
    });
    afterAll(() => server.close());

    redisContract({
      async connect() {
        const client = await redisClient(server.url);
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
  },
});

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

/** Lacks the port that may be left out. */
function withoutPort({ clients }: { clients: readonly Client[] }): Storage {
  const { parkedRequests: _, ...storage } = memoryStorage({ clients });
  return storage;
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

  it("lets a storage without parkedRequests pass the rules of that port, as their names say", async () => {
    const rules = collectRules({ open: async (asked) => ({ storage: withoutPort(asked) }) });
    const ofPort = rules.filter(({ name }) => name.endsWith("(or the storage has no parkedRequests)"));
    expect(ofPort.length).toBeGreaterThan(10);
    for (const { run } of ofPort) await run();
    const mixed = collectRules({
      open: async (asked) => ({ storage: memoryStorage(asked), peer: withoutPort(asked) }),
    });
    const one = mixed.find(({ name }) => name.startsWith("parkedRequests.create uses"));
    await expect(one?.run()).rejects.toThrow("its peer has none");
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
    ["clients.find returns a registered client, with every field", /clients\.find: nothing was found/],
    [
      "clients.isBrowserOrigin is true for each origin of a browser client",
      /isBrowserOrigin\("https:\/\/spa-/,
    ],
    [
      "authorizations.find returns what was stored, with every field",
      /authorizations\.find: nothing was found/,
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
