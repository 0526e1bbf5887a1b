import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Example, newWebBrowser, type Page, startExample, type WebBrowser } from "./example";

jest.setTimeout(60_000);

type Name = "alice" | "bob";

/** A host example and what it has printed for people to use. */
interface Host {
  readonly example: Example;
  password(name: Name): string;
  /** The address that a client sends people to, with what is changed in its query. */
  authorizeUrl(clientId: string, query?: Readonly<Record<string, string>>): URL;
  /** A token request of the client. */
  token(clientId: string, form: Record<string, string>): Promise<{ status: number; body: Tokens }>;
  /** The status of an API call. */
  call(accessToken: string): Promise<number>;
}

interface Tokens {
  readonly error?: string;
  readonly scope: string;
  readonly access_token: string;
  readonly refresh_token: string;
}

async function startHost(name: string, lastPrinted: RegExp): Promise<Host> {
  const example = await startExample(`${name}/server.js`, lastPrinted);
  const find = (pattern: string): string => new RegExp(pattern, "m").exec(example.printed.out)?.[1] ?? "";
  return {
    example,
    password: (person) => find(`^  ${person} (.+)$`),
    authorizeUrl(clientId, query = {}) {
      const url = new URL(find(`(http://\\S+/authorize\\?client_id=${clientId}&\\S+)`));
      for (const [parameter, value] of Object.entries(query)) url.searchParams.set(parameter, value);
      return url;
    },
    async token(clientId, form) {
      const authorization = `Basic ${Buffer.from(find(`-u (${clientId}:\\S+) `)).toString("base64")}`;
      const init = { method: "POST", headers: { authorization }, body: new URLSearchParams(form) };
      const response = await fetch(find(`-u ${clientId}:.* (\\S+/token)$`), init);
      return { status: response.status, body: (await response.json()) as Tokens };
    },
    async call(accessToken) {
      const headers = { authorization: `Bearer ${accessToken}` };
      return (await fetch(`${example.origin}/orders`, { headers })).status;
    },
  };
}

/** One of several forms of a page, as a page of its own. */
function formOf(page: Page, having: string): Page {
  const forms = page.text.match(/<form[^]*?<\/form>/g) ?? [];
  return { ...page, text: forms.find((form) => form.includes(having)) ?? "" };
}

async function signIn({ browser, host }: { browser: WebBrowser; host: Host }, name: Name): Promise<Page> {
  const page = await browser.open(`${host.example.origin}/sign-in`);
  return browser.submit(page, { name, password: host.password(name) });
}

/** A browser where somebody is signed in. */
async function signedIn(host: Host, name: Name): Promise<WebBrowser> {
  const browser = newWebBrowser();
  await signIn({ browser, host }, name);
  return browser;
}

/** What the client was told at its redirect URI; nothing when the browser is elsewhere. */
function answerOf({ url }: Page): Record<string, string> {
  return url.pathname === "/callback" ? Object.fromEntries(url.searchParams) : {};
}

/** The form token that a page was given, as a thief without that session would use it. */
function withForeignToken(page: Page, foreign: Page): Page {
  const token = /name="form_token" value="([^"]+)"/.exec(foreign.text)?.[1] ?? "";
  return { ...page, text: page.text.replace(/(name="form_token" value=")[^"]+/, `$1${token}`) };
}

/** One request, to see its headers. */
function request(url: URL | string, cookies: readonly string[] = []): Promise<Response> {
  return fetch(url, { redirect: "manual", headers: { accept: "text/html", cookie: cookies.join("; ") } });
}

/** The cookies that an answer sets, as a request sends them. */
function cookiesOf(response: Response): string[] {
  return response.headers.getSetCookie().map((line) => line.split(";")[0] ?? "");
}

/** Signs in with a session id that was there before; gives the cookies of before and after. */
async function planted(host: Host, name: Name): Promise<{ before: string[]; after: string[] }> {
  const page = await request(`${host.example.origin}/sign-in`);
  const before = cookiesOf(page);
  const token = /name="form_token" value="([^"]+)"/.exec(await page.text())?.[1] ?? "";
  const response = await fetch(`${host.example.origin}/sign-in`, {
    method: "POST",
    redirect: "manual",
    headers: { cookie: before.join("; ") },
    body: new URLSearchParams({ name, password: host.password(name), form_token: token }),
  });
  return { before, after: cookiesOf(response) };
}

