/** The example clients as a person uses them: each starts what it needs, the person's browser does the rest. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { type Browser, type BrowserContext, chromium, type Page as ChromiumPage } from "playwright-core";
import { watch, type Watched } from "./chromium";
import {
  type Example,
  newWebBrowser,
  type Page,
  startExample,
  type WebBrowser,
} from "../../__tests__/servers/example";
import { testKey } from "../../lib/testing";
import { describeWith } from "../../__tests__/servers/server-process";

/** Clients renew a token ten seconds before it expires: one that lasts five is renewed for every call. */
const alwaysStale = { ACCESS_TOKEN_SECONDS: "5" };

let example: Example;

/** An example with these settings in its environment. */
async function start(
  file: string,
  { lastPrinted, env = {} }: { lastPrinted: RegExp; env?: Record<string, string> },
): Promise<void> {
  const before = { ...process.env };
  Object.assign(process.env, env);
  try {
    example = await startExample(file, lastPrinted);
  } finally {
    process.env = before;
  }
}

const stop = (): Promise<void> => example.stop();

/** Waits until the example has printed what makes this true. */
async function untilPrinted(isPrinted: (out: string) => boolean): Promise<void> {
  for (let attempt = 0; attempt < 12_000; attempt += 1) {
    if (isPrinted(example.printed.out)) return;
    await delay(5);
  }
  throw new Error(`not printed, but: ${example.printed.out}${example.printed.err}`);
}

/** What the authorization server has told so far, once it has told of this event `times` times. */
async function eventsUntil(kind: string, times: number): Promise<readonly string[]> {
  await untilPrinted(() => countOf(kind) >= times);
  return [...example.printed.out.matchAll(/^event (.+)$/gm)].map(([, event = ""]) => event);
}

function countOf(kind: string): number {
  return example.printed.out.match(new RegExp(`^event ${kind}\\b`, "gm"))?.length ?? 0;
}

const password = (): string => /password of alice is (\S+)/.exec(example.printed.out)?.[1] ?? "";

/** Alice signs in, and allows or denies what is asked, until the browser gets to `stopAt`. */
async function answerPages(
  browser: WebBrowser,
  { page, decision = "approve", stopAt }: { page: Page; decision?: "approve" | "deny"; stopAt?: string },
): Promise<Page> {
  const consent = page.text.includes('type="password"')
    ? await browser.submit(page, { password: password() }, stopAt)
    : page;
  return consent.text.includes('name="decision"') ? browser.submit(consent, { decision }, stopAt) : consent;
}

const orders = '"orders":["Tea, 100 g"]';

describe("examples/machine", () => {
  afterEach(stop);

  it.each([
    ["gets one token for three calls", {}, 1],
    ["gets a token for each call when it expires in between", alwaysStale, 3],
    ["signs another assertion for each token when it has a key", { ...alwaysStale, PROOF: "key" }, 3],
  ])("%s", async (_, env, tokens) => {
    await start("machine/start.js", { lastPrinted: /third call: .*\n/, env });
    expect(example.printed.out.match(/call: \{"orders":\["Tea, 100 g"\],"for":"night-job"\}/g)).toHaveLength(
      3,
    );
    expect(countOf("token-issued")).toBe(tokens);
  });
});

const shown = (page: Page): string => page.text.replaceAll("&#34;", '"');

async function signInToWebApp(browser: WebBrowser): Promise<Page> {
  return answerPages(browser, { page: await browser.open(`${example.origin}/signin`) });
}

