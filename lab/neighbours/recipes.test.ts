import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import express, { type Express, type RequestHandler, type Router } from "express";
import { MemoryStore } from "express-session";
import passport, { Strategy } from "passport";
import request, { type Response } from "supertest";
import * as authmount from "../../lib";
import type { AuthMethod, AuthServer, OnEvent, RateLimit } from "../../lib";
import { baseUrl, pairPath } from "../../__tests__/hosts/apis";
import { authorizationParameters } from "../../__tests__/browser/authorization-request";
import { authorize, redirectParameters } from "../../__tests__/browser/authorize";
import { clients, credentials, webSecret } from "../../__tests__/hosts/clients";
import { runBlock, runWaitingBlock } from "../../__tests__/sources/doc-block";
import { newWebBrowser, type Page, type WebBrowser } from "../../__tests__/servers/example";
import { type TestHost, testHost } from "../../__tests__/hosts/host";
import { answerOf, refusal } from "../../__tests__/requests/json-answers";
import { listen } from "../../__tests__/hosts/listening";

const issuerPath = pairPath();

/** The block mounts routers by itself: here they are empty ones, and the host's own come after them. */
function underHelmet(): TestHost {
  return testHost({
    before: (app) => {
      runBlock(
        { heading: "helmet in front of the router" },
        { app, auth: { router: express.Router(), wellKnown: express.Router() } },
      );
    },
  });
}

describe("helmet in front of the router", () => {
  it("leaves the policy of the consent page alone", async () => {
    const expected = await authorize(testHost().browser(), { client: "web" });
    const page = await authorize(underHelmet().browser(), { client: "web" });
    expect(page.status).toBe(200);
    for (const name of ["content-security-policy", "x-frame-options", "referrer-policy"]) {
      expect(page.headers[name]).toBe(expected.headers[name]);
    }
  });

  it("lets the consent form lead on to the client", async () => {
    const browser = underHelmet().browser();
    const answer = await browser.answer(await authorize(browser, { client: "web" }), "approve");
    expect(answer.status).toBe(303);
    expect(redirectParameters(answer)).toHaveProperty("code");
  });

  it("leaves a silent refresh its iframe", async () => {
    const silent = await authorize(underHelmet().browser(), { client: "spa", fields: { prompt: "none" } });
    expect(silent.status).toBe(302);
    expect(silent.headers).not.toHaveProperty("x-frame-options");
    expect(silent.headers).not.toHaveProperty("content-security-policy");
  });

  it("gives the host's own pages a policy that lets forms lead on, and their Origin be sent", async () => {
    const page = await underHelmet().browser().get("/signin");
    const policy = page.headers["content-security-policy"] as string;
    expect(policy).toContain("default-src 'self'");
    expect(policy).not.toContain("form-action");
    expect(page.headers["referrer-policy"]).toBe("same-origin");
  });
});

function limited(): { host: TestHost; alarms: string[] } {
  const alarms: string[] = [];
  const block = runBlock(
    { heading: "Rate limits" },
    {
      alarm: (text: string) => void alarms.push(text),
      apiClients: new Set(),
      setInterval: () => ({ unref: () => undefined }),
    },
  );
  const host = testHost({
    onEvent: block["onEvent"] as OnEvent,
    rateLimit: block["rateLimit"] as RateLimit,
    before: (app) => {
      // as a proxy in front would: each test names its callers
      app.set("trust proxy", 1);
      app.use("/login", block["limits"] as RequestHandler);
    },
  });
  return { host, alarms };
}

async function openPage(host: TestHost, address = "192.0.2.1"): Promise<Response> {
  const asked = request(host.app).get(`${issuerPath}/authorize`).set("X-Forwarded-For", address);
  return asked.query(authorizationParameters("web"));
}

interface Caller {
  readonly app?: RequestListener;
  readonly address?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, string>>;
}

async function ask(
  host: TestHost,
  { app = host.app, address = "192.0.2.1", headers = {}, fields }: Caller,
): Promise<Response> {
  return request(app)
    .post(`${issuerPath}/token`)
    .set({ "X-Forwarded-For": address, ...headers })
    .type("form")
    .send({ grant_type: "client_credentials", ...fields });
}

const wrong = { client_id: "web", client_secret: "a guess" };

