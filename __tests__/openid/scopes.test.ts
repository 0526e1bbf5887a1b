import request, { type Response } from "supertest";
import { pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { obtainTokens } from "../browser/journey";
import { clients } from "../hosts/clients";
import type { TestHost } from "../hosts/host";
import { ownToken, redeem, refresh } from "../requests/client-requests";
import { provider } from "./provider";

/** The page that asks for these scopes. */
async function pageFor(host: TestHost, scope: string) {
  const browser = host.browser();
  const page = await authorize(browser, { client: "web", fields: { scope } });
  return { browser, page };
}

async function scopesOf(response: Response, host: TestHost): Promise<string | undefined> {
  const { code } = redirectParameters(response);
  return ((await redeem(host, { client: "web", code: code ?? "" })).body as { scope?: string }).scope;
}

describe("identity scopes (OpenID Connect Core §5.4)", () => {
  it("have sentences, and the sign-in has no box: a yes always includes it", async () => {
    const host = provider();
    const { browser, page } = await pageFor(host, "openid email groups");
    expect(page.text).toContain("<ul><li>Sign you in, and recognize you when you come back</li></ul>");
    expect(page.text).toContain("<span>See your email address</span>");
    expect(page.text.match(/type="checkbox"/g)).toHaveLength(2);
    expect(page.text).not.toContain('name="scope_0"');
    expect(await scopesOf(await browser.answer(page, "approve"), host)).toBe("openid email groups");
  });

  it("can be left out one by one", async () => {
    const host = provider();
    const { browser, page } = await pageFor(host, "openid email groups");
    expect(await scopesOf(await browser.answer(page, "approve", { scope_1: "" }), host)).toBe(
      "openid groups",
    );
  });

  it("may be none but openid", async () => {
    const host = provider();
    const { browser, page } = await pageFor(host, "openid");
    expect(page.text).not.toContain('type="checkbox"');
    expect(await scopesOf(await browser.answer(page, "approve"), host)).toBe("openid");
    const { browser: other, page: again } = await pageFor(host, "openid groups");
    expect(redirectParameters(await other.answer(again, "deny"))).toMatchObject({ error: "access_denied" });
  });

  it.each([
    [["email"], "openid email"],
    [["openid"], "openid"],
    [[], undefined],
  ])("a host's page that allows %j grants %j", async (scopes, granted) => {
    const host = provider({
      consent: { decide: () => ({ kind: "granted", scopes }) },
    });
    const { page } = await pageFor(host, "openid email");
    expect(await scopesOf(page, host)).toBe(granted);
  });

  it("are asked for again where an upgrade brings them", async () => {
    const host = provider();
    await obtainTokens(host, { client: "web", fields: { scope: "openid" } });
    const silent = await authorize(host.browser(), {
      client: "web",
      fields: { scope: "openid", prompt: "none" },
    });
    expect(redirectParameters(silent)).toHaveProperty("code");
    const wider = { scope: "openid email", prompt: "none" };
    const asking = await authorize(host.browser(), { client: "web", fields: wider });
    expect(redirectParameters(asking)).toMatchObject({ error: "consent_required" });
  });

  it("ignore what the API does not have, such as offline_access (Core §3.1.2.1)", async () => {
    const host = provider();
    const { scope } = await obtainTokens(host, {
      client: "web",
      fields: { scope: "openid offline_access x" },
    });
    expect(scope).toBe("openid");
  });

  it("are never a client's own (RFC 6749 §4.4)", async () => {
    const host = provider();
    expect(await ownToken(host, { client: "web", scope: "email orders:read" })).toMatchObject({
      status: 200,
      body: { scope: "orders:read" },
    });
    expect(await ownToken(host, { client: "web", scope: "openid" })).toMatchObject({
      status: 200,
      body: { scope: "orders:read" },
    });
  });

  it("are in the metadata of the issuer, and not in that of the API (RFC 9728 §2)", async () => {
    const { app } = provider();
    const issuer = await request(app).get(`${pairPath()}/.well-known/oauth-authorization-server`);
    const api = await request(app).get("/.well-known/oauth-protected-resource/orders");
    const own = ["orders:read", "orders:write"];
    expect(issuer.body).toMatchObject({
      scopes_supported: ["openid", "profile", "email", "address", "phone", ...own, "groups"],
    });
    expect(api.body).toMatchObject({ scopes_supported: own });
  });

  it("shrink with a refresh (RFC 6749 §6), and with openid the ID token goes", async () => {
    const host = provider();
    const { refresh_token: refreshToken = "" } = await obtainTokens(host, {
      client: "web",
      fields: { scope: "openid email", nonce: "first" },
    });
    const narrow = await refresh(host, { client: "web", refreshToken, fields: { scope: "email" } });
    expect(narrow.body).not.toHaveProperty("id_token");
  });

  it("belong to clients whose subscription has them", async () => {
    const web = { ...clients.web, subscriptions: { orders: { scopes: ["openid", "orders:read"] } } };
    const host = provider({ clients: [web] });
    const { scope } = await obtainTokens(host, {
      client: "web",
      fields: { scope: "openid email orders:read" },
    });
    expect(scope).toBe("openid orders:read");
  });
});
