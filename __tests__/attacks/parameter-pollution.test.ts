// The attacker runs a web page, a client and an authorization server of their own, and a browser of their own at this server;
// the victim, signed in here, visits them. They did not get the victim's cookies, nor a page on this very origin.
import express from "express";
import request from "supertest";
import { issuer, pairPath } from "../hosts/apis";
import { authorizationParameters, codeVerifier } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { encode, formFields } from "../browser/browser";
import { redeem, refresh } from "../requests/client-requests";
import { basic, credentials, webSecret } from "../hosts/clients";
import { stopClock } from "../hosts/clock";
import { consentPath, expectPage, lost, postForm, resumePath } from "./cross-site";
import { testHost, type TestHost } from "../hosts/host";
import { obtainCode, obtainTokens } from "../browser/journey";
import { tokenPath } from "../requests/token-requests";

afterEach(() => jest.restoreAllMocks());

const redemption = (code: string): Record<string, string> => ({
  grant_type: "authorization_code",
  ...credentials("web"),
  code,
  code_verifier: codeVerifier,
  redirect_uri: "https://web.example/callback",
});

const bodyParameters = ["client_id", "client_secret", "code", "code_verifier", "grant_type", "scope"];

const ambiguous = {
  error: "invalid_request",
  error_description: "A parameter is repeated or is not UTF-8 text.",
};

describe("parameters in two places (RFC 6749 §3.2, §2.3.1: pollution)", () => {
  const inUrl = {
    error: "invalid_request",
    error_description: "Parameters belong in the body, not in the URL.",
  };

  it.each([...bodyParameters, "refresh_token"])(
    "the token endpoint refuses %s in the URL, beside the body or without",
    async (name) => {
      stopClock();
      const host = testHost();
      const form: Record<string, string> = redemption(await obtainCode(host, { client: "web" }));
      const value = form[name] ?? "x";
      const queries = [encode({ [name]: value }), encode({ [name]: [value, "x"] }), `${name}=%ff`];
      for (const query of queries) {
        for (const fields of [form, { ...form, [name]: undefined }]) {
          const sent = await postForm(host, { path: `${tokenPath}?${query}`, fields, headers: {} });
          expect({ status: sent.status, body: sent.body as object }).toEqual({ status: 400, body: inUrl });
        }
      }
      expect((await postForm(host, { path: tokenPath, fields: form, headers: {} })).status).toBe(200);
    },
  );

  it.each([
    ["two secrets", { Authorization: basic("web", webSecret.secret) }, credentials("web")],
    ["two clients", { Authorization: basic("web", webSecret.secret) }, { client_id: "other" }],
  ])("the token endpoint refuses %s", async (_, headers, fields) => {
    stopClock();
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    const form = { ...redemption(code), client_id: undefined, client_secret: undefined, ...fields };
    const sent = await postForm(host, { path: tokenPath, fields: form, headers });
    expect(sent.status).toBe(400);
    expect(sent.body).toMatchObject({ error: "invalid_request" });
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });

  it.each(["post", "put"] as const)("the authorization endpoint takes nothing by %s", async (method) => {
    stopClock();
    const host = testHost();
    const agent = request(host.app);
    const sent = await agent[method](`${pairPath()}/authorize?${encode(authorizationParameters("web"))}`)
      .set("X-HTTP-Method-Override", "GET")
      .type("form")
      .send(encode({ ...authorizationParameters("web"), _method: "GET" }));
    expect(sent.status).toBe(405);
    expect(sent.headers["allow"]).toBe("GET, HEAD");
  });

  it("an interaction named in the URL of the consent form does not count", async () => {
    stopClock();
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    const { interaction, ...form } = formFields(page.text);
    const path = `${consentPath}?${encode({ interaction })}`;
    expectPage(await browser.post(path, { ...form, decision: "approve" }), lost);
    expect((await browser.answer(page, "approve")).status).toBe(303);
  });
});

