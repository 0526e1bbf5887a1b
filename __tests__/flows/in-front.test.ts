/** `auth.inFrontOf(app)` beside the same app with its router in Express: over sockets, byte for byte. */
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
// @ts-expect-error Express 4 under another name comes without types
import untypedExpress4 from "express4";
import request from "supertest";
import { type AuthMethod, memoryStorage, type Storage } from "../../lib";
import { type Browser, encode, type Fields, newBrowser } from "../fixture/browser";
import { stopClock } from "../fixture/clock";
import {
  clients,
  codeVerifier,
  credentials,
  origin,
  pairPath,
  signedIn,
  signedOut,
  type TestHost,
  testHost,
  type TestHostOptions,
} from "../fixture/host";
import {
  authorize,
  callApi,
  obtainCode,
  obtainTokens,
  redeem,
  redirectParameters,
  type Tokens,
} from "../fixture/journey";
import { type Latch, newLatch } from "../fixture/latch";
import { intercept } from "../fixture/slow-storage";

const express4 = untypedExpress4 as typeof express;

const listeners: Record<"in Express" | "in front of Express", (host: TestHost) => RequestListener> = {
  "in Express": ({ app }) => app,
  "in front of Express": ({ app, auth }) => auth.inFrontOf(app),
};
const ways = Object.keys(listeners) as (keyof typeof listeners)[];

let open: Server[] = [];

beforeEach(() => void stopClock());

afterEach(async () => {
  jest.restoreAllMocks();
  for (const server of open) server.closeAllConnections();
  await Promise.all(open.map((server) => new Promise((closed) => server.close(closed))));
  open = [];
});

/** A host that does not tell of Express in its headers. */
function plainHost({ before, ...options }: TestHostOptions = {}): TestHost {
  return testHost({
    ...options,
    before(app) {
      app.disable("x-powered-by");
      before?.(app);
    },
  });
}

async function serverOf(listener: RequestListener): Promise<Server> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  open.push(server);
  await new Promise((listening) => server.once("listening", listening));
  return server;
}

/** A connection to the server. What is written is taken as bytes: one character, one byte. */
async function connectTo(server: Server): Promise<Socket> {
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1").setEncoding("latin1").setDefaultEncoding("latin1");
  socket.setNoDelay(true);
  await new Promise((connected) => socket.once("connect", connected));
  return socket;
}

/** Everything that the server sends on one connection, when it is sent these packets. */
async function talk(server: Server, ...packets: readonly string[]): Promise<string> {
  const socket = await connectTo(server);
  let received = "";
  socket.on("data", (text: string) => void (received += text));
  const ended = new Promise((resolve, reject) => void socket.on("close", resolve).on("error", reject));
  for (const [index, packet] of packets.entries()) {
    if (index > 0) await delay(5);
    socket.write(packet);
  }
  await ended;
  return received;
}

/** The same, but every packet is a request that is sent when the one before it has its answer. */
async function takeTurns(server: Server, requests: readonly string[]): Promise<string> {
  const socket = await connectTo(server);
  let received = "";
  socket.on("data", (text: string) => void (received += text));
  for (const [index, text] of requests.entries()) {
    socket.write(text);
    while (statusesOf(received).length <= index) await new Promise((more) => socket.once("data", more));
  }
  socket.destroy();
  return received;
}

function statusesOf(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}

/** Of an answer, what is the same whenever and however often it is given. */
function withoutChance(received: string): string {
  return received
    .replaceAll(/^Date: .*\r\n/gm, "")
    .replaceAll(
      /"(access_token|refresh_token|jti|authorization_id)":"([^"]*)"/g,
      (_, name: string, value: string) => `"${name}":${value.length}`,
    );
}

interface Message {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: readonly string[];
  readonly body?: string | undefined;
  readonly version?: string;
}

const formType = "Content-Type: application/x-www-form-urlencoded";
const token = `${pairPath()}/token`;
const last = "Connection: close";

/** A request as it is sent; one character, one byte. */
function message({ method = "POST", path = token, headers = [], body, version = "1.1" }: Message): string {
  const length = body === undefined ? [] : [`Content-Length: ${body.length}`];
  const lines = [
    `${method} ${path} HTTP/${version}`,
    "Host: host.example",
    ...headers,
    ...length,
    "",
    body ?? "",
  ];
  return lines.join("\r\n");
}

/** A form, the last of its connection. */
function form(fields: Fields | string, { headers = [], ...rest }: Message = {}): string {
  const body = typeof fields === "string" ? fields : encode(fields);
  return message({ ...rest, headers: [formType, last, ...headers], body });
}

function asked(method: string, path: string, ...headers: readonly string[]): string {
  return message({ method, path, headers: [last, ...headers] });
}

