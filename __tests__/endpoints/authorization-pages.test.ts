import { createHash } from "node:crypto";
import type { Response } from "supertest";
import { memoryStorage, type Storage } from "../../lib";
import { apis, issuer, pairPath } from "../hosts/apis";
import { causes, refusedAsJson } from "./authorization-answers";
import { authorize, redirectParameters } from "../browser/authorize";
import { clients, trustedWeb } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost, type TestHostOptions } from "../hosts/host";
import { intercept } from "../storage/slow-storage";

const clock = stopClockForEachTest();

function policyOf(response: Response): Record<string, string> {
  const policy = response.headers["content-security-policy"] as string;
  return Object.fromEntries(
    policy.split("; ").map((directive) => {
      const space = directive.indexOf(" ");
      return [directive.slice(0, space), directive.slice(space + 1)];
    }),
  );
}

/** What security middleware ahead of the router may have set. */
const securityHeaders: NonNullable<TestHostOptions["before"]> = (app) =>
  void app.use((_, res, next) => {
    res.setHeader("X-Frame-Options", "SAMEORIGIN");
    res.setHeader("Content-Security-Policy", "default-src *; frame-ancestors *");
    res.setHeader("Referrer-Policy", "no-referrer");
    res.setHeader("Cache-Control", "public");
    next();
  });

describe("refusals that may not redirect: page or JSON (RFC 6749 §4.1.2.1)", () => {
  const fields = { client_id: "nobody" };

  it.each([
    ["text/html", "text/html; charset=utf-8"],
    ["text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8", "text/html; charset=utf-8"],
    ["*/*", "text/html; charset=utf-8"],
    ["", "text/html; charset=utf-8"],
    ["image/png", "text/html; charset=utf-8"],
    ["application/json", "application/json"],
    ["application/json, text/plain, */*", "application/json"],
  ])("answers Accept: %s with %s", async (accept, contentType) => {
    const response = await testHost().browser().get(`${pairPath()}/authorize`, fields, { Accept: accept });
    expect(response.status).toBe(400);
    expect(response.headers["content-type"]).toBe(contentType);
  });

  it("says on the page what is wrong, and nothing of the request", async () => {
    const asked = { client_id: "<script>nobody</script>", state: "<b>state</b>" };
    const page = await testHost().browser().get(`${pairPath()}/authorize`, asked);
    expect(page.text).toContain("The client is unknown.");
    expect(page.text).toContain("<bdi>invalid_request</bdi>");
    expect(page.text).not.toMatch(/nobody|state<|<b>/);
  });

  it("is 500 when the client cannot be looked up, with the cause in an event", async () => {
    const cause = new Error("the database is away");
    const storage = intercept(memoryStorage({ clients: [clients.web] }), () => Promise.reject(cause));
    const host = testHost({ storage });
    const response = await authorize(host.browser(), { client: "web" });
    expect(response.status).toBe(500);
    expect(response.headers["location"]).toBeUndefined();
    expect(response.text).not.toContain("database");
    expect(host.events).toEqual([{ at: clock.now(), kind: "server-error", issuer, cause }]);
  });

  it("is 500 when the client table answers with a malformed record", async () => {
    const { clients: table, ...others } = memoryStorage({ clients: [clients.web] });
    const broken = { ...clients.web, redirectUris: ["javascript:alert(1)"] };
    const storage: Storage = { ...others, clients: { ...table, find: async () => broken } };
    const host = testHost({ storage });
    const asked = { client: "web", fields: { redirect_uri: "javascript:alert(1)" } } as const;
    expect((await authorize(host.browser(), asked)).status).toBe(500);
    expect(causes(host)).toEqual([expect.any(TypeError)]);
  });

  it("takes another client than the one asked for as unknown", async () => {
    const { clients: table, ...others } = memoryStorage({ clients: [clients.web] });
    const storage: Storage = { ...others, clients: { ...table, find: async () => clients.other } };
    expect(await refusedAsJson(testHost({ storage }), { client: "web" })).toMatchObject({
      status: 400,
      error_description: "The client is unknown.",
    });
  });
});

