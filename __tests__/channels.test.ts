/** What is published to the channels of `node:diagnostics_channel`, for the router and, by jest.config.js, for `auth.inFrontOf`. */
import { AsyncLocalStorage } from "node:async_hooks";
import { connect } from "node:net";
import request from "supertest";
import { memoryStorage, type RequestTrace } from "../lib";
import { pairPath } from "./hosts/apis";
import { authorize } from "./browser/authorize";
import {
  bindRequests,
  hearAnswers,
  hearEvents,
  hearRequests,
  moments,
  unsubscribeAfterEachTest,
  unsubscribeAll,
} from "./requests/channels";
import { introspect, ownToken, postToken, redeem, revoke } from "./requests/client-requests";
import { clients, credentials } from "./hosts/clients";
import { stopClock } from "./hosts/clock";
import { signedOut, type TestHost, testHost } from "./hosts/host";
import { callApi, obtainCode, obtainTokens } from "./browser/journey";
import { everythingUnderWay, newLatch } from "./storage/latch";
import { listen } from "./hosts/listening";
import { register, registrationHost, webMetadata } from "./requests/registration";
import { intercept } from "./storage/slow-storage";

unsubscribeAfterEachTest();
afterEach(() => jest.restoreAllMocks());

const path = pairPath();
const issuer = `https://host.example${path}`;

/** What a message says, without what is not set. */
function told(traces: readonly RequestTrace[]): object[] {
  return traces.map((trace) => JSON.parse(JSON.stringify(trace)) as object);
}

function failing(): never {
  throw new Error("the database is down: postgres://user:password@db");
}

/** A host whose storage fails. */
function brokenHost(): TestHost {
  const memory = memoryStorage({ clients: Object.values(clients) });
  return testHost({ storage: intercept(memory, async () => failing()), revocationLagSeconds: 0 });
}

describe("the channel authmount:event", () => {
  it("gets every event that onEvent gets, in the same order", async () => {
    stopClock();
    const heard = hearEvents();
    const host = testHost();
    await obtainTokens(host, { client: "web" });
    await postToken(host, { fields: { ...credentials("web"), grant_type: "password" } });
    await callApi(host, "/orders", "no token");
    expect(heard.map(({ kind }) => kind)).toEqual([
      "started",
      "authorization-requested",
      "authorization-granted",
      "token-issued",
      "token-refused",
      "bearer-refused",
    ]);
    expect(heard.slice(1)).toEqual(host.events);
  });

  it("has its own copy: a subscriber can change neither what onEvent gets nor what the client gets", async () => {
    const heard = hearEvents();
    const host = testHost();
    const scopes: unknown[] = [];
    hearRequests("start", () => undefined);
    const before = await ownToken(host, { client: "web", scope: "orders:read" });
    const [, issued] = heard as { scopes?: string[] }[];
    scopes.push(...(issued?.scopes ?? []));
    issued?.scopes?.push("orders:write");
    const [own] = host.events as { scopes?: string[] }[];
    expect([before.status, scopes, own?.scopes]).toEqual([200, ["orders:read"], ["orders:read"]]);
  });

  it("gets events when there is no onEvent, and the warnings stay", async () => {
    const warn = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const heard = hearEvents();
    const host = testHost({ onEvent: undefined as never });
    await postToken(host, { fields: { ...credentials("web"), grant_type: "password" } });
    expect(heard.map(({ kind }) => kind)).toContain("token-refused");
    expect(warn.mock.calls.flat()).toContainEqual(expect.objectContaining({ code: "grant-type-unknown" }));
  });

  it("is silent for what happens after a subscriber has left", async () => {
    const heard = hearEvents();
    const host = testHost();
    unsubscribeAll();
    await ownToken(host, { client: "web" });
    expect(heard.map(({ kind }) => kind)).toEqual(["started"]);
  });
});

