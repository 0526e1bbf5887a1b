/** The playground as static files: a link opens its story, which is replayed without a server. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import express from "express";
import type { Page } from "playwright-core";
import { chromium, closeAll, closeChromium, newContext, watch } from "../clients/chromium";
import { buildOnce } from "../../__tests__/servers/build-once";
import { describeWith } from "../../__tests__/servers/server-process";

const base = "/somewhere/playground/";

const status = (page: Page, text: string): Promise<void> =>
  page.locator("#status", { hasText: text }).waitFor();

describeWith(chromium, {
  name: "the recorded playground",
  tests() {
    let folder: string;
    let server: Server;
    let origin: string;

    beforeAll(async () => {
      buildOnce();
      folder = await mkdtemp(path.join(tmpdir(), "authmount-recorded-"));
      const script = path.join(__dirname, "playground/record.js");
      await promisify(execFile)(process.execPath, [script, folder, "machine"], { cwd: folder });
      server = createServer(express().use(base, express.static(folder)));
      await new Promise<void>((resolve) => server.listen(0, resolve));
      origin = `http://localhost:${(server.address() as AddressInfo).port}`;
    });
    afterEach(closeAll);
    afterAll(async () => {
      await closeChromium();
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    });

    it("opens the story of a link, and continues it once", async () => {
      const page = await (await newContext({ reducedMotion: "reduce" })).newPage();
      const { requests, complaints } = watch(page);
      await page.goto(`${origin}${base}#story=run&clientId=machine&method=otp&api=reports`);
      await status(page, "2 steps, none refused.");
      expect(await page.locator("#lanes strong").nth(1).textContent()).toBe("Night Job");
      await page.click("#introspect");
      await status(page, "1 step, none refused.");
      expect(await page.locator("#token").innerText()).toMatch(/active\s+true/);
      await page.click("#revoke");
      await status(page, "it ends here");
      await page.goto("about:blank");
      await page.goto(`${origin}${base}#story=wrongApi&clientId=machine&method=password&api=orders`);
      await status(page, "3 steps. Refused: step 3 (invalid_token).");
      expect(requests.filter((url) => !url.startsWith(origin + base))).toEqual([]);
      expect(complaints).toEqual([]);
    });
  },
});
