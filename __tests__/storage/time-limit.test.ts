import { inspect } from "node:util";
import request, { type Response } from "supertest";
import { memoryStorage, type Storage } from "../../lib";
import { timeLimited } from "../../lib/storage/calls";
import { type Browser, encode } from "../fixture/browser";
import { stopClock } from "../fixture/clock";
import {
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
} from "../fixture/journey";
import { type Latch, newLatch } from "../fixture/latch";
import { begunBeside, intercept, watchWrites } from "../fixture/slow-storage";

interface Timers {
  /** Time limits that were begun. */
  readonly begun: unknown[];
  /** Every timer that was cleared. */
  readonly cleared: Set<unknown>;
}

/** Lets the five seconds of a storage call pass in five milliseconds, and every other time as it is. */
function shortenTimeLimit(): Timers {
  const timers: Timers = { begun: [], cleared: new Set() };
  const { setTimeout: begin, clearTimeout: end } = globalThis;
  const beginShort = (callback: () => void, milliseconds?: number): NodeJS.Timeout => {
    if (milliseconds !== 5_000) return begin(callback, milliseconds);
    const timer = begin(callback, 5);
    timers.begun.push(timer);
    return timer;
  };
  jest.spyOn(globalThis, "setTimeout").mockImplementation(beginShort);
  jest.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    timers.cleared.add(timer);
    end(timer);
  });
  return timers;
}

let timers: Timers;
beforeEach(() => {
  stopClock();
  timers = shortenTimeLimit();
});
afterEach(() => jest.restoreAllMocks());

/** How a call may go that is not answered in time. */
const ways = [
  "is lost",
  "does its work and is not answered",
  "does its work when it is long given up",
] as const;
type Way = (typeof ways)[number];

interface SlowStorage {
  readonly storage: Storage;
  /** The calls of the request that `arm` precedes, in their order. */
  readonly calls: string[];
  /** The calls among them that change something. */
  readonly writes: string[];
  /** From now on calls are counted, and the one at this index, counted from 0, is not answered. */
  arm(index: number, way: Way): void;
  /** Storage works again; a call that is long given up does its work now. */
  mend(): Promise<void>;
}

/** What is still to be done after an answer. */
async function everythingUnderWay(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
}

function slowAtOneCall(): SlowStorage {
  const calls: string[] = [];
  let slow: { readonly index: number; readonly way: Way; readonly late: Latch } | undefined;
  const stuck = intercept(memoryStorage({ clients: Object.values(clients) }), async (name, call) => {
    calls.push(name);
    if (!slow || calls.length - 1 !== slow.index) return call();
    const { way, late } = slow;
    if (way === "does its work and is not answered") await call();
    await late.opened;
    return way === "does its work when it is long given up" ? call() : undefined;
  });
  const { storage, writes } = watchWrites(stuck);
  return {
    storage,
    calls,
    writes,
    arm(index, way) {
      calls.length = 0;
      writes.length = 0;
      slow = { index, way, late: newLatch() };
    },
    async mend() {
      const late = slow?.late;
      slow = undefined;
      late?.open();
      await everythingUnderWay();
    },
  };
}

/** A host whose every look-up of a client is a call. */
function slowHost(): { readonly host: TestHost; readonly slow: SlowStorage } {
  const slow = slowAtOneCall();
  return { host: testHost({ storage: slow.storage, revocationLagSeconds: 0 }), slow };
}

/** Something that a client does, ready to be done again and again. */
interface Prepared {
  readonly attempt: () => Promise<Response>;
  /** What must stand in no event. */
  readonly secrets: readonly string[];
}

interface Journey {
  /** The storage calls of one attempt, in their order. */
  readonly calls: readonly string[];
  prepare(host: TestHost): Promise<Prepared>;
}

const opaque: Pair = { api: "reports" };
const spaOrigin = "https://spa.example";

function postAbout(
  host: TestHost,
  { endpoint, pair, token }: { endpoint: "introspect" | "revoke"; pair: Pair; token: string },
): Promise<Response> {
  const sent = { ...credentials("web"), token };
  return Promise.resolve(
    request(host.app)
      .post(`${pairPath(pair)}/${endpoint}`)
      .type("form")
      .send(encode(sent)),
  );
}

