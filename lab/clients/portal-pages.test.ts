// People and the page of their connected apps at a real browser, behind helmet with its defaults.
import type { Express } from "express";
import helmet from "helmet";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { Authentication } from "../../lib";
import { type AccountChange, accountPages, type AccountPagesOptions } from "../../lib/portal";
import { describeWith } from "../../__tests__/servers/server-process";
import { accessibilityFindings } from "./accessibility";
import {
  chromium,
  closeAll,
  closeChromium,
  htmlPage,
  newContext,
  sentences,
  signedInPage,
  startWebHost,
  watch,
  type WebHost,
} from "./chromium";

afterEach(closeAll);
afterAll(closeChromium);

const path = "/account/apps";
const [reading = "", changing = ""] = sentences;

interface Shown {
  readonly host: WebHost;
  readonly page: Page;
  readonly changes: AccountChange[];
  /** What is still allowed, after `narrow`. */
  readonly narrowed: (readonly string[])[];
  readonly complaints: readonly string[];
}

function alice({ headers }: { readonly headers: { readonly cookie?: string | undefined } }): Authentication {
  const subject = /session=(\w+)/.exec(headers.cookie ?? "")?.[1];
  return subject === undefined ? { kind: "interaction", url: "/signin" } : { kind: "authenticated", subject };
}

/** Alice at the page of her apps: one client may do everything. */
async function openApps({
  look = {},
  clientName,
  ...options
}: Partial<AccountPagesOptions> & {
  look?: BrowserContextOptions;
  clientName?: string;
} = {}): Promise<Shown> {
  const apps: Express[] = [];
  const before = (app: Express): void => {
    apps.push(app.use(helmet()));
  };
  const host = await startWebHost({ before, ...(clientName !== undefined && { clientName }) });
  const changes: AccountChange[] = [];
  const narrowed: Shown["narrowed"] = [];
  const { consents } = host.auth;
  const narrow: typeof consents.narrow = async (step) => {
    narrowed.push(step.scopes);
    await consents.narrow(step);
  };
  const pages = accountPages({
    auth: { ...host.auth, consents: { ...consents, narrow } },
    options: { baseUrl: `${host.origin}/login`, apis: ordersOf(), storage: host.storage },
    person: ({ req }) => alice(req),
    onChange: (change) => void changes.push(change),
    ...options,
  });
  for (const app of apps) app.use(path, pages);
  const page = await signedInPage(host, await newContext(look));
  await page.goto(host.authorizeUrl());
  await page.locator('button[value="approve"]').click();
  await page.waitForURL(/callback/);
  const { complaints } = watch(page);
  await page.goto(host.origin + path);
  return { host, page, changes, narrowed, complaints };
}

function ordersOf(): AccountPagesOptions["options"]["apis"] {
  const scopes = { "orders:read": reading, "orders:write": changing };
  return {
    orders: { name: "Orders", audience: "https://api.example/orders", authMethods: ["password"], scopes },
  };
}

function buttons(page: Page) {
  return {
    save: page.getByRole("button", { name: "Save" }),
    remove: page.getByRole("button", { name: "Remove this app" }),
    box: (sentence: string) => page.getByRole("checkbox", { name: sentence }),
  };
}

/** Goes on by the keyboard until this has the focus. */
async function tabTo(page: Page, locator: ReturnType<Page["locator"]>): Promise<void> {
  for (let presses = 0; presses < 20; presses += 1) {
    await page.keyboard.press("Tab");
    if ((await page.locator(":focus").and(locator).count()) === 1) return;
  }
  throw new Error("cannot be reached by the keyboard");
}

