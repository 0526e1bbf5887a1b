// @ts-check
/** Takes the screenshots of the playground for make-screenshots.js: starts it, plays a story, and looks. */
const { spawn } = require("node:child_process");
const events = require("node:events");
const path = require("node:path");

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {import("playwright-core").BrowserContextOptions} BrowserContextOptions */
/** @typedef {{ name: string, story?: string, asks?: true, open?: number, direction?: "rtl" } & BrowserContextOptions} Picture */

const port = "3999";
const origin = `http://localhost:${port}`;

const desktop = { width: 1280, height: 800 };
const narrow = { width: 390, height: 844 };
const dark = /** @type {const} */ ("dark");

/** @type {readonly Picture[]} */
const pictures = [
  { name: "playground", story: "run", asks: true, viewport: desktop },
  { name: "playground-dark", story: "run", asks: true, viewport: desktop, colorScheme: dark },
  { name: "playground-start", viewport: desktop },
  { name: "playground-refusal", story: "replayedCode", asks: true, viewport: desktop },
  { name: "playground-step", story: "noPkce", open: 0, viewport: desktop },
  { name: "playground-narrow", story: "noPkce", viewport: narrow },
  { name: "playground-narrow-dark", story: "run", asks: true, viewport: narrow, colorScheme: dark },
  { name: "playground-right-to-left", story: "run", asks: true, viewport: desktop, direction: "rtl" },
];

function startPlayground() {
  const script = path.join(__dirname, "../../examples/demo/server.js");
  const env = { ...process.env, NODE_ENV: "development", PORT: port };
  const child = spawn(process.execPath, [script], { env, stdio: ["ignore", "pipe", "inherit"] });
  /** @type {Promise<void>} */
  const started = new Promise((resolve, reject) => {
    child.once("close", (code) => reject(new Error(`the playground ended with ${code}`)));
    child.stdout.on("data", (text) => {
      if (String(text).includes("Confidential clients")) resolve();
    });
  });
  return { child, started };
}

/** What the person does in the window that the flow opens. @param {Page} person */
async function signInAndAllow(person) {
  await person.getByLabel("Name").fill("alice");
  await person.getByLabel("Password").fill("down the rabbit hole");
  await person.getByRole("button", { name: "Continue" }).click();
  await person.locator('[value="approve"]').click();
}

/** @type {(page: Page, picture: Picture) => Promise<void>} */
async function play(page, { story, asks, open, direction }) {
  if (direction) await page.evaluate(`document.dir = "${direction}"`);
  if (!story) return;
  const person = asks && page.waitForEvent("popup").then(signInAndAllow);
  await Promise.all([person, page.click(`#${story}`)]);
  await page.locator("#status", { hasText: /steps?[.,]/ }).waitFor();
  // what lies under the mouse looks different
  await page.mouse.move(0, 0);
  if (open !== undefined) await page.locator(".sequence summary").nth(open).press("Enter");
}

/** @type {(browser: import("playwright-core").Browser, to: { picture: Picture, folder: string }) => Promise<void>} */
async function takePicture(browser, { picture, folder }) {
  // started anew for each, because it remembers what alice has allowed
  const { child, started } = startPlayground();
  const context = await browser.newContext({ locale: "en", reducedMotion: "reduce", ...picture });
  context.setDefaultTimeout(10_000);
  try {
    await started;
    const page = await context.newPage();
    await page.goto(origin);
    await page.locator("#issuer", { hasText: "/login" }).waitFor();
    await play(page, picture);
    await page.screenshot({ path: path.join(folder, `${picture.name}.png`) });
  } finally {
    await context.close();
    child.removeAllListeners("close");
    const closed = events.once(child, "close");
    if (child.kill()) await closed;
  }
}

/** @type {(browser: import("playwright-core").Browser, folder: string) => Promise<void>} */
async function takePlaygroundPictures(browser, folder) {
  for (const picture of pictures) await takePicture(browser, { picture, folder });
}

module.exports = { origin, startPlayground, takePlaygroundPictures };