/** Introspection or revocation of one token of `web`. */
function about(
  endpoint: "introspect" | "revoke",
  { pair, kind }: { pair: Pair; kind: "access_token" | "refresh_token" },
): Journey["prepare"] {
  return async (host) => {
    const { [kind]: token = "" } = await obtainTokens(host, { client: "web", pair });
    return { attempt: () => postAbout(host, { endpoint, pair, token }), secrets: [token] };
  };
}

function bearer(pair: Pair): Journey["prepare"] {
  return async (host) => {
    const { access_token: token } = await obtainTokens(host, { client: "web", pair });
    return { attempt: () => callApi(host, `/${pair.api}`, token), secrets: [token] };
  };
}

function fromPage(endpoint: "token" | "revoke", method: "post" | "options"): Journey["prepare"] {
  return async (host) => {
    const path = `${pairPath()}/${endpoint}`;
    const attempt = async (): Promise<Response> => request(host.app)[method](path).set("Origin", spaOrigin);
    return { attempt, secrets: [] };
  };
}

const redemption: Journey = {
  calls: [
    "clients.find",
    "authorizationCodes.find",
    "authorizations.find",
    "accessTokens.create",
    "refreshTokens.create",
    "authorizationCodes.consume",
  ],
  async prepare(host) {
    const code = await obtainCode(host, { client: "web", pair: opaque });
    return { attempt: () => redeem(host, { client: "web", code, pair: opaque }), secrets: [code] };
  },
};

const usedUpAfterOne: Readonly<Record<string, Journey>> = {
  "grant authorization_code": redemption,
  "grant refresh_token": {
    calls: [
      "clients.find",
      "refreshTokens.find",
      "authorizations.find",
      "accessTokens.create",
      "refreshTokens.rotate",
    ],
    async prepare(host) {
      const tokens = await obtainTokens(host, { client: "web", pair: opaque });
      const { refresh_token: refreshToken = "" } = tokens;
      const attempt = (): Promise<Response> => refresh(host, { client: "web", refreshToken, pair: opaque });
      return { attempt, secrets: [refreshToken, tokens.access_token] };
    },
  },
};

const repeatable: Readonly<Record<string, Journey>> = {
  "grant client_credentials": {
    calls: ["clients.find", "accessTokens.create"],
    async prepare(host) {
      const fields = { grant_type: "client_credentials", ...credentials("web"), scope: "reports:read" };
      return { attempt: () => postToken(host, { pair: opaque, fields }), secrets: [] };
    },
  },
  "introspection of a JWT": {
    calls: ["clients.find", "accessTokens.isRevoked", "authorizations.find"],
    prepare: about("introspect", { pair: { api: "orders" }, kind: "access_token" }),
  },
  "introspection of an opaque token": {
    calls: ["clients.find", "accessTokens.find", "accessTokens.isRevoked", "authorizations.find"],
    prepare: about("introspect", { pair: opaque, kind: "access_token" }),
  },
  "introspection of a refresh token": {
    calls: ["clients.find", "refreshTokens.find", "authorizations.find"],
    prepare: about("introspect", { pair: opaque, kind: "refresh_token" }),
  },
  "revocation of a JWT": {
    calls: ["clients.find", "accessTokens.revoke"],
    prepare: about("revoke", { pair: { api: "orders" }, kind: "access_token" }),
  },
  "revocation of an opaque token": {
    calls: ["clients.find", "accessTokens.find", "accessTokens.revoke"],
    prepare: about("revoke", { pair: opaque, kind: "access_token" }),
  },
  "revocation of a refresh token": {
    calls: [
      "clients.find",
      "refreshTokens.find",
      "authorizationCodes.find",
      "authorizations.find",
      "authorizations.revoke",
    ],
    prepare: about("revoke", { pair: opaque, kind: "refresh_token" }),
  },
  "an API call with a JWT": {
    calls: ["accessTokens.isRevoked", "authorizations.find"],
    prepare: bearer({ api: "orders" }),
  },
  "an API call with an opaque token": {
    calls: ["accessTokens.find", "accessTokens.isRevoked", "authorizations.find"],
    prepare: bearer(opaque),
  },
};

