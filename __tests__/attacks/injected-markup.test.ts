// The attacker chooses every parameter and header of a link that a victim opens at the authorization endpoint, and wants the
// browser, with or without a code, at an address of theirs, or their own markup or header lines in an answer of this origin.
// They did not get to register anything with the client that the link names.
import { apis, pairPath } from "../hosts/apis";
import { authorizationParameters } from "../browser/authorization-request";
import { authorize } from "../browser/authorize";
import { formFields } from "../browser/browser";
import { clients } from "../hosts/clients";
import { testHost } from "../hosts/host";
import { app, host, listenForAllTests, openLink, requestOf, webCallback } from "./opened-links";

listenForAllTests();

describe("markup in parameters (9700 §4.11, page contents)", () => {
  const markups = [
    `"><script>evil()</script>`,
    `'><img src=x onerror=evil()>`,
    `</title><svg onload=evil()>`,
    `<style>*{background:url(//evil.example)}</style>`,
    `&lt;script&gt;evil()`,
    `javascript:evil()`,
    "+ADw-script+AD4-evil()",
    "`evil`",
  ];
  const names = [
    ...Object.keys(authorizationParameters("web")),
    "prompt",
    "resource",
    "max_age",
    "login_hint",
    "ui_locales",
    "interaction",
    "error",
    "error_description",
    "unknown",
  ];
  const cases = names.flatMap((name) => markups.map((markup) => [name, markup] as const));

  it.each(cases)("is not on any page: %s=%s", async (name, markup) => {
    const { status, headers, text } = await openLink({ ...requestOf("web", webCallback), [name]: markup });
    if (status === 302) return expect(headers["location"]?.startsWith(`${webCallback}?`)).toBe(true);
    expect([200, 400]).toContain(status);
    expect(text).not.toMatch(/evil|<script|<svg|<img|onerror/);
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(headers["x-content-type-options"]).toBe("nosniff");
  });

  it.each(markups)("is not on the pages of a bent form: %s", async (markup) => {
    const fields = [
      { interaction: markup },
      { form_token: markup },
      { decision: markup },
      { scope_0: markup },
    ];
    for (const field of fields) {
      const browser = host.browser();
      const page = await authorize(browser, { client: "web" });
      const form = { ...formFields(page.text), decision: "approve", ...field };
      const response = await browser.post(`${pairPath()}/authorize/consent`, form);
      expect(response.text).not.toMatch(/evil|<svg|<img|onerror/);
      if (response.status !== 303) expect([200, 400]).toContain(response.status);
    }
  });

  it.each(markups)("is plain JSON in the answers of the token endpoint: %s", async (markup) => {
    const path = `${pairPath()}/token`;
    for (const name of ["client_id", "grant_type", "code", "redirect_uri", "scope", "refresh_token", "x"]) {
      const form = { client_id: "native", grant_type: "authorization_code", [name]: markup };
      const { headers, text, status } = await app.send({ path, form });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(headers["content-type"]).toBe("application/json");
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(text).not.toContain("evil");
    }
  });

  it.each([
    `/login/auth/<svg%20onload=evil()>/api/orders/authorize`,
    `/login/auth/%3Cscript%3Eevil()%3C%2Fscript%3E/api/orders/authorize`,
    `/login/auth/password/api/%22%3E%3Csvg%20onload=evil()%3E/token`,
    `/login/auth/password/api/%E0%A4%A/authorize`,
    `/login/auth/__proto__/api/constructor/authorize`,
  ])("in the path is not repeated: %s", async (path) => {
    const { status, headers, text } = await app.send({ path, headers: { Accept: "text/html" } });
    expect({ status, type: headers["content-type"] }).toEqual({ status: 404, type: "application/json" });
    expect(JSON.parse(text)).toEqual({
      error: "not_found",
      error_description: "There is no authorization server at this address.",
    });
  });

  it("in what the host says of clients, APIs, scopes and people is text", async () => {
    const markup = `"'><script>evil()</script>&`;
    const named = testHost({
      clients: [{ ...clients.web, name: markup, clientUri: `https://web.example/"onclick="evil()` }],
      apis: {
        ...apis,
        orders: {
          audience: "https://api.example/orders",
          authMethods: ["password"],
          name: markup,
          scopes: { "orders:read": markup, "orders:write": "Write" },
        },
      },
    });
    named.session = { kind: "authenticated", subject: "alice", displayName: markup };
    const page = await authorize(named.browser(), { client: "web" });
    const escaped = "&quot;&#39;&gt;&lt;script&gt;evil()&lt;/script&gt;&amp;";
    expect(page.status).toBe(200);
    expect(page.text.split(escaped)).toHaveLength(8);
    expect(page.text).not.toContain("<script");
    expect(page.text).not.toContain(`"onclick`);
  });
});
