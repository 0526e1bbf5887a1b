/** A real browser, and a host with a client's site beside it on ports of their own for it to visit. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import express, { type Express, type Request, type Response } from "express";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium as engine,
  type LaunchOptions,
  type Page,
} from "playwright-core";
import {
  type AuthServer,
  type AuthServerEvent,
  type AuthServerOptions,
  createAuthServer,
  generateSigningKey,
  type GrantType,
  memoryStorage,
  type Storage,
} from "../../lib";
import { codeChallenge, codeVerifier } from "../../__tests__/browser/authorization-request";
import { encode, type Fields } from "../../__tests__/browser/browser";
import { webSecret } from "../../__tests__/hosts/clients";

const executablePath = process.env["AUTHMOUNT_TEST_CHROMIUM"] ?? "/usr/bin/chromium";

/** What the tests need, and whether it is here. */
export const chromium = { name: "chromium", found: existsSync(executablePath) };

const launchOptions: LaunchOptions = {
  executablePath,
  args: [
    "--no-sandbox",
    "--disable-quic",
    "--disable-background-networking",
    "--host-resolver-rules=MAP *.test 127.0.0.1",
  ],
};

/** What Chromium writes into a profile; see `chrome/common/pref_names.h`. */
export const noCookies = { profile: { default_content_setting_values: { cookies: 2 } } };
/** Preferences of a browser that keeps cookies of the visited site only. */
export const noThirdPartyCookies = { profile: { cookie_controls_mode: 1 } };
/** Preferences of a browser that keeps every cookie. */
export const allCookies = { profile: { cookie_controls_mode: 0 } };

/** Under the time limit of a test, so that a failure says what was waited for. */
const waitMilliseconds = 60_000;

let launched: Promise<Browser> | undefined;
const closing: (() => Promise<unknown>)[] = [];

/** A profile of its own in the one browser of this file. */
export async function newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  launched ??= engine.launch(launchOptions);
  const context = await (await launched).newContext(options);
  context.setDefaultTimeout(waitMilliseconds);
  closing.push(() => context.close());
  return context;
}

/** A browser of its own: these are preferences of the whole program. */
export async function contextWithPreferences(preferences: object): Promise<BrowserContext> {
  const folder = await mkdtemp(path.join(tmpdir(), "authmount-chromium-"));
  closing.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  await mkdir(path.join(folder, "Default"));
  await writeFile(path.join(folder, "Default", "Preferences"), JSON.stringify(preferences));
  const context = await engine.launchPersistentContext(folder, launchOptions);
  context.setDefaultTimeout(waitMilliseconds);
  closing.push(() => context.close());
  return context;
}

/** Closes what a test has opened, the last first. */
export async function closeAll(): Promise<void> {
  for (let close = closing.pop(); close; close = closing.pop()) await close();
}

/** Ends the browser. */
export async function closeChromium(): Promise<void> {
  const browser = await launched;
  launched = undefined;
  await browser?.close();
}

/** Waits for a fact that no event of the browser tells. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(5);
}

/** What a page has done beside being shown. */
export interface Watched {
  /** Every URL that was asked for. */
  readonly requests: string[];
  /** The console's errors and warnings, and what scripts have thrown. Hints ("info", "verbose") depend on how fast a test types. */
  readonly complaints: string[];
}

/** Watches a page from now on. */
export function watch(page: Page): Watched {
  const watched: Watched = { requests: [], complaints: [] };
  page.on("request", (request) => watched.requests.push(request.url()));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()))
      watched.complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => watched.complaints.push(error.message));
  return watched;
}

const orders = { "orders:read": "See your orders", "orders:write": "Change your orders" };
const signingKeys = [generateSigningKey()];

/** The options of `createAuthServer`, and what else a host in the browser may have. */
export interface WebHostOptions extends Partial<AuthServerOptions> {
  /** Attributes of the host's own session cookie. */
  readonly sessionAttributes?: string;
  readonly clientName?: string;
  /** The grants of the confidential client, where they are others than its kind has by itself. */
  readonly grantTypes?: readonly GrantType[];
  /** Whether people are asked for the browser client: on plain http they would be each time. Default: no. */
  readonly asksForBrowserClient?: boolean;
  /** Put ahead of the router. */
  readonly before?: (app: Express) => void;
  /** Options that name the client's site. */
  readonly forSite?: (site: WebHost["site"]) => Partial<AuthServerOptions>;
}