const crossOrigin: Readonly<Record<string, Journey>> = {
  "a preflight for a token": { calls: ["clients.isBrowserOrigin"], prepare: fromPage("token", "options") },
  "a preflight for a revocation": {
    calls: ["clients.isBrowserOrigin"],
    prepare: fromPage("revoke", "options"),
  },
  "a page's token request": { calls: ["clients.isBrowserOrigin"], prepare: fromPage("token", "post") },
};

const isRead = (call: string): boolean => /\.(find|list|isRevoked|isBrowserOrigin)$/.test(call);

function rowsOf(journeys: Readonly<Record<string, Journey>>) {
  return Object.entries(journeys).flatMap(([name, journey]) =>
    journey.calls.flatMap((call, index) => ways.map((way) => ({ name, journey, call, index, way }))),
  );
}

const unavailable = { error: "temporarily_unavailable", error_description: "Try again later." };

/** Of the events since the last look, one is the failure: it names the call and holds no secret. */
function expectOneFailure(
  host: TestHost,
  { call, secrets }: { call: string; secrets: readonly string[] },
): void {
  const failures = host.events.filter(({ kind }) => kind === "server-error");
  expect(failures).toEqual([expect.objectContaining({ cause: expect.any(Error) })]);
  const [failure] = failures;
  const { message } = (failure as { readonly cause?: Error }).cause ?? {};
  expect(message).toBe(`${call} has not answered within 5 seconds`);
  const written = inspect(host.events, { depth: 20, showHidden: true });
  for (const secret of [...secrets, codeVerifier, ...Object.values(credentials("web")).slice(1)]) {
    expect(secret).not.toBe("");
    // a token may begin with an id that an event may name
    expect(written).not.toContain(secret.split(".").at(-1));
  }
}

describe("storage that does not answer in time, where the answer is JSON (RFC 6749 §5.2)", () => {
  const journeys = { ...usedUpAfterOne, ...repeatable, ...crossOrigin };

  it.each(Object.entries(journeys))("is tried below in every call of %s", async (_, journey) => {
    const { host, slow } = slowHost();
    const { attempt } = await journey.prepare(host);
    slow.calls.length = 0;
    await attempt();
    expect(slow.calls).toEqual(journey.calls);
  });

  it.each(rowsOf(journeys))(
    "is temporarily_unavailable when $call of $name $way",
    async ({ journey, call, index, way }) => {
      const { host, slow } = slowHost();
      const { attempt, secrets } = await journey.prepare(host);
      host.events.length = 0;
      slow.arm(index, way);
      const response = await attempt();
      expect([response.status, response.body]).toEqual([503, unavailable]);
      expect(response.headers).toMatchObject({
        "content-type": "application/json",
        "cache-control": "no-store",
      });
      expectOneFailure(host, { call, secrets });
    },
  );

  it.each(rowsOf(journeys))(
    "begins no later step when $call of $name $way",
    async ({ journey, call, index, way }) => {
      const { host, slow } = slowHost();
      const { attempt } = await journey.prepare(host);
      slow.arm(index, way);
      await attempt();
      await everythingUnderWay();
      const begun = [...journey.calls.slice(0, index + 1), ...begunBeside(journey.calls, index)].filter(
        (each) => !isRead(each),
      );
      expect(slow.writes.filter((each) => !isRead(each))).toEqual(begun);
      // nor when the answer comes after all
      await slow.mend();
      expect(slow.writes.filter((each) => !isRead(each))).toEqual(begun);
      expect(slow.calls[index]).toBe(call);
    },
  );

  it.each(rowsOf(usedUpAfterOne))(
    "leaves what was sent usable once at most when $call of $name $way",
    async ({ journey, call, index, way }) => {
      const { host, slow } = slowHost();
      const { attempt } = await journey.prepare(host);
      slow.arm(index, way);
      await attempt();
      await slow.mend();
      const tries = [(await attempt()).status, (await attempt()).status];
      // what has only been looked up is not spent
      if (isRead(call)) expect(tries).toEqual([200, 400]);
      else
        expect([
          [200, 400],
          [400, 400],
        ]).toContainEqual(tries);
    },
  );

  it.each(
    Object.entries(usedUpAfterOne).flatMap(([name, journey]) => {
      const index = journey.calls.findIndex((call) => !isRead(call));
      return [{ name, journey, call: journey.calls[index], index }];
    }),
  )(
    "lets one of two attempts win when the late $call of $name comes after the second",
    async ({ journey, index }) => {
      const { host, slow } = slowHost();
      const { attempt } = await journey.prepare(host);
      slow.arm(index, "does its work when it is long given up");
      const first = await attempt();
      const second = await attempt();
      await slow.mend();
      const third = await attempt();
      expect([first.status, second.status, third.status]).toEqual([503, 200, 400]);
    },
  );

  it.each(rowsOf(repeatable))(
    "does not stand in the way of another attempt when $call of $name $way",
    async ({ journey, index, way }) => {
      const { host, slow } = slowHost();
      const { attempt } = await journey.prepare(host);
      slow.arm(index, way);
      await attempt();
      await slow.mend();
      expect((await attempt()).status).toBe(200);
    },
  );

  it.each(["orders", "reports"] as const)("does not let an API call at %s pass", async (api) => {
    const { host, slow } = slowHost();
    let reached = 0;
    host.app.get(`/${api}/counted`, host.auth.requireBearer({ api }), (_, res) => {
      reached += 1;
      res.end();
    });
    const { access_token } = await obtainTokens(host, { client: "web", pair: { api } });
    for (const [index] of bearerCalls(api).entries()) {
      slow.arm(index, "is lost");
      expect((await callApi(host, `/${api}/counted`, access_token)).status).toBe(503);
      await slow.mend();
    }
    expect(reached).toBe(0);
  });

  it("leaves a replay to be noticed the next time", async () => {
    const { host, slow } = slowHost();
    const { attempt } = await redemption.prepare(host);
    const { access_token } = (await attempt()).body as { access_token: string };
    slow.arm(3, "is lost");
    expect((await attempt()).status).toBe(503);
    expect(slow.calls[3]).toBe("authorizations.revoke");
    await slow.mend();
    expect((await callApi(host, "/reports", access_token)).status).toBe(200);
    expect((await attempt()).status).toBe(400);
    expect((await callApi(host, "/reports", access_token)).status).toBe(401);
  });

  it("is not remembered of a client: the next request looks it up anew", async () => {
    const slow = slowAtOneCall();
    const host = testHost({ storage: slow.storage });
    const fields = { grant_type: "client_credentials", ...credentials("machine") };
    slow.arm(0, "does its work and is not answered");
    expect((await postToken(host, { fields })).status).toBe(503);
    await slow.mend();
    expect((await postToken(host, { fields })).status).toBe(200);
    expect(slow.calls).toEqual(["clients.find", "clients.find"]);
  });
});