const unframeable = {
  "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
};

describe("examples/own-sign-in", () => {
  let host: Host;

  beforeAll(async () => {
    host = await startHost("own-sign-in", /\/orders\n/);
  });
  afterAll(() => host.example.stop());

  const password = (name: Name) => ({ name, password: host.password(name) });

  it("leads a person from the printed address over both pages to the API", async () => {
    const browser = newWebBrowser();
    const page = await browser.open(host.authorizeUrl("shop"));
    expect(page.text).toContain("Shop wants to use Orders for you.");
    const consent = await browser.submit(page, password("alice"));
    expect(consent.text).toMatch(/signed in as <\w+>alice</);
    const { code = "" } = answerOf(await browser.submit(consent, { decision: "approve" }));
    const { body } = await host.token("shop", { grant_type: "authorization_code", code });
    expect(await host.call(body.access_token)).toBe(200);
  });

  it("knows the person on the next visit", async () => {
    const browser = await signedIn(host, "alice");
    expect((await browser.open(host.authorizeUrl("shop"))).url.pathname).not.toBe("/sign-in");
  });

  it("answers prompt=none without a session with login_required", async () => {
    const page = await newWebBrowser().open(host.authorizeUrl("shop", { prompt: "none" }));
    expect(answerOf(page)).toMatchObject({ error: "login_required" });
  });

  it.each([
    ["a wrong password", { name: "alice", password: "a guess" }],
    ["a name that does not exist", { name: "mallory", password: "a guess" }],
    ["no password", { name: "alice", password: "" }],
  ])("says the same after %s, and signs nobody in", async (_, fields) => {
    const browser = newWebBrowser();
    const page = await browser.open(host.authorizeUrl("shop"));
    const again = await browser.submit(page, fields);
    expect(again.status).toBe(403);
    expect(again.text).toContain('<p role="alert">The name or the password is wrong.</p>');
    expect((await browser.open(host.authorizeUrl("shop"))).url.pathname).toBe("/sign-in");
  });

  it("goes on after a wrong password, with the name still there", async () => {
    const browser = newWebBrowser();
    const page = await browser.open(host.authorizeUrl("shop"));
    const again = await browser.submit(page, { name: "alice", password: "a guess" });
    expect(again.text).toContain('name="name" value="alice"');
    const after = await browser.submit(again, { password: host.password("alice") });
    expect(after.url.pathname).not.toBe("/sign-in");
  });

  it("fills in login_hint, escaped", async () => {
    const url = host.authorizeUrl("shop", { login_hint: 'alice"><script>' });
    const { text } = await newWebBrowser().open(url);
    expect(text).toContain('name="name" value="alice&#34;&#62;&#60;script&#62;"');
    expect(text).not.toContain("<script");
  });

  it.each([["prompt", "login"] as const, ["max_age", "0"] as const])(
    "asks a signed-in person for the password again with %s=%s, once",
    async (parameter, value) => {
      const browser = await signedIn(host, "alice");
      const signedInBy = Math.floor(Date.now() / 1000);
      // no session is too old for max_age=0 within its first second
      while (Math.floor(Date.now() / 1000) === signedInBy) await delay(10);
      const page = await browser.open(host.authorizeUrl("shop", { [parameter]: value }));
      expect(page.text).toContain("You are alice; please enter your password again.");
      const after = await browser.submit(page, { password: host.password("alice") });
      expect(after.url.pathname).not.toBe("/sign-in");
    },
  );

  it("cancels: the client is told access_denied (RFC 6749 §4.1.2.1)", async () => {
    const browser = newWebBrowser();
    const page = await browser.open(host.authorizeUrl("shop", { state: "s" }));
    const end = await browser.submit(formOf(page, "/sign-in/cancel"), {});
    expect(answerOf(end)).toMatchObject({ error: "access_denied", state: "s" });
  });

  it("begins a session under a new id: the planted one is worth nothing (session fixation)", async () => {
    const { before, after } = await planted(host, "alice");
    expect(await (await request(host.example.origin, after)).text()).toContain("You are alice.");
    expect(await (await request(host.example.origin, before)).text()).not.toContain("alice");
  });

  it("keeps the session in a cookie that scripts and other sites' forms do not get", async () => {
    const [cookie] = (await request(`${host.example.origin}/sign-in`)).headers.getSetCookie();
    expect(cookie).toMatch(/^session=[^;]+; Path=\/; HttpOnly; SameSite=Lax$/);
  });

  it.each(["no", "another session's"])("refuses the right password with %s form token", async (whose) => {
    const browser = newWebBrowser();
    const page = await browser.open(`${host.example.origin}/sign-in`);
    const foreign = await newWebBrowser().open(`${host.example.origin}/sign-in`);
    const sent =
      whose === "no"
        ? await browser.submit(page, { ...password("alice"), form_token: "" })
        : await browser.submit(withForeignToken(page, foreign), password("alice"));
    expect(sent.status).toBe(403);
    expect((await browser.open(host.example.origin)).text).not.toContain("alice");
  });

  it("refuses to cancel without the form token", async () => {
    const browser = newWebBrowser();
    const page = await browser.open(host.authorizeUrl("shop"));
    const sent = await browser.submit(formOf(page, "/sign-in/cancel"), { form_token: "" });
    expect(sent.status).toBe(403);
  });

  it("says that an interaction is over when its address is opened in another browser", async () => {
    const page = await newWebBrowser().open(host.authorizeUrl("shop"));
    expect((await newWebBrowser().open(page.url)).status).toBe(400);
  });

  it("cannot be framed (RFC 9700 §4.16)", async () => {
    const { headers } = await request(`${host.example.origin}/sign-in`);
    expect(Object.fromEntries(headers)).toMatchObject(unframeable);
  });

  it("signs out by its form", async () => {
    const browser = await signedIn(host, "bob");
    const home = await browser.open(host.example.origin);
    expect(home.text).toContain("You are bob.");
    expect((await browser.submit(home, {})).text).not.toContain("bob");
  });

  it("prints no stack trace", () => {
    expect(host.example.printed.err).not.toMatch(/^\s+at /m);
  });
});

