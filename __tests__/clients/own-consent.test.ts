import { tokens as tokenAdapter } from "../../examples/own-consent/organizations";
import { newWebBrowser, type Page, type WebBrowser } from "../servers/example";
import {
  alice,
  answerOf,
  bob,
  cookiesOf,
  formOf,
  host,
  requestPage,
  signedIn,
  signIn,
  signInForAllTests,
  signInWithPlantedSession,
  startHostForAllTests,
  type Tokens,
  unframeable,
  withForeignToken,
} from "./host-example";

startHostForAllTests("own-consent", /\/account\n/);
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
    for (const text of ["<strong>alice</strong>", "Allow Shop to access Orders?", "See your orders"])
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

type Organization = "org-tea" | "org-bikes";

/** Allows everything for an organization. */
async function allowFor(browser: WebBrowser, organization: Organization): Promise<Tokens> {
  const end = await browser.submit(await ask(browser), { decision: "approve", organization });
  const { code = "" } = answerOf(end);
  return (await host.token("shop", { grant_type: "authorization_code", code })).body;
}

/** What the API gives. */
async function orders({ access_token }: Tokens): Promise<unknown> {
  const headers = { authorization: `Bearer ${access_token}` };
  const response = await fetch(`${host.example.origin}/orders`, { headers });
  return response.status === 200 ? response.json() : response.status;
}

async function refreshed({ refresh_token }: Tokens): Promise<Tokens> {
  return (await host.token("shop", { grant_type: "refresh_token", refresh_token })).body;
}

const silently = (browser: WebBrowser) => browser.open(host.authorizeUrl("shop", { prompt: "none" }));
const account = (browser: WebBrowser) => browser.open(`${host.example.origin}/account`);
/** The consents of the account page: the names of the organizations. */
const consentsOf = ({ text }: Page): string[] =>
  text.match(/(?<=Can use <bdi>Orders<\/bdi> for <bdi>)[^<]+/g) ?? [];