describe("examples/web-app", () => {
  describe("with tokens that last", () => {
    beforeAll(() => start("web-app/start.js", { lastPrinted: /Open http.*\n/ }));
    afterAll(stop);

    it("shows what the API answers for the person, and no token", async () => {
      const page = await signInToWebApp(newWebBrowser());
      expect(page).toMatchObject({ status: 200, url: new URL(`${example.origin}/`) });
      expect(shown(page)).toContain(`{${orders},"for":"alice"}`);
      expect(page.text).not.toMatch(/eyJ[\w-]+\.eyJ/);
    });

    it("refreshes nothing while the token lasts, and revokes it at sign-out (RFC 7009 §2.1)", async () => {
      const browser = newWebBrowser();
      const page = await signInToWebApp(browser);
      expect(shown(await browser.open(page.url))).toContain(orders);
      const signedOut = await browser.submit(page, {});
      expect(signedOut.text).toContain('href="/signin"');
      expect(signedOut.text).not.toContain("Tea");
      expect(await eventsUntil("token-revoked", 1)).not.toContainEqual(
        expect.stringContaining("token-refreshed"),
      );
    });

    it.each(["state", "iss"])("refuses a good code with another %s (RFC 9700 §4.4, 4.7)", async (name) => {
      const browser = newWebBrowser();
      const stopAt = `${example.origin}/callback`;
      const page = await browser.open(`${example.origin}/signin`, stopAt);
      const { url } = await answerPages(browser, { page, stopAt });
      expect(url.searchParams.get("code")).toEqual(expect.any(String));
      url.searchParams.set(name, "https://attacker.example");
      expect(await browser.open(url)).toMatchObject({
        status: 400,
        text: expect.stringContaining("This sign-in wasn’t started in this browser."),
      });
      expect((await browser.open(`${example.origin}/`)).text).not.toContain("Tea");
    });

    it("refuses an answer in a browser that has not asked (RFC 9700 §4.7)", async () => {
      const browser = newWebBrowser();
      const stopAt = `${example.origin}/callback`;
      const page = await browser.open(`${example.origin}/signin`, stopAt);
      const { url } = await answerPages(browser, { page, stopAt });
      const elsewhere = await newWebBrowser().open(url);
      expect(elsewhere.text).toContain("This sign-in wasn’t started in this browser.");
      expect(elsewhere.text).not.toContain("Tea");
    });
  });

  describe("with tokens that are about to expire", () => {
    beforeAll(() => start("web-app/start.js", { lastPrinted: /Open http.*\n/, env: alwaysStale }));
    afterAll(stop);

    it("says so when the person does not allow it (RFC 6749 §4.1.2.1)", async () => {
      const browser = newWebBrowser();
      const page = await browser.open(`${example.origin}/signin`);
      const denied = await answerPages(browser, { page, decision: "deny" });
      expect(denied).toMatchObject({ status: 400, text: expect.stringContaining("access_denied") });
    });

    it("refreshes, and shares one refresh between requests that come together (RFC 9700 §4.14.2)", async () => {
      const browser = newWebBrowser();
      const { url } = await signInToWebApp(browser);
      const together = await Promise.all(Array.from({ length: 5 }, () => browser.open(url)));
      for (const page of [...together, await browser.open(url)]) expect(shown(page)).toContain(orders);
      const events = await eventsUntil("token-refreshed web-app alice", 3);
      expect(events).not.toContainEqual(expect.stringContaining("replay-detected"));
    });
  });
});

const executablePath = process.env["AUTHMOUNT_TEST_CHROMIUM"] ?? "/usr/bin/chromium";

