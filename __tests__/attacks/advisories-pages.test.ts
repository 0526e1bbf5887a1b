// Published defects of other servers and libraries in what stands between a request and a code: pages, consent, the way back from the
// sign-in page, and clients that register themselves. Each is tried here as it was done there. docs/security.md lists them all.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import request from "supertest";
import { pairPath } from "../hosts/apis";
import { authorize, redirectParameters } from "../browser/authorize";
import { formFields } from "../browser/browser";
import { redeem, refresh } from "../requests/client-requests";
import { clients } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { consentPath, cookieHeader, notFromHere, openConsent, postForm } from "./cross-site";
import { bob, signedIn, testHost } from "../hosts/host";
import { resumePath, visit } from "../browser/interaction";
import { callApi, obtainTokens, type Tokens } from "../browser/journey";
import {
  authorizeAs,
  codeFor,
  nativeMetadata,
  register,
  registered,
  registerPath,
  registrationHost,
  webMetadata,
} from "../requests/registration";

stopClockForEachTest();

/** A server of the inner network that nobody outside may reach, and how often it was asked. */
async function innerServer(): Promise<{ url: string; asked: () => number; close: () => void }> {
  let asked = 0;
  const server = createServer((_, res) => {
    asked += 1;
    res.end("{}");
  }).on("connection", () => (asked += 1));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
  return { url, asked: () => asked, close: () => server.close() };
}

describe("text of a request in a page (RFC 6749 §10.14)", () => {
  const script = `"><script>alert(1)</script>`;

  it.each([
    [
      "CVE-2019-8400 Hydra: run a script on the error page by its parameters",
      { client_id: "unknown", error: script, error_hint: script, error_description: script },
    ],
    [
      "CVE-2016-4977 Spring Security OAuth: run code in the server by an expression in response_type, which the error page shows",
      { client_id: "unknown", response_type: "${7*191}{{7*191}}#{7*191}<%= 7*191 %>" },
    ],
  ] as const)("%s", async (_, fields) => {
    const { status, text } = await authorize(testHost().browser(), { client: "web", fields });
    expect(status).toBe(400);
    expect(text).not.toMatch(/<script|alert|1337|7\*191/);
  });

  it("CVE-2018-1260 Spring Security OAuth: run code in the server by an expression in scope, which the consent page shows", async () => {
    for (const scope of ["${7*191}", "#{7*191}", "orders:read {{7*191}}"]) {
      const { status, headers, text } = await authorize(testHost().browser(), {
        client: "web",
        fields: { scope },
      });
      expect([status, String(headers["location"])]).toEqual([
        302,
        expect.stringContaining("error=invalid_scope"),
      ]);
      expect(text + String(headers["location"])).not.toMatch(/1337|7\*191/);
    }
  });

  it("CVE-2018-1000088 doorkeeper: run a script on the consent page by the name of a client", async () => {
    const host = registrationHost();
    const client = await registered(host, {
      ...nativeMetadata,
      client_name: `App${script}`,
      client_uri: "https://app.example/",
    });
    const { status, text, headers } = await authorizeAs(host.browser(), client);
    expect(status).toBe(200);
    expect(text).not.toContain("<script");
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
  });
});

describe("what the person has allowed (RFC 6749 §10.2, §10.12; 9700 §4.7)", () => {
  it("CVE-2014-8144 doorkeeper: answer the consent page for a person from another site", async () => {
    const { host, browser, page } = await openConsent();
    const fields = { ...formFields(page.text), decision: "approve" };
    const headers = { Cookie: cookieHeader(browser), Origin: "https://evil.example" };
    const forged = await postForm(host, { path: consentPath, fields, headers });
    expect([forged.status, forged.headers["location"]]).toEqual([400, undefined]);
    expect(forged.text).toContain(notFromHere);
  });

  it.each([
    [
      "CVE-2018-15758 Spring Security OAuth: change the pending request by parameters of the approval",
      { scope: "orders:read orders:write", scopes: "orders:write", client_id: "other", approved: "true" },
    ],
    [
      "CVE-2021-27582 MITREid Connect: set fields of the pending request by parameters of the confirmation",
      {
        redirect_uri: "https://evil.example/",
        redirectUri: "https://evil.example/",
        "authorizationRequest.scope": "orders:write",
        clientId: "other",
        subject: "bob",
      },
    ],
  ] as const)("%s", async (_, extra) => {
    const { host, browser, page } = await openConsent();
    const answer = await browser.answer(page, "approve", extra);
    expect(String(answer.headers["location"])).toMatch(/^https:\/\/web\.example\/callback\?code=/);
    const { code = "" } = redirectParameters(answer);
    const tokens = (await redeem(host, { client: "web", code })).body as Tokens;
    const { body } = await callApi(host, "/orders", tokens.access_token);
    expect(body).toMatchObject({ subject: "alice", clientId: "web", scopes: ["orders:read"] });
  });

  it("CVE-2023-34246 doorkeeper: get a code as a public client that the person has allowed before, without asking", async () => {
    const host = testHost();
    await obtainTokens(host, { client: "native" });
    const again = await authorize(host.browser(), { client: "native" });
    expect([again.status, again.headers["location"]]).toEqual([200, undefined]);
  });

  it("CVE-2026-27124 FastMCP: get a code for a client of the attacker, because the person has allowed another one", async () => {
    const host = registrationHost();
    const honest = await registered(host, webMetadata);
    await codeFor(host, honest);
    const attackers = await registered(host, { ...webMetadata, redirect_uris: ["https://evil.example/cb"] });
    for (const prompt of [undefined, "none"]) {
      const asked = await authorizeAs(host.browser(), attackers, { fields: { prompt } });
      expect(asked.headers["location"] ?? "").not.toContain("code=");
    }
  });

  it("no id GitHub: allow a client by a HEAD request, which routes count as GET and controllers as POST", async () => {
    const { host, browser, page } = await openConsent();
    const query = new URLSearchParams({ ...formFields(page.text), decision: "approve" }).toString();
    for (const path of [consentPath, `${pairPath()}/authorize`]) {
      const headers = { Cookie: cookieHeader(browser), Origin: "https://host.example" };
      const response = await request(host.app).head(`${path}?${query}`).set(headers);
      expect(response.headers["location"]).toBeUndefined();
    }
    expect(await host.storage.consents.list("alice", 1_800_000_000)).toEqual([]);
  });

  it("CVE-2020-10187 doorkeeper: read the secret of a client in the list of what a person has allowed", async () => {
    const host = testHost();
    await obtainTokens(host, { client: "web" });
    const listed = JSON.stringify([
      (await host.auth.consents.list("alice")).consents,
      await host.auth.authorizations.list("alice"),
    ]);
    expect(listed).toContain("web");
    expect(listed).not.toContain(clients.web.secretDigests[0]);
    expect(listed).not.toMatch(/secret|digest/i);
  });
});

