/** What `auth.inFrontOf(app)` serves, and what it leaves to the app. */
import type { RequestListener } from "node:http";
import express, { type Express, type RequestHandler } from "express";
import request from "supertest";
import type { AuthMethod } from "../../lib";
import { origin, pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { type Browser, newBrowser } from "../browser/browser";
import { redeem } from "../requests/client-requests";
import { express4 } from "../servers/express4";
import { signedIn, signedOut, type TestHost, testHost } from "../hosts/host";
import { answersOf, plainHost } from "../hosts/in-front";
import { callApi, type Tokens } from "../browser/journey";
import { apisWithRegistration, nativeMetadata, register } from "../requests/registration";
import {
  closeServersAfterEachTest,
  form,
  introspectPath,
  machineFields,
  machineForm,
  metadataPath,
  revokePath,
  serverOf,
  statusesOf,
  talk,
  tokenPath,
  withoutBody,
} from "../requests/raw-connections";

closeServersAfterEachTest();

/** A host whose middleware reads a session and puts a header on all that passes it. */
function sessionHost(): TestHost {
  const sessions = new WeakMap<object, string>();
  const session: RequestHandler = (req, res, next) => {
    const [, subject] = /session=(\w+)/.exec(req.get("Cookie") ?? "") ?? [];
    if (subject !== undefined) sessions.set(req, subject);
    res.setHeader("X-Host", "passed");
    next();
  };
  const method: AuthMethod = {
    authenticate({ req }) {
      const subject = sessions.get(req);
      return subject === undefined ? signedOut : { ...signedIn, subject };
    },
  };
  const authMethods = { password: method, otp: method, sso: method };
  const host = plainHost({ before: (app) => void app.use(session), authMethods });
  host.app.get("/shop", (_req, res) => void res.send("the shop"));
  return host;
}

/** Everything that is sent to the host's app goes to the listener, by one browser that carries a session. */
function visitInFront(host: TestHost): { readonly front: TestHost; readonly browser: Browser } {
  // an Express app is a listener as well, and no more is asked of it here
  const app = host.auth.inFrontOf(host.app) as Express;
  const browser = newBrowser(app);
  browser.cookies.set("session", "bob");
  return { front: { ...host, app }, browser };
}

describe("what is not for clients goes to the app, with its middleware (RFC 6749 §3.1, 6750 §2)", () => {
  it("the authorization endpoint finds the session", async () => {
    const { browser } = visitInFront(sessionHost());
    const page = await authorize(browser, { client: "web" });
    expect([page.status, page.headers["x-host"]]).toEqual([200, "passed"]);
    browser.cookies.delete("session");
    const stranger = await authorize(browser, { client: "web" });
    expect(stranger.status).toBe(302);
    expect(stranger.headers["location"]).toMatch(/^\/signin\?interaction=/);
  });

  it("the whole journey: consent page, code, tokens, API", async () => {
    const { front, browser } = visitInFront(sessionHost());
    const page = await authorize(browser, { client: "web" });
    const consent = await browser.answer(page, "approve");
    const { code = "" } = redirectParameters(consent);
    const tokens = await redeem(front, { client: "web", code });
    const call = await callApi(front, "/orders", (tokens.body as Tokens).access_token);
    const seen = [page, consent, tokens, call].map(({ status, headers }) => [status, headers["x-host"]]);
    expect(seen).toEqual([
      [200, "passed"],
      [303, "passed"],
      [200, undefined],
      [200, "passed"],
    ]);
    expect(call.body).toMatchObject({ subject: "bob", clientId: "web" });
  });

  const places: Record<string, readonly [method: string, path: string, status: number, passed: boolean]> = {
    "the token endpoint does not": ["POST", tokenPath, 400, false],
    "the revocation endpoint does not": ["POST", revokePath, 400, false],
    "the introspection endpoint does not": ["POST", introspectPath, 400, false],
    "the issuer's metadata does not": ["GET", metadataPath, 200, false],
    "a preflight does not": ["OPTIONS", tokenPath, 204, false],
    "a wrong method does not": ["DELETE", tokenPath, 405, false],
    "the authorization endpoint does": ["GET", `${pairPath()}/authorize`, 400, true],
    "the way back from sign-in does": ["GET", `${pairPath()}/authorize/resume`, 400, true],
    "the consent form does": ["POST", `${pairPath()}/authorize/consent`, 400, true],
    "the key set does": ["GET", "/login/jwks", 200, true],
    "the metadata at the root does": [
      "GET",
      `/.well-known/oauth-authorization-server${pairPath()}`,
      200,
      true,
    ],
    "the API's metadata does": ["GET", "/.well-known/oauth-protected-resource/orders", 200, true],
    "a route behind requireBearer does": ["GET", "/orders", 401, true],
    "a route of the host does": ["GET", "/shop", 200, true],
    "an unknown pair does": ["POST", "/login/auth/x/api/orders/token", 404, true],
    "what is nowhere does": ["GET", "/nowhere", 404, true],
  };

  it.each(Object.entries(places))("%s", async (_, [method, path, status, passed]) => {
    const host = sessionHost();
    const answer = await talk(await serverOf(host.auth.inFrontOf(host.app)), withoutBody(method, path));
    expect(statusesOf(answer)).toEqual([status]);
    expect(answer.includes("X-Host: passed")).toBe(passed);
  });

  it("an unknown pair gets the router's 404", async () => {
    const host = sessionHost();
    const front = host.auth.inFrontOf(host.app);
    const response = await request(front).post("/login/auth/x/api/orders/token");
    expect(response.body).toEqual({
      error: "not_found",
      error_description: "There is no authorization server at this address.",
    });
  });

  it("a body that is the host's comes whole", async () => {
    const host = sessionHost();
    host.app.post("/echo", express.urlencoded({ extended: false }), (req, res) => void res.json(req.body));
    const front = host.auth.inFrontOf(host.app);
    expect((await request(front).post("/echo").type("form").send("a=b")).body).toEqual({ a: "b" });
  });
});

/** What is served ahead of the app: the app has no router here. */
async function servedAhead(baseUrl: string, paths: readonly string[]): Promise<readonly string[]> {
  const { auth } = testHost({ baseUrl });
  const front = auth.inFrontOf((_req, res) => void res.writeHead(418).end());
  const answers = await Promise.all(
    paths.map(async (path) => [
      path,
      (await request(front).post(path).type("form").send(machineForm)).status,
    ]),
  );
  return answers.filter(([, status]) => status !== 418).map(([path]) => String(path));
}

describe("the path of baseUrl (RFC 8414 §2)", () => {
  const path = "/auth/password/api/orders/token";

  it.each([
    ["a path", `${origin}/login`, `/login${path}`],
    ["no path", origin, path],
    ["a path of two parts", `${origin}/id/v1`, `/id/v1${path}`],
  ])("with %s", async (_, baseUrl, served) => {
    const elsewhere = [`/login${path}`, path, `/id/v1${path}`, `/id${path}`, `/v1${path}`, `/x${path}`];
    expect(await servedAhead(baseUrl, elsewhere)).toEqual([served]);
  });

  it("is found with a query", async () => {
    const paths = [`/login${path}?x=y`, `/login${path}?`, `/login?x=${path}`];
    expect(await servedAhead(`${origin}/login`, paths)).toEqual(paths.slice(0, 2));
  });

  it("is not what a path only begins with", async () => {
    const like = [
      `/loginx${path}`,
      `/login.${path}`,
      `/login%2F${path.slice(1)}`,
      `/login/x${path}`,
      "/login",
    ];
    expect(await servedAhead(`${origin}/login`, like)).toEqual([]);
  });

  it("answers alike without one", async () => {
    const [inExpress, inFront] = await answersOf(() => form(machineFields, { path }), { baseUrl: origin });
    expect(inExpress).toHaveProperty("status", 200);
    expect(inFront).toEqual(inExpress);
  });
});

describe("the app that is handed over", () => {
  it("may be a listener of Node", async () => {
    const seen: string[] = [];
    const { auth } = plainHost();
    const front = auth.inFrontOf((req, res) => {
      seen.push(`${req.method} ${req.url}`);
      res.writeHead(200, { "Content-Type": "text/plain" }).end("mine");
    });
    const server = await serverOf(front);
    expect(await talk(server, withoutBody("GET", "/mine?a=b"))).toContain("mine");
    expect(statusesOf(await talk(server, form(machineFields)))).toEqual([200]);
    expect(seen).toEqual(["GET /mine?a=b"]);
  });

  it("may be an app of Express 4", async () => {
    const { auth } = plainHost();
    const app = express4();
    app.use("/login", auth.router);
    app.use((_req, res) => void res.status(418).end());
    const server = await serverOf(auth.inFrontOf(app));
    const sent = [withoutBody("GET", "/mine"), form(machineFields), withoutBody("GET", "/login/jwks")];
    const answers = await Promise.all(sent.map((text) => talk(server, text)));
    expect(answers.flatMap(statusesOf)).toEqual([418, 200, 200]);
  });

  it("is called at once, in the same turn of the event loop", () => {
    const { auth } = plainHost();
    const app = jest.fn();
    const [req, res] = [{ url: "/mine", method: "GET" }, {}];
    auth.inFrontOf(app)(...([req, res] as unknown as Parameters<RequestListener>));
    expect(app.mock.calls).toEqual([[req, res]]);
  });

  it("may be another listener of ours: two authorization servers, one app", async () => {
    const [first, second] = [plainHost(), plainHost({ baseUrl: `${origin}/second` })];
    const server = await serverOf(first.auth.inFrontOf(second.auth.inFrontOf(second.app)));
    const sent = [tokenPath, tokenPath.replace("login", "second"), "/nowhere"].map((path) =>
      form(machineFields, { path }),
    );
    const answers = await Promise.all(sent.map((text) => talk(server, text)));
    expect(answers.flatMap(statusesOf)).toEqual([200, 200, 404]);
    expect([first, second].map(({ events }) => events.map(({ kind }) => kind))).toEqual([
      ["token-issued"],
      ["token-issued"],
    ]);
  });
});

describe("registration in front of the app (RFC 7591 §3)", () => {
  it("passes neither the app's middleware nor rateLimit, so a proxy or approve must limit it", async () => {
    const rateLimit = jest.fn();
    const middleware = jest.fn();
    const approve = jest.fn(() => ({ kind: "approved" }) as const);
    const host = plainHost({
      before: (app) => void app.use(middleware),
      apis: apisWithRegistration({ approve }),
      rateLimit,
    });
    const front = { ...host, app: host.auth.inFrontOf(host.app) as Express };
    expect((await register(front, nativeMetadata)).status).toBe(201);
    expect(approve).toHaveBeenCalledTimes(1);
    expect(middleware).not.toHaveBeenCalled();
    expect(rateLimit).not.toHaveBeenCalled();
  });
});
