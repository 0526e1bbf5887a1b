import type { RequestListener } from "node:http";
import cookieParser from "cookie-parser";
import express, { type Express, type RequestHandler } from "express";
// @ts-expect-error Express 4 under another name comes without types
import untypedExpress4 from "express4";
import request, { type Response } from "supertest";
import { type Client, digestClientSecret } from "../../lib";
import { encode, formFields, localPath, newBrowser } from "../fixture/browser";
import { stopClock } from "../fixture/clock";
import {
  authorizationParameters,
  baseUrl,
  clients,
  codeVerifier,
  credentials,
  origin,
  pairPath,
  signedIn,
  signedOut,
  type TestHost,
  testHost,
} from "../fixture/host";
import { authorize, obtainTokens, redirectParameters } from "../fixture/journey";
import { rawRequest } from "../fixture/raw-request";

const express4 = untypedExpress4 as typeof express;

beforeEach(() => void stopClock());
afterEach(() => jest.restoreAllMocks());

const pair = "/auth/password/api/orders";
const formType = "application/x-www-form-urlencoded";

type Headers = Readonly<Record<string, string>>;

interface Journey {
  /** Every answer on the way. */
  readonly answers: readonly Response[];
  readonly iss: string | undefined;
  /** What the API route saw. */
  readonly seen: unknown;
}

/** From the sign-in page to an API call, by a browser that is sent to the host's sign-in page first. */
async function travel(
  host: TestHost,
  { app = host.app, path, headers = {} }: { app?: Express; path: string; headers?: Headers },
): Promise<Journey> {
  const browser = newBrowser(app);
  const answers: Response[] = [];
  const keep = (response: Response): Response => {
    answers.push(response);
    return response;
  };
  const visit = (response: Response): Promise<Response> =>
    browser.get(localPath(response.headers["location"] as string), {}, headers);

  host.session = signedOut;
  const sentToSignIn = keep(
    await browser.get(`${path}${pair}/authorize`, authorizationParameters("web"), headers),
  );
  const signIn = new URL(sentToSignIn.headers["location"] as string, origin);
  const interaction = signIn.searchParams.get("interaction") ?? "";
  keep(await browser.get(signIn.pathname, { interaction }, headers));
  host.session = signedIn;
  const sentBack = keep(await browser.get("/signed-in", { interaction }, headers));
  const page = keep(await visit(sentBack));
  const form = { ...formFields(page.text), decision: "approve" };
  const sentToClient = keep(await browser.post(`${path}${pair}/authorize/consent`, form, headers));
  const { code = "", iss } = redirectParameters(sentToClient);
  const redemption = {
    grant_type: "authorization_code",
    ...credentials("web"),
    code,
    code_verifier: codeVerifier,
  };
  const tokens = keep(
    await request(app).post(`${path}${pair}/token`).set(headers).type("form").send(encode(redemption)),
  );
  const { access_token } = tokens.body as { access_token: string };
  const call = keep(
    await request(app)
      .get("/orders")
      .set({ ...headers, Authorization: `Bearer ${access_token}` }),
  );
  keep(await request(app).get("/orders").set(headers));
  keep(await request(app).get("/.well-known/oauth-protected-resource/orders").set(headers));
  return { answers, iss, seen: call.body as unknown };
}

const wholeJourney = [302, 200, 302, 200, 303, 200, 200, 401, 200];

/** The pages that `travel` goes by. Left out of the fixture's, as a body parser ahead may take their form. */
function addPages(host: TestHost, app: Express): void {
  app.get("/signin", async (req, res) => void res.json(await host.auth.interaction(req)));
  app.get("/signed-in", (req, res) => host.auth.resume(req, res));
}

/** Another app of the host with the same server in it; the router is mounted by `mount`. */
function otherApp(host: TestHost, mount: (app: Express) => void, app: Express = express()): Express {
  mount(app);
  app.use(host.auth.wellKnown);
  addPages(host, app);
  app.get("/orders", host.auth.requireBearer({ api: "orders" }), (req, res) => void res.json(req.auth));
  app.use((req, res) => void res.status(418).json({ host: req.originalUrl }));
  return app;
}

