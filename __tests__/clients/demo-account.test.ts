/** What a person has, chooses and ends in the demo: organizations, logins, and a refresh whose answer was lost. */
import { failures, furtherSteps } from "../../examples/demo/stories";
import { demo, itHasPrintedNoFailure, secretOf } from "../servers/demo";
import { newVisitor, press, start, takeSteps, tell } from "./demo-stories";
import { newWebBrowser, type Page, type WebBrowser } from "../servers/example";

const openAccount = (browser: WebBrowser): Promise<Page> => browser.open(`${demo.origin}/account`);

const describePerson = async (browser: WebBrowser): Promise<unknown> =>
  (await browser.post(`${demo.origin}/person`)).body;

/** The logins that an account page lists. */
const logins = ({ text }: Page): readonly string[] =>
  (text.split("Where you are signed in")[1] ?? "").match(/(?<=<h3>)[^<]+/g) ?? [];

async function signInBob(fields: Readonly<Record<string, string>> = {}) {
  const browser = newWebBrowser();
  const page = await browser.open(`${demo.origin}/signin/password`);
  const account = await browser.submit(page, { name: "bob", password: secretOf("bob"), ...fields });
  return { browser, account };
}

/** Alice, signed in at the Web Shop and nowhere else. */
async function onlyAtTheShop(): Promise<WebBrowser> {
  const browser = await newVisitor();
  await start(browser, "web");
  await browser.post(`${demo.origin}/person/sign-out-everywhere`);
  await start(browser, "web", { prompt: "" });
  return browser;
}

async function refreshStatus(browser: WebBrowser, clientId: string): Promise<number | undefined> {
  await takeSteps(browser);
  await press(browser, clientId, "refresh");
  return (await takeSteps(browser))[0]?.status;
}

describe("what a person has and ends in the demo", () => {
  it("asks for consent again in the other organization, which has refresh tokens of its own", async () => {
    const browser = await onlyAtTheShop();
    await takeSteps(browser);
    const { actions = [] } = furtherSteps["otherOrganization"] ?? {};
    const steps = await tell({ actions: ["call", ...actions] }, { browser, clientId: "web" });
    expect(steps.flatMap(({ body }) => body["org"] ?? [])).toEqual(["teahouse", "teahouse", "toolshed"]);
    expect(steps.filter(({ url }) => url.endsWith("/authorize/consent"))).toHaveLength(1);
    expect(logins(await openAccount(browser)).toSorted()).toEqual([
      "Web Shop uses Orders for Tea House",
      "Web Shop uses Orders for Tool Shed",
    ]);
    const again = await tell(
      { actions: ["start", "otherOrganization", "start"] },
      { browser, clientId: "web" },
    );
    expect(again.filter(({ url }) => url.endsWith("/authorize/consent"))).toEqual([]);
  });

  it("takes the organization that was chosen on the sign-in page, and none that does not exist", async () => {
    for (const [organization, name] of [
      ["toolshed", "Tool Shed"],
      ["constructor", "Tea House"],
    ] as const) {
      const { browser } = await signInBob({ organization });
      expect(await describePerson(browser)).toMatchObject({ organization: name });
    }
  });

  it("ends one login on the account page, and keeps what was allowed", async () => {
    const browser = await onlyAtTheShop();
    await start(browser, "portal");
    const account = await openAccount(browser);
    expect(logins(account)).toHaveLength(2);
    const [own = ""] =
      /<h3>Web Shop uses Orders for Tea House<\/h3>\s*<form[^>]*end"[^]*?<\/form>/.exec(account.text) ?? [];
    const after = await browser.submit({ ...account, text: own }, {});
    expect(logins(after)).toEqual(["Company Portal uses Orders for Tea House"]);
    expect(after.text).toMatch(/Web Shop uses Orders[^]*Where you are signed in/);
    expect(await refreshStatus(browser, "web")).toBe(400);
    expect(await refreshStatus(browser, "portal")).toBe(200);
  });

  it("lets nobody end somebody else's login", async () => {
    const browser = await onlyAtTheShop();
    const [, authorizationId = ""] =
      /name="authorizationId" value="([^"]+)/.exec((await openAccount(browser)).text) ?? [];
    const { browser: bob, account } = await signInBob();
    await bob.submit({ ...account, text: '<form action="/account/end">' }, { authorizationId });
    expect(await refreshStatus(browser, "web")).toBe(200);
  });

  it.each(["/account", "/person"])(
    "signs out everywhere at %s: every session and every login",
    async (at) => {
      const [here, elsewhere] = [await newVisitor(), await newVisitor()];
      await start(here, "web");
      await start(elsewhere, "portal");
      const url = new URL(`${demo.origin}${at}/sign-out-everywhere`);
      const text = `<form action="${url.pathname}">`;
      await here.submit({ url, status: 200, text }, {});
      for (const browser of [here, elsewhere]) {
        expect(await describePerson(browser)).toEqual({ active: false });
      }
      expect(await refreshStatus(here, "web")).toBe(400);
      expect(await refreshStatus(elsewhere, "portal")).toBe(400);
    },
  );

  it("gives the same refresh token again after a lost answer (RFC 9700 §4.14.2)", async () => {
    const steps = await tell(failures["lostAnswer"] ?? { actions: [] }, {
      browser: await newVisitor(),
      clientId: "web",
    });
    const [, lost, again, next] = steps.flatMap(({ body }) => body["refresh_token"] ?? []);
    expect(again).toBe(lost);
    expect(next).not.toBe(lost);
    expect(steps.filter(({ isLost }) => isLost)).toHaveLength(1);
    const kinds = steps.flatMap(({ events }) => events.map(({ kind }) => kind));
    expect(kinds).toContain("refresh-retried");
  });
});

itHasPrintedNoFailure();
