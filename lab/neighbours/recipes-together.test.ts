// What the pages print is run together: the host of docs/recipes.md with each other part, all of them at one address.
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import path from "node:path";
import express, { type Express, type RequestHandler, type Router } from "express";
import request from "supertest";
import { type Client, generateClientSecret, type OnEvent, type RateLimit, type Storage } from "../../lib";
import { createResourceServer, type ResourceServerOptions } from "../../lib/resource-server";
import { apis } from "../../__tests__/hosts/apis";
import { buildOnce } from "../../__tests__/servers/build-once";
import { newWalker } from "../../__tests__/clients/client-life";
import { basic, clients, credentials } from "../../__tests__/hosts/clients";
import { runBlock } from "../../__tests__/sources/doc-block";
import { testHost, type TestHostOptions } from "../../__tests__/hosts/host";
import { obtainTokens } from "../../__tests__/browser/journey";
import { type ListeningApp, listen } from "../../__tests__/hosts/listening";
import { codeFor, nativeMetadata, redeemAs, registered } from "../../__tests__/requests/registration";
import { issuerAt, type RemoteServer, remoteServer } from "../../__tests__/resource-server/remote";
import { freePort } from "../../__tests__/servers/server-process";

const audience = "https://api.example/orders";
let server: RemoteServer;
let apiSecret = "";

/** The client that docs/resource-server.md registers for an API, with the secret that it prints. */
async function apiClient(): Promise<Client> {
  const console = { log: (text: string) => (apiSecret = text) };
  const { storage } = runBlock({ page: "resource-server.md", heading: "Revocation" }, { console });
  const found = await (storage as Storage).clients.find("orders-api");
  if (!found) throw new Error("the page registers no client");
  return found;
}

/** helmet and the rate limits of docs/recipes.md, with the limit of docs/unregistered-clients.md. */
async function printedHost(more: readonly Client[] = []): Promise<TestHostOptions> {
  const { limits, rateLimit, onEvent } = runBlock(
    { heading: "Rate limits" },
    {
      alarm: (text: string) => {
        throw new Error(text);
      },
      apiClients: new Set(["orders-api"]),
      setInterval: () => ({ unref: () => undefined }),
    },
  );
  const { registrationLimit } = runBlock({ page: "unregistered-clients.md", heading: "A rate limit" }, {});
  const scopes = { read: "See your orders", ...apis["orders"]?.scopes };
  return {
    apis: {
      ...apis,
      orders: {
        audience,
        scopes,
        authMethods: ["password"],
        clientRegistration: { approve: () => ({ kind: "approved" }) },
      },
    },
    clients: [{ ...clients.web, subscriptions: { orders: {} } }, await apiClient(), ...more],
    rateLimit: rateLimit as RateLimit,
    onEvent: onEvent as OnEvent,
    before(app) {
      app.set("trust proxy", 1);
      const auth = { router: express.Router(), wellKnown: express.Router() };
      runBlock({ heading: "helmet in front of the router" }, { app, auth });
      app.use("/login", limits as RequestHandler, registrationLimit as Router);
    },
  };
}

/** What the page calls, with the authorization server of the test. */
const fromHere = (options: ResourceServerOptions): object =>
  createResourceServer({
    ...options,
    baseUrl: server.baseUrl,
    introspection: { clientId: "orders-api", clientSecret: apiSecret },
    revocationLagSeconds: 0,
  });

/** The app of docs/resource-server.md, which asks about each token at each call: as many calls as in a minute with the default lag. */
function printedApi(): Express {
  const modules = { "authmount/resource-server": { createResourceServer: fromHere } };
  return runBlock({ page: "resource-server.md", heading: "Protect an app", modules }, {})["app"] as Express;
}

const call = async (api: Express, token: string): Promise<number> =>
  (await request(api).get("/orders").auth(token, { type: "bearer" })).status;

async function goodToken(): Promise<string> {
  return (await obtainTokens(server.host, { client: "web", fields: { scope: "read" } })).access_token;
}

const times = <Value>(count: number, value: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => value(index));
const madeUp = (): string => randomBytes(32).toString("base64url");

/** Twenty at a time: a crowd, and never more connections than a small machine has. */
async function inTwenties<Value>(count: number, act: (index: number) => Promise<Value>): Promise<Value[]> {
  const answers: Value[] = [];
  while (answers.length < count) {
    const begun = answers.length;
    answers.push(...(await Promise.all(times(Math.min(20, count - begun), (index) => act(begun + index)))));
  }
  return answers;
}

const running: { close(): unknown }[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.close()));
});

async function startServer(more?: readonly Client[]): Promise<void> {
  server = await remoteServer(await printedHost(more));
  running.push({ close: () => server.stop() });
}

async function listening(app: Express): Promise<ListeningApp> {
  const started = await listen(app);
  running.push(started);
  return started;
}

const introspect = async (secret: string): Promise<number> =>
  (
    await fetch(`${issuerAt(server)}/introspect`, {
      method: "POST",
      headers: { Authorization: basic("orders-api", secret) },
      body: new URLSearchParams({ token: madeUp() }),
    })
  ).status;