describe("where the router is mounted (RFC 8414 §2, 9207 §2)", () => {
  const places: Record<string, { url: string; mount: (app: Express, host: TestHost) => void }> = {
    "at the root": { url: origin, mount: (app, { auth }) => void app.use(auth.router) },
    "at a path": { url: `${origin}/login`, mount: (app, { auth }) => void app.use("/login", auth.router) },
    "at a path of two parts": {
      url: `${origin}/id/v1`,
      mount: (app, { auth }) => void app.use("/id/v1", auth.router),
    },
    "in routers of the host, two levels deep": {
      url: `${origin}/a/b/login`,
      mount(app, { auth }) {
        const [outer, inner] = [express.Router(), express.Router()];
        app.use("/a", outer);
        outer.use("/b", inner);
        inner.use("/login", auth.router);
      },
    },
    "in an app inside the host's app": {
      url: `${origin}/inner/login`,
      mount(app, { auth }) {
        const inner = express();
        app.use("/inner", inner);
        inner.use("/login", auth.router);
      },
    },
    "at a path with a parameter": {
      url: `${origin}/tenant-1/login`,
      mount: (app, { auth }) => void app.use("/:tenant/login", auth.router),
    },
  };
  it.each(Object.entries(places))("serves the whole journey %s", async (_, { url, mount }) => {
    const host = testHost({ baseUrl: url });
    const app = otherApp(host, (bare) => mount(bare, host));
    const path = url.slice(origin.length);
    const { answers, iss, seen } = await travel(host, { app, path });
    expect(answers.map(({ status }) => status)).toEqual(wholeJourney);
    expect(iss).toBe(`${url}${pair}`);
    expect(answers[2]?.headers["location"]).toContain(`${url}${pair}/authorize/resume?interaction=`);
    expect(answers[3]?.text).toContain(`action="${url}${pair}/authorize/consent"`);
    expect(seen).toMatchObject({ issuer: `${url}${pair}`, subject: "alice" });
    expect(answers.at(-1)?.body).toMatchObject({
      authorization_servers: ["password", "otp", "sso"].map((method) => `${url}/auth/${method}/api/orders`),
    });
  });

  it("leaves the host's own routes alone when it is mounted at the root", async () => {
    const host = testHost({ baseUrl: origin });
    const app = otherApp(host, (bare) => void bare.use(host.auth.router));
    for (const path of [
      "/",
      "/auth",
      "/auth/callback",
      "/token",
      "/authorize",
      "/auth/password/api/orders",
    ]) {
      const response = await request(app).post(path).type("form").send("a=b");
      expect({ status: response.status, body: response.body as unknown }).toEqual({
        status: 418,
        body: { host: path },
      });
    }
  });
});