describeWith(
  { name: "chromium", found: existsSync(executablePath) },
  {
    name: "examples/browser-app",
    tests() {
      let browser: Browser;
      let context: BrowserContext;
      let page: ChromiumPage;
      let watched: Watched;

      beforeAll(async () => {
        await start("browser-app/server.js", { lastPrinted: /Open http.*\n/, env: alwaysStale });
        const args = ["--no-sandbox", "--disable-quic", "--disable-background-networking"];
        browser = await chromium.launch({ executablePath, args });
      });
      afterAll(async () => {
        await browser.close();
        await stop();
      });
      beforeEach(() => openApp());
      afterEach(() => context.close());

      /** In a browser that knows nothing of the host. */
      async function openApp(): Promise<void> {
        context = await browser.newContext();
        page = await context.newPage();
        watched = watch(page);
        await page.goto(`${example.origin}/`);
        await status("Please sign in.");
      }

      const button = (name: string) => page.getByRole("button", { name, exact: true });
      const status = (text: string) => page.getByRole("status").filter({ hasText: text }).waitFor();

      async function signIn(): Promise<void> {
        await button("Sign in").click();
        await page.getByLabel("Password").fill(password());
        await page.keyboard.press("Enter");
        await status("Signed in. Loaded 1.");
      }

      it("offers to sign in to somebody who is signed out at the host", async () => {
        expect(await button("Sign in").isVisible()).toBe(true);
        expect(await button("Load the orders").isVisible()).toBe(false);
      });

      it("shows what the API answers for the person, and nothing complains", async () => {
        await signIn();
        expect(await page.locator("#orders").textContent()).toBe(`{${orders},"for":"alice"}`);
        expect(watched.complaints).toEqual([]);
      });

      it("keeps no token in a URL or in the browser's storage (RFC 9700 §4.3)", async () => {
        await signIn();
        await button("Load the orders").click();
        await status("Loaded 2.");
        expect(page.url()).toBe(`${example.origin}/`);
        expect(await page.evaluate("[localStorage.length, sessionStorage.length]")).toEqual([0, 0]);
        expect(watched.requests.filter((url) => /eyJ[\w-]+\.eyJ/.test(url))).toEqual([]);
      });

      it("gets new tokens in a hidden iframe, and in a reloaded page too", async () => {
        await signIn();
        const before = countOf("token-issued");
        await button("Load the orders").click();
        await status("Loaded 2.");
        await eventsUntil("token-issued", before + 1);
        expect(page.frames()).toHaveLength(1);
        await page.reload();
        await status("Signed in. Loaded 1.");
      });

      it("offers to sign in again when the host has forgotten the person", async () => {
        await signIn();
        await context.clearCookies();
        await button("Load the orders").click();
        await status("Please sign in.");
        expect(await page.locator("#orders").textContent()).toBe("");
      });

      it("does not take a failure of the API for a sign-out", async () => {
        await signIn();
        await page.route(/\/orders$/, (route) =>
          route.fulfill({ status: 503, headers: { "access-control-allow-origin": "*" } }),
        );
        await button("Load the orders").click();
        await status("Something went wrong: The API answered 503");
      });

      it("goes on with its sign-in after a link with a made-up answer (RFC 9700 §4.7)", async () => {
        await page.evaluate('sessionStorage.setItem("request", JSON.stringify({ state: "asked" }))');
        await page.goto(`${example.origin}/?code=a-code&state=made-up`);
        await status("Something went wrong");
        expect(await page.evaluate('sessionStorage.getItem("request")')).toContain("asked");
      });

      it.each(["state", "iss"])(
        "sends no code of an answer with another %s (RFC 9700 §4.4)",
        async (name) => {
          await page.route(/\/authorize\?/, (route) => {
            const asked = new URL(route.request().url());
            const answer = new URL(`${example.origin}/?code=a-code`);
            answer.searchParams.set("state", asked.searchParams.get("state") ?? "");
            answer.searchParams.set("iss", asked.href.replace(/\/authorize.*/, ""));
            answer.searchParams.set(name, "https://attacker.example");
            return route.fulfill({ status: 302, headers: { location: answer.href } });
          });
          await button("Sign in").click();
          await status("Something went wrong");
          expect(watched.requests.filter((url) => url.endsWith("/token"))).toEqual([]);
        },
      );
    },
  },
);

const commandLine = path.resolve(__dirname, "../../examples/command-line");
const keptTokenFile = path.join(commandLine, "kept-token.mjs");

interface Ended {
  readonly exitCode: number | null;
  readonly out: string;
  readonly err: string;
}

let folder: string;
let env: Record<string, string>;
let firstWindow: Page;
let strangerStatus: number;
let silent: Socket;
let silentClosed: Promise<unknown>;

