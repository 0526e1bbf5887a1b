import { readFileSync } from "node:fs";
import path from "node:path";
import { newWebBrowser, type Page, startExampleForAllTests, type WebBrowser } from "../servers/example";

const example = startExampleForAllTests("minimal/server.mjs", /\/shop\n/);

function password(): string {
  const [, printed = ""] = /alice is (\S+)/.exec(example.printed.out) ?? [];
  return printed;
}

/** Follows the printed address to the page on which the flow ends. */
async function signIn(browser: WebBrowser): Promise<Page> {
  const form = await browser.open(`${example.origin}/shop`);
  const consent = await browser.submit(form, { password: password() });
  return browser.submit(consent, { decision: "approve" });
}

function callOrders(accessToken: string): Promise<Response> {
  return fetch(`${example.origin}/orders`, { headers: { authorization: `Bearer ${accessToken}` } });
}

describe("examples/minimal", () => {
  it("has a host of 50 lines", () => {
    const file = path.resolve(__dirname, "../../examples/minimal/server.mjs");
    const [host = ""] = readFileSync(file, "utf8").split("\n\n// Shop, the client: ");
    expect(host.split("\n").length).toBeLessThanOrEqual(50);
  });

  it("shows the answer when the person says no", async () => {
    const browser = newWebBrowser();
    const consent = await browser.submit(await browser.open(`${example.origin}/shop`), {
      password: password(),
    });
    const { text } = await browser.submit(consent, { decision: "deny" });
    expect(text).toContain("error=access_denied");
  });

  it("leads a person from the printed address to a page with the tokens, and these to the API", async () => {
    const { url, text } = await signIn(newWebBrowser());
    expect(url.pathname).toBe("/shop/callback");
    const tokens = JSON.parse(/\{"[^]*\}$/.exec(text)?.[0] ?? "{}") as Record<string, unknown>;
    expect(tokens).toEqual({
      access_token: expect.any(String),
      token_type: "bearer",
      expires_in: 3600,
      refresh_token: expect.any(String),
      scope: "read",
    });
    const curl = `curl -H "Authorization: Bearer ${String(tokens["access_token"])}" ${example.origin}/orders\n`;
    expect(example.printed.out).toContain(curl);
    const call = await callOrders(String(tokens["access_token"]));
    expect(call.status).toBe(200);
    expect(await call.json()).toEqual({ ordersOf: "alice" });
  });

  it("shows what comes with a forged answer as text", async () => {
    const forged = new URLSearchParams({ error: "<script>alert(1)</script>" });
    const response = await fetch(`${example.origin}/shop/callback?${forged.toString()}`);
    expect(await response.text()).not.toContain("<script>");
    const refused = await fetch(`${example.origin}/shop/callback?code=${encodeURIComponent("<script>")}`);
    expect(await refused.text()).toMatch(/"error":"invalid_grant"[^<]*$/);
  });

  it("shows the form again after a wrong password, and signs nobody in", async () => {
    const browser = newWebBrowser();
    const form = await browser.open(`${example.origin}/shop`);
    const again = await browser.submit(form, { password: "a guess" });
    expect(again).toMatchObject({ status: 200, text: form.text });
    expect((await browser.open(`${example.origin}/shop`)).url.pathname).toBe("/sign-in");
  });

  it("knows the person on the next visit, and asks for the password again with prompt=login", async () => {
    const browser = newWebBrowser();
    await signIn(browser);
    const again = await browser.open(`${example.origin}/shop`);
    expect(again.text).toContain("access_token");
    const { headers } = await fetch(`${example.origin}/shop`, { redirect: "manual" });
    const form = await browser.open(`${headers.get("location")}&prompt=login`);
    expect(form.url.pathname).toBe("/sign-in");
    const { text } = await browser.submit(form, { password: password() });
    expect(text).toContain("access_token");
  });

  it("refuses the API without a token (RFC 6750 §3)", async () => {
    const response = await fetch(`${example.origin}/orders`);
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toMatch(/^Bearer realm="/);
  });

  it("publishes its authorization server (RFC 9728 §3)", async () => {
    const response = await fetch(`${example.origin}/.well-known/oauth-protected-resource/orders`);
    expect(await response.json()).toMatchObject({
      authorization_servers: [`${example.origin}/oauth/auth/account/api/orders`],
    });
  });

  it("begins with one calm line on stderr, and prints no stack trace", () => {
    expect(example.printed.err).toMatch(
      /^\(node:\d+\) \[temporary-values\] .* A trial needs nothing more\. .*\n/,
    );
    expect(example.printed.err).not.toMatch(/^\s+at /m);
  });
});