/** A host at one port of localhost, and the client's site at another: two origins, one site. */
export interface WebHost {
  readonly origin: string;
  readonly sessionAttributes: string;
  readonly auth: AuthServer;
  readonly storage: Storage;
  readonly events: AuthServerEvent[];
  /** The client's site by three names: of the host's site, and of two others. */
  readonly site: { readonly localhost: string; readonly loopback: string; readonly evil: string };
  /** Path and query of every request to the host. */
  readonly requests: string[];
  /** Path on the client's site → its HTML, or whatever answers there. */
  readonly pages: Map<string, string | ((req: Request, res: Response) => unknown)>;
  /** A good authorization request of the confidential client, changed by `fields`. */
  authorizeUrl(fields?: Fields): string;
  /** What is sent to the token endpoint for this code. */
  redeem(code: string): Promise<{ readonly status: number; readonly scope: unknown }>;
}

async function listen(app: Express): Promise<number> {
  const server: Server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** Written as a whole page: a browser must not complain about the host's own. */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>${title}</title><h1>${title}</h1>${body}</html>`;
}

const tellParent = "<script>parent.postMessage(location.search, '*')</script>";

async function startSite(): Promise<{ port: number; pages: WebHost["pages"] }> {
  const pages: WebHost["pages"] = new Map();
  pages.set("/callback", htmlPage("Back at the client", ""));
  pages.set("/silent", htmlPage("Silent answer", tellParent));
  pages.set("/app", htmlPage("The client's page", ""));
  const site = express();
  site.use((req, res) => {
    const page = pages.get(req.path);
    if (typeof page === "function") return void page(req, res);
    res.status(page === undefined ? 404 : 200).send(page ?? "");
  });
  return { port: await listen(site), pages };
}

function sessionOf({ headers }: Request): string | undefined {
  return /(?:^|; )session=(\w+)/.exec(headers.cookie ?? "")?.[1];
}

const signInForm =
  '<form method="post"><label>Name <input name="name" required></label> <button>Sign in</button></form>';
const signOutForm = '<form method="post"><button>Sign out</button></form>';
const hostConsentForm =
  '<form method="post"><button name="answer" value="yes">Yes</button> <button formaction="/no">No</button></form>';

function hostPages(app: Express, { auth, attributes }: { auth: AuthServer; attributes: string }): void {
  const readForm = express.urlencoded({ extended: false });
  app.get("/signin", (_, res) => void res.send(htmlPage("Sign in", signInForm)));
  app.post("/signin", readForm, (req, res) => {
    const { name } = req.body as { name: string };
    res.appendHeader("Set-Cookie", `session=${name}; Path=/; HttpOnly; ${attributes}`);
    auth.resume(req, res, { otherwise: "/" });
  });
  app.get("/signout", (_, res) => void res.send(htmlPage("Sign out?", signOutForm)));
  app.post("/signout", readForm, (req, res) => {
    res.appendHeader("Set-Cookie", `session=; Path=/; HttpOnly; Max-Age=0; ${attributes}`);
    auth.resume(req, res);
  });
  app.get("/question", (_, res) => void res.send(htmlPage("The host asks", hostConsentForm)));
  app.post("/question", readForm, (req, res) => auth.approve(req, res));
  app.post("/no", readForm, (req, res) => auth.deny(req, res));
}

