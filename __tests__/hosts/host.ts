/** A host app with three authentication methods, three APIs and a client of each kind. */
import { generateKeyPairSync } from "node:crypto";
import type { RequestListener } from "node:http";
import express, { type Express, type Request } from "express";
import {
  type Authentication,
  type AuthServer,
  type AuthServerEvent,
  type AuthServerOptions,
  type Client,
  createAuthServer,
  memoryStorage,
  type Storage,
} from "../../lib";
import { apis, baseUrl } from "./apis";
import { type Browser, newBrowser } from "../browser/browser";
import { clients } from "./clients";

const signingKeys = [generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey];

/** A host app and what a test may see of it. */
export interface TestHost {
  readonly app: Express;
  readonly auth: AuthServer;
  readonly storage: Storage;
  readonly events: AuthServerEvent[];
  /** What `authenticate` answers; change it as you like. */
  session:
    | Authentication
    | ((asked: { readonly reauthenticate: boolean }) => Authentication | Promise<Authentication>);
  /** Every question that `authenticate` was asked. */
  readonly asked: { readonly reauthenticate: boolean; readonly prompt: readonly string[] }[];
  /** A browser with cookies of its own. */
  browser(): Browser;
}

/** The options of `createAuthServer`, all with a default, and the clients. */
export interface TestHostOptions extends Partial<AuthServerOptions> {
  readonly clients?: readonly Client[];
  /** Put ahead of the router: body parsers and the like. */
  readonly before?: (app: Express) => void;
}

/** Alice, signed in. */
export const signedIn = {
  kind: "authenticated",
  subject: "alice",
  displayName: "Alice",
  authTime: 1_799_999_000,
} as const satisfies Authentication;
/** Alice, signed in at this moment unless told otherwise. */
export function alice(authTime = Math.floor(Date.now() / 1000)): Authentication {
  return { kind: "authenticated", subject: "alice", displayName: "Alice", authTime };
}
/** Bob, signed in at the same time as Alice. */
export const bob = {
  kind: "authenticated",
  subject: "bob",
  displayName: "Bob",
  authTime: 1_799_999_000,
} as const satisfies Authentication;
/** Nobody: a visitor is sent to the sign-in page. */
export const signedOut: Authentication = { kind: "interaction", url: "/signin" };

function hostPages(host: TestHost): void {
  const { app, auth } = host;
  app.get("/signin", async (req, res) => {
    res.json((await auth.interaction(req)) ?? { nothing: "pending" });
  });
  app.post("/signin", express.urlencoded({ extended: false }), (req: Request, res) => {
    const { subject } = req.body as { subject: string };
    host.session = { kind: "authenticated", subject, authTime: Math.floor(Date.now() / 1000) };
    auth.resume(req, res, { otherwise: "/" });
  });
  app.post("/cancel", express.urlencoded({ extended: false }), (req, res) => auth.deny(req, res));
  // `app.all` makes a layer for each method of HTTP, which took a twentieth of the time of these tests
  app.route("/allow").all(express.urlencoded({ extended: false }), (req, res) => {
    const { scopes } = (req.body ?? {}) as { scopes?: string };
    return auth.approve(req, res, scopes === undefined ? {} : { scopes: scopes.split(" ") });
  });
  for (const api of Object.keys(apis)) {
    app.route(`/${api}`).all(auth.requireBearer({ api }), (req, res) => void res.json(req.auth));
  }
  app.get("/orders/changes", auth.requireBearer({ api: "orders", scope: "orders:write" }), (req, res) => {
    res.json(req.auth);
  });
}

/**
 * In the project "in front of Express" of jest.config.js, everything that is sent to the app passes `auth.inFrontOf` first.
 * A call of the app is a call of its `handle`, by a server and by supertest.
 */
function putInFront(app: Express, auth: AuthServer): void {
  if (Reflect.get(globalThis, "inFrontOfExpress") !== true) return;
  const handled = app as Express & { handle: RequestListener };
  handled.handle = auth.inFrontOf(handled.handle.bind(app));
}

/** A host with alice signed in and every event collected. It is mounted at `/login` of `https://host.example`. */
export function testHost({ clients: records, before, ...options }: TestHostOptions = {}): TestHost {
  const storage = options.storage ?? memoryStorage({ clients: records ?? Object.values(clients) });
  const app = express();
  before?.(app);
  const events: AuthServerEvent[] = [];
  const asked: TestHost["asked"] = [];
  const method = {
    authenticate({ reauthenticate, prompt }: { reauthenticate: boolean; prompt: readonly string[] }) {
      asked.push({ reauthenticate, prompt });
      const { session } = host;
      if (typeof session === "function") return session({ reauthenticate });
      return session.kind === "authenticated" && reauthenticate ? signedOut : session;
    },
  };
  const auth = createAuthServer({
    baseUrl,
    secrets: ["a-test-secret-of-at-least-32-characters"],
    signingKeys,
    authMethods: { password: method, otp: method, sso: method },
    apis,
    onEvent: (event) => void (event.kind === "started" || events.push(event)),
    ...options,
    storage,
  });
  app.use(new URL(options.baseUrl ?? baseUrl).pathname, auth.router);
  app.use(auth.wellKnown);
  putInFront(app, auth);
  const host: TestHost = {
    app,
    auth,
    storage,
    events,
    asked,
    // a test that leaves the clock alone must not find a sign-in of tomorrow
    session: { ...signedIn, authTime: Math.min(1_799_999_000, Math.floor(Date.now() / 1000) - 1000) },
    browser: () => newBrowser(app),
  };
  hostPages(host);
  return host;
}
