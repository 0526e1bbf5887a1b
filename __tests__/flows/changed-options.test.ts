// The options of a running server change as docs/recipes.md does it: a second server is created, and the routes use it from then on.
import { createServer, type RequestListener, type Server } from "node:http";
import express, { type Express, Router } from "express";
import request, { type Response } from "supertest";
import {
  type Authentication,
  type AuthServer,
  type AuthServerEvent,
  type AuthServerOptions,
  createAuthServer,
  generateSigningKey,
  memoryStorage,
} from "../../lib";
import { apis, baseUrl, type Pair, pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { type Browser, newBrowser } from "../browser/browser";
import { codeVerifier } from "../browser/authorization-request";
import { type ClientName, clients, credentials } from "../hosts/clients";
import { stopClock } from "../hosts/clock";
import { runBlock } from "../sources/doc-block";
import { alice, signedOut } from "../hosts/host";
import type { Tokens } from "../browser/journey";
import { newLatch } from "../storage/latch";

type Changing = Pick<AuthServerOptions, "apis" | "authMethods">;

const { orders = { audience: "", authMethods: [], scopes: {} }, files = orders, reports = orders } = apis;

/** A host that can change its options, and what is seen of it. */
interface ChangingHost {
  readonly server: Server;
  readonly events: AuthServerEvent[];
  /** What `authenticate` answers. */
  session: Authentication;
  /** Serves these APIs from now on. */
  readonly serve: (served: AuthServerOptions["apis"]) => void;
  readonly newest: () => AuthServer;
  /** Those of the server that is served. */
  readonly options: () => AuthServerOptions;
}

/** The host's own sign-in page. */
function signInPage(auth: AuthServer, host: { session: Authentication }): Router {
  const pages = Router();
  pages.get("/signin", async (req, res) => void res.json((await auth.interaction(req)) ?? "nothing"));
  pages.post("/signin", (req, res) => {
    host.session = alice();
    auth.resume(req, res, { otherwise: "/" });
  });
  return pages;
}

async function changingHost(options: Partial<AuthServerOptions> = {}): Promise<ChangingHost> {
  const app = express();
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const events: AuthServerEvent[] = [];
  const served: AuthServer[] = [];
  const method = { authenticate: () => host.session };
  const kept = {
    baseUrl,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys: [generateSigningKey()],
    storage: memoryStorage({ clients: Object.values(clients) }),
    onEvent: (event: AuthServerEvent) => void events.push(event),
    ...options,
  };
  const authMethods = { password: method, otp: method, sso: method };
  const host: ChangingHost = {
    server,
    events,
    session: alice(),
    serve: (changed) => serve({ apis: changed, authMethods }),
    newest() {
      const auth = served.at(-1);
      if (!auth) throw new Error("nothing is served yet");
      return auth;
    },
    options: () => ({ ...kept, authMethods, apis: { orders } }),
  };
  const pages = (auth: AuthServer): Router => {
    served.push(auth);
    return signInPage(auth, host);
  };
  const heading = "Add an API or a tenant without a restart";
  const block = runBlock({ heading }, { app, options: kept, pages });
  const serve = block["serve"] as (changing: Changing) => void;
  host.serve({ orders });
  return host;
}

const hosts: ChangingHost[] = [];

async function startHost(options?: Partial<AuthServerOptions>): Promise<ChangingHost> {
  const host = await changingHost(options);
  hosts.push(host);
  return host;
}

afterEach(async () => {
  jest.restoreAllMocks();
  for (const { server } of hosts.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** supertest takes a server that listens as well as an app. */
function browserOf({ server }: ChangingHost): Browser {
  return newBrowser(server as unknown as Express);
}

function postToken(host: ChangingHost, pair: Pair, fields: Record<string, string>): Promise<Response> {
  return Promise.resolve(
    request(host.server)
      .post(`${pairPath(pair)}/token`)
      .type("form")
      .send(fields),
  );
}

function ownToken(host: ChangingHost, pair: Pair = {}): Promise<Response> {
  return postToken(host, pair, { grant_type: "client_credentials", ...credentials("web") });
}

function refresh(host: ChangingHost, refreshToken: string, pair: Pair = {}): Promise<Response> {
  const fields = { grant_type: "refresh_token", ...credentials("web"), refresh_token: refreshToken };
  return postToken(host, pair, fields);
}

function callApi(host: ChangingHost, api: string, token: string): Promise<Response> {
  return Promise.resolve(request(host.server).get(`/${api}`).set("Authorization", `Bearer ${token}`));
}

/** What the answer holds, which is expected to be a good one. */
function good(response: Response): Tokens {
  if (response.status !== 200) throw new Error(`${response.status}: ${response.text}`);
  return response.body as Tokens;
}

/** The tokens for the code that a redirect brings. */
async function redeem(host: ChangingHost, answer: Response, pair: Pair = {}): Promise<Tokens> {
  const { code, ...others } = redirectParameters(answer);
  if (code === undefined) throw new Error(`no code: ${JSON.stringify(others)}`);
  const fields = { grant_type: "authorization_code", code, code_verifier: codeVerifier };
  return good(await postToken(host, pair, { ...fields, ...credentials("web") }));
}

/** Signs in by the consent page, which is answered when it says so. */
async function signIn(
  host: ChangingHost,
  { pair = {}, page = () => Promise.resolve() }: { pair?: Pair; page?: () => Promise<void> } = {},
): Promise<Tokens> {
  const browser = browserOf(host);
  const client: ClientName = "web";
  const shown = await authorize(browser, { client, pair, fields: { prompt: "consent" } });
  if (shown.status !== 200) throw new Error(`no page: ${shown.status} ${shown.text}`);
  await page();
  return redeem(host, await browser.answer(shown, "approve"), pair);
}

/** Counts what clients do, so that a change can wait until many of them have been at it. */
function progress(): { readonly tell: () => void; readonly more: (count: number) => Promise<void> } {
  let done = 0;
  let awaited: { count: number; open: () => void } | undefined;
  return {
    tell() {
      done += 1;
      if (awaited && done >= awaited.count) awaited.open();
    },
    more(count) {
      const latch = newLatch();
      awaited = { count: done + count, open: () => latch.open() };
      return latch.opened;
    },
  };
}

/** Clients of every kind that do not stop until they are told to. Whatever fails rejects. */
function load(host: ChangingHost): { stop: () => Promise<number>; more: (count: number) => Promise<void> } {
  const { tell, more } = progress();
  const end = new AbortController();
  const { signal } = end;
  let rounds = 0;
  const swapped = (): Promise<void> => {
    const before = host.newest();
    // a page that stays open until the server behind it is another one
    return new Promise((resolve) => {
      const look = (): void => {
        if (signal.aborted || host.newest() !== before) resolve();
        else setImmediate(look);
      };
      look();
    });
  };
  async function again(work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      await work();
      rounds += 1;
      tell();
    }
  }
  const machine = async (): Promise<void> => {
    const { access_token } = good(await ownToken(host));
    good(await callApi(host, "orders", access_token));
  };
  async function longLived(): Promise<void> {
    let tokens = await signIn(host);
    await again(async () => {
      good(await callApi(host, "orders", tokens.access_token));
      tokens = good(await refresh(host, tokens.refresh_token ?? ""));
    });
  }
  const person = async (): Promise<void> => {
    const { access_token } = await signIn(host, { page: swapped });
    good(await callApi(host, "orders", access_token));
  };
  const metadata = async (): Promise<void> => {
    good(
      await request(host.server).get(
        "/.well-known/oauth-authorization-server/login/auth/password/api/orders",
      ),
    );
    good(await request(host.server).get("/login/jwks"));
  };
  const working = [
    ...[1, 2, 3, 4].map(() => again(machine)),
    ...[1, 2, 3].map(() => longLived()),
    ...[1, 2, 3].map(() => again(person)),
    again(metadata),
  ];
  const all = Promise.all(working);
  return {
    // what fails must not wait for others to go on
    more: (count) => Promise.race([more(count), all.then(() => undefined)]),
    async stop() {
      end.abort();
      await all;
      return rounds;
    },
  };
}

function kindsOf({ events }: ChangingHost): Set<string> {
  return new Set(events.map(({ kind }) => kind));
}

describe("options that change under load (RFC 6749 §3)", () => {
  it("fails no request while an API is added and removed, twenty changes in all", async () => {
    const warned = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const host = await startHost();
    const clientsAtWork = load(host);
    for (let change = 0; change < 10; change += 1) {
      host.serve({ orders, files });
      const { access_token, refresh_token = "" } = await signIn(host, { pair: { api: "files" } });
      good(await callApi(host, "files", access_token));
      good(await refresh(host, refresh_token, { api: "files" }));
      await clientsAtWork.more(20);
      host.serve({ orders });
      expect((await ownToken(host, { api: "files" })).status).toBe(404);
      expect((await callApi(host, "files", access_token)).status).toBe(404);
      await clientsAtWork.more(20);
    }
    expect(await clientsAtWork.stop()).toBeGreaterThanOrEqual(400);
    const refused = ["server-error", "token-refused", "bearer-refused", "authorization-denied"];
    expect(refused.filter((kind) => kindsOf(host).has(kind))).toEqual([]);
    expect(host.events.filter(({ kind }) => kind === "started")).toHaveLength(21);
    expect(warned.mock.calls).toEqual([]);
  });
});

describe("what is under way when the options change (RFC 6749 §4.1)", () => {
  it("a sign-in that began before the change ends after it", async () => {
    const host = await startHost();
    host.session = signedOut;
    const browser = browserOf(host);
    const first = await authorize(browser, { client: "web" });
    const page = await browser.follow(first);
    host.serve({ orders, files });
    const { search } = new URL(String(first.headers["location"]), baseUrl);
    const consent = await browser.follow(await browser.post(`/signin${search}`));
    expect([page.status, consent.status]).toEqual([200, 200]);
    host.serve({ orders });
    const { access_token } = await redeem(host, await browser.answer(consent, "approve"));
    expect((await callApi(host, "orders", access_token)).status).toBe(200);
  });

  it("a request that the old server is still answering gets its answer", async () => {
    const [asked, answered] = [newLatch(), newLatch()];
    const tokens = {
      async decide() {
        asked.open();
        await answered.opened;
        return { kind: "issue" } as const;
      },
    };
    const host = await startHost({ tokens });
    const underWay = ownToken(host);
    await asked.opened;
    host.serve({ orders, files });
    answered.open();
    const { access_token } = good(await underWay);
    expect((await callApi(host, "orders", access_token)).status).toBe(200);
  });

  it("a scope that is no longer there is not granted by a page that shows it (RFC 6749 §10.2)", async () => {
    const host = await startHost();
    const browser = browserOf(host);
    const shown = await authorize(browser, { client: "web", fields: { scope: "orders:read orders:write" } });
    host.serve({ orders: { ...orders, scopes: { "orders:read": "See your orders" } } });
    const answer = await browser.answer(shown, "approve");
    expect(redirectParameters(answer)).toMatchObject({ error: "invalid_scope" });
  });

  it("a sign-in for an API that is removed ends on an error page, not at a stranger's", async () => {
    const host = await startHost();
    host.serve({ orders, files });
    const browser = browserOf(host);
    const shown = await authorize(browser, { client: "web", pair: { api: "files" } });
    host.serve({ orders });
    const answer = await browser.answer(shown, "approve");
    expect([answer.status, answer.headers["location"]]).toEqual([404, undefined]);
  });
});

describe("what a change must not do", () => {
  it("a wrong option throws, and what was served goes on", async () => {
    const host = await startHost();
    expect(() => host.serve({ orders: { ...orders, audience: "not a URL" } })).toThrow(TypeError);
    const { access_token } = good(await ownToken(host));
    expect((await callApi(host, "orders", access_token)).status).toBe(200);
  });

  it("warns of no mistake in mounting, also when routes read a server anew for each request", async () => {
    const warned = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const options = {
      baseUrl,
      secrets: ["a test secret of at least 32 characters"],
      signingKeys: [generateSigningKey()],
      storage: memoryStorage({ clients: Object.values(clients) }),
      authMethods: {
        password: { authenticate: () => alice() },
        otp: { authenticate: () => alice() },
        sso: { authenticate: () => alice() },
      },
      onEvent: () => undefined,
    };
    let current = createAuthServer({ ...options, apis: { orders } });
    const app = express();
    app.use((req, res, next) => current.wellKnown(req, res, next));
    app.use("/login", (req, res, next) => current.router(req, res, next));
    app.get("/orders", (req, res, next) => current.requireBearer({ api: "orders" })(req, res, next));
    app.get("/orders", (_req, res) => void res.json({}));
    let listener: RequestListener = current.inFrontOf(app);
    for (const inFront of [false, true]) {
      const target = inFront ? createServer((req, res) => listener(req, res)) : createServer(app);
      for (const served of [{ orders, reports }, { orders }]) {
        current = createAuthServer({ ...options, apis: served });
        listener = current.inFrontOf(app);
        const token = await request(target)
          .post(`${pairPath()}/token`)
          .set("Host", "host.example")
          .type("form")
          .send({ grant_type: "client_credentials", ...credentials("web") });
        const { access_token } = good(token);
        const called = request(target).get("/orders").set("Host", "host.example");
        good(await called.set("Authorization", `Bearer ${access_token}`));
      }
    }
    expect(warned.mock.calls).toEqual([]);
  });

  it.each([`${pairPath({ api: "files" })}/token`, "/.well-known/oauth-protected-resource/files"])(
    "does not blame the mounting for a 404 of the server before: %s",
    async (path) => {
      const warned = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
      const host = await startHost();
      const withFiles = { ...host.options(), apis: { orders, files } };
      // created, but its routes are not used yet
      const next = createAuthServer(withFiles);
      expect((await request(host.server).get(path).set("Host", "host.example")).status).toBe(404);
      expect([next.wellKnown, warned.mock.calls]).toEqual([expect.any(Function), []]);
    },
  );

  it("access that was ended while its API was removed does not return with the API (RFC 7009 §2.1)", async () => {
    const clock = stopClock();
    const host = await startHost();
    host.serve({ orders, files });
    const atFiles = await signIn(host, { pair: { api: "files" } });
    const short = {
      refreshTokenSeconds: 60,
      refreshTokenIdleSeconds: 60,
      consentSeconds: 60,
      interactionSeconds: 60,
    };
    host.serve({ orders: { ...orders, lifetimes: short } });
    await host.newest().clients.revoke("web");
    clock.advance(3600);
    host.serve({ orders, files });
    const answer = await refresh(host, atFiles.refresh_token ?? "", { api: "files" });
    expect(answer.body).toMatchObject({ error: "invalid_grant" });
  });
});