/** Unticks everything that the Shop may do for an organization. */
async function withdraw(browser: WebBrowser, organization: string): Promise<Page> {
  const form = formOf(await account(browser), `<bdi>${organization}</bdi>`);
  const boxes = form.text.match(/(?<=name=")scope_\d+/g) ?? [];
  return browser.submit(form, { do: "save", ...Object.fromEntries(boxes.map((box) => [box, ""])) });
}
/** The organizations that the consent page offers. */
const offeredBy = ({ text }: Page): string[] => text.match(/(?<=name="organization"\s+value=")[^"]+/g) ?? [];
/** A question to `tokens.decide`. */
const requestOf = (subject: string, key: string) =>
  ({ subject, authorization: { context: { key, data: { name: "Tea Traders" } } } }) as never;
const teaOrders = { organization: "Tea Traders", orders: ["Darjeeling"] };
const bikeOrders = { organization: "Bike Builders", orders: ["Saddle"] };

describe("examples/own-consent: organizations", () => {
  it("offers a person theirs and no others", async () => {
    expect(offeredBy(await ask(alice))).toEqual(["org-tea", "org-bikes"]);
    expect(offeredBy(await ask(bob))).toEqual(["org-bikes"]);
  });

  it("are told apart by the API, by the claim that tokens.decide has made of the choice", async () => {
    const tea = await allowFor(alice, "org-tea");
    const bikes = await allowFor(alice, "org-bikes");
    expect(await orders(tea)).toEqual(teaOrders);
    expect(await orders(bikes)).toEqual(bikeOrders);
  });

  it("have a consent and a family of refresh tokens each, and keep what was chosen", async () => {
    const tea = await allowFor(alice, "org-tea");
    const bikes = await allowFor(alice, "org-bikes");
    expect(consentsOf(await account(alice)).toSorted()).toEqual(["Bike Builders", "Tea Traders"]);
    // the person has moved on to the other one, but the authorization has not
    const teaAgain = await refreshed(await refreshed(tea));
    const bikesAgain = await refreshed(await refreshed(bikes));
    expect(await orders(teaAgain)).toEqual(teaOrders);
    expect(await orders(bikesAgain)).toEqual(bikeOrders);
  });

  it("lose only their own when a consent is withdrawn", async () => {
    const tea = await allowFor(alice, "org-tea");
    const bikes = await allowFor(alice, "org-bikes");
    const after = await withdraw(alice, "Tea Traders");
    expect(consentsOf(after)).toEqual(["Bike Builders"]);
    expect(after.text).not.toContain("Tea Traders");
    expect(await orders(tea)).toBe(401);
    expect(await refreshed(tea)).toMatchObject({ error: "invalid_grant" });
    expect(await orders(bikes)).toEqual(bikeOrders);
    expect(await orders(await refreshed(bikes))).toEqual(bikeOrders);
  });

  it("answer a silent visit with the one that the session has, if it was allowed", async () => {
    const browser = await signedIn(host, "alice");
    // nothing was chosen in this session
    expect(answerOf(await silently(browser))).toMatchObject({ error: "interaction_required" });
    await allowFor(browser, "org-bikes");
    await allowFor(browser, "org-tea");
    const { code = "" } = answerOf(await silently(browser));
    const { body } = await host.token("shop", { grant_type: "authorization_code", code });
    expect(await orders(body)).toEqual(teaOrders);
  });

  it("do not answer a silent visit with the consent of another one", async () => {
    const browser = await signedIn(host, "alice");
    await allowFor(browser, "org-tea");
    await allowFor(browser, "org-bikes");
    await withdraw(browser, "Bike Builders");
    expect(answerOf(await silently(browser))).toMatchObject({ error: "interaction_required" });
  });

  it("end for those who have left them (RFC 6749 §5.2)", () => {
    const claims = { org: { id: "org-tea", name: "Tea Traders" } };
    expect(tokenAdapter.decide(requestOf("person-1", "org-tea"))).toEqual({ kind: "issue", claims });
    expect(tokenAdapter.decide(requestOf("person-2", "org-tea"))).toEqual({ kind: "refuse", revoke: true });
    expect(tokenAdapter.decide(requestOf("person-1", "org-gone"))).toEqual({ kind: "refuse", revoke: true });
  });
});

describe("examples/own-consent, attacked", () => {
  it.each(["approve", "deny"])("does not %s without the form token, and asks again", async (decision) => {
    const page = await ask(alice);
    const sent = await alice.submit(page, { decision, form_token: "" });
    expect(sent).toMatchObject({ status: 200, url: page.url, text: page.text });
  });

  it.each(["org-tea", "org-nowhere", "constructor", ""])(
    "allows nothing for %j, which is not an organization of the person",
    async (organization) => {
      const browser = await signedIn(host, "bob");
      const page = await ask(browser);
      const before = (await account(browser)).text;
      const sent = await browser.submit(page, { decision: "approve", organization });
      expect(sent).toMatchObject({ status: 403, url: page.url });
      expect(sent.text).toContain("No access was granted.");
      expect((await account(browser)).text).toBe(before);
      // nor does the session have it from now on
      expect(answerOf(await silently(browser))).toMatchObject({ error: "interaction_required" });
      const end = await browser.submit(page, { decision: "approve", organization: "org-bikes" });
      const { code = "" } = answerOf(end);
      const { body } = await host.token("shop", { grant_type: "authorization_code", code });
      expect(await orders(body)).toEqual(bikeOrders);
    },
  );

  it("does not take the answer of somebody who has signed out meanwhile for the next person's", async () => {
    const browser = await signedIn(host, "alice");
    const page = await ask(browser, { scope: "orders:read" });
    const next = await signIn({ browser, host }, "bob");
    expect(next.url.pathname).toBe("/");
    const sent = await browser.submit(page, { decision: "approve" });
    expect(sent.text).toContain("Signed in as <strong>bob</strong>");
    // even with a token of the new session
    const foreign = await browser.open(`${host.example.origin}/sign-in`);
    const again = await browser.submit(withForeignToken(page, foreign), { decision: "approve" });
    expect(again.text).toContain("Signed in as <strong>bob</strong>");
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

/** Registers a client as anybody can, and gives the address that it sends people to. */
async function strangersUrl(query: Record<string, string> = {}): Promise<URL> {
  const line = /^curl .* -d '(.+)' (\S+\/register)$/m.exec(host.example.printed.out) ?? [];
  const [, body = "", registrationUrl = ""] = line;
  const headers = { "content-type": "application/json" };
  const response = await fetch(registrationUrl, { method: "POST", headers, body });
  const { client_id = "" } = (await response.json()) as { client_id?: string };
  const [, address = ""] = /^and open (\S+)$/m.exec(host.example.printed.out) ?? [];
  const url = new URL(address.replace("THE_CLIENT_ID", client_id));
  for (const [parameter, value] of Object.entries(query)) url.searchParams.set(parameter, value);
  return url;
}

/** The note of a page, without its markup. */
function noteOf({ text }: Page): string {
  const [, note = ""] = /<div role="note">([^]*?)<\/div>/.exec(text) ?? [];
  return note
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

describe("examples/own-consent: a client that nobody has registered (RFC 7591 §5)", () => {
  const unchecked = "This site hasn’t verified this app. Anyone can use this name.";
  const firstVisit = "You haven’t used this app here before.";
  const thisDevice =
    "Your answer will be sent to an app on this device. This site can’t tell which one. Allow access only if you just started this yourself, in an app you trust.";

  it("is unchecked, new here, and answers to this device: the page says so ahead of the form", async () => {
    const page = await alice.open(await strangersUrl());
    expect(page.text).toContain("Allow A Stranger to access Orders?");
    expect(noteOf(page)).toBe(`${unchecked} ${firstVisit} ${thisDevice}`);
    expect(page.text.indexOf('role="note"')).toBeLessThan(page.text.indexOf("<form"));
  });

  it("is not new any more when the person has allowed it", async () => {
    const url = await strangersUrl();
    const end = await alice.submit(await alice.open(url), { decision: "approve" });
    expect(answerOf(end)).toHaveProperty("code");
    expect(noteOf(await alice.open(url))).toBe(`${unchecked} ${thisDevice}`);
  });

  it("is asked about even for a scope that needs no question", async () => {
    const page = await bob.open(await strangersUrl({ scope: "catalogue:read" }));
    expect(page.url.pathname).toBe("/consent");
  });

  it("is the only kind with such a note", async () => {
    expect((await ask(alice)).text).not.toContain('role="note"');
  });
});
