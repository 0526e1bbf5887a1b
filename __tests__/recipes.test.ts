/** The code of docs/recipes.md, docs/migrating.md and docs/getting-started.md, taken from the pages and run. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { compileFunction } from "node:vm";
import { transformSync } from "@swc/core";
import express, { type Express, type RequestHandler, type Router } from "express";
import { MemoryStore } from "express-session";
import { Strategy } from "passport";
import request, { type Response } from "supertest";
import * as authmount from "../lib";
import type { AuthMethod, AuthServer, OnEvent } from "../lib";
import { newWebBrowser, type Page, type WebBrowser } from "./clients/example";
import { buildOnce } from "./fixture/build-once";
import {
  authorizationParameters,
  baseUrl,
  clients,
  credentials,
  pairPath,
  type TestHost,
  testHost,
  webSecret,
} from "./fixture/host";
import { authorize, callApi, obtainTokens, postToken, redirectParameters } from "./fixture/journey";
import { listen } from "./fixture/listening";
import { freePort } from "./fixture/server-process";

const repository = path.resolve(__dirname, "..");

/** The code blocks of a page below one of its headings. */
function codeBelow(page: string, heading: string): readonly string[] {
  const text = readFileSync(path.join(repository, "docs", page), "utf8");
  const start = text.indexOf(`\n## ${heading}\n`);
  if (start < 0) throw new Error(`${page} has no heading "${heading}"`);
  const [section = ""] = text.slice(start + 1).split(/\n(?=## )/);
  return [...section.matchAll(/^```(?:ts|js)\n([^]*?)^```$/gm)].map(([, code]) => code ?? "");
}

/** Runs a block with what it declares as given; answers what it exports. */
function runBlock(
  {
    page = "recipes.md",
    heading,
    modules = {},
  }: { page?: string; heading: string; modules?: Readonly<Record<string, unknown>> },
  given: object,
): Readonly<Record<string, unknown>> {
  const requireByName = (name: string): unknown =>
    name === "authmount" ? authmount : (modules[name] ?? jest.requireActual(name));
  const [code = ""] = codeBelow(page, heading);
  const compiled = transformSync(code, {
    swcrc: false,
    jsc: { target: "es2023", parser: { syntax: "typescript" } },
    module: { type: "commonjs" },
  });
  const exported: Record<string, unknown> = {};
  const names = ["require", "exports", ...Object.keys(given)];
  const run = compileFunction(compiled.code, names) as (...values: unknown[]) => void;
  run(requireByName, exported, ...Object.values(given));
  return exported;
}

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
      setInterval: () => ({ unref: () => undefined }),
    },
  );
  const host = testHost({
    onEvent: block["onEvent"] as OnEvent,
    before: (app) => {
      // as a proxy in front would: each test names its callers
      app.set("trust proxy", 1);
      app.use("/login", block["limits"] as Router);
    },
  });
  return { host, alarms };
}

