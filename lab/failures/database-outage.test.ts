/** A real database which ends, crashes or stands still while requests are under way. */
import request, { type Response } from "supertest";
import { type Pair, pairPath } from "../../__tests__/hosts/apis";
import { authorize } from "../../__tests__/browser/authorize";
import { encode } from "../../__tests__/browser/browser";
import { postToken, redeem, refresh } from "../../__tests__/requests/client-requests";
import { credentials } from "../../__tests__/hosts/clients";
import type { TestHost } from "../../__tests__/hosts/host";
import { callApi, obtainCode, obtainTokens, type Tokens } from "../../__tests__/browser/journey";
import {
  type Bed,
  databases,
  describeDatabase,
  expectHarmless,
  isGood,
  newHost,
  opaque,
  servedStatuses,
  shortenTimeLimit,
  startAgain,
  untilServed,
} from "./outage-bed";
import { postgres } from "../../__tests__/servers/postgres-server";
import { journeys, type Purchase } from "./purchases";

afterEach(() => jest.restoreAllMocks());

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
    bed().beforeCall = (name) => void (/\.(consume|redeem|rotate)$/.test(name) && proxy.freeze());
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
      // what waits for an answer fails now
      proxy.cutAll();
      await end();
    }
    expect(await isGood(host, token)).toBe(true);
  });
}

for (const database of databases) {
  describeDatabase(database, (bed) => {
    describe("a database that is away (RFC 6749 §5.2)", () => outages(bed));
    describe("a database that stands still (RFC 6749 §5.2, temporarily_unavailable)", () =>
      frozenDatabase(bed));
  });
}