describe("the channels tracing:authmount:request:*", () => {
  it("tell of one request by one object, from start to asyncEnd", async () => {
    const heard: [string, RequestTrace, object][] = [];
    for (const moment of moments) {
      hearRequests(moment, (trace) => void heard.push([moment, trace, ...told([trace])] as never));
    }
    await ownToken(testHost(), { client: "web" });
    expect(heard.map(([moment]) => moment)).toEqual(["start", "end", "asyncStart", "asyncEnd"]);
    expect(new Set(heard.map(([, trace]) => trace)).size).toBe(1);
    const begin = {
      endpoint: "token",
      method: "POST",
      route: "/login/auth/:authMethodId/api/:apiId/token",
      issuer,
      apiId: "orders",
    };
    expect(heard.map(([, , message]) => message)).toEqual([
      begin,
      begin,
      { ...begin, status: 200 },
      { ...begin, status: 200 },
    ]);
  });

  it("have no property that is not documented", async () => {
    const answers = hearAnswers();
    const host = testHost();
    const { access_token: accessToken } = await obtainTokens(host, { client: "web" });
    await callApi(host, "/orders", accessToken);
    const names = new Set(answers.flatMap((trace) => Object.keys(trace)));
    // `result` is set by Node, and has no value
    expect([...names].toSorted()).toEqual([
      "apiId",
      "endpoint",
      "issuer",
      "method",
      "result",
      "route",
      "status",
    ]);
    expect(answers.filter((trace) => Reflect.get(trace, "result") !== undefined)).toEqual([]);
  });

  it.each<[string, (host: TestHost) => PromiseLike<unknown>, object]>([
    [
      "a refused token request (RFC 6749 §5.2)",
      (host) => postToken(host, { fields: { ...credentials("web"), grant_type: "password" } }),
      { endpoint: "token", status: 400, oauthError: "unsupported_grant_type" },
    ],
    [
      "a client that is not proven (RFC 6749 §5.2)",
      (host) => postToken(host, { fields: { client_id: "web", client_secret: "a guess" } }),
      { endpoint: "token", status: 401, oauthError: "invalid_client" },
    ],
    [
      "another method",
      (host) => request(host.app).get(`${path}/token?client_secret=s3cret`),
      { endpoint: "token", method: "GET", status: 405 },
    ],
    [
      "a preflight",
      (host) => request(host.app).options(`${path}/token`).set("Origin", "https://spa.example"),
      { endpoint: "token", method: "OPTIONS", status: 204 },
    ],
    [
      "a body that is too large",
      (host) =>
        request(host.app)
          .post(`${path}/token`)
          .type("form")
          .send(`a=${"x".repeat(70_000)}`),
      { endpoint: "token", status: 413, oauthError: "invalid_request" },
    ],
    ["a revocation", (host) => revoke(host, { token: "x" }), { endpoint: "revocation", status: 200 }],
    [
      "an introspection",
      (host) => introspect(host, { token: "x" }),
      { endpoint: "introspection", status: 200 },
    ],
    [
      "metadata below the issuer",
      (host) => request(host.app).get(`${path}/.well-known/oauth-authorization-server`),
      { endpoint: "metadata", method: "GET", status: 200 },
    ],
    [
      "an authorization request that ends with a page",
      (host) => authorize(host.browser(), { client: "web" }),
      { endpoint: "authorization", method: "GET", status: 200 },
    ],
    [
      "an authorization request that redirects with an error (RFC 6749 §4.1.2.1)",
      (host) => authorize(host.browser(), { client: "web", fields: { scope: "nonsense" } }),
      { endpoint: "authorization", method: "GET", status: 302, oauthError: "invalid_scope" },
    ],
    [
      "an authorization request of nobody",
      (host) => authorize(host.browser(), { client: "web", fields: { client_id: "nobody" } }),
      { endpoint: "authorization", method: "GET", oauthError: "invalid_request", status: 400 },
    ],
    [
      "a return to nothing",
      (host) => host.browser().get(`${path}/authorize/resume`),
      { endpoint: "resume", method: "GET", oauthError: "invalid_request", status: 400 },
    ],
    [
      "a consent form of another site",
      (host) => host.browser().post(`${path}/authorize/consent`, {}, { Origin: "https://evil.example" }),
      { endpoint: "consent", oauthError: "invalid_request", status: 400 },
    ],
  ])("tell of %s", async (_, ask, expected) => {
    const answers = hearAnswers();
    await ask(testHost());
    expect(told(answers)).toEqual([
      {
        method: "POST",
        route: expect.stringMatching(/^\/login\/auth\/:authMethodId\/api\/:apiId\/[\w./-]+$/) as string,
        issuer,
        apiId: "orders",
        ...expected,
      },
    ]);
  });

  it("tell of keys and metadata, which belong to no issuer", async () => {
    const answers = hearAnswers();
    const host = testHost();
    await request(host.app).get("/login/jwks?a=b");
    await request(host.app).get("/.well-known/oauth-protected-resource/orders");
    await request(host.app).get(`/.well-known/oauth-authorization-server${path}`);
    const metadata = "/.well-known/oauth-authorization-server/login/auth/password/api/orders";
    expect(told(answers)).toEqual([
      { endpoint: "keys", method: "GET", route: "/login/jwks", status: 200 },
      {
        endpoint: "metadata",
        method: "GET",
        route: "/.well-known/oauth-protected-resource/orders",
        status: 200,
      },
      { endpoint: "metadata", method: "GET", route: metadata, status: 200 },
    ]);
  });

  it("tell of a registration (RFC 7591 §3.2)", async () => {
    const host = registrationHost();
    const answers = hearAnswers();
    await register(host, webMetadata);
    await register(host, "{");
    expect(answers.map(({ endpoint, status, oauthError }) => [endpoint, status, oauthError])).toEqual([
      ["registration", 201, undefined],
      ["registration", 400, "invalid_request"],
    ]);
  });

  it("tell of a person who goes through the host's pages", async () => {
    const answers = hearAnswers();
    const host = testHost({ consent: { decide: () => ({ kind: "interaction", url: "/ask" }) } });
    for (const answer of ["/cancel", "/allow"]) {
      const browser = host.browser();
      const asked = await authorize(browser, { client: "web" });
      const interaction = String(asked.headers["location"]).split("=")[1];
      await browser.post(answer, { interaction });
    }
    expect(answers.map(({ endpoint, status, oauthError }) => [endpoint, status, oauthError])).toEqual([
      ["authorization", 302, undefined],
      ["deny", 303, "access_denied"],
      ["authorization", 302, undefined],
      ["approve", 303, undefined],
    ]);
  });

  it("say nothing of addresses that are no endpoint, and of other routes of the host", async () => {
    const answers = hearAnswers();
    const host = testHost();
    await request(host.app).post("/login/auth/sso/api/nothing/token");
    await request(host.app).get("/signin");
    await request(host.app).get("/login/elsewhere");
    expect(answers).toEqual([]);
  });

  it("tell of a failure of storage, and not what it was", async () => {
    const answers = hearAnswers();
    const errors: RequestTrace[] = [];
    hearRequests("error", (trace) => void errors.push(trace));
    const host = brokenHost();
    await ownToken(host, { client: "web" });
    await authorize(host.browser(), { client: "web" });
    expect(answers.map(({ status, oauthError }) => [status, oauthError])).toEqual([
      [500, "server_error"],
      [500, "server_error"],
    ]);
    expect([JSON.stringify(answers).includes("postgres:"), errors]).toEqual([false, []]);
  });

  it("give what was thrown when not even the failure can be answered", async () => {
    const errors: unknown[] = [];
    hearRequests("error", ({ error }) => void errors.push(error));
    const broken = new Error("this server cannot write");
    const host = testHost({
      before: (app) =>
        app.use((_req, res, next) => {
          const writeHead = res.writeHead.bind(res);
          let failures = 2;
          res.writeHead = () => {
            failures -= 1;
            if (failures === 0) res.writeHead = writeHead;
            throw broken;
          };
          next();
        }),
    });
    jest.spyOn(console, "error").mockImplementation(() => undefined);
    const { status } = await request(host.app).get("/orders");
    expect([status, errors]).toEqual([500, [broken]]);
  });

  it("give no status for a client that disconnects while it sends", async () => {
    const answers = hearAnswers();
    const [begun, ended] = [newLatch(), newLatch()];
    hearRequests("start", () => begun.open());
    hearRequests("asyncEnd", () => ended.open());
    const app = await listen(testHost().app);
    const socket = connect(app.port, "127.0.0.1");
    const type = "Content-Type: application/x-www-form-urlencoded";
    socket.write(`POST ${path}/token HTTP/1.1\r\nHost: a\r\n${type}\r\nContent-Length: 100\r\n\r\ngrant`);
    await begun.opened;
    socket.destroy();
    await ended.opened;
    await app.close();
    expect(answers.map(({ endpoint, status, oauthError }) => [endpoint, status, oauthError])).toEqual([
      ["token", undefined, undefined],
    ]);
  });

  it("give the status of the host when the host has answered in the meantime", async () => {
    const answers = hearAnswers();
    const latch = newLatch();
    const memory = memoryStorage({ clients: Object.values(clients) });
    const storage = intercept(memory, async (_, call) => {
      await latch.opened;
      return call();
    });
    const host = testHost({
      storage,
      before: (app) =>
        app.use((_req, res, next) => {
          hearRequests("start", () => void res.status(503).end());
          next();
        }),
    });
    const inFront = Reflect.get(globalThis, "inFrontOfExpress") === true;
    // in front of Express, no handler of the host sees the request
    if (inFront) latch.open();
    const { status } = await ownToken(host, { client: "web" });
    latch.open();
    while (answers.length === 0) await everythingUnderWay();
    expect([status, answers[0]?.status]).toEqual(inFront ? [200, 200] : [503, 503]);
  });
});

