/** A host whose real database is behind a proxy that cuts its connections or stands still, by each client that hosts use. */
import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";
import { Redis } from "ioredis";
import { Pool } from "pg";
import { createClient } from "redis";
import type { Response } from "supertest";
import type { Storage } from "../../lib";
import { type MysqlPool, mysqlStorage } from "../../lib/mysql";
import { type ClientRegistry, postgresStorage } from "../../lib/postgres";
import { redisStorage } from "../../lib/redis";
import { apis, type Pair } from "../../__tests__/hosts/apis";
import { codeVerifier } from "../../__tests__/browser/authorization-request";
import { clients, credentials } from "../../__tests__/hosts/clients";
import { type CutProxy, startCutProxy } from "../../__tests__/servers/cut-proxy";
import { type TestHost, testHost } from "../../__tests__/hosts/host";
import { callApi } from "../../__tests__/browser/journey";
import { driver, mariadb, startMariadb } from "../../__tests__/servers/mariadb-server";
import { postgres, startPostgres } from "../../__tests__/servers/postgres-server";
import { redis, startRedis } from "../../__tests__/servers/redis-server";
import { describeWith, type ServerProcess } from "../../__tests__/servers/server-process";
import { runBlock } from "../../__tests__/sources/doc-block";
import { intercept } from "../../__tests__/storage/slow-storage";

const limitMilliseconds = 5_000;

/** What a storage call is given by `shortenTimeLimit`. */
export const shortMilliseconds = 400;

/** Lets the five seconds of a storage call pass sooner, and every other time as it is. */
export function shortenTimeLimit(): void {
  const { setTimeout: begin } = globalThis;
  const beginShort = (callback: () => void, milliseconds?: number): NodeJS.Timeout =>
    begin(callback, milliseconds === limitMilliseconds ? shortMilliseconds : milliseconds);
  jest.spyOn(globalThis, "setTimeout").mockImplementation(beginShort);
}

/** A client of the database, as a host makes it, connected through the proxy. */
interface Connected {
  readonly storage: Storage & { readonly clients: ClientRegistry };
  /** The client's next connection is ready. */
  readonly reconnected: () => Promise<unknown>;
  readonly end: () => Promise<void>;
}

/** `careful` gives a silent connection up, and soon, for the test not to take long. */
type Settings = "patient" | "careful";

/** A database, and how a host connects to it. */
export interface Database {
  readonly name: string;
  readonly server: { readonly name: string; readonly found: boolean };
  start(): Promise<ServerProcess & { readonly port: number }>;
  connect(port: number, settings: Settings): Promise<Connected>;
}

/** A little more than the library gives a call, so that clients hear `temporarily_unavailable` first. */
const recommendedMilliseconds = 6_000;

const silenceMilliseconds = 600;

type Driver = ReturnType<typeof driver.createPool>;

const { inTime } = runBlock({ page: "storage-mysql.md", heading: "Silent connections" }, {}) as {
  readonly inTime: (pool: Driver, limitMilliseconds: number) => MysqlPool;
};

/** Each database by each client. */
export const databases: readonly Database[] = [
  {
    name: "PostgreSQL by pg",
    server: postgres,
    start: () => startPostgres(),
    async connect(port, settings) {
      const milliseconds = settings === "careful" ? silenceMilliseconds : recommendedMilliseconds;
      const pool = new Pool({
        host: "127.0.0.1",
        port,
        user: "postgres",
        database: "postgres",
        connectionTimeoutMillis: milliseconds,
        query_timeout: milliseconds,
      });
      pool.on("error", () => undefined);
      const storage = postgresStorage({ pool });
      await storage.migrate();
      // each statement has a limit of its own, and takes its connection along
      return { storage, reconnected: async () => undefined, end: () => pool.end() };
    },
  },
  {
    name: "MariaDB by mysql2",
    server: mariadb,
    start: () => startMariadb(),
    async connect(port, settings) {
      const pool = driver.createPool({ host: "127.0.0.1", port, user: "root", database: "test" });
      const storage = mysqlStorage({
        pool: settings === "careful" ? inTime(pool, silenceMilliseconds) : pool,
      });
      await storage.migrate();
      return { storage, reconnected: async () => undefined, end: () => pool.end().catch(() => undefined) };
    },
  },
  {
    name: "Redis by redis",
    server: redis,
    start: () => startRedis(),
    async connect(port, settings) {
      const url = `redis://127.0.0.1:${port}`;
      // its socketTimeout counts idle time too, which a ping ends, and by default closes the client for good
      const socket = { socketTimeout: silenceMilliseconds, reconnectStrategy: () => 50 };
      const careful = { pingInterval: silenceMilliseconds / 3, socket };
      const client = createClient({ url, ...(settings === "careful" && careful) });
      client.on("error", () => undefined);
      await client.connect();
      return {
        storage: redisStorage({ client }),
        reconnected: () => new Promise((resolve) => client.once("ready", resolve)),
        end: async () => client.destroy(),
      };
    },
  },
  {
    name: "Redis by ioredis",
    server: redis,
    start: () => startRedis(),
    async connect(port, settings) {
      const client = new Redis({
        port,
        // a command whose answer was lost fails then; by default it is sent again, and may do its work twice
        maxRetriesPerRequest: 0,
        ...(settings === "careful" && { socketTimeout: silenceMilliseconds }),
      });
      client.on("error", () => undefined);
      return {
        storage: redisStorage({ client }),
        reconnected: () => new Promise((resolve) => client.once("ready", resolve)),
        end: async () => client.disconnect(),
      };
    },
  },
];

