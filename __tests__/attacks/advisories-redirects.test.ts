// Published defects of other servers and libraries, where a link sent a browser, a code or a script to a place that the client had not
// registered. Each is tried here as it was done there. docs/security.md lists them all.
import type { Client } from "../../lib";
import { pairPath } from "../hosts/apis";
import { authorizationParameters } from "../browser/authorization-request";
import { encode, type Fields } from "../browser/browser";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedOut, testHost } from "../hosts/host";
import { resumePath } from "../browser/interaction";
import { register, registrationHost } from "../requests/registration";

stopClockForEachTest();

/** Alice has allowed `web` everything before; the client `native` has the registered URI on this device. */
async function open(
  registered: string,
  { client = "web", ...fields }: Fields & { client?: "web" | "native" },
): Promise<{ status: number; location: string | undefined; text: string }> {
  const records: readonly Client[] = [{ ...clients[client], redirectUris: [registered], trusted: true }];
  const host = testHost({ clients: records });
  const sent = { ...authorizationParameters(client), redirect_uri: registered, ...fields };
  const response = await host.browser().get(`${pairPath()}/authorize`, sent);
  return { status: response.status, location: response.headers["location"] as string, text: response.text };
}

const foo = "https://foo.example.com/cb";
const local = "http://localhost/cb";

describe("a redirect URI that is not the registered one (RFC 9700 §4.1)", () => {
  it.each<readonly [string, string, Parameters<typeof open>[1]]>([
    [
      "CVE-2025-4143 workers-oauth-provider: get the code of a person who has allowed the client before, at any redirect URI",
      foo,
      { redirect_uri: "https://evil.example/cb" },
    ],
    [
      "CVE-2020-26877 ApiFest: get a code at a redirect URI that the client has not registered",
      foo,
      { redirect_uri: "https://evil.example/" },
    ],
    [
      "CVE-2019-3778 Spring Security OAuth: get a code at a manipulated redirect URI, such as a subdomain",
      foo,
      { redirect_uri: "https://evil.foo.example.com/cb" },
    ],
    [
      "CVE-2019-11269 Spring Security OAuth: get a code at a manipulated redirect URI after the first repair",
      foo,
      { redirect_uri: "https://foo.example.com/cb/../../evil?x" },
    ],
    [
      "CVE-2020-15234 fosite: get a code at the registered URI in another letter case",
      foo,
      { redirect_uri: "https://foo.example.com/CB" },
    ],
    [
      "CVE-2020-15233 fosite: add a query to a loopback redirect, or replace its host",
      "http://127.0.0.1/cb",
      { client: "native", redirect_uri: "http://127.0.0.1:8080/cb?code=evil" },
    ],
    [
      "CVE-2019-9837 doorkeeper-openid_connect: have an error with prompt=none redirected anywhere",
      foo,
      { redirect_uri: "https://evil.example/", prompt: "none", scope: "no such" },
    ],
    [
      "CVE-2024-52289 authentik: get a code at a host that fits when the dot counts as any character",
      foo,
      { redirect_uri: "https://fooaexample.com/cb" },
    ],
    [
      "CVE-2026-28512 Pocket ID: get a code at a host behind user info",
      foo,
      { redirect_uri: "https://foo.example.com@evil.example/cb" },
    ],
    [
      "CVE-2026-3872 Keycloak: get a code at another path, by a step up that proxies do not see",
      foo,
      { redirect_uri: "https://foo.example.com/cb/..;/evil" },
    ],
    [
      "CVE-2024-8883 Keycloak: get a code at any URL where localhost is registered",
      local,
      { client: "native", redirect_uri: "http://localhost:80@evil.example/cb" },
    ],
    [
      "CVE-2023-6291 Keycloak: get past the registered host in the check of the redirect URI",
      foo,
      { redirect_uri: "https://foo.example.com:x@evil.example\\@foo.example.com/cb" },
    ],
    [
      "CVE-2026-9689 Keycloak: send parameters twice, and have two programs read different ones",
      foo,
      { redirect_uri: [foo, "https://evil.example/"] },
    ],
    [
      "CVE-2017-14394 OpenAM: lead people to any site by an invalid request",
      foo,
      { redirect_uri: "https://evil.example/", response_type: "no such" },
    ],
    [
      "CVE-2017-14395 OpenAM: run a script by a redirect URI in an invalid request",
      foo,
      { redirect_uri: "javascript:alert(1)", response_type: "no such" },
    ],
    [
      "CVE-2025-27143 better-auth: lead people to any site by a URL without a scheme",
      foo,
      { redirect_uri: "//evil.example/cb" },
    ],
    [
      "no id tinyauth: have a refusal of the response type redirected before the redirect URI is checked",
      foo,
      { redirect_uri: "https://evil.example/", response_type: "token" },
    ],
    [
      "no id OpenAuth: lead people away by a redirect URI without slashes",
      foo,
      { redirect_uri: "https:evil.example" },
    ],
    [
      "CVE-2020-26938 node-oauth2-server: run a script by a redirect URI that fits a loose pattern",
      foo,
      { redirect_uri: "javascript://foo.example.com/%0aalert(1)" },
    ],
  ])("%s", async (_, registered, fields) => {
    const { status, location, text } = await open(registered, fields);
    expect({ status, location }).toEqual({ status: 400, location: undefined });
    expect(text).not.toMatch(/evil|javascript:|<script|http-equiv/i);
    // the same link without the trick is good
    expect((await open(registered, { client: fields.client ?? "web" })).status).toBe(302);
  });

  it("CVE-2022-36087 oauthlib: stall the server by a malformed IPv6 address in the redirect URI", async () => {
    const host = `[${":0".repeat(1_000)}]`;
    for (const uri of [
      `http://${host}/cb`,
      `http://[${"0:".repeat(1_000)}`,
      `http://[${"::".repeat(1_000)}]/cb`,
    ]) {
      const { status, location } = await open("http://[::1]/cb", { client: "native", redirect_uri: uri });
      expect({ status, location }).toEqual({ status: 400, location: undefined });
    }
  });
});

