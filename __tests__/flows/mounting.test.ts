import type { RequestListener } from "node:http";
import cookieParser from "cookie-parser";
import express, { type Express, type RequestHandler } from "express";
import request from "supertest";
import { baseUrl, origin, pairPath } from "../hosts/apis";
import { authorizationParameters } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { stopClockForEachTest } from "../hosts/clock";
import { express4 } from "../servers/express4";
import { signedOut, type TestHost, testHost } from "../hosts/host";
import { obtainTokens } from "../browser/journey";
import { formType } from "../requests/json-answers";
import { rawRequest } from "../requests/raw-request";
import { clientCredentials, postTokenText } from "../requests/token-requests";
import { addPages, type Headers, otherApp, pairBelowMount, travel, wholeJourney } from "./whole-journey";

stopClockForEachTest();

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
    expect(iss).toBe(`${url}${pairBelowMount}`);
    expect(answers[2]?.headers["location"]).toContain(
      `${url}${pairBelowMount}/authorize/resume?interaction=`,
    );
    expect(answers[3]?.text).toContain(`action="${url}${pairBelowMount}/authorize/consent"`);
    expect(seen).toMatchObject({ issuer: `${url}${pairBelowMount}`, subject: "alice" });
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

describe("a path in another case than baseUrl has it (RFC 3986 §6.2.2.1)", () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ["the mount path", "/login", "/LOGIN"],
    ["a part of it", "/id/v1/login", "/id/V1/login"],
    ["what a proxy has left of it", "/public/login", "/Login"],
  ];
  const mounts = { "/public/login": "/login" } as const;

  it.each(rows)("is not served, so rules by path in a proxy hold: %s", async (_, path, asked) => {
    const host = testHost({ baseUrl: `${origin}${path}` });
    const mount = Reflect.get(mounts, path) as string | undefined;
    const app = otherApp(host, (bare) => void bare.use(mount ?? path, host.auth.router));
    const inFront = host.auth.inFrontOf(app);
    for (const served of [app, inFront]) {
      const statuses = async (place: string): Promise<readonly number[]> => [
        (await request(served).post(`${place}${pairBelowMount}/token`).type("form").send("a=b")).status,
        (await request(served).get(`${place}${pairBelowMount}/authorize`)).status,
        (await request(served).get(`${place}/jwks`)).status,
      ];
      // what the host answers to everything else
      expect(await statuses(asked)).toEqual([418, 418, 418]);
      expect(await statuses(mount ?? path)).toEqual([400, 400, 200]);
    }
  });

  it("is another path at the root of the origin too", async () => {
    const { app } = testHost();
    const path = "/.well-known/oauth-protected-resource/orders";
    expect((await request(app).get(path)).status).toBe(200);
    for (const other of [path.toUpperCase(), path.replace("/orders", "/Orders")])
      expect((await request(app).get(other)).status).toBe(404);
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
    const path = `/login${pairBelowMount}`;
    const more = [
      await request(host.app).get(`${path}/authorize`).set(lies),
      await request(host.app).get(`${path}/authorize/resume`).set(lies),
      await request(host.app).post(`${path}/token`).set(lies).set("Authorization", "Basic eDp5"),
      await request(host.app).post(`/login/auth/x/api/orders/token`).set(lies),
      await request(host.app).get("/orders/changes").set(lies).set("Authorization", "Bearer x"),
    ];
    expect(answers.map(({ status }) => status)).toEqual([302, 200, 302, 200, 303, 200, 200, 401, 200]);
    expect(iss).toBe(`${baseUrl}${pairBelowMount}`);
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
    expect(journey.iss).toBe(`${url}${pairBelowMount}`);
    expect(journey.seen).toMatchObject({ issuer: `${url}${pairBelowMount}` });
  });

  it("keep the sealed cookie bound to this very host over https", async () => {
    const host = testHost();
    const browser = host.browser();
    const response = await browser.get(
      `/login${pairBelowMount}/authorize`,
      authorizationParameters("web"),
      lies,
    );
    expect(response.headers["set-cookie"]).toEqual([
      expect.stringMatching(
        /^__Host-authmount\.[\w-]{22}=s:[^;]+; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/,
      ),
    ]);
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
      await postTokenText(host, clientCredentials),
      await postTokenText(host, ""),
      await request(host.app).get("/orders"),
    ];
    expect(answers.map(({ headers }) => headers["cache-control"] as string)).toEqual([
      "no-store",
      "no-store",
      "no-store",
    ]);
  });
});

const makeApp = (host: TestHost, handlers: readonly RequestHandler[] = []): Express => {
  const app = express4();
  for (const handler of handlers) app.use(handler);
  return otherApp(host, (bare) => void bare.use("/login", host.auth.router), app);
};

describe("Express 4", () => {
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
    expect(iss).toBe(`${baseUrl}${pairBelowMount}`);
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
    expect(iss).toBe(`${url}${pairBelowMount}`);
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

const token = `/login${pairBelowMount}/token`;

describe("paths that are not the router's (RFC 3986 §6.2.2, 9700 §4.1)", () => {
  const elsewhere = [
    "/login",
    "/login/",
    "/login/auth",
    "/login/auth/password/api",
    `/login${pairBelowMount}`,
    `/login${pairBelowMount}/`,
    `/login${pairBelowMount}/unknown`,
    `/login${pairBelowMount}/authorize/unknown`,
    // other case
    `/login${pairBelowMount}/Token`,
    `/login${pairBelowMount}/TOKEN`,
    `/login${pairBelowMount}/Authorize`,
    "/login/Auth/password/api/orders/token",
    "/login/auth/password/API/orders/token",
    // slashes
    `${token}/`,
    `${token}//`,
    `/login${pairBelowMount}/authorize/`,
    `/login${pairBelowMount}/authorize/consent/`,
    `/login${pairBelowMount}//token`,
    `/login/${pairBelowMount}/token`,
    "/login/auth//password/api/orders/token",
    "/login/auth/password//api/orders/token",
    "/login/auth/password/api//orders/token",
    "/login/auth//api/orders/token",
    // escapes
    `/login${pairBelowMount}/%74oken`,
    `/login${pairBelowMount}/token%2F`,
    `/login${pairBelowMount}/token%20`,
    `/login${pairBelowMount}/token%00`,
    `/login${pairBelowMount}/token;x=1`,
    `/login${pairBelowMount}/authorize%2Fconsent`,
    `/login${pairBelowMount}%2Ftoken`,
    "/login/auth%2Fpassword/api/orders/token",
    "/login/auth/password%2Fapi%2Forders/token",
    "/login/auth/password/%61pi/orders/token",
    // dots
    `/login/x/..${pairBelowMount}/token`,
    `/login/%2e%2e/login${pairBelowMount}/token`,
    `/login${pairBelowMount}/../orders/token`,
    `/login${pairBelowMount}/%2e%2e/files/token`,
    `/login${pairBelowMount}/./token`,
    `/login${pairBelowMount}/..%2Ftoken`,
    "/login/auth/./password/api/orders/token",
    // names of every object
    `/login${pairBelowMount}/constructor`,
    `/login${pairBelowMount}/__proto__`,
    `/login${pairBelowMount}/toString`,
  ];

  it.each(elsewhere)("%s goes on to the host, as it is", async (path) => {
    for (const method of ["GET", "POST", "OPTIONS", "DELETE"]) {
      expect(await send(path, method)).toEqual({ status: 418, body: { host: path } });
    }
  });
});

describe("paths at which there is no pair or no document (RFC 8414 §3, 9728 §3)", () => {
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