describeWith(chromium, {
  name: "the page of connected apps in Chromium, behind helmet() with its defaults",
  tests: () => {
    it("takes a scope back by the keyboard alone, without a complaint of the browser", async () => {
      const { page, narrowed, changes, complaints, host } = await openApps();
      await tabTo(page, buttons(page).box(changing));
      await page.keyboard.press("Space");
      await tabTo(page, buttons(page).save);
      await page.keyboard.press("Enter");
      await page.waitForURL(`${host.origin}${path}?`);
      expect(narrowed).toEqual([["orders:read"]]);
      expect(changes).toMatchObject([{ kind: "access-narrowed", subject: "alice" }]);
      expect(complaints).toEqual([]);
    });

    it("saves, and removes nothing, when Enter is pressed in a box", async () => {
      const { page, narrowed, changes, host } = await openApps();
      await buttons(page).box(reading).uncheck();
      await buttons(page).box(reading).press("Enter");
      await page.waitForURL(`${host.origin}${path}?`);
      expect(narrowed).toEqual([["orders:write"]]);
      expect(changes).toHaveLength(1);
    });

    it("works without scripts: removes the app, and says that there is none", async () => {
      const { page } = await openApps({ look: { javaScriptEnabled: false } });
      await buttons(page).remove.click();
      await page.getByText("No app has access to your account.").waitFor();
      await page.goBack();
      await page.reload();
      expect(await buttons(page).remove.count()).toBe(0);
    });

    it("leads to a sign-in at another origin first, where the host wants that", async () => {
      const url = { value: "" };
      const person: AccountPagesOptions["person"] = ({ req, change }) =>
        change ? { kind: "interaction", url: url.value } : alice(req);
      const { page, host, complaints, changes } = await openApps({ person });
      url.value = `${host.site.evil}/sign-in`;
      host.pages.set("/sign-in", htmlPage("Sign in again", ""));
      await buttons(page).remove.click();
      await page.getByRole("heading", { name: "Sign in again" }).waitFor();
      expect([complaints, changes]).toEqual([[], []]);
    });

    it("takes no form of another site, also of one that gets the cookies", async () => {
      const { page, host, changes } = await openApps();
      const seen = await page.locator('form:has([value="remove"]) [name="seen"]').getAttribute("value");
      for (const [name, site] of Object.entries(host.site)) {
        host.pages.set(
          `/${name}`,
          htmlPage(
            "Win",
            `<form method="post" action="${host.origin}${path}"><input name="seen" value="${seen}"><button name="do" value="remove">Win</button></form>`,
          ),
        );
        await page.goto(`${site}/${name}`);
        await page.getByRole("button", { name: "Win" }).click();
        await page.getByRole("heading", { name: "Your answer wasn’t accepted" }).waitFor();
      }
      expect(changes).toEqual([]);
    });

    it("tells the second of two people at one browser that the page was out of date", async () => {
      const { page, changes } = await openApps();
      await page.context().clearCookies();
      await page.context().addCookies([{ name: "session", value: "bob", domain: "localhost", path: "/" }]);
      await buttons(page).remove.click();
      await page.getByText("Signed in as bob").waitFor();
      await page.getByRole("status").waitFor();
      expect(changes).toEqual([]);
    });

    const looks: readonly { readonly name: string; readonly look: BrowserContextOptions }[] = [
      { name: "English", look: { locale: "en" } },
      { name: "German, dark", look: { locale: "de", colorScheme: "dark" } },
      { name: "French, narrow", look: { locale: "fr", viewport: { width: 320, height: 640 } } },
      { name: "Arabic, in forced colours", look: { locale: "ar", forcedColors: "active" } },
    ];
    it.each(looks)("has no accessibility violation in $name, and fits", async ({ look }) => {
      const { page } = await openApps({
        look,
        clientName: "A shop with a very long nameeeeeeeeeeeeeeeeeeeeeeeeeeee",
      });
      await page.evaluate(
        "document.querySelectorAll('details').forEach((details) => { details.open = true })",
      );
      expect(await accessibilityFindings(page)).toEqual([]);
      const [inner, scrolled] = await page.evaluate<[number, number]>(
        "[innerWidth, document.documentElement.scrollWidth]",
      );
      expect(scrolled).toBeLessThanOrEqual(inner);
    });
  },
});
