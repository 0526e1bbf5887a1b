import { newWebBrowser, type Page, type WebBrowser } from "../fixture/example";
import {
  alice,
  answerOf,
  bob,
  cookiesOf,
  host,
  requestPage,
  signedIn,
  signIn,
  signInForAllTests,
  signInWithPlantedSession,
  startHostForAllTests,
  unframeable,
  withForeignToken,
} from "../fixture/host-example";

jest.setTimeout(60_000);

startHostForAllTests("own-consent", /\/token\n/);
signInForAllTests();

// what was allowed is remembered: each test asks again
const ask = (browser: WebBrowser, query: Record<string, string> = {}) =>
  browser.open(host.authorizeUrl("shop", { prompt: "consent", ...query }));

async function grantedScope(page: Page): Promise<string> {
  const { code = "" } = answerOf(page);
  return (await host.token("shop", { grant_type: "authorization_code", code })).body.scope;
}

describe("examples/own-consent", () => {
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

  it("prints no stack trace", () => {
    expect(host.example.printed.err).not.toMatch(/^\s+at /m);
  });
});

describe("examples/own-consent, attacked", () => {
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
    const { after } = await signInWithPlantedSession(host, "bob");
    const asked = await requestPage(host.authorizeUrl("shop", { prompt: "consent" }), after);
    const url = new URL(asked.headers.get("location") ?? "", host.example.origin);
    const response = await requestPage(url, [...after, ...cookiesOf(asked)]);
    expect(await response.text()).toContain("See your orders");
    expect(Object.fromEntries(response.headers)).toMatchObject(unframeable);
  });
});
