import { type Client, memoryStorage } from "../../lib";
import { redirectOf, refusedAsJson } from "./authorization-answers";
import { authorize, redirectParameters } from "../browser/authorize";
import { redeem } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { testHost } from "../hosts/host";
import { obtainCode } from "../browser/journey";
import { changingClients } from "../hosts/watched-host";

stopClockForEachTest();

const web = "https://web.example/callback";

describe("redirect_uri (RFC 6749 §3.1.2, 8252 §7.3, 9700 §2.1)", () => {
  it.each([
    "https://evil.example/callback",
    "https://web.example/callback/",
    "https://web.example/callback/../callback",
    "https://web.example/callback?x=1",
    "https://web.example/callback#",
    "https://web.example/callback#code",
    "https://web.example/Callback",
    "https://WEB.example/callback",
    "HTTPS://web.example/callback",
    "https://web.example:443/callback",
    "https://web.example:8443/callback",
    "https://web.example./callback",
    "https://sub.web.example/callback",
    "https://web.example.evil.example/callback",
    "https://web.example@evil.example/callback",
    "https://evil.example\\@web.example/callback",
    "https://web.example/%63allback",
    "http://web.example/callback",
    "//web.example/callback",
    "/callback",
    "web.example/callback",
    " https://web.example/callback",
    "https://web.example/callback\n",
    "https://web.example/callback\u0000",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "https://other.example/callback",
    "com.example.phone:/callback",
    "not a URI",
  ])("refuses %j on a page", async (redirectUri) => {
    const host = testHost();
    const refused = await refusedAsJson(host, { client: "web", fields: { redirect_uri: redirectUri } });
    expect(refused).toEqual({
      status: 400,
      error: "invalid_request",
      error_description: "The redirect_uri is not registered for this client.",
    });
    expect(host.asked).toEqual([]);
  });

  it("refuses a repeated one on a page, even with equal values", async () => {
    const fields = { redirect_uri: [web, web] };
    const refused = await refusedAsJson(testHost(), { client: "web", fields });
    expect(refused).toEqual({
      status: 400,
      error: "invalid_request",
      error_description: "redirect_uri is repeated.",
    });
  });

  it.each([
    ["http://127.0.0.1:49152/callback", 200],
    ["http://127.0.0.1:1/callback", 200],
    ["http://127.0.0.1/callback", 200],
    ["http://127.0.0.1:49152/other", 400],
    ["http://127.0.0.1:99999/callback", 400],
    ["http://localhost:49152/callback", 400],
    ["http://[::1]:49152/callback", 400],
    ["http://127.0.0.2:49152/callback", 400],
    ["https://127.0.0.1:49152/callback", 400],
    ["https://phone.example:8443/callback", 400],
    ["com.example.phone:/callback/", 400],
    ["com.example.phone:/callback", 200],
    ["com.example.PHONE:/callback", 400],
    ["COM.example.phone:/callback", 400],
  ])("answers a native client that names %s with %i", async (redirectUri, status) => {
    const fields = { redirect_uri: redirectUri };
    const response = await authorize(testHost().browser(), { client: "native", fields });
    expect(response.status).toBe(status);
  });

  const anyPort = "http://127.0.0.1:49152/callback";

  it("knows no port exception for a browser client, nor for a confidential one without PKCE", async () => {
    const redirectUris = ["http://127.0.0.1/callback"];
    const host = testHost({
      clients: [
        { ...clients.web, redirectUris },
        { ...clients.spa, redirectUris },
      ],
    });
    const withoutPkce = { code_challenge: undefined, code_challenge_method: undefined };
    const statusOf = async (client: "web" | "spa", redirect_uri: string, more = {}) =>
      (await authorize(host.browser(), { client, fields: { redirect_uri, ...more } })).status;
    expect(await statusOf("spa", anyPort)).toBe(400);
    expect(await statusOf("spa", "http://127.0.0.1/callback")).toBe(200);
    expect(await statusOf("web", anyPort, withoutPkce)).toBe(400);
    expect(await statusOf("web", "http://127.0.0.1/callback", withoutPkce)).toBe(200);
  });

  it("lets a confidential client with PKCE use any loopback port, with its secret and its verifier", async () => {
    const host = testHost({ clients: [{ ...clients.web, redirectUris: ["http://127.0.0.1/callback"] }] });
    const code = await obtainCode(host, { client: "web", fields: { redirect_uri: anyPort } });
    const fields = { redirect_uri: anyPort };
    const refused = await redeem(host, {
      client: "web",
      code,
      fields: { ...fields, code_verifier: undefined },
    });
    expect(refused.body).toMatchObject({ error: "invalid_grant" });
    expect((await redeem(host, { client: "web", code, fields })).status).toBe(200);
  });
});

