import { newWebBrowser, type WebBrowser } from "../fixture/example";
import {
  alice,
  answerOf,
  bob,
  formOf,
  host,
  requestPage,
  signInForAllTests,
  signInWithPlantedSession,
  startHostForAllTests,
  type Tokens,
  unframeable,
  withForeignToken,
} from "../fixture/host-example";

jest.setTimeout(60_000);

startHostForAllTests("account-page", /\/account\n/);
signInForAllTests();

afterEach(async () => {
  await withdrawAll(alice);
  await withdrawAll(bob);
});

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

describe("examples/account-page", () => {
  it("shows the client, what it may do in sentences, and the dates", async () => {
    await allow(alice, "shop");
    const { text } = await account(alice);
    expect(text).toMatch(/<h2>Shop<\/h2>\s*<p>It may use Orders to:<\/p>/);
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

  it("prints no stack trace", () => {
    expect(host.example.printed.err).not.toMatch(/^\s+at /m);
  });
});

describe("examples/account-page, attacked", () => {
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
    const { after } = await signInWithPlantedSession(host, "bob");
    const response = await requestPage(`${host.example.origin}/account`, after);
    expect(await response.text()).toContain("<strong>bob</strong>");
    expect(Object.fromEntries(response.headers)).toMatchObject(unframeable);
  });
});