function basic(id: string, secret: string): string {
  return `Authorization: Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;
}

const machine: Record<string, string> = { grant_type: "client_credentials", ...credentials("machine") };
const machineForm = encode(machine);
const web = credentials("web");
const webBasic = basic("web", web["client_secret"] ?? "");
const machineBasic = basic("machine", machine["client_secret"] ?? "");

function redemption(client: "web" | "native" | "spa", code: string): Record<string, string> {
  return { grant_type: "authorization_code", ...credentials(client), code, code_verifier: codeVerifier };
}

async function refreshToken(host: TestHost): Promise<string> {
  return (await obtainTokens(host, { client: "web" })).refresh_token ?? "";
}

/** Status, and how the request is made: a code or token that it spends is another one each time. */
type Row = readonly [status: number, prepare: (host: TestHost) => string | Promise<string>];

const spaOrigin = "Origin: https://spa.example";
const unknownOrigin = "Origin: https://evil.example";
const preflight = ["Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type"];
const metadata = `${pairPath()}/.well-known/oauth-authorization-server`;
const introspect = `${pairPath()}/introspect`;
const revoke = `${pairPath()}/revoke`;

/** Sends the same to both and gives what was answered, what the host was told, and the status. */
async function answersOf(prepare: Row[1], options?: TestHostOptions) {
  const answers = [];
  for (const way of ways) {
    const host = plainHost(options);
    const text = await prepare(host);
    host.events.length = 0;
    const answer = withoutChance(await talk(await serverOf(listeners[way](host)), text));
    answers.push({ answer, events: host.events.map(({ kind }) => kind), status: statusesOf(answer).at(-1) });
  }
  return answers;
}

function itAnswersAlike(rows: Readonly<Record<string, Row>>): void {
  it.each(Object.entries(rows))("%s", async (_, [status, prepare]) => {
    const [inExpress, inFront] = await answersOf(prepare);
    expect(inExpress).toHaveProperty("status", status);
    expect(inFront).toEqual(inExpress);
  });
}

const newCode = (host: TestHost, client: "web" | "native" | "spa"): Promise<string> =>
  obtainCode(host, { client });

describe("the same bytes: token requests that are good (RFC 6749 §5.1)", () => {
  itAnswersAlike({
    "a code, with Basic": [
      200,
      async (host) => {
        const { client_id: _, client_secret: __, ...fields } = redemption("web", await newCode(host, "web"));
        return form(fields, { headers: [webBasic] });
      },
    ],
    "a code, with the secret in the body": [
      200,
      async (host) => form(redemption("web", await newCode(host, "web"))),
    ],
    "a code, of a native client": [
      200,
      async (host) => form(redemption("native", await newCode(host, "native"))),
    ],
    "a code, of a script": [
      200,
      async (host) => form(redemption("spa", await newCode(host, "spa")), { headers: [spaOrigin] }),
    ],
    "a code, for an opaque token": [
      200,
      async (host) => {
        const pair = { api: "reports" } as const;
        const code = await obtainCode(host, { client: "web", pair });
        return form(redemption("web", code), { path: `${pairPath(pair)}/token` });
      },
    ],
    "a refresh token": [
      200,
      async (host) => form({ grant_type: "refresh_token", ...web, refresh_token: await refreshToken(host) }),
    ],
    "client credentials": [200, () => form(machine)],
    "client credentials, with Basic": [
      200,
      () => form({ grant_type: "client_credentials" }, { headers: [machineBasic] }),
    ],
    "a media type with a parameter": [
      200,
      () => message({ headers: [`${formType}; charset=UTF-8`.toUpperCase(), last], body: machineForm }),
    ],
    "a client that waits for 100 Continue (RFC 9110 §10.1.1)": [
      200,
      () => form(machine, { headers: ["Expect: 100-continue"] }),
    ],
    "HTTP/1.0": [200, () => form(machine, { version: "1.0" })],
    "an offer of another protocol (RFC 9110 §7.8)": [
      200,
      () => message({ headers: [formType, "Connection: close, Upgrade", "Upgrade: h2c"], body: machineForm }),
    ],
  });
});

describe("the same bytes: token requests that are refused (RFC 6749 §5.2)", () => {
  itAnswersAlike({
    "a wrong secret, with Basic": [
      401,
      () => form({ grant_type: "client_credentials" }, { headers: [basic("machine", "wrong")] }),
    ],
    "a wrong secret, in the body": [401, () => form({ ...machine, client_secret: "wrong" })],
    "a wrong secret, of a script": [
      401,
      () => form({ ...machine, client_secret: "wrong" }, { headers: [spaOrigin] }),
    ],
    "an unknown client": [401, () => form({ ...machine, client_id: "nobody" })],
    "another scheme": [401, () => form({ grant_type: "x" }, { headers: ["Authorization: Bearer x"] })],
    "Basic that is no base64": [
      401,
      () => form({ grant_type: "x" }, { headers: ["Authorization: Basic ?"] }),
    ],
    "both ways to authenticate": [400, () => form(machine, { headers: [machineBasic] })],
    "several Authorization headers (§2.3)": [
      400,
      () => form({ grant_type: "client_credentials" }, { headers: [machineBasic, machineBasic] }),
    ],
    "a code that was redeemed": [
      400,
      async (host) => {
        const code = await obtainCode(host, { client: "web" });
        await redeem(host, { client: "web", code });
        return form(redemption("web", code));
      },
    ],
    "a wrong verifier (RFC 7636 §4.6)": [
      400,
      async (host) => {
        const code = await obtainCode(host, { client: "web" });
        return form({ ...redemption("web", code), code_verifier: "x".repeat(43) });
      },
    ],
    "a refresh token that was used": [
      400,
      async (host) => {
        const used = { grant_type: "refresh_token", ...web, refresh_token: await refreshToken(host) };
        await request(host.app).post(token).type("form").send(encode(used));
        return form(used);
      },
    ],
    "an unknown grant type": [400, () => form({ ...machine, grant_type: "password" })],
    "a scope that is too much": [400, () => form({ ...machine, scope: "orders:write" })],
    "no grant type": [400, () => form(credentials("machine"))],
    "parameters in the URL (§3.2)": [400, () => form("", { path: `${token}?${machineForm}` })],
    "a secret in the URL beside the form": [400, () => form(machine, { path: `${token}?client_secret=x` })],
  });
});

describe("the same bytes: bodies (RFC 6749 §3.2, appendix B)", () => {
  const json = "Content-Type: application/json";
  itAnswersAlike({
    "an escape that is none": [400, () => form(`${machineForm}&x=%zz`)],
    "a repeated parameter": [400, () => form(`${machineForm}&grant_type=x`)],
    "not UTF-8, as bytes": [400, () => form(`${machineForm}&scope=\xff`)],
    "not UTF-8, as escapes": [400, () => form(`${machineForm}&scope=%FF`)],
    "UTF-8": [400, () => form(`${machineForm}&scope=\xc3\xa9`)],
    "nothing but separators": [400, () => form("&&&=&")],
    "Content-Length 0": [400, () => form("")],
    "no Content-Length": [400, () => message({ headers: [formType, last] })],
    "too large by Content-Length": [413, () => message({ headers: [formType, "Content-Length: 65537"] })],
    "too large, of a script": [
      413,
      () => message({ headers: [formType, spaOrigin, "Content-Length: 65537"] }),
    ],
    "too large in chunks": [413, () => chunked(["x".repeat(65_537)], [last])],
    "as large as may be": [200, () => form(`${machineForm}&x=`.padEnd(65_536, "x"))],
    "another media type": [400, () => message({ headers: [json, last], body: JSON.stringify(machine) })],
    "no media type": [400, () => message({ headers: [last], body: machineForm })],
    "neither media type nor body": [400, () => message({ headers: [last] })],
    "a content encoding": [400, () => form(machine, { headers: ["Content-Encoding: gzip"] })],
    "the content encoding identity": [200, () => form(machine, { headers: ["Content-Encoding: identity"] })],
    chunks: [200, () => chunked([machineForm], [last])],
    "chunks that cannot be read": [
      400,
      () => `${message({ headers: [formType, "Transfer-Encoding: chunked"] })}zz\r\n`,
    ],
  });
});

describe("the same bytes: methods and origins (RFC 9110 §15.5.6; Fetch standard: CORS)", () => {
  itAnswersAlike({
    "a preflight from a known origin": [204, () => asked("OPTIONS", token, spaOrigin, ...preflight)],
    "a preflight from an unknown origin": [204, () => asked("OPTIONS", token, unknownOrigin, ...preflight)],
    "a preflight of revoke": [204, () => asked("OPTIONS", revoke, spaOrigin, ...preflight)],
    "a preflight of introspect": [405, () => asked("OPTIONS", introspect, spaOrigin, ...preflight)],
    "OPTIONS without an origin": [204, () => asked("OPTIONS", token)],
    "OPTIONS of the metadata": [405, () => asked("OPTIONS", metadata, spaOrigin)],
    PUT: [405, () => form(machine, { method: "PUT" })],
    "a method of WebDAV": [405, () => asked("PROPFIND", token)],
    "GET of token": [405, () => asked("GET", token)],
    "HEAD of token": [405, () => asked("HEAD", token)],
    "POST of the metadata": [405, () => form("", { path: metadata })],
    "an unknown origin": [200, () => form(machine, { headers: [unknownOrigin] })],
    "an origin that is null": [200, () => form(machine, { headers: ["Origin: null"] })],
  });
});

const about = (path: string, presented: string, headers: readonly string[] = [webBasic]): string =>
  form({ token: presented }, { path, headers });

const accessToken = async (host: TestHost): Promise<string> =>
  (await obtainTokens(host, { client: "web" })).access_token;

describe("the same bytes: metadata, revoke, introspect (RFC 8414 §3, 7009 §2, 7662 §2)", () => {
  itAnswersAlike({
    "GET of the metadata": [200, () => asked("GET", metadata)],
    "HEAD of the metadata": [200, () => asked("HEAD", metadata)],
    "the metadata with a query": [200, () => asked("GET", `${metadata}?x=y`)],
    "the metadata for what was kept (RFC 9110 §13.1.2)": [
      200,
      () => asked("GET", metadata, "If-None-Match: *"),
    ],
    "revoke an access token": [200, async (host) => about(revoke, await accessToken(host))],
    "revoke a refresh token": [200, async (host) => about(revoke, await refreshToken(host))],
    "revoke what is no token": [200, () => about(revoke, "x")],
    "revoke nothing": [400, () => form({}, { path: revoke, headers: [webBasic] })],
    "revoke with a wrong secret": [401, () => about(revoke, "x", [basic("web", "wrong")])],
    "revoke from a script": [
      200,
      () => form({ token: "x", client_id: "spa" }, { path: revoke, headers: [spaOrigin] }),
    ],
    "introspect an access token": [200, async (host) => about(introspect, await accessToken(host))],
    "introspect a refresh token": [200, async (host) => about(introspect, await refreshToken(host))],
    "introspect what is no token": [200, () => about(introspect, "x")],
    "introspect with a wrong secret": [401, () => about(introspect, "x", [basic("web", "wrong")])],
    "introspect as a public client": [
      401,
      () => form({ token: "x", client_id: "spa" }, { path: introspect }),
    ],
  });
});

const formAt = (path: string) => (): string => form(machine, { path });

describe("the same bytes: paths (RFC 3986 §6.2.2, 9112 §3.2)", () => {
  itAnswersAlike({
    "a query": [200, formAt(`${token}?x=y`)],
    "an empty query": [200, formAt(`${token}?`)],
    "two question marks": [200, formAt(`${token}?x=/login?y`)],
    "a fragment": [404, formAt(`${token}#x`)],
    "a slash at the end": [404, formAt(`${token}/`)],
    "a double slash": [404, formAt(`${pairPath()}//token`)],
    "a double slash ahead": [404, formAt(`/${token}`)],
    "a double slash after the mount path": [404, formAt(token.replace("/login/", "/login//"))],
    "another case": [404, formAt(`${pairPath()}/TOKEN`)],
    "another case of the mount path": [200, formAt(token.replace("login", "LOGIN"))],
    "an escape": [404, formAt(`${pairPath()}/%74oken`)],
    "an escape in the mount path": [404, formAt(token.replace("login", "%6cogin"))],
    "an escape that is none": [404, formAt(`${pairPath()}/%zz`)],
    dots: [404, formAt(`/x/..${token}`)],
    "an unknown pair": [404, formAt("/login/auth/x/api/orders/token")],
    "the metadata of an unknown pair": [
      404,
      () => asked("GET", "/login/auth/x/api/orders/.well-known/oauth-authorization-server"),
    ],
    "a path that begins like the mount path": [404, formAt(token.replace("login", "loginx"))],
    "the mount path alone": [404, formAt("/login")],
    "the path without the mount path": [404, formAt(token.replace("/login", ""))],
    "the name of an object's property": [404, formAt("/login__proto__")],
    "the absolute form": [200, formAt(`http://host.example${token}`)],
    "OPTIONS *": [404, () => asked("OPTIONS", "*")],
    "the key set": [200, () => asked("GET", "/login/jwks")],
    "the API's metadata": [200, () => asked("GET", "/.well-known/oauth-protected-resource/orders")],
    "an authorization request without a client": [400, () => asked("GET", `${pairPath()}/authorize`)],
    "an API without a token": [401, () => asked("GET", "/orders")],
  });
});