describe("a redirect URI that was saved a moment ago (RFC 6749 §3.1.2)", () => {
  const other = "https://web.example/other";

  it("works at once, and one that was taken away ends with the next reading", async () => {
    const records = new Map<string, Client>([["web", clients.web]]);
    const storage = { ...memoryStorage({ clients: [] }), clients: changingClients(records) };
    const host = testHost({ storage });
    const statusOf = async (redirect_uri: string) =>
      (await authorize(host.browser(), { client: "web", fields: { redirect_uri } })).status;
    expect(await statusOf(web)).toBe(200);
    records.set("web", { ...clients.web, redirectUris: [other] });
    expect([await statusOf(web), await statusOf(other), await statusOf(web)]).toEqual([200, 200, 400]);
  });
});

describe("redirect_uri where it is optional or fixed (RFC 6749 §3.1.2.3)", () => {
  it.each([
    ["orders", "required", undefined],
    ["orders", "required", ""],
  ] as const)("is refused when left out at %s, where it is %s (%j)", async (api, _, redirectUri) => {
    const fields = { redirect_uri: redirectUri };
    expect(await refusedAsJson(testHost(), { client: "web", pair: { api }, fields })).toEqual({
      status: 400,
      error: "invalid_request",
      error_description: "redirect_uri is missing.",
    });
  });

  it.each([undefined, ""])(
    "may be left out (%j) where it is optional and one is registered",
    async (none) => {
      const host = testHost();
      const asked = { client: "web", pair: { api: "reports" }, fields: { redirect_uri: none } } as const;
      const browser = host.browser();
      const answer = await browser.answer(await authorize(browser, asked), "approve");
      expect(redirectOf(answer)).toMatchObject({ status: 303, uri: web });
      const { code = "" } = redirectParameters(answer);
      const tokens = await redeem(host, { client: "web", code, pair: { api: "reports" } });
      expect(tokens.status).toBe(200);
    },
  );

  it("serves the registered one, named at the token endpoint, when it was left out", async () => {
    const host = testHost();
    const pair = { api: "reports" } as const;
    const code = await obtainCode(host, { client: "web", pair, fields: { redirect_uri: undefined } });
    const other = { redirect_uri: "https://web.example/other" };
    expect((await redeem(host, { client: "web", code, pair, fields: other })).body).toMatchObject({
      error: "invalid_grant",
    });
    const tokens = await redeem(host, { client: "web", code, pair, fields: { redirect_uri: web } });
    expect(tokens.status).toBe(200);
  });

  it.each([
    ["several are", clients.native],
    ["none is", { ...clients.native, redirectUris: [] }],
  ])("must be named, even where it is optional, when %s registered", async (_, client) => {
    const host = testHost({ clients: [client] });
    const fields = { redirect_uri: undefined };
    expect(await refusedAsJson(host, { client: "native", pair: { api: "reports" }, fields })).toEqual({
      status: 400,
      error: "invalid_request",
      error_description: "redirect_uri is missing.",
    });
  });

  it("is still matched where it is optional", async () => {
    const fields = { redirect_uri: "https://evil.example" };
    const refused = await refusedAsJson(testHost(), { client: "web", pair: { api: "reports" }, fields });
    expect(refused).toMatchObject({ status: 400 });
  });
});
