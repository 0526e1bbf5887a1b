import { setTimeout as delay } from "node:timers/promises";
import { newGuessLimit } from "../../examples/own-sign-in/guesses";
import { newWebBrowser } from "../servers/example";
import {
  answerOf,
  formOf,
  host,
  type Name,
  requestPage,
  signedIn,
  signInWithPlantedSession,
  startHost,
  startHostForAllTests,
  unframeable,
  withForeignToken,
} from "./host-example";

startHostForAllTests("own-sign-in", /\/orders\n/);
const password = (name: Name) => ({ name, password: host.password(name) });

describe("examples/own-sign-in", () => {
  it("leads a person from the printed address over both pages to the API", async () => {
    const browser = newWebBrowser();
    const page = await browser.open(host.authorizeUrl("shop"));
    expect(page.text).toContain("Shop wants to access Orders.");
    const consent = await browser.submit(page, password("alice"));
    expect(consent.text).toMatch(/Signed in as <\w+>alice</);
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
    expect(again.text).toContain('<p role="alert">Incorrect name or password.</p>');
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
      expect(page.text).toContain("Signed in as alice. Please enter your password again.");
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

  it("goes on from the form of a second tab when the person has signed in in the first one", async () => {
    const browser = newWebBrowser();
    const first = await browser.open(host.authorizeUrl("shop", { prompt: "consent", state: "first" }));
    const second = await browser.open(host.authorizeUrl("shop", { prompt: "consent", state: "second" }));
    await browser.submit(first, password("alice"));
    const consent = await browser.submit(second, password("alice"));
    expect([consent.status, consent.text]).toEqual([200, expect.stringContaining('name="decision"')]);
    const end = await browser.submit(consent, { decision: "approve" });
    expect(answerOf(end)).toMatchObject({ code: expect.any(String) as string, state: "second" });
  });

  it("goes on when the form is sent twice, to the client or to the home page", async () => {
    const browser = newWebBrowser();
    const page = await browser.open(host.authorizeUrl("shop", { prompt: "consent" }));
    await browser.submit(page, password("alice"));
    expect((await browser.submit(page, password("alice"))).text).toContain('name="decision"');
    const home = newWebBrowser();
    const form = await home.open(`${host.example.origin}/sign-in`);
    await home.submit(form, password("alice"));
    expect((await home.submit(form, password("alice"))).text).toContain("Signed in as alice");
  });

  it("shows the page again when the form to sign out is from before the sign-in", async () => {
    const browser = await signedIn(host, "bob");
    const old = await browser.open(host.example.origin);
    await browser.submit(await browser.open(`${host.example.origin}/sign-in`), password("bob"));
    const home = await browser.submit(old, {});
    expect(home.text).toContain("Signed in as bob");
    expect((await browser.submit(home, {})).text).not.toContain("bob");
  });

  it("signs out by its form", async () => {
    const browser = await signedIn(host, "bob");
    const home = await browser.open(host.example.origin);
    expect(home.text).toContain("Signed in as bob");
    expect((await browser.submit(home, {})).text).not.toContain("bob");
  });

  it("prints no stack trace", () => {
    expect(host.example.printed.err).not.toMatch(/^\s+at /m);
  });
});

describe("examples/own-sign-in, attacked", () => {
  it("begins a session under a new id: the planted one is worth nothing (session fixation)", async () => {
    const { before, after } = await signInWithPlantedSession(host, "alice");
    expect(await (await requestPage(host.example.origin, after)).text()).toContain("Signed in as alice");
    expect(await (await requestPage(host.example.origin, before)).text()).not.toContain("alice");
  });

  it("keeps the session in a cookie that scripts and other sites' forms do not get", async () => {
    const [cookie] = (await requestPage(`${host.example.origin}/sign-in`)).headers.getSetCookie();
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
    expect([sent.url.pathname, sent.text]).toEqual([
      "/sign-in",
      expect.stringContaining("Please try again."),
    ]);
    expect((await browser.open(host.example.origin)).text).not.toContain("alice");
  });

  it("refuses to cancel without the form token", async () => {
    const browser = newWebBrowser();
    const page = await browser.open(host.authorizeUrl("shop"));
    const sent = await browser.submit(formOf(page, "/sign-in/cancel"), { form_token: "" });
    expect([sent.url.pathname, answerOf(sent)]).toEqual(["/sign-in", {}]);
    expect((await browser.open(page.url)).text).toContain("Shop wants to access Orders.");
  });

  it("says that an interaction is over when its address is opened in another browser", async () => {
    const page = await newWebBrowser().open(host.authorizeUrl("shop"));
    expect((await newWebBrowser().open(page.url)).status).toBe(400);
  });

  it("cannot be framed (RFC 9700 §4.16)", async () => {
    const { headers } = await requestPage(`${host.example.origin}/sign-in`);
    expect(Object.fromEntries(headers)).toMatchObject(unframeable);
  });
});

it("examples/own-sign-in refuses the right password too after ten wrong ones", async () => {
  const guessed = await startHost("own-sign-in", /\/orders\n/);
  const browser = newWebBrowser();
  const page = await browser.open(`${guessed.example.origin}/sign-in`);
  const statuses: number[] = [];
  for (const guess of [...Array<string>(10).fill("a guess"), guessed.password("alice")]) {
    statuses.push((await browser.submit(page, { name: "alice", password: guess })).status);
  }
  await guessed.example.stop();
  expect(statuses).toEqual([...Array<number>(10).fill(403), 429]);
});

const wrongPassword = (): Promise<undefined> => Promise.resolve(undefined);

it.each([
  ["an address", (port: number) => `203.0.113.7:${port}`],
  ["an IPv6 address", (port: number) => `[2001:db8::1]:${port}`],
])("examples/own-sign-in counts %s as one, although a proxy adds the port", async (_, from) => {
  const guesses = newGuessLimit();
  for (let count = 0; count < 10; count += 1) await guesses.attempt(from(50_000 + count), wrongPassword);
  expect(await guesses.attempt(from(60_000), wrongPassword)).toBe("too many");
});
