/** The programs of docs/getting-started.md, taken from the page and started. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { buildOnce } from "./servers/build-once";
import { codeBelow } from "./sources/doc-block";
import { newWebBrowser } from "./servers/example";
import { freePort } from "./servers/server-process";

const repository = path.resolve(__dirname, "..");

describe("getting started, as it stands on the page", () => {
  const running: ChildProcess[] = [];
  let folder: string;
  let server: string;
  let client: string;

  /** Starts one of the page's programs, until it has printed its address. */
  async function start(file: string, address: string): Promise<void> {
    const env = { ...process.env, NODE_ENV: "development" };
    const child = spawn(process.execPath, [file], { cwd: folder, env });
    running.push(child);
    let printed = "";
    await new Promise<void>((resolve, reject) => {
      child.once("close", () => reject(new Error(`${file} ended: ${printed}`)));
      const listenTo = (chunk: Buffer): void => {
        printed += chunk.toString();
        if (printed.includes(`${address}\n`)) resolve();
      };
      child.stdout.on("data", listenTo);
      child.stderr.on("data", listenTo);
    });
  }

  async function restart(file: string, address: string): Promise<void> {
    const child = running.find(({ spawnargs, exitCode }) => exitCode === null && spawnargs[1] === file);
    const ended = new Promise((resolve) => child?.once("close", resolve));
    child?.kill("SIGKILL");
    await ended;
    await start(file, address);
  }

  beforeAll(async () => {
    buildOnce();
    folder = await mkdtemp(path.join(tmpdir(), "authmount-getting-started-"));
    const modules = path.join(folder, "node_modules");
    await mkdir(modules);
    await symlink(repository, path.join(modules, "authmount"), "junction");
    for (const name of ["express", "cookie-parser"]) {
      await symlink(path.join(repository, "node_modules", name), path.join(modules, name), "junction");
    }
    const ports = [await freePort(), await freePort()] as const;
    [server, client] = [`http://localhost:${ports[0]}`, `http://localhost:${ports[1]}`];
    const elsewhere = (code: string): string =>
      code
        .replaceAll(/\b(localhost:|listen\()3000\b/g, `$1${ports[0]}`)
        .replaceAll(/\b(localhost:|listen\()4000\b/g, `$1${ports[1]}`);
    const [serverCode = ""] = codeBelow("getting-started.md", "1. An app with an authorization server");
    const [clientCode = ""] = codeBelow("getting-started.md", "3. A token for a person");
    await writeFile(path.join(folder, "server.mjs"), elsewhere(serverCode));
    await writeFile(path.join(folder, "client.mjs"), elsewhere(clientCode));
    await start("server.mjs", server);
    await start("client.mjs", client);
  });
  afterAll(async () => {
    const alive = running.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    const ends = alive.map((child) => new Promise((resolve) => child.once("close", resolve)));
    for (const child of alive) child.kill();
    await Promise.all(ends);
    await rm(folder, { recursive: true, force: true });
  });

  const requestToken = (form: Record<string, string>): Promise<globalThis.Response> =>
    fetch(`${server}/oauth/auth/account/api/orders/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa("shop:only-for-trying-it-out")}` },
      body: new URLSearchParams(form),
    });

  it.each(["server.mjs", "client.mjs"])("%s ends when its port is taken, and names it", async (file) => {
    await expect(start(file, "nothing is printed that ends like this")).rejects.toThrow(
      /ended: [^]*EADDRINUSE[^]* 127\.0\.0\.1:\d+/,
    );
  });

  it("gives the first token, and the API takes it", async () => {
    const answer = await requestToken({ grant_type: "client_credentials" });
    const { access_token } = (await answer.json()) as { access_token: string };
    const orders = await fetch(`${server}/orders`, { headers: { authorization: `Bearer ${access_token}` } });
    expect(await orders.json()).toMatchObject({ client: "shop" });
  });

  it("leads a person through the client, and the refresh token works", async () => {
    const browser = newWebBrowser();
    const signIn = await browser.open(client);
    const consent = await browser.submit(signIn, { password: "wonderland" });
    const { text } = await browser.submit(consent, { decision: "approve" });
    expect(text).toContain('"person":"alice"');
    const [, refresh_token = ""] = /"refresh_token": "([^"]+)"/.exec(text) ?? [];
    expect((await requestToken({ grant_type: "refresh_token", refresh_token })).status).toBe(200);
  });

  it("asks for the password again when it was wrong", async () => {
    const browser = newWebBrowser();
    const signIn = await browser.open(client);
    const again = await browser.submit(signIn, { password: "a guess" });
    expect(again.url.href).toBe(signIn.url.href);
  });

  it("asks nobody at the second visit", async () => {
    const browser = newWebBrowser();
    const consent = await browser.submit(await browser.open(client), { password: "wonderland" });
    if (consent.url.pathname !== "/callback") await browser.submit(consent, { decision: "approve" });
    const { url, text } = await browser.open(client);
    expect(url.pathname).toBe("/callback");
    expect(text).toContain('"person":"alice"');
  });

  it("loses nothing in a restart", async () => {
    const browser = newWebBrowser();
    const consent = await browser.submit(await browser.open(client), { password: "wonderland" });
    const page =
      consent.url.pathname === "/callback" ? consent : await browser.submit(consent, { decision: "approve" });
    const tokens = JSON.parse(page.text.split("\n\nThe API says")[0] ?? "") as Record<string, string>;
    await restart("server.mjs", server);
    const headers = { authorization: `Bearer ${tokens["access_token"]}` };
    expect(await (await fetch(`${server}/orders`, { headers })).json()).toMatchObject({ person: "alice" });
    const { refresh_token = "" } = tokens;
    expect((await requestToken({ grant_type: "refresh_token", refresh_token })).status).toBe(200);
    expect((await requestToken({ grant_type: "refresh_token", refresh_token })).status).toBe(400);
    // her session is gone, but nobody asks for her consent again
    const signIn = await browser.open(client);
    const { url } = await browser.submit(signIn, { password: "wonderland" });
    expect(url.pathname).toBe("/callback");
  });

  it("says no when the person says no", async () => {
    const browser = newWebBrowser();
    const asked = new URLSearchParams({
      client_id: "shop",
      response_type: "code",
      redirect_uri: `${client}/callback`,
      prompt: "consent",
    });
    const signIn = await browser.open(
      `${server}/oauth/auth/account/api/orders/authorize?${asked.toString()}`,
    );
    const consent = await browser.submit(signIn, { password: "wonderland" });
    const { url } = await browser.submit(consent, { decision: "deny" }, `${client}/callback`);
    expect(url.searchParams.get("error")).toBe("access_denied");
  });
});
