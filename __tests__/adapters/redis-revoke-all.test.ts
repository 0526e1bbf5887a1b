import type { Authorization } from "../../lib/protocol/authorization";
import type { ConsentKey } from "../../lib/protocol/consent";
import { redisStorage } from "../../lib/redis";
import { newAccessToken, newAuthorization, newId } from "../../lib/testing/contract/records";
import { writeRecord } from "../../lib/adapters/redis/records";
import {
  clusterWithReplicas,
  type ReplicatedRedis,
  startReplicatedRedis,
} from "../servers/redis-replication";
import { askRedis, redis, redisClient } from "../servers/redis-server";
import { now, recording, type Sender } from "../servers/redis-storage";
import { describeWith } from "../servers/server-process";
import { everythingUnderWay, newLatch } from "../storage/latch";

type Storage = ReturnType<typeof redisStorage>;

const many = 50_000;

interface Given {
  readonly key: ConsentKey;
  readonly authorizations: readonly Authorization[];
}

/** So many authorizations of one person, for one client, at one API: a hundred in each context, as more cannot live. */
async function given(storage: Storage, count: number): Promise<Given> {
  const key = { subject: newId(), clientId: "web", apiId: "orders" };
  const authorizations = Array.from({ length: count }, (_, index) =>
    newAuthorization(now, { ...key, context: { key: `${Math.floor(index / 100)}` } }),
  );
  await Promise.all(authorizations.map((one) => storage.authorizations.create(one, now)));
  return { key, authorizations };
}

/** The same at one server, written as the storage writes them. */
async function givenMany(client: Sender): Promise<Given> {
  const key = { subject: newId(), clientId: "web", apiId: "orders" };
  const authorizations = Array.from({ length: many }, () => newAuthorization(now, key));
  const records = authorizations.flatMap((one) => [
    `authmount:{${one.authorizationId}}`,
    writeRecord({ flag: false, record: { ...one, revoked: undefined } }),
  ]);
  const entries = authorizations.flatMap((one) => [String(one.expiresAt + 300), one.authorizationId]);
  await client.sendCommand(["MSET", ...records]);
  const index = `authmount:authorizations:${JSON.stringify(Object.values(key))}`;
  await client.sendCommand(["ZADD", index, ...entries]);
  return { key, authorizations };
}

async function living(storage: Storage, { authorizations }: Given): Promise<number> {
  let count = 0;
  // a client of redis gives up a command that waits for too long behind others
  for (let from = 0; from < authorizations.length; from += 1_000) {
    const some = authorizations.slice(from, from + 1_000);
    const found = await Promise.all(
      some.map(({ authorizationId }) => storage.authorizations.find(authorizationId, now)),
    );
    count += found.filter((one) => one?.revoked !== true).length;
  }
  return count;
}

