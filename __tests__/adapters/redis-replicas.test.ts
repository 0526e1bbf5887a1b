import { Redis } from "ioredis";
import { createClient, createClientPool, createCluster, createSentinel } from "redis";
import { clientEndKey } from "../../lib/protocol/end-mark";
import { redisStorage, type RedisStorage, type RedisStorageOptions } from "../../lib/redis";
import {
  newAccessToken,
  newAssertion,
  newAuthorization,
  newCode,
  newConsent,
  newDeviceRequest,
  newDigest,
  newEndMark,
  newId,
  newParkedRequest,
  newRefreshToken,
  newRegistration,
} from "../../lib/testing/contract/records";
import { confidentialRecord } from "../records/records";
import { type ReplicatedRedis, startReplicatedRedis } from "../servers/redis-replication";
import { askRedis, redis, redisClient } from "../servers/redis-server";
import { expectJourney, type NodeClient, now, recording, type Sender, spa } from "../servers/redis-storage";
import { describeWith } from "../servers/server-process";

/** A server with a replica, and clients of it that end with the test. */
interface Bed extends ReplicatedRedis {
  readonly connect: () => Promise<NodeClient>;
  readonly ioRedis: () => Redis;
}

function openBed(): () => Bed {
  let replicated: ReplicatedRedis;
  const clients: NodeClient[] = [];
  const ioClients: Redis[] = [];

  beforeAll(async () => {
    replicated = await startReplicatedRedis();
  });
  beforeEach(() => replicated.untilLinked());
  // a connection that the server ends keeps a timer of ioredis for two seconds, and with it Jest
  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    for (const client of ioClients.splice(0)) await client.quit();
  });
  afterAll(() => replicated.close());

  return () => ({
    ...replicated,
    async connect() {
      const client = await redisClient(replicated.server.url);
      clients.push(client);
      return client;
    },
    ioRedis() {
      const client = new Redis(replicated.server.port, "127.0.0.1");
      client.on("error", () => undefined);
      ioClients.push(client);
      return client;
    },
  });
}

/** The same client, whose server says that it is no replica. */
function promoted(client: Sender): Sender {
  return {
    sendCommand: (args) =>
      args[0] === "INFO" ? Promise.resolve("role:master\nmaxmemory:0") : client.sendCommand(args),
  };
}

/** A record of each kind that can be spent or revoked, and how that is done, each by a connection of its own. */
async function given({ connect }: Bed) {
  const own = redisStorage({ client: await connect() });
  const { clients, consents, authorizations, authorizationCodes, refreshTokens } = own;
  const [code, from, token] = [newCode(now), newRefreshToken(now), newAccessToken(now)];
  const [one, other, erased] = [newAuthorization(now), newAuthorization(now), newAuthorization(now)];
  const consent = newConsent(now);
  await clients.save(spa);
  await authorizationCodes.create(code, now);
  await refreshTokens.create(from, now);
  await authorizations.create(one, now);
  await authorizations.create(other, now);
  await authorizations.create(erased, now);
  const [assertion, registration] = [newAssertion(now), newRegistration(now)];
  const { clientId } = registration.client;
  const [request, device] = [newParkedRequest(now), newDeviceRequest(now)];
  const denial = { key: device.key, as: "denied", by: newId() } as const;
  await own.parkedRequests.create(device, { limit: 1, now });
  await consents.save(consent, now);
  await own.clientRegistrations.create(registration, { limit: 100, now });
  const to = { ...from, digest: newDigest() };
  const spending: Readonly<Record<string, (storage: RedisStorage) => Promise<unknown>>> = {
    consume: (storage) => storage.authorizationCodes.consume(code, now),
    rotate: (storage) => storage.refreshTokens.rotate({ from, to }, now),
    revoke: (storage) => storage.authorizations.revoke(one.authorizationId, now),
    revokeAll: (storage) => storage.authorizations.revokeAll(other, now),
    revokeAccessToken: (storage) => storage.accessTokens.revoke(token, now),
    erase: (storage) => storage.authorizations.erase({ subject: erased.subject }, now),
    createAuthorization: (storage) => storage.authorizations.create(newAuthorization(now), now),
    saveClient: (storage) => storage.clients.save(confidentialRecord()),
    deleteClient: (storage) => storage.clients.delete(spa.clientId),
    deleteUnknownClient: (storage) => storage.clients.delete("a client"),
    saveEndMark: (storage) => storage.endMarks.save(newEndMark(now), now),
    saveConsent: (storage) => storage.consents.save(newConsent(now), now),
    deleteConsent: (storage) => storage.consents.delete({ selection: consent, exceptEndMark: "a mark" }, now),
    useAssertion: ({ clientAssertions }) => clientAssertions.use(assertion, now),
    parkRequest: ({ parkedRequests }) => parkedRequests.create(request, { now }),
    closeRequest: ({ parkedRequests }) => parkedRequests.close(denial, now),
    createRegistration: ({ clientRegistrations }) =>
      clientRegistrations.create(newRegistration(now), { limit: 100, now }),
    extendRegistration: ({ clientRegistrations }) =>
      clientRegistrations.extend({ clientId, expiresAt: now + 900 }, now),
  };
  return {
    code,
    from,
    to,
    token,
    one,
    other,
    erased,
    consent,
    assertion,
    request,
    denial,
    clientId,
    spending,
  };
}

