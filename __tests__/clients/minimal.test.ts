import { readFileSync } from "node:fs";
import path from "node:path";
import { newWebBrowser, startExampleForAllTests, type WebBrowser } from "../fixture/example";

jest.setTimeout(60_000);

const example = startExampleForAllTests("minimal/server.js", /\/orders\n/);

/** What the example has printed for people to use. */
function printed(): { password: string; authorizeUrl: string; credentials: string; tokenUrl: string } {
  const { out } = example.printed;
  const [, password = "", authorizeUrl = ""] = /Sign in with (\S+) at (\S+)/.exec(out) ?? [];
  const [, credentials = "", tokenUrl = ""] = /-u (\S+) .* (\S+\/token)/.exec(out) ?? [];
  return { password, authorizeUrl, credentials, tokenUrl };
}

async function obtainCode(browser: WebBrowser): Promise<string> {
  const { password, authorizeUrl } = printed();
  const stopAt = `${example.origin}/?`;
  const signIn = await browser.open(authorizeUrl, stopAt);
  const consent = await browser.submit(signIn, { password }, stopAt);
  const { url } = await browser.submit(consent, { decision: "approve" }, stopAt);
  return url.searchParams.get("code") ?? "";
}

function requestToken(form: Record<string, string>): Promise<Response> {
  const { credentials, tokenUrl } = printed();
  const authorization = `Basic ${Buffer.from(credentials).toString("base64")}`;
  return fetch(tokenUrl, { method: "POST", headers: { authorization }, body: new URLSearchParams(form) });
}

function callOrders(accessToken: string): Promise<Response> {
  return fetch(`${example.origin}/orders`, { headers: { authorization: `Bearer ${accessToken}` } });
}

describe("examples/minimal", () => {
  it("has at most 40 lines", () => {
    const file = path.resolve(__dirname, "../../examples/minimal/server.js");
    expect(readFileSync(file, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(40);
  });

  it("leads a person from the printed address to the API", async () => {
    const code = await obtainCode(newWebBrowser());
    const answer = await requestToken({ grant_type: "authorization_code", code });
    const tokens = (await answer.json()) as Record<string, unknown>;
    expect(tokens).toEqual({
      access_token: expect.any(String),
      token_type: "bearer",
      expires_in: 3600,
      refresh_token: expect.any(String),
      scope: "read",
    });
    const call = await callOrders(String(tokens["access_token"]));
    expect(call.status).toBe(200);
    expect(await call.json()).toMatchObject({ subject: "alice", clientId: "shop", scopes: ["read"] });
  });

  it("keeps a token of the client's own from the person's orders", async () => {
    const answer = await requestToken({ grant_type: "client_credentials", scope: "read" });
    const { access_token } = (await answer.json()) as { access_token: string };
    const call = await callOrders(access_token);
    expect(call.status).toBe(401);
    expect(await call.json()).toMatchObject({ error: "invalid_token" });
  });

  it("shows the form again after a wrong password, and signs nobody in", async () => {
    const browser = newWebBrowser();
    const signIn = await browser.open(printed().authorizeUrl);
    const again = await browser.submit(signIn, { password: "a guess" });
    expect(again).toMatchObject({ status: 200, text: signIn.text });
    expect((await browser.open(printed().authorizeUrl)).url.pathname).toBe("/signin");
  });

  it("knows the person on the next visit, and asks for the password again with prompt=login", async () => {
    const browser = newWebBrowser();
    await obtainCode(browser);
    const stopAt = `${example.origin}/?`;
    const again = await browser.open(printed().authorizeUrl, stopAt);
    expect(again.url.searchParams.get("code")).toEqual(expect.any(String));
    const signIn = await browser.open(`${printed().authorizeUrl}&prompt=login`, stopAt);
    expect(signIn.url.pathname).toBe("/signin");
    const { url } = await browser.submit(signIn, { password: printed().password }, stopAt);
    expect(url.searchParams.get("code")).toEqual(expect.any(String));
  });

  it("refuses the API without a token (RFC 6750 §3)", async () => {
    const response = await fetch(`${example.origin}/orders`);
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toMatch(/^Bearer realm="/);
  });

  it("publishes its authorization server (RFC 9728 §3)", async () => {
    const response = await fetch(`${example.origin}/.well-known/oauth-protected-resource/orders`);
    expect(await response.json()).toMatchObject({
      authorization_servers: [`${example.origin}/login/auth/password/api/orders`],
    });
  });

  it("prints no stack trace", () => {
    expect(example.printed.err).not.toMatch(/^\s+at /m);
  });
});