const failing = (name: string, fail: () => Promise<never>): Storage =>
  intercept(memoryStorage({ clients: Object.values(clients) }), (called, call) =>
    called === name ? fail() : call(),
  );

/** Lets the five seconds of a storage call pass in five milliseconds. */
function shortenTimeLimit(): void {
  const { setTimeout: begin } = globalThis;
  const beginShort = (callback: () => void, milliseconds?: number): NodeJS.Timeout =>
    begin(callback, milliseconds === 5_000 ? 5 : milliseconds);
  jest.spyOn(globalThis, "setTimeout").mockImplementation(beginShort);
}

describe("the same bytes: storage fails (RFC 6749 §5.2)", () => {
  const throwing = failing("clients.find", () => Promise.reject(new Error("password=hunter2")));
  const silent = failing("clients.find", () => new Promise(() => {}));
  const noOrigin = failing("clients.isBrowserOrigin", () => Promise.reject(new Error("down")));

  beforeEach(shortenTimeLimit);

  const faults: Record<string, { storage: Storage; status: number; error: string; send: () => string }> = {
    "it throws": { storage: throwing, status: 500, error: "server_error", send: () => form(machine) },
    "it never answers": {
      storage: silent,
      status: 503,
      error: "temporarily_unavailable",
      send: () => form(machine),
    },
    "it throws at revoke": {
      storage: throwing,
      status: 500,
      error: "server_error",
      send: () => form({ token: "x" }, { path: revoke, headers: [webBasic] }),
    },
    "it throws at introspect": {
      storage: throwing,
      status: 500,
      error: "server_error",
      send: () => form({ token: "x" }, { path: introspect, headers: [webBasic] }),
    },
    "it throws for the origin": {
      storage: noOrigin,
      status: 500,
      error: "server_error",
      send: () => form(machine, { headers: [spaOrigin] }),
    },
    "it throws for the origin of a preflight": {
      storage: noOrigin,
      status: 500,
      error: "server_error",
      send: () => asked("OPTIONS", token, spaOrigin, ...preflight),
    },
  };

  it.each(Object.entries(faults))("%s", async (_, { storage, status, error, send }) => {
    const [inExpress, inFront] = await answersOf(send, { storage });
    expect(inExpress).toMatchObject({ status, events: ["server-error"] });
    expect(inExpress?.answer).toContain(`"error":"${error}"`);
    expect(inExpress?.answer).not.toContain("hunter2");
    expect(inFront).toEqual(inExpress);
  });
});

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
    "the token endpoint does not": ["POST", token, 400, false],
    "the revocation endpoint does not": ["POST", revoke, 400, false],
    "the introspection endpoint does not": ["POST", introspect, 400, false],
    "the issuer's metadata does not": ["GET", metadata, 200, false],
    "a preflight does not": ["OPTIONS", token, 204, false],
    "a wrong method does not": ["DELETE", token, 405, false],
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
    const answer = await talk(await serverOf(host.auth.inFrontOf(host.app)), asked(method, path));
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
    const [inExpress, inFront] = await answersOf(() => form(machine, { path }), { baseUrl: origin });
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
    expect(await talk(server, asked("GET", "/mine?a=b"))).toContain("mine");
    expect(statusesOf(await talk(server, form(machine)))).toEqual([200]);
    expect(seen).toEqual(["GET /mine?a=b"]);
  });

  it("may be an app of Express 4", async () => {
    const { auth } = plainHost();
    const app = express4();
    app.use("/login", auth.router);
    app.use((_req, res) => void res.status(418).end());
    const server = await serverOf(auth.inFrontOf(app));
    const sent = [asked("GET", "/mine"), form(machine), asked("GET", "/login/jwks")];
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
    const sent = [token, token.replace("login", "second"), "/nowhere"].map((path) => form(machine, { path }));
    const answers = await Promise.all(sent.map((text) => talk(server, text)));
    expect(answers.flatMap(statusesOf)).toEqual([200, 200, 404]);
    expect([first, second].map(({ events }) => events.map(({ kind }) => kind))).toEqual([
      ["token-issued"],
      ["token-issued"],
    ]);
  });
});

