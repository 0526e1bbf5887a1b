import type { Pool } from "pg";
import request from "supertest";
import { memoryStorage, type Storage, type TokenAdapter } from "../../lib";
import { postgresStorage } from "../../lib/postgres";
import { type Pair, pairPath } from "../hosts/apis";
import { authorizationParameters, codeVerifier } from "../browser/authorization-request";
import { authorize } from "../browser/authorize";
import { postToken, redeem, refresh } from "../requests/client-requests";
import { type ClientName, clients, credentials } from "../hosts/clients";
import { type Clock, stopClock } from "../hosts/clock";
import { testHost, type TestHost, type TestHostOptions } from "../hosts/host";
import { callApi, obtainCode, obtainTokens } from "../browser/journey";
import { postgres, type PostgresServer, startPostgres } from "../servers/postgres-server";
import { describeWith } from "../servers/server-process";
import { intercept } from "../storage/slow-storage";

interface Bill {
  /** The calls that were under way together, by name. */
  readonly rounds: readonly (readonly string[])[];
  /** The statements that a database was sent. */
  readonly statements: readonly string[];
}

interface CountedHost extends TestHost {
  /** What the requests of `run` have cost. */
  cost(run: () => Promise<{ readonly status: number }>): Promise<Bill & { readonly status: number }>;
}

/** The same storage; whatever is asked in one turn of the event loop is one round and answered in the next turn. */
function inRounds(storage: Storage, rounds: string[][]): Storage {
  let gate: Promise<void> | undefined;
  return intercept(storage, async (name, call) => {
    if (!gate) {
      rounds.push([]);
      gate = new Promise((resolve) => {
        setImmediate(() => {
          gate = undefined;
          resolve();
        });
      });
    }
    rounds.at(-1)?.push(name);
    await gate;
    return call();
  });
}

function countedHost(
  { storage, statements }: { storage: Storage; statements: string[] },
  options: TestHostOptions,
): CountedHost {
  const rounds: string[][] = [];
  const host = testHost({ ...options, storage: inRounds(storage, rounds) });
  return Object.assign(host, {
    async cost(run: () => Promise<{ readonly status: number }>) {
      rounds.length = 0;
      statements.length = 0;
      const { status } = await run();
      return { status, rounds: rounds.map((round) => round.toSorted()), statements: [...statements] };
    },
  });
}

let clock: Clock;
let open: (options?: TestHostOptions) => Promise<CountedHost>;
/** True for a storage with `atOnce`. */
let isAtOnce = false;

/** What an approval stores beside this look, in one round. */
function approving(...looks: readonly string[]): readonly string[] {
  return [
    ...(isAtOnce ? ["atOnce.approve"] : ["authorizationCodes.create", "authorizations.create"]),
    ...looks,
  ];
}

/** The rounds in which a code is spent and these calls store what it pays for. */
function redeeming(...stored: readonly string[]): readonly (readonly string[])[] {
  if (isAtOnce) return [["atOnce.redeem"]];
  return [...(stored.length > 0 ? [stored] : []), ["authorizationCodes.consume"]];
}

const findCode = ["authorizationCodes.find", "authorizations.find"];
/** The client, and whether everything of it was ended. */
const findClient = ["clients.find", "endMarks.find"];
/** No client may have the end user's id; what is not found is asked every time. */
const findSubject = ["clients.find"];
const findConsent = ["consents.find", "endMarks.find"];
const findRefreshToken = ["authorizations.find", "refreshTokens.find"];
const checkAccessToken = ["accessTokens.isRevoked", "authorizations.find"];
/** The same once the client is no longer remembered. */
const checkAnew = [...checkAccessToken, ...findClient];

function clientCredentials(host: TestHost) {
  return postToken(host, { fields: { grant_type: "client_credentials", ...credentials("machine") } });
}

function redeemFromBrowser(host: TestHost, code: string) {
  return request(host.app)
    .post(`${pairPath()}/token`)
    .set("Origin", "https://spa.example")
    .type("form")
    .send({ grant_type: "authorization_code", client_id: "spa", code, code_verifier: codeVerifier });
}

function post(host: TestHost, { path, token, pair }: { path: string; token: string; pair?: Pair }) {
  return request(host.app)
    .post(`${pairPath(pair)}/${path}`)
    .type("form")
    .send({ ...credentials("web"), token });
}