describe("the check of requireBearer on these channels (RFC 6750 §3)", () => {
  it.each<[string, string | undefined, object]>([
    ["no token", undefined, { status: 401 }],
    ["a wrong token", "wrong", { status: 401, oauthError: "invalid_token" }],
  ])("tell of %s", async (_, token, expected) => {
    const host = testHost();
    const answers = hearAnswers();
    const asked = request(host.app).get("/orders?secret=1");
    await (token === undefined ? asked : asked.set("Authorization", `Bearer ${token}`));
    expect(told(answers)).toEqual([{ endpoint: "bearer", method: "GET", apiId: "orders", ...expected }]);
  });

  it("tell of too few scopes", async () => {
    const host = testHost();
    const { access_token: accessToken } = await obtainTokens(host, { client: "web" });
    const answers = hearAnswers();
    await callApi(host, "/orders/changes", accessToken);
    expect(answers.map(({ status, oauthError }) => [status, oauthError])).toEqual([
      [403, "insufficient_scope"],
    ]);
  });

  it("give no status to a request that passes: the host answers it", async () => {
    const host = testHost();
    const { access_token: accessToken } = await obtainTokens(host, { client: "web" });
    const answers = hearAnswers();
    await callApi(host, "/orders", accessToken);
    expect(told(answers)).toEqual([{ endpoint: "bearer", method: "GET", apiId: "orders" }]);
  });

  it("end before the route begins, so its time is not that of the route", async () => {
    const order: string[] = [];
    const host = testHost();
    hearRequests("asyncEnd", () => void order.push("asyncEnd"));
    host.app.get(
      "/slow",
      host.auth.requireBearer({ api: "orders" }, (_req, res) => {
        order.push("route");
        res.end();
      }),
    );
    const { access_token: accessToken } = await obtainTokens(host, { client: "web" });
    order.length = 0;
    await callApi(host, "/slow", accessToken);
    expect(order).toEqual(["asyncEnd", "route"]);
  });

  it("tell of a failure of storage", async () => {
    const memory = memoryStorage({ clients: Object.values(clients) });
    let works = true;
    const storage = intercept(memory, async (_, call) => {
      if (!works) throw new Error("down");
      return call();
    });
    const host = testHost({ storage, revocationLagSeconds: 0 });
    const { access_token: accessToken } = await obtainTokens(host, { client: "web" });
    works = false;
    const answers = hearAnswers();
    await callApi(host, "/orders", accessToken);
    expect(answers.map(({ status, oauthError }) => [status, oauthError])).toEqual([[500, "server_error"]]);
  });
});

