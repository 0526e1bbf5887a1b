import { existsSync, readFileSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page as Tab } from "playwright-core";
import { demo, itHasPrintedNoFailure, readCode, secretOf, validPairs } from "../fixture/demo";
import { describeWith } from "../fixture/server-process";

const chromiumPath = process.env["AUTHMOUNT_TEST_CHROMIUM"] ?? "/usr/bin/chromium";

/** What axe-core finds wrong with the page, and where. */
async function accessibilityProblems(tab: Tab): Promise<readonly string[]> {
  await tab.addScriptTag({ content: readFileSync(require.resolve("axe-core/axe.min.js"), "utf8") });
  const { violations } = await tab.evaluate<AxeResults>("axe.run()");
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id} ${target.join(" ")}`));
}

interface AxeResults {
  readonly violations: readonly { id: string; nodes: readonly { target: readonly string[] }[] }[];
}

interface Visit {
  readonly tab: Tab;
  /** Errors on the console, and requests that left the demo. */
  readonly problems: string[];
}

async function pick(tab: Tab, chosen: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(chosen)) {
    await tab.check(`[name="${name}"][value="${value}"]`);
  }
}

async function fillSignIn(tab: Tab, method: string): Promise<void> {
  await tab.waitForURL(`**/signin/${method}?**`);
  await tab.getByLabel("Name").fill("alice");
  if (method === "password") await tab.getByLabel("Password").fill(secretOf("alice"));
  await tab.getByRole("button", { name: "Continue" }).click();
  if (method === "password") return;
  await tab.getByLabel("Code").fill(await readCode());
  await tab.getByRole("button", { name: "Continue" }).click();
}

async function allow(tab: Tab): Promise<void> {
  await tab.waitForURL("**/authorize/resume?**");
  await tab.locator('[value="approve"]').click();
}

/** What the page says when a story has come to its end. */
async function endOfStory(tab: Tab): Promise<string> {
  await tab.waitForURL(`${demo.origin}/`);
  const status = tab.locator("#status", { hasText: /steps?[.,]/ });
  return (await status.textContent()) ?? "";
}

/** Whatever was allowed before, the person is asked. */
async function runStory(tab: Tab, { name, method }: { name: string; method: string }): Promise<string> {
  await tab.getByLabel("prompt").selectOption("consent");
  await tab.focus(`#${name}`);
  await tab.keyboard.press("Enter");
  await fillSignIn(tab, method);
  await allow(tab);
  return endOfStory(tab);
}

/** How far the page sticks out of its window. */
const sidewaysPixels = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

let browser: Browser;
const contexts: BrowserContext[] = [];

/** One browser for all tests, where nothing is left of the test before. */
function openChromium(): void {
  beforeAll(async () => {
    const args = ["--no-sandbox", "--disable-quic", "--disable-background-networking"];
    browser = await chromium.launch({ executablePath: chromiumPath, args });
  });
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
  });
  afterAll(() => browser.close());
}

/** The start page in a new window. */
async function visit(options: Parameters<Browser["newContext"]>[0] = {}): Promise<Visit> {
  const context = await browser.newContext(options);
  contexts.push(context);
  const tab = await context.newPage();
  const problems: string[] = [];
  const ours = [demo.origin, demo.origin.replace("localhost", "127.0.0.1"), "data:"];
  tab.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  tab.on("pageerror", (error) => problems.push(error.message));
  tab.on("request", (request) => {
    if (!ours.some((our) => request.url().startsWith(our))) problems.push(request.url());
  });
  await tab.goto(demo.origin);
  return { tab, problems };
}

