// People at a real browser: what they see of the authorization endpoint, and what becomes of their answers.
import { setTimeout as delay } from "node:timers/promises";
import express from "express";
import type { BrowserContext, BrowserContextOptions, Locator, Page } from "playwright-core";
import type { AuthMethod } from "../../lib";
import { accessibilityFindings } from "./accessibility";
import type { Fields } from "../../__tests__/browser/browser";
import {
  arrival,
  chromium,
  closeAll,
  closeChromium,
  consentPage,
  contextWithPreferences,
  htmlPage,
  newContext,
  noCookies,
  sentences,
  signedInPage,
  signIn,
  startWebHost,
  until,
  watch,
  type WebHost,
  type WebHostOptions,
} from "./chromium";
import { newLatch } from "../../__tests__/storage/latch";
import { describeWith } from "../../__tests__/servers/server-process";

afterEach(async () => {
  jest.restoreAllMocks();
  await closeAll();
});
afterAll(closeChromium);

const lost = "This sign-in took too long, was already finished, or the browser does not keep cookies.";

function granted({ events }: WebHost): number {
  return events.filter(({ kind }) => kind === "authorization-granted").length;
}

async function expectErrorPage(page: Page, message: string): Promise<void> {
  await page.getByText(message).waitFor();
  expect(await page.getByRole("heading", { level: 1 }).count()).toBe(1);
  expect(await page.getByRole("button").count()).toBe(0);
}

/** A host, and a browser of alice that shows its consent page. */
async function openConsent({
  context = newContext(),
  ...options
}: WebHostOptions & { context?: Promise<BrowserContext> } = {}): Promise<{
  host: WebHost;
  page: Page;
  consent: ReturnType<typeof consentPage>;
}> {
  const host = await startWebHost(options);
  const page = await signedInPage(host, await context);
  await page.goto(host.authorizeUrl());
  return { host, page, consent: consentPage(page) };
}

describeWith(chromium, {
  name: "a person's answer in Chromium (RFC 6749 §4.1.1, §4.1.2)",
  tests: () => {
    it("is asked for after signing in, and gives the client a good code", async () => {
      const host = await startWebHost();
      const page = await (await newContext()).newPage();
      await page.goto(host.authorizeUrl());
      await signIn(page, "alice");
      await page.getByRole("heading", { name: "Web Shop" }).waitFor();
      await consentPage(page).allow.click();
      const { code = "", state } = await arrival(page);
      expect(state).toBe("a state");
      expect((await host.redeem(code)).status).toBe(200);
    });

    it("works without scripts", async () => {
      const { page, consent } = await openConsent({ context: newContext({ javaScriptEnabled: false }) });
      await consent.allow.click();
      expect(await arrival(page)).toHaveProperty("code");
    });

    it("brings access_denied to the client when it is no", async () => {
      const { page, consent } = await openConsent();
      await consent.doNotAllow.click();
      expect(await arrival(page)).toMatchObject({ error: "access_denied", state: "a state" });
    });

    it("grants the scopes that are still ticked", async () => {
      const { host, page, consent } = await openConsent();
      await consent.scope("Change your orders").uncheck();
      await consent.allow.click();
      const { code = "" } = await arrival(page);
      expect(await host.redeem(code)).toEqual({ status: 200, scope: "orders:read" });
    });

    it("reaches a client whose callback redirects to another origin", async () => {
      const { host, page, consent } = await openConsent();
      const home = `${host.site.loopback}/app`;
      host.pages.set("/callback", (_, res) => res.redirect(home));
      const { complaints } = watch(page);
      const complained = page.waitForEvent("console").catch(() => undefined);
      await consent.allow.click();
      await Promise.race([complained, page.waitForURL(home).catch(() => undefined)]);
      expect({ url: page.url(), complaints }).toEqual({ url: home, complaints: [] });
    });

    it('is that of another person, who signs in by "Not you?"', async () => {
      const { host, page, consent } = await openConsent();
      await consent.switchAccount.click();
      await signIn(page, "bob");
      await page.getByText("Signed in as bob").waitFor();
      await consent.allow.click();
      const { code = "", state } = await arrival(page);
      expect(state).toBe("a state");
      expect((await host.redeem(code)).status).toBe(200);
      expect(host.events.findLast(({ kind }) => kind === "authorization-granted")).toMatchObject({
        subject: "bob",
      });
    });

    it("can be that of another person, when the host's sign-in page has another origin", async () => {
      let url = "";
      const authenticate: AuthMethod["authenticate"] = ({ reauthenticate }) =>
        reauthenticate ? { kind: "interaction", url } : { kind: "authenticated", subject: "alice" };
      const host = await startWebHost({ authMethods: { password: { authenticate } } });
      url = `${host.site.evil}/sign-in`;
      host.pages.set("/sign-in", htmlPage("Sign in elsewhere", ""));
      const page = await signedInPage(host, await newContext());
      const { complaints } = watch(page);
      await page.goto(host.authorizeUrl());
      await consentPage(page).switchAccount.click();
      await page.getByRole("heading", { name: "Sign in elsewhere" }).waitFor();
      expect(complaints).toEqual([]);
    });

    it("is taken on the host's own consent page", async () => {
      const host = await startWebHost({
        consent: { decide: () => ({ kind: "interaction", url: "/question" }) },
      });
      const page = await signedInPage(host, await newContext());
      await page.goto(host.authorizeUrl());
      await page.getByRole("button", { name: "Yes" }).click();
      expect(await arrival(page)).toHaveProperty("code");
    });
  },
});

