/** The mistakes of a first hour: each is answered by a sentence that names its cause and what to do. */
import { createServer } from "node:http";
import express, { type Express, type Request, type RequestHandler, type Response } from "express";
import request from "supertest";
import {
  type AuthMethod,
  type AuthServer,
  type AuthServerEvent,
  type AuthServerOptions,
  type Client,
  createAuthServer,
  generateClientSecret,
  generateSigningKey,
  memoryStorage,
  type Storage,
} from "../../lib";
import { eventReporter } from "../../lib/events/report";
import type { MountWarningCode } from "../../lib/http/not-found";

const baseUrl = "http://localhost:3000/login";
const { secret, digest } = generateClientSecret();
const job: Client = {
  clientId: "job",
  name: "Job",
  confidential: true,
  secretDigests: [digest],
  redirectUris: ["https://job.example/callback"],
  subscriptions: { orders: {} },
};
const form = { grant_type: "client_credentials", client_id: "job", client_secret: secret };
const token = "/login/auth/password/api/orders/token";
const authorize = "/login/auth/password/api/orders/authorize?client_id=job&response_type=code";
const asked = `${authorize}&redirect_uri=${encodeURIComponent("https://job.example/callback")}`;

interface Warning {
  readonly message: string;
  readonly code: string | undefined;
  readonly detail: string | undefined;
}

const warnings: Warning[] = [];
const codeOf = ({ code }: Warning): string | undefined => code;

beforeEach(() => {
  warnings.length = 0;
  jest.spyOn(process, "emitWarning").mockImplementation((message, options) => {
    const { code, detail } = options as { code?: string; detail?: string };
    warnings.push({ message: String(message), code, detail });
  });
});
afterEach(() => jest.restoreAllMocks());

const signInPage: AuthMethod = { authenticate: () => ({ kind: "interaction", url: "/sign-in" }) };

function server(options: Partial<AuthServerOptions> = {}): AuthServer {
  return createAuthServer({
    baseUrl,
    secrets: ["a-test-secret-of-at-least-32-characters"],
    signingKeys: [generateSigningKey()],
    storage: memoryStorage({ clients: [job] }),
    authMethods: { password: signInPage },
    apis: {
      orders: {
        audience: "http://localhost:3000/orders",
        authMethods: ["password"],
        scopes: { read: "Read" },
      },
      files: { audience: "http://localhost:3000/files", authMethods: ["password"], scopes: { read: "Read" } },
    },
    ...options,
  });
}

function mounted(auth: AuthServer): Express {
  const app = express();
  app.use("/login", auth.router);
  app.use(auth.wellKnown);
  app.post("/sign-in", (req, res) => auth.resume(req, res));
  return app;
}

/** A host that listens to events, which then go to no warning. */
function listening(options: Partial<AuthServerOptions> = {}) {
  const events: AuthServerEvent[] = [];
  const auth = server({ ...options, onEvent: (event) => void events.push(event) });
  const codes = (): readonly string[] => events.flatMap((event) => ("code" in event ? [event.code] : []));
  return { app: mounted(auth), auth, events, codes };
}

function brokenStorage(cause: unknown): Storage {
  const storage = memoryStorage({ clients: [job] });
  return { ...storage, clients: { ...storage.clients, find: () => Promise.reject(cause) } };
}

