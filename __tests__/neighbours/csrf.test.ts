/** csrf-csrf for the host's own forms; clients and the consent form get along without it. */
import cookieParser from "cookie-parser";
import { doubleCsrf } from "csrf-csrf";
import express, { type Express, type Router } from "express";
import session from "express-session";
import { createAuthServer } from "../../lib";
import { live, newWalker, wholeLife } from "../fixture/client-life";
import { runBlock } from "../fixture/doc-block";
import {
  byCookie,
  hostRoutes,
  listenLocally,
  type LocalServer,
  neighbourHost,
  optionsAt,
} from "../fixture/neighbour-host";

const sessions = session({ secret: "a session secret", resave: false, saveUninitialized: false });

/** A host with the routes of the recipe; the fixture's sign-in page is behind them. */
async function recipeHost(): Promise<LocalServer> {
  return listenLocally((origin) => {
    const auth = createAuthServer(optionsAt(origin, byCookie));
    const given = { auth, sessions, csrfSecret: "a csrf secret", secure: false };
    const { routes } = runBlock({ page: "neighbours.md", heading: "csrf-csrf" }, given);
    const app = express().use(routes as Router);
    hostRoutes(app, { auth });
    return app;
  });
}

describe("csrf-csrf behind the router, as in the recipe", () => {
  let host: LocalServer;
  beforeEach(async () => {
    host = await recipeHost();
  });
  afterEach(() => host.close());

  it("lets a whole life pass, in which the sign-in form alone has a token", async () => {
    const life = await live(host);
    expect(life.trace).toEqual(wholeLife);
    expect(life.to("GET /sign-in")[0]?.text).toMatch(/name="csrf" value="\S+"/);
  });

  it.each([
    ["without", {}],
    ["with another", { csrf: "made up" }],
  ])("refuses the sign-in form %s token", async (_, fields) => {
    const walker = newWalker(host.origin);
    await walker.browse("/sign-in");
    const body = new URLSearchParams({ name: "alice", ...fields });
    expect((await walker.browse("/sign-in", { method: "POST", body })).status).toBe(403);
  });

  it("refuses the token of another session", async () => {
    const [alice, mallory] = [newWalker(host.origin), newWalker(host.origin)];
    const page = await mallory.browse("/sign-in");
    await alice.browse("/sign-in");
    expect((await alice.submit(page, { name: "mallory" })).status).toBe(403);
  });

  it("needs no token for the API, where clients only read", async () => {
    expect((await newWalker(host.origin).send("/orders")).status).toBe(401);
  });
});

const ahead = (skip: (path: string) => boolean): ((app: Express) => unknown) => {
  const { doubleCsrfProtection } = doubleCsrf({
    getSecret: () => "a csrf secret",
    getSessionIdentifier: () => "one session",
    skipCsrfProtection: ({ path }) => skip(path),
  });
  return (app: Express) =>
    app.use(cookieParser(), express.urlencoded({ extended: false }), doubleCsrfProtection);
};

describe("csrf-csrf ahead of the router", () => {
  it("refuses clients, unless it skips the mount", async () => {
    const closed = await neighbourHost({ ahead: ahead(() => false) });
    const body = new URLSearchParams({ grant_type: "client_credentials" });
    const refused = await newWalker(closed.origin).send("/login/auth/password/api/orders/token", {
      method: "POST",
      body,
    });
    await closed.close();
    expect([refused.status, refused.text.includes("invalid csrf token")]).toEqual([403, true]);
  });

  it("lets a whole life pass when it skips the mount and a sign-in page with its own check", async () => {
    const host = await neighbourHost({ ahead: ahead((path) => /^\/(?:login\/|sign-in$)/.test(path)) });
    const life = await live(host);
    await host.close();
    expect(life.trace).toEqual(wholeLife);
  });
});