/** Runs the program as its starter has said; a person answers where it asks to sign in, after typing the code if there is one. */
function runOrders(
  args: readonly string[],
  { decision = "approve", ssh = "" }: { decision?: "approve" | "deny"; ssh?: string } = {},
): Promise<Ended> {
  const file = path.join(commandLine, "orders.mjs");
  const line = /^(ISSUER=.*) node .*orders\.mjs$/m.exec(example.printed.out)?.[1] ?? "";
  const settings = Object.fromEntries(line.split(" ").map((pair) => pair.split("=")));
  const child = spawn(process.execPath, [file, ...args], {
    env: { ...process.env, ...env, ...settings, SSH_CONNECTION: ssh },
  });
  const printed = { out: "", err: "" };
  let asked = false;
  child.stderr.on("data", (chunk: Buffer) => (printed.err += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => {
      printed.out += chunk.toString();
      const asks = /(?:Sign in at\n|Open )(\S+)(?: on any screen and type (\S+))?\n/;
      const [, url, code] = asks.exec(printed.out) ?? [];
      if (asked || url === undefined) return;
      asked = true;
      const browser = newWebBrowser();
      browser
        .open(url)
        .then((page) => (code === undefined ? page : browser.submit(page, { user_code: code })))
        .then((page) => answerPages(browser, { page, decision }))
        .catch(reject);
    });
    child.once("close", (exitCode) => resolve({ exitCode, ...printed }));
  });
}

interface Kept {
  readonly issuer: string;
  readonly refreshToken: string;
}

const kept = async (): Promise<Kept> =>
  JSON.parse(await readFile(path.join(folder, "token.json"), "utf8")) as Kept;