function bearerCalls(api: "orders" | "reports"): readonly string[] {
  const name = api === "orders" ? "an API call with a JWT" : "an API call with an opaque token";
  return repeatable[name]?.calls ?? [];
}

describe("storage that does not answer in time, where a browser is redirected (RFC 6749 §4.1.2.1)", () => {
  const issuer = `https://host.example${pairPath()}`;

  interface Visit {
    /** The storage calls of the request, in their order. */
    readonly calls: readonly string[];
    readonly status: number;
    prepare(host: TestHost, browser: Browser): Promise<() => Promise<Response>>;
  }

  const asking = ["clients.find", "clients.find", "endMarks.find", "consents.find"];
  const storing = ["authorizations.create", "authorizationCodes.create"];

  const visits: Readonly<Record<string, Visit>> = {
    "the first visit": {
      calls: asking,
      status: 302,
      prepare: async (_, browser) => () => authorize(browser, { client: "web" }),
    },
    "the way back from sign-in": {
      calls: asking,
      status: 302,
      async prepare(host, browser) {
        const { session } = host;
        host.session = { kind: "interaction", url: "/signin" };
        const first = await authorize(browser, { client: "web" });
        host.session = session;
        const interaction = new URL(String(first.headers["location"]), issuer).searchParams.get(
          "interaction",
        );
        return () => browser.get(`${pairPath()}/authorize/resume`, { interaction: interaction ?? "" });
      },
    },
    "the approval": {
      calls: [...asking, ...storing, "consents.save", "endMarks.find"],
      status: 303,
      async prepare(_, browser) {
        const page = await authorize(browser, { client: "web" });
        return () => browser.answer(page, "approve");
      },
    },
    "a visit without a question": {
      calls: [...asking, ...storing, "endMarks.find"],
      status: 302,
      async prepare(host, browser) {
        await obtainCode(host, { client: "web", browser });
        return () => authorize(browser, { client: "web" });
      },
    },
  };

  const rows = Object.entries(visits).flatMap(([name, visit]) =>
    visit.calls.flatMap((call, index) => ways.map((way) => ({ name, visit, call, index, way }))),
  );

  it.each(Object.entries(visits))("is tried below in every call of %s", async (_, visit) => {
    const { host, slow } = slowHost();
    const attempt = await visit.prepare(host, host.browser());
    slow.calls.length = 0;
    const { status } = await attempt();
    expect(slow.calls).toEqual(visit.calls);
    expect(status).toBeLessThan(400);
  });

  it.each(rows.filter(({ index }) => index > 0))(
    "is a redirect with temporarily_unavailable when $call ($index) of $name $way",
    async ({ visit, call, index, way }) => {
      const { host, slow } = slowHost();
      const attempt = await visit.prepare(host, host.browser());
      host.events.length = 0;
      slow.arm(index, way);
      const response = await attempt();
      expect(response.status).toBe(visit.status);
      expect(response.headers["location"]).toMatch(/^https:\/\/web\.example\/callback\?/);
      expect(redirectParameters(response)).toEqual({ ...unavailable, state: "a state", iss: issuer });
      expectOneFailure(host, { call, secrets: [] });
      expect(host.events.map(({ kind }) => kind)).not.toContain("authorization-granted");
    },
  );

  it.each(rows.filter(({ index }) => index === 0))(
    "is a page with 503 when $call of $name $way: the redirect URI is not proven",
    async ({ visit, call, index, way }) => {
      const { host, slow } = slowHost();
      const attempt = await visit.prepare(host, host.browser());
      host.events.length = 0;
      slow.arm(index, way);
      const response = await attempt();
      expect([response.status, response.headers["location"]]).toEqual([503, undefined]);
      expect(response.headers["content-type"]).toMatch(/^text\/html/);
      expect(response.text).toContain("Try again later.");
      expectOneFailure(host, { call, secrets: [] });
    },
  );

  it.each(rows)("begins no later step when $call ($index) of $name $way", async ({ visit, index, way }) => {
    const { host, slow } = slowHost();
    const attempt = await visit.prepare(host, host.browser());
    slow.arm(index, way);
    await attempt();
    await everythingUnderWay();
    const { calls } = visit;
    const begun = [...calls.slice(0, index + 1), ...begunBeside(calls, index)].filter(
      (each) => !isRead(each),
    );
    expect(slow.writes).toEqual(begun);
    // nor when the answer comes after all
    await slow.mend();
    expect(slow.writes).toEqual(begun);
  });

  it.each(rows)(
    "lets the next visit have a code that is usable once when $call ($index) of $name $way",
    async ({ visit, index, way }) => {
      const { host, slow } = slowHost();
      const attempt = await visit.prepare(host, host.browser());
      slow.arm(index, way);
      await attempt();
      await slow.mend();
      const code = await obtainCode(host, { client: "web" });
      const tries = [
        await redeem(host, { client: "web", code }),
        await redeem(host, { client: "web", code }),
      ];
      expect(tries.map(({ status }) => status)).toEqual([200, 400]);
    },
  );

  it("is JSON with 503 for a program, before the redirect URI is proven", async () => {
    const { host, slow } = slowHost();
    slow.arm(0, "is lost");
    const response = await request(host.app)
      .get(`${pairPath()}/authorize?client_id=web&response_type=code`)
      .set("Accept", "application/json");
    expect([response.status, response.body]).toEqual([503, unavailable]);
  });

  it("is a page with 503 at auth.deny", async () => {
    const { host, slow } = slowHost();
    host.session = { kind: "interaction", url: "/signin" };
    const browser = host.browser();
    const first = await authorize(browser, { client: "web" });
    const interaction =
      new URL(String(first.headers["location"]), issuer).searchParams.get("interaction") ?? "";
    host.events.length = 0;
    slow.arm(0, "is lost");
    const response = await browser.post("/cancel", { interaction });
    expect([response.status, response.headers["location"]]).toEqual([503, undefined]);
    expectOneFailure(host, { call: "clients.find", secrets: [] });
  });

  it("is the host's to answer at auth.interaction", async () => {
    const { host, slow } = slowHost();
    host.session = { kind: "interaction", url: "/signin" };
    const browser = host.browser();
    const first = await authorize(browser, { client: "web" });
    const told: unknown[] = [];
    host.app.use((error: Error, _: unknown, res: { end(): void }, _next: unknown) => {
      told.push(error.message);
      res.end();
    });
    slow.arm(0, "is lost");
    await browser.follow(first);
    expect(told).toEqual(["clients.find has not answered within 5 seconds"]);
  });
});