/** What the server is sent while this runs: the name of each command, and the connection that it came by. */
async function watched(
  { server }: Bed,
  run: () => Promise<unknown>,
): Promise<readonly (readonly string[])[]> {
  const watcher = await redisClient(server.url);
  const seen: (readonly string[])[] = [];
  await watcher.monitor((line) => {
    const [, from = "", name = ""] = /\[\d+ (\S+)\] "(\w+)"/.exec(line) ?? [];
    if (from !== "lua") seen.push([from, name]);
  });
  await run();
  await askRedis(server.url, (client) => client.sendCommand(["ECHO", "end"]));
  while (seen.at(-1)?.[1] !== "ECHO") await new Promise(setImmediate);
  watcher.destroy();
  return seen;
}

function waitedFor(bed: () => Bed): void {
  it.each(["redis", "ioredis"])(
    "are waited for by each single use and each revocation, on the connection of its write: %s",
    async (library) => {
      const { connect, ioRedis } = bed();
      const { spending } = await given(bed());
      const client = library === "redis" ? await connect() : ioRedis();
      for (const [name, spend] of Object.entries(spending)) {
        const seen = await watched(bed(), () =>
          spend(redisStorage({ client, replicas: 1, allowEviction: true })),
        );
        const other: Readonly<Record<string, string>> = {
          revokeAccessToken: "SET",
          saveEndMark: "SET",
          useAssertion: "SET",
          saveClient: "ZADD",
          deleteClient: "SET",
          erase: "DEL",
        };
        const sent = other[name] ?? "EVAL";
        const written = seen.findIndex(([, command]) => command === sent);
        const [write, wait] = seen.slice(written, written + 2);
        const [connection] = write ?? [];
        expect([name, write, wait]).toEqual([name, [connection, sent], [connection, "WAIT"]]);
      }
    },
  );

  it("are not waited for when none are asked for", async () => {
    const { connect } = bed();
    const recorder = recording(await connect());
    await expectJourney(recorder);
    expect(recorder.commands.map(([name]) => name)).not.toContain("WAIT");
  });
}

