import express from "express";
import request from "supertest";
import { accountPages } from "../../examples/account-page/account";
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
  withForeignToken,
} from "./host-example";

startHostForAllTests("account-page", /\/account\n/);
signInForAllTests();

afterEach(async () => {
  for (const browser of [alice, bob]) {
    await submitAll(browser, "/account/withdraw");
    await submitAll(browser, "/account/end");
  }
});

/** Allows a client everything it asks for, and gives its tokens. */
async function allow(browser: WebBrowser, clientId: string, at: Host = host): Promise<Tokens> {
  const page = await browser.open(at.authorizeUrl(clientId, { prompt: "consent" }));
  const { code = "" } = answerOf(await browser.submit(page, { decision: "approve" }));
  return (await at.token(clientId, { grant_type: "authorization_code", code })).body;
}

const account = (browser: WebBrowser, at: Host = host) => browser.open(`${at.example.origin}/account`);

/** The section of the page about the logins, or about what is allowed. */
function part({ text }: Page, id: "logins" | "consents"): string {
  return text.split('<section aria-labelledby="').find((each) => each.startsWith(id)) ?? "";
}

async function submitAll(browser: WebBrowser, action: string): Promise<void> {
  const page = formOf(await account(browser), action);
  if (page.text === "") return;
  await browser.submit(page, {});
  await submitAll(browser, action);
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

/** So many logins of Alice at a client. */
async function signInOften(clientId: string, number: number): Promise<void> {
  await allow(alice, clientId);
  for (let count = 1; count < number; count += 1)
    expect(answerOf(await alice.open(host.authorizeUrl(clientId)))).toHaveProperty("code");
}

const loginIds = (page: Page): string[] =>
  page.text.match(/(?<=name="authorization_id" value=")[^"]+/g) ?? [];

describe("examples/account-page", () => {
  it("shows the client, what it may do in sentences, and the dates", async () => {
    await allow(alice, "shop");
    const text = part(await account(alice), "consents");
    expect(text).toMatch(/<h3>Shop<\/h3>\s*<p>Access to Orders:<\/p>/);
    expect(text).toMatch(/<li>See your orders<\/li>\s*<li>Place orders for you<\/li>/);
    const times = text.match(/(?<=datetime=")[^"]+/g) ?? [];
    const [since = NaN, until = NaN] = times.map((time) => Date.parse(time));
    expect(until - since).toBe(365 * 24 * 60 * 60 * 1000);
  });

  it("shows a person nothing of another person's", async () => {
    await allow(alice, "shop");
    const { text } = await account(bob);
    expect(text).toContain("No apps have access.");
    expect(text).not.toContain("Shop");
  });

  it("asks a visitor to sign in, and leads back", async () => {
    const browser = newWebBrowser();
    const page = await account(browser);
    expect(page.url.pathname).toBe("/sign-in");
    const after = await browser.submit(page, { name: "alice", password: host.password("alice") });
    expect(after.url.pathname).toBe("/account");
  });

  it("withdraws: both tokens are refused, and the client has to ask again", async () => {
    const tokens = await allow(alice, "shop");
    expect(await host.call(tokens.access_token)).toBe(200);
    expect(answerOf(await alice.open(host.authorizeUrl("shop")))).toHaveProperty("code");
    const after = await alice.submit(formOf(await account(alice), 'value="shop"'), {});
    expect(after.text).toContain("No apps have access.");
    await expectEnded("shop", tokens);
    const asked = await alice.open(host.authorizeUrl("shop"));
    expect(asked.text).toContain("Shop");
    expect(asked.url.pathname).not.toBe("/callback");
  });

  it("leaves the other client's tokens and the other person's as they are", async () => {
    await allow(alice, "shop");
    const ofPlanner = await allow(alice, "planner");
    const ofBob = await allow(bob, "shop");
    await alice.submit(formOf(await account(alice), 'value="shop"'), {});
    await expectAlive("planner", ofPlanner);
    await expectAlive("shop", ofBob);
  });

  it("shows each login: the client, the API, when it began and when it was last used", async () => {
    const page = await alice.open(host.authorizeUrl("shop"));
    const { code = "" } = answerOf(await alice.submit(page, { decision: "approve" }));
    const unused = part(await account(alice), "logins");
    expect(unused).toMatch(/<h3>Shop<\/h3>\s*<p>Uses Orders\. Signed in on <time datetime/);
    expect(unused).toContain("Not used yet.");
    await host.token("shop", { grant_type: "authorization_code", code });
    const used = part(await account(alice), "logins");
    expect(used).toMatch(/Last used on <time datetime="[^"]+">/);
    const times = used.match(/(?<=datetime=")[^"]+/g) ?? [];
    for (const time of times) expect(Date.now() - Date.parse(time)).toBeLessThan(60_000);
    expect(times).toHaveLength(2);
  });

  it("marks a trusted client, which is in no list of consents", async () => {
    const { code = "" } = answerOf(await alice.open(host.authorizeUrl("help")));
    await host.token("help", { grant_type: "authorization_code", code });
    await allow(alice, "shop");
    const page = await account(alice);
    const logins = part(page, "logins").split("<h3>");
    const [help = "", shop = ""] = ["Help Desk", "Shop"].map((name) =>
      logins.find((l) => l.startsWith(name)),
    );
    expect(help).toContain("This site trusts this app");
    expect(shop).toContain("Uses Orders");
    expect(shop).not.toContain("This site trusts this app");
    expect(part(page, "consents")).not.toContain("Help Desk");
  });

  it("ends one login: both its tokens are refused, those of the same client's other login are not", async () => {
    const first = await allow(alice, "shop");
    const [firstId = ""] = loginIds(await account(alice));
    const second = await allow(alice, "shop");
    const ofPlanner = await allow(alice, "planner");
    const after = await alice.submit(formOf(await account(alice), firstId), {});
    expect(after.url.pathname).toBe("/account");
    expect(loginIds(after)).toHaveLength(2);
    expect(loginIds(after)).not.toContain(firstId);
    await expectEnded("shop", first);
    await expectAlive("shop", second);
    await expectAlive("planner", ofPlanner);
    // the consent stays
    expect(answerOf(await alice.open(host.authorizeUrl("shop")))).toHaveProperty("code");
  });

  it("ends the login of a trusted client", async () => {
    const { code = "" } = answerOf(await alice.open(host.authorizeUrl("help")));
    const { body: tokens } = await host.token("help", { grant_type: "authorization_code", code });
    await alice.submit(formOf(await account(alice), "/account/end"), {});
    await expectEnded("help", tokens);
  });

  it("shows a hundred logins, and the others behind a link", async () => {
    await signInOften("shop", 60);
    await signInOften("planner", 60);
    const first = await account(alice);
    expect(loginIds(first)).toHaveLength(100);
    const [link = ""] = first.text.match(/(?<=href=")\/account\?after=[^"]+(?="[^>]*>More logins)/) ?? [];
    const second = await alice.open(`${host.example.origin}${link}`);
    expect(loginIds(second)).toHaveLength(20);
    expect(second.text).not.toContain("More logins");
    expect(second.text).toContain('<a href="/account">Back to the first logins</a>');
    expect(new Set([...loginIds(first), ...loginIds(second)]).size).toBe(120);
    // the person can end what is on the second page
    const last = loginIds(second).at(-1) ?? "";
    await alice.submit(formOf(second, last), {});
    expect(loginIds(await alice.open(`${host.example.origin}${link}`))).not.toContain(last);
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
  it("does not withdraw somebody else's consent, whatever the form says", async () => {
    const tokens = await allow(alice, "shop");
    const fields = { client_id: "shop", api_id: "orders", subject: "person-1" };
    const sent = await forge(bob, { action: "/account/withdraw", fields });
    expect(sent.url.pathname).toBe("/account");
    expect(await host.call(tokens.access_token)).toBe(200);
  });

  it("ends nothing with the id of another person's login", async () => {
    const tokens = await allow(alice, "shop");
    const [id = ""] = loginIds(await account(alice));
    const fields = { authorization_id: id, subject: "person-1" };
    const sent = await forge(bob, { action: "/account/end", fields });
    expect(sent.url.pathname).toBe("/account");
    await expectAlive("shop", tokens);
    expect(loginIds(await account(alice))).toEqual([id]);
  });

  it("shows nothing behind another person's login", async () => {
    await allow(alice, "shop");
    await allow(alice, "shop");
    await allow(bob, "shop");
    const [id = ""] = loginIds(await account(alice));
    const page = await bob.open(`${host.example.origin}/account?after=${id}`);
    expect(loginIds(page)).toEqual([]);
  });

  it.each(["/account/end", "/account/sign-out-everywhere", "/account/delete"])(
    "refuses %s without the form token",
    async (action) => {
      const tokens = await allow(alice, "shop");
      const [id = ""] = loginIds(await account(alice));
      const fields = { form_token: "", authorization_id: id };
      expect((await forge(alice, { action, fields })).url.pathname).toBe("/account");
      await expectAlive("shop", tokens);
      expect((await account(alice)).text).toContain("<strong>alice</strong>");
    },
  );

  it.each(["/account/end", "/account/sign-out-everywhere", "/account/delete"])(
    "does nothing at %s for a visitor",
    async (action) => {
      const tokens = await allow(alice, "shop");
      const [id = ""] = loginIds(await account(alice));
      const visitor = newWebBrowser();
      const page = await visitor.open(`${host.example.origin}/sign-in`);
      const form = { ...page, text: page.text.replace("<form", `<form action="${action}"`) };
      const sent = await visitor.submit(form, { authorization_id: id, subject: "person-1" });
      expect(sent.url.pathname).toBe("/sign-in");
      await expectAlive("shop", tokens);
    },
  );

  it.each(["no", "somebody else's"])("refuses to withdraw with %s form token", async (whose) => {
    const tokens = await allow(alice, "shop");
    const form = formOf(await account(alice), 'value="shop"');
    const foreign = await account(bob);
    const sent =
      whose === "no"
        ? await alice.submit(form, { form_token: "" })
        : await alice.submit(withForeignToken(form, foreign), {});
    expect([sent.url.pathname, sent.status]).toEqual(["/account", 200]);
    expect(await host.call(tokens.access_token)).toBe(200);
  });

  it("does not withdraw by a link", async () => {
    const tokens = await allow(alice, "shop");
    const link = `${host.example.origin}/account/withdraw?client_id=shop&api_id=orders`;
    expect((await alice.open(link)).status).toBe(404);
    expect(await host.call(tokens.access_token)).toBe(200);
  });

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
  type Options = Parameters<typeof accountPages>[0];

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
    app.use(accountPages({ auth, people, clients: { find: async () => undefined }, apis: {} }));
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
