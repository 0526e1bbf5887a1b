/** examples/backend-for-frontend over a stand-in for the authorization server and the API, which fails as the test says. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type LifeAnswer, newWalker, type Walker } from "./client-life";
import { type Example, startExample } from "../servers/example";
import { newLatch } from "../storage/latch";

interface Answer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Record<string, string>;
}

interface Asked {
  readonly url: string;
  readonly method: string;
  readonly authorization: string;
  readonly cookie: string | undefined;
  readonly body: string;
}

let tokenAnswer: () => Answer | "no answer" | Promise<Answer>;
let apiAnswer: (asked: Asked) => Answer | "no answer";
let asked: Asked[];
let server: Server;
let issuer: string;
let app: Example;

let tokens = 0;
const goodTokens = (expiresIn = 3_600): Answer => ({
  status: 200,
  body: {
    token_type: "bearer",
    access_token: `access-${(tokens += 1)}`,
    refresh_token: `refresh-${tokens}`,
    expires_in: expiresIn,
  },
});
const outage: Answer = { status: 503, body: { error: "temporarily_unavailable" } };
const ended: Answer = { status: 400, body: { error: "invalid_grant" } };
const tea: Answer = { status: 200, body: { orders: ["Tea"] } };

const metadata = (): Answer => {
  const endpoint = (name: string) => ({ [`${name}_endpoint`]: `${issuer}/${name}` });
  const known = { issuer, response_types_supported: ["code"] };
  return {
    status: 200,
    body: { ...known, ...endpoint("authorization"), ...endpoint("token"), ...endpoint("revocation") },
  };
};

async function answerTo(question: Asked): Promise<Answer | "no answer"> {
  const { url } = question;
  if (url.startsWith("/.well-known/")) return metadata();
  asked.push(question);
  if (url === "/revocation") return { status: 200, body: {} };
  return url === "/orders" ? apiAnswer(question) : tokenAnswer();
}

async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const { url = "", method = "", headers } = req;
  const { authorization = "", cookie } = headers;
  const body = Buffer.concat(chunks).toString();
  const answer = await answerTo({ url, method, authorization, cookie, body });
  if (answer === "no answer") return void res.destroy();
  const type = { "Content-Type": "application/json" };
  res.writeHead(answer.status, { ...type, ...answer.headers }).end(JSON.stringify(answer.body));
}

beforeAll(async () => {
  server = createServer((req, res) => void serve(req, res)).listen(0, "localhost");
  await new Promise((resolve) => server.once("listening", resolve));
  issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const before = { ...process.env };
  const settings = {
    ISSUER: issuer,
    API_URL: `${issuer}/orders`,
    CLIENT_ID: "desk",
    CLIENT_SECRET: "secret",
  };
  Object.assign(process.env, settings);
  app = await startExample("backend-for-frontend/backend.mjs", /Open http.*\n/).finally(
    () => (process.env = before),
  );
});
beforeEach(() => {
  tokenAnswer = goodTokens;
  apiAnswer = () => tea;
  asked = [];
});
afterAll(async () => {
  await app.stop();
  server.close();
  server.closeAllConnections();
});

const askedAt = (url: string): readonly Asked[] => asked.filter((each) => each.url === url);

async function untilAsked(url: string, times: number): Promise<void> {
  while (askedAt(url).length < times) await delay(5);
}

async function answerFor(walker: Walker): Promise<URL> {
  const begun = await walker.browse(`${app.origin}/sign-in`);
  const { searchParams } = new URL(begun.headers.get("location") ?? "");
  const answer = new URLSearchParams({ code: "a-code", iss: issuer, state: searchParams.get("state") ?? "" });
  return new URL(`${app.origin}/callback?${answer.toString()}`);
}

async function signedIn(expiresIn?: number): Promise<Walker> {
  const walker = newWalker(app.origin);
  tokenAnswer = () => goodTokens(expiresIn);
  await walker.browse(await answerFor(walker));
  tokenAnswer = goodTokens;
  asked = [];
  return walker;
}

const ask = (walker: Walker, path = "/api/orders", init: RequestInit = {}): Promise<LifeAnswer> =>
  walker.browse(`${app.origin}${path}`, {
    ...init,
    headers: {
      "x-order-desk": "1",
      ...(init.method && { origin: app.origin }),
      ...(init.headers as Record<string, string>),
    },
  });

const statusOf = async (walker: Walker): Promise<number> => (await ask(walker)).status;
const isSignedIn = async (walker: Walker): Promise<unknown> =>
  JSON.parse((await ask(walker, "/session")).text);

describe("examples/backend-for-frontend at expiry (RFC 9700 §4.14.2)", () => {
  it("sends one refresh token once, though the first requests come while it is under way", async () => {
    const walker = await signedIn(5);
    const refreshed = newLatch();
    tokenAnswer = () => refreshed.opened.then(() => goodTokens());
    const waiting = Array.from({ length: 10 }, () => ask(walker));
    await untilAsked("/token", 1);
    refreshed.open();
    const answers = await Promise.all(waiting);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(askedAt("/token")).toHaveLength(1);
    expect(new Set(askedAt("/orders").map(({ authorization }) => authorization)).size).toBe(1);
  });

  it("sends one refresh token once when the API refuses several requests, soon or late", async () => {
    const walker = await signedIn();
    const [refused] = [`Bearer access-${tokens}`];
    apiAnswer = ({ authorization }) => (authorization === refused ? { status: 401, body: {} } : tea);
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(walker)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(askedAt("/token").map(({ body }) => body)).toEqual([expect.stringContaining("refresh-")]);
  });

  it("signs out when the refresh token is refused, all requests alike (RFC 6749 §5.2)", async () => {
    const walker = await signedIn(5);
    tokenAnswer = () => ended;
    const answers = await Promise.all([ask(walker), ask(walker), ask(walker)]);
    const told = answers.map(({ status, text }) => `${status} ${text}`);
    expect(new Set(told)).toEqual(new Set(['401 {"error":"signed_out"}']));
    expect(await isSignedIn(walker)).toEqual({ signedIn: false });
    expect(askedAt("/orders")).toEqual([]);
  });

  it("signs out when new tokens are refused too", async () => {
    const walker = await signedIn();
    apiAnswer = () => ({ status: 401, body: {} });
    expect(await statusOf(walker)).toBe(401);
    expect(askedAt("/orders")).toHaveLength(2);
    expect(await isSignedIn(walker)).toEqual({ signedIn: false });
  });

  it.each([
    ["503", () => outage],
    ["429", () => ({ ...outage, status: 429 })],
    ["no answer", () => "no answer" as const],
  ])("keeps the session when the refresh fails in passing (%s)", async (_, failure) => {
    const walker = await signedIn(5);
    tokenAnswer = failure;
    expect(await statusOf(walker)).toBe(503);
    tokenAnswer = goodTokens;
    expect(await statusOf(walker)).toBe(200);
  });

  it("revokes the refresh token that a refresh under way brings, when the person signs out meanwhile", async () => {
    const walker = await signedIn(5);
    const refreshed = newLatch();
    const newest = goodTokens();
    tokenAnswer = () => refreshed.opened.then(() => newest);
    const waiting = ask(walker);
    await untilAsked("/token", 1);
    const signingOut = ask(walker, "/session", { method: "DELETE" });
    // the backend has heard of the sign-out when it no longer knows the session
    while (((await isSignedIn(walker)) as { signedIn: boolean }).signedIn) await delay(5);
    refreshed.open();
    expect((await signingOut).status).toBe(200);
    await waiting;
    const { refresh_token } = newest.body as { refresh_token: string };
    expect(askedAt("/revocation").map(({ body }) => body)).toEqual([expect.stringContaining(refresh_token)]);
    expect(await isSignedIn(walker)).toEqual({ signedIn: false });
  });
});

describe("examples/backend-for-frontend as a proxy", () => {
  it("passes on method, type and body, and neither cookies nor other headers", async () => {
    const walker = await signedIn();
    const headers = { "content-type": "application/json", authorization: "Bearer of-the-page" };
    const { status } = await ask(walker, "/api/orders", { method: "POST", body: '{"tea":1}', headers });
    const [passed] = askedAt("/orders");
    expect(status).toBe(200);
    expect(passed).toMatchObject({ method: "POST", body: '{"tea":1}', cookie: undefined });
    expect(passed?.authorization).toMatch(/^Bearer access-\d+$/);
  });

  it("passes back status, type and body only", async () => {
    const walker = await signedIn();
    apiAnswer = () => ({
      status: 403,
      body: { error: "insufficient_scope" },
      headers: { "Set-Cookie": "planted=1", "WWW-Authenticate": "Bearer scope=x", "X-Token": "access" },
    });
    const { status, headers, text } = await ask(walker);
    expect([status, text]).toEqual([403, '{"error":"insufficient_scope"}']);
    expect(headers.getSetCookie()).toEqual([]);
    expect([headers.has("www-authenticate"), headers.has("x-token")]).toEqual([false, false]);
  });

  it("sends the token nowhere else, though the API redirects", async () => {
    const walker = await signedIn();
    apiAnswer = () => ({ status: 302, body: {}, headers: { Location: `${issuer}/elsewhere` } });
    expect(await statusOf(walker)).toBe(503);
    expect(askedAt("/elsewhere")).toEqual([]);
  });

  it.each(["/api/orders/../token", "/api/orders/x", "/api//evil.example", "/api/%2e%2e/token", "/api"])(
    "knows no other path: %s",
    async (path) => {
      const walker = await signedIn();
      expect((await ask(walker, path)).status).toBe(404);
      expect(asked).toEqual([]);
    },
  );

  it.each(["PUT", "DELETE", "PATCH"])("knows no other method: %s", async (method) => {
    const walker = await signedIn();
    expect((await ask(walker, "/api/orders", { method })).status).toBe(405);
    expect(asked).toEqual([]);
  });

  it("refuses a body that is too large, and is there afterwards", async () => {
    const walker = await signedIn();
    const body = "x".repeat(100_000);
    expect((await ask(walker, "/api/orders", { method: "POST", body })).status).toBe(413);
    expect(await statusOf(walker)).toBe(200);
  });

  it("keeps the session when the API does not answer", async () => {
    const walker = await signedIn();
    apiAnswer = () => "no answer";
    expect(await statusOf(walker)).toBe(503);
    apiAnswer = () => tea;
    expect(await statusOf(walker)).toBe(200);
  });

  it("keeps no more than five sign-ins for a browser, and its newest works", async () => {
    const walker = newWalker(app.origin);
    const first = await answerFor(walker);
    for (let count = 0; count < 5; count += 1) await answerFor(walker);
    const newest = await answerFor(walker);
    expect((await walker.browse(first)).headers.get("location")).toBe("/?sign-in=not-asked");
    expect((await walker.browse(newest)).headers.get("location")).toBe("/");
  });

  it("offers the same answer again when the exchange has failed in passing", async () => {
    const walker = newWalker(app.origin);
    const answer = await answerFor(walker);
    tokenAnswer = () => outage;
    expect((await walker.browse(answer)).headers.get("location")).toBe("/?sign-in=failed");
    tokenAnswer = goodTokens;
    expect((await walker.browse(answer)).headers.get("location")).toBe("/");
  });

  it("prints no stack trace, no code and no token", () => {
    expect(app.printed.err + app.printed.out).not.toMatch(/^\s+at |a-code|access-|refresh-/m);
  });
});