async function guess(host: TestHost, times: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let count = 0; count < times; count += 1) {
    statuses.push((await ask(host, { fields: wrong })).status);
  }
  return statuses;
}

describe("rate limits", () => {
  it("answers 429 after ten failed client authentications from an address", async () => {
    const { host } = limited();
    const statuses = await guess(host, 11);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
  });

  it("says when to come back", async () => {
    const { host } = limited();
    await guess(host, 10);
    const refused = await ask(host, { fields: wrong });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect(answerOf(refused)).toEqual(refusal(429, "temporarily_unavailable"));
  });

  it("leaves the pages of people alone", async () => {
    const { host } = limited();
    await guess(host, 11);
    const pages = await Promise.all(Array.from({ length: 125 }, () => openPage(host)));
    expect(pages.map(({ status }) => status)).not.toContain(429);
  });

  it("serves the other clients of that address", async () => {
    const { host } = limited();
    await guess(host, 11);
    expect((await ask(host, { fields: credentials("other") })).status).toBe(200);
  });

  it("counts a client as one however its id is encoded (RFC 6749 §2.3.1)", async () => {
    const { host } = limited();
    const statuses: number[] = [];
    for (const id of [...Array<string>(5).fill("web"), ...Array<string>(5).fill("%77eb"), "we%62"]) {
      const guessed = request(host.app).post(`${issuerPath}/token`).set("X-Forwarded-For", "192.0.2.1");
      const form = { grant_type: "client_credentials" };
      statuses.push((await guessed.auth(id, "a%20guess").type("form").send(form)).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
  });

  it("serves the same client from another address meanwhile", async () => {
    const { host } = limited();
    await guess(host, 11);
    const served = await ask(host, { address: "192.0.2.2", fields: credentials("web") });
    expect(served.status).toBe(200);
  });

  it("does not count what succeeds as failed", async () => {
    const { host } = limited();
    for (let count = 0; count < 15; count += 1) {
      expect((await ask(host, { fields: credentials("web") })).status).toBe(200);
    }
  });

  it("limits one client of an address and serves another one there", async () => {
    const { host } = limited();
    const answers = await Promise.all(
      Array.from({ length: 125 }, () => ask(host, { fields: credentials("web") })),
    );
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(5);
    expect((await ask(host, { fields: credentials("other") })).status).toBe(200);
  });
});

describe("what rate limits count, and their alarm", () => {
  it("knows a client that authenticates by Basic", async () => {
    const { host } = limited();
    await Promise.all(Array.from({ length: 120 }, () => ask(host, { fields: credentials("web") })));
    const byBasic = await request(host.app)
      .post(`${issuerPath}/token`)
      .set("X-Forwarded-For", "192.0.2.1")
      .auth("web", webSecret.secret)
      .type("form")
      .send({ grant_type: "client_credentials" });
    expect(byBasic.status).toBe(429);
  });

  it("counts the addresses of one IPv6 network as one", async () => {
    const { host } = limited();
    for (let count = 1; count <= 10; count += 1) {
      await ask(host, { address: `2001:db8::${count}`, fields: wrong });
    }
    expect((await ask(host, { address: "2001:db8::ff", fields: wrong })).status).toBe(429);
  });

  it.each([
    ["an address", (port: number) => `192.0.2.1:${port}`],
    ["an IPv6 address", (port: number) => `[2001:db8::1]:${port}`],
  ])("counts %s as one, although a proxy adds the port", async (_, from) => {
    const { host } = limited();
    for (let count = 0; count < 10; count += 1)
      await ask(host, { address: from(50_000 + count), fields: wrong });
    expect((await ask(host, { address: from(60_000), fields: wrong })).status).toBe(429);
    const pages = Array.from({ length: 600 }, (_page, count) => openPage(host, from(count + 1)));
    expect((await Promise.all(pages)).filter(({ status }) => status === 429)).toHaveLength(11);
  });

  it("counts an address that makes up client ids, also in front of Express", async () => {
    const { host } = limited();
    const asks = Array.from({ length: 605 }, (_, count) =>
      ask(host, { app: host.auth.inFrontOf(host.app), fields: { client_id: `made-up-${count}` } }),
    );
    const statuses = (await Promise.all(asks)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(600);
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
  });

  it("lets a script of a browser client read when to come back", async () => {
    const { host } = limited();
    const fields = { client_id: "spa", client_secret: "a guess" };
    const origin = "https://spa.example";
    for (let count = 0; count < 10; count += 1) await ask(host, { fields });
    const headers = (await ask(host, { fields, headers: { Origin: origin } })).headers;
    expect(headers).toMatchObject({ "retry-after": "60", "access-control-allow-origin": "*" });
  });

  it("raises the alarm once for a client whose authentication fails from many addresses", async () => {
    const { host, alarms } = limited();
    for (let count = 1; count <= 25; count += 1) {
      await ask(host, { address: `198.51.100.${count}`, fields: wrong });
    }
    expect(alarms).toEqual(["20 failed authentications of web within a minute"]);
  });

  it("raises no alarm for clients that do not exist", async () => {
    const { host, alarms } = limited();
    for (let count = 1; count <= 25; count += 1) {
      await ask(host, { address: `198.51.100.${count}`, fields: { ...wrong, client_id: "nobody" } });
    }
    expect(alarms).toEqual([]);
  });
});

interface PassportHost {
  readonly browser: WebBrowser;
  readonly origin: string;
  readonly authorizeUrl: (fields?: Readonly<Record<string, string>>) => string;
  close(): Promise<void>;
}

/** Takes the password "wonderland"; in its place a host has a strategy of a package. */
class PasswordStrategy extends Strategy {
  override authenticate(req: express.Request): void {
    const { username, password } = req.body as Record<string, string>;
    if (password === "wonderland") this.success({ id: username ?? "" });
    else this.fail(401);
  }
}

// as a host has it that uses Passport already
passport.use("password", new PasswordStrategy());
passport.serializeUser((user, done) => done(null, (user as { id: string }).id));
passport.deserializeUser((id: string, done) => done(null, { id }));

const callback = "http://localhost:4000/callback";

async function passportHost(): Promise<PassportHost> {
  const app = express();
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const block = runBlock(
    { heading: "A Passport session as the authentication method" },
    {
      findUser: (id: string) => Promise.resolve({ id }),
      store: new MemoryStore(),
      sessionSecret: "a session secret of at least 32 characters",
      origin,
    },
  );
  const auth = authmount.createAuthServer({
    baseUrl: `${origin}/login`,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [authmount.generateSigningKey()],
    storage: authmount.memoryStorage({
      clients: [{ ...clients.web, redirectUris: [callback], trusted: true }],
    }),
    authMethods: { password: block["account"] as AuthMethod },
    apis: {
      orders: {
        audience: `${origin}/orders`,
        authMethods: ["password"],
        scopes: { "orders:read": "See your orders" },
      },
    },
  });
  app.use(block["sessions"] as Router);
  app.use("/login", auth.router);
  app.use((block["signInPages"] as (auth: AuthServer) => Router)(auth));
  app.get("/", (req, res) => void res.json({ person: req.user ?? "nobody" }));
  app.post("/sign-out", (req, res, next) => {
    req.logout((error) => (error ? next(error) : res.redirect(303, "/")));
  });
  const good = { ...authorizationParameters("web"), redirect_uri: callback };
  return {
    browser: newWebBrowser(),
    origin,
    authorizeUrl: (fields = {}) =>
      `${origin}${issuerPath}/authorize?${new URLSearchParams({ ...good, ...fields }).toString()}`,
    close: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
  };
}

describe("a Passport session as the authentication method", () => {
  let host: PassportHost;
  beforeEach(async () => {
    host = await passportHost();
  });
  afterEach(() => host.close());

  const right = { username: "alice", password: "wonderland" };

  async function signIn(): Promise<Page> {
    const page = await host.browser.open(host.authorizeUrl(), callback);
    return host.browser.submit(page, right, callback);
  }

  it("signs a person in and leads on to the client", async () => {
    const { url } = await signIn();
    expect(url.href).toContain(callback);
    expect(url.searchParams.get("code")).toEqual(expect.any(String));
  });

  it("keeps the interaction when the password was wrong", async () => {
    const page = await host.browser.open(host.authorizeUrl(), callback);
    const again = await host.browser.submit(page, { ...right, password: "a guess" }, callback);
    expect(again.url.href).toBe(page.url.href);
    const { url } = await host.browser.submit(again, right, callback);
    expect(url.searchParams.get("code")).toEqual(expect.any(String));
  });

  it("knows the person at the next visit", async () => {
    await signIn();
    const { url } = await host.browser.open(host.authorizeUrl({ prompt: "none" }), callback);
    expect(url.searchParams.get("code")).toEqual(expect.any(String));
  });

  it("asks again with prompt=login", async () => {
    await signIn();
    const page = await host.browser.open(host.authorizeUrl({ prompt: "login" }), callback);
    expect(page.url.pathname).toBe("/sign-in");
    const { url } = await host.browser.submit(page, right, callback);
    expect(url.searchParams.get("code")).toEqual(expect.any(String));
  });

  it("knows nobody after signing out", async () => {
    await signIn();
    const home = await host.browser.submit(
      { url: new URL("/sign-out", host.origin), status: 0, text: "" },
      {},
    );
    expect(JSON.parse(home.text)).toEqual({ person: "nobody" });
    const { url } = await host.browser.open(host.authorizeUrl({ prompt: "none" }), callback);
    expect(url.searchParams.get("error")).toBe("login_required");
  });

  it.each(["https://attacker.example", "null", undefined])(
    "signs nobody in by a form from %s (login CSRF, RFC 9700 §4.7)",
    async (from) => {
      const headers: Record<string, string> = from === undefined ? {} : { origin: from };
      const body = new URLSearchParams(right);
      const response = await fetch(`${host.origin}/sign-in`, { method: "POST", headers, body });
      expect([response.status, response.headers.getSetCookie()]).toEqual([403, []]);
    },
  );

  it("makes no session for a client at the token endpoint", async () => {
    const response = await fetch(`${host.origin}${issuerPath}/token`, {
      method: "POST",
      body: new URLSearchParams({ grant_type: "client_credentials", ...credentials("web") }),
    });
    expect(response.status).toBe(200);
    expect(response.headers.getSetCookie()).toEqual([]);
  });
});

describe("behind a reverse proxy", () => {
  const lies = { Host: "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http" };

  it("says what baseUrl says, whatever the headers are", async () => {
    const { auth } = testHost();
    const app = express().set("trust proxy", 1).use("/login", auth.router).use(auth.wellKnown);
    const metadata = await request(app).get(`${issuerPath}/.well-known/oauth-authorization-server`).set(lies);
    expect(metadata.body).toMatchObject({ issuer: `${baseUrl}/auth/password/api/orders` });
  });

  it("works where the proxy takes the path of baseUrl off", async () => {
    const app = express().use(testHost().auth.router);
    const metadata = await request(app).get(
      "/auth/password/api/orders/.well-known/oauth-authorization-server",
    );
    expect(metadata.body).toMatchObject({ token_endpoint: `${baseUrl}/auth/password/api/orders/token` });
  });
});

type Seen = Pick<express.Request, "ip" | "secure">;

const postgresStorage = () => ({
  ...authmount.memoryStorage({ clients: [clients.web] }),
  migrate: () => Promise.resolve(),
});

/** Two tenants behind one proxy; `seen` is what the session of the first one is asked with. */
async function tenantHosts(): Promise<{ app: Express; seen: Seen[]; connectionErrors: string[] }> {
  const seen: Seen[] = [];
  const connectionErrors: string[] = [];
  const authenticate: AuthMethod["authenticate"] = ({ req: { ip, secure } }) => {
    seen.push({ ip, secure });
    return { kind: "authenticated", subject: "alice", authTime: Math.floor(Date.now() / 1000) };
  };
  const tenants = ["north", "south"].map((id) => ({
    id,
    host: `${id}.example`,
    secret: `the secret of ${id}, of at least 32 characters`,
    signingKey: authmount.generateSigningKey(),
    account: { authenticate },
  }));
  class Pool {
    on(name: string): void {
      connectionErrors.push(name);
    }
  }
  const modules = { pg: { Pool }, "authmount/postgres": { postgresStorage } };
  const { app } = await runWaitingBlock({ heading: "Several hosts or tenants", modules }, { tenants });
  return { app: app as Express, seen, connectionErrors };
}

describe("several hosts or tenants", () => {
  /** The tenants of the recipe have another authentication method. */
  const tenantPath = issuerPath.replace("/password/", "/account/");
  const through = { "X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https" };

  async function tokenOf(app: Express, host: string): Promise<string> {
    const asked = request(app)
      .post(`${tenantPath}/token`)
      .set({ ...through, Host: host });
    const form = { grant_type: "client_credentials", scope: "read", ...credentials("web") };
    return ((await asked.type("form").send(form)).body as { access_token: string }).access_token;
  }

  const call = (app: Express, { host, token }: { host: string; token: string }) =>
    request(app)
      .get("/orders")
      .set({ ...through, Host: host, Authorization: `Bearer ${token}` });

  it.each(["south.example", "South.Example", "south.example."])(
    "gives each host its own issuer: %s",
    async (host) => {
      const { app } = await tenantHosts();
      const path = `${tenantPath}/.well-known/oauth-authorization-server`;
      const metadata = await request(app)
        .get(path)
        .set({ ...through, Host: host });
      expect(metadata.body).toMatchObject({ issuer: `https://south.example${tenantPath}` });
    },
  );

  it("does not take a token of one tenant at another (RFC 9068 §5)", async () => {
    const { app } = await tenantHosts();
    const token = await tokenOf(app, "north.example");
    expect((await call(app, { host: "north.example", token })).status).toBe(200);
    expect((await call(app, { host: "south.example", token })).status).toBe(401);
  });

  it("knows no other host", async () => {
    const { app } = await tenantHosts();
    expect((await request(app).get("/orders").set("Host", "west.example")).status).toBe(404);
  });

  it("tells the tenant's own code the caller's address and that it was https, behind the proxy", async () => {
    const { app, seen } = await tenantHosts();
    const query = { ...authorizationParameters("web"), scope: "read" };
    const asked = request(app).get(`${tenantPath}/authorize`).query(query);
    await asked.set({ ...through, Host: "north.example" });
    expect(seen[0]).toEqual({ ip: "203.0.113.7", secure: true });
  });

  it("survives a connection that breaks while idle", async () => {
    expect((await tenantHosts()).connectionErrors).toEqual(["error"]);
  });
});

describe("heavy token traffic (RFC 6749 §3.2)", () => {
  it("answers clients ahead of the app, and leaves the rest to it", async () => {
    const seen: string[] = [];
    const host = testHost({
      before: (app) =>
        void app.use((req, _res, next) => {
          seen.push(req.path);
          next();
        }),
    });
    const server = createServer(host.auth.inFrontOf(host.app)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const body = new URLSearchParams({ grant_type: "client_credentials", ...credentials("web") });
    const token = await fetch(`${url}${issuerPath}/token`, { method: "POST", body });
    expect([token.status, seen]).toEqual([200, []]);
    const { access_token } = (await token.json()) as { access_token: string };
    const orders = await fetch(`${url}/orders`, { headers: { Authorization: `Bearer ${access_token}` } });
    expect([orders.status, seen]).toEqual([200, ["/orders"]]);
    server.close();
    server.closeAllConnections();
  });
});

function onlyHttps(): TestHost {
  const { refuseHttp } = runBlock({ heading: "Refusing to serve without https" }, { baseUrl });
  return testHost({
    before: (app) => {
      app.set("trust proxy", 1);
      app.use(refuseHttp as RequestHandler);
    },
  });
}

describe("refusing to serve without https (RFC 6749 §3.1, §3.2)", () => {
  it.each([
    ["http", 403],
    ["https", 200],
  ])("answers a request that came by %s with %i", async (protocol, status) => {
    const app = await listen(onlyHttps().app);
    const answer = await app.send({
      path: `${issuerPath}/token`,
      headers: { "X-Forwarded-Proto": protocol },
      form: { grant_type: "client_credentials", ...credentials("web") },
    });
    await app.close();
    expect(answer.status).toBe(status);
  });

  it("does not redirect what it refuses", async () => {
    const response = await request(onlyHttps().app).get(`${issuerPath}/authorize`);
    expect(response.status).toBe(403);
    expect(response.headers).not.toHaveProperty("location");
  });
});