describe("without onEvent", () => {
  const cause = Object.assign(new TypeError("the pool is closed"), { code: "ECLOSED" });

  it("a failure of storage is reported, with its cause", async () => {
    const app = mounted(server({ storage: brokenStorage(cause) }));
    await request(app).post(token).type("form").send(form).expect(500);
    const [warning] = warnings;
    expect(warning?.code).toBe("storage-or-callback-failed");
    expect(warning?.message).toBe(
      "server-error: storage or a callback failed with TypeError ECLOSED. Pass onEvent to handle events yourself.",
    );
    expect(warning?.detail).toContain("the pool is closed");
  });

  it("a refusal is reported with its reason, and in short when it comes again", async () => {
    const app = mounted(server());
    const wrong = { ...form, client_secret: "wrong" };
    for (let time = 0; time < 3; time += 1)
      await request(app).post(token).type("form").send(wrong).expect(401);
    const about = `token-refused (invalid_client) at ${baseUrl}/auth/password/api/orders`;
    expect(warnings.slice(0, 2)).toEqual([
      {
        code: "secret-wrong",
        message: `${about}: the client secret fits none of the client's secretDigests (RFC 6749 §2.3.1): it is mistyped or was replaced. Send the secret that generateClientSecret returned, not its digest. Pass onEvent to handle events yourself.`,
        detail: undefined,
      },
      { code: "secret-wrong", message: `again: ${about}`, detail: undefined },
    ]);
  });

  it("a refused bearer token is reported", async () => {
    const auth = server();
    const app = mounted(auth).get("/orders", auth.requireBearer({ api: "orders" }));
    await request(app).get("/orders").expect(401);
    expect(warnings.map(codeOf)).toEqual(["no-access-token"]);
  });

  it("production hears of failures alone, once for each kind, and of nothing that was thrown", async () => {
    jest.replaceProperty(process, "env", { ...process.env, NODE_ENV: "production" });
    const app = mounted(server({ storage: brokenStorage(cause) }));
    for (let time = 0; time < 3; time += 1)
      await request(app).post(token).type("form").send(form).expect(500);
    await request(app).get(token).expect(405);
    expect(warnings).toHaveLength(1);
    expect(JSON.stringify(warnings)).not.toContain("the pool is closed");
  });

  it("nothing is reported to a host that listens", async () => {
    const { app, events } = listening({ storage: brokenStorage(cause) });
    await request(app).post(token).type("form").send(form).expect(500);
    expect(warnings).toEqual([]);
    expect(events).toContainEqual(expect.objectContaining({ kind: "server-error", cause }));
  });

  it("a flood of different failures keeps its lines within bounds", () => {
    const warn = jest.fn();
    const report = eventReporter({ warn, isProduction: false, clock: () => 1_000 });
    for (let id = 0; id < 1_000; id += 1) {
      report({
        kind: "token-refused",
        error: "invalid_client",
        clientId: `c${id}`,
        code: "secret-wrong",
        reason: "wrong",
      });
    }
    expect(warn).toHaveBeenCalledTimes(1_000);
    report({
      kind: "token-refused",
      error: "invalid_client",
      clientId: "c999",
      code: "secret-wrong",
      reason: "wrong",
    });
    expect(warn).toHaveBeenCalledTimes(1_001);
  });
});

const withoutSession: AuthMethod["authenticate"] = ({ req }) => ({
  kind: "authenticated",
  subject: (req as unknown as { session: { user: string } }).session.user,
});

describe("failures without onEvent, looked at closely", () => {
  const throwing = Object.defineProperty(new Error("a"), "stack", {
    get() {
      throw new Error("no stack");
    },
  });

  it.each([true, false])("are reported whatever was thrown (production: %s)", (isProduction) => {
    for (const cause of [Object.create(null), undefined, "text", throwing, 7]) {
      const warn = jest.fn();
      eventReporter({ warn, isProduction, clock: () => 0 })({ kind: "server-error", cause });
      expect(warn).toHaveBeenCalledTimes(1);
    }
  });

  it("are told apart in development by what was thrown", () => {
    const warn = jest.fn();
    const report = eventReporter({ warn, isProduction: false, clock: () => 0 });
    for (const text of ["first", "second", "first"]) report({ kind: "server-error", cause: new Error(text) });
    expect(warn.mock.calls.map(([, , detail]) => String(detail).split("\n")[0])).toEqual([
      "Error: first",
      "Error: second",
      "undefined",
    ]);
  });

  it("show the host's own error behind what the library says of it", async () => {
    const app = mounted(server({ authMethods: { password: { authenticate: withoutSession } } }));
    await request(app).get(asked).expect(302);
    expect(warnings[0]?.detail).toContain("reading 'user'");
  });

  it("are reported again in production after an hour", () => {
    const warn = jest.fn();
    let now = 0;
    const report = eventReporter({ warn, isProduction: true, clock: () => now });
    for (now of [0, 3_599, 3_600]) report({ kind: "server-error", cause: new Error("a") });
    expect(warn).toHaveBeenCalledTimes(2);
  });
});