interface StuckStorage {
  readonly storage: Storage;
  /** Opens when the call is under way. */
  readonly entered: Latch;
  /** Lets it go on. */
  readonly answer: Latch;
}

/** Memory in which one method waits until it is let go. */
function stuckAt(name: string): StuckStorage {
  const [entered, answer] = [newLatch(), newLatch()];
  const storage = intercept(memoryStorage({ clients: Object.values(clients) }), async (called, call) => {
    if (called !== name) return call();
    entered.open();
    await answer.opened;
    return call();
  });
  return { storage, entered, answer };
}

/** What is still to be done; Jest fails the test in which a rejection has gone unhandled by then. */
async function everythingUnderWay(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
}

async function allConnectionsEnded(server: Server): Promise<void> {
  const count = (): Promise<number> =>
    new Promise((resolve, reject) => {
      server.getConnections((error, connections) => (error ? reject(error) : resolve(connections)));
    });
  while ((await count()) > 0) await delay(2);
  await everythingUnderWay();
}

function chunked(chunks: readonly string[], headers: readonly string[] = []): string {
  const head = message({ headers: [formType, "Transfer-Encoding: chunked", ...headers] });
  const framed = [...chunks, ""].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  return head + framed.join("");
}

function kinds({ events }: TestHost): string[] {
  return events.map(({ kind }) => kind);
}

