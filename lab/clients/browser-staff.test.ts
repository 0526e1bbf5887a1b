// Staff at a real browser: the pages of staffPages behind helmet, by keyboard, in every look.
import { setTimeout as delay } from "node:timers/promises";
import type { Router } from "express";
import helmet from "helmet";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import type { ClientRegistry } from "../../lib";
import { type StaffChange, staffPages } from "../../lib/portal";
import { webSecret } from "../../__tests__/hosts/clients";
import { describeWith } from "../../__tests__/servers/server-process";
import { accessibilityFindings } from "./accessibility";
import {
  chromium,
  closeAll,
  closeChromium,
  newContext,
  signedInPage,
  startWebHost,
  watch,
  type WebHost,
} from "./chromium";

afterEach(closeAll);
afterAll(closeChromium);

interface StaffBrowser {
  readonly host: WebHost;
  readonly page: Page;
  readonly table: ClientRegistry;
  readonly changes: StaffChange[];
  readonly list: string;
  /** What is waited for before a changed client is stored. */
  readonly beforeReplace: jest.Mock<Promise<void>, []>;
}

/** A browser of alice, who is a member of the staff. */
async function openStaff(context: Promise<BrowserContext> = newContext()): Promise<StaffBrowser> {
  let router: Router | undefined;
  const host = await startWebHost({
    before(app) {
      app.use(helmet());
      app.use("/staff", (req, res, next) => router?.(req, res, next));
    },
  });
  const changes: StaffChange[] = [];
  const { auth, storage, origin } = host;
  const apis = {
    orders: { name: "Orders", audience: "https://api.example/orders", authMethods: [], scopes: {} },
  };
  const table = storage.clients as ClientRegistry;
  const beforeReplace = jest.fn(async () => undefined as void);
  const clients: ClientRegistry = {
    ...table,
    replace: async (step) => {
      await beforeReplace();
      return table.replace(step);
    },
  };
  router = staffPages({
    auth,
    options: {
      baseUrl: `${origin}/login`,
      apis,
      storage: { ...storage, clients },
      pages: { name: "Example Ltd" },
    },
    person: ({ req }) =>
      /session=alice/.test(req.headers.cookie ?? "")
        ? { kind: "authenticated", subject: "alice" }
        : { kind: "interaction", url: "/signin" },
    mayManage: ({ subject }) => subject === "alice",
    links: (clientId) => [{ href: `/logs?q=${encodeURIComponent(clientId)}`, text: "Logs" }],
    onChange: (change) => void changes.push(change),
  });
  const page = await signedInPage(host, await context);
  return { host, page, table, changes, list: `${origin}/staff`, beforeReplace };
}

/** Presses Tab until what has the focus has this name. */
async function tabTo(page: Page, role: "link" | "button" | "radio" | "textbox" | "searchbox", name: string) {
  const control = page.getByRole(role, { name }).and(page.locator(":focus"));
  for (let presses = 0; presses < 30; presses += 1) {
    await page.keyboard.press("Tab");
    if (await control.isVisible()) return;
  }
  throw new Error(`Tab does not lead to the ${role} ${name}`);
}

async function openDetails(page: Page, name: string): Promise<void> {
  const summary = page.locator("summary", { hasText: name });
  for (let presses = 0; presses < 30; presses += 1) {
    await page.keyboard.press("Tab");
    if (await summary.and(page.locator(":focus")).isVisible()) return page.keyboard.press("Enter");
  }
  throw new Error(`Tab does not lead to ${name}`);
}

/** Presses a key that leads to another page, and waits for that. */
async function pressed(page: Page, key: "Enter" | "Space"): Promise<void> {
  const loaded = page.waitForEvent("domcontentloaded");
  await page.keyboard.press(key);
  await loaded;
}

/** The secret that the page shows. */
async function shownSecret(page: Page): Promise<string> {
  return (await page.locator("main > p > code").textContent()) ?? "";
}