describe("parameters of one request behind body parsers (RFC 6749 §3.2: pollution)", () => {
  const parsers: readonly (readonly [string, express.RequestHandler | undefined])[] = [
    ["no parser", undefined],
    ["express.urlencoded, extended", express.urlencoded({ extended: true })],
    ["express.urlencoded, plain", express.urlencoded({ extended: false })],
    ["express.text", express.text({ type: "*/*" })],
    ["express.raw", express.raw({ type: "*/*" })],
  ];

  describe.each(parsers)("behind %s", (_, parser) => {
    const behind = (): TestHost => testHost(parser ? { before: (app) => app.use(parser) } : {});
    it.each([...bodyParameters, "redirect_uri", "resource"])(
      "the token endpoint refuses %s twice, and burns nothing",
      async (name) => {
        stopClock();
        const host = behind();
        const form: Record<string, string> = redemption(await obtainCode(host, { client: "web" }));
        const value = form[name] ?? "x";
        for (const values of [
          [value, value],
          [value, "x"],
          ["x", value],
        ]) {
          const fields = { ...form, [name]: values };
          const sent = await postForm(host, { path: tokenPath, fields, headers: {} });
          expect({ status: sent.status, body: sent.body as object }).toEqual({
            status: 400,
            body: ambiguous,
          });
        }
        expect((await postForm(host, { path: tokenPath, fields: form, headers: {} })).status).toBe(200);
      },
    );

    it.each(["code[]", "code[0]", "code[x]", "code[__proto__]", "code[length]"])(
      "the token endpoint takes no %s for a code",
      async (name) => {
        stopClock();
        const host = behind();
        const code = await obtainCode(host, { client: "web" });
        const fields = { ...redemption(code), code: undefined, [name]: code };
        const sent = await postForm(host, { path: tokenPath, fields, headers: {} });
        expect(sent.status).toBe(400);
        expect(sent.body).toMatchObject({ error: "invalid_request" });
        expect((await redeem(host, { client: "web", code })).status).toBe(200);
      },
    );

    it("a repeated refresh token is not rotated", async () => {
      stopClock();
      const host = behind();
      const { refresh_token: refreshToken = "" } = await obtainTokens(host, { client: "native" });
      const fields = { refresh_token: [refreshToken, refreshToken] };
      const twice = await refresh(host, { client: "native", refreshToken, fields });
      expect(twice.body).toEqual(ambiguous);
      expect((await refresh(host, { client: "native", refreshToken })).status).toBe(200);
    });

    it.each([
      ["two answers", { decision: ["approve", "deny"] }, "The form has no answer."],
      ["two interactions", { interaction: ["x", "y"] }, lost],
      ["no answer", { decision: undefined }, "The form has no answer."],
    ])("the consent form with %s is refused, and can be sent again", async (_what, fields, message) => {
      stopClock();
      const host = behind();
      const browser = host.browser();
      const page = await authorize(browser, { client: "web" });
      expectPage(await browser.answer(page, "approve", fields), message);
      expect((await browser.answer(page, "approve")).status).toBe(303);
    });
  });
});

describe("parameters that come twice (RFC 6749 §3.1: pollution)", () => {
  const twice = Object.keys({ ...authorizationParameters("web"), prompt: "", resource: "", max_age: "" });

  it.each([...twice, "login_hint", "ui_locales", "unknown"])(
    "the authorization endpoint refuses %s twice",
    async (name) => {
      stopClock();
      const host = testHost();
      const value: string = authorizationParameters("web")[name] ?? "1";
      const response = await authorize(host.browser(), { client: "web", fields: { [name]: [value, value] } });
      if (name === "client_id") return expectPage(response, "client_id is missing or repeated.");
      if (name === "redirect_uri") return expectPage(response, "redirect_uri is repeated.");
      expect(redirectParameters(response)).toEqual({
        ...ambiguous,
        ...(name !== "state" && { state: "a state" }),
        iss: issuer,
      });
    },
  );

  it("an interaction that comes twice at resume is lost", async () => {
    stopClock();
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    const { interaction = "" } = formFields(page.text);
    expectPage(await browser.get(resumePath, { interaction: [interaction, interaction] }), lost);
  });
});
