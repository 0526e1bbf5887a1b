/** The pages of the examples in Chromium, in light and dark, on a wide and a narrow screen. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { accessibilityFindings } from "./accessibility";
import { chromium, closeAll, closeChromium, newContext, watch } from "./chromium";
import { type Example, startExample } from "../../__tests__/servers/example";
import { redis, startRedis } from "../../__tests__/servers/redis-server";
import { describeWith } from "../../__tests__/servers/server-process";

const looks: readonly BrowserContextOptions[] = [
  { colorScheme: "light", viewport: { width: 1280, height: 720 } },
  { colorScheme: "dark", viewport: { width: 320, height: 640 } },
];

/** What a page shows before anybody has read a word. */
const facts = `({
  language: document.documentElement.lang,
  hasTitle: document.title !== "",
  hasViewport: document.querySelector('meta[name="viewport"]') !== null,
  headings: document.querySelectorAll("main h1").length,
  isNarrow: document.querySelector("main").clientWidth <= 480,
  overflows: document.documentElement.scrollWidth > innerWidth,
  dark: matchMedia("(prefers-color-scheme: dark)").matches,
  text: getComputedStyle(document.querySelector("h1")).color,
})`;

async function expectGoodPage(page: Page): Promise<void> {
  await page.locator("main h1").waitFor();
  // the style sheet comes by itself
  await page.waitForLoadState("load");
  const { dark, text, ...shown } = await page.evaluate<{ dark: boolean; text: string }>(facts);
  expect({ ...shown, url: page.url() }).toEqual({
    url: page.url(),
    language: "en",
    hasTitle: true,
    hasViewport: true,
    headings: 1,
    isNarrow: true,
    overflows: false,
  });
  const [red = 0] = /\d+/.exec(text)?.map(Number) ?? [];
  expect(red > 127).toBe(dark);
  expect(await accessibilityFindings(page)).toEqual([]);
}

/** Registers a client by the line that the example has printed, and gives the address that it sends people to. */
async function strangersUrl(example: Example): Promise<string> {
  const body = printed(example, /^curl .* -d '(.+)' \S+\/register$/m);
  const headers = { "content-type": "application/json" };
  const url = printed(example, /^curl .* (\S+\/register)$/m);
  const response = await fetch(url, { method: "POST", headers, body });
  const { client_id } = (await response.json()) as { client_id: string };
  return printed(example, /^and open (\S+)$/m).replace("THE_CLIENT_ID", client_id);
}

/** How to reach the pages of an example: it stops at each. */
interface Visit {
  readonly file: string;
  readonly lastPrinted: RegExp;
  readonly go: (page: Page, example: Example) => AsyncGenerator<void>;
}

const printed = ({ printed: { out } }: Example, pattern: RegExp): string => pattern.exec(out)?.[1] ?? "";
const aliceOf = (example: Example): string => printed(example, /^ {2}alice (\S+)$/m);