function tokenTests(): void {
  it("client credentials: the client once in the lag, and nothing is written", async () => {
    const host = await open();
    const ask = () => clientCredentials(host);
    expect(await host.cost(ask)).toMatchObject({ status: 200, rounds: [findClient] });
    expect(await host.cost(ask)).toMatchObject({ status: 200, rounds: [] });
    clock.advance(5);
    expect(await host.cost(ask)).toMatchObject({ status: 200, rounds: [findClient] });
  });

  it.each(["web", "native"] as const)("code exchange of %s: 3 rounds, 2 with atOnce", async (client) => {
    const host = await open();
    const code = await obtainCode(host, { client });
    expect(await host.cost(() => redeem(host, { client, code }))).toMatchObject({
      status: 200,
      rounds: [findCode, ...redeeming("refreshTokens.create")],
    });
  });

  it("code exchange of a browser client: 3 rounds, and 2 once its origin is known", async () => {
    const host = await open();
    const rounds = [findCode, ...redeeming()];
    const first = await obtainCode(host, { client: "spa" });
    expect(await host.cost(() => redeemFromBrowser(host, first))).toMatchObject({
      status: 200,
      rounds: [["clients.isBrowserOrigin"], ...rounds],
    });
    const second = await obtainCode(host, { client: "spa" });
    expect(await host.cost(() => redeemFromBrowser(host, second))).toMatchObject({ status: 200, rounds });
  });

  it("code exchange by a server that has not seen the client: a round more", async () => {
    const host = await open();
    const code = await obtainCode(host, { client: "web" });
    clock.advance(5);
    const { status, rounds } = await host.cost(() => redeem(host, { client: "web", code }));
    expect({ status, rounds: rounds.length, first: rounds[0] }).toEqual({
      status: 200,
      rounds: isAtOnce ? 3 : 4,
      first: findClient,
    });
  });

  it.each(["web", "native"] as const)("refresh of %s: 2 rounds", async (client) => {
    const host = await open();
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client });
    expect(await host.cost(() => refresh(host, { client, refreshToken }))).toMatchObject({
      status: 200,
      rounds: [findRefreshToken, ["refreshTokens.rotate"]],
    });
  });

  it("an opaque access token takes no round of its own in an exchange, and one in a refresh", async () => {
    const host = await open();
    const pair = { api: "reports" } as const;
    const code = await obtainCode(host, { client: "web", pair });
    let refreshToken = "";
    const exchange = await host.cost(async () => {
      const response = await redeem(host, { client: "web", pair, code });
      refreshToken = (response.body as { refresh_token: string }).refresh_token;
      return response;
    });
    const refreshed = await host.cost(() => refresh(host, { client: "web", pair, refreshToken }));
    expect(exchange).toMatchObject({
      status: 200,
      rounds: [findCode, ...redeeming("accessTokens.create", "refreshTokens.create")],
    });
    // stored first: a failure must not cost the refresh token
    expect([refreshed.status, ...refreshed.rounds.slice(1)]).toEqual([
      200,
      ["accessTokens.create"],
      ["refreshTokens.rotate"],
    ]);
  });

  it.each<[string, TokenAdapter["decide"], readonly (readonly string[])[]]>([
    ["answers at once: no round of its own", () => ({ kind: "issue" }), []],
    ["thinks: one round, a second look", async () => ({ kind: "issue" }), [["authorizations.find"]]],
  ])("tokens.decide that %s", async (_, decide, looks) => {
    const host = await open({ tokens: { decide } });
    const code = await obtainCode(host, { client: "web" });
    let refreshToken = "";
    const exchange = await host.cost(async () => {
      const response = await redeem(host, { client: "web", code });
      refreshToken = (response.body as { refresh_token: string }).refresh_token;
      return response;
    });
    expect(exchange).toMatchObject({
      status: 200,
      rounds: [findCode, ...looks, ...redeeming("refreshTokens.create")],
    });
    expect(await host.cost(() => refresh(host, { client: "web", refreshToken }))).toMatchObject({
      status: 200,
      rounds: [findRefreshToken, ...looks, ["refreshTokens.rotate"]],
    });
    await clientCredentials(host);
    expect(await host.cost(() => clientCredentials(host))).toMatchObject({ status: 200, rounds: [] });
  });

  it("a refused code or refresh token: 1 round, and nothing is written", async () => {
    const host = await open();
    await obtainTokens(host, { client: "web" });
    const token = `${"A".repeat(22)}.${"B".repeat(43)}`;
    expect(await host.cost(() => redeem(host, { client: "web", code: token }))).toMatchObject({
      status: 400,
      rounds: [findCode],
    });
    expect(await host.cost(() => refresh(host, { client: "web", refreshToken: token }))).toMatchObject({
      status: 400,
      rounds: [findRefreshToken],
    });
  });

  it("a wrong secret: nothing but the client, which may have a new one", async () => {
    jest.spyOn(performance, "now").mockReturnValue(0);
    const host = await open();
    const ask = () =>
      postToken(host, {
        fields: { grant_type: "client_credentials", ...credentials("machine"), client_secret: "wrong" },
      });
    expect(await host.cost(ask)).toMatchObject({ status: 401, rounds: [findClient, findClient] });
    expect(await host.cost(ask)).toMatchObject({ status: 401, rounds: [] });
  });
}

