/**
 * A real database whose connections break, which ends, crashes or stands still while requests are under way. With
 * `AUTHMOUNT_LONG=1` the random part runs for `AUTHMOUNT_LONG_SECONDS` (default 70) per client.
 */
import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";
import { Redis } from "ioredis";
import { Pool } from "pg";
import { createClient } from "redis";
import request, { type Response } from "supertest";
import type { Storage } from "../../lib";
import { type ClientRegistry, postgresStorage } from "../../lib/postgres";
import { redisStorage } from "../../lib/redis";
import { encode } from "../fixture/browser";
import { type CutPoint, type CutProxy, startCutProxy } from "../fixture/cut-proxy";
import {
  apis,
  clients,
  codeVerifier,
  credentials,
  type Pair,
  pairPath,
  type TestHost,
  testHost,
} from "../fixture/host";
import {
  authorize,
  callApi,
  obtainCode,
  obtainTokens,
  postToken,
  redeem,
  redirectParameters,
  refresh,
  type Tokens,
} from "../fixture/journey";
import { postgres, startPostgres } from "../fixture/postgres-server";
import { redis, startRedis } from "../fixture/redis-server";
import { describeWith, type ServerProcess } from "../fixture/server-process";
import { intercept } from "../fixture/slow-storage";

const limitMilliseconds = 5_000;
const shortMilliseconds = 400;

/** Lets the five seconds of a storage call pass sooner, and every other time as it is. */
function shortenTimeLimit(): void {
  const { setTimeout: begin } = globalThis;
  const beginShort = (callback: () => void, milliseconds?: number): NodeJS.Timeout =>
    begin(callback, milliseconds === limitMilliseconds ? shortMilliseconds : milliseconds);
  jest.spyOn(globalThis, "setTimeout").mockImplementation(beginShort);
}
afterEach(() => jest.restoreAllMocks());

/** A client of the database, as a host makes it, connected through the proxy. */
interface Connected {
  readonly storage: Storage & { readonly clients: ClientRegistry };
  /** The client's next connection is ready. */
  readonly reconnected: () => Promise<unknown>;
  readonly end: () => Promise<void>;
}

/** `careful` gives a silent connection up, and soon, for the test not to take long. */
type Settings = "patient" | "careful";

interface Database {
  readonly name: string;
  readonly server: { readonly name: string; readonly found: boolean };
  start(): Promise<ServerProcess & { readonly port: number }>;
  connect(port: number, settings: Settings): Promise<Connected>;
}

/** A little more than the library gives a call, so that clients hear `temporarily_unavailable` first. */
const recommendedMilliseconds = 6_000;
const silenceMilliseconds = 600;

