// A client repeats a refresh because its answer was lost, or because several of its tabs share a token. That costs no session where
// the host allows it. The thief of a refresh token can repeat it too: they stay unnoticed for one cycle at most.
import { type AuthServerOptions, memoryStorage, type Storage } from "../../lib";
import { mysqlStorage } from "../../lib/mysql";
import { postgresStorage } from "../../lib/postgres";
import { redisStorage } from "../../lib/redis";
import { sqliteStorage } from "../../lib/sqlite";
import { type Pair, pairPath } from "../hosts/apis";
import { type ClientName, clients, credentials } from "../hosts/clients";
import { type Clock, stopClock } from "../hosts/clock";
import { type CutPoint, type CutProxy, startCutProxy } from "../servers/cut-proxy";
import { testHost, type TestHost } from "../hosts/host";
import { obtainTokens } from "../browser/journey";
import { newLatch } from "../storage/latch";
import { type Answer, listen, type ListeningApp, sendTo } from "../hosts/listening";
import { mariadb, startMariadb } from "../servers/mariadb-server";
import { postgres, startPostgres } from "../servers/postgres-server";
import { redis, redisClient, startRedis } from "../servers/redis-server";
import { describeWith } from "../servers/server-process";
import { intercept } from "../storage/slow-storage";
import { drivers, newFile } from "../servers/sqlite-files";
import type { TokenBody } from "../requests/token-requests";

const simultaneous = 64;
const windowSeconds = 10;

interface OpenStorage {
  readonly storage: Storage;
  close(): Promise<void>;
}

interface Engine {
  readonly name: string;
  readonly found: boolean;
  open(): Promise<OpenStorage>;
}

const everyClient = Object.values(clients);

const engines: readonly Engine[] = [
  {
    name: "memory",
    found: true,
    open: async () => ({ storage: memoryStorage({ clients: everyClient }), close: async () => undefined }),
  },
  {
    ...postgres,
    async open() {
      const server = await startPostgres(["synchronous_commit=off"]);
      const storage = postgresStorage({ pool: server.pool({ max: 16 }) });
      await storage.migrate();
      for (const client of everyClient) await storage.clients.save(client);
      return { storage, close: () => server.close() };
    },
  },
  {
    ...mariadb,
    async open() {
      const server = await startMariadb();
      const storage = mysqlStorage({ pool: server.pool({ connectionLimit: 16 }) });
      await storage.migrate();
      for (const client of everyClient) await storage.clients.save(client);
      return { storage, close: () => server.close() };
    },
  },
  {
    ...redis,
    async open() {
      const server = await startRedis(["--appendfsync", "no"]);
      const client = await redisClient(server.url);
      const storage = redisStorage({ client });
      for (const each of everyClient) await storage.clients.save(each);
      return {
        storage,
        async close() {
          client.destroy();
          await server.close();
        },
      };
    },
  },
  {
    name: "SQLite",
    found: drivers.length > 0,
    async open() {
      const storage = sqliteStorage({ file: newFile() });
      await storage.migrate();
      for (const each of everyClient) await storage.clients.save(each);
      return { storage, close: () => storage.close() };
    },
  },
];

/** Servers with the same storage and secrets, each on a port of its own. */
interface Place {
  readonly host: TestHost;
  readonly hosts: readonly TestHost[];
  readonly apps: readonly ListeningApp[];
}

interface Holder {
  readonly client?: ClientName;
  readonly pair?: Pair;
}

function refreshing(refreshToken: string, { client = "web", pair = {} }: Holder = {}) {
  const form = { grant_type: "refresh_token", ...credentials(client), refresh_token: refreshToken };
  return { path: `${pairPath(pair)}/token`, form };
}

async function post({ apps }: Place, refreshToken: string, holder: Holder & { at?: number } = {}) {
  const app = apps[holder.at ?? 0];
  if (!app) throw new Error("no server");
  return app.send(refreshing(refreshToken, holder));
}

function tokensOf({ status, body }: Answer): TokenBody {
  expect({ status, body }).toMatchObject({ status: 200, body: { refresh_token: expect.any(String) } });
  return body as unknown as TokenBody;
}

const isRefused = ({ status, body }: Answer): boolean => status === 400 && body["error"] === "invalid_grant";

async function works({ apps }: Place, accessToken: string, { api = "orders" }: Pair = {}): Promise<boolean> {
  const headers = { Authorization: `Bearer ${accessToken}` };
  return (await apps[0]?.send({ path: `/${api}`, headers }))?.status === 200;
}

const kindsOf = ({ hosts }: Place): readonly string[] =>
  hosts.flatMap(({ events }) => events.map(({ kind }) => kind));

const countOf = (kinds: readonly string[], kind: string): number =>
  kinds.filter((each) => each === kind).length;