function acknowledged(bed: () => Bed): void {
  it("have what was acknowledged", async () => {
    const { connect, replica } = bed();
    const { spending, code, from, to, token, one, other, erased, consent, ...rest } = await given(bed());
    const { assertion, request, denial, clientId } = rest;
    const storage = redisStorage({ client: await connect(), replicas: 1 });
    for (const spend of Object.values(spending)) await spend(storage);
    await askRedis(replica.url, async (client) => {
      const copy = redisStorage({ client: promoted(client) });
      expect(await copy.authorizationCodes.find(code, now)).toMatchObject({ consumed: true });
      expect(await copy.refreshTokens.find(from, now)).toMatchObject({ used: true });
      expect(await copy.refreshTokens.find(to, now)).toEqual(to);
      expect(await copy.accessTokens.isRevoked(token.tokenId, now)).toBe(true);
      for (const { authorizationId } of [one, other]) {
        expect(await copy.authorizations.find(authorizationId, now)).toMatchObject({ revoked: true });
      }
      expect(await copy.authorizations.find(erased.authorizationId, now)).toBeUndefined();
      expect(await copy.consents.find(consent, now)).toBeUndefined();
      expect(await copy.clientRegistrations.find(clientId, now + 899)).toBeDefined();
      expect(await copy.parkedRequests.find(request.key, now)).toMatchObject({ by: request.by });
      expect(await copy.parkedRequests.find(denial.key, now)).toMatchObject({
        state: "denied",
        by: denial.by,
      });
      expect(await copy.clients.find(spa.clientId)).toBeUndefined();
      expect(await copy.endMarks.find([clientEndKey(spa.clientId)], now)).toEqual([expect.any(String)]);
      expect(await client.sendCommand(["EXISTS", `authmount:assertion:${assertion.digest}`])).toBe(1);
    });
  });

  it("fail the call when they are gone, and nothing can be used twice", async () => {
    const { connect, replica } = bed();
    const { spending, code, from, to, token, one, other, assertion, request, denial } = await given(bed());
    await replica.stop("SIGKILL");
    try {
      const spent = Object.values(spending).map(async (spend) =>
        spend(redisStorage({ client: await connect(), replicas: 1 })).then(
          () => "acknowledged",
          (error: Error) => error.message,
        ),
      );
      expect(new Set(await Promise.all(spent))).toEqual(
        new Set([
          "redisStorage: only 0 of 1 replicas have the write. Check that the replicas are connected.",
        ]),
      );
      const storage = redisStorage({ client: await connect() });
      expect(await storage.authorizationCodes.consume(code, now)).toBe("not-consumed");
      expect(await storage.refreshTokens.rotate({ from, to: { ...to, digest: newDigest() } }, now)).toBe(
        "not-rotated",
      );
      expect(await storage.accessTokens.isRevoked(token.tokenId, now)).toBe(true);
      expect(await storage.clientAssertions.use(assertion, now)).toBe("used-before");
      expect(await storage.parkedRequests.create({ ...request, by: newDigest() }, { now })).toBe("taken");
      expect(await storage.parkedRequests.find(request.key, now)).toMatchObject({ by: request.by });
      expect(await storage.parkedRequests.close({ ...denial, as: "approved" }, now)).toBe("not-open");
      for (const { authorizationId } of [one, other]) {
        expect(await storage.authorizations.find(authorizationId, now)).toMatchObject({ revoked: true });
      }
    } finally {
      // the next test waits for it
      await replica.start();
    }
  });
}

/** What this adds to what the server sends to its replicas, in bytes. */
async function propagated({ server }: Bed, run: () => Promise<unknown>): Promise<number> {
  const offset = (): Promise<number> =>
    askRedis(server.url, async (client) => {
      const info = String(await client.sendCommand(["INFO", "replication"]));
      return Number(/^master_repl_offset:(\d+)/m.exec(info)?.[1]);
    });
  const before = await offset();
  await run();
  return (await offset()) - before;
}

function repeated(bed: () => Bed): void {
  it("a repeated revocation waits for the replicas, over a new connection too", async () => {
    const { connect, whileStalled } = bed();
    const { spending } = await given(bed());
    const calls = Object.entries(spending).filter(([name]) =>
      /^(?:revoke|delete(?:Unknown)?Client)/.test(name),
    );
    const plain = redisStorage({ client: await connect() });
    for (const [, call] of calls) await call(plain);
    // a server sends PING to its replicas by itself, which has 14 bytes
    for (const [name, call] of calls)
      expect([name, (await propagated(bed(), () => call(plain))) > 50]).toEqual([name, true]);
    const anew = redisStorage({ client: await connect(), replicas: 1 });
    await whileStalled(async () => {
      await expect(spending["revoke"]?.(anew)).rejects.toMatchObject({ code: "redis-replicas-missing" });
    });
  });

  it("a rotation whose answer was lost waits for the replicas when it is sent again", async () => {
    const { connect, whileStalled } = bed();
    const plain = redisStorage({ client: await connect() });
    const from = newRefreshToken(now);
    const to = { ...from, digest: newDigest() };
    await plain.refreshTokens.create(from, now);
    const rotate = (storage: RedisStorage, successor = to) =>
      storage.refreshTokens.rotate({ from, to: successor }, now);
    expect(await rotate(plain)).toBe("rotated");
    expect(await propagated(bed(), () => rotate(plain))).toBeGreaterThan(50);
    expect(await plain.refreshTokens.find(to, now)).toEqual(to);
    const anew = redisStorage({ client: await connect(), replicas: 1 });
    await whileStalled(() => expect(rotate(anew)).rejects.toMatchObject({ code: "redis-replicas-missing" }));
    // so does one that comes late, and is told how the token was used
    const late = { ...to, digest: newDigest() };
    expect(await propagated(bed(), () => rotate(plain, late))).toBeGreaterThan(50);
    expect(await plain.refreshTokens.find(from, now)).toMatchObject({ used: true });
  });
}