describe("a store that is bound to these channels", () => {
  it("is seen by storage, by the host's adapters and by subscribers of events, each its own among many requests", async () => {
    const store = new AsyncLocalStorage<{ readonly trace: RequestTrace; readonly seen: string[] }>();
    const all: { readonly trace: RequestTrace; readonly seen: string[] }[] = [];
    bindRequests(store, (trace) => {
      const mine = { trace, seen: [] };
      all.push(mine);
      return mine;
    });
    const memory = memoryStorage({ clients: Object.values(clients) });
    const storage = intercept(memory, async (name, call) => {
      await new Promise(setImmediate);
      store.getStore()?.seen.push(name);
      return call();
    });
    const host = testHost({
      storage,
      revocationLagSeconds: 0,
      tokens: {
        decide: () => {
          store.getStore()?.seen.push("decide");
          return { kind: "issue" };
        },
      },
      onEvent: ({ kind }) => void store.getStore()?.seen.push(kind),
    });
    const answers = await Promise.all(Array.from({ length: 20 }, () => ownToken(host, { client: "web" })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(all).toHaveLength(20);
    for (const { trace, seen } of all) {
      expect(trace.status).toBe(200);
      expect(seen.filter((name) => name === "decide" || name === "token-issued")).toEqual([
        "decide",
        "token-issued",
      ]);
    }
  });

  it("is not seen by the route behind requireBearer, nor by the next request", async () => {
    const store = new AsyncLocalStorage<string>();
    bindRequests(store, ({ endpoint }) => endpoint);
    const host = testHost();
    const { access_token: accessToken } = await obtainTokens(host, { client: "web" });
    const seen: unknown[] = [];
    host.app.get("/seen", host.auth.requireBearer({ api: "orders" }), (_req, res) => {
      seen.push(store.getStore());
      res.end();
    });
    await store.run("the host's own", () => callApi(host, "/seen", accessToken));
    expect(seen).toHaveLength(1);
    expect(seen).not.toContain("bearer");
    expect(store.getStore()).toBeUndefined();
  });
});

/** Some answers, without what is different each time. */
async function someAnswers(): Promise<unknown[]> {
  stopClock();
  const host = testHost();
  const code = await obtainCode(host, { client: "web" });
  const redeemed = await redeem(host, { client: "web", code });
  const again = await redeem(host, { client: "web", code });
  host.session = signedOut;
  const page = await authorize(host.browser(), { client: "web", fields: { prompt: "none" } });
  const keys = await request(host.app).head("/login/jwks");
  const shown = [redeemed, again, page, keys];
  return shown.map(({ status, headers, text }) => [
    status,
    Object.keys(headers),
    String(headers["location"]).replace(/state=[^&]*/, ""),
    status === 200 ? text?.length : text,
  ]);
}

describe("answers", () => {
  it("are the same with and without subscribers", async () => {
    const silent = await someAnswers();
    const answers = hearAnswers();
    hearEvents();
    expect(await someAnswers()).toEqual(silent);
    expect(answers.length).toBeGreaterThan(4);
  });
});
