// @ts-check
/**
 * The playground as static files: `node record.js [folder] [client]` starts the demo, plays every story with every choice in Chromium, or those
 * of one client, and writes down what was sent. replay.mjs shows it again. Codes and tokens are worthless once the demo has ended.
 */
const { cp, mkdir, writeFile } = require("node:fs/promises");
const path = require("node:path");
const { setTimeout: delay } = require("node:timers/promises");
const { chromium } = require("playwright-core");
const { failures, flow, furtherSteps } = require("../../../examples/demo/stories");
const { origin, startPlayground } = require("../../pictures/playground-pictures");

const [folder = path.join(__dirname, "dist"), only] = process.argv.slice(2);
const password = "down the rabbit hole";
const clientIds = ["web", "portal", "native", "browser", "machine"];
const pairs = ["password orders", "otp orders", "otp reports"];

/** @type {(at: string, form: Record<string, string>, cookie?: string) => Promise<Response>} */
const post = (at, form, cookie = "") =>
  fetch(origin + at, {
    method: "POST",
    headers: { origin, cookie },
    body: new URLSearchParams(form),
    redirect: "manual",
  });

/** Nobody has allowed anything yet, and Alice is not disabled. */
async function beginAnew() {
  const signedIn = await post("/signin/password", { name: "alice", password });
  const [cookie = ""] = signedIn.headers.getSetCookie().map((line) => line.split(";", 1)[0]);
  await post("/person/enable", {}, cookie);
  const apps = await (await fetch(`${origin}/account/apps`, { headers: { cookie } })).text();
  // the footer, with the form that removes all, is there only if there are apps
  const [, seen] = /<footer>[^]*?name="seen" value="([^"]+)"/.exec(apps) ?? [];
  if (seen) await post("/account/apps", { seen, do: "remove-all" }, cookie);
}

/** Alice fills in every page that she sees. */
const alice = `addEventListener("DOMContentLoaded", async () => {
  const button = document.querySelector('.primary');
  if (!button) return;
  const [name, word, code] = ["name", "password", "code"].map((field) => document.querySelector("input[name=" + field + "]"));
  if (name) name.value = "alice";
  if (word) word.value = "${password}";
  if (code) code.value = await readCode();
  button.click();
})`;

/** The file of what is told, with the steps of each story. */
const told = `(() => {
  const stories = JSON.parse(sessionStorage.getItem("stories"));
  const { clientId, method, api } = stories.at(-1).choices;
  const file = [...stories.map(({ name }) => name), clientId, method, api].join(".");
  return { file, steps: stories.map(({ steps }) => steps) };
})()`;

/** @typedef {{ file: string, steps: unknown[][] }} Told */
/** @typedef {{ clientId: string, pair: string, names: string[] }} Telling */

/** Nothing if the page does not offer one of the stories. @type {(page: import("playwright-core").Page, telling: Telling) => Promise<Told | undefined>} */
async function tell(page, { clientId, pair, names }) {
  await beginAnew();
  await page.goto(origin);
  const [method, api] = pair.split(" ");
  for (const [name, value] of Object.entries({ clientId, method, api }))
    await page.check(`[name="${name}"][value="${value}"]`);
  for (const name of names) {
    if (await page.getAttribute(`#${name}`, "aria-disabled")) return undefined;
    await page.click(`#${name}`);
    await page.locator("#status", { hasText: /steps?[.,]/ }).waitFor();
  }
  return page.evaluate(told);
}

/** @param {string} clientId @returns {Telling[]} */
function tellings(clientId) {
  const isOwn = (/** @type {{ clients?: string[] }} */ { clients }) => clients?.includes(clientId) !== false;
  const first = Object.entries({ ...flow, ...failures }).filter(([, story]) => isOwn(story));
  const further = Object.entries(furtherSteps).filter(([, story]) => isOwn(story));
  const all = [...first.map(([name]) => [name]), ...further.map(([name]) => ["run", name])];
  const valid = pairs.flatMap((pair) => all.map((names) => ({ clientId, pair, names })));
  return [...valid, { clientId, pair: "password reports", names: ["run"] }];
}

/** The page of the demo at any path, which says that it is a recording. */
async function writePage() {
  const html = await (await fetch(origin)).text();
  const page = html
    .replace("<html ", "<html data-recorded ")
    .replaceAll(/(?<=(?:href|src)=")\//g, "./")
    .replace(/(?<=class="tagline">)[^<]*/, "A recording. For the real one, run npm run demo.")
    .replace("Sign in and allow access when you are asked. Then", "Alice signs in and allows access. Then");
  await cp(path.join(__dirname, "../../../examples/demo/public"), folder, { recursive: true });
  await cp(path.join(__dirname, "replay.mjs"), path.join(folder, "play.mjs"));
  await writeFile(path.join(folder, "index.html"), page);
}

/** @param {string} file @param {unknown} content */
const write = (file, content) =>
  writeFile(path.join(folder, "recorded", `${file}.json`), JSON.stringify(content));

async function record() {
  const { child, started } = startPlayground();
  /** @type {string[]} */
  const codes = [];
  child.stdout.on("data", (text) => codes.push(...(String(text).match(/(?<=code for alice: )\d+/g) ?? [])));
  const executablePath = process.env["AUTHMOUNT_TEST_CHROMIUM"] ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-quic"] });
  try {
    await started;
    await mkdir(path.join(folder, "recorded"), { recursive: true });
    await writePage();
    for (const api of ["orders", "reports"])
      await write(
        api,
        await (await fetch(`${origin}/.well-known/oauth-protected-resource/api/${api}`)).json(),
      );
    const files = new Set();
    for (const telling of clientIds.filter((id) => (only ?? id) === id).flatMap(tellings)) {
      const context = await browser.newContext({ reducedMotion: "reduce" });
      await context.exposeFunction("readCode", async () => {
        while (codes.length === 0) await delay(5);
        return codes.shift();
      });
      await context.addInitScript(alice);
      const { file, steps } = (await tell(await context.newPage(), telling)) ?? {};
      if (file) {
        await write(file, steps);
        files.add(file);
      }
      await context.close();
    }
    await write("files", [...files]);
  } finally {
    await browser.close();
    child.removeAllListeners("close").kill();
  }
}

void record();