/** Nothing of these works any more, and the host was told why. */
async function expectEnded(place: Place, ...families: readonly TokenBody[]): Promise<void> {
  expect(kindsOf(place)).toContain("replay-detected");
  for (const { access_token, refresh_token } of families) {
    expect(await works(place, access_token)).toBe(false);
    expect(isRefused(await post(place, refresh_token))).toBe(true);
  }
}

const familyAt = async ({ host }: Place, { client = "web", pair = {} }: Holder = {}): Promise<TokenBody> =>
  (await obtainTokens(host, { client, pair })) as TokenBody;

/** All of them at once, in turns over the servers. */
async function race(place: Place, refreshToken: string, holder: Holder): Promise<readonly Answer[]> {
  const requests = Array.from({ length: simultaneous }, (_, index) =>
    post(place, refreshToken, { ...holder, at: index % place.apps.length }),
  );
  return Promise.all(requests);
}

/** Every answer has the same successor and an access token of its own that works, and nothing is revoked. */
async function expectOneSuccessor(
  place: Place,
  { answers, pair }: { answers: readonly Answer[]; pair: Pair },
) {
  const bodies = answers.map(tokensOf);
  const [successor = "", ...others] = new Set(bodies.map(({ refresh_token }) => refresh_token));
  expect(others).toEqual([]);
  const accessTokens = new Set(bodies.map(({ access_token }) => access_token));
  expect(accessTokens.size).toBe(simultaneous);
  for (const token of accessTokens) expect(await works(place, token, pair)).toBe(true);
  return successor;
}

let proxy: CutProxy | undefined;

/** The first request through a proxy, which is cut there. */
async function cutAt(place: Place, { point, refreshToken }: { point: CutPoint; refreshToken: string }) {
  proxy = await startCutProxy(place.apps[0]?.port ?? 0);
  proxy.cutNext(point);
  await expect(sendTo(proxy.port, refreshing(refreshToken))).rejects.toThrow();
  expect(proxy.cuts()).toBe(1);
  return proxy.port;
}

const holders = [
  ["web", "JWT", {}],
  ["native", "opaque", { api: "reports" }],
] as const;