describe("examples/command-line", () => {
  beforeAll(async () => {
    folder = path.join(await mkdtemp(path.join(tmpdir(), "authmount-orders-")), "config");
    env = { BROWSER: "none", ORDERS_CONFIG: folder, SSH_CONNECTION: "" };
    await start("command-line/start.js", { lastPrinted: /Sign in at\n\S+\n/, env });
    const authorizeUrl = new URL(/Sign in at\n(\S+)/.exec(example.printed.out)?.[1] ?? "");
    const stranger = new URL(authorizeUrl.searchParams.get("redirect_uri") ?? "");
    silent = connect(Number(stranger.port), stranger.hostname);
    silentClosed = once(silent, "close");
    stranger.search = "code=a-code&state=a-guess";
    strangerStatus = (await fetch(stranger)).status;
    const browser = newWebBrowser();
    firstWindow = await answerPages(browser, { page: await browser.open(authorizeUrl) });
    await untilPrinted((out) => out.endsWith("orders.mjs\n"));
  });
  afterAll(async () => {
    await stop();
    await rm(path.dirname(folder), { recursive: true, force: true });
  });

  it("takes the answer at a loopback port of its own, and shows what the API answers (RFC 8252 §7.3)", () => {
    expect(firstWindow.url.hostname).toBe("127.0.0.1");
    expect(firstWindow.text).toContain("Go back to the terminal.");
    expect(example.printed.out).toContain(`{${orders},"for":"alice"}`);
  });

  it("turns away what does not know its state, and goes on waiting (RFC 8252 §8.9)", () => {
    expect(strangerStatus).toBe(404);
  });

  it("ends with its answer, whoever is still connected", async () => {
    await silentClosed;
    expect(silent.destroyed).toBe(true);
  });

  it("keeps the refresh token in a file that its owner alone can read", async () => {
    expect((await stat(path.join(folder, "token.json"))).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(await readdir(folder)).toEqual(["token.json"]);
    expect(await kept()).toEqual({
      issuer: expect.any(String),
      refreshToken: expect.any(String),
      keys: { privateKey: expect.anything(), publicKey: expect.anything() },
    });
  });

  it("gives nothing to somebody who has read the refresh token on its way, and loses nothing (RFC 9449 §5)", async () => {
    const { issuer, refreshToken } = await kept();
    const form = { grant_type: "refresh_token", client_id: "orders", refresh_token: refreshToken };
    const url = `${issuer}/token`;
    const steal = async (headers: Record<string, string>): Promise<unknown> =>
      (await fetch(url, { method: "POST", headers, body: new URLSearchParams(form) })).json();
    expect(await steal({})).toMatchObject({ error: "invalid_dpop_proof" });
    expect(await steal(testKey().headers({ method: "POST", url }))).toMatchObject({ error: "invalid_grant" });
  });

  it("asks nobody the next time, and keeps the new refresh token (RFC 6749 §6)", async () => {
    const before = await kept();
    const { exitCode, out } = await runOrders([]);
    expect({ exitCode, out: out.trim() }).toEqual({ exitCode: 0, out: `{${orders},"for":"alice"}` });
    expect(await kept()).not.toEqual(before);
  });

  it("gives the kept refresh token to one of many runs, and to its issuer only (RFC 9700 §4.14.2)", async () => {
    const elsewhere = path.join(path.dirname(folder), "elsewhere");
    await mkdir(elsewhere);
    const keep = () =>
      writeFile(path.join(elsewhere, "token.json"), '{"issuer":"A","refreshToken":"the token"}', {
        mode: 0o600,
      });
    const take = async (issuer: string) => {
      const script = `import { useToken } from ${JSON.stringify(pathToFileURL(keptTokenFile).href)};
        console.log(await useToken(${JSON.stringify(issuer)}, async ({ refreshToken }) => refreshToken));`;
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ["--input-type=module", "--eval", script],
        { env: { ...process.env, ORDERS_CONFIG: elsewhere } },
      );
      return stdout.trim();
    };
    await keep();
    const taken = await Promise.all(Array.from({ length: 4 }, () => take("A")));
    expect(taken.toSorted()).toEqual(["the token", "undefined", "undefined", "undefined"]);
    await keep();
    expect(await take("B")).toBe("undefined");
  });

  it("revokes the refresh token at sign-out and asks again afterwards (RFC 7009 §2.1)", async () => {
    expect(await runOrders(["sign-out"])).toMatchObject({ exitCode: 0, out: "Signed out.\n" });
    await eventsUntil("token-revoked", 1);
    expect(await readdir(folder)).toEqual([]);
    const { out } = await runOrders([]);
    expect(out).toContain("Sign in at");
    expect(out).toContain(orders);
  });

  it("asks on another screen over ssh, and nobody the next time (RFC 8628 §3.3)", async () => {
    const ssh = "192.0.2.1 50022 192.0.2.2 22";
    await runOrders(["sign-out"]);
    const { out } = await runOrders([], { ssh });
    const { origin } = new URL((await kept()).issuer);
    const [line, answer] = out.split("\n");
    expect(line).toMatch(/^Open \S+ on any screen and type [A-Z]{4}-[A-Z]{4}$/);
    expect(line).toContain(` ${origin}/oauth/device `);
    expect(answer).toBe(`{${orders},"for":"alice"}`);
    expect((await runOrders([], { ssh })).out.trim()).toBe(answer);
  });

  it.each([
    ["here (RFC 6749 §4.1.2.1)", []],
    ["on another screen (RFC 8628 §3.5)", ["--device"]],
  ])("says so when the person does not allow it %s, and keeps nothing", async (_, args) => {
    await runOrders(["sign-out"]);
    const { exitCode, err } = await runOrders(args, { decision: "deny" });
    expect({ exitCode, err: err.trim() }).toEqual({ exitCode: 1, err: "Not signed in: access_denied" });
    expect(await readdir(folder)).toEqual([]);
  });

  it("lets nobody guess codes (RFC 8628 §5.1)", async () => {
    const { origin } = new URL(/^ISSUER=(\S+)/m.exec(example.printed.out)?.[1] ?? "");
    const body = new URLSearchParams({ user_code: "BBBB-BBBB" });
    const guess = async (): Promise<number> =>
      (await fetch(`${origin}/oauth/device`, { method: "POST", headers: { origin }, body })).status;
    const answers = await Promise.all(Array.from({ length: 25 }, guess));
    expect(new Set(answers)).toEqual(new Set([400, 429]));
  });
});
