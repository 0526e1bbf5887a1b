import type { Express } from "express";
import express from "express";
import request, { type Response } from "supertest";
import { createResourceServer } from "../../lib/resource-server";
import { apis, type Pair } from "../hosts/apis";
import { ownToken } from "../requests/client-requests";
import { stopClockForEachTest } from "../hosts/clock";
import { obtainTokens, type Tokens } from "../browser/journey";
import {
  introspection,
  issuerAt,
  type RemoteApi,
  remoteApi,
  type RemoteServer,
  remoteServer,
} from "./remote";

const clock = stopClockForEachTest();
let server: RemoteServer;
let api: RemoteApi;

beforeEach(async () => {
  server = await remoteServer({
    tokens: { decide: () => ({ kind: "issue", claims: { plan: "gold", roles: ["admin"] } }) },
  });
  api = remoteApi(server, { introspection });
});
afterEach(() => server.stop());

async function accessToken(pair: Pair = {}): Promise<string> {
  return (await obtainTokens(server.host, { client: "web", pair })).access_token;
}

/** What may differ between two answers: nothing that a client sees. */
function seen({ status, text, headers }: Response): object {
  const { date: _date, "set-cookie": _cookie, ...others } = headers as Record<string, unknown>;
  return { status, text, headers: others };
}

type Ask = (app: Express) => request.Test;

/** The answers of the API in the process of the authorization server, and of the one apart from it. */
async function bothAnswers(ask: Ask): Promise<[object, object]> {
  return [seen(await ask(server.host.app)), seen(await ask(api.app))];
}

describe("routes protected apart from the authorization server", () => {
  it.each<Pair>([
    {},
    { method: "otp" },
    { method: "sso" },
    { api: "reports" },
    { api: "reports", method: "sso" },
  ])("accept a token of %j, and give the same req.auth", async (pair) => {
    const token = await accessToken(pair);
    const path = `/${pair.api ?? "orders"}`;
    const [near, far] = await bothAnswers((app) => request(app).get(path).auth(token, { type: "bearer" }));
    expect(far).toEqual(near);
    expect(far).toMatchObject({ status: 200 });
    const { body } = await request(api.app).get(path).auth(token, { type: "bearer" });
    expect(body).toMatchObject({
      subject: "alice",
      issuer: issuerAt(server, pair),
      claims: { plan: "gold", roles: ["admin"] },
    });
  });

  it.each<Pair>([{}, { api: "reports" }])(
    "ask for another sign-in alike, at %j: the API apart does not know which acr values there are (RFC 9470 §3)",
    async (pair) => {
      const { api: apiId = "orders" } = pair;
      const stepUp = { api: apiId, acr: ["otp", "key"], maxAge: 60 };
      server.restart({ apis: { ...apis, [apiId]: { ...apis[apiId], acrValues: ["otp", "key"] } as never } });
      const session = { kind: "authenticated", subject: "alice", authTime: clock.now() } as const;
      for (const [acr, age, status] of [
        ["pwd", 0, 401],
        ["key", 0, 200],
        ["otp", 61, 401],
      ] as const) {
        server.host.session = { ...session, acr, authTime: clock.now() - age };
        const token = await accessToken(pair);
        const [near, far] = await Promise.all(
          [server.host, api].map(async ({ app, auth }) => {
            const path = `/stronger/${acr}`;
            app.get(path, auth.requireBearer(stepUp), (_, res) => void res.send("done"));
            return seen(await request(app).get(path).auth(token, { type: "bearer" }));
          }),
        );
        expect(far).toEqual(near);
        expect(far).toMatchObject({ status });
      }
    },
  );

  it("accept a client's own token", async () => {
    const { body } = await ownToken(server.host, { client: "web" });
    const token = (body as Tokens).access_token;
    const [near, far] = await bothAnswers((app) =>
      request(app).get("/orders").auth(token, { type: "bearer" }),
    );
    expect(far).toEqual(near);
    expect(far).toMatchObject({ status: 200 });
  });

  it.each<[string, (token: string) => Ask]>([
    ["no token", () => (app) => request(app).get("/orders")],
    [
      "a preflight",
      () => (app) => request(app).options("/orders").set("Access-Control-Request-Method", "GET"),
    ],
    ["another scheme", () => (app) => request(app).get("/orders").auth("web", "secret")],
    ["a malformed header", () => (app) => request(app).get("/orders").set("Authorization", "Bearer a b")],
    ["an empty token", () => (app) => request(app).get("/orders").set("Authorization", "Bearer ")],
    ["unknown text", () => (app) => request(app).get("/orders").auth("unknown", { type: "bearer" })],
    ["dots", () => (app) => request(app).get("/orders").auth("..", { type: "bearer" })],
    [
      "what looks like a JWT",
      () => (app) => request(app).get("/orders").auth("e30.e30.e30", { type: "bearer" }),
    ],
    ["a long text", () => (app) => request(app).get("/orders").auth("x".repeat(8_000), { type: "bearer" })],
    [
      "the token in the query",
      (token) => (app) => request(app).get(`/orders?access_token=${token}`).auth(token, { type: "bearer" }),
    ],
    [
      "the token at another API",
      (token) => (app) => request(app).get("/files").auth(token, { type: "bearer" }),
    ],
    [
      "the token at an API of opaque ones",
      (token) => (app) => request(app).get("/reports").auth(token, { type: "bearer" }),
    ],
    [
      "too few scopes",
      (token) => (app) => request(app).get("/orders/changes").auth(token, { type: "bearer" }),
    ],
    [
      "another signature",
      (token) => (app) =>
        request(app)
          .get("/orders")
          .auth(`${token.slice(0, -4)}AAAA`, { type: "bearer" }),
    ],
  ])("answer as in one process: %s (RFC 6750 §3)", async (_, ask) => {
    const token = await accessToken();
    const [near, far] = await bothAnswers(ask(token));
    expect(far).toEqual(near);
    expect(api.events.map(({ kind }) => kind)).toEqual(server.host.events.map(({ kind }) => kind).slice(-1));
  });

  it.each<Pair>([{}, { api: "reports" }])("refuse a token of %j that has expired", async (pair) => {
    const token = await accessToken(pair);
    const path = `/${pair.api ?? "orders"}`;
    const get: Ask = (app) => request(app).get(path).auth(token, { type: "bearer" });
    expect((await get(api.app)).status).toBe(200);
    clock.advance(apis[pair.api ?? "orders"]?.accessTokenSeconds ?? 0);
    const [near, far] = await bothAnswers(get);
    expect(far).toEqual(near);
    expect(far).toMatchObject({ status: 401 });
  });
});