function parked(bed: () => Bed): void {
  it("an answer to a pushed request waits for the replicas again: who has given it may go on", async () => {
    const { connect, whileStalled } = bed();
    const storage = redisStorage({ client: await connect(), replicas: 1 });
    const request = newParkedRequest(now);
    await storage.parkedRequests.create(newParkedRequest(now), { now });
    await whileStalled(async () => {
      await expect(storage.parkedRequests.create(request, { now })).rejects.toMatchObject({
        code: "redis-replicas-missing",
      });
      const anew = redisStorage({ client: await connect(), replicas: 1 });
      await expect(anew.parkedRequests.create(request, { now })).rejects.toMatchObject({
        code: "redis-replicas-missing",
      });
    });
    const plain = redisStorage({ client: await connect() });
    expect(await plain.parkedRequests.create(request, { now })).toBe("taken");
    expect(await propagated(bed(), () => plain.parkedRequests.create(request, { now }))).toBeGreaterThan(50);
    expect(await plain.parkedRequests.find(request.key, now)).toMatchObject({ by: request.by });
  });

  it("an answer to a device waits for the replicas again, also one that comes late", async () => {
    const { connect, whileStalled } = bed();
    const [plain, own, anew] = [
      redisStorage({ client: await connect() }),
      redisStorage({ client: await connect(), replicas: 1 }),
      redisStorage({ client: await connect(), replicas: 1 }),
    ];
    const { key } = newDeviceRequest(now);
    await own.parkedRequests.create(newDeviceRequest(now, { key }), { limit: 1, now });
    const close = ({ parkedRequests }: RedisStorage) =>
      parkedRequests.close({ key, as: "approved", by: "an answer" }, now);
    await whileStalled(async () => {
      for (const storage of [own, anew])
        await expect(close(storage)).rejects.toMatchObject({ code: "redis-replicas-missing" });
    });
    expect(await close(plain)).toBe("not-open");
    expect(await propagated(bed(), () => close(plain))).toBeGreaterThan(50);
    expect(await plain.parkedRequests.find(key, now)).toMatchObject({ state: "approved", by: "an answer" });
  });
}

function narrowed(bed: () => Bed): void {
  it("a consent that was narrowed waits for the replicas", async () => {
    const { connect, whileStalled, replica } = bed();
    const storage = redisStorage({ client: await connect(), replicas: 1 });
    const wide = newConsent(now);
    const narrow = { ...wide, scopes: ["orders:read"] };
    await storage.consents.save(wide, now);
    await whileStalled(() =>
      expect(storage.consents.save(narrow, now)).rejects.toMatchObject({ code: "redis-replicas-missing" }),
    );
    let isSaved = false;
    while (!isSaved)
      isSaved = await storage.consents.save(narrow, now).then(
        () => true,
        () => false,
      );
    await askRedis(replica.url, async (client) => {
      expect(await redisStorage({ client: promoted(client) }).consents.find(wide, now)).toEqual(narrow);
    });
  });
}

function standingStill(bed: () => Bed): void {
  it.each(["redis", "ioredis"])("that stand still keep no read from its answer: %s", async (library) => {
    const { connect, ioRedis, whileStalled } = bed();
    const { token } = await given(bed());
    const storage = redisStorage({ client: library === "redis" ? await connect() : ioRedis(), replicas: 1 });
    await storage.accessTokens.revoke(token, now);
    const order: string[] = [];
    await whileStalled(async () => {
      const writes = Array.from({ length: 12 }, async () => {
        await expect(storage.accessTokens.revoke(newAccessToken(now), now)).rejects.toMatchObject({
          code: expect.stringMatching(/^redis-replicas-(?:missing|behind)$/),
        });
        order.push("write");
      });
      expect(await storage.accessTokens.isRevoked(token.tokenId, now)).toBe(true);
      order.push("read");
      await Promise.all(writes);
    });
    expect([order[0], order.length]).toEqual(["read", 13]);
  });

  it("that stand still cost one single use at the most: the next ones are not done, and can be repeated", async () => {
    const { connect, whileStalled } = bed();
    const storage = redisStorage({ client: await connect(), replicas: 1 });
    const code = newCode(now);
    await storage.authorizationCodes.create(code, now);
    await storage.accessTokens.revoke(newAccessToken(now), now);
    await whileStalled(async () => {
      await expect(storage.accessTokens.revoke(newAccessToken(now), now)).rejects.toMatchObject({
        code: "redis-replicas-missing",
      });
      await expect(storage.authorizationCodes.consume(code, now)).rejects.toMatchObject({
        code: "redis-replicas-behind",
      });
      expect(await storage.authorizationCodes.find(code, now)).toMatchObject({ consumed: false });
    });
    let outcome: unknown;
    while (outcome === undefined)
      outcome = await storage.authorizationCodes.consume(code, now).catch(() => undefined);
    expect(outcome).toBe("consumed");
  });

  it("that stand still are waited for twice at the most, however many writes there are", async () => {
    const { connect, whileStalled } = bed();
    const storage = redisStorage({ client: await connect(), replicas: 1, allowEviction: true });
    await storage.accessTokens.revoke(newAccessToken(now), now);
    const seen = await whileStalled(() =>
      watched(bed(), () =>
        Promise.allSettled(
          Array.from({ length: 100 }, () => storage.accessTokens.revoke(newAccessToken(now), now)),
        ),
      ),
    );
    const waits = seen.filter(([, command]) => command === "WAIT").length;
    expect(waits).toBeLessThanOrEqual(2);
  });
}