describe("whose browser it is (RFC 6749 §10.12, 9700 §4.7)", () => {
  it("CVE-2022-39222 Dex: fetch the code of a person whom one has sent through the sign-in, with the id of the pending request", async () => {
    const { host, browser, id } = await visit(testHost({ clients: [{ ...clients.native, trusted: true }] }), {
      client: "native",
    });
    await browser.post("/signin", { interaction: id, subject: "alice" });
    host.session = signedIn;
    const attacker = host.browser();
    for (const path of [resumePath(id), `${resumePath(id)}&code=1`, `${consentPath}?interaction=${id}`]) {
      const stolen = await attacker.get(path);
      expect(stolen.headers["location"]).toBeUndefined();
      expect(stolen.status).toBeGreaterThanOrEqual(400);
    }
  });

  it("CVE-2023-0264 Keycloak: answer for a person with what one knows of their request, signed in as oneself", async () => {
    const { host, page } = await openConsent();
    const attacker = host.browser();
    host.session = bob;
    await authorize(attacker, { client: "web" });
    const answer = await attacker.answer(page, "approve");
    expect([answer.status, answer.headers["location"]]).toEqual([400, undefined]);
  });

  it("CVE-2022-3916 Keycloak: get a token of the person who used the same computer before", async () => {
    const host = testHost();
    const browser = host.browser();
    const ofAlice = await obtainTokens(host, { client: "web", browser });
    host.session = bob;
    const ofBob = await obtainTokens(host, { client: "web", browser });
    const again = (await refresh(host, { client: "web", refreshToken: ofBob.refresh_token ?? "" }))
      .body as Tokens;
    for (const { access_token } of [ofBob, again])
      expect((await callApi(host, "/orders", access_token)).body).toMatchObject({ subject: "bob" });
    expect((await callApi(host, "/orders", ofAlice.access_token)).body).toMatchObject({ subject: "alice" });
  });
});

describe("addresses and records of clients that register themselves (RFC 7591 §5)", () => {
  it("CVE-2020-10770 Keycloak: have the server call an address of the inner network by request_uri", async () => {
    const inner = await innerServer();
    const response = await authorize(testHost().browser(), {
      client: "web",
      fields: { request_uri: inner.url },
    });
    expect(response.headers["location"] ?? "").not.toContain("code=");
    expect(inner.asked()).toBe(0);
    inner.close();
  });

  it("CVE-2021-26715 MITREid Connect: have the server call an address of the inner network by logo_uri", async () => {
    const inner = await innerServer();
    const host = registrationHost();
    const client = await registered(host, { ...webMetadata, logo_uri: inner.url });
    const { status, text } = await authorizeAs(host.browser(), client);
    expect(status).toBe(200);
    expect(text).not.toContain(inner.url);
    expect(inner.asked()).toBe(0);
    inner.close();
  });

  it("CVE-2026-22752 Spring Authorization Server: register a script as redirect URI, keys at an inner address, or scopes that nobody offers", async () => {
    const inner = await innerServer();
    const keys = { ...webMetadata, token_endpoint_auth_method: "private_key_jwt" };
    for (const metadata of [
      ...["javascript:alert(1)", "data:text/html,x", "vbscript:x"].map((uri) => ({
        ...webMetadata,
        redirect_uris: [uri],
      })),
      { ...keys, jwks_uri: inner.url },
      { ...keys, jwks_uri: "http://169.254.169.254/latest" },
    ]) {
      expect((await register(registrationHost(), metadata)).status).toBe(400);
    }
    expect(inner.asked()).toBe(0);
    inner.close();
    const host = registrationHost();
    const response = await register(host, { ...webMetadata, scope: "orders:read admin" });
    expect(response.body).toMatchObject({ scope: "orders:read orders:write" });
  });

  it("CVE-2020-27838 Keycloak: read the record of a client at the registration endpoint", async () => {
    const host = registrationHost();
    const { client_id } = await registered(host, webMetadata);
    for (const path of [
      `${registerPath()}/${client_id}`,
      `${registerPath()}?client_id=${client_id}`,
      registerPath(),
    ]) {
      const { status, text } = await request(host.app).get(path);
      expect(status).toBeGreaterThanOrEqual(404);
      expect(text).not.toContain("redirect_uris");
    }
  });
});