describe("requests that no endpoint can read are refused aloud (RFC 6749 §3.2)", () => {
  it.each<[string, (app: Express) => request.Test, string, number]>([
    ["JSON", (app) => request(app).post(token).send(form), "body-not-a-form", 400],
    ["GET", (app) => request(app).get(token), "method-not-post", 405],
    [
      "a query string",
      (app) => request(app).post(`${token}?client_id=job`).type("form").send(form),
      "parameters-in-url",
      400,
    ],
    [
      "too much",
      (app) =>
        request(app)
          .post(token)
          .type("form")
          .send(`a=${"x".repeat(66_000)}`),
      "form-too-large",
      413,
    ],
    [
      "two Authorization headers",
      (app) =>
        request(app)
          .post(token)
          .type("form")
          .set("Authorization", ["Basic YTpi", "Basic YTpi"] as never)
          .send(form),
      "several-authorization-headers",
      400,
    ],
  ])("%s", async (_, send, code, status) => {
    const { app, events } = listening();
    await send(app).expect(status);
    expect(events.at(-1)).toMatchObject({
      kind: "token-refused",
      error: "invalid_request",
      issuer: `${baseUrl}/auth/password/api/orders`,
      code,
    });
  });
});

describe("a sign-in that is not remembered", () => {
  it("is told when authenticate asks again right after auth.resume", async () => {
    const { app, events } = listening();
    const first = await request(app).get(asked).expect(302);
    const cookie = String(first.headers["set-cookie"]).split(";")[0] ?? "";
    const back = await request(app).post(String(first.headers["location"])).set("Cookie", cookie).expect(303);
    expect(events.map(({ kind }) => kind)).not.toContain("sign-in-repeated");
    await request(app)
      .get(
        new URL(String(back.headers["location"])).pathname + new URL(String(back.headers["location"])).search,
      )
      .set("Cookie", cookie)
      .expect(302);
    expect(events.at(-1)).toMatchObject({
      kind: "sign-in-repeated",
      clientId: "job",
      code: "sign-in-repeated",
    });
  });
});

describe("a pending request that does not come back (RFC 6265 §5.4)", () => {
  it("names a page that has lost the interaction id", async () => {
    const { app, codes } = listening();
    await request(app).post("/sign-in").expect(400);
    expect(codes()).toEqual(["interaction-id-missing"]);
  });

  it("names secrets that differ between two processes", async () => {
    const first = listening({ secrets: ["the-secret-of-one-process-32-characters"] });
    const other = listening({ secrets: ["the-secret-of-another-one-32-characters"] });
    const sent = await request(first.app).get(asked).expect(302);
    const cookie = String(sent.headers["set-cookie"]).split(";")[0] ?? "";
    await request(other.app).post(String(sent.headers["location"])).set("Cookie", cookie).expect(400);
    expect(other.codes()).toEqual(["interaction-of-other-secrets"]);
  });

  it("names time that has passed", async () => {
    const { app, codes } = listening({ lifetimes: { interactionSeconds: 30 } });
    const sent = await request(app).get(asked).expect(302);
    const cookie = String(sent.headers["set-cookie"]).split(";")[0] ?? "";
    const now = Date.now();
    jest.spyOn(Date, "now").mockReturnValue(now + 60_000);
    await request(app).post(String(sent.headers["location"])).set("Cookie", cookie).expect(400);
    expect(codes()).toEqual(["interaction-over"]);
  });
});