describe.each(ways)("%s: one code, many at once (RFC 6749 §10.5)", (way) => {
  it.each([2, 16])("%i redemptions at the same moment: exactly one wins", async (times) => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    const code = await obtainCode(host, { client: "web" });
    const sent = Array.from({ length: times }, () => talk(server, form(redemption("web", code))));
    const statuses = (await Promise.all(sent)).flatMap(statusesOf);
    expect(statuses).toHaveLength(times);
    expect(statuses.filter((status) => status !== 400)).toEqual([200]);
  });

  it("pipelined on one connection: exactly one wins", async () => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    const code = await obtainCode(host, { client: "web" });
    const one = message({ headers: [formType], body: encode(redemption("web", code)) });
    const answer = await talk(server, one + form(redemption("web", code)));
    expect(statusesOf(answer)).toEqual([200, 400]);
  });
});

async function lives(server: Server): Promise<void> {
  expect(statusesOf(await talk(server, form(machine)))).toEqual([200]);
}

describe.each(ways)("%s: a client that goes away (RFC 9112 §9.5)", (way) => {
  const half = machineForm.slice(0, 20);
  const head = message({ headers: [formType, "Content-Length: 100"] });
  const beginnings = {
    "after the headers": head,
    "in the middle of its body": head + half,
    "in the middle of its body, as a script": message({
      headers: [formType, spaOrigin, "Content-Length: 100"],
      body: undefined,
    }).concat(half),
    "in the middle of a chunk": `${message({ headers: [formType, "Transfer-Encoding: chunked"] })}40\r\n${half}`,
    "between two chunks": chunked([half]).slice(0, -"0\r\n\r\n".length),
    "after what is too large": `${message({ headers: [formType, "Content-Length: 65537"] })}${"x".repeat(100)}`,
    "in the middle of the second request": `${message({ headers: [formType], body: machineForm })}${head}${half}`,
  };

  it.each(Object.entries(beginnings))("%s: the server lives on and no failure is told", async (_, text) => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    const socket = await connectTo(server);
    socket.write(text);
    await delay(20);
    socket.destroy();
    await allConnectionsEnded(server);
    // a refusal is told when what has come is enough to refuse it
    const harmless = ["token-issued", "token-refused"];
    expect(kinds(host).filter((kind) => !harmless.includes(kind))).toEqual([]);
    await lives(server);
  });

  it.each(["end", "resetAndDestroy"] as const)("by %s in the middle of its body", async (leave) => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    const socket = await connectTo(server);
    socket.write(head + half);
    await delay(20);
    socket[leave]();
    await allConnectionsEnded(server);
    expect(kinds(host)).toEqual([]);
    await lives(server);
  });

  it.each(["isBrowserOrigin", "find"])("while storage works (clients.%s)", async (method) => {
    const { storage, entered, answer } = stuckAt(`clients.${method}`);
    const host = plainHost({ storage });
    const server = await serverOf(listeners[way](host));
    const socket = await connectTo(server);
    socket.write(form(machine, { headers: [spaOrigin] }));
    await entered.opened;
    socket.destroy();
    await allConnectionsEnded(server);
    answer.open();
    await everythingUnderWay();
    expect(kinds(host)).toEqual(["token-issued"]);
    await lives(server);
  });

  it("in the middle of its body, while storage looks for its origin", async () => {
    const { storage, entered, answer } = stuckAt("clients.isBrowserOrigin");
    const host = plainHost({ storage });
    const listener = listeners[way](host);
    const responses: ServerResponse[] = [];
    const server = await serverOf((req, res) => {
      responses.push(res);
      listener(req, res);
    });
    const socket = await connectTo(server);
    socket.write(message({ headers: [formType, spaOrigin, "Content-Length: 100"] }) + half);
    await entered.opened;
    socket.destroy();
    await allConnectionsEnded(server);
    answer.open();
    await everythingUnderWay();
    expect(kinds(host)).toEqual([]);
    expect(responses.map(({ writableEnded }) => writableEnded)).toEqual([true]);
    await lives(server);
  });
});