const databases: readonly Database[] = [
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

interface Bed {
  readonly database: Database;
  readonly server: ServerProcess & { readonly port: number };
  readonly proxy: CutProxy;
  /** The calls of the host `serial` since they were emptied. */
  readonly calls: string[];
  /** Told of every call of `serial` before it is sent. */
  onCall: (index: number) => void;
  /** A host whose storage calls go one after the other, so that the next bytes are those of the next call. */
  readonly serial: TestHost;
  readonly host: TestHost;
  /** Told of every call of `host` before it is sent. */
  beforeCall: (name: string) => void;
  close(): Promise<void>;
}

/** Waits until a crashed server's children have let go of what the new one needs. */
async function startAgain(server: ServerProcess): Promise<void> {
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

const newHost = (storage: Storage): TestHost =>
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
  const bed: Bed = {
    database,
    server,
    proxy,
    calls,
    onCall: () => undefined,
    serial: newHost(
      oneAfterTheOther(patient.storage, (name) => {
        bed.onCall(calls.length);
        calls.push(name);
      }),
    ),
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
async function untilServed(ask: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const response = await ask();
    if (response.status < 500) return response;
  }
}

async function servedStatuses(ask: () => Promise<Response>, times: number): Promise<readonly number[]> {
  const statuses: number[] = [];
  while (statuses.length < times) statuses.push((await untilServed(ask)).status);
  return statuses;
}

const opaque: Pair = { api: "reports" };

/** Something that buys tokens once. */
interface Purchase {
  readonly attempt: () => Promise<Response>;
  readonly secrets: readonly string[];
  /** Tokens of the same family that were acknowledged before. */
  readonly family?: Tokens;
}

interface Journey {
  /** The storage calls of one attempt, in their order. */
  readonly calls: readonly string[];
  /** The call that spends the code or token. */
  readonly spends: string;
  readonly prepare: (host: TestHost) => Promise<Purchase>;
}

const codeJourney: Journey = {
  calls: [
    "clients.find",
    "authorizationCodes.find",
    "authorizations.find",
    "accessTokens.create",
    "refreshTokens.create",
    "authorizationCodes.consume",
  ],
  spends: "authorizationCodes.consume",
  async prepare(host) {
    const code = await obtainCode(host, { client: "web", pair: opaque });
    return { attempt: () => redeem(host, { client: "web", code, pair: opaque }), secrets: [code] };
  },
};

const refreshTokenJourney: Journey = {
  calls: [
    "clients.find",
    "refreshTokens.find",
    "authorizations.find",
    "accessTokens.create",
    "refreshTokens.rotate",
  ],
  spends: "refreshTokens.rotate",
  async prepare(host) {
    const family = await obtainTokens(host, { client: "native", pair: opaque });
    const { refresh_token: refreshToken = "" } = family;
    return {
      attempt: () => refresh(host, { client: "native", refreshToken, pair: opaque }),
      secrets: [refreshToken, family.access_token],
      family,
    };
  },
};

const journeys: Readonly<Record<string, Journey>> = {
  "a code": codeJourney,
  "a refresh token": refreshTokenJourney,
};

const points: readonly (readonly [string, CutPoint])[] = [
  ["before the database has it", "request"],
  ["when it is done, before its answer", "answer"],
  ["within its answer", { afterBytes: 2 }],
];

const rows = Object.entries(journeys).flatMap(([name, journey]) =>
  journey.calls.flatMap((call, index) =>
    points.map(([where, point]) => ({ name, journey, call, index, where, point })),
  ),
);

/** True when the cut at this call comes after the code or token was spent. */
function isSpent({ journey, index, point }: { journey: Journey; index: number; point: CutPoint }): boolean {
  const spending = journey.calls.indexOf(journey.spends);
  return point === "request" ? index > spending : index >= spending;
}

/** The events tell of failures and hold nothing that could be used. */
function expectHarmless({ events }: TestHost, secrets: readonly string[]): void {
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

const isGood = async (host: TestHost, token: string): Promise<boolean> =>
  (await untilServed(() => callApi(host, "/reports", token))).status === 200;

/** The attempt that is cut, and its answer. */
async function cutAttempt(
  bed: Bed,
  { journey, index, point }: { journey: Journey; index: number; point: CutPoint },
) {
  const { serial, proxy, calls } = bed;
  const purchase = await journey.prepare(serial);
  serial.events.length = 0;
  calls.length = 0;
  const cutsBefore = proxy.cuts();
  bed.onCall = (at) => void (at === index && proxy.cutNext(point));
  const response = await purchase.attempt();
  bed.onCall = () => undefined;
  expect(proxy.cuts()).toBe(cutsBefore + 1);
  return { ...purchase, response, host: serial };
}

function cutConnections(bed: () => Bed): void {
  it.each(Object.entries(journeys))(
    "is tried below in every call about %s",
    async (_, { calls, prepare }) => {
      const { serial, calls: made } = bed();
      const { attempt } = await prepare(serial);
      made.length = 0;
      expect((await attempt()).status).toBe(200);
      expect(made).toEqual(calls);
    },
  );

  // in one test, as each of them costs several requests
  it.each(rows)(
    "is a server_error, and lets $name buy once unless it was spent: $call ($index) is cut $where",
    async (row) => {
      const { host, attempt, family, response, secrets } = await cutAttempt(bed(), row);
      expect([response.status, response.body]).toMatchObject([500, { error: "server_error" }]);
      expectHarmless(host, secrets);
      if (family) expect(await isGood(host, family.access_token)).toBe(true);
      const retry = await untilServed(attempt);
      const { access_token: bought } = retry.body as Partial<Tokens>;
      expect(bought === undefined).toBe(isSpent(row));
      if (bought !== undefined) expect(await isGood(host, bought)).toBe(true);
      expect(await servedStatuses(attempt, 2)).toEqual([400, 400]);
    },
  );

  it("is harmless to idle connections: requests are served when all of them were cut", async () => {
    const { host, proxy } = bed();
    const { access_token: token } = await obtainTokens(host, { client: "web", pair: opaque });
    await Promise.all(Array.from({ length: 20 }, () => callApi(host, "/reports", token)));
    proxy.cutAll();
    expect(await isGood(host, token)).toBe(true);
  });
}

/** What was acknowledged before the database went away, and a code that was not yet exchanged. */
interface Held {
  readonly tokens: readonly {
    readonly client: "web" | "native";
    readonly pair: Pair;
    readonly tokens: Tokens;
  }[];
  readonly machine: string;
  readonly code: string;
}

async function hold(host: TestHost): Promise<Held> {
  const asked = [
    { client: "web", pair: { api: "orders" } },
    { client: "web", pair: opaque },
    { client: "native", pair: opaque },
  ] as const;
  const tokens = [];
  for (const each of asked) tokens.push({ ...each, tokens: await obtainTokens(host, each) });
  const fields = { grant_type: "client_credentials", ...credentials("web"), scope: "reports:read" };
  const machine = ((await postToken(host, { pair: opaque, fields })).body as Tokens).access_token;
  return { tokens, machine, code: await obtainCode(host, { client: "web", pair: opaque }) };
}

const secretsOf = ({ tokens, machine, code }: Held): string[] => [
  ...tokens.flatMap(({ tokens: each }) => [each.access_token, each.refresh_token ?? ""]),
  machine,
  code,
];

async function introspect(host: TestHost, { token, pair }: { token: string; pair: Pair }): Promise<Response> {
  return request(host.app)
    .post(`${pairPath(pair)}/introspect`)
    .type("form")
    .send(encode({ ...credentials("web"), token }));
}

/** A request of each kind at once. */
async function askEverything(host: TestHost, { tokens, machine, code }: Held): Promise<readonly Response[]> {
  const fields = { grant_type: "client_credentials", ...credentials("web"), scope: "reports:read" };
  return Promise.all([
    redeem(host, { client: "web", code, pair: opaque }),
    postToken(host, { pair: opaque, fields }),
    callApi(host, "/reports", machine),
    authorize(host.browser(), { client: "web" }),
    ...tokens.flatMap(
      ({ client, pair, tokens: { access_token: token, refresh_token: refreshToken = "" } }) => [
        callApi(host, `/${pair.api}`, token),
        introspect(host, { token, pair }),
        refresh(host, { client, refreshToken, pair }),
      ],
    ),
  ]);
}

async function expectAllGood(host: TestHost, { tokens, machine, code }: Held): Promise<void> {
  expect(await isGood(host, machine)).toBe(true);
  for (const { client, pair, tokens: held } of tokens) {
    const { access_token: token, refresh_token: refreshToken = "" } = held;
    expect((await untilServed(() => callApi(host, `/${pair.api}`, token))).status).toBe(200);
    expect((await untilServed(() => introspect(host, { token, pair }))).body).toMatchObject({ active: true });
    const ask = (): Promise<Response> => refresh(host, { client, refreshToken, pair });
    expect(await servedStatuses(ask, 2)).toEqual([200, 400]);
  }
  const ask = (): Promise<Response> => redeem(host, { client: "web", code, pair: opaque });
  expect(await servedStatuses(ask, 2)).toEqual([200, 400]);
}

function outages(bed: () => Bed): void {
  it.each(["SIGINT", "SIGKILL"] as const)(
    "ended by %s: requests fail in time, and all that was acknowledged is good when it is back",
    async (signal) => {
      const { host, server } = bed();
      const held = await hold(host);
      host.events.length = 0;
      shortenTimeLimit();
      await server.stop(signal);
      const answers = await askEverything(host, held);
      for (const { status } of answers) expect([500, 503]).toContain(status);
      expectHarmless(host, secretsOf(held));
      jest.restoreAllMocks();
      await startAgain(server);
      await expectAllGood(host, held);
    },
  );

  it("crashed between two requests that nobody missed: all that was acknowledged is good", async () => {
    const { host, server } = bed();
    const held = await hold(host);
    await server.stop("SIGKILL");
    await startAgain(server);
    await expectAllGood(host, held);
  });
}

/** Codes and refresh tokens, each sent twice at once, and API calls: fifty requests. */
async function fiftyRequests(host: TestHost) {
  const purchases: Purchase[] = [];
  for (let count = 0; count < 10; count += 1) {
    for (const { prepare } of Object.values(journeys)) purchases.push(await prepare(host));
  }
  const { access_token: token } = await obtainTokens(host, { client: "web", pair: opaque });
  const send = (): Promise<Response[]> =>
    Promise.all([
      ...purchases.flatMap(({ attempt }) => [attempt(), attempt()]),
      ...Array.from({ length: 10 }, () => callApi(host, "/reports", token)),
    ]);
  return { purchases, token, send };
}

const unavailable = { error: "temporarily_unavailable", error_description: "Try again later." };

function frozenDatabase(bed: () => Bed): void {
  it("is temporarily_unavailable to fifty requests at once, and serves them all once it moves again", async () => {
    const { host, proxy } = bed();
    const { purchases, token, send } = await fiftyRequests(host);
    host.events.length = 0;
    // the real five seconds once, for the others a moment
    if (bed().database.server !== postgres) shortenTimeLimit();
    proxy.freeze();
    const answers = await send();
    for (const { status, body } of answers) expect([status, body]).toEqual([503, unavailable]);
    expectHarmless(host, [token, ...purchases.flatMap(({ secrets }) => secrets)]);
    jest.restoreAllMocks();
    proxy.thaw();
    expect(await isGood(host, token)).toBe(true);
    // no request has come as far as to spend anything
    for (const { attempt } of purchases) expect(await servedStatuses(attempt, 2)).toEqual([200, 400]);
  });

  it("lets nothing buy twice when it stands still in the midst of fifty requests", async () => {
    const { host, proxy } = bed();
    const { purchases, send } = await fiftyRequests(host);
    shortenTimeLimit();
    bed().beforeCall = (name) => void (/\.(consume|rotate)$/.test(name) && proxy.freeze());
    const answers = await send();
    bed().beforeCall = () => undefined;
    expect(answers.some(({ status }) => status === 503)).toBe(true);
    jest.restoreAllMocks();
    proxy.thaw();
    for (const [index, { attempt }] of purchases.entries()) {
      const first = answers.slice(2 * index, 2 * index + 2).map(({ status }) => status);
      const statuses = [...first, ...(await servedStatuses(attempt, 2))];
      expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(1);
    }
  });

  it("is left behind by a client that gives a silent connection up, when a new connection is served", async () => {
    const { host, proxy, database } = bed();
    const { access_token: token } = await obtainTokens(host, { client: "web", pair: opaque });
    const { storage, reconnected, end } = await database.connect(proxy.port, "careful");
    try {
      const careful = newHost(storage);
      expect(await isGood(careful, token)).toBe(true);
      shortenTimeLimit();
      proxy.strand();
      const again = reconnected();
      expect([500, 503]).toContain((await callApi(careful, "/reports", token)).status);
      await again;
      expect(await isGood(careful, token)).toBe(true);
    } finally {
      await end();
      proxy.cutAll();
    }
    expect(await isGood(host, token)).toBe(true);
  });
}

const isLong = process.env["AUTHMOUNT_LONG"] === "1";
const loadSeconds = isLong ? Number(process.env["AUTHMOUNT_LONG_SECONDS"] ?? 70) : 2;

/** Random numbers from 0 up to 1 that a seed repeats (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A code or refresh token, and every answer that it got. */
interface Sent {
  readonly send: () => Promise<Response>;
  readonly statuses: number[];
}

interface Family {
  readonly accessTokens: string[];
  /** The refresh token that was acknowledged last and never sent. */
  unsent: string | undefined;
  /** Set when a code or refresh token of the family was sent again: it may be a replay. */
  resent: boolean;
}

/** What the clients know at the end. */
interface Ledger {
  /** How many requests the database has served. */
  served: number;
  readonly sent: Sent[];
  readonly families: Family[];
}

/** Sends it once, or up to four times until the database answers. */
async function buy(
  ledger: Ledger,
  { family, send, isStubborn }: { family: Family; send: Sent["send"]; isStubborn: boolean },
): Promise<Tokens | undefined> {
  const entry: Sent = { send, statuses: [] };
  ledger.sent.push(entry);
  for (let attempt = 0; attempt < (isStubborn ? 4 : 1); attempt += 1) {
    if (attempt > 0) family.resent = true;
    const { status, body } = await send();
    entry.statuses.push(status);
    if (status < 500) ledger.served += 1;
    if (status === 200) return body as Tokens;
    if (status < 500) return undefined;
  }
  return undefined;
}

/** One end user's visit, and what its client does afterwards. */
async function live(
  host: TestHost,
  { ledger, random }: { ledger: Ledger; random: () => number },
): Promise<void> {
  const isStubborn = random() < 0.5;
  const visit = await authorize(host.browser(), { client: "web", pair: opaque });
  const location: string | undefined = visit.headers["location"];
  const { code } = location === undefined ? {} : redirectParameters(visit);
  if (code === undefined) return;
  ledger.served += 1;
  const family: Family = { accessTokens: [], unsent: undefined, resent: false };
  ledger.families.push(family);
  let send: Sent["send"] = () => redeem(host, { client: "web", code, pair: opaque });
  for (let step = 0; step < 5; step += 1) {
    const tokens = await buy(ledger, { family, send, isStubborn });
    if (!tokens) return;
    const { access_token: accessToken, refresh_token: refreshToken = "" } = tokens;
    family.accessTokens.push(accessToken);
    family.unsent = refreshToken;
    if (random() < 0.2) return;
    family.unsent = undefined;
    send = () => refresh(host, { client: "web", refreshToken, pair: opaque });
  }
}

async function disturb({ proxy, server }: Bed, random: () => number): Promise<string> {
  const kind = random();
  if (kind < 0.2) proxy.cutAll();
  else if (kind < 0.4) proxy.cutNext("request");
  else if (kind < 0.75) proxy.cutNext("answer");
  else if (kind < 0.85) proxy.cutNext({ afterBytes: 1 + Math.floor(random() * 40) });
  else if (kind < 0.97) {
    proxy.freeze();
    await delay(random() * 2 * shortMilliseconds);
    proxy.thaw();
    return "freeze";
  } else {
    const signal = random() < 0.7 ? "SIGKILL" : "SIGINT";
    await server.stop(signal);
    await startAgain(server);
    return signal;
  }
  return "cut";
}

interface LoadReport extends Ledger {
  readonly disturbances: readonly string[];
}

/** Eight clients at once while the connections break at random, until the time is over. */
async function runUnderLoad(bed: Bed, random: () => number): Promise<LoadReport> {
  const ledger: Ledger = { served: 0, sent: [], families: [] };
  const disturbances: string[] = [];
  const end = Date.now() + loadSeconds * 1_000;
  async function work(): Promise<void> {
    while (Date.now() < end) await live(bed.host, { ledger, random });
  }
  const workers = Array.from({ length: 8 }, work);
  while (Date.now() < end) {
    disturbances.push(await disturb(bed, random));
    const enough = ledger.served + random() * 40;
    while (ledger.served < enough && Date.now() < end) await delay(2);
  }
  bed.proxy.disarm();
  await Promise.all(workers);
  return { ...ledger, disturbances };
}

function tally(values: readonly (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** Does it for each, eight at once. */
async function forEachAtOnce<T>(all: readonly T[], work: (each: T) => Promise<void>): Promise<void> {
  const left = all.values();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const each of left) await work(each);
    }),
  );
}

/** The families of which something was lost although nothing of them was sent twice. */
async function lostFamilies(host: TestHost, families: readonly Family[]): Promise<readonly Family[]> {
  const lost: Family[] = [];
  const kept = families.filter(({ resent }) => !resent);
  await forEachAtOnce(kept, async (family) => {
    const { accessTokens, unsent } = family;
    const good = [];
    for (const token of accessTokens) good.push(await isGood(host, token));
    if (unsent !== undefined) {
      const ask = (): Promise<Response> =>
        refresh(host, { client: "web", refreshToken: unsent, pair: opaque });
      good.push((await untilServed(ask)).status === 200);
    }
    if (good.includes(false)) lost.push(family);
  });
  return lost;
}

function underLoad(bed: () => Bed): void {
  const seed = Number(process.env["AUTHMOUNT_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

  it(
    `lets nothing buy twice and loses nothing that was acknowledged (seed ${seed})`,
    async () => {
      const { host } = bed();
      shortenTimeLimit();
      const { sent, families, disturbances } = await runUnderLoad(bed(), seededRandom(seed));
      const lost = await lostFamilies(host, families);
      const before = sent.flatMap(({ statuses }) => statuses);
      await forEachAtOnce(sent, async ({ send, statuses }) => {
        statuses.push((await untilServed(send)).status);
      });
      const boughtTwice = sent.filter(
        ({ statuses }) => statuses.filter((status) => status === 200).length > 1,
      );
      if (isLong) {
        const figures = {
          disturbances: tally(disturbances),
          answers: tally(before),
          families: families.length,
        };
        const held = families.filter(({ resent }) => !resent).length;
        process.stderr.write(
          `${bed().database.name}: ${inspect({ seed, ...figures, held, lost: lost.length })}\n`,
        );
      }
      expect({ boughtTwice: boughtTwice.length, lost: lost.length }).toEqual({ boughtTwice: 0, lost: 0 });
      expect(before).toContain(200);
    },
    60_000 + loadSeconds * 4_000,
  );
}

/** This client library sends a command again when its answer was lost. */
function withItsDefaults(bed: () => Bed): void {
  async function loseAnswer(journey: Journey): Promise<{ status: number; kinds: readonly string[] }> {
    const index = journey.calls.indexOf(journey.spends);
    const { response, host } = await cutAttempt(bed(), { journey, index, point: "answer" });
    return { status: response.status, kinds: host.events.map(({ kind }) => kind) };
  }

  it("does not take a rotation that is sent again for a replay", async () => {
    const { status, kinds } = await loseAnswer(refreshTokenJourney);
    expect(kinds).not.toContain("replay-detected");
    expect(status).not.toBe(400);
  });

  it("takes the consumption of a code that is sent again for a replay: nothing was issued for it", async () => {
    const { status, kinds } = await loseAnswer(codeJourney);
    expect([status, kinds.includes("token-issued")]).toEqual([400, false]);
  });
}

const ioredisDefaults: Database = {
  name: "Redis by ioredis with its own defaults",
  server: redis,
  start: () => startRedis(),
  async connect(port) {
    const client = new Redis({ port });
    client.on("error", () => undefined);
    return {
      storage: redisStorage({ client }),
      reconnected: () => new Promise((resolve) => client.once("ready", resolve)),
      end: async () => client.disconnect(),
    };
  },
};

/** Tests with a database of their own. */
function describeDatabase(database: Database, tests: (bed: () => Bed) => void): void {
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

for (const database of databases) {
  describeDatabase(database, (bed) => {
    describe("a connection that is cut in one call (RFC 6749 §4.1.2, §10.5)", () => cutConnections(bed));
    describe("a database that is away (RFC 6749 §5.2)", () => outages(bed));
    describe("a database that stands still (RFC 6749 §5.2, temporarily_unavailable)", () =>
      frozenDatabase(bed));
    describe("connections that break at random under load (RFC 9700 §4.14.2)", () => underLoad(bed));
  });
}
describeDatabase(ioredisDefaults, (bed) => {
  describe("a connection that is cut in one call (RFC 9700 §4.14.2)", () => withItsDefaults(bed));
});