/** The database, the proxy and the hosts. */
export interface Bed {
  readonly database: Database;
  readonly server: ServerProcess & { readonly port: number };
  readonly proxy: CutProxy;
  /** The calls of the host `serial` since they were emptied. */
  readonly calls: string[];
  /** Told of every call of `serial` before it is sent. */
  onCall: (index: number) => void;
  /** A host whose storage calls go one after the other, so that the next bytes are those of the next call. None of them is a step at once. */
  readonly serial: TestHost;
  /** The same with steps at once. */
  readonly stepping: TestHost;
  readonly host: TestHost;
  /** Told of every call of `host` before it is sent. */
  beforeCall: (name: string) => void;
  close(): Promise<void>;
}

/** Waits until a crashed server's children have let go of what the new one needs. */
export async function startAgain(server: ServerProcess): Promise<void> {
  for (;;) {
    try {
      await server.start();
      return;
    } catch {
      await delay(50);
    }
  }
}

function oneAfterTheOther(storage: Storage, before: (name: string) => void): Storage {
  let last: Promise<unknown> = Promise.resolve();
  return intercept(storage, (name, call) => {
    const turn = last.then(() => {
      before(name);
      return call();
    });
    last = turn.catch(() => undefined);
    return turn;
  });
}

const longLived = Object.fromEntries(
  Object.entries(apis).map(([apiId, api]) => [apiId, { ...api, accessTokenSeconds: 3_600 }]),
);

/** A host whose codes are not refused for their age. */
export const newHost = (storage: Storage): TestHost =>
  testHost({
    storage,
    revocationLagSeconds: 0,
    apis: longLived,
    // a code is not to be refused for its age
    lifetimes: { authorizationCodeSeconds: 600 },
  });

async function newBed(database: Database): Promise<Bed> {
  const server = await database.start();
  const proxy = await startCutProxy(server.port);
  const patient = await database.connect(proxy.port, "patient");
  for (const client of Object.values(clients))
    await patient.storage.clients.save({ ...client, trusted: true });
  const calls: string[] = [];
  const inTurn = (storage: Storage): TestHost =>
    newHost(
      oneAfterTheOther(storage, (name) => {
        bed.onCall(calls.length);
        calls.push(name);
      }),
    );
  const { atOnce: _, ...portByPort } = patient.storage;
  const bed: Bed = {
    database,
    server,
    proxy,
    calls,
    onCall: () => undefined,
    serial: inTurn(portByPort),
    stepping: inTurn(patient.storage),
    host: newHost(
      intercept(patient.storage, (name, call) => {
        bed.beforeCall(name);
        return call();
      }),
    ),
    beforeCall: () => undefined,
    async close() {
      proxy.thaw();
      // what waits for an answer fails now
      proxy.cutAll();
      await patient.end();
      await proxy.close();
      await server.close();
    },
  };
  return bed;
}

/** Asks until the answer is no failure of the database: it serves again by itself, without another pool or client. */
export async function untilServed(ask: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const response = await ask();
    if (response.status < 500) return response;
  }
}

/** The statuses of so many served answers. */
export async function servedStatuses(
  ask: () => Promise<Response>,
  times: number,
): Promise<readonly number[]> {
  const statuses: number[] = [];
  while (statuses.length < times) statuses.push((await untilServed(ask)).status);
  return statuses;
}

/** The pair whose access tokens are opaque: every one is looked up. */
export const opaque: Pair = { api: "reports" };

/** The events tell of failures and hold nothing that could be used. */
export function expectHarmless({ events }: TestHost, secrets: readonly string[]): void {
  expect(events.filter(({ kind }) => kind === "server-error")).not.toEqual([]);
  const written = inspect(events, {
    depth: 20,
    showHidden: true,
    maxArrayLength: 1_000,
    maxStringLength: 100_000,
  });
  const own = [codeVerifier, ...Object.values(credentials("web")), ...Object.values(credentials("machine"))];
  for (const secret of [...secrets, ...own.filter((value) => value.length > 20)]) {
    // a token may begin with an id that an event may name
    expect(written).not.toContain(secret.split(".").at(-1));
  }
}

/** True when the API takes the access token. */
export const isGood = async (host: TestHost, token: string, { api }: Pair = opaque): Promise<boolean> =>
  (await untilServed(() => callApi(host, `/${api}`, token))).status === 200;

/** Tests with a database of their own. */
export function describeDatabase(database: Database, tests: (bed: () => Bed) => void): void {
  describeWith(database.server, {
    name: database.name,
    tests() {
      let opened: Bed;
      beforeAll(async () => {
        opened = await newBed(database);
      });
      afterAll(() => opened.close());
      tests(() => opened);
    },
  });
}
