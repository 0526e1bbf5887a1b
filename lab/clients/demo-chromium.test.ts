import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page as Tab } from "playwright-core";
import { demo, itHasPrintedNoFailure, readCode, secretOf, validPairs } from "../../__tests__/servers/demo";
import { describeWith } from "../../__tests__/servers/server-process";

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

async function fillSignIn(person: Tab, method: string): Promise<void> {
  await person.waitForURL(`**/signin/${method}?**`);
  await person.getByLabel("Name").fill("alice");
  if (method === "password") await person.getByLabel("Password").fill(secretOf("alice"));
  await person.getByRole("button", { name: "Continue" }).click();
  if (method === "password") return;
  await person.getByLabel("Code").fill(await readCode());
  await person.getByRole("button", { name: "Continue" }).click();
}

async function allow(person: Tab): Promise<void> {
  await person.waitForURL("**/authorize/resume?**");
  await person.locator('[value="approve"]').click();
}

/** What the page says when a story has come to its end. */
async function endOfStory(tab: Tab): Promise<string> {
  const status = tab.locator("#status", { hasText: /steps?[.,]/ });
  return (await status.textContent()) ?? "";
}

/** Whatever was allowed before, the person is asked. */
async function askConsent(tab: Tab): Promise<void> {
  await tab.evaluate("document.querySelector('#request').open = true");
  await tab.getByLabel("prompt").selectOption("consent");
}

/** Starts a story with the keyboard, and gives the window where the person signs in and decides. */
async function openPerson(tab: Tab, name: string): Promise<Tab> {
  await askConsent(tab);
  await tab.focus(`#${name}`);
  const [person] = await Promise.all([tab.waitForEvent("popup"), tab.keyboard.press("Enter")]);
  return person;
}

async function runStory(tab: Tab, { name, method }: { name: string; method: string }): Promise<string> {
  const person = await openPerson(tab, name);
  await fillSignIn(person, method);
  await allow(person);
  return endOfStory(tab);
}

/** The arrows of the latest story in the order of the page: from where to where, and what is written on them. */
async function arrows(tab: Tab): Promise<readonly string[]> {
  const lines = await tab.locator(".story:last-child .line").allTextContents();
  return lines.map((line) => line.replaceAll(/\s+/g, " ").trim());
}

const steps = ".story:last-child .sequence li";

/** How far the page sticks out of its window. */
const sidewaysPixels = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

/** The texts that people can see: not those that only screen readers have. */
const readableTexts = `[...document.querySelectorAll("body *")]
  .filter((each) => each.checkVisibility() && each.getBoundingClientRect().width > 1)
  .flatMap((each) => [...each.childNodes])
  .flatMap(({ nodeType, textContent }) => (nodeType === 3 ? textContent.trim() || [] : []))`;

/** The labels that stick out of their arrows. */
const labelsOutside = `[...document.querySelectorAll(".line")].flatMap((line) => {
  const { left, right } = line.getBoundingClientRect();
  const words = [...line.querySelectorAll(".label, .chip")].map((word) => word.getBoundingClientRect());
  return words.every((word) => word.left >= left && word.right <= right) ? [] : [line.textContent];
})`;

/** Inside the window, without scrolling. */
async function expectOnScreen(tab: Tab, selector: string): Promise<void> {
  const box = await tab.locator(selector).last().boundingBox();
  const size = tab.viewportSize();
  expect(box?.y).toBeGreaterThanOrEqual(0);
  expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThanOrEqual(size?.height ?? 0);
}

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

const found = { name: "Chromium", found: existsSync(chromiumPath) };