describe("the functions for handlers", () => {
  it("read the token, hand it to MCP and ask for more scope", async () => {
    const token = await accessToken();
    const { requireBearer, accessToken: read, mcpAuth, challenge } = api.auth;
    const app = express();
    app.get(
      "/read",
      requireBearer({ api: "orders", subject: "required" }, (req, res) => {
        const { clientId, resource, extra } = mcpAuth(req);
        res.json({
          subject: read(req, { subject: "required" }).subject,
          clientId,
          resource,
          method: extra["issuer"],
        });
      }),
    );
    app.get("/more", requireBearer({ api: "orders" }), (req, res) => {
      challenge(req, res, { api: "orders", scope: "orders:write" });
    });
    const get = (path: string): request.Test => request(app).get(path).auth(token, { type: "bearer" });
    expect((await get("/read")).body).toEqual({
      subject: "alice",
      clientId: "web",
      resource: "https://api.example/orders",
      method: issuerAt(server),
    });
    const more = await get("/more");
    expect(more.status).toBe(403);
    expect(more.headers["www-authenticate"]).toContain('scope="orders:write"');
  });

  it("throw for requests that have passed another server's requireBearer only", async () => {
    const token = await accessToken();
    const app = express();
    app.get("/", api.auth.requireBearer({ api: "orders" }), (req, res) => {
      expect(() => server.host.auth.accessToken(req)).toThrow(
        expect.objectContaining({ code: "route-not-protected" }),
      );
      res.sendStatus(204);
    });
    expect((await request(app).get("/").auth(token, { type: "bearer" })).status).toBe(204);
  });
});

describe("the metadata of the API (RFC 9728 §3)", () => {
  it.each(["orders", "reports", "files"])("of %s is the document of the authorization server", async (id) => {
    const path = `/.well-known/oauth-protected-resource/${id}`;
    for (const ask of [
      (app) => request(app).get(path),
      (app) => request(app).head(path),
      (app) => request(app).options(path).set("Access-Control-Request-Headers", "MCP-Protocol-Version"),
      (app) => request(app).post(path),
    ] satisfies Ask[]) {
      const [near, far] = await bothAnswers(ask);
      expect(far).toEqual(near);
    }
  });

  it("lists the issuers of the options where they are listed, without asking anybody", async () => {
    const issuers = [issuerAt(server, { method: "sso" })];
    const audience = "https://api.example/orders";
    const scopes = ["orders:read", "orders:write"];
    const { app } = remoteApi(server, { apis: { orders: { audience, scopes, issuers } } });
    const asked = server.asked.length;
    const { body } = await request(app).get("/.well-known/oauth-protected-resource/orders");
    expect(body).toMatchObject({ authorization_servers: issuers, resource: audience });
    expect(server.asked.length).toBe(asked);
  });

  it("leaves every other path to the app", async () => {
    const app = express()
      .use(api.auth.wellKnown)
      .get("/{*rest}", (_, res) => void res.send("mine"));
    for (const path of [
      "/",
      "/.well-known/oauth-protected-resource",
      "/.well-known/oauth-authorization-server",
    ]) {
      expect((await request(app).get(path)).text).toBe("mine");
    }
  });

  it("is 503 while the authorization server can't be asked, with the cause in the event", async () => {
    server.instead = (req) => void req.socket.destroy();
    const response = await request(api.app).get("/.well-known/oauth-protected-resource/orders");
    expect(response.status).toBe(503);
    expect(String((api.events.at(-1) as { cause?: unknown }).cause)).toContain("cut off (UND_ERR_SOCKET)");
  });
});

