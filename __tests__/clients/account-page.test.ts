import express from "express";
import request from "supertest";
import { endingPages } from "../../examples/account-page/account";
import { newWebBrowser, type Page, type WebBrowser } from "../servers/example";
import {
  alice,
  answerOf,
  bob,
  formOf,
  type Host,
  host,
  requestPage,
  signedIn,
  signIn,
  signInForAllTests,
  signInWithPlantedSession,
  startHost,
  startHostForAllTests,
  type Tokens,
  unframeable,
} from "./host-example";

startHostForAllTests("account-page", /\/account\n/);
signInForAllTests();

afterEach(async () => {
  for (const browser of [alice, bob]) await press(browser, "remove-all");
});

/** Allows a client everything it asks for, and gives its tokens. */
async function allow(browser: WebBrowser, clientId: string, at: Host = host): Promise<Tokens> {
  const page = await browser.open(at.authorizeUrl(clientId, { prompt: "consent" }));
  const { code = "" } = answerOf(await browser.submit(page, { decision: "approve" }));
  return (await at.token(clientId, { grant_type: "authorization_code", code })).body;
}

const account = (browser: WebBrowser, at: Host = host) => browser.open(`${at.example.origin}/account`);

const apps = (browser: WebBrowser): Promise<Page> => browser.open(`${host.example.origin}/account/apps`);

/** Presses a button of the page of apps, if it is there. */
async function press(browser: WebBrowser, button: "remove" | "remove-all", at = ""): Promise<Page> {
  const { text, ...page } = await apps(browser);
  const section = text.slice(text.indexOf(at));
  const form = formOf({ ...page, text: section }, `value="${button}"`);
  return form.text === "" ? form : browser.submit(form, { do: button });
}

async function refresh(clientId: string, { refresh_token }: Tokens, at: Host = host): Promise<unknown> {
  const { status, body } = await at.token(clientId, { grant_type: "refresh_token", refresh_token });
  return body.error ?? status;
}

async function expectEnded(clientId: string, tokens: Tokens, at: Host = host): Promise<void> {
  expect(await at.call(tokens.access_token)).toBe(401);
  expect(await refresh(clientId, tokens, at)).toBe("invalid_grant");
}

async function expectAlive(clientId: string, tokens: Tokens, at: Host = host): Promise<void> {
  expect(await at.call(tokens.access_token)).toBe(200);
  expect(await refresh(clientId, tokens, at)).toBe(200);
}

/** Sends a form of the page that the page does not have, with a good token. */
async function forge(
  browser: WebBrowser,
  { action, fields }: { action: string; fields: Record<string, string> },
): Promise<Page> {
  const form = formOf(await account(browser), "/sign-out");
  return browser.submit({ ...form, text: form.text.replace("/sign-out", action) }, fields);
}

describe("examples/account-page", () => {
  it("asks a visitor to sign in, and leads back", async () => {
    const browser = newWebBrowser();
    const page = await account(browser);
    expect(page.url.pathname).toBe("/sign-in");
    expect((await apps(browser)).url.pathname).toBe("/sign-in");
    const after = await browser.submit(page, { name: "alice", password: host.password("alice") });
    expect(after.url.pathname).toBe("/account");
    expect(after.text).toContain('<a href="/account/apps">');
  });

  it("shows a person their apps, and nothing of another person's", async () => {
    await allow(alice, "shop");
    expect((await apps(alice)).text).toContain("<bdi>Shop</bdi>");
    const { text } = await apps(bob);
    expect(text).toContain("No app has access to your account.");
    expect(text).not.toContain("Shop");
  });

  it("removes an app: both tokens are refused, and it has to ask again; the others stay", async () => {
    const tokens = await allow(alice, "shop");
    const ofPlanner = await allow(alice, "planner");
    const ofBob = await allow(bob, "shop");
    expect(answerOf(await alice.open(host.authorizeUrl("shop")))).toHaveProperty("code");
    const after = await press(alice, "remove", "<bdi>Shop</bdi>");
    expect(after.text).not.toContain("Shop");
    await expectEnded("shop", tokens);
    await expectAlive("planner", ofPlanner);
    await expectAlive("shop", ofBob);
    expect((await alice.open(host.authorizeUrl("shop"))).url.pathname).not.toBe("/callback");
  });

  it("marks a trusted app, and ends its sign-ins", async () => {
    const { code = "" } = answerOf(await alice.open(host.authorizeUrl("help")));
    const { body: tokens } = await host.token("help", { grant_type: "authorization_code", code });
    expect((await apps(alice)).text).toContain("This app belongs to this site");
    await press(alice, "remove");
    await expectEnded("help", tokens);
  });

  it("signs out everywhere: every session of the host and all tokens end, and the consents stay", async () => {
    const [here, elsewhere] = [await signedIn(host, "alice"), await signedIn(host, "alice")];
    const tokens = await allow(here, "shop");
    const ofPlanner = await allow(elsewhere, "planner");
    const ofBob = await allow(bob, "shop");
    const after = await here.submit(formOf(await account(here), "/account/sign-out-everywhere"), {});
    expect(after.url.pathname).toBe("/sign-in");
    await expectEnded("shop", tokens);
    await expectEnded("planner", ofPlanner);
    await expectAlive("shop", ofBob);
    for (const browser of [here, elsewhere, alice]) {
      expect((await account(browser)).url.pathname).toBe("/sign-in");
      const silent = await browser.open(host.authorizeUrl("shop", { prompt: "none" }));
      expect(answerOf(silent)).toMatchObject({ error: "login_required" });
    }
    await signIn({ browser: alice, host }, "alice");
    expect(answerOf(await alice.open(host.authorizeUrl("shop")))).toHaveProperty("code");
  });

  it("prints no stack trace", () => {
    expect(host.example.printed.err).not.toMatch(/^\s+at /m);
  });
});