describe.each(ways)("%s: bodies in pieces (RFC 9112 §6)", (way) => {
  const head = message({ headers: [formType, last, `Content-Length: ${machineForm.length}`] });
  const packets: Record<string, readonly string[]> = {
    "headers and body apart": [head, machineForm],
    "the body in two": [head + machineForm.slice(0, 10), machineForm.slice(10)],
    "the body without its last byte, and that": [head + machineForm.slice(0, -1), machineForm.slice(-1)],
    "the headers in two": [head.slice(0, 30), head.slice(30) + machineForm],
    "all in many": (head + machineForm).match(/[^]{1,40}/g) ?? [],
    "one chunk": [chunked([machineForm], [last])],
    "many chunks in one packet": [chunked(machineForm.match(/.{1,7}/g) ?? [], [last])],
    "chunks in many packets": chunked(machineForm.match(/.{1,20}/g) ?? [], [last]).match(/[^]{1,50}/g) ?? [],
    "a trailer after the chunks": [chunked([machineForm], [last]).replace(/\r\n$/, "X-Trailer: x\r\n\r\n")],
    "64 KiB in two": [
      message({ headers: [formType, last, "Content-Length: 65536"] }) + machineForm,
      "&x=".padEnd(65_536 - machineForm.length, "x"),
    ],
  };

  it.each(Object.entries(packets))("%s", async (_, sent) => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    expect(statusesOf(await talk(server, ...sent))).toEqual([200]);
    expect(kinds(host)).toEqual(["token-issued"]);
  });

  it("too large in many chunks, of which the client reads the answer", async () => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    const head413 = message({ headers: [formType, "Transfer-Encoding: chunked"] });
    const chunk = `4000\r\n${"x".repeat(0x4000)}\r\n`;
    expect(statusesOf(await talk(server, head413, chunk, chunk, chunk, chunk, chunk))).toEqual([413]);
  });

  it.each([["Content-Length: 0"], ["Transfer-Encoding: chunked"]])("no byte, by %s", async (header) => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    const end = header.startsWith("T") ? "0\r\n\r\n" : "";
    const answer = await talk(server, message({ headers: [formType, last, header] }) + end);
    expect(statusesOf(answer)).toEqual([400]);
    expect(answer).toContain("client_id is missing.");
  });
});

const kept = (fields: string): string => message({ headers: [formType], body: fields });
const wrongForm = encode({ ...machine, client_secret: "wrong" });
/** With and without bodies, for us and for the host, good and refused. */
const mixed: readonly (readonly [number, string])[] = [
  [200, kept(machineForm)],
  [200, message({ method: "GET", path: metadata })],
  [401, kept(wrongForm)],
  [400, kept("")],
  [404, message({ method: "GET", path: "/nowhere" })],
  [400, message({ headers: [formType] })],
  [405, message({ method: "PUT", headers: [formType], body: machineForm })],
  [200, chunked([machineForm.slice(0, 9), machineForm.slice(9)])],
  [400, message({ headers: ["Content-Type: text/plain"], body: "the body of another type" })],
  [204, message({ method: "OPTIONS", headers: [spaOrigin] })],
  [404, message({ path: "/nowhere", headers: [formType], body: machineForm })],
  [200, message({ headers: [formType], body: `${machineForm}&x=`.padEnd(60_000, "x") })],
  [200, message({ method: "GET", path: "/login/jwks" })],
];
const many = Array.from({ length: 5 }, () => mixed).flat();