describe("rate limits", () => {
  interface Caller {
    readonly address?: string;
    readonly fields: Readonly<Record<string, string>>;
  }

  async function ask(host: TestHost, { address = "192.0.2.1", fields }: Caller): Promise<Response> {
    return request(host.app)
      .post(`${issuerPath}/token`)
      .set("X-Forwarded-For", address)
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
    expect(refused.body).toMatchObject({ error: "temporarily_unavailable" });
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

const callback = "http://localhost:4000/callback";

async function passportHost(): Promise<PassportHost> {
  const app = express();
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const block = runBlock(
    { heading: "A Passport session as the authentication method" },
    {
      strategy: new PasswordStrategy(),
      findUser: (id: string) => Promise.resolve({ id }),
      store: new MemoryStore(),
      sessionSecret: "a session secret of at least 32 characters",
      secure: false,
    },
  );
  const auth = authmount.createAuthServer({
    baseUrl: `${origin}/login`,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [authmount.generateSigningKey()],
    storage: authmount.memoryStorage({
      clients: [{ ...clients.web, redirectUris: [callback], trusted: true }],
    }),
    authMethods: { password: block["password"] as AuthMethod },
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
    const app = express();
    const { auth } = testHost();
    runBlock({ heading: "Behind a reverse proxy" }, { app, auth });
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

function logged(): { lines: string[]; alarms: string[]; onEvent: OnEvent } {
  const [lines, alarms]: [string[], string[]] = [[], []];
  const { onEvent } = runBlock(
    { heading: "Logging events" },
    {
      log: (line: string) => void lines.push(line),
      alarm: (text: string) => void alarms.push(text),
      // the block runs outside the test's realm, which has errors of its own
      Error,
    },
  );
  return { lines, alarms, onEvent: onEvent as OnEvent };
}

describe("logging events", () => {
  it("writes a line for each event, without the tokens", async () => {
    const { lines, onEvent } = logged();
    const tokens = await obtainTokens(testHost({ onEvent }), { client: "web" });
    const kinds = lines.map((line) => (JSON.parse(line) as { kind: string }).kind);
    expect(kinds).toEqual(expect.arrayContaining(["started", "authorization-granted", "token-issued"]));
    expect(lines.join("\n")).not.toContain(tokens.access_token);
    expect(lines.join("\n")).not.toContain(tokens.refresh_token);
  });

  it("keeps back what a storage that fails has said", async () => {
    const { lines, alarms, onEvent } = logged();
    const host = testHost({ onEvent });
    host.session = () => Promise.reject(new RangeError("SELECT … WHERE name = 'alice'"));
    await authorize(host.browser(), { client: "web" });
    expect(lines.join("\n")).toContain('"cause":"RangeError"');
    expect(lines.join("\n")).not.toContain("SELECT");
    expect(alarms).toEqual(["the authorization server has failed"]);
  });

  it("raises the alarm at a replay", async () => {
    const { alarms, onEvent } = logged();
    const host = testHost({ onEvent });
    const { refresh_token = "" } = await obtainTokens(host, { client: "web" });
    const fields = { grant_type: "refresh_token", ...credentials("web"), refresh_token };
    await postToken(host, { fields });
    await postToken(host, { fields });
    expect(alarms).toEqual(["replay of a refresh_token by web"]);
  });
});

describe("stopping without losing a request", () => {
  it("answers what is under way, takes nothing new, and then lets go of the database", async () => {
    const held = { answer: (): void => undefined };
    const app = express();
    const asked = new Promise<void>((resolve) => {
      app.get("/", (_req, res) => {
        held.answer = () => void res.send("done");
        resolve();
      });
    });
    const signals = new Map<string, () => void>();
    const servers: ReturnType<Express["listen"]>[] = [];
    const ended = new Promise<void>((resolve) => {
      const end = (): Promise<void> => Promise.resolve(resolve());
      const given = {
        app: { listen: () => servers[servers.push(app.listen(0, "127.0.0.1")) - 1] },
        pool: { end },
        process: { once: (signal: string, stop: () => void) => signals.set(signal, stop) },
      };
      runBlock({ heading: "Stopping without losing a request" }, given);
    });
    const [server] = servers;
    if (!server) throw new Error("the recipe does not listen");
    if (!server.listening) await new Promise((resolve) => server.once("listening", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const underWay = fetch(url);
    await asked;
    signals.get("SIGTERM")?.();
    await expect(fetch(url)).rejects.toThrow("fetch failed");
    held.answer();
    expect(await (await underWay).text()).toBe("done");
    await ended;
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
    const servers: Server[] = [];
    const onFreePort = {
      createServer: (listener: RequestListener) => ({
        listen: () => void servers.push(createServer(listener).listen(0, "127.0.0.1")),
      }),
    };
    runBlock({ heading: "Heavy token traffic", modules: { "node:http": onFreePort } }, host);
    const [server] = servers;
    if (!server) throw new Error("the recipe does not listen");
    if (!server.listening) await new Promise((resolve) => server.once("listening", resolve));
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

const requireOldToken: RequestHandler = (req, res) => {
  res.status(req.headers.authorization === "Bearer an-old-token" ? 200 : 401).json({ by: "the old server" });
};

function bothServers(): TestHost {
  const host = testHost();
  const page = { page: "migrating.md", heading: "Both side by side" };
  const { requireEither } = runBlock(page, { baseUrl, auth: host.auth, requireOldToken });
  host.app.get("/both", requireEither as RequestHandler, (req, res) => void res.json(req.auth));
  return host;
}

describe("migrating: an API that takes the tokens of both servers", () => {
  it("takes a token of ours", async () => {
    const host = bothServers();
    const { access_token } = await obtainTokens(host, { client: "web" });
    expect((await callApi(host, "/both", access_token)).body).toMatchObject({ subject: "alice" });
  });

  it("takes a token of the old server", async () => {
    const answer = await callApi(bothServers(), "/both", "an-old-token");
    expect(answer).toMatchObject({ status: 200, body: { by: "the old server" } });
  });

  it("does not believe a label", async () => {
    const payload = Buffer.from(JSON.stringify({ iss: `${baseUrl}/auth/password/api/orders` }));
    const answer = await callApi(bothServers(), "/both", `e30.${payload.toString("base64url")}.e30`);
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toContain('error="invalid_token"');
  });
});

describe("getting started, as it stands on the page", () => {
  const running: ChildProcess[] = [];
  let folder: string;
  let server: string;
  let client: string;

  /** Starts one of the page's programs, until it has printed its address. */
  async function start(file: string, address: string): Promise<void> {
    const env = { ...process.env, NODE_ENV: "development" };
    const child = spawn(process.execPath, [file], { cwd: folder, env });
    running.push(child);
    let printed = "";
    await new Promise<void>((resolve, reject) => {
      child.once("close", () => reject(new Error(`${file} ended: ${printed}`)));
      const listenTo = (chunk: Buffer): void => {
        printed += chunk.toString();
        if (printed.includes(`${address}\n`)) resolve();
      };
      child.stdout.on("data", listenTo);
      child.stderr.on("data", listenTo);
    });
  }

  beforeAll(async () => {
    buildOnce();
    folder = await mkdtemp(path.join(tmpdir(), "authmount-getting-started-"));
    const modules = path.join(folder, "node_modules");
    await mkdir(modules);
    await symlink(repository, path.join(modules, "authmount"), "junction");
    for (const name of ["express", "cookie-parser"]) {
      await symlink(path.join(repository, "node_modules", name), path.join(modules, name), "junction");
    }
    const ports = [await freePort(), await freePort()] as const;
    [server, client] = [`http://localhost:${ports[0]}`, `http://localhost:${ports[1]}`];
    const elsewhere = (code: string): string =>
      code
        .replaceAll(/\b(localhost:|listen\()3000\b/g, `$1${ports[0]}`)
        .replaceAll(/\b(localhost:|listen\()4000\b/g, `$1${ports[1]}`);
    const [serverCode = ""] = codeBelow("getting-started.md", "1. An app with an authorization server");
    const [clientCode = ""] = codeBelow("getting-started.md", "3. A token for a person");
    await writeFile(path.join(folder, "server.mjs"), elsewhere(serverCode));
    await writeFile(path.join(folder, "client.mjs"), elsewhere(clientCode));
    await start("server.mjs", server);
    await start("client.mjs", client);
  });
  afterAll(async () => {
    const ends = running.map((child) => new Promise((resolve) => child.once("close", resolve)));
    for (const child of running) child.kill();
    await Promise.all(ends);
    await rm(folder, { recursive: true, force: true });
  });

  const requestToken = (form: Record<string, string>): Promise<globalThis.Response> =>
    fetch(`${server}/login/auth/password/api/orders/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa("shop:only-for-trying-it-out")}` },
      body: new URLSearchParams(form),
    });

  it("gives the first token, and the API takes it", async () => {
    const answer = await requestToken({ grant_type: "client_credentials" });
    const { access_token } = (await answer.json()) as { access_token: string };
    const orders = await fetch(`${server}/orders`, { headers: { authorization: `Bearer ${access_token}` } });
    expect(await orders.json()).toMatchObject({ client: "shop" });
  });

  it("leads a person through the client, and the refresh token works", async () => {
    const browser = newWebBrowser();
    const signIn = await browser.open(client);
    const consent = await browser.submit(signIn, { password: "wonderland" });
    const { text } = await browser.submit(consent, { decision: "approve" });
    expect(text).toContain('"person":"alice"');
    const [, refresh_token = ""] = /"refresh_token": "([^"]+)"/.exec(text) ?? [];
    expect((await requestToken({ grant_type: "refresh_token", refresh_token })).status).toBe(200);
  });

  it("asks for the password again when it was wrong", async () => {
    const browser = newWebBrowser();
    const signIn = await browser.open(client);
    const again = await browser.submit(signIn, { password: "a guess" });
    expect(again.url.href).toBe(signIn.url.href);
  });

  it("asks nobody at the second visit", async () => {
    const browser = newWebBrowser();
    const consent = await browser.submit(await browser.open(client), { password: "wonderland" });
    if (consent.url.pathname !== "/callback") await browser.submit(consent, { decision: "approve" });
    const { url, text } = await browser.open(client);
    expect(url.pathname).toBe("/callback");
    expect(text).toContain('"person":"alice"');
  });

  it("says no when the person says no", async () => {
    const browser = newWebBrowser();
    const asked = new URLSearchParams({
      client_id: "shop",
      response_type: "code",
      redirect_uri: `${client}/callback`,
      prompt: "consent",
    });
    const signIn = await browser.open(
      `${server}/login/auth/password/api/orders/authorize?${asked.toString()}`,
    );
    const consent = await browser.submit(signIn, { password: "wonderland" });
    const { url } = await browser.submit(consent, { decision: "deny" }, `${client}/callback`);
    expect(url.searchParams.get("error")).toBe("access_denied");
  });
});