function bearerTests(): void {
  it.each([
    ["JWT", "orders", []],
    ["opaque", "reports", [["accessTokens.find"]]],
  ] as const)("a call with a %s access token: nothing inside the lag", async (_, api, found) => {
    const host = await open();
    const { access_token: token } = await obtainTokens(host, { client: "web", pair: { api } });
    const call = () => callApi(host, `/${api}`, token);
    expect(await host.cost(call)).toMatchObject({ status: 200, rounds: [...found, checkAccessToken] });
    clock.advance(4);
    expect(await host.cost(call)).toMatchObject({ status: 200, rounds: [] });
    clock.advance(1);
    expect(await host.cost(call)).toMatchObject({ status: 200, rounds: [...found, checkAnew] });
  });

  it("a call with a token that a client got for itself: 1 round", async () => {
    const host = await open();
    const { access_token: token } = (await clientCredentials(host)).body as { access_token: string };
    expect(await host.cost(() => callApi(host, "/orders", token))).toMatchObject({
      status: 200,
      rounds: [["accessTokens.isRevoked"]],
    });
  });

  it("a call without a genuine token: nothing", async () => {
    const host = await open();
    expect(await host.cost(() => callApi(host, "/orders", "a.b.c"))).toMatchObject({
      status: 401,
      rounds: [],
    });
  });
}

function authorizeTests(): void {
  it("the first visit: 3 rounds for the question, 4 for its answer", async () => {
    const host = await open();
    const browser = host.browser();
    let page!: Awaited<ReturnType<typeof authorize>>;
    const question = await host.cost(async () => (page = await authorize(browser, { client: "web" })));
    expect(question).toMatchObject({
      status: 200,
      rounds: [findClient, findSubject, findConsent],
    });
    expect(await host.cost(() => browser.answer(page, "approve"))).toMatchObject({
      status: 303,
      rounds: [
        // the mark of the yes, and a look for that of a no
        [...findConsent, "endMarks.save"],
        approving("endMarks.find"),
        ["consents.save"],
        ["endMarks.find"],
      ],
    });
  });

  it("a no: 3 rounds, for the mark that keeps a yes from counting beside it", async () => {
    const host = await open();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    expect(await host.cost(() => browser.answer(page, "deny"))).toMatchObject({
      status: 303,
      rounds: [["endMarks.find"], ["endMarks.save"], ["endMarks.find"]],
    });
  });

  it("a visit with a remembered consent: 3 rounds", async () => {
    const host = await open();
    await obtainCode(host, { client: "web" });
    expect(await host.cost(() => authorize(host.browser(), { client: "web" }))).toMatchObject({
      status: 302,
      rounds: [findConsent, approving(), ["endMarks.find"]],
    });
  });

  it("a refused visit: nothing but the client", async () => {
    const host = await open();
    const fields = { ...authorizationParameters("web"), scope: "unknown" };
    expect(await host.cost(() => authorize(host.browser(), { client: "web", fields }))).toMatchObject({
      status: 302,
      rounds: [findClient],
    });
  });
}

function tokenUseTests(): void {
  it("revocation of a refresh token: 2 rounds", async () => {
    const host = await open();
    const { refresh_token: token = "" } = await obtainTokens(host, { client: "web" });
    expect(await host.cost(async () => post(host, { path: "revoke", token }))).toMatchObject({
      status: 200,
      rounds: [
        ["authorizationCodes.find", "authorizations.find", "refreshTokens.find"],
        ["authorizations.revoke"],
      ],
    });
  });

  it("revocation of a JWT access token: 1 round", async () => {
    const host = await open();
    const { access_token: token } = await obtainTokens(host, { client: "web" });
    expect(await host.cost(async () => post(host, { path: "revoke", token }))).toMatchObject({
      status: 200,
      rounds: [["accessTokens.revoke"]],
    });
  });

  it("revocation of an opaque access token: 2 rounds", async () => {
    const host = await open();
    const pair = { api: "reports" } as const;
    const { access_token: token } = await obtainTokens(host, { client: "web", pair });
    expect(await host.cost(async () => post(host, { path: "revoke", token, pair }))).toMatchObject({
      status: 200,
      rounds: [["accessTokens.find"], ["accessTokens.revoke"]],
    });
  });

  it("introspection: 1 round, 2 for an opaque access token", async () => {
    const host = await open();
    const pair = { api: "reports" } as const;
    const jwt = await obtainTokens(host, { client: "web" });
    const opaque = await obtainTokens(host, { client: "web", pair });
    // the client too, as it is now: whoever asks remembers the answer
    const check = [...checkAccessToken, "clients.find", "endMarks.find"];
    const asked = [
      { token: jwt.access_token, rounds: [check] },
      { token: jwt.refresh_token ?? "", rounds: [findRefreshToken] },
      { token: opaque.access_token, pair, rounds: [["accessTokens.find"], check] },
    ];
    for (const { rounds, ...question } of asked) {
      const bill = await host.cost(async () => post(host, { path: "introspect", ...question }));
      expect(bill).toMatchObject({ status: 200, rounds });
    }
  });

  it("metadata and keys: nothing", async () => {
    const host = await open();
    for (const path of [`${pairPath()}/.well-known/oauth-authorization-server`, "/login/jwks"])
      expect(await host.cost(async () => request(host.app).get(path))).toMatchObject({
        status: 200,
        rounds: [],
      });
  });
}