describe("a redirect URI that must not be registered (RFC 8252 §7.1, 9700 §2.1)", () => {
  it.each([
    [
      "CVE-2024-21637 authentik: register javascript: as redirect URI, and run it in the page that posts the answer",
      "javascript:alert(document.domain)",
      { response_mode: "form_post" },
    ],
    [
      "CVE-2023-6134 Keycloak: register a forbidden scheme with a wildcard behind it, and run a script",
      "javascript:*",
      {},
    ],
  ] as const)("%s", async (_, uri, fields) => {
    const registered = await register(registrationHost(), {
      redirect_uris: [uri],
      token_endpoint_auth_method: "none",
    });
    expect(registered.body).toMatchObject({ error: "invalid_redirect_uri" });
    expect(() => testHost({ clients: [{ ...clients.native, redirectUris: [uri] }] })).toThrow(
      /redirectUris\.0/,
    );
    const { status, location } = await open(foo, { ...fields, redirect_uri: uri });
    expect({ status, location }).toEqual({ status: 400, location: undefined });
  });
});

describe("the answer in the redirect (RFC 9700 §2.1.2)", () => {
  it("CVE-2026-7571 Keycloak: get an access token in the redirect, by changing response_type when the session begins again", async () => {
    const host = testHost({ clients: [{ ...clients.web, trusted: true }] });
    for (const response_type of ["token", "code token", "id_token", "none"]) {
      const refused = await host
        .browser()
        .get(`${pairPath()}/authorize`, { ...authorizationParameters("web"), response_type });
      expect(String(refused.headers["location"])).toMatch(/\?error=unsupported_response_type&/);
    }
    const browser = host.browser();
    host.session = signedOut;
    const first = await browser.get(`${pairPath()}/authorize`, authorizationParameters("web"));
    const id = new URLSearchParams(String(first.headers["location"]).split("?")[1]).get("interaction") ?? "";
    await browser.post("/signin", { interaction: id, subject: "alice" });
    const changed = encode({ response_type: "token", response_mode: "fragment", scope: "orders:write" });
    const led = String((await browser.get(`${resumePath(id)}&${changed}`)).headers["location"]);
    expect(led).toMatch(/^https:\/\/web\.example\/callback\?code=/);
    expect(led).not.toMatch(/access_token|#/);
  });
});