it("examples/own-sign-in refuses the right password too after ten wrong ones", async () => {
  const host = await startHost("own-sign-in", /\/orders\n/);
  const browser = newWebBrowser();
  const page = await browser.open(`${host.example.origin}/sign-in`);
  const statuses: number[] = [];
  for (const password of [...Array<string>(10).fill("a guess"), host.password("alice")]) {
    statuses.push((await browser.submit(page, { name: "alice", password })).status);
  }
  await host.example.stop();
  expect(statuses).toEqual([...Array<number>(10).fill(403), 429]);
});

describe("examples/own-consent", () => {
  let host: Host;
  let alice: WebBrowser;
  let bob: WebBrowser;

  beforeAll(async () => {
    host = await startHost("own-consent", /\/token\n/);
    [alice, bob] = await Promise.all([signedIn(host, "alice"), signedIn(host, "bob")]);
  });
  afterAll(() => host.example.stop());

  // what was allowed is remembered: each test asks anew
  const ask = (browser: WebBrowser, query: Record<string, string> = {}) =>
    browser.open(host.authorizeUrl("shop", { prompt: "consent", ...query }));

  async function grantedScope(page: Page): Promise<string> {
    const { code = "" } = answerOf(page);
    return (await host.token("shop", { grant_type: "authorization_code", code })).body.scope;
  }

  it("asks on the host's page after sign-in: who, for what, and who is signed in", async () => {
    const browser = newWebBrowser();
    const signInPage = await browser.open(host.authorizeUrl("shop", { prompt: "consent" }));
    const page = await browser.submit(signInPage, { name: "alice", password: host.password("alice") });
    expect(page.url.pathname).toBe("/consent");
    for (const text of ["<strong>alice</strong>", "Allow Shop to use Orders for you?", "See your orders"])
      expect(page.text).toContain(text);
  });

  it("grants what is ticked", async () => {
    const end = await alice.submit(await ask(alice), { decision: "approve" });
    expect(await grantedScope(end)).toBe("catalogue:read orders:read orders:write");
  });

  it("does not ask again for what was allowed", async () => {
    await alice.submit(await ask(alice), { decision: "approve" });
    expect(answerOf(await alice.open(host.authorizeUrl("shop")))).toHaveProperty("code");
  });

  it("does not grant what is not ticked", async () => {
    const page = await ask(alice);
    const end = await alice.submit(page, { decision: "approve", "scope orders:write": "" });
    expect(await grantedScope(end)).toBe("catalogue:read orders:read");
  });

  it("does not grant what the form adds to the request", async () => {
    const page = await ask(alice, { scope: "orders:read" });
    const end = await alice.submit(page, { decision: "approve", "scope orders:write": "on" });
    expect(await grantedScope(end)).toBe("orders:read");
  });

  it.each([
    ["a no", { decision: "deny" }],
    ["an answer that is neither yes nor no", { decision: "" }],
    ["a yes without a tick", { decision: "approve", "scope orders:read": "" }],
  ])("tells the client access_denied after %s", async (_, fields: Record<string, string>) => {
    const end = await alice.submit(await ask(alice, { scope: "orders:read" }), fields);
    expect(answerOf(end)).toMatchObject({ error: "access_denied" });
  });

  it("grants a scope that needs no question by itself", async () => {
    const end = await bob.open(host.authorizeUrl("shop", { scope: "catalogue:read" }));
    expect(await grantedScope(end)).toBe("catalogue:read");
  });

  it("asks even for that scope with prompt=consent", async () => {
    expect((await ask(bob, { scope: "catalogue:read" })).url.pathname).toBe("/consent");
  });

  it("asks when no scope is named", async () => {
    const url = host.authorizeUrl("shop");
    url.searchParams.delete("scope");
    expect((await bob.open(url)).url.pathname).toBe("/consent");
  });

  it("answers prompt=none with interaction_required where the page would be needed", async () => {
    const end = await bob.open(host.authorizeUrl("shop", { prompt: "none" }));
    expect(answerOf(end)).toMatchObject({ error: "interaction_required" });
  });

  it.each(["approve", "deny"])("refuses to %s without the form token", async (decision) => {
    const page = await ask(alice);
    const sent = await alice.submit(page, { decision, form_token: "" });
    expect(sent).toMatchObject({ status: 403, url: page.url });
  });

  it("does not take the answer of somebody who has signed out meanwhile for the next person's", async () => {
    const browser = await signedIn(host, "alice");
    const page = await ask(browser, { scope: "orders:read" });
    const next = await signIn({ browser, host }, "bob");
    expect(next.url.pathname).toBe("/");
    const sent = await browser.submit(page, { decision: "approve" });
    expect(sent.status).toBe(403);
    // even with a token of the new session
    const foreign = await browser.open(`${host.example.origin}/sign-in`);
    const again = await browser.submit(withForeignToken(page, foreign), { decision: "approve" });
    expect(again.text).toContain("You are signed in as <strong>bob</strong>");
  });

  it("asks for the password when the session has ended before the page was shown", async () => {
    const browser = await signedIn(host, "alice");
    const page = await ask(browser);
    await browser.submit({ ...page, text: page.text.replace("<form", '<form action="/sign-out"') }, {});
    expect((await browser.open(page.url)).url.pathname).toBe("/sign-in");
  });

  it("cannot be framed (RFC 9700 §4.16)", async () => {
    const { after } = await planted(host, "bob");
    const asked = await request(host.authorizeUrl("shop", { prompt: "consent" }), after);
    const url = new URL(asked.headers.get("location") ?? "", host.example.origin);
    const response = await request(url, [...after, ...cookiesOf(asked)]);
    expect(await response.text()).toContain("See your orders");
    expect(Object.fromEntries(response.headers)).toMatchObject(unframeable);
  });

  it("prints no stack trace", () => {
    expect(host.example.printed.err).not.toMatch(/^\s+at /m);
  });
});