function sameForEveryStorage(): void {
  describe("round trips to storage: token endpoint (RFC 6749 §3.2)", tokenTests);
  describe("round trips to storage: bearer token use (RFC 6750 §2.1)", bearerTests);
  describe("round trips to storage: authorization endpoint (RFC 6749 §3.1)", authorizeTests);
  describe("round trips to storage: revocation and introspection (RFC 7009 §2, 7662 §2)", tokenUseTests);
}

beforeEach(() => {
  clock = stopClock();
});
afterEach(() => jest.restoreAllMocks());

describe("memory", () => {
  beforeAll(() => {
    open = async (options = {}) => {
      const storage = memoryStorage({ clients: Object.values(clients) });
      return countedHost({ storage, statements: [] }, options);
    };
  });
  sameForEveryStorage();

  it("a server without lag asks for the client every time", async () => {
    const host = await open({ revocationLagSeconds: 0 });
    for (let time = 0; time < 2; time += 1) {
      const bill = await host.cost(() => clientCredentials(host));
      expect(bill).toMatchObject({ status: 200, rounds: [findClient] });
    }
  });
});

describeWith(postgres, {
  name: "PostgreSQL",
  tests() {
    let server: PostgresServer;
    let pool: Pool;
    let opened = 0;
    beforeAll(async () => {
      isAtOnce = true;
      server = await startPostgres(["synchronous_commit=off"]);
      pool = server.pool();
      open = async (options = {}) => {
        const statements: string[] = [];
        opened += 1;
        const storage = postgresStorage({
          prefix: `t${opened}_`,
          pool: {
            query(text, values) {
              statements.push(text);
              return pool.query<Record<string, unknown>>(text, values);
            },
          },
        });
        await storage.migrate();
        for (const client of Object.values(clients)) await storage.clients.save(client);
        return countedHost({ storage, statements }, options);
      };
    });
    afterAll(() => server.close());
    sameForEveryStorage();

    describe("statements (RFC 6749 §10.5)", () => {
      it.each(["web", "native", "spa"] as const satisfies readonly ClientName[])(
        "are one for each call of storage in a journey of %s",
        async (client) => {
          const host = await open();
          for (const pair of [{ api: "orders" }, { api: "reports" }] as const) {
            const bill = await host.cost(async () => {
              const tokens = await obtainTokens(host, { client, pair });
              const { access_token: token, refresh_token: refreshToken } = tokens;
              if (refreshToken !== undefined) await refresh(host, { client, pair, refreshToken });
              await callApi(host, `/${pair.api}`, token);
              await post(host, { path: "introspect", token, pair });
              await post(host, { path: "revoke", token, pair });
              return callApi(host, `/${pair.api}`, token);
            });
            expect(bill.rounds.flat().length).toBeGreaterThan(5);
            expect(bill.statements).toHaveLength(bill.rounds.flat().length);
          }
        },
      );

      it("are 3 for a code exchange, 3 for a refresh and 0 for a client that asks for itself again", async () => {
        const host = await open();
        const code = await obtainCode(host, { client: "web" });
        let refreshToken = "";
        const exchange = await host.cost(async () => {
          const response = await redeem(host, { client: "web", code });
          refreshToken = (response.body as { refresh_token: string }).refresh_token;
          return response;
        });
        const refreshed = await host.cost(() => refresh(host, { client: "web", refreshToken }));
        await clientCredentials(host);
        const again = await host.cost(() => clientCredentials(host));
        const counts = [exchange, refreshed, again].map(({ statements }) => statements.length);
        expect(counts).toEqual([3, 3, 0]);
      });

      it("are 7 in 5 rounds for a code and its exchange, where the consent is remembered", async () => {
        const host = await open();
        await obtainTokens(host, { client: "web" });
        const { rounds, statements } = await host.cost(async () => {
          const code = await obtainCode(host, { client: "web" });
          return redeem(host, { client: "web", code });
        });
        expect([statements.length, rounds.length]).toEqual([7, 5]);
      });
    });
  },
});