function ownConnections(bed: () => Bed): void {
  it("are waited for again by a new connection when the storage's own was lost", async () => {
    const { connect, server } = bed();
    const storage = redisStorage({ client: await connect(), replicas: 1 });
    const [one, other] = [newAccessToken(now), newAccessToken(now)];
    await storage.accessTokens.revoke(one, now);
    await askRedis(server.url, (client) => client.sendCommand(["CLIENT", "KILL", "TYPE", "normal"]));
    await storage.accessTokens.revoke(other, now).catch(() => undefined);
    await storage.accessTokens.revoke(other, now);
    expect(await storage.accessTokens.isRevoked(other.tokenId, now)).toBe(true);
  });

  it.each(["redis", "ioredis"])(
    "are waited for on a connection that ends with the client: %s",
    async (library) => {
      const { server } = bed();
      const ours = `ours-${library}`;
      const client =
        library === "redis"
          ? await createClient({ url: server.url, name: ours }).connect()
          : new Redis(server.port, "127.0.0.1", { connectionName: ours });
      await redisStorage({ client, replicas: 1 }).accessTokens.revoke(newAccessToken(now), now);
      const connections = () =>
        askRedis(server.url, async (asking) =>
          String(await asking.sendCommand(["CLIENT", "LIST"])).split(`name=${ours} `),
        );
      expect(await connections()).toHaveLength(3);
      if ("destroy" in client) client.destroy();
      else client.disconnect();
      while ((await connections()).length > 1) await new Promise(setImmediate);
    },
  );
}

const refused = (client: unknown) => () => redisStorage({ client, replicas: 1 } as RedisStorageOptions);

describe("redisStorage: replicas that could not be waited for (RFC 6749 §4.1.2, 9700 §4.14.2)", () => {
  const sentinel = createSentinel({ name: "mymaster", sentinelRootNodes: [{ host: "127.0.0.1", port: 1 }] });
  const pool = createClientPool({ url: "redis://127.0.0.1:1" });
  const single = createClient({ url: "redis://127.0.0.1:1" });

  it.each([
    ["a pool, which sends WAIT on any connection", pool],
    ["the pool of a client", single.createPool()],
    ["a Sentinel client of redis, which is a pool", sentinel],
    ["a wrapper, of which nobody knows", { sendCommand: (args: string[]) => pool.sendCommand(args) }],
  ])("are refused with %s, with an error that says what to use", (_what, client) => {
    expect(refused(client)).toThrow(TypeError);
    expect(refused(client)).toThrow(expect.objectContaining({ code: "redis-replicas-of-many-connections" }));
  });

  it.each([
    ["createClient()", single],
    ["a client with other options for its commands", single.withTypeMapping({})],
    ["createCluster()", createCluster({ rootNodes: [] })],
    ["new Redis()", new Redis({ lazyConnect: true })],
  ])("are taken with %s", (_what, client) => {
    expect(refused(client)).not.toThrow();
  });

  it("are no concern of a pool without replicas", () => {
    expect(() => redisStorage({ client: pool })).not.toThrow();
  });
});

describeWith(redis, {
  name: "redisStorage: replicas (RFC 6749 §4.1.2, 9700 §4.14.2)",
  tests() {
    const bed = openBed();
    waitedFor(bed);
    acknowledged(bed);
    repeated(bed);
    parked(bed);
    narrowed(bed);
    standingStill(bed);
    ownConnections(bed);
  },
});