describe("what the host's sign-in answers", () => {
  it.each(["sign-in", "./sign-in", "?sign-in", "javascript:alert(1)", ""])(
    "a page that is neither absolute nor a path is refused: %j",
    async (url) => {
      const { app, events } = listening({
        authMethods: { password: { authenticate: () => ({ kind: "interaction", url }) } },
      });
      await request(app).get(asked).expect(302);
      const cause = events.flatMap((event) => (event.kind === "server-error" ? [event.cause] : []))[0];
      expect(String(cause)).toContain("a path that begins with a slash");
    },
  );

  it("names the middleware that may be missing", async () => {
    const { app, events } = listening({
      authMethods: {
        password: {
          authenticate: ({ req }) => ({
            kind: "authenticated",
            subject: (req.cookies as { subject: string }).subject,
          }),
        },
      },
    });
    await request(app).get(asked).expect(302);
    const cause = events.flatMap((event) => (event.kind === "server-error" ? [event.cause] : []))[0] as Error;
    expect(cause.message).toBe(
      "authenticate threw a TypeError, and this request has no req.cookies (cookie-parser) and no req.session (express-session). If authenticate needs it, mount that middleware before auth.router.",
    );
    expect(cause.cause).toBeInstanceOf(TypeError);
  });
});

describe("a token at the wrong API (RFC 9068 §4)", () => {
  it.each(["jwt", "opaque"] as const)("is told from a forged one: %s", async (accessTokenFormat) => {
    const apis = {
      orders: {
        audience: "http://localhost:3000/orders",
        authMethods: ["password"],
        scopes: {},
        accessTokenFormat,
      },
      files: {
        audience: "http://localhost:3000/files",
        authMethods: ["password"],
        scopes: {},
        accessTokenFormat,
      },
    };
    const { app, auth, codes } = listening({ apis });
    app.get("/files", auth.requireBearer({ api: "files" }));
    const answer = await request(app).post(token).type("form").send(form).expect(200);
    const { access_token: text } = answer.body as { access_token: string };
    await request(app).get("/files").auth(text, { type: "bearer" }).expect(401);
    await request(app).get("/files").auth(`${text}x`, { type: "bearer" }).expect(401);
    expect(codes()).toEqual(["token-of-another-api", "token-unknown"]);
  });
});

const mountCodes: ReadonlySet<string> = new Set<MountWarningCode>([
  "router-mounted-elsewhere",
  "well-known-not-mounted",
  "router-never-reached",
  "base-path-missing",
  "unknown-address",
  "openid-metadata-asked",
]);

const notFound: RequestHandler = (_req, res) => void res.sendStatus(404);

describe("mounting (RFC 8414 §3.1, 9728 §3.1)", () => {
  const metadata = "/login/auth/password/api/orders/.well-known/oauth-authorization-server";

  async function warned(
    mount: (app: Express, auth: AuthServer) => unknown,
  ): Promise<readonly (string | undefined)[]> {
    const app = express();
    mount(app, server());
    for (let time = 0; time < 2; time += 1) await request(app).get(metadata);
    return warnings.filter(({ code }) => mountCodes.has(code ?? "")).map(codeOf);
  }

  it("has nothing to say of the right one, whatever comes first", async () => {
    const right = await warned((app, auth) => app.use(auth.wellKnown).use("/login", auth.router));
    expect(right).toEqual([]);
  });

  it("finds wellKnown below a path", async () => {
    const found = await warned((app, auth) => app.use("/login", auth.wellKnown).use("/login", auth.router));
    expect(found).toEqual(["well-known-not-mounted"]);
  });

  it("finds a router that no request comes to", async () => {
    const found = await warned((app, auth) => app.use("/oauth", auth.router).use(auth.wellKnown));
    expect(found[0]).toBe("router-never-reached");
  });

  it("finds a router behind a handler that answers 404", async () => {
    const found = await warned((app, auth) =>
      app.use(auth.wellKnown).use(notFound).use("/login", auth.router),
    );
    expect(found[0]).toBe("router-never-reached");
  });

  it("finds a proxy that strips the path before a router that is mounted at it", async () => {
    const app = express();
    const auth = server();
    app.use("/login", auth.router).use(auth.wellKnown);
    await request(app).post(token.slice("/login".length)).expect(404);
    expect(warnings.map(codeOf)).toEqual(["base-path-missing"]);
  });

  it("leaves a set-up behind a proxy that strips the path to the developer", async () => {
    const app = express();
    const auth = server();
    app.use(auth.router).use(auth.wellKnown);
    await request(app).get(metadata.slice("/login".length)).expect(200);
    expect(warnings.map(codeOf)).toEqual(["router-mounted-elsewhere"]);
  });
});