function retries(engine: Engine): void {
  let opened: OpenStorage;
  let clock: Clock;
  let apps: ListeningApp[] = [];

  beforeAll(async () => {
    opened = await engine.open();
  });
  afterAll(() => opened.close());
  // Redis has a clock of its own
  beforeEach(() => void (clock = stopClock(Math.floor(Date.now() / 1000))));
  afterEach(async () => {
    jest.restoreAllMocks();
    await proxy?.close();
    proxy = undefined;
    await Promise.all(apps.map((app) => app.close()));
    apps = [];
  });

  async function open(
    options: Partial<AuthServerOptions> = {},
    storages: readonly Storage[] = [opened.storage],
  ): Promise<Place> {
    const hosts = storages.map((storage) =>
      testHost({
        revocationLagSeconds: 0,
        lifetimes: { refreshRetrySeconds: windowSeconds },
        ...options,
        storage,
      }),
    );
    apps = await Promise.all(hosts.map(({ app }) => listen(app)));
    const [host] = hosts;
    if (!host) throw new Error("no storage");
    return { host, hosts, apps };
  }

  describe("simultaneous refreshes with one token", () => {
    it.each(holders)(
      `of %s, %s, ${simultaneous} of them: one successor, every answer usable, nothing revoked`,
      async (client, _format, pair) => {
        const place = await open();
        const first = await familyAt(place, { client, pair });
        const answers = await race(place, first.refresh_token, { client, pair });
        const successor = await expectOneSuccessor(place, { answers, pair });
        const kinds = kindsOf(place);
        expect(countOf(kinds, "token-refreshed")).toBe(1);
        expect(countOf(kinds, "refresh-retried")).toBe(simultaneous - 1);
        expect(countOf(kinds, "replay-detected")).toBe(0);
        const next = tokensOf(await post(place, successor, { client, pair }));
        expect(next.refresh_token).not.toBe(successor);
        expect(await works(place, next.access_token, pair)).toBe(true);
        // the successor's first use ends the retries of the token before it
        expect(isRefused(await post(place, first.refresh_token, { client, pair }))).toBe(true);
      },
    );

    it.each(holders)(
      "of %s, %s, that reach the compare-and-set together, over two servers: the same",
      async (client, _format, pair) => {
        let arrived = 0;
        const all = newLatch();
        const gate = intercept(opened.storage, async (name, call) => {
          if (name === "refreshTokens.rotate") {
            arrived += 1;
            if (arrived === simultaneous) all.open();
            await all.opened;
          }
          return call();
        });
        const place = await open({}, [gate, gate]);
        const first = await familyAt(place, { client, pair });
        const answers = await race(place, first.refresh_token, { client, pair });
        expect(arrived).toBe(simultaneous);
        const successor = await expectOneSuccessor(place, { answers, pair });
        expect(countOf(kindsOf(place), "replay-detected")).toBe(0);
        tokensOf(await post(place, successor, { client, pair, at: 1 }));
      },
    );

    it("without the option: one success at most, and the family ends", async () => {
      const place = await open({ lifetimes: { refreshRetrySeconds: 0 } });
      const first = await familyAt(place);
      const answers = await race(place, first.refresh_token, {});
      const won = answers.filter(({ status }) => status === 200).map(tokensOf);
      expect(won).toHaveLength(1);
      expect(answers.filter(isRefused)).toHaveLength(simultaneous - 1);
      await expectEnded(place, first, ...won);
    });
  });

  describe("an answer that is lost on the wire", () => {
    const cutPoints: Record<string, CutPoint> = {
      "when the server answers": "answer",
      "in the middle of the answer": { afterBytes: 40 },
    };

    it.each(Object.entries(cutPoints))(
      "%s: the client repeats its request and goes on",
      async (_name, point) => {
        const place = await open();
        const { refresh_token: refreshToken } = await familyAt(place);
        const port = await cutAt(place, { point, refreshToken });
        expect(countOf(kindsOf(place), "token-refreshed")).toBe(1);
        const repeated = tokensOf(await sendTo(port, refreshing(refreshToken)));
        expect(kindsOf(place).at(-1)).toBe("refresh-retried");
        expect(await works(place, repeated.access_token)).toBe(true);
        const next = tokensOf(await sendTo(port, refreshing(repeated.refresh_token)));
        expect(await works(place, next.access_token)).toBe(true);
        expect(countOf(kindsOf(place), "replay-detected")).toBe(0);
      },
    );

    it("before the server has seen the request: the repeated one is the first", async () => {
      const place = await open();
      const { refresh_token: refreshToken } = await familyAt(place);
      const port = await cutAt(place, { point: "request", refreshToken });
      tokensOf(await sendTo(port, refreshing(refreshToken)));
      expect(kindsOf(place).at(-1)).toBe("token-refreshed");
    });

    it("without the option: the client's own repeat ends its session", async () => {
      const place = await open({ lifetimes: { refreshRetrySeconds: 0 } });
      const first = await familyAt(place);
      const port = await cutAt(place, { point: "answer", refreshToken: first.refresh_token });
      expect(isRefused(await sendTo(port, refreshing(first.refresh_token)))).toBe(true);
      await expectEnded(place, first);
    });
  });

  describe("a thief with a refresh token and every proof", () => {
    it("after the window ends the family", async () => {
      const place = await open();
      const stolen = await familyAt(place);
      const owner = tokensOf(await post(place, stolen.refresh_token));
      clock.advance(windowSeconds + 1);
      expect(isRefused(await post(place, stolen.refresh_token))).toBe(true);
      await expectEnded(place, owner, stolen);
    });

    it("who came first ends what they got when the owner comes after the window", async () => {
      const place = await open();
      const stolen = await familyAt(place);
      const thief = tokensOf(await post(place, stolen.refresh_token));
      clock.advance(windowSeconds + 1);
      expect(isRefused(await post(place, stolen.refresh_token))).toBe(true);
      await expectEnded(place, thief, stolen);
    });

    it("inside the window, after the successor was used, ends the family", async () => {
      const place = await open();
      const stolen = await familyAt(place);
      const owner = tokensOf(await post(place, stolen.refresh_token));
      const later = tokensOf(await post(place, owner.refresh_token));
      expect(isRefused(await post(place, stolen.refresh_token))).toBe(true);
      await expectEnded(place, owner, later, stolen);
    });

    it.each(["owner", "thief"] as const)(
      "inside the window, before the successor was used, gets it too and shows one cycle later: when both have used the successor, the %s first",
      async (whoIsFirst) => {
        const place = await open();
        const stolen = await familyAt(place);
        const owner = tokensOf(await post(place, stolen.refresh_token));
        clock.advance(windowSeconds);
        const thief = tokensOf(await post(place, stolen.refresh_token));
        expect(thief.refresh_token).toBe(owner.refresh_token);
        expect(countOf(kindsOf(place), "replay-detected")).toBe(0);
        const [one, other] = whoIsFirst === "owner" ? [owner, thief] : [thief, owner];
        const next = tokensOf(await post(place, one.refresh_token));
        clock.advance(windowSeconds + 1);
        expect(isRefused(await post(place, other.refresh_token))).toBe(true);
        await expectEnded(place, next, owner, thief, stolen);
      },
    );
  });
}

for (const engine of engines) {
  describeWith(engine, {
    name: `a lost answer of a refresh, over ${engine.name} (RFC 6749 §6, 9700 §4.14.2)`,
    tests: () => retries(engine),
  });
}