describeWith(chromium, {
  name: "the back button, reload and tabs in Chromium (RFC 6749 §4.1)",
  tests: () => {
    it("shows after Back that the sign-in was finished, and nothing to answer again", async () => {
      const host = await startWebHost();
      const page = await (await newContext()).newPage();
      await page.goto(host.authorizeUrl());
      await signIn(page, "alice");
      await consentPage(page).allow.click();
      await arrival(page);
      await page.goBack();
      await expectErrorPage(page, lost);
      expect(granted(host)).toBe(1);
    });

    it("leads from there forward to the client again", async () => {
      const host = await startWebHost();
      const page = await (await newContext()).newPage();
      await page.goto(host.authorizeUrl());
      await signIn(page, "alice");
      await consentPage(page).allow.click();
      const first = await arrival(page);
      await page.goBack();
      await page.goForward();
      expect(await arrival(page)).toEqual(first);
    });

    it("leads after Back to the client again when the person was signed in already", async () => {
      const { host, page, consent } = await openConsent();
      await consent.allow.click();
      const first = await arrival(page);
      await page.goBack();
      const { code = "" } = await arrival(page);
      expect(code).not.toBe(first["code"]);
      expect((await host.redeem(code)).status).toBe(200);
    });

    it("lets a consent page be answered after a reload", async () => {
      const { page, consent } = await openConsent();
      await page.reload();
      await consent.allow.click();
      expect(await arrival(page)).toHaveProperty("code");
    });

    it("keeps two tabs apart that are answered in the other order", async () => {
      const host = await startWebHost();
      const context = await newContext();
      const [first, second] = [await signedInPage(host, context), await context.newPage()];
      await first.goto(host.authorizeUrl({ state: "first", scope: "orders:read" }));
      await second.goto(host.authorizeUrl({ state: "second", scope: "orders:write" }));
      await consentPage(second).allow.click();
      const ofSecond = await arrival(second);
      await consentPage(first).allow.click();
      const ofFirst = await arrival(first);
      expect([ofFirst["state"], ofSecond["state"]]).toEqual(["first", "second"]);
      expect(await host.redeem(ofFirst["code"] ?? "")).toEqual({ status: 200, scope: "orders:read" });
      expect(await host.redeem(ofSecond["code"] ?? "")).toEqual({ status: 200, scope: "orders:write" });
    });
  },
});

/** Clicks without waiting for what comes of it. */
async function clicker(page: Page, button: Locator): Promise<() => Promise<void>> {
  const box = await button.boundingBox();
  if (!box) throw new Error("the button is not visible");
  return () => page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
}

describeWith(chromium, {
  name: "an impatient person in Chromium (RFC 6749 §4.1.2, §10.12)",
  tests: () => {
    it("brings a good code to the client by a double click", async () => {
      const { host, page, consent } = await openConsent();
      await consent.allow.dblclick();
      const { code = "" } = await arrival(page);
      expect((await host.redeem(code)).status).toBe(200);
    });

    it("brings a good code to the client by a second click while the server still works", async () => {
      const gate = newLatch();
      let posts = 0;
      const before: WebHostOptions["before"] = (app) =>
        void app.post(/\/consent$/, express.urlencoded({ extended: false }), async (_req, _res, next) => {
          posts += 1;
          await gate.opened;
          next();
        });
      const { host, page, consent } = await openConsent({ before });
      const click = await clicker(page, consent.allow);
      await click();
      await until(() => posts === 1);
      await click();
      await until(() => posts === 2);
      gate.open();
      const { code = "" } = await arrival(page);
      expect((await host.redeem(code)).status).toBe(200);
    });

    it.each(["allow", "doNotAllow"] as const)(
      "gets to the client by a second click on %s while the client works",
      async (button) => {
        const { host, page, consent } = await openConsent();
        const gate = newLatch();
        let calls = 0;
        host.pages.set("/callback", async (_, res) => {
          calls += 1;
          await gate.opened;
          res.send(htmlPage("Back at the client", ""));
        });
        const click = await clicker(page, consent[button]);
        await click();
        await until(() => calls === 1);
        await click();
        await until(() => calls === 2);
        gate.open();
        const { code, error } = await arrival(page);
        if (button === "doNotAllow") expect(error).toBe("access_denied");
        else expect((await host.redeem(code ?? "")).status).toBe(200);
      },
    );
  },
});