describe("storage that does not answer in time, where the host asks (RFC 6749 §10.3)", () => {
  const key = { subject: "alice", clientId: "web", apiId: "orders" };

  it.each(ways)("is an error that auth.consents.list rejects with when consents.list %s", async (way) => {
    const { host, slow } = slowHost();
    slow.arm(0, way);
    await expect(host.auth.consents.list("alice")).rejects.toThrow(
      "consents.list has not answered within 5 seconds",
    );
    await slow.mend();
    expect(await host.auth.consents.list("alice")).toEqual([]);
  });

  const steps = ["endMarks.save", "authorizations.revokeAll", "endMarks.save", "consents.delete"];
  it.each(steps.flatMap((call, index) => ways.map((way) => ({ call, index, way }))))(
    "is an error that auth.consents.revoke rejects with when $call $way, and the next call revokes",
    async ({ call, index, way }) => {
      const { host, slow } = slowHost();
      const { access_token } = await obtainTokens(host, { client: "web" });
      host.events.length = 0;
      slow.arm(index, way);
      await expect(host.auth.consents.revoke(key)).rejects.toThrow(
        `${call} has not answered within 5 seconds`,
      );
      expect(host.events.map(({ kind }) => kind)).not.toContain("consent-revoked");
      await slow.mend();
      expect(slow.writes).toEqual(steps.slice(0, index + 1));
      await host.auth.consents.revoke(key);
      expect(await host.auth.consents.list("alice")).toEqual([]);
      expect((await callApi(host, "/orders", access_token)).status).toBe(401);
    },
  );
});