async function signInAtHost(page: Page, password: string): Promise<void> {
  await page.getByLabel("Name").fill("alice");
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

async function typePassword(page: Page, password: string): Promise<void> {
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
}

const allow = (page: Page) => page.getByRole("button", { name: "Allow", exact: true }).click();

async function* goThroughCluster(page: Page, example: Example): AsyncGenerator<void> {
  await page.goto(printed(example, /(http\S+\/authorize\S+)/));
  yield;
  await typePassword(page, printed(example, /Sign in with (\S+)/));
  await allow(page);
  await page.getByText("code=").waitFor();
  yield;
}

const visits: readonly Visit[] = [
  {
    file: "own-sign-in/server.js",
    lastPrinted: /\/orders\n/,
    async *go(page, example) {
      await page.goto(printed(example, /(http\S+\/authorize\S+)/));
      yield;
      await signInAtHost(page, "a guess");
      await page.getByRole("alert").filter({ hasText: "Incorrect" }).waitFor();
      yield;
      await signInAtHost(page, aliceOf(example));
      await allow(page);
      await page.waitForURL(/\/callback/);
      yield;
      await page.goto(example.origin);
      yield;
      await page.evaluate("document.querySelector('input[name=form_token]').value = ''");
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByText("Signed in as alice").waitFor();
      yield;
    },
  },
  {
    file: "own-consent/server.js",
    lastPrinted: /\/account\n/,
    async *go(page, example) {
      await page.goto(printed(example, /(http\S+\/authorize\S+)/));
      await signInAtHost(page, aliceOf(example));
      await page.getByRole("checkbox").first().waitFor();
      yield;
      await page.getByRole("radio", { name: "Bike Builders" }).check();
      await allow(page);
      await page.waitForURL(/\/callback/);
      yield;
      await page.goto(example.origin);
      yield;
      await page.goto(`${example.origin}/account`);
      await page.getByText("Bike Builders").first().waitFor();
      yield;
      await page.goto(await strangersUrl(example));
      await page.getByRole("note").waitFor();
      yield;
    },
  },
  {
    file: "account-page/server.js",
    lastPrinted: /\/account\n/,
    async *go(page, example) {
      await page.goto(printed(example, /(http\S+\/authorize\S+)/));
      await signInAtHost(page, aliceOf(example));
      await allow(page);
      await page.waitForURL(/\/callback/);
      await page.goto(`${example.origin}/account/apps`);
      yield;
      await page.getByRole("button", { name: "Remove this app" }).click();
      await page.getByText("No app has access to your account.").waitFor();
      yield;
      await page.goto(`${example.origin}/account`);
      yield;
      await page.getByRole("link", { name: "Delete my account" }).click();
      await page.getByText("This can’t be undone.").waitFor();
      yield;
      await page.getByRole("button", { name: "Delete my account" }).click();
      await page.getByText("Your account was deleted").waitFor();
      yield;
    },
  },
  {
    file: "minimal/server.mjs",
    lastPrinted: /\/shop\n/,
    async *go(page, example) {
      await page.goto(`${example.origin}/shop`);
      yield;
      await typePassword(page, printed(example, /password of alice is (\S+)/));
      await allow(page);
      await page.getByText("access_token").waitFor();
      yield;
    },
  },
  {
    file: "web-app/start.js",
    lastPrinted: /Open http.*\n/,
    async *go(page, example) {
      await page.goto(example.origin);
      yield;
      await page.getByRole("link", { name: "Sign in" }).click();
      yield;
      await typePassword(page, printed(example, /password of alice is (\S+)/));
      await allow(page);
      await page.getByText("Tea").waitFor();
      yield;
      await page.goto(`${example.origin}/callback`);
      yield;
    },
  },
  {
    file: "browser-app/server.js",
    lastPrinted: /Open http.*\n/,
    async *go(page, example) {
      await page.goto(example.origin);
      await page.getByText("Please sign in.").waitFor();
      yield;
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.waitForURL(/\/signin/);
      yield;
      await typePassword(page, printed(example, /password of alice is (\S+)/));
      await page.getByText("Signed in.").waitFor();
      yield;
    },
  },
  {
    file: "backend-for-frontend/start.js",
    lastPrinted: /Open http.*\n/,
    async *go(page, example) {
      await page.goto(`${example.origin}/?sign-in=refused`);
      await page.getByText("Not signed in.").waitFor();
      yield;
      await page.getByRole("link", { name: "Sign in" }).click();
      await typePassword(page, printed(example, /password of alice is (\S+)/));
      await allow(page);
      await page.getByText("Signed in.").waitFor();
      yield;
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByText("You are signed out.").waitFor();
      yield;
    },
  },
  {
    file: "command-line/start.js",
    lastPrinted: /Sign in at\n\S+\n/,
    async *go(page, example) {
      await page.goto(printed(example, /Sign in at\n(\S+)/));
      await typePassword(page, printed(example, /password of alice is (\S+)/));
      await allow(page);
      await page.getByText("Go back to the terminal").waitFor();
      yield;
    },
  },
];

const before = { ...process.env };
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "authmount-example-pages-"));
  Object.assign(process.env, { BROWSER: "none", ORDERS_CONFIG: path.join(folder, "config") });
});
afterEach(async () => {
  process.env = { ...before };
  await closeAll();
  await rm(folder, { recursive: true, force: true });
});
afterAll(closeChromium);

/** Visits an example and looks at each of its pages. */
async function visit({ file, lastPrinted, go }: Visit, look: BrowserContextOptions): Promise<void> {
  const example = await startExample(file, lastPrinted);
  try {
    const page = await (await newContext(look)).newPage();
    const { complaints } = watch(page);
    let pages = 0;
    for await (const _ of go(page, example)) {
      await expectGoodPage(page);
      pages += 1;
    }
    expect(pages).toBeGreaterThan(0);
    expect(complaints.filter((complaint) => /Content Security Policy|MIME type/.test(complaint))).toEqual([]);
  } finally {
    await example.stop();
  }
}

describeWith(chromium, {
  name: "the pages of an example: language, title, landmarks, no accessibility violation, no overflow",
  tests: () => {
    describe.each(visits)("examples/$file", (example) => {
      it.each(looks)("in $colorScheme, $viewport.width wide", (look) => visit(example, look));
    });
  },
});

describeWith(redis, {
  name: "the pages of examples/cluster/server.js",
  tests: () => {
    const lastPrinted = /worker \d+ serves\n[^]*\/orders\n/;

    it.each(looks)("in $colorScheme, $viewport.width wide", async (look) => {
      const server = await startRedis(["--appendfsync", "no"]);
      Object.assign(process.env, { DATABASE_URL: "", REDIS_URL: server.url, WORKERS: "1" });
      const example = { file: "cluster/server.js", lastPrinted, go: goThroughCluster };
      try {
        await visit(example, look);
      } finally {
        await server.close();
      }
    });
  },
});