describe.each(ways)("%s: connections that are kept (RFC 9112 §9.3)", (way) => {
  it("serve many requests, one after the other", async () => {
    const server = await serverOf(listeners[way](plainHost()));
    const answer = await takeTurns(
      server,
      many.map(([, text]) => text),
    );
    expect(statusesOf(answer)).toEqual(many.map(([status]) => status));
  });

  it("serve many pipelined requests (RFC 9112 §9.3.2)", async () => {
    const server = await serverOf(listeners[way](plainHost()));
    const answer = await talk(server, many.map(([, text]) => text).join("") + form(machine));
    expect(statusesOf(answer)).toEqual([...many.map(([status]) => status), 200]);
  });

  it("serve pipelined requests that are cut anywhere", async () => {
    const server = await serverOf(listeners[way](plainHost()));
    const small = mixed.filter(([, text]) => text.length < 1_000);
    const text = small.map(([, sent]) => sent).join("") + form(machine);
    const answer = await talk(server, ...(text.match(/[^]{1,97}/g) ?? []));
    expect(statusesOf(answer)).toEqual([...small.map(([status]) => status), 200]);
  });

  it("take what follows a body as the next request", async () => {
    const server = await serverOf(listeners[way](plainHost()));
    const answer = await talk(server, kept(machineForm) + asked("GET", metadata));
    expect(statusesOf(answer)).toEqual([200, 200]);
    expect(answer).toContain('"token_endpoint"');
  });

  it("take what follows a body as the next request, even if it is none", async () => {
    const host = plainHost();
    const server = await serverOf(listeners[way](host));
    expect(statusesOf(await talk(server, `${kept(machineForm)}&grant_type=x\r\n\r\n`)).at(-1)).toBe(400);
    expect(kinds(host)).toEqual(["token-issued"]);
  });

  it("end after a body that is too large", async () => {
    const server = await serverOf(listeners[way](plainHost()));
    const answer = await talk(server, message({ headers: [formType, "Content-Length: 65537"] }));
    expect(answer).toContain("\r\nConnection: close\r\n");
  });
});

describe("the same bytes: pipelined requests on one connection (RFC 9112 §9.3.2)", () => {
  itAnswersAlike({
    "many, good and refused": [200, () => many.map(([, text]) => text).join("") + form(machine)],
    "one that cannot be read after a good one": [400, () => `${kept(machineForm)}x\r\n\r\n`],
    "one after a body that is too large is not served": [
      413,
      () => `${form("x".repeat(65_537))}${form(machine)}`,
    ],
  });
});

describe("a host that has answered already", () => {
  it.each(["at once", "while storage works"])("%s: has the last word", async (moment) => {
    const { storage, entered, answer } = stuckAt("clients.find");
    const host = plainHost({ storage });
    const front = host.auth.inFrontOf(host.app);
    const server = await serverOf((req, res) => {
      front(req, res);
      if (moment === "at once") res.writeHead(503).end("too late");
      else void entered.opened.then(() => res.writeHead(503).end("too late"));
    });
    const received = await talk(server, form(machine));
    answer.open();
    await everythingUnderWay();
    expect(received).toContain("too late");
    expect(statusesOf(received)).toEqual([503]);
    expect(kinds(host)).not.toContain("server-error");
  });

  it("keeps the connection for the next request", async () => {
    const { storage, entered, answer } = stuckAt("clients.find");
    const host = plainHost({ storage });
    const front = host.auth.inFrontOf(host.app);
    const server = await serverOf((req, res) => {
      front(req, res);
      if (req.method !== "POST") return;
      void entered.opened.then(() => {
        res.writeHead(503).end("too late");
        answer.open();
      });
    });
    expect(statusesOf(await talk(server, kept(machineForm), asked("GET", metadata)))).toEqual([503, 200]);
  });

  it("by ending the connection: nothing throws", async () => {
    const { storage, entered, answer } = stuckAt("clients.find");
    const host = plainHost({ storage });
    const front = host.auth.inFrontOf(host.app);
    const server = await serverOf((req, res) => {
      front(req, res);
      void entered.opened.then(() => res.destroy());
    });
    const socket = await connectTo(server);
    socket.write(form(machine));
    await allConnectionsEnded(server);
    answer.open();
    await everythingUnderWay();
    expect(kinds(host)).toEqual(["token-issued"]);
  });

  it("only with headers of its own: they stay, and Vary is joined (RFC 9110 §12.5.5)", async () => {
    const host = plainHost();
    const front = host.auth.inFrontOf(host.app);
    const server = await serverOf((req, res) => {
      res.setHeader("Vary", "Accept-Encoding").setHeader("X-Ours", "stays");
      front(req, res);
    });
    const answer = await talk(server, form(machine));
    expect(answer).toContain("\r\nX-Ours: stays\r\n");
    expect(answer).toContain("\r\nVary: Accept-Encoding, Origin\r\n");
  });
});

/** As it is in production, where no check of the mounting is in between. */
function inProduction(): TestHost {
  jest.replaceProperty(process, "env", { ...process.env, NODE_ENV: "production" });
  return testHost();
}