describe("examples/account-page, attacked", () => {
  it("ends nothing of another person's with a form of theirs", async () => {
    const tokens = await allow(alice, "shop");
    const form = formOf(await apps(alice), 'value="remove"');
    const sent = await bob.submit(form, { do: "remove" });
    expect(sent.text).toContain("Signed in as <bdi>bob</bdi>");
    await expectAlive("shop", tokens);
  });

  it.each(["/account/sign-out-everywhere", "/account/delete"])(
    "refuses %s without the form token",
    async (action) => {
      const tokens = await allow(alice, "shop");
      const fields = { form_token: "" };
      expect((await forge(alice, { action, fields })).url.pathname).toBe("/account");
      await expectAlive("shop", tokens);
      expect((await account(alice)).text).toContain("<strong>alice</strong>");
    },
  );

  it.each(["/account/sign-out-everywhere", "/account/delete"])(
    "does nothing at %s for a visitor",
    async (action) => {
      const tokens = await allow(alice, "shop");
      const visitor = newWebBrowser();
      const page = await visitor.open(`${host.example.origin}/sign-in`);
      const form = { ...page, text: page.text.replace("<form", `<form action="${action}"`) };
      const sent = await visitor.submit(form, { subject: "person-1" });
      expect(sent.url.pathname).toBe("/sign-in");
      await expectAlive("shop", tokens);
    },
  );

  it("cannot be framed (RFC 9700 §4.16)", async () => {
    const { after } = await signInWithPlantedSession(host, "bob");
    const response = await requestPage(`${host.example.origin}/account`, after);
    expect(await response.text()).toContain("<strong>bob</strong>");
    expect(Object.fromEntries(response.headers)).toMatchObject(unframeable);
  });
});

describe("examples/account-page: delete my account", () => {
  it("ends everything of this person and nobody else's, and nobody can sign in as them", async () => {
    const own = await startHost("account-page", /\/account\n/);
    try {
      const browser = await signedIn(own, "alice");
      const elsewhere = await signedIn(own, "alice");
      const other = await signedIn(own, "bob");
      const tokens = await allow(browser, "shop", own);
      const ofBob = await allow(other, "shop", own);
      const asked = await browser.open(`${own.example.origin}/account/delete`);
      expect(asked.text).toContain("This can’t be undone.");
      const ofPlanner = await allow(browser, "planner", own);
      expect(await own.call(ofPlanner.access_token)).toBe(200);
      const after = await browser.submit(asked, {});
      expect(after.text).toContain("Your account was deleted");
      await expectEnded("shop", tokens, own);
      await expectEnded("planner", ofPlanner, own);
      await expectAlive("shop", ofBob, own);
      for (const each of [browser, elsewhere]) {
        expect((await account(each, own)).url.pathname).toBe("/sign-in");
        const silent = await each.open(own.authorizeUrl("shop", { prompt: "none" }));
        expect(answerOf(silent)).toMatchObject({ error: "login_required" });
      }
      expect((await signIn({ browser, host: own }, "alice")).status).toBe(403);
      expect(own.example.printed.err).not.toMatch(/^\s+at /m);
    } finally {
      await own.example.stop();
    }
  });
});

describe("examples/account-page: what comes first", () => {
  type Options = Parameters<typeof endingPages>[0];

  /** Posts to the pages over a host that notes what it is told. */
  async function toldBy(action: string, answer: () => Promise<void>): Promise<string[]> {
    const told: string[] = [];
    const note = (name: string) => (subject: string) => void told.push(`${name} ${subject}`);
    const ask = (name: string) => (subject: string) => {
      note(name)(subject);
      return answer();
    };
    const app = express();
    const destroy = (done: () => void) => {
      told.push("destroy");
      done();
    };
    app.use((req, _, next) => {
      Object.assign(req, { session: { person: { subject: "person-1", name: "alice" }, destroy } });
      next();
    });
    const auth = { subjects: { revoke: ask("revoke"), erase: ask("erase") } } as unknown as Options["auth"];
    const people = { endSessions: note("endSessions"), remove: note("remove") };
    app.use(endingPages({ auth, people }));
    app.use(((_error, _req, res, _next) => void res.sendStatus(500)) as express.ErrorRequestHandler);
    await request(app).post(action);
    return told;
  }

  it.each([
    ["/account/sign-out-everywhere", "endSessions", "revoke"],
    ["/account/delete", "remove", "erase"],
  ])("at %s the host's own sessions, then authmount", async (action, first, library) => {
    const inOrder = [`${first} person-1`, `${library} person-1`];
    expect(await toldBy(action, async () => {})).toEqual([...inOrder, "destroy"]);
    expect(await toldBy(action, () => Promise.reject(new Error("no database")))).toEqual(inOrder);
  });
});