describe("Host and X-Forwarded-* (RFC 9700 §4.13, 9110 §7.2)", () => {
  const lies: Headers = {
    Host: "evil.example",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Proto": "http",
    "X-Forwarded-Port": "6666",
    "X-Forwarded-Prefix": "/evil",
    "X-Forwarded-Server": "evil.example",
    "X-Original-URL": "/evil",
    "X-Original-Host": "evil.example",
    Forwarded: "host=evil.example;proto=http",
  };

  it.each([false, true])("never show in an answer, with trust proxy %s", async (trusted) => {
    const host = testHost({ before: (app) => void app.set("trust proxy", trusted) });
    addPages(host, host.app);
    const { answers, iss } = await travel(host, { path: "/login", headers: lies });
    const path = `/login${pair}`;
    const more = [
      await request(host.app).get(`${path}/authorize`).set(lies),
      await request(host.app).get(`${path}/authorize/resume`).set(lies),
      await request(host.app).post(`${path}/token`).set(lies).set("Authorization", "Basic eDp5"),
      await request(host.app).post(`/login/auth/x/api/orders/token`).set(lies),
      await request(host.app).get("/orders/changes").set(lies).set("Authorization", "Bearer x"),
    ];
    expect(answers.map(({ status }) => status)).toEqual([302, 200, 302, 200, 303, 200, 200, 401, 200]);
    expect(iss).toBe(`${baseUrl}${pair}`);
    const written = [...answers, ...more].map(({ headers, text }) => JSON.stringify([headers, text]));
    expect(written.filter((answer) => /evil|6666|http:\/\//.test(answer))).toEqual([]);
  });

  it("serve behind a proxy that strips a prefix", async () => {
    const url = `${origin}/public/login`;
    const behind = testHost({ baseUrl: url });
    const app = otherApp(behind, (bare) => void bare.use("/login", behind.auth.router));
    const proxy: RequestListener = (req, res) => {
      req.url = req.url?.replace(/^\/public(?=\/)/, "") ?? "";
      app(req, res);
    };
    const headers = { "X-Forwarded-Prefix": "/public", "X-Forwarded-Host": "host.example" };
    const journey = await travel(behind, { app: proxy as Express, path: "/public/login", headers });
    expect(journey.answers.map(({ status }) => status)).toEqual(wholeJourney);
    expect(journey.iss).toBe(`${url}${pair}`);
    expect(journey.seen).toMatchObject({ issuer: `${url}${pair}` });
  });

  it("keep the sealed cookie bound to this very host over https", async () => {
    const host = testHost();
    const browser = host.browser();
    const response = await browser.get(`/login${pair}/authorize`, authorizationParameters("web"), lies);
    expect(response.headers["set-cookie"]).toEqual([
      expect.stringMatching(
        /^__Host-authmount\.[\w-]{22}=s:[^;]+; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/,
      ),
    ]);
  });
});

const parsers: Record<string, readonly RequestHandler[]> = {
  "no parser": [],
  "express.json()": [express.json()],
  "express.urlencoded({ extended: false })": [express.urlencoded({ extended: false })],
  "express.urlencoded({ extended: true })": [express.urlencoded({ extended: true })],
  "express.text()": [express.text()],
  "express.raw()": [express.raw()],
  "express.text() of everything": [express.text({ type: "*/*" })],
  "express.raw() of everything": [express.raw({ type: "*/*" })],
  "all of them": [express.json(), express.urlencoded({ extended: true }), express.text(), express.raw()],
  "a parser that parses twice": [
    express.urlencoded({ extended: true }),
    express.urlencoded({ extended: false }),
  ],
};

function parsedHost(handlers: readonly RequestHandler[], records?: readonly Client[]): TestHost {
  const before = (app: Express): void => {
    for (const handler of handlers) app.use(handler);
  };
  return testHost({ before, ...(records && { clients: records }) });
}

function post(host: TestHost, body: string, headers: Headers = {}): Promise<Response> {
  return Promise.resolve(
    request(host.app)
      .post(`${pairPath()}/token`)
      .set({ "Content-Type": formType, ...headers })
      .send(body),
  );
}

const clientCredentials = encode({ grant_type: "client_credentials", ...credentials("machine") });

describe("body parsers of the host ahead of the router (RFC 6749 §3.2)", () => {
  const rows = Object.entries(parsers);
  const bent = "p+l u%2Bs&=é;[x]";
  const bentDigest = digestClientSecret(bent);

  it.each(rows)("%s: the whole journey, consent form and token request", async (_, handlers) => {
    const host = parsedHost(handlers);
    addPages(host, host.app);
    const { answers, seen } = await travel(host, { path: "/login" });
    expect(answers.map(({ status }) => status)).toEqual(wholeJourney);
    expect(seen).toMatchObject({ subject: "alice", scopes: ["orders:read"] });
  });

  it.each(rows)("%s: a no on the consent page", async (_, handlers) => {
    const host = parsedHost(handlers);
    const browser = host.browser();
    const answer = await browser.answer(await authorize(browser, { client: "web" }), "deny");
    expect(answer.status).toBe(303);
    expect(redirectParameters(answer)).toMatchObject({ error: "access_denied", state: "a state" });
  });

  it.each(rows)("%s: allows only the scopes that were ticked", async (_, handlers) => {
    const host = parsedHost(handlers);
    const browser = host.browser();
    const fields = { scope: "orders:read orders:write" };
    const page = await authorize(browser, { client: "web", fields });
    const answer = await browser.answer(page, "approve", { scope_0: undefined });
    const { code = "" } = redirectParameters(answer);
    const sent = {
      grant_type: "authorization_code",
      ...credentials("web"),
      code,
      code_verifier: codeVerifier,
    };
    expect((await post(host, encode(sent))).body).toMatchObject({ scope: "orders:write" });
  });

  it.each(rows)("%s: decodes values alike", async (_, handlers) => {
    const clientId = "shop:1+2&=[x]";
    const records = [{ ...clients.machine, clientId, secretDigests: [await bentDigest] }];
    const sent = { grant_type: "client_credentials", client_id: clientId, client_secret: bent };
    const response = await post(parsedHost(handlers, records), encode(sent));
    expect(response.status).toBe(200);
  });

  it.each(rows)("%s: refuses a repeated parameter", async (_, handlers) => {
    const response = await post(parsedHost(handlers), `${clientCredentials}&client_id=machine`);
    expect(response.status).toBe(400);
    expect(response.body).toEqual({
      error: "invalid_request",
      error_description: "A parameter is repeated or is not UTF-8 text.",
    });
  });

  it.each(rows)("%s: takes no parameter from brackets", async (_, handlers) => {
    const body = encode({
      "client_id[]": "machine",
      "client_secret[x]": "y",
      grant_type: "client_credentials",
    });
    const response = await post(parsedHost(handlers), body);
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ error: "invalid_request" });
  });

  it.each(rows)("%s: refuses JSON", async (_, handlers) => {
    const body = JSON.stringify({ grant_type: "client_credentials", ...credentials("machine") });
    const response = await post(parsedHost(handlers), body, { "Content-Type": "application/json" });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ error: "invalid_request" });
  });

  it.each(rows)("%s: answers 413 to a body over 64 KiB with Content-Length", async (_, handlers) => {
    const body = `${clientCredentials}&pad=`.padEnd(64 * 1024 + 1, "x");
    expect((await post(parsedHost(handlers), body)).status).toBe(413);
  });

  it.each(rows)("%s: answers 413 to a body over 64 KiB in chunks", async (_, handlers) => {
    const response = await rawRequest(parsedHost(handlers).app, {
      method: "POST",
      path: `${pairPath()}/token`,
      headers: { "Content-Type": formType },
      chunks: [`${clientCredentials}&pad=`, "x".repeat(64 * 1024)],
    });
    expect(response.status).toBe(413);
  });

  it.each(rows)("%s: counts bytes, not characters", async (_, handlers) => {
    const response = await rawRequest(parsedHost(handlers).app, {
      method: "POST",
      path: `${pairPath()}/token`,
      headers: { "Content-Type": formType },
      chunks: [`${clientCredentials}&pad=`, "é".repeat(32 * 1024)],
    });
    expect(response.status).toBe(413);
  });

  it.each(rows)("%s: takes exactly 64 KiB, with Content-Length and in chunks", async (_, handlers) => {
    const body = `${clientCredentials}&pad=`.padEnd(64 * 1024, "x");
    const { app } = parsedHost(handlers);
    const statuses = [];
    for (const length of [{ "Content-Length": String(body.length) }, {}]) {
      const headers = { "Content-Type": formType, ...length };
      const sent = { method: "POST", path: `${pairPath()}/token`, headers, chunks: [body] };
      statuses.push((await rawRequest(app, sent)).status);
    }
    expect(statuses).toEqual([200, 200]);
  });

  it.each(rows)("%s: refuses an empty body", async (_, handlers) => {
    const response = await post(parsedHost(handlers), "");
    expect(response.status).toBe(400);
    expect(response.body).toEqual({ error: "invalid_request", error_description: "client_id is missing." });
  });

  it.each([undefined, null, 1, ["x"], { x: "y" }])(
    "refuses a body in which the host has put %j, and does not fail",
    async (value) => {
      const mark: RequestHandler = (req, _res, next) => {
        (req.body as Record<string, unknown>)["mark"] = value;
        next();
      };
      const response = await post(
        parsedHost([express.urlencoded({ extended: false }), mark]),
        clientCredentials,
      );
      expect(response.status).toBe(400);
      expect(response.body).toMatchObject({ error: "invalid_request" });
    },
  );
});

