/** What a person has, chooses and ends in the demo: organizations, logins, and a refresh whose answer was lost. */
import { failures, furtherSteps } from "../../examples/demo/stories";
import { demo, itHasPrintedNoFailure } from "../servers/demo";
import { newVisitor, openApps, partOf, press, signInAs, start, takeSteps, tell } from "./demo-stories";
import { formOf } from "./host-example";
import { newWebBrowser, type Page, type WebBrowser } from "../servers/example";

const describePerson = async (browser: WebBrowser): Promise<unknown> =>
  (await browser.post(`${demo.origin}/person`)).body;

/** What an app may use. */
const accesses = ({ text }: Page): readonly string[] =>
  text.replaceAll(/<\/?bdi>/g, "").match(/Can use [^<]+/g) ?? [];

/** The sign-ins of an app. */
const signIns = ({ text }: Page): readonly string[] => text.match(/(?<=name="end" value=")[^"]+/g) ?? [];

/** Alice, signed in at the Web Shop and nowhere else. */
async function onlyAtTheShop(): Promise<WebBrowser> {
  const browser = await newVisitor();
  await start(browser, "web");
  await browser.submit(formOf(await openApps(browser), "remove-all"), { do: "remove-all" });
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
    const shop = partOf(await openApps(browser), "Web Shop");
    expect(accesses(shop).toSorted()).toEqual([
      "Can use Orders for Tea House to:",
      "Can use Orders for Tool Shed to:",
    ]);
    expect(signIns(shop)).toHaveLength(2);
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
      const { browser } = await signInAs("bob", { organization });
      expect(await describePerson(browser)).toMatchObject({ organization: name });
    }
  });

  it("ends one sign-in on the page of apps, and keeps what was allowed", async () => {
    const browser = await onlyAtTheShop();
    await start(browser, "portal");
    const shop = partOf(await openApps(browser), "Web Shop");
    const [end = ""] = signIns(shop);
    const after = await browser.submit(formOf(shop, "remove"), { end });
    const left = partOf(after, "Web Shop");
    expect([accesses(left), signIns(left)]).toEqual([["Can use Orders for Tea House to:"], []]);
    expect(signIns(partOf(after, "Company Portal"))).toHaveLength(1);
    expect(await refreshStatus(browser, "web")).toBe(400);
    expect(await refreshStatus(browser, "portal")).toBe(200);
  });

  it("takes an app away with one button, tokens and all", async () => {
    const browser = await onlyAtTheShop();
    const form = formOf(partOf(await openApps(browser), "Web Shop"), "remove");
    const after = await browser.submit(form, { do: "remove" });
    expect(after.text).toContain("No app has access to your account.");
    await takeSteps(browser);
    await press(browser, "web", "call");
    expect((await takeSteps(browser)).map(({ status }) => status)).toEqual([401]);
  });

  it("lets nobody end somebody else's sign-in", async () => {
    const browser = await onlyAtTheShop();
    const shop = partOf(await openApps(browser), "Web Shop");
    const [end = ""] = signIns(shop);
    const { browser: bob } = await signInAs("bob");
    expect((await bob.submit(formOf(shop, "remove"), { end })).status).toBe(409);
    expect(await refreshStatus(browser, "web")).toBe(200);
  });

  it.each([
    ["Firefox on Linux", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"],
    [
      "Edge on Windows",
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0",
    ],
    [
      "Chrome on Android",
      "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36",
    ],
    [
      "Safari on iPhone",
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
    ],
    ["Unknown browser", "curl/8 whatever somebody sends"],
  ])("says that a sign-in came from %s, and shows nothing of the header", async (from, agent) => {
    const browser = newWebBrowser((url, init) =>
      fetch(url, { ...init, headers: { ...(init.headers as object), "user-agent": agent } }),
    );
    await browser.open(`${demo.origin}/`);
    await start(browser, "portal");
    const { text } = await openApps(browser);
    expect(text).toContain(`<bdi>${from}</bdi>`);
    expect(text).not.toContain(agent);
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
