/** The stories of the playground, run as the script of its page runs them. */
import { demo, goThrough, orders, secretOf } from "../servers/demo";
import { newWebBrowser, type Page, type WebBrowser } from "../servers/example";

/** One exchange, as the playground shows it. */
export interface Step {
  readonly at: number;
  readonly until: number;
  readonly by: string;
  readonly method: string;
  readonly url: string;
  readonly sent: Readonly<Record<string, string>>;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, string>>;
  readonly events: readonly Readonly<Record<string, string>>[];
  readonly isLost?: boolean;
}

const choices = {
  ...orders,
  prompt: "consent",
  scope: "orders:read orders:write",
  pkce: true,
  sendRedirectUri: true,
};

/** A browser with the start page open. */
export async function newVisitor(): Promise<WebBrowser> {
  const browser = newWebBrowser();
  await browser.open(`${demo.origin}/`);
  return browser;
}

/** A browser where this person has signed in with a password, and the page that they see then. */
export async function signInAs(
  name: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<{ readonly browser: WebBrowser; readonly account: Page }> {
  const browser = newWebBrowser();
  const page = await browser.open(`${demo.origin}/signin/password`);
  return { browser, account: await browser.submit(page, { name, password: secretOf(name), ...fields }) };
}

/** The page of the apps of whoever is signed in. */
export const openApps = (browser: WebBrowser): Promise<Page> => browser.open(`${demo.origin}/account/apps`);

/** What it shows of one app, as a page of its own; empty where it does not show that app. */
export function partOf(apps: Page, name: string): Page {
  const sections = apps.text.match(/<section[^]*?<\/section>/g) ?? [];
  return { ...apps, text: sections.find((section) => section.includes(`<bdi>${name}</bdi>`)) ?? "" };
}

/** Presses a button whose action a client program outside the browser does. */
export async function press(
  browser: WebBrowser,
  clientId: string,
  action: string,
  chosen: object = {},
): Promise<unknown> {
  const url = `${demo.origin}/programs/${clientId}/${action}`;
  const { status, body } = await browser.post(url, { ...choices, ...chosen });
  expect(status).toBe(200);
  return body;
}

/** The steps since the last call. */
export async function takeSteps(browser: WebBrowser): Promise<readonly Step[]> {
  return (await browser.post(`${demo.origin}/steps`)).body as Step[];
}

/** "Get a token" for a client program outside the browser. */
export async function start(browser: WebBrowser, clientId: string, chosen: object = {}): Promise<void> {
  const { url } = (await press(browser, clientId, "start", chosen)) as { url: string };
  const end = await goThrough(browser, url);
  expect(end.pathname).toBe("/back");
}

interface Told {
  readonly actions: readonly string[];
  readonly choices?: object;
}

/** Does what the script of the page does when a button is pressed, and gives the steps it took. */
export async function tell(
  story: Told,
  { browser, clientId, chosen }: { browser: WebBrowser; clientId: string; chosen?: object },
): Promise<readonly Step[]> {
  const all = { ...choices, prompt: "", ...chosen, ...story.choices };
  const other = all.api === "orders" ? "reports" : "orders";
  const inThePage: Record<string, () => Promise<unknown>> = {
    start: () =>
      clientId === "machine"
        ? press(browser, clientId, "clientCredentials", all)
        : start(browser, clientId, all),
    async open() {
      const { url } = (await press(browser, clientId, "start", all)) as { url: string };
      return browser.open(url);
    },
    async device() {
      const { url } = (await press(browser, clientId, "askAsDevice", all)) as { url: string };
      // the phone is another browser: it has nothing of this one
      await goThrough(newWebBrowser(), url);
      await press(browser, clientId, "poll", all);
    },
    askAgain: () => start(browser, clientId, all),
    stepUp: () => start(browser, clientId, { ...all, stepUp: true }),
    disable: () => browser.post(`${demo.origin}/person/disable`),
    enable: () => browser.post(`${demo.origin}/person/enable`),
    otherOrganization: () => browser.post(`${demo.origin}/person/other-organization`),
    signOutEverywhere: () => browser.post(`${demo.origin}/person/sign-out-everywhere`),
    signOut: () => browser.post(`${demo.origin}/signout`),
    callOtherApi: () => press(browser, clientId, "call", { ...all, api: other }),
  };
  for (const action of story.actions) {
    await (inThePage[action]?.() ?? press(browser, clientId, action, all));
  }
  return takeSteps(browser);
}

/** What a step was refused with: the end of its URL, its status, the error, and the reason in the host's event. */
export function refusals(steps: readonly Step[]): unknown[] {
  return steps.flatMap(({ url, status, headers, body, events }) => {
    const { searchParams } = new URL(headers["location"] || "/", demo.origin);
    const error = body["error"] ?? searchParams.get("error") ?? undefined;
    const reason = events.find((event) => "reason" in event)?.["reason"];
    const isRefused = status >= 400 || error !== undefined || reason !== undefined;
    return isRefused ? [[url.split("/").at(-1), status, error, reason]] : [];
  });
}