describe("headers of pages (RFC 6749 §10.13, 9700 §4.16)", () => {
  const pages = [
    ["the consent page", {}, "'self' https:"],
    ["the error page", { client_id: "nobody" }, "'self'"],
  ] as const;
  it.each(pages)("keep scripts, frames, caches and referrers away from %s", async (_, fields, formAction) => {
    for (const options of [{}, { before: securityHeaders }]) {
      const page = await authorize(testHost(options).browser(), { client: "web", fields });
      expect(policyOf(page)).toEqual({
        "default-src": "'none'",
        "style-src": expect.stringMatching(/^'sha256-[A-Za-z0-9+/]{43}='$/),
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
        "form-action": formAction,
      });
      expect(page.headers).toMatchObject({
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "content-type": "text/html; charset=utf-8",
      });
    }
  });

  it.each(pages)("let %s have its style and nothing more", async (_, fields) => {
    const page = await authorize(testHost().browser(), { client: "web", fields });
    const style = /<style>([^]*?)<\/style>/.exec(page.text)?.[1] ?? "";
    const hash = createHash("sha256").update(style).digest("base64");
    expect(policyOf(page)["style-src"]).toBe(`'sha256-${hash}'`);
    expect(page.text).not.toMatch(/<(script|img|link|iframe|object|base)\b|\son\w+=|\sstyle=|\ssrc=/i);
  });

  it.each([
    ["native", "com.example.phone:/callback", "com.example.phone: https:"],
    ["native", "http://127.0.0.1:49152/callback", "http: https:"],
    ["native", "https://phone.example/callback", "https:"],
    ["spa", "https://spa.example/callback", "https:"],
  ] as const)("let the form of %s lead to %s", async (client, redirectUri, source) => {
    const page = await authorize(testHost().browser(), { client, fields: { redirect_uri: redirectUri } });
    expect(policyOf(page)["form-action"]).toBe(`'self' ${source}`);
  });

  it.each([
    ["a code", {}],
    ["a refusal", { response_type: "token" }],
    ["an answer to prompt=none", { prompt: "none" }],
    ["a refusal of prompt=none", { prompt: "none login" }],
  ])("leave no framing header on %s, even when the host sets them on everything", async (_, fields) => {
    for (const options of [{}, { before: securityHeaders }]) {
      const host = testHost({ ...options, clients: [trustedWeb] });
      const response = await authorize(host.browser(), { client: "web", fields });
      expect(response.status).toBe(302);
      expect(response.headers).not.toHaveProperty("x-frame-options");
      expect(response.headers).not.toHaveProperty("content-security-policy");
      expect(response.headers["cache-control"]).toBe("no-store");
    }
  });
});

describe("text on pages is escaped (RFC 9700 §4.16)", () => {
  const nasty = `<script>"'&`;
  const escaped = "&lt;script&gt;&quot;&#39;&amp;";

  it("in the names of client, API and end user, and in the scopes' sentences", async () => {
    const links = {
      clientUri: `https://web.example/?a="&b='<`,
      policyUri: "https://web.example/p",
      tosUri: "https://web.example/t",
    };
    const scopes = { "orders:read": `S${nasty}`, "orders:write": "Change your orders" };
    const host = testHost({
      clients: [{ ...clients.web, name: `C${nasty}`, ...links }],
      apis: {
        ...apis,
        orders: { ...apis["orders"]!, name: `A${nasty}`, scopes },
      },
    });
    host.session = { kind: "authenticated", subject: "alice", displayName: `U${nasty}` };
    const page = await authorize(host.browser(), { client: "web" });
    expect(page.text).toContain(`<h1>Allow <bdi>C${escaped}</bdi> to access <bdi>A${escaped}</bdi>?</h1>`);
    expect(page.text).toContain(`<title>Allow C${escaped} to access A${escaped}?</title>`);
    expect(page.text).toContain(`<bdi>U${escaped}</bdi>`);
    expect(page.text).toContain(`<span>S${escaped}</span>`);
    expect(page.text).toContain('href="https://web.example/?a=&quot;&amp;b=&#39;&lt;"');
    expect(page.text).not.toContain("<script");
  });

  it("in a subject that stands in for a name", async () => {
    const host = testHost();
    host.session = { kind: "authenticated", subject: `U${nasty}` };
    const page = await authorize(host.browser(), { client: "web" });
    expect(page.text).toContain(`<bdi>U${escaped}</bdi>`);
  });

  it("in what a host's denial says: it goes to the redirect, percent-encoded", async () => {
    const host = testHost();
    host.session = { kind: "denied", description: "<script>&error=x#'" };
    const response = await authorize(host.browser(), { client: "web" });
    expect(redirectParameters(response)).toEqual({
      error: "access_denied",
      error_description: "<script>&error=x#'",
      state: "a state",
      iss: issuer,
    });
  });
});