describeWith(chromium, {
  name: "a request that cannot be finished in Chromium (RFC 6749 §4.1.2.1)",
  tests: () => {
    it("ends on a page when it took too long, and grants nothing", async () => {
      const { host, page, consent } = await openConsent({ lifetimes: { interactionSeconds: 30 } });
      const before = Date.now();
      jest.spyOn(Date, "now").mockReturnValue(before + 31_000);
      await consent.allow.click();
      await expectErrorPage(page, lost);
      expect(granted(host)).toBe(0);
      expect(await host.storage.consents.list("alice", Math.floor(before / 1000))).toEqual([]);
    });

    it("ends on a page that names cookies when the browser keeps none", async () => {
      const host = await startWebHost();
      const page = await (await contextWithPreferences(noCookies)).newPage();
      await page.goto(host.authorizeUrl());
      await signIn(page, "alice");
      await expectErrorPage(page, lost);
      expect(granted(host)).toBe(0);
    });

    it("ends on a page when the client is unknown", async () => {
      const host = await startWebHost();
      const page = await (await newContext()).newPage();
      await page.goto(host.authorizeUrl({ client_id: "nobody" }));
      await expectErrorPage(page, "The client is unknown.");
    });
  },
});

function hasFocus(page: Page, control: Locator): Promise<boolean> {
  return control.and(page.locator(":focus")).isVisible();
}

/** Presses Tab until it has come around, and gives the controls of the consent page in the order of their focus. */
async function tabThrough(page: Page): Promise<string[]> {
  const { allow, doNotAllow, scope } = consentPage(page);
  const controls = [...sentences.map(scope), allow, doNotAllow];
  const names = [...sentences, "Allow", "Don’t allow"];
  const focused: string[] = [];
  for (let presses = 0; presses < 8; presses += 1) {
    await page.keyboard.press("Tab");
    const areFocused = await Promise.all(controls.map((control) => hasFocus(page, control)));
    const name = names[areFocused.indexOf(true)];
    if (name !== undefined && !focused.includes(name)) focused.push(name);
  }
  return focused;
}

/** Presses Tab until this control has the focus. */
async function tabTo(page: Page, control: Locator): Promise<void> {
  for (let presses = 0; presses < 12; presses += 1) {
    await page.keyboard.press("Tab");
    if (await hasFocus(page, control)) return;
  }
  throw new Error("Tab does not lead there");
}

const focusOutline = `(({ outlineStyle, outlineWidth }) => outlineStyle === "none" ? 0 : parseFloat(outlineWidth))(
  getComputedStyle(document.activeElement)
)`;

describeWith(chromium, {
  name: "the consent page by keyboard in Chromium (RFC 6749 §10.2)",
  tests: () => {
    it("reaches the scopes, Allow and Don’t allow by Tab in this order", async () => {
      const { page } = await openConsent();
      expect(await tabThrough(page)).toEqual([...sentences, "Allow", "Don’t allow"]);
    });

    it("unticks a scope by Space and allows by Enter", async () => {
      const { host, page, consent } = await openConsent();
      await tabTo(page, consent.scope("Change your orders"));
      await page.keyboard.press("Space");
      await tabTo(page, consent.allow);
      await page.keyboard.press("Enter");
      const { code = "" } = await arrival(page);
      expect(await host.redeem(code)).toEqual({ status: 200, scope: "orders:read" });
    });

    it("denies by Space", async () => {
      const { page, consent } = await openConsent();
      await tabTo(page, consent.doNotAllow);
      await page.keyboard.press("Space");
      expect(await arrival(page)).toMatchObject({ error: "access_denied" });
    });

    it("shows where the focus is", async () => {
      const { page, consent } = await openConsent();
      for (const control of [consent.scope("See your orders"), consent.allow, consent.doNotAllow]) {
        await tabTo(page, control);
        expect(await page.evaluate(focusOutline)).toBeGreaterThanOrEqual(2);
      }
    });
  },
});