describe("examples/account-page", () => {
  let host: Host;
  let alice: WebBrowser;
  let bob: WebBrowser;

  beforeAll(async () => {
    host = await startHost("account-page", /\/account\n/);
    [alice, bob] = await Promise.all([signedIn(host, "alice"), signedIn(host, "bob")]);
  });
  afterEach(async () => {
    await withdrawAll(alice);
    await withdrawAll(bob);
  });
  afterAll(() => host.example.stop());

  /** Allows a client everything it asks for, and gives its tokens. */
  async function allow(browser: WebBrowser, clientId: string): Promise<Tokens> {
    const page = await browser.open(host.authorizeUrl(clientId));
    const { code = "" } = answerOf(await browser.submit(page, { decision: "approve" }));
    return (await host.token(clientId, { grant_type: "authorization_code", code })).body;
  }

  const account = (browser: WebBrowser) => browser.open(`${host.example.origin}/account`);

  async function withdrawAll(browser: WebBrowser): Promise<void> {
    const page = formOf(await account(browser), "/account/withdraw");
    if (page.text === "") return;
    await browser.submit(page, {});
    await withdrawAll(browser);
  }

  async function refresh(clientId: string, { refresh_token }: Tokens): Promise<unknown> {
    const { status, body } = await host.token(clientId, { grant_type: "refresh_token", refresh_token });
    return body.error ?? status;
  }

  it("shows the client, what it may do in sentences, and the dates", async () => {
    await allow(alice, "shop");
    const { text } = await account(alice);
    expect(text).toContain("<strong>Shop</strong> may use Orders to:");
    expect(text).toMatch(/<li>See your orders<\/li>\s*<li>Order things in your name<\/li>/);
    const times = text.match(/(?<=datetime=")[^"]+/g) ?? [];
    const [since = NaN, until = NaN] = times.map((time) => Date.parse(time));
    expect(until - since).toBe(365 * 24 * 60 * 60 * 1000);
  });

  it("shows a person nothing of another person's", async () => {
    await allow(alice, "shop");
    const { text } = await account(bob);
    expect(text).toContain("You have allowed nothing.");
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
    expect(after.text).toContain("You have allowed nothing.");
    expect(await host.call(tokens.access_token)).toBe(401);
    expect(await refresh("shop", tokens)).toBe("invalid_grant");
    const asked = await alice.open(host.authorizeUrl("shop"));
    expect(asked.text).toContain("Shop");
    expect(asked.url.pathname).not.toBe("/callback");
  });

  it("leaves the other client's tokens and the other person's as they are", async () => {
    await allow(alice, "shop");
    const ofPlanner = await allow(alice, "planner");
    const ofBob = await allow(bob, "shop");
    await alice.submit(formOf(await account(alice), 'value="shop"'), {});
    expect(await host.call(ofPlanner.access_token)).toBe(200);
    expect(await refresh("planner", ofPlanner)).toBe(200);
    expect(await host.call(ofBob.access_token)).toBe(200);
    expect(await refresh("shop", ofBob)).toBe(200);
  });

  it("does not withdraw somebody else's consent, whatever the form says", async () => {
    const tokens = await allow(alice, "shop");
    const form = formOf(await account(bob), "/sign-out");
    const forged = { ...form, text: form.text.replace("/sign-out", "/account/withdraw") };
    const sent = await bob.submit(forged, { client_id: "shop", api_id: "orders", subject: "person-1" });
    expect(sent.url.pathname).toBe("/account");
    expect(await host.call(tokens.access_token)).toBe(200);
  });

  it.each(["no", "somebody else's"])("refuses to withdraw with %s form token", async (whose) => {
    const tokens = await allow(alice, "shop");
    const form = formOf(await account(alice), 'value="shop"');
    const foreign = await account(bob);
    const sent =
      whose === "no"
        ? await alice.submit(form, { form_token: "" })
        : await alice.submit(withForeignToken(form, foreign), {});
    expect(sent.status).toBe(403);
    expect(await host.call(tokens.access_token)).toBe(200);
  });

  it("does not withdraw by a link", async () => {
    const tokens = await allow(alice, "shop");
    const link = `${host.example.origin}/account/withdraw?client_id=shop&api_id=orders`;
    expect((await alice.open(link)).status).toBe(404);
    expect(await host.call(tokens.access_token)).toBe(200);
  });

  it("cannot be framed (RFC 9700 §4.16)", async () => {
    const { after } = await planted(host, "bob");
    const response = await request(`${host.example.origin}/account`, after);
    expect(await response.text()).toContain("<strong>bob</strong>");
    expect(Object.fromEntries(response.headers)).toMatchObject(unframeable);
  });

  it("prints no stack trace", () => {
    expect(host.example.printed.err).not.toMatch(/^\s+at /m);
  });
});

it.each(["own-sign-in", "own-consent", "account-page"])(
  "examples/%s/server.js has at most 120 lines",
  (name) => {
    const file = path.resolve(__dirname, `../../examples/${name}/server.js`);
    expect(readFileSync(file, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(120);
  },
);
