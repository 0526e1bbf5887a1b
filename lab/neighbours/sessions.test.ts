/** express-session with Passport as the authentication method: ids, cookies, and what is stored. Without Passport: add-to-an-app. */
import express, { type Express, type RequestHandler, type Router } from "express";
import session, { MemoryStore, type SessionData } from "express-session";
import passport, { Strategy } from "passport";
import { type AuthMethod, type AuthServer, createAuthServer } from "../../lib";
import {
  asClient,
  authorizeUrl,
  live,
  newWalker,
  ofServer,
  type SignIn,
  wholeLife,
} from "../../__tests__/clients/client-life";
import { runBlock } from "../../__tests__/sources/doc-block";
import {
  listenLocally,
  type LocalServer,
  neighbourHost,
  optionsAt,
} from "../../__tests__/hosts/neighbour-host";

/** Takes the password "wonderland"; in its place a host has a strategy of a package. */
class PasswordStrategy extends Strategy {
  override authenticate(req: express.Request): void {
    const { name = "", password } = req.body as Record<string, string>;
    if (password === "wonderland") this.success({ id: name });
    else this.fail(401);
  }
}

// as a host has it that uses Passport already
passport.use("password", new PasswordStrategy());
passport.serializeUser((user, done) => done(null, (user as { id: string }).id));
passport.deserializeUser((id: string, done) => done(null, { id }));

/** `MemoryStore` that also tells how many sessions it has, and fails when it is told to. */
class CountingStore extends MemoryStore {
  failing = false;
  override set(id: string, data: SessionData, done?: (error?: unknown) => void): void {
    if (this.failing) done?.(new Error("the session store is down"));
    else super.set(id, data, done);
  }
  count(): Promise<number> {
    return new Promise((resolve) => this.length((_error, length) => resolve(length ?? 0)));
  }
}

let store: CountingStore;
let host: LocalServer;
let auth: AuthServer;
/** Between the session and the router, where a body parser can make a request wait. */
let between: RequestHandler;
beforeEach(() => {
  store = new CountingStore();
  between = (_req, _res, next) => next();
});
afterEach(() => host.close());

async function start(): Promise<void> {
  host = await listenLocally((origin) => {
    const given = {
      store,
      origin,
      sessionSecret: "a session secret of at least 32 characters",
      findUser: (id: string) => Promise.resolve({ id }),
    };
    const block = runBlock({ heading: "A Passport session as the authentication method" }, given);
    auth = createAuthServer(optionsAt(origin, block["account"] as AuthMethod));
    const app = express().use(block["sessions"] as RequestHandler);
    app.use((req, res, next) => between(req, res, next));
    app.use("/login", auth.router).use(auth.wellKnown);
    app.use((block["signInPages"] as (auth: AuthServer) => Router)(auth));
    app.get("/orders", auth.requireBearer({ api: "orders", scope: "orders:read" }), (req, res) => {
      res.json({ ordersOf: auth.accessToken(req).subject });
    });
    app.get("/client/callback", (_req, res) => void res.send("Thank you."));
    return app;
  });
}

// Passport's form says "username", and its strategy here reads "name": both are sent
const typed = { name: "alice", username: "alice", password: "wonderland" };

const typeIn: SignIn = (walker, page) => walker.submit(page, typed);