describeWith(chromium, {
  name: "the pages for staff in Chromium (RFC 6749 §2, 9700 §4.16)",
  tests: () => {
    it("work by keyboard alone, without scripts, behind helmet", async () => {
      const { page, table, changes, list } = await openStaff(newContext({ javaScriptEnabled: false }));
      await page.goto(list);
      await tabTo(page, "searchbox", "Id, or part of the name");
      await page.keyboard.type("web sh");
      await pressed(page, "Enter");
      await tabTo(page, "link", "Web Shop");
      await pressed(page, "Enter");
      await tabTo(page, "button", "Disable");
      await pressed(page, "Enter");
      await page.getByText("This client is disabled").waitFor();
      await tabTo(page, "button", "Enable");
      await pressed(page, "Space");
      await page.getByRole("button", { name: "Disable" }).waitFor();
      await tabTo(page, "radio", "The old secret works for 7 more days");
      await page.keyboard.press("ArrowDown");
      await tabTo(page, "button", "New secret");
      await pressed(page, "Enter");
      expect(await shownSecret(page)).toMatch(/^[\w-]{43}$/);
      await tabTo(page, "link", "Web Shop");
      await pressed(page, "Enter");
      await openDetails(page, "End everything of this client");
      await tabTo(page, "button", "End everything of this client");
      await pressed(page, "Enter");
      await page.getByText("Everything that this client had has ended.").waitFor();
      await openDetails(page, "Delete this client");
      await tabTo(page, "textbox", "Id");
      await page.keyboard.type("web");
      await pressed(page, "Enter");
      await page.getByRole("heading", { name: "Clients" }).waitFor();
      expect(await table.find("web")).toBeUndefined();
      expect(changes.map(({ kind }) => kind)).toEqual([
        "client-disabled",
        "client-enabled",
        "secret-rotated",
        "client-ended",
        "client-deleted",
      ]);
    });

    it("make one secret by a double click, and show the one that was stored", async () => {
      const { page, table, changes, list, beforeReplace } = await openStaff();
      // however slow this machine is, the second click comes before the first is answered
      beforeReplace.mockImplementation(() => delay(2_000));
      await page.goto(`${list}?client=web`);
      await page.getByRole("button", { name: "New secret" }).dblclick();
      await page.getByRole("heading", { name: "New secret of Web Shop" }).waitFor();
      expect(changes).toHaveLength(1);
      expect(await table.find("web")).toHaveProperty("secretDigests.1", webSecret.digest);
    });

    it("neither show a secret again nor make another by a reload, and not by Back", async () => {
      const { page, changes, list } = await openStaff();
      await page.goto(`${list}?client=web`);
      await page.getByRole("button", { name: "New secret" }).click();
      const secret = await shownSecret(page);
      await page.reload();
      await page.getByText("Nothing was done").waitFor();
      expect(await page.content()).not.toContain(secret);
      await page.goto(list);
      // the browser has kept nothing: it would ask whether to send the form again
      await expect(page.goBack()).rejects.toThrow("ERR_CACHE_MISS");
      expect(changes).toHaveLength(1);
    });

    it("do nothing for a form of another site, although the browser sends the cookie of alice", async () => {
      const { host, page, table, list } = await openStaff();
      await page.goto(`${list}?client=web`);
      const seen = (await page.locator('[name="seen"]').first().getAttribute("value")) ?? "";
      // another port is the same site: the browser sends the cookie
      const form = `<form method="post" action="${list}?client=web"><input name="seen" value="${seen}"><button name="do" value="disable">Go</button></form>`;
      host.pages.set("/attack", form);
      await page.goto(`${host.site.localhost}/attack`);
      const answer = page.waitForResponse((response) => response.request().method() === "POST");
      await page.getByRole("button").click();
      expect((await answer).status()).toBe(403);
      expect(await table.find("web")).not.toHaveProperty("disabled");
    });

    it("ask for nothing but themselves, and break none of their own rules", async () => {
      const { page, list } = await openStaff();
      const { requests, complaints } = watch(page);
      for (const query of ["", "?client=web", "?q=none"]) await page.goto(`${list}${query}`);
      await page.goto(`${list}?client=web`);
      await page.getByRole("button", { name: "Disable" }).click();
      await page.getByText("This client is disabled").waitFor();
      expect(requests.filter((url) => !url.startsWith(list))).toEqual([]);
      expect(complaints).toEqual([]);
    });
  },
});

const looks: readonly BrowserContextOptions[] = (["light", "dark"] as const).flatMap((colorScheme) =>
  [
    { width: 1280, height: 720 },
    { width: 320, height: 640 },
  ].map((viewport) => ({ colorScheme, viewport })),
);

const shown: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  list: async () => undefined,
  client: (page) => page.getByRole("link", { name: "Web Shop" }).click(),
  secret: async (page) => {
    await page.getByRole("link", { name: "Web Shop" }).click();
    await page.getByRole("button", { name: "New secret" }).click();
  },
};

describeWith(chromium, {
  name: "what the pages for staff are like in Chromium (WCAG 2.2)",
  tests: () => {
    describe.each(Object.keys(shown))("the page %s", (name) => {
      it.each(looks)("has no accessibility violation in $colorScheme, $viewport.width wide", async (look) => {
        const { page, table, list } = await openStaff(newContext(look));
        const web = await table.find("web");
        await table.save({
          ...(web as NonNullable<typeof web>),
          redirectUris: [`https://web.example/${"callback".repeat(20)}`],
          trusted: true,
          disabled: true,
        });
        await page.goto(list);
        await shown[name]?.(page);
        await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
        expect(await accessibilityFindings(page)).toEqual([]);
        const width = look.viewport?.width ?? 0;
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      });
    });
  },
});