/** The same port as an instance of a class: methods on the prototype, and a private field that only it can read. */
function asInstance<Port extends object>(port: Port): Port {
  const methods = port as Readonly<Record<string, (...args: unknown[]) => unknown>>;
  class Adapter {
    readonly #methods = methods;
    call(name: string, args: unknown[]): unknown {
      return this.#methods[name]?.(...args);
    }
  }
  for (const name of Object.keys(methods)) {
    Object.defineProperty(Adapter.prototype, name, {
      value(this: Adapter, ...args: unknown[]) {
        return this.call(name, args);
      },
    });
  }
  return new Adapter() as unknown as Port;
}

/** The same storage with each port made over. */
function madeOver(storage: Storage, make: <Port extends object>(port: Port) => Port): Storage {
  return {
    clients: make(storage.clients),
    consents: make(storage.consents),
    authorizations: make(storage.authorizations),
    authorizationCodes: make(storage.authorizationCodes),
    refreshTokens: make(storage.refreshTokens),
    accessTokens: make(storage.accessTokens),
    endMarks: make(storage.endMarks),
  };
}

/** Every port is called at least once. */
async function wholeJourney(host: TestHost): Promise<readonly number[]> {
  const answers: Response[] = [];
  for (const api of ["orders", "reports"] as const) {
    const pair: Pair = { api };
    const first = await obtainTokens(host, { client: "web", pair });
    const { refresh_token: refreshToken = "" } = first;
    answers.push(
      await callApi(host, `/${api}`, first.access_token),
      await postAbout(host, { endpoint: "introspect", pair, token: first.access_token }),
      await refresh(host, { client: "web", refreshToken, pair }),
      await postAbout(host, { endpoint: "revoke", pair, token: first.access_token }),
      await fromOrigin(host),
    );
  }
  await host.auth.consents.list("alice");
  await host.auth.consents.revoke({ subject: "alice", clientId: "web", apiId: "orders" });
  return answers.map(({ status }) => status);
}

const memory = (): Storage => memoryStorage({ clients: Object.values(clients) });