describeWith(
  { name: "Chromium", found: existsSync(chromiumPath) },
  {
    name: "the start page in Chromium",
    tests() {
      openChromium();

      it("runs a flow: the steps, the picture and the decoded token", async () => {
        const { tab, problems } = await visit();
        await pick(tab, { clientId: "web", method: "password", api: "orders" });
        expect(await runStory(tab, { name: "run", method: "password" })).toBe("8 steps, none refused.");
        expect(await tab.evaluate("document.activeElement.id")).toBe("happened");
        expect(await tab.locator("#steps > li").count()).toBe(8);
        expect(await tab.locator("#picture .there text").allTextContents()).toEqual([
          "1. GET /authorize",
          "2. GET /signin/password",
          "3. POST /signin/password",
          "4. GET /authorize/resume",
          "5. POST /authorize/consent",
          "6. GET /web/callback",
          "7. POST /token",
          "8. GET /api/orders",
        ]);
        expect(await tab.locator("#picture .back").count()).toBe(8);
        expect(await tab.locator("#picture .lane text").allTextContents()).toEqual([
          "Browser",
          "Web Shop",
          "Authorization server",
          "API",
        ]);
        const row = (name: string) => tab.locator("#token tr", { has: tab.getByText(name, { exact: true }) });
        expect(await row("aud").textContent()).toContain(`${demo.origin}/api/orders`);
        expect(await row("aud").textContent()).toContain("Every other API refuses it.");
        expect(await row("typ").textContent()).toContain("at+jwt");
        const tokenStep = tab.locator("#steps > li").nth(6);
        await tokenStep.locator("summary").click();
        const text = await tokenStep.innerText();
        for (const shown of [
          "grant_type",
          `web:${secretOf("web")}`,
          "no-store",
          "refresh_token",
          "token-issued",
        ])
          expect(text).toContain(shown);
        expect(problems).toEqual([]);
      });

      it("shows by one key that a reused refresh token ends the new one, and why", async () => {
        const { tab, problems } = await visit();
        expect(await runStory(tab, { name: "reusedRefreshToken", method: "password" })).toBe(
          "11 steps. Refused: step 9 (invalid_grant), step 10 (invalid_grant), step 11 (invalid_token).",
        );
        expect(await tab.locator("#picture .refused text").allTextContents()).toEqual([
          "400 invalid_grant",
          "400 invalid_grant",
          "401 invalid_token",
        ]);
        const [replay] = await tab.locator("#steps .refusal").allInnerTexts();
        expect(replay).toMatch(
          /invalid_grant[^]*error_description[^]*reason \(host's event\)\s+.*used before/,
        );
        expect(await tab.locator("#steps").innerText()).toContain("replay-detected");
        expect(problems).toEqual([]);
      });

      it("runs the client that lives in the page at every pair, and refreshes it silently", async () => {
        const { tab, problems } = await visit();
        for (const pair of validPairs) {
          await tab.context().clearCookies();
          await tab.goto(demo.origin);
          await pick(tab, { clientId: "browser", ...pair });
          expect(await runStory(tab, { name: "run", method: pair.method })).toMatch(
            /^\d+ steps, none refused\.$/,
          );
          expect(await tab.locator("#picture .there text").last().textContent()).toContain(pair.api);
          const before = await tab.locator("#steps > li").count();
          await tab.click("#silentRefresh");
          // authorize, the callback in the iframe, and the token request
          await tab
            .locator("#steps > li")
            .nth(before + 2)
            .waitFor();
          expect(await endOfStory(tab)).toBe(`${before + 3} steps, none refused.`);
        }
        expect(problems).toEqual([]);
      });

      it("shows the page of a wrong redirect URI, which leads nowhere", async () => {
        const { tab } = await visit();
        await tab.click("#wrongRedirectUri");
        expect(await endOfStory(tab)).toBe("1 step. Refused: step 1 (invalid_request).");
        const step = await tab.locator("#steps > li").innerText();
        expect(step).toContain("text/html");
        expect(step).not.toMatch(/^location/m);
      });

      it("plays a failure as a client that can, and says so in the choices", async () => {
        const { tab, problems } = await visit();
        await pick(tab, { clientId: "machine" });
        await tab.click("#noPkce");
        expect(await endOfStory(tab)).toBe(
          "2 steps. Refused: step 1 (invalid_request), step 2 (invalid_request).",
        );
        expect(await tab.isChecked('[value="native"]')).toBe(true);
        expect(await tab.isChecked('[name="pkce"]')).toBe(true);
        expect(problems).toEqual([]);
      });

      it.each([
        ["light", 1100],
        ["dark", 320],
      ] as const)("has no accessibility problem when %s and %d wide", async (colorScheme, width) => {
        const viewport = { width, height: 800 };
        const { tab } = await visit({ colorScheme, viewport, bypassCSP: true });
        expect(await accessibilityProblems(tab)).toEqual([]);
        await pick(tab, { clientId: "machine", api: "orders" });
        await tab.click("#wrongApi");
        expect(await endOfStory(tab)).toBe("3 steps. Refused: step 3 (invalid_token).");
        await tab.getByText("Passwords and client secrets").click();
        expect(await accessibilityProblems(tab)).toEqual([]);
        expect(await tab.evaluate(sidewaysPixels)).toBe(0);
      });
    },
  },
);

itHasPrintedNoFailure();