function oneServer(): void {
  let replicated: ReplicatedRedis;
  let client: Awaited<ReturnType<typeof redisClient>>;

  beforeAll(async () => {
    // what the disk does is not asked for here
    replicated = await startReplicatedRedis(["--appendonly", "no"]);
    client = await redisClient(replicated.server.url);
  });
  afterAll(async () => {
    client.destroy();
    await replicated.close();
  });

  it.each([0, 1])("revokes 50,000 by a hundred scripts, with %s replicas", async (replicas) => {
    const those = await givenMany(client);
    const storage = redisStorage({ client, replicas });
    await client.sendCommand(["CONFIG", "RESETSTAT"]);
    expect(await storage.authorizations.revokeAll(those.key, now)).toBe(many);
    const stats = await client.sendCommand<string>(["INFO", "commandstats"]);
    expect(Number(/cmdstat_eval:calls=(\d+)/.exec(stats)?.[1])).toBe(many / 500);
    expect(await living(storage, those)).toBe(0);
    expect(await storage.authorizations.revokeAll(those.key, now)).toBe(0);
  });

  it("serves others between its batches", async () => {
    // of two answers that come in one piece, the first is heard before the second
    const inTurns: Sender = {
      async sendCommand(args) {
        const answer = await client.sendCommand(args);
        await new Promise(setImmediate);
        return answer;
      },
    };
    const recorder = recording(inTurns);
    const storage = redisStorage({ client: recorder, allowEviction: true });
    const { key } = await given(storage, 2_000);
    recorder.commands.length = 0;
    const isServed = async (): Promise<boolean> => storage.accessTokens.isRevoked("a", now);
    const all = storage.authorizations.revokeAll(key, now).then(() => "done");
    while ((await Promise.race([all, isServed()])) !== "done");
    const names = recorder.commands.map(([name]) => name).join(" ");
    expect(names.match(/EVAL/g)).toHaveLength(4);
    expect(names).not.toContain("EVAL EVAL");
  });

  it("takes scopes from all, also where one has failed, before it rejects", async () => {
    const { key, authorizations } = await given(redisStorage({ client }), 3);
    const [first, ...others] = authorizations.map(({ authorizationId }) => authorizationId) as [
      string,
      ...string[],
    ];
    const gate = newLatch();
    const faulty: Sender = {
      async sendCommand(args) {
        if (args[0] === "GET" && args[1]?.includes(first)) throw new Error("cut");
        if (args[0] === "GET" && others.some((id) => args[1]?.includes(id))) await gate.opened;
        return client.sendCommand(args);
      },
    };
    const storage = redisStorage({ client: faulty });
    let isSettled = false;
    const narrowing = storage.authorizations
      .narrowAll({ selection: key, scopes: ["orders:read"] }, now)
      .finally(() => (isSettled = true));
    narrowing.catch(() => undefined);
    await client.sendCommand(["PING"]);
    await everythingUnderWay();
    expect(isSettled).toBe(false);
    gate.open();
    await expect(narrowing).rejects.toThrow("cut");
    for (const id of others)
      expect(await redisStorage({ client }).authorizations.find(id, now)).toHaveProperty("approvedScopes");
  });

  it("needs few WAITs, whatever the number", async () => {
    const { key } = await given(redisStorage({ client }), 5_000);
    const storage = redisStorage({ client, replicas: 1 });
    await storage.accessTokens.revoke(newAccessToken(now), now);
    await client.sendCommand(["CONFIG", "RESETSTAT"]);
    expect(await storage.authorizations.revokeAll(key, now)).toBe(5_000);
    const stats = String(
      await askRedis(replicated.server.url, (asking) => asking.sendCommand(["INFO", "commandstats"])),
    );
    expect(Number(/cmdstat_wait:calls=(\d+)/.exec(stats)?.[1])).toBeLessThanOrEqual(20);
  });

  it("revokes all that were there when it began, whatever begins and ends meanwhile", async () => {
    const storage = redisStorage({ client, replicas: 1 });
    const those = await given(storage, 3_000);
    const { key, authorizations } = those;
    const ended = authorizations.slice(0, 100).map(({ authorizationId }) => authorizationId);
    const [count] = await Promise.all([
      storage.authorizations.revokeAll(key, now),
      ...ended.map((id) => storage.authorizations.revoke(id, now)),
      ...Array.from({ length: 100 }, () =>
        storage.authorizations.create(newAuthorization(now, { ...key, expiresAt: now + 1 }), now),
      ),
    ]);
    expect(await living(storage, those)).toBe(0);
    expect(count).toBeGreaterThanOrEqual(2_900);
  });

  it("can be called again after it failed half-way, and counts what is left", async () => {
    const those = await given(redisStorage({ client }), 1_200);
    const { key } = those;
    const scripts = { left: 1 };
    const failing = redisStorage({
      allowEviction: true,
      client: {
        async sendCommand(args: string[]) {
          if (args[0] === "EVAL" && (scripts.left -= 1) < 0) throw new Error("the connection was lost");
          return client.sendCommand(args);
        },
      },
    });
    await expect(failing.authorizations.revokeAll(key, now)).rejects.toThrow("the connection was lost");
    const storage = redisStorage({ client });
    expect(await storage.authorizations.revokeAll(key, now)).toBe(700);
    expect(await living(storage, those)).toBe(0);
  });
}

function inCluster(): void {
  const opened = clusterWithReplicas();

  it.each([0, 1])("revokes those of all masters, with %s replicas", async (replicas) => {
    const { client } = opened();
    const storage = redisStorage({ client, replicas });
    // created without waiting for replicas: that is not asked for here, and takes long on a busy machine
    const those = await given(redisStorage({ client }), 2_000);
    expect(await storage.authorizations.revokeAll(those.key, now)).toBe(2_000);
    expect(await living(storage, those)).toBe(0);
  });
}

describeWith(redis, { name: "redisStorage: revokeAll of many (RFC 7009 §2.1)", tests: oneServer });
describeWith(redis, {
  name: "redisStorage: revokeAll of many in a cluster (RFC 7009 §2.1)",
  tests: inCluster,
});