describe("Passport, as in the recipe", () => {
  beforeEach(start);

  it("lets a whole life pass", async () => {
    const life = await live(host, typeIn);
    expect(ofServer(life.trace)).toEqual(ofServer(wholeLife));
    expect(life.to("GET /orders")[0]?.text).toBe('{"ordersOf":"alice"}');
  });

  it("stores one session for one person, and none for clients and strangers", async () => {
    await live(host, typeIn);
    expect(await store.count()).toBe(1);
    const walker = newWalker(host.origin);
    const answers = [
      await asClient(walker, "token", { grant_type: "client_credentials" }),
      await walker.send("/orders"),
      await walker.browse(authorizeUrl(host.origin)),
    ];
    const names = answers.flatMap(({ headers }) => headers.getSetCookie().map((line) => line.split("=")[0]));
    expect(names).toEqual([expect.stringMatching(/^authmount\./)]);
    expect(await store.count()).toBe(1);
  });

  it("signs in under a new id, and goes on with what was pending (session fixation)", async () => {
    const thief = newWalker(host.origin);
    await thief.submit(await thief.browse("/sign-in?interaction=x"), { ...typed, name: "mallory" });
    const planted = thief.cookies.get("session") ?? "";
    const victim = newWalker(host.origin);
    victim.cookies.set("session", planted);
    const page = await victim.follow(await victim.browse(authorizeUrl(host.origin, { prompt: "login" })));
    const consent = await victim.follow(await typeIn(victim, page));
    expect(consent.text).toContain('name="decision"');
    expect(victim.cookies.get("session")).not.toBe(planted);
    const seen = await thief.follow(await thief.browse(authorizeUrl(host.origin)));
    expect(seen.text).not.toContain('name="decision"');
  });

  it("keeps the interaction when the password was wrong", async () => {
    const walker = newWalker(host.origin);
    const page = await walker.follow(await walker.browse(authorizeUrl(host.origin)));
    const again = await walker.follow(await walker.submit(page, { ...typed, password: "a guess" }));
    const consent = await walker.follow(await typeIn(walker, again));
    expect(consent.text).toContain('name="decision"');
  });

  it.each([
    ["gets a code", "/client/callback?code=", () => undefined],
    [
      "is not signed in if everything has ended meanwhile (RFC 7009 §2.1)",
      "/sign-in?",
      async () => {
        await new Promise((resolve) => store.clear(resolve));
        await auth.subjects.revoke("alice");
      },
    ],
  ])("a request that waits behind the session %s", async (_, answer, end) => {
    await live(host, typeIn);
    const walker = newWalker(host.origin);
    const page = await walker.follow(await walker.browse(authorizeUrl(host.origin, { prompt: "login" })));
    await walker.follow(await typeIn(walker, page));
    const waiting = new Promise<() => void>((resolve) => {
      between = (_req, _res, next) => resolve(next);
    });
    const answered = walker.browse(authorizeUrl(host.origin));
    const goOn = await waiting;
    await end();
    goOn();
    expect((await answered).headers.get("location")).toContain(answer);
  });

  it("lets nobody in when the session cannot be stored", async () => {
    const walker = newWalker(host.origin);
    const page = await walker.follow(await walker.browse(authorizeUrl(host.origin)));
    store.failing = true;
    await typeIn(walker, page);
    store.failing = false;
    const after = await walker.follow(await walker.browse(authorizeUrl(host.origin)));
    expect(after.text).toContain('name="password"');
  });
});

const byServerSession: AuthMethod = {
  authenticate({ req, reauthenticate }) {
    const { subject } = req.session as { subject?: string };
    return subject === undefined || reauthenticate
      ? { kind: "interaction", url: "/sign-in" }
      : { kind: "authenticated", subject };
  },
};
const setSubject: RequestHandler = (req, _res, next) => {
  Object.assign(req.session, { subject: "alice" });
  next();
};

const begin = async (settings: Partial<session.SessionOptions>): Promise<void> => {
  const options = { secret: "a secret", store, resave: false, saveUninitialized: false, ...settings };
  const ahead = (app: Express): unknown => app.use(session(options));
  host = await neighbourHost({ ahead, authMethod: byServerSession, signIn: setSubject });
};

describe("settings of express-session that docs/add-to-an-app.md warns of", () => {
  it("saveUninitialized: each request of a client leaves a session", async () => {
    await begin({ saveUninitialized: true });
    await asClient(newWalker(host.origin), "token", { grant_type: "client_credentials" });
    expect(await store.count()).toBe(1);
  });

  it("a cookie path of the sign-in page alone: there is no session at /login, and nobody gets in", async () => {
    await begin({ cookie: { path: "/sign-in" } });
    const { headers } = await newWalker(host.origin).browse(authorizeUrl(host.origin));
    expect(new URL(headers.get("location") ?? "").searchParams.get("error")).toBe("server_error");
  });
});

afterAll(() => {
  passport.unuse("password");
});