describe("wrong options are refused when they are passed", () => {
  const orders = { audience: "https://api.example/orders", scopes: ["orders:read"] };
  const good = { baseUrl: "https://host.example/login", apis: { orders } };
  it.each<[string, object | undefined, string]>([
    ["nothing", undefined, "createResourceServer: options must be an object"],
    ["no baseUrl", { apis: { orders } }, "baseUrl is missing. Write the baseUrl of the authorization server"],
    ["http", { ...good, baseUrl: "http://host.example/login" }, "baseUrl must be https"],
    ["a slash at its end", { ...good, baseUrl: "https://host.example/" }, "baseUrl ends with a slash"],
    ["no API", { ...good, apis: {} }, "apis must not be empty. Write at least one API"],
    ["no audience", { ...good, apis: { orders: { scopes: [] } } }, "apis.orders.audience is missing"],
    [
      "a relative audience",
      { ...good, apis: { orders: { ...orders, audience: "/orders" } } },
      "apis.orders.audience is not an absolute URL",
    ],
    [
      "an audience twice",
      { ...good, apis: { orders, more: orders } },
      "apis.more.audience is also the audience of apis.orders",
    ],
    [
      "scopes as a record",
      { ...good, apis: { orders: { ...orders, scopes: { read: "Read" } } } },
      "apis.orders.scopes must be a list. List the names",
    ],
    [
      "a scope with a space",
      { ...good, apis: { orders: { ...orders, scopes: ["a b"] } } },
      "apis.orders.scopes.0 is not a scope name",
    ],
    [
      "an unknown key",
      { ...good, apis: { orders: { ...orders, authMethods: ["password"] } } },
      "apis.orders.authMethods is not an option. Known options: audience, scopes, defaultScopes, name, issuers",
    ],
    [
      "no issuer",
      { ...good, apis: { orders: { ...orders, issuers: [] } } },
      "apis.orders.issuers must not be empty",
    ],
    [
      "issuers that are undefined",
      { ...good, apis: { orders: { ...orders, issuers: undefined } } },
      "apis.orders.issuers",
    ],
    [
      "an issuer without https",
      { ...good, apis: { orders: { ...orders, issuers: ["http://host.example/a"] } } },
      "apis.orders.issuers.0 must be https",
    ],
    [
      "an issuer elsewhere, with introspection",
      {
        ...good,
        introspection,
        apis: { orders: { ...orders, issuers: ["https://host.example/login2/auth/password/api/orders"] } },
      },
      "apis.orders.issuers.0 is not below baseUrl, and introspection would send the secret there",
    ],
    ["introspection that is undefined", { ...good, introspection: undefined }, "introspection"],
    [
      "an empty secret",
      { ...good, introspection: { clientId: "web", clientSecret: "" } },
      "introspection.clientSecret must not be empty. Write { clientId, clientSecret } or { clientId, privateKey } of a confidential client, or leave it out. Is the environment variable set?",
    ],
    [
      "a lag without introspection",
      { ...good, revocationLagSeconds: 5 },
      "revocationLagSeconds has no effect without introspection",
    ],
    [
      "a lag that is too long",
      { ...good, introspection, revocationLagSeconds: 301 },
      "revocationLagSeconds must be <= 300",
    ],
    ["onEvent that is no function", { ...good, onEvent: {} }, "onEvent must be a function"],
  ])("%s", (_, options, message) => {
    expect(() => createResourceServer(options as never)).toThrow(message);
  });

  it("names routes that name unknown APIs and scopes", () => {
    const { requireBearer } = createResourceServer(good);
    expect(() => requireBearer({ api: "order" })).toThrow(
      expect.objectContaining({ code: "unknown-api-of-route" }),
    );
    expect(() => requireBearer({ api: "orders", scope: "write" })).toThrow(
      expect.objectContaining({ code: "unknown-scope-of-route" }),
    );
  });

  it("asks nobody before a token comes", async () => {
    const asked = server.asked.length;
    remoteApi(server, { introspection });
    await request(api.app).get("/orders");
    expect(server.asked.length).toBe(asked);
  });
});