describe("mounting, looked at closely", () => {
  const metadata = "/login/auth/password/api/orders/.well-known/oauth-authorization-server";

  it("takes a path in another case, which Express mounts too, for the right place, but does not serve it", async () => {
    const app = express();
    const auth = server();
    app.use("/login", auth.router).use(auth.wellKnown);
    await request(app).get(metadata.replace("login", "LOGIN")).expect(404);
    expect(warnings.map(codeOf)).toEqual([]);
  });

  it("is not misled by a 404 of the host below /auth", async () => {
    const app = express();
    const auth = server({ baseUrl: "http://localhost:3000" });
    app.use(auth.wellKnown).get("/auth/users/:id", notFound).use(auth.router);
    await request(app).get("/auth/users/7").expect(404);
    expect(warnings.map(codeOf)).toEqual([]);
  });

  it("warns once where a pattern matches many paths", async () => {
    const app = express();
    const auth = server();
    app.use("/t/:tenant", auth.wellKnown).use("/login", auth.router);
    for (let tenant = 0; tenant < 20; tenant += 1) await request(app).get(`/t/${tenant}${"x".repeat(300)}/`);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.message.length).toBeLessThan(400);
  });

  it("serves without Express, too", async () => {
    const { wellKnown } = server();
    const plain = createServer((req, res) => {
      wellKnown(req as Request, res as Response, () => void res.writeHead(404).end());
    });
    const path = "/.well-known/oauth-authorization-server/login/auth/password/api/orders";
    await request(plain).get(path).expect(200);
    await request(plain).get("/elsewhere").expect(404);
  });
});

const atRoot = "/.well-known/oauth-authorization-server/login/auth/password/api/orders";

// servers of other tests have another origin
const base = "http://localhost:3001/login";
type Mount = (app: Express, auth: AuthServer) => unknown;
const get404 = (app: Express, path: string): request.Test =>
  request(app).get(path).set("Host", new URL(base).host);

const right: Mount = (app, auth) => app.use("/login", auth.router).use(auth.wellKnown);
const onlyRouter: Mount = (app, auth) => app.use("/login", auth.router);
const belowPath: Mount = (app, auth) => app.use("/login", auth.router).use("/login", auth.wellKnown);
const behind404: Mount = (app, auth) => app.use("/login", auth.router).use(notFound).use(auth.wellKnown);
async function warnedOf(path: string, mount: Mount, times = 1): Promise<readonly (string | undefined)[]> {
  const app = express();
  const auth = server({ baseUrl: base });
  app.locals["auth"] = auth; // an authorization server that nothing holds is not watched
  mount(app, auth);
  for (let time = 0; time < times; time += 1) await get404(app, path).expect(404);
  return warnings.map(codeOf);
}