describe("rate limits, and an API elsewhere that introspects", () => {
  beforeEach(() => startServer());

  it("serve fifteen people who call once a second for a minute", async () => {
    const api = printedApi();
    const tokens = await inTwenties(15, goodToken);
    const statuses = await inTwenties(15 * 12, (index) => call(api, tokens[index % 15] ?? ""));
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  it("serve them while a stranger presents ten made-up tokens a second", async () => {
    const api = printedApi();
    const token = await goodToken();
    const statuses = await inTwenties(620, () => call(api, madeUp()));
    expect([new Set(statuses), await call(api, token)]).toEqual([new Set([401]), 200]);
  });

  it("answer at most ten wrong secrets of the API, and 120 that come at once", async () => {
    const atOnce = await Promise.all(times(130, () => introspect("a guess")));
    expect(atOnce.filter((status) => status === 401).length).toBeLessThanOrEqual(120);
    expect(await introspect(apiSecret)).toBe(429);
  });

  it("count the questions of any other client", async () => {
    const statuses = await inTwenties(125, async () => {
      const { status } = await fetch(`${issuerAt(server)}/introspect`, {
        method: "POST",
        body: new URLSearchParams({ token: madeUp(), ...credentials("web") }),
      });
      return status;
    });
    expect(statuses).toContain(429);
  });
});

/** Starts the backend of the example, as a client of the printed host, in front of the printed API. Gives its origin. */
async function startBackend(): Promise<string> {
  buildOnce();
  const [PORT, { secret, digest }] = [String(await freePort()), generateClientSecret()];
  const origin = `http://localhost:${PORT}`;
  const record = {
    clientId: "order-desk",
    name: "Order Desk",
    confidential: true,
    secretDigests: [digest],
  } as const;
  const client = { ...record, redirectUris: [`${origin}/callback`], subscriptions: { orders: {} } };
  await startServer([client]);
  const api = await listening(printedApi());
  const file = path.resolve(__dirname, "../../examples/backend-for-frontend/backend.mjs");
  const settings = {
    PORT,
    ISSUER: issuerAt(server),
    API_URL: `http://127.0.0.1:${api.port}/orders`,
    CLIENT_ID: "order-desk",
    CLIENT_SECRET: secret,
  };
  const child = spawn(process.execPath, [file], { env: { ...process.env, ...settings } });
  running.push({ close: () => child.kill() && once(child, "exit") });
  await once(child.stdout, "data");
  return origin;
}

it("rate limits serve a backend for browser apps, with twenty people who read ten times each", async () => {
  const origin = await startBackend();
  const read = async (): Promise<string[]> => {
    const walker = newWalker(origin);
    await walker.follow(await walker.browse("/sign-in"));
    const headers = { "x-order-desk": "1", "sec-fetch-site": "same-origin" };
    return Promise.all(times(10, async () => (await walker.browse("/api/orders", { headers })).text));
  };
  const answers = (await inTwenties(20, read)).flat();
  expect([answers.length, new Set(answers)]).toEqual([200, new Set(['{"ordersOf":"alice"}'])]);
});

const silentUri = "https://spa.example/silent";

/** The function of docs/clients.md in a page of the client `spa`. Its iframe follows redirects and posts what arrives. */
function printedFrame(): (url: string) => Promise<URLSearchParams> {
  const { origin } = new URL(silentUri);
  const listeners: ((event: object) => void)[] = [];
  const newFrame = () => ({
    contentWindow: {},
    remove: () => undefined,
    set src(url: string) {
      void fetch(url, { redirect: "manual" }).then(({ headers }) => {
        const data = new URL(headers.get("location") ?? "").search;
        for (const listener of listeners.splice(0)) listener({ source: this.contentWindow, origin, data });
      });
    },
  });
  const { answerOfFrame } = runBlock(
    { page: "clients.md", heading: "Silent refresh" },
    {
      location: { origin },
      document: { createElement: newFrame, body: { append: () => undefined } },
      window: {
        addEventListener: (_: string, listener: (event: object) => void) => listeners.push(listener),
      },
    },
  );
  return answerOfFrame as (url: string) => Promise<URLSearchParams>;
}

/** A page that asks silently, and redeems the code that comes. */
async function silentRefresh(): Promise<unknown> {
  const [issuer, verifier] = [issuerAt(server), randomBytes(32).toString("base64url")];
  const asked = {
    client_id: "shop-in-the-browser",
    response_type: "code",
    redirect_uri: silentUri,
    scope: "read",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    prompt: "none",
  };
  const answer = await printedFrame()(`${issuer}/authorize?${String(new URLSearchParams(asked))}`);
  const response = await fetch(`${issuer}/token`, {
    method: "POST",
    headers: { Origin: new URL(silentUri).origin },
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: asked.client_id,
      code: answer.get("code") ?? "",
      redirect_uri: silentUri,
      code_verifier: verifier,
    }),
  });
  return response.json();
}

it("rate limits serve silent refresh, with forty pages that are loaded twice", async () => {
  const client = {
    ...clients.spa,
    clientId: "shop-in-the-browser",
    redirectUris: [silentUri],
    subscriptions: { orders: { trusted: true } },
  };
  await startServer([client]);
  const tokens = await inTwenties(80, silentRefresh);
  expect(tokens).toEqual(times(80, () => expect.objectContaining({ token_type: "bearer" }) as unknown));
});

it("rate limits serve ten MCP clients that register themselves and call once a second", async () => {
  const host = testHost(await printedHost());

  const guard = host.auth.requireBearer({ api: "orders", scope: "read", subject: "required" });
  const mcp = await listening(express().post("/mcp", guard, (_, res) => void res.sendStatus(202)));
  const answers = await inTwenties(10, async () => {
    const client = await registered(host, nativeMetadata);
    const { body } = await redeemAs(host, client, await codeFor(host, client, { scope: "read" }));
    const headers = { Authorization: `Bearer ${(body as { access_token: string }).access_token}` };
    return Promise.all(times(60, () => mcp.send({ method: "POST", path: "/mcp", headers })));
  });
  expect(answers.flat().map(({ status }) => status)).toEqual(times(600, () => 202));
});