describe("body parsers of the host after the router", () => {
  it("find the bodies of all that is not the router's", async () => {
    const host = testHost();
    const app = express();
    app.use("/login", host.auth.router, host.auth.wellKnown);
    app.use(express.json(), express.urlencoded({ extended: true }));
    app.use((req, res) => void res.json({ host: req.originalUrl, body: req.body as unknown }));
    for (const path of ["/echo", "/login/echo", `${pairPath()}/echo`, `${pairPath()}/token/`]) {
      const json = await request(app).post(path).send({ a: "b" });
      const form = await request(app).post(path).type("form").send("a=b");
      for (const response of [json, form]) expect(response.body).toEqual({ host: path, body: { a: "b" } });
    }
    const own = await request(app).post(`${pairPath()}/token`).type("form").send(clientCredentials);
    expect(own.body).toMatchObject({ token_type: "bearer" });
  });
});

/** A host with signed cookies of its own. */
function signCookies(app: Express): void {
  app.use(cookieParser(["a secret of the host", "an older one"]));
  app.get("/theirs", (_req, res) => void res.cookie("theirs", "kept", { signed: true }).end());
}

/** What security and caching middleware sets on everything. */
const framing: RequestHandler = (_req, res, next) => {
  res.setHeader("X-Frame-Options", "SAMEORIGIN");
  res.setHeader("Content-Security-Policy", "default-src 'self'; form-action 'self'; frame-ancestors 'self'");
  res.setHeader("Referrer-Policy", "no-referrer");
  res.setHeader("Cache-Control", "public, max-age=3600");
  next();
};