describeWith(found, {
  name: "the picture of a story in Chromium",
  tests() {
    openChromium();

    it("grows beside the window in which the person signs in and decides", async () => {
      const { tab, problems } = await visit();
      const person = await openPerson(tab, "run");
      await person.waitForURL("**/signin/password?**");
      await tab.locator(steps).nth(1).waitFor();
      expect(await tab.locator("#status").textContent()).toBe("Waiting for you in the other window…");
      await fillSignIn(person, "password");
      await tab.locator(steps).nth(3).waitFor();
      await Promise.all([person.waitForEvent("close"), allow(person)]);
      expect(await endOfStory(tab)).toBe("8 steps, none refused.");
      expect(problems).toEqual([]);
    });

    it("has an arrow for every request and answer in their true order, with what it carries", async () => {
      const { tab } = await visit();
      await pick(tab, { clientId: "web", method: "password", api: "orders" });
      await runStory(tab, { name: "run", method: "password" });
      expect(await arrows(tab)).toEqual([
        "Browser → Authorization server GET /authorize challenge scope state prompt=consent",
        "Authorization server → Browser 302 to /signin/password",
        "Browser → Authorization server GET /signin/password",
        "Authorization server → Browser 200 sign-in page",
        "Browser → Authorization server POST /signin/password name and password",
        "Authorization server → Browser 303 to /authorize/resume",
        "Browser → Authorization server GET /authorize/resume",
        "Authorization server → Browser 200 consent page",
        "Browser → Authorization server POST /authorize/consent the decision",
        "Authorization server → Browser 303 to /web/callback code state",
        "Browser → Web Shop GET /web/callback code state",
        "Web Shop → Authorization server POST /token code verifier secret",
        "Authorization server → Web Shop 200 access token refresh token scope",
        "Web Shop → Browser 303 to /back",
        "Web Shop → API GET /api/orders access token",
        "API → Web Shop 200 orders plan org=teahouse",
      ]);
      expect(await tab.locator("#lanes strong").allTextContents()).toEqual([
        "Browser",
        "Web Shop",
        "Authorization server",
        "API",
      ]);
    });

    it("opens each step to why, request and answer, and decodes the token", async () => {
      const { tab } = await visit();
      await runStory(tab, { name: "run", method: "password" });
      const row = (name: string) =>
        tab.locator("#token .claims > div", { has: tab.getByText(name, { exact: true }) });
      expect(await row("aud").textContent()).toContain(`${demo.origin}/api/orders`);
      expect(await row("aud").textContent()).toContain("Every other API refuses it.");
      expect(await row("typ").textContent()).toContain("at+jwt");
      const token = tab.locator(steps, { hasText: "POST /token" }).last();
      await token.locator("summary").press("Enter");
      const text = await token.innerText();
      for (const shown of ["Why", "The client redeems the code", "Request", "grant_type"])
        expect(text).toContain(shown);
      for (const shown of [`web:${secretOf("web")}`, "Answer", "no-store", "refresh_token", "token-issued"])
        expect(text).toContain(shown);
    });

    it("shows that a step opens, and that it is open", async () => {
      const { tab } = await visit();
      await tab.click("#wrongRedirectUri");
      await endOfStory(tab);
      const mark = (): Promise<unknown> =>
        tab.evaluate(`(({ content, rotate }) => [content, rotate])(
          getComputedStyle(document.querySelector(".sequence summary"), "::after"))`);
      expect(await mark()).toEqual(['""', "45deg"]);
      await tab.click(".sequence summary");
      expect(await mark()).toEqual(['""', "225deg"]);
    });

    it("copies the token, and requests that a shell can send again", async () => {
      const { tab, problems } = await visit({ permissions: ["clipboard-read", "clipboard-write"] });
      const copied = (): Promise<string> => tab.evaluate("navigator.clipboard.readText()");
      const sendAgain = async (label: string): Promise<string> => {
        const step = tab.locator(steps, { hasText: label }).last();
        await step.locator("summary").press("Enter");
        await step.getByRole("button", { name: "Copy as curl" }).click();
        await step.getByRole("button", { name: "Copied" }).waitFor();
        return execFileSync("sh", ["-c", await copied()], { encoding: "utf8", stdio: "pipe" });
      };
      await runStory(tab, { name: "run", method: "password" });
      await tab.getByRole("button", { name: "Copy token" }).click();
      await tab.getByRole("button", { name: "Copied" }).waitFor();
      expect(await copied()).toBe(await tab.locator("#token .raw").textContent());
      expect(await sendAgain("GET /authorize challenge")).toMatch(/^HTTP\/1\.1 302 /);
      expect(await sendAgain("GET /api/orders")).toMatch(/^HTTP\/1\.1 200 [^]*"Tea, 100 g"/);
      await tab.click("#change");
      await tab.locator("#status", { hasText: "1 step, none refused." }).waitFor();
      expect(await sendAgain("POST /api/orders")).toMatch(/^HTTP\/1\.1 201 [^]*"Ordered by the Web Shop"/);
      await tab.click("#refresh");
      await tab.locator(".story").nth(2).locator(".answer").waitFor();
      expect(await sendAgain("POST /token")).toMatch(/^HTTP\/1\.1 200 [^]*"refresh_token"/);
      expect(problems).toEqual([]);
    });

    it("shows for a refusal the rule, where it is written, the fix and the host's log", async () => {
      const { tab, problems } = await visit();
      expect(await runStory(tab, { name: "reusedRefreshToken", method: "password" })).toBe(
        "12 steps. Refused: step 10 (invalid_grant), step 11 (invalid_grant), step 12 (invalid_token).",
      );
      expect(await tab.locator(".refused .chip").allTextContents()).toEqual([
        "invalid_grant",
        "invalid_grant",
        "invalid_token",
      ]);
      const sent = (await arrows(tab)).filter((line) => line.includes("POST /token refresh"));
      expect(sent).toEqual(
        ["refresh token", "refresh token 2", "refresh token", "refresh token 3"].map(
          (token) => `Web Shop → Authorization server POST /token ${token} secret`,
        ),
      );
      const [replay] = await tab.locator(".refusal").allInnerTexts();
      expect(replay).toMatch(/^invalid_grant [^]*Rule\s+A refresh token works once/);
      expect(replay).toMatch(/RFC 9700 §4\.14\.2[^]*Fix\s+Keep the newest[^]*Host's log\s+.*used before/);
      expect(await tab.locator("#told").textContent()).toContain("replay-detected");
      expect(problems).toEqual([]);
    });
  },
});

describeWith(found, {
  name: "the stories of the playground in Chromium",
  tests() {
    openChromium();

    it("run the client that lives in the page at every pair, and refresh it silently", async () => {
      const { tab, problems } = await visit();
      for (const pair of validPairs) {
        await tab.context().clearCookies();
        await tab.goto(demo.origin);
        await pick(tab, { clientId: "browser", ...pair });
        expect(await runStory(tab, { name: "run", method: pair.method })).toMatch(
          /^\d+ steps, none refused\.$/,
        );
        expect((await arrows(tab)).at(-2)).toContain(`GET /api/${pair.api}`);
        await tab.click("#silentRefresh");
        // authorize, the callback in the iframe, and the token request: counted anew
        await tab.locator(steps).nth(2).waitFor();
        await tab.locator("#status", { hasText: "3 steps, none refused." }).waitFor();
      }
      expect(problems).toEqual([]);
    });

    it("ask on another screen, and poll until the person has answered (RFC 8628 §3.5)", async () => {
      const { tab, problems } = await visit();
      const [person] = await Promise.all([tab.waitForEvent("popup"), tab.click("#device")]);
      // asks a second time, which is no second step
      await tab.waitForResponse("**/poll");
      await person.locator(".primary").click();
      await fillSignIn(person, "password");
      await allow(person);
      expect(await endOfStory(tab)).toBe("11 steps. Refused: step 2 (authorization_pending).");
      expect((await arrows(tab)).filter((line) => line.includes("Phone App →"))).toEqual([
        "Phone App → Authorization server POST /device_authorization scope",
        "Phone App → Authorization server POST /token device code",
        "Phone App → Authorization server POST /token device code",
        "Phone App → API GET /api/orders access token",
      ]);
      expect(await person.locator("h1").textContent()).toBe("Access allowed");
      expect(problems).toEqual([]);
    });

    it("go on with the client of the story before, and count anew", async () => {
      const { tab } = await visit();
      await tab.click("#wrongRedirectUri");
      expect(await endOfStory(tab)).toBe("1 step. Refused: step 1 (invalid_request).");
      await pick(tab, { clientId: "machine" });
      await tab.click("#run");
      await tab.locator("#status", { hasText: "2 steps, none refused." }).waitFor();
      await pick(tab, { clientId: "web" });
      await tab.click("#call");
      await tab.locator("#status", { hasText: "1 step, none refused." }).waitFor();
      expect(await arrows(tab)).toEqual([
        "Night Job → API GET /api/orders access token",
        "API → Night Job 200 orders",
      ]);
      expect(await tab.locator(".story h3").allTextContents()).toEqual(["Run the flow", "Call the API"]);
    });

    it("tell of a machine without sign-in, consent, PKCE or a browser", async () => {
      const { tab } = await visit();
      await pick(tab, { clientId: "machine" });
      await tab.click("#request summary");
      const shown = await tab.locator("#choices, .happened").allInnerTexts();
      expect(shown.join("\n")).not.toMatch(/PKCE|verifier|redirect|prompt|consent|rabbit|and decides/i);
      expect(shown.join("\n")).toMatch(/Token request[^]*Nobody|Nobody[^]*Token request/);
      await tab.click("#run");
      await tab.locator("#status", { hasText: "2 steps, none refused." }).waitFor();
      expect(await tab.locator(".story > p").textContent()).toMatch(/^Client credentials: /);
      expect(await tab.locator("#lanes span").allTextContents()).toEqual([
        "takes no part",
        "client, has a secret, no person",
        "for Orders",
        "checks the token",
      ]);
      await pick(tab, { clientId: "web" });
      expect(await tab.getByLabel("with PKCE").isVisible()).toBe(true);
      expect(await tab.getAttribute("#run", "title")).toMatch(/^Sign in and allow/);
    });

    it("have an address, which offers the same story to somebody else", async () => {
      const { tab } = await visit();
      await pick(tab, { clientId: "machine", method: "otp", api: "reports" });
      await tab.click("#wrongApi");
      expect(await endOfStory(tab)).toBe("3 steps. Refused: step 3 (invalid_token).");
      const { hash } = new URL(tab.url());
      expect(hash).toBe("#story=wrongApi&clientId=machine&method=otp&api=reports");
      const { tab: other, problems } = await visit();
      await other.goto(`${demo.origin}/${hash}`);
      await other.getByRole("button", { name: "Run “Token of the wrong API”" }).click();
      expect(await endOfStory(other)).toBe("3 steps. Refused: step 3 (invalid_token).");
      expect(await arrows(other)).toEqual(await arrows(tab));
      await other.goto(`${demo.origin}/#story=toString&clientId=%22&api=orders`);
      await other.goto(`${demo.origin}/#story=noPkce&clientId=browser`);
      await other.getByRole("button", { name: "Run “No PKCE”" }).waitFor();
      expect(await other.isChecked('[value="browser"]')).toBe(true);
      await other.reload();
      await other.getByRole("button", { name: "Run “No PKCE”" }).waitFor();
      expect(problems).toEqual([]);
    });

    it("say that another client runs them, and leave the choice as it is", async () => {
      const { tab, problems } = await visit();
      await pick(tab, { clientId: "machine" });
      await tab.click("#noPkce");
      expect(await endOfStory(tab)).toBe("2 steps. Refused: step 1 (invalid_request).");
      expect(await tab.locator("#said").textContent()).toBe(
        "Only public clients must use PKCE. So this story runs with Phone App. Your choice is still Night Job.",
      );
      expect(await tab.isChecked('[value="machine"]')).toBe(true);
      expect(await tab.isChecked('[name="pkce"]')).toBe(true);
      expect(problems).toEqual([]);
    });

    it("are not offered where they make no sense, and say why", async () => {
      const { tab } = await visit();
      const order = tab.locator("#change");
      expect(await order.getAttribute("aria-disabled")).toBe("true");
      await pick(tab, { clientId: "machine", method: "otp", api: "reports" });
      await tab.click("#run");
      expect(await endOfStory(tab)).toBe("2 steps, none refused.");
      expect(await order.getAttribute("aria-disabled")).toBe("true");
      await order.click({ force: true });
      expect(await tab.locator("#status").textContent()).toBe(
        "Not at Reports. Only the Orders API takes orders.",
      );
      expect(await tab.locator("#call").getAttribute("aria-disabled")).toBeNull();
    });

    it.each(["noPkce", "signedOut", "wrongRedirectUri", "wideScope", "noIssuer", "wrongApi"])(
      "explain the refusal of %s",
      async (name) => {
        const { tab } = await visit();
        await pick(tab, { clientId: name === "wrongApi" ? "machine" : "browser" });
        await tab.click(`#${name}`);
        expect(await endOfStory(tab)).toContain("Refused:");
        const refusals = await tab.locator(".refusal").allInnerTexts();
        const [card = ""] = refusals;
        expect(refusals).toHaveLength(1);
        expect(card).toMatch(/Rule\s+[A-Z][^]*(?:RFC \d{4}|OpenID Connect Core 1\.0) §\d[^]*Fix\s+[A-Z]/);
      },
    );

    it("show the page of a wrong redirect URI as a person reads it, and it leads nowhere", async () => {
      const { tab } = await visit();
      await tab.click("#wrongRedirectUri");
      await endOfStory(tab);
      expect((await arrows(tab))[0]).toMatch(/GET \/authorize redirect_uri=\/elsewhere challenge /);
      const step = (await tab.locator(steps).textContent()) ?? "";
      expect(step).toContain("text/html");
      expect(step).not.toContain("location");
      expect(step).not.toMatch(/&\w+;|&#/);
    });

    it("disable and enable the person, and show the host's own claim in the token", async () => {
      const { tab, problems } = await visit();
      expect(await runStory(tab, { name: "disabledPerson", method: "password" })).toBe(
        "14 steps. Refused: step 10 (invalid_grant), step 11 (invalid_token), step 12 (access_denied).",
      );
      const [refresh = "", , signIn = ""] = await tab.locator(".refusal").allInnerTexts();
      expect(refresh).toMatch(/This account is disabled[^]*The host decides about every token/);
      expect(signIn).toMatch(/This account is disabled[^]*The host no longer lets this person sign in/);
      expect(await tab.locator("#token").innerText()).toMatch(/plan\s+gold\s+The host's own claim/);
      await tab.click("#disable");
      await tab.locator("#person", { hasText: "alice at Tea House, disabled" }).waitFor();
      await tab.click("#enable");
      await tab.locator("#person", { hasText: /^alice at Tea House$/ }).waitFor();
      expect(problems).toEqual([]);
    });

    it("change to the other organization, where the person is asked again", async () => {
      const { tab, problems } = await visit();
      await runStory(tab, { name: "run", method: "password" });
      const [person] = await Promise.all([tab.waitForEvent("popup"), tab.click("#otherOrganization")]);
      await person.locator('[value="approve"]').click();
      await tab.locator("#status", { hasText: "8 steps, none refused." }).waitFor();
      const answers = (await arrows(tab)).filter((line) => line.startsWith("API"));
      expect(answers.map((line) => line.split(" ").at(-1))).toEqual(["org=teahouse", "org=toolshed"]);
      expect(await tab.locator("#token").innerText()).toMatch(/org\s+toolshed\s+The organization chosen/);
      await tab.locator("#person", { hasText: "alice at Tool Shed" }).waitFor();
      expect(problems).toEqual([]);
    });

    it("order above 100 after a one-time code, which the challenge of the API asks for", async () => {
      const { tab, problems } = await visit();
      await runStory(tab, { name: "run", method: "password" });
      const [person] = await Promise.all([tab.waitForEvent("popup"), tab.click("#orderMuch")]);
      await fillSignIn(person, "otp");
      await allow(person);
      const refused = "Refused: step 1 (insufficient_user_authentication).";
      expect(await endOfStory(tab)).toBe(`10 steps. ${refused}`);
      expect(await tab.evaluate(labelsOutside)).toEqual([]);
      const drawn = await arrows(tab);
      expect(drawn.slice(0, 4)).toEqual([
        "Web Shop → API POST /api/orders order amount=150 access token",
        "API → Web Shop 401 insufficient_user_authentication",
        "Browser → Authorization server GET /authorize challenge scope state prompt=consent acr_values=otp",
        "Authorization server → Browser 302 to /signin/otp",
      ]);
      expect(drawn.slice(-2)).toEqual([
        "Web Shop → API POST /api/orders order amount=150 access token 2",
        "API → Web Shop 201 order amount=150",
      ]);
      expect(await tab.locator(".refusal").innerText()).toMatch(
        /stronger sign-in[^]*RFC 9470 §3[^]*acr_values/,
      );
      await tab.click("#orderMuch");
      await tab.locator("#status", { hasText: "1 step, none refused." }).waitFor();
      expect(problems).toEqual([]);
    });

    it("sign the person out everywhere, and say so at the refresh and at the API", async () => {
      const { tab, problems } = await visit();
      expect(await runStory(tab, { name: "signedOutEverywhere", method: "password" })).toBe(
        "11 steps. Refused: step 10 (invalid_grant), step 11 (invalid_token).",
      );
      const [refresh, call] = await tab.locator(".refusal").allInnerTexts();
      expect(refresh).toMatch(/The person was signed out everywhere, which[^]*RFC 6749 §5\.2/);
      expect(call).toMatch(/The person was signed out everywhere[^]*revocationLagSeconds[^]*RFC 6750 §3\.1/);
      await tab.locator("#person", { hasText: /^nobody$/ }).waitFor();
      expect(problems).toEqual([]);
    });

    it("lose an answer, repeat it, and refuse the old token once the new one is used", async () => {
      const { tab, problems } = await visit();
      expect(await runStory(tab, { name: "lostAnswer", method: "password" })).toBe(
        "12 steps. Refused: step 11 (invalid_grant), step 12 (invalid_token).",
      );
      const tokens = (await arrows(tab))
        .filter((line) => / (?:POST \/token|200 access) /.test(line))
        .slice(2);
      expect(tokens.map((line) => line.replace(/^.*?(?:token|200) /, ""))).toEqual([
        "refresh token secret",
        "access token 2 refresh token 2 scope lost",
        "refresh token secret",
        "access token 3 refresh token 2 scope",
        "refresh token 2 secret",
        "access token 4 refresh token 3 scope",
        "refresh token secret",
      ]);
      const [replay] = await tab.locator(".refusal").allInnerTexts();
      expect(replay).toMatch(/A refresh may be repeated only while[^]*RFC 9700 §4\.14\.2/);
      expect(problems).toEqual([]);
    });

    it("offer a link if the browser blocks the window", async () => {
      const { tab } = await visit();
      await askConsent(tab);
      await tab.evaluate("window.open = () => null");
      await tab.click("#run");
      const link = tab.getByRole("link", { name: "Open the sign-in window" });
      const [person] = await Promise.all([tab.context().waitForEvent("page"), link.click()]);
      await fillSignIn(person, "password");
      await allow(person);
      expect(await endOfStory(tab)).toBe("8 steps, none refused.");
    });

    it("end when the person closes the window", async () => {
      const { tab } = await visit();
      const person = await openPerson(tab, "run");
      await person.waitForURL("**/signin/password?**");
      await person.close();
      await tab.locator("#status", { hasText: "The window was closed before" }).waitFor();
    });
  },
});

describeWith(found, {
  name: "the page of the playground in Chromium",
  tests() {
    openChromium();

    it("has choices, stories and the whole picture of a flow on one screen", async () => {
      const { tab } = await visit({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
      for (const end of ["#clientId-note", "#noIssuer"]) await expectOnScreen(tab, end);
      await runStory(tab, { name: "run", method: "password" });
      expect(await tab.evaluate("document.getAnimations().length")).toBe(0);
      for (const end of ["#lanes", `${steps}:last-child .answer`]) await expectOnScreen(tab, end);
    });

    it("says a thing once on a narrow screen", async () => {
      const { tab } = await visit({ viewport: { width: 360, height: 780 } });
      const note = await tab.locator("#run-note").textContent();
      await runStory(tab, { name: "run", method: "password" });
      const lines = await tab.evaluate<readonly string[]>(readableTexts);
      for (const once of [note, "Browser → Web Shop", "Web Shop → API"])
        expect(lines.filter((line) => line === once)).toEqual([once]);
      expect(lines.filter((line) => line.includes("→ Browser") || line === "with a person")).toEqual([]);
      expect(await tab.evaluate(sidewaysPixels)).toBe(0);
    });

    it.each(["lostAnswer", "disabledPerson", "replayedCode"])(
      "keeps the labels of %s inside their life lines, 1280 wide",
      async (name) => {
        const { tab } = await visit({ viewport: { width: 1280, height: 800 } });
        await runStory(tab, { name, method: "password" });
        expect(await tab.evaluate(labelsOutside)).toEqual([]);
      },
    );

    it.each([
      ["light", 1280],
      ["dark", 390],
      ["dark", 320],
    ] as const)("has no accessibility problem when %s and %d wide", async (colorScheme, width) => {
      const viewport = { width, height: 800 };
      const { tab } = await visit({ colorScheme, viewport, bypassCSP: true });
      expect(await accessibilityProblems(tab)).toEqual([]);
      await pick(tab, { clientId: "machine", api: "orders" });
      await tab.click("#wrongApi");
      expect(await endOfStory(tab)).toBe("3 steps. Refused: step 3 (invalid_token).");
      await tab.locator(".sequence summary").last().click();
      expect(await tab.evaluate(sidewaysPixels)).toBe(0);
      expect(await accessibilityProblems(tab)).toEqual([]);
      await tab.getByRole("button", { name: "Passwords and client secrets" }).click();
      expect(await accessibilityProblems(tab)).toEqual([]);
    });

    it.each([
      ["light", 1280, "ltr"],
      ["dark", 390, "ltr"],
      ["dark", 390, "rtl"],
    ] as const)(
      "has an account page without problems when %s, %d wide and %s",
      async (colorScheme, width, direction) => {
        const { tab, problems } = await visit({
          colorScheme,
          viewport: { width, height: 800 },
          bypassCSP: true,
        });
        await runStory(tab, { name: "run", method: "password" });
        for (const [path, text] of [
          ["/signin/password", "Organization"],
          ["/account/apps", "Can use Orders for Tea House to:"],
          ["/account", "Apps with access to your account"],
        ] as const) {
          await tab.goto(demo.origin + path);
          await tab.evaluate(`document.dir = "${direction}"`);
          expect(await tab.locator("main").innerText()).toContain(text);
          expect(await tab.evaluate(sidewaysPixels)).toBe(0);
          expect(await accessibilityProblems(tab)).toEqual([]);
        }
        await tab.getByRole("button", { name: "Sign out everywhere" }).click();
        expect(await tab.locator("main").innerText()).toContain("You’re not signed in.");
        expect(problems).toEqual([]);
      },
    );
  },
});

itHasPrintedNoFailure();