const looks: readonly BrowserContextOptions[] = (["light", "dark"] as const).flatMap((colorScheme) =>
  [
    { width: 1280, height: 720 },
    { width: 320, height: 640 },
  ].map((viewport) => ({ colorScheme, viewport })),
);

/** One pixel. */
const logo =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/** Both pages, each with nothing in between. */
const shownPages: readonly { readonly name: string; readonly fields: Fields }[] = [
  { name: "consent page", fields: {} },
  { name: "error page", fields: { client_id: "nobody" } },
];

describeWith(chromium, {
  name: "what the pages are like in Chromium (RFC 9700 §4.16)",
  tests: () => {
    describe.each(shownPages)("the $name", ({ fields }) => {
      it.each(looks)("has no accessibility violation in $colorScheme, $viewport.width wide", async (look) => {
        const { host, page } = await openConsent({ context: newContext(look) });
        await page.goto(host.authorizeUrl(fields));
        expect(await accessibilityFindings(page)).toEqual([]);
      });

      it("has no accessibility violation from right to left, opened, and in forced colours", async () => {
        const { host, page } = await openConsent({ context: newContext({ forcedColors: "active" }) });
        await page.goto(host.authorizeUrl({ ui_locales: "ar", ...fields }));
        await page.evaluate("document.querySelector('details').open = true");
        expect(await accessibilityFindings(page)).toEqual([]);
      });

      it("fits a narrow screen with text twice as large without scrolling sideways", async () => {
        const { host, page } = await openConsent({
          context: newContext({ viewport: { width: 640, height: 800 } }),
        });
        await page.goto(host.authorizeUrl({ ui_locales: "de", ...fields }));
        await page.evaluate("document.documentElement.style.fontSize = '200%'");
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(640);
      });

      it("fits a narrow screen with a long name without scrolling sideways", async () => {
        const viewport = { width: 320, height: 640 };
        const { host, page } = await openConsent({
          context: newContext({ viewport }),
          clientName: `Donaudampfschifffahrts${"gesellschafts".repeat(6)} & Co`,
        });
        await page.goto(host.authorizeUrl(fields));
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
      });

      it("asks for nothing but itself, and breaks none of its own rules", async () => {
        const { host, page } = await openConsent();
        const { requests, complaints } = watch(page);
        const url = host.authorizeUrl(fields);
        host.requests.length = 0;
        await page.goto(url, { waitUntil: "networkidle" });
        expect(requests).toEqual([url]);
        // Chromium hides its request for a favicon from the page, but not from the server
        await until(() => host.requests.length > 0);
        await delay(500);
        expect(host.requests).toEqual([`GET ${url.slice(host.origin.length)}`]);
        expect(complaints.filter((each) => !each.includes("status of 400"))).toEqual([]);
      });

      it("runs no script, not even one that got into it", async () => {
        const { host, page } = await openConsent();
        await page.goto(host.authorizeUrl(fields));
        const { complaints } = watch(page);
        expect(await page.evaluate("document.scripts.length")).toBe(0);
        await page.evaluate(`{
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          const image = document.createElement("img");
          image.setAttribute("onerror", "window.ran = true");
          image.src = "data:,";
          document.body.append(image);
        }`);
        await page.evaluate("new Promise((resolve) => setTimeout(resolve))");
        expect(await page.evaluate("window.ran")).toBeUndefined();
        expect(complaints.join()).toContain("violates the following Content Security Policy directive");
      });
    });

    it.each(["light", "dark"] as const)(
      "has no accessibility violation in %s with a colour and a logo of the host's",
      async (colorScheme) => {
        const { page } = await openConsent({
          context: newContext({ colorScheme }),
          pages: { name: "Example Ltd", logo, accentColor: "#ffcc00" },
        });
        expect(await accessibilityFindings(page)).toEqual([]);
      },
    );

    it("would be asked for a favicon, did their rules not keep the browser from it", async () => {
      const host = await startWebHost({
        before: (app) => void app.get("/plain", (_, res) => void res.send("<!doctype html><title>x</title>")),
      });
      const page = await (await newContext()).newPage();
      await page.goto(`${host.origin}/plain`);
      await until(() => host.requests.includes("GET /favicon.ico"));
    });

    it("shows the logo of the host, which its own rules allow", async () => {
      const host = await startWebHost({ pages: { logo } });
      const page = await signedInPage(host, await newContext());
      const { complaints } = watch(page);
      await page.goto(host.authorizeUrl());
      expect(await page.evaluate("document.images[0].naturalWidth")).toBe(1);
      expect(complaints).toEqual([]);
    });
  },
});