describe("an answer of 404 that the library has not given (RFC 8414 §3.1, RFC 6749 §3)", () => {
  it.each<[string, Mount]>([
    ["is not mounted", onlyRouter],
    ["is mounted below a path, behind the router", belowPath],
    ["is mounted behind a handler that answers 404", behind404],
  ])("names auth.wellKnown that %s, each time, when only the metadata is asked for", async (_, mount) => {
    expect(await warnedOf(atRoot, mount, 2)).toEqual(["well-known-not-mounted", "well-known-not-mounted"]);
    expect(warnings[1]?.message).toBe(`again: A request for ${atRoot} was answered with 404`);
  });

  it("names a router that is mounted nowhere", async () => {
    expect(await warnedOf(token, () => undefined)).toEqual(["router-never-reached"]);
  });

  it.each([
    ["a slash at the end of the issuer", "/login/auth/password/api/orders//authorize?client_id=job"],
    ["an endpoint that does not exist", "/login/auth/password/api/orders/tokens"],
    ["an API that does not exist", "/login/auth/password/api/order/token"],
    ["no issuer", "/login/token"],
    ["no issuer and no path", "/authorize"],
    ["metadata without an issuer", "/.well-known/oauth-authorization-server"],
  ])("names the right addresses: %s", async (_, path) => {
    expect(await warnedOf(path, right)).toEqual(["unknown-address"]);
  });

  it.each([
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/login/auth/password/api/orders",
    "/login/auth/password/api/orders/.well-known/openid-configuration",
  ])("names a client that speaks OpenID Connect: %s", async (path) => {
    expect(await warnedOf(path, right)).toEqual(["openid-metadata-asked"]);
  });

  it("names a client that leaves out the path of baseUrl", async () => {
    const app = express();
    right(app, server({ baseUrl: base }));
    await get404(app, atRoot).expect(200);
    await get404(app, token.slice("/login".length)).expect(404);
    expect(warnings.map(codeOf)).toEqual(["base-path-missing"]);
  });

  it.each([
    "/",
    "/login",
    "/orders/17",
    "/login/account",
    "/auth/users/7",
    "/api/token",
    "/.well-known/acme",
  ])("says nothing of what is not for this library: %s", async (path) => {
    expect(await warnedOf(path, right)).toEqual([]);
  });

  it("says nothing of another server in the same process, nor in production", async () => {
    const app = express();
    onlyRouter(app, server({ baseUrl: base }));
    await request(app).get(atRoot).expect(404);
    jest.replaceProperty(process, "env", { ...process.env, NODE_ENV: "production" });
    const inProduction = express();
    server({ baseUrl: "http://localhost:3002/login" });
    await request(inProduction).get(atRoot).set("Host", "localhost:3002").expect(404);
    expect(warnings.map(codeOf)).toEqual([]);
  });
});

describe("what the client and its record say (RFC 6749 §3.1.2.3, §3.3)", () => {
  it.each([
    ["a typing mistake in the scope", `${asked}&scope=raed`, 302, "scope-not-registered"],
    ["a slash at the end of the redirect URI", `${asked}%2F`, 400, "redirect-uri-not-registered"],
  ])("%s is named", async (_, url, status, code) => {
    const { app, codes } = listening();
    await request(app).get(url).expect(status);
    expect(codes()).toEqual([code]);
  });

  it("a page in development shows the reason to whoever opens it", async () => {
    const page = await request(mounted(server())).get(`${asked}%2F`).expect(400);
    expect(page.text).toContain("register it exactly as it is sent");
  });

  it("a plain secret in the record of the host's own client store is named in what was thrown", async () => {
    const storage = memoryStorage({ clients: [job] });
    const find = () => Promise.resolve({ ...job, secretDigests: [secret] } as Client);
    const { app, events } = listening({ storage: { ...storage, clients: { ...storage.clients, find } } });
    await request(app).post(token).type("form").send(form).expect(500);
    const [cause] = events.flatMap((event) => (event.kind === "server-error" ? [event.cause] : []));
    expect(String(cause)).toContain("secretDigests.0 must be a digest from generateClientSecret()");
    expect(String(cause)).not.toContain(secret);
  });
});

describe("a redirect URI with a star (RFC 9700 §2.1)", () => {
  it.each(["https://shop.example/*", "https://*.shop.example/", "https://shop.example/callback?to=*"])(
    "is not registered: %s",
    (uri) => {
      const client = { ...job, redirectUris: [uri] };
      expect(() => memoryStorage({ clients: [client] })).toThrow(/redirectUris\.0 .*wildcard/);
    },
  );
});