const tellPlace: RequestHandler = (req, res) => {
  const { url, baseUrl, originalUrl } = req;
  res.status(418).json({ url, baseUrl, originalUrl });
};

const tellError: ErrorRequestHandler = (error: Error, _req, res, _next) =>
  void res.status(418).send(error.message);

describe.each([
  ["Express 5", express],
  ["Express 4", express4],
])("%s: routers that answer by themselves", (_, newApp) => {
  it.each(["router", "wellKnown"] as const)("%s hands on in the same turn", async (name) => {
    const { auth } = inProduction();
    const app = newApp();
    const handedOn: boolean[] = [];
    let sameTurn = false;
    app.use((_req, _res, next) => {
      sameTurn = true;
      next();
      sameTurn = false;
    });
    app.use("/login", auth[name]);
    app.use(auth[name]);
    app.use((_req, res) => {
      handedOn.push(sameTurn);
      res.end();
    });
    for (const path of ["/", "/login", "/login/x", "/login/auth/x", "/.well-known/x"])
      await request(app).get(path);
    expect(handedOn).toEqual([true, true, true, true, true]);
  });

  const modes = { "in production": inProduction, "in development": (): TestHost => testHost() };

  describe.each(Object.entries(modes))("%s", (__, newHost) => {
    it("routes that the host has added are served after ours", async () => {
      const { auth } = newHost();
      const app = newApp();
      auth.router.get("/x", (_req, res) => void res.send("added"));
      auth.router.post("/auth/password/api/orders/token", (_req, res) => void res.send("taken over"));
      auth.router.get("/jwks", (_req, res) => void res.send("taken over"));
      auth.wellKnown.get("/y", (_req, res) => void res.send("added"));
      auth.wellKnown.get(
        "/.well-known/oauth-protected-resource/orders",
        (_req, res) => void res.send("taken"),
      );
      app.use("/login", auth.router);
      app.use(auth.wellKnown);
      app.use(tellPlace);
      expect((await request(app).get("/login/x")).text).toBe("added");
      expect((await request(app).get("/y")).text).toBe("added");
      const ours = await request(app).post(token).type("form").send(machineForm);
      expect(ours.body).toMatchObject({ token_type: "bearer" });
      expect((await request(app).get("/login/jwks")).body).toHaveProperty("keys");
      const document = await request(app).get("/.well-known/oauth-protected-resource/orders");
      expect(document.body).toHaveProperty("authorization_servers");
      expect((await request(app).get("/login/z")).body).toEqual({
        url: "/login/z",
        baseUrl: "",
        originalUrl: "/login/z",
      });
    });

    it("an error of a route that the host has added goes to the host", async () => {
      const { auth } = newHost();
      const app = newApp();
      auth.router.get("/x", (_req, _res, next) => next(new Error("of the host's route")));
      app.use("/login", auth.router);
      app.use(tellError);
      expect((await request(app).get("/login/x")).text).toBe("of the host's route");
    });

    it("errors of middleware ahead pass them by, even on our paths", async () => {
      const { auth } = newHost();
      const app = newApp();
      app.use((_req, _res, next) => next(new Error("of the host")));
      app.use("/login", auth.router);
      app.use(auth.wellKnown);
      app.use(tellError);
      const answers = [
        await request(app).get("/login/jwks"),
        await request(app).post(token),
        await request(app).get("/.well-known/oauth-protected-resource/orders"),
        await request(app).get("/x"),
      ];
      expect(answers.map(({ text }) => text)).toEqual(Array(4).fill("of the host"));
    });

    it("leave url and baseUrl to what comes after as they were", async () => {
      const { auth } = newHost();
      const app = newApp();
      app.use("/login", auth.router, auth.wellKnown, (req, _res, next) => {
        expect([req.baseUrl, req.url]).toEqual(["/login", "/x?a=b"]);
        next();
      });
      app.use(tellPlace);
      expect((await request(app).get("/login/x?a=b")).body).toEqual({
        url: "/login/x?a=b",
        baseUrl: "",
        originalUrl: "/login/x?a=b",
      });
    });

    it("leave url, baseUrl and parameters as they were in routers of the host", async () => {
      const { auth } = newHost();
      const app = newApp();
      const [outer, inner] = [newApp.Router({ mergeParams: true }), newApp.Router({ mergeParams: true })];
      app.use("/a/:tenant", outer);
      outer.use("/b", inner, tellPlace);
      inner.use("/login", auth.router);
      inner.use(auth.wellKnown);
      inner.get("/login/mine", (req, res) => void res.json(req.params));
      expect((await request(app).get("/a/one/b/login/mine")).body).toEqual({ tenant: "one" });
      expect((await request(app).get("/a/one/b/login/x?a=b")).body).toEqual({
        url: "/login/x?a=b",
        baseUrl: "/a/one/b",
        originalUrl: "/a/one/b/login/x?a=b",
      });
    });

    it("let the host answer OPTIONS for its own routes beside them", async () => {
      const { auth } = newHost();
      const app = newApp();
      app.use("/login", auth.router);
      app.get("/login/mine", tellPlace);
      expect((await request(app).options("/login/mine")).headers["allow"]).toMatch(/^GET, ?HEAD$/);
    });
  });
});
