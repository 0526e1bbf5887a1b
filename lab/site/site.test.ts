/** The documentation site: every page is there, every link leads somewhere, and people can read and search it, in Chromium. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import express from "express";
import type { Page } from "playwright-core";
import { accessibilityFindings } from "../clients/accessibility";
import { chromium, closeAll, closeChromium, newContext, watch } from "../clients/chromium";
import { pages as markdown } from "../../__tests__/sources/pages-of-docs";
import { describeWith } from "../../__tests__/servers/server-process";

const run = promisify(execFile);
const lab = path.resolve(__dirname, "..");
/** As for a project page of GitHub. */
const base = "/somewhere/";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "authmount-site-"));
  const vitepress = path.join(lab, "node_modules/vitepress/bin/vitepress.js");
  const env = { ...process.env, AUTHMOUNT_SITE_BASE: base, NODE_ENV: "production" };
  await run(process.execPath, [vitepress, "build", "site", "--outDir", folder], { cwd: lab, env });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const isPage = (page: string): boolean => /^(?:(?:docs|examples)\/.*|[^/]+)$/.test(page);
/** The file of each page in the built site. */
const files = markdown
  .filter(isPage)
  .map((page) => page.replace(/README\.md$/, "index.md").replace(/md$/, "html"));
const html = (file: string): string => readFileSync(path.join(folder, file), "utf8");

/** The values of these attributes, as a browser reads them. */
function attributes(text: string, names: string): string[] {
  return [...text.matchAll(new RegExp(`\\s(?:${names})="([^"]*)"`, "g"))].map(([, value = ""]) =>
    value.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&"),
  );
}

describe("the built pages", () => {
  it("are those of the repository", () => {
    expect(files.length).toBeGreaterThan(60);
    expect(files.filter((file) => !existsSync(path.join(folder, file)))).toEqual([]);
    expect(html("index.html")).toContain("<h1");
  });

  it("link to files and anchors that exist", () => {
    const anchors = new Map(files.map((file) => [file, new Set(attributes(html(file), "id"))]));
    const dead = files.flatMap((file) => {
      const from = new URL(base + file, "http://site.example");
      const links = attributes(html(file), "href|src").map((link) => new URL(link, from));
      const broken = links.filter(({ origin, pathname, hash }) => {
        if (origin !== from.origin) return false;
        if (!pathname.startsWith(base)) return true;
        const target = decodeURI(pathname)
          .slice(base.length)
          .replace(/(^|\/)$/, "$1index.html");
        if (!existsSync(path.join(folder, target))) return true;
        return hash !== "" && anchors.get(target)?.has(decodeURIComponent(hash.slice(1))) === false;
      });
      return broken.map(({ href }) => `${file}: ${href}`);
    });
    expect(dead).toEqual([]);
  });

  it("load nothing from elsewhere, and show the playground", () => {
    const loaded = files.flatMap((file) =>
      [...html(file).matchAll(/<(?:link|script|img|source|iframe)\s[^>]*>/g)].flatMap(([tag]) =>
        attributes(tag, "href|src|srcset"),
      ),
    );
    expect(loaded.filter((url) => !url.startsWith(base) && url !== "data:,")).toEqual([]);
    expect(loaded.some((url) => /\/playground\.[\w-]+\.png$/.test(url))).toBe(true);
  });

  it("show text that Vue would take for a template", async () => {
    // the plugin is an ES module, and so is VitePress
    const script = `
      import { createMarkdownRenderer } from "vitepress";
      import { markdownOfGitHub, slugify } from "./site/.vitepress/markdown.mjs";
      const [text, sources] = process.argv.slice(1);
      const place = { repository: ${JSON.stringify(path.dirname(lab))}, ...(sources && { sources }) };
      const config = (md) => markdownOfGitHub(md, place);
      const md = await createMarkdownRenderer(".", { anchor: { slugify }, attrs: { disable: true }, config });
      console.log(md.render(text, { path: place.repository + "/docs/x.md", relativePath: "docs/x.md" }));`;
    const render = async (...args: string[]): Promise<string> => {
      const node = ["--input-type=module", "-e", script, ...args];
      return (await run(process.execPath, node, { cwd: lab })).stdout;
    };
    const heading = "# §4.1: `a.b(c)` {x}\n\n# §4.1: `a.b(c)` {x}\n\n";
    const written = `${heading}{{ a }} /<id>/ <b onclick="x"> <a id="here"></a>[lib](../lib/index.ts), [docs](README.md#run)\n\n    {{ b }}`;
    const plain = await render(written);
    expect(attributes(plain, "id")).toEqual(["41-abc-x", "41-abc-x-1", "here"]);
    expect(plain).toContain("&#123;&#123; a }} /&lt;id>/ &lt;b");
    expect(plain).toContain('lib, <a href="./#run">docs</a>');
    expect(plain).toMatch(/<pre[^>]* v-pre/);
    const linked = await render(written, "https://github.com/somebody/authmount");
    expect(attributes(linked, "href")).toContain(
      "https://github.com/somebody/authmount/blob/main/lib/index.ts",
    );
  });
});