/** A host and a client's site that listen, with what a test has to know of them. */
export async function startWebHost({
  sessionAttributes = "SameSite=Lax",
  clientName = "Web Shop",
  grantTypes,
  asksForBrowserClient = false,
  before,
  forSite,
  ...options
}: WebHostOptions = {}): Promise<WebHost> {
  const { port: sitePort, pages } = await startSite();
  const site = {
    localhost: `http://localhost:${sitePort}`,
    loopback: `http://127.0.0.1:${sitePort}`,
    evil: `http://evil.test:${sitePort}`,
  };
  const subscriptions = { orders: { ...(grantTypes && { grantTypes }) } };
  const storage = memoryStorage({
    clients: [
      {
        clientId: "web",
        name: clientName,
        confidential: true,
        secretDigests: [webSecret.digest],
        redirectUris: [`${site.localhost}/callback`],
        policyUri: "https://web.example/policy",
        subscriptions,
      },
      {
        clientId: "spa",
        name: "Browser App",
        confidential: false,
        platform: "browser",
        redirectUris: [`${site.localhost}/silent`, `${site.loopback}/silent`, `${site.localhost}/callback`],
        postLogoutRedirectUris: [`${site.localhost}/app`],
        subscriptions: { orders: { trusted: !asksForBrowserClient } },
      },
    ],
  });
  const app = express();
  const origin = `http://localhost:${await listen(app)}`;
  const requests: string[] = [];
  app.use((req, _, next) => {
    requests.push(`${req.method} ${req.url}`);
    next();
  });
  before?.(app);
  const events: AuthServerEvent[] = [];
  const auth = createAuthServer({
    baseUrl: `${origin}/login`,
    secrets: ["a test secret of at least 32 characters"],
    signingKeys,
    authMethods: {
      password: {
        authenticate({ req, reauthenticate }) {
          const subject = sessionOf(req);
          return subject === undefined || reauthenticate
            ? { kind: "interaction", url: "/signin" }
            : { kind: "authenticated", subject };
        },
        signOut: ({ req }) =>
          sessionOf(req) === undefined ? { kind: "signed-out" } : { kind: "interaction", url: "/signout" },
      },
    },
    apis: {
      orders: {
        name: "Orders",
        audience: "https://api.example/orders",
        authMethods: ["password"],
        scopes: orders,
      },
    },
    onEvent: (event) => void events.push(event),
    ...options,
    ...forSite?.(site),
    storage,
  });
  app.use("/login", auth.router);
  app.use(auth.wellKnown);
  hostPages(app, { auth, attributes: sessionAttributes });
  const issuer = `${origin}/login/auth/password/api/orders`;
  return {
    origin,
    sessionAttributes,
    auth,
    storage,
    events,
    site,
    requests,
    pages,
    authorizeUrl(fields = {}) {
      const good = {
        client_id: "web",
        response_type: "code",
        redirect_uri: `${site.localhost}/callback`,
        scope: "orders:read orders:write",
        state: "a state",
        code_challenge: codeChallenge,
        code_challenge_method: "S256",
      };
      return `${issuer}/authorize?${encode({ ...good, ...fields })}`;
    },
    async redeem(code) {
      const fields = { client_id: "web", client_secret: webSecret.secret, code_verifier: codeVerifier, code };
      const body = new URLSearchParams({ grant_type: "authorization_code", ...fields });
      const response = await fetch(`${issuer}/token`, { method: "POST", body });
      const { scope } = (await response.json()) as { scope?: unknown };
      return { status: response.status, scope };
    },
  };
}

/** The sentences of the scopes, as people read them. */
export const sentences = Object.values(orders);

/** The consent page's controls, by what people hear of them. */
export function consentPage(page: Page) {
  return {
    allow: page.getByRole("button", { name: "Allow", exact: true }),
    switchAccount: page.getByRole("button", { name: "Not you? Use another account" }),
    doNotAllow: page.getByRole("button", { name: "Don’t allow", exact: true }),
    scope: (sentence: string) => page.getByRole("checkbox", { name: sentence }),
    heading: page.getByRole("heading", { level: 1 }),
  };
}

/** Signs in on a page of the host. */
export async function signIn(page: Page, name: string): Promise<void> {
  await page.getByRole("textbox", { name: "Name" }).fill(name);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** A page of a browser in which alice is signed in at the host. */
export async function signedInPage(host: WebHost, context: BrowserContext): Promise<Page> {
  const secure = host.sessionAttributes.includes("Secure");
  const place = { domain: "localhost", path: "/", secure, sameSite: secure ? "None" : "Lax" } as const;
  await context.addCookies([{ name: "session", value: "alice", httpOnly: true, ...place }]);
  return context.newPage();
}

/** The parameters that the browser has brought to the client's callback. */
export async function arrival(page: Page): Promise<Record<string, string>> {
  // not `waitForURL`, which fails where a second click ends the navigation of the first one
  await until(() => new URL(page.url()).pathname === "/callback");
  await page.waitForLoadState();
  return Object.fromEntries(new URL(page.url()).searchParams);
}