function framed(): TestHost {
  return testHost({ before: (app) => void app.use(framing) });
}

describe("other middleware of the host ahead of the router", () => {
  it("may read its own signed cookies, with secrets of its own", async () => {
    const host = testHost({ before: signCookies });
    addPages(host, host.app);
    host.app.get("/read", (req, res) => void res.json(req.signedCookies));
    const { answers, seen } = await travel(host, { path: "/login" });
    expect(answers.map(({ status }) => status)).toEqual(wholeJourney);
    expect(answers[1]?.body).toMatchObject({ client: { clientId: "web" } });
    expect(seen).toMatchObject({ subject: "alice" });

    const browser = host.browser();
    await browser.get("/theirs");
    await authorize(browser, { client: "web", fields: { prompt: "consent" } });
    expect(browser.cookies.size).toBe(2);
    expect((await browser.get("/read")).body).toMatchObject({ theirs: "kept" });
  });

  it("may set security headers on everything: the journey works", async () => {
    const host = framed();
    addPages(host, host.app);
    const { answers } = await travel(host, { path: "/login" });
    expect(answers.map(({ status }) => status)).toEqual(wholeJourney);
  });

  it("cannot keep prompt=none out of a hidden iframe (OpenID Connect Core §3.1.2.1)", async () => {
    const host = framed();
    await obtainTokens(host, { client: "spa" });
    const silent = await authorize(host.browser(), { client: "spa", fields: { prompt: "none" } });
    expect(redirectParameters(silent)).toHaveProperty("code");
    host.session = signedOut;
    const refused = await authorize(host.browser(), { client: "spa", fields: { prompt: "none" } });
    expect(redirectParameters(refused)).toMatchObject({ error: "login_required" });
    for (const { headers, status } of [silent, refused]) {
      expect(status).toBe(302);
      expect(headers).not.toHaveProperty("x-frame-options");
      expect(headers).not.toHaveProperty("content-security-policy");
    }
  });

  it("cannot loosen the pages that people see (RFC 9700 §4.16)", async () => {
    const host = framed();
    const consentPage = await authorize(host.browser(), { client: "web" });
    const errorPage = await authorize(host.browser(), { client: "web", fields: { client_id: "nobody" } });
    expect([consentPage.status, errorPage.status]).toEqual([200, 400]);
    const policies = [consentPage, errorPage].map(({ headers }) => {
      expect(headers).toMatchObject({
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
        "cache-control": "no-store",
      });
      return (headers["content-security-policy"] as string).replace(/sha256-[^']+/, "sha256-…");
    });
    const strict =
      "default-src 'none'; style-src 'sha256-…'; base-uri 'none'; frame-ancestors 'none'; form-action";
    expect(policies).toEqual([`${strict} 'self' https:`, `${strict} 'self'`]);
  });

  it("cannot have a token answer stored (RFC 6749 §5.1)", async () => {
    const host = framed();
    const answers = [
      await post(host, clientCredentials),
      await post(host, ""),
      await request(host.app).get("/orders"),
    ];
    expect(answers.map(({ headers }) => headers["cache-control"] as string)).toEqual([
      "no-store",
      "no-store",
      "no-store",
    ]);
  });
});

describe("Express 4", () => {
  const makeApp = (host: TestHost, handlers: readonly RequestHandler[] = []): Express => {
    const app = express4();
    for (const handler of handlers) app.use(handler);
    return otherApp(host, (bare) => void bare.use("/login", host.auth.router), app);
  };

  it("is what these tests run in", () => {
    expect(express4().mountpath).toBe("/");
    expect("lazyrouter" in express4()).toBe(true);
    expect("lazyrouter" in express()).toBe(false);
  });

  const express4Parsers: Record<string, readonly RequestHandler[]> = {
    "no parser": [],
    "express.json()": [express4.json()],
    "express.urlencoded({ extended: false })": [express4.urlencoded({ extended: false })],
    "express.urlencoded({ extended: true })": [express4.urlencoded({ extended: true })],
    "express.text() of everything": [express4.text({ type: "*/*" })],
    "express.raw() of everything": [express4.raw({ type: "*/*" })],
    "all of them": [
      express4.json(),
      express4.urlencoded({ extended: true }),
      express4.text(),
      express4.raw(),
    ],
  };
  it.each(Object.entries(express4Parsers))("serves the whole journey with %s", async (_, handlers) => {
    const host = testHost();
    const { answers, iss, seen } = await travel(host, { app: makeApp(host, handlers), path: "/login" });
    expect(answers.map(({ status }) => status)).toEqual(wholeJourney);
    expect(iss).toBe(`${baseUrl}${pair}`);
    expect(seen).toMatchObject({ subject: "alice", clientId: "web", scopes: ["orders:read"] });
  });

  it("takes the router in routers of its own, two levels deep", async () => {
    const url = `${origin}/a/login`;
    const host = testHost({ baseUrl: url });
    const outer = express4.Router();
    outer.use("/login", host.auth.router);
    const app = otherApp(host, (bare) => void bare.use("/a", outer), express4());
    const { answers, iss } = await travel(host, { app, path: "/a/login" });
    expect(answers.map(({ status }) => status)).toEqual(wholeJourney);
    expect(iss).toBe(`${url}${pair}`);
  });

  it("gets what is not the router's, with its body", async () => {
    const host = testHost();
    const app = express4();
    app.use("/login", host.auth.router);
    app.use(express4.urlencoded({ extended: false }));
    app.use((req, res) => void res.json({ host: req.originalUrl, body: req.body as unknown }));
    const path = `${pairPath()}/unknown`;
    const response = await request(app).post(path).type("form").send("a=b");
    expect(response.body).toEqual({ host: path, body: { a: "b" } });
  });

  it("gets the challenges, the 404 of an unknown pair and the 405 as ever", async () => {
    const host = testHost();
    const app = makeApp(host);
    const answers = [
      await request(app).get("/orders"),
      await request(app).post("/login/auth/x/api/orders/token"),
      await request(app).get(`${pairPath()}/token`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 404, 405]);
    expect(answers[0]?.headers["www-authenticate"]).toMatch(/^Bearer realm="https:\/\/api\.example\/orders"/);
    expect(answers[2]?.headers["allow"]).toBe("POST, OPTIONS");
  });
});

describe("paths that are not the router's (RFC 3986 §6.2.2, 9700 §4.1)", () => {
  const app = ((): Express => {
    const host = testHost();
    return otherApp(host, (bare) => void bare.use("/login", host.auth.router));
  })();
  const send = async (path: string, method: string): Promise<{ status: number; body: unknown }> => {
    const headers = { "Content-Type": formType };
    const chunks = method === "POST" ? [clientCredentials] : [];
    const { status, text } = await rawRequest(app, { method, path, headers, chunks });
    return { status, body: JSON.parse(text) as unknown };
  };

  const token = `/login${pair}/token`;
  const elsewhere = [
    "/login",
    "/login/",
    "/login/auth",
    "/login/auth/password/api",
    `/login${pair}`,
    `/login${pair}/`,
    `/login${pair}/unknown`,
    `/login${pair}/authorize/unknown`,
    // other case
    `/login${pair}/Token`,
    `/login${pair}/TOKEN`,
    `/login${pair}/Authorize`,
    "/login/Auth/password/api/orders/token",
    "/login/auth/password/API/orders/token",
    // slashes
    `${token}/`,
    `${token}//`,
    `/login${pair}/authorize/`,
    `/login${pair}/authorize/consent/`,
    `/login${pair}//token`,
    `/login/${pair}/token`,
    "/login/auth//password/api/orders/token",
    "/login/auth/password//api/orders/token",
    "/login/auth/password/api//orders/token",
    "/login/auth//api/orders/token",
    // escapes
    `/login${pair}/%74oken`,
    `/login${pair}/token%2F`,
    `/login${pair}/token%20`,
    `/login${pair}/token%00`,
    `/login${pair}/token;x=1`,
    `/login${pair}/authorize%2Fconsent`,
    `/login${pair}%2Ftoken`,
    "/login/auth%2Fpassword/api/orders/token",
    "/login/auth/password%2Fapi%2Forders/token",
    "/login/auth/password/%61pi/orders/token",
    // dots
    `/login/x/..${pair}/token`,
    `/login/%2e%2e/login${pair}/token`,
    `/login${pair}/../orders/token`,
    `/login${pair}/%2e%2e/files/token`,
    `/login${pair}/./token`,
    `/login${pair}/..%2Ftoken`,
    "/login/auth/./password/api/orders/token",
    // names of every object
    `/login${pair}/constructor`,
    `/login${pair}/__proto__`,
    `/login${pair}/toString`,
  ];
  it.each(elsewhere)("%s goes on to the host, as it is", async (path) => {
    for (const method of ["GET", "POST", "OPTIONS", "DELETE"]) {
      expect(await send(path, method)).toEqual({ status: 418, body: { host: path } });
    }
  });

  const noPair = [
    "/login/auth/PASSWORD/api/orders/token",
    "/login/auth/password/api/Orders/token",
    "/login/auth/%70assword/api/orders/token",
    "/login/auth/password/api/order%73/token",
    "/login/auth/../api/orders/token",
    "/login/auth/%2e%2e/api/orders/token",
    "/login/auth/password/api/%2e%2e/token",
    "/login/auth/password/api/./token",
    "/login/auth/password%2F/api/orders/token",
    "/login/auth/password%2F..%2Fpassword/api/orders/token",
    "/login/auth/password/api/orders%2F..%2Forders/token",
    "/login/auth/password/api/orders%00/token",
    "/login/auth/password /api/orders/token".replace(" ", "%20"),
    "/login/auth/password;x/api/orders/token",
    "/login/auth/__proto__/api/orders/token",
    "/login/auth/password/api/constructor/token",
    "/login/auth/password/api/%zz/token",
  ];
  it.each(noPair)("%s is no pair: 404", async (path) => {
    for (const method of ["GET", "POST", "OPTIONS", "DELETE"]) {
      expect(await send(path, method)).toEqual({
        status: 404,
        body: { error: "not_found", error_description: "There is no authorization server at this address." },
      });
    }
  });

  it("serves the very path, with or without an empty query", async () => {
    for (const path of [token, `${token}?`, `${token}?x=y`]) {
      expect((await send(path, "POST")).status).toBe(200);
    }
  });

  const rootPaths = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/",
    "/.well-known/oauth-protected-resource/orders/",
    "/.well-known/oauth-protected-resource/Orders",
    "/.well-known/oauth-protected-resource//orders",
    "/.well-known/oauth-protected-resource/%6frders",
    "/.well-known/oauth-protected-resource/orders%2F",
    "/.well-known/oauth-protected-resource/x/../orders",
    "/.well-known/oauth-protected-resource/unknown",
    "/.well-known/%6fauth-protected-resource/orders",
  ];
  it.each(rootPaths)("%s is none of the documents at the root (RFC 9728 §3)", async (path) => {
    expect(await send(path, "GET")).toEqual({ status: 418, body: { host: path } });
  });
});