const isDark = (page: Page): Promise<boolean> =>
  page.evaluate<boolean>("document.documentElement.classList.contains('dark')");

describeWith(chromium, {
  name: "in Chromium",
  tests() {
    let server: Server;
    let origin: string;

    beforeAll(async () => {
      server = createServer(express().use(base, express.static(folder)));
      await new Promise<void>((resolve) => server.listen(0, resolve));
      origin = `http://localhost:${(server.address() as AddressInfo).port}`;
    });
    afterEach(closeAll);
    afterAll(async () => {
      await closeChromium();
      server.closeAllConnections();
      server.close();
    });

    it("is searched with the keyboard alone, by the site itself", async () => {
      const page = await (await newContext()).newPage();
      const { requests, complaints } = watch(page);
      await page.goto(origin + base, { waitUntil: "networkidle" });
      await page.keyboard.press("Control+k");
      // letters typed before the field is there are lost
      await page.locator("input[type=search]:focus").waitFor();
      await page.keyboard.type("refresh token");
      // results for the first letters come before
      await page.getByRole("option", { name: "refresh token" }).first().waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => url.pathname !== base);
      // the address changes before the page does
      await page.locator("main", { hasText: "refresh token" }).waitFor();
      expect(requests.filter((url) => !url.startsWith(origin + base))).toEqual([]);
      expect(complaints).toEqual([]);
    });

    it("turns dark with the keyboard, and the first stop leads to the text", async () => {
      const page = await (await newContext({ colorScheme: "light" })).newPage();
      await page.goto(`${origin}${base}docs/concepts.html`, { waitUntil: "networkidle" });
      await page.keyboard.press("Tab");
      await expect(page.evaluate("document.activeElement.textContent")).resolves.toMatch(/skip to content/i);
      const dark = page.locator('.VPNavBar [role="switch"]:focus');
      for (let stops = 0; stops < 20 && (await dark.count()) === 0; stops += 1)
        await page.keyboard.press("Tab");
      expect(await dark.count()).toBe(1);
      expect(await isDark(page)).toBe(false);
      await page.keyboard.press("Enter");
      await page.waitForFunction("document.documentElement.classList.contains('dark')");
    });

    it.each(["light", "dark"] as const)("has nothing that axe objects to, in %s", async (colorScheme) => {
      const context = await newContext({ colorScheme, reducedMotion: "reduce" });
      for (const file of ["index.html", "docs/concepts.html", "docs/reference/options.html"]) {
        const page = await context.newPage();
        await page.goto(origin + base + file, { waitUntil: "networkidle" });
        expect(await isDark(page)).toBe(colorScheme === "dark");
        expect(await accessibilityFindings(page)).toEqual([]);
        await page.close();
      }
    });

    it("fits a screen of 320 pixels", async () => {
      const context = await newContext({ viewport: { width: 320, height: 640 }, javaScriptEnabled: false });
      const page = await context.newPage();
      const wide: string[] = [];
      for (const file of files) {
        await page.goto(origin + base + file);
        if (await page.evaluate<boolean>("document.documentElement.scrollWidth > innerWidth"))
          wide.push(file);
      }
      expect(wide).toEqual([]);
    });
  },
});