async function fromOrigin(host: TestHost): Promise<Response> {
  return request(host.app).options(`${pairPath()}/token`).set("Origin", spaOrigin);
}

const wholeJourneyStatuses = [200, 200, 200, 200, 204, 200, 200, 200, 200, 204];

describe("a host's own storage behind the time limit (RFC 6749 §5.2)", () => {
  it.each<[string, Storage]>([
    ["instances of classes with private fields", madeOver(memory(), asInstance)],
    ["frozen objects", Object.freeze(madeOver(memory(), Object.freeze))],
    ["frozen instances", madeOver(madeOver(memory(), asInstance), Object.freeze)],
    ["objects without a prototype", madeOver(memory(), (port) => Object.assign(Object.create(null), port))],
  ])("may be %s", async (_, storage) => {
    const host = testHost({ storage, revocationLagSeconds: 0 });
    expect(await wholeJourney(host)).toEqual(wholeJourneyStatuses);
    expect(host.events.filter(({ kind }) => kind === "server-error")).toEqual([]);
  });

  it("is handed the arguments, and its answer is handed on, as they are", async () => {
    const asked: unknown[][] = [];
    const answer = [{ any: "thing" }];
    const consents = {
      list(...args: unknown[]) {
        asked.push(args);
        return Promise.resolve(answer);
      },
    } as unknown as Storage["consents"];
    expect(await timeLimited({ ...memory(), consents }).consents.list("alice", 1_000)).toBe(answer);
    expect(asked).toEqual([["alice", 1_000]]);
  });

  it("may fail with what it likes, which is handed on as it is", async () => {
    const failure = new Error("the database is away");
    const consents = { ...memory().consents, list: () => Promise.reject(failure) };
    await expect(timeLimited({ ...memory(), consents }).consents.list("alice", 1_000)).rejects.toBe(failure);
  });

  it("is a server_error when it throws at once", async () => {
    const failure = new Error("the database says: password=hunter2");
    const accessTokens: Storage["accessTokens"] = {
      ...memory().accessTokens,
      create() {
        throw failure;
      },
    };
    const host = testHost({ storage: { ...memory(), accessTokens } });
    const fields = { grant_type: "client_credentials", ...credentials("web"), scope: "reports:read" };
    const response = await postToken(host, { pair: opaque, fields });
    expect([response.status, response.body]).toEqual([
      500,
      { error: "server_error", error_description: "The server could not answer this request." },
    ]);
    expect(host.events).toMatchObject([{ kind: "server-error", cause: failure }]);
    expect(timers.begun.filter((timer) => !timers.cleared.has(timer))).toEqual([]);
  });

  it("leaves no timer behind, whether it answers, fails or is late", async () => {
    const { host, slow } = slowHost();
    expect(await wholeJourney(host)).toEqual(wholeJourneyStatuses);
    expect(timers.begun).toHaveLength(slow.calls.length);
    const fields = { grant_type: "client_credentials", ...credentials("machine") };
    slow.arm(0, "is lost");
    await postToken(host, { fields });
    const failing = testHost({ storage: intercept(memory(), () => Promise.reject(new Error("away"))) });
    await postToken(failing, { fields });
    expect(timers.begun.filter((timer) => !timers.cleared.has(timer))).toEqual([]);
  });

  it("has no timer at all when it answers at once", async () => {
    expect(await wholeJourney(testHost({ revocationLagSeconds: 0 }))).toEqual(wholeJourneyStatuses);
    expect(timers.begun).toEqual([]);
  });

  it("is given up without a second thought: what it fails with later goes nowhere", async () => {
    const rejected = newLatch();
    const late = newLatch();
    const unhandled: unknown[] = [];
    const hear = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", hear);
    const storage = intercept(memory(), async () => {
      await late.opened;
      rejected.open();
      throw new Error("the connection was lost");
    });
    const host = testHost({ storage });
    const fields = { grant_type: "client_credentials", ...credentials("machine") };
    expect((await postToken(host, { fields })).status).toBe(503);
    late.open();
    await rejected.opened;
    await everythingUnderWay();
    process.removeListener("unhandledRejection", hear);
    expect(unhandled).toEqual([]);
    expect(host.events.map(({ kind }) => kind)).toEqual(["server-error"]);
  });
});
