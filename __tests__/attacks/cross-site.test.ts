// The attacker runs a web page, a client and an authorization server of their own, and a browser of their own at this server;
// the victim, signed in here, visits them. They did not get the victim's cookies, nor a page on this very origin.
import { randomBytes } from "node:crypto";
import request, { type Response } from "supertest";
import type { AuthServerOptions } from "../../lib";
import { issuer, pairPath } from "../hosts/apis";
import { authorizationParameters, codeVerifier } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { type Browser, encode, type Fields, formFields } from "../browser/browser";
import { redeem } from "../requests/client-requests";
import { stopClock } from "../hosts/clock";
import {
  consentPath,
  cookieHeader,
  expectPage,
  lost,
  notFromHere,
  openConsent,
  postForm,
  resumePath,
} from "./cross-site";
import { signedIn, signedOut, testHost, type TestHost } from "../hosts/host";
import { interactionOf } from "../browser/interaction";
import { obtainCode } from "../browser/journey";
import { tokenPath } from "../requests/token-requests";

afterEach(() => jest.restoreAllMocks());

/** What browsers, or their attackers, say of a form from elsewhere. */
const foreign: readonly Record<string, string>[] = [
  { Origin: "https://evil.example" },
  { Origin: "null" },
  { Origin: "https://sub.host.example" },
  { Origin: "https://example" },
  { Origin: "http://host.example" },
  { Origin: "https://host.example:8443" },
  { Origin: "https://host.example.evil.example" },
  { Origin: "https://host.example/" },
  { Origin: "HTTPS://HOST.EXAMPLE" },
  { Origin: "https://host.example, https://evil.example" },
  { Origin: "" },
  { Origin: "https://evil.example", "Sec-Fetch-Site": "same-origin" },
  { Origin: "https://evil.example", Host: "evil.example", "X-Forwarded-Host": "evil.example" },
  { "Sec-Fetch-Site": "cross-site" },
  { "Sec-Fetch-Site": "same-site" },
  { "Sec-Fetch-Site": "" },
];

async function nothingApproved({ storage, events }: TestHost): Promise<void> {
  expect(await storage.consents.list("alice", 1_800_000_000)).toEqual([]);
  expect(events.some(({ kind }) => kind === "authorization-granted")).toBe(false);
}

describe("forgery of the consent form's answer (RFC 6749 §10.12, 9700 §4.7)", () => {
  it.each(foreign)("is refused with %j, and the person can still answer", async (headers) => {
    const { host, browser, page } = await openConsent();
    const forged = await postForm(host, {
      path: consentPath,
      fields: { ...formFields(page.text), decision: "approve", scope_0: "on" },
      headers: { Cookie: cookieHeader(browser), ...headers },
    });
    expectPage(forged, notFromHere);
    await nothingApproved(host);
    expect((await browser.answer(page, "approve")).status).toBe(303);
  });

  it.each([
    {},
    { Origin: "https://host.example" },
    { "Sec-Fetch-Site": "same-origin" },
    { "Sec-Fetch-Site": "none" },
  ])("is not seen in %j", async (headers: Record<string, string>) => {
    const { host, browser, page } = await openConsent();
    const answer = await postForm(host, {
      path: consentPath,
      fields: { ...formFields(page.text), decision: "approve", scope_0: "on" },
      headers: { Cookie: cookieHeader(browser), ...headers },
    });
    expect(answer.status).toBe(303);
  });

  it("is refused without the form token of this interaction and person: the page is shown again", async () => {
    const { host, browser, page } = await openConsent();
    const otherPage = await authorize(browser, { client: "other" });
    const othersToken = formFields(otherPage.text)["form_token"];
    const attacker = host.browser();
    const attackersPage = await authorize(attacker, { client: "web" });
    const attackersToken = formFields(attackersPage.text)["form_token"];
    const own = formFields(page.text)["form_token"] ?? "";
    const tokens = [
      undefined,
      "",
      "x",
      `${own}x`,
      own.slice(1),
      own.toLowerCase(),
      othersToken,
      attackersToken,
    ];
    for (const form_token of tokens) {
      const asked = await browser.answer(page, "approve", { form_token });
      expect(asked.status).toBe(200);
      expect(asked.headers["location"]).toBeUndefined();
      expect(formFields(asked.text)["form_token"]).toBe(own);
    }
    await nothingApproved(host);
    expect((await browser.answer(page, "approve")).status).toBe(303);
  });

  it("with a denial is refused just the same", async () => {
    const { browser, page } = await openConsent();
    const asked = await browser.answer(page, "deny", { form_token: "x" });
    expect(asked.status).toBe(200);
    expect((await browser.answer(page, "approve")).status).toBe(303);
  });

  it.each(["get", "put", "patch", "delete"] as const)("by %s is 405", async (method) => {
    const { host, browser, page } = await openConsent();
    const fields = encode({ ...formFields(page.text), decision: "approve" });
    const agent = request(host.app);
    const forged = await agent[method](`${consentPath}?${fields}`).set("Cookie", cookieHeader(browser));
    expect(forged.status).toBe(405);
    expect(forged.headers["allow"]).toBe("POST");
    await nothingApproved(host);
  });

  it.each(["text/plain", "application/json", "multipart/form-data; boundary=x"])(
    "as %s is refused",
    async (type) => {
      const { host, browser, page } = await openConsent();
      const fields = { ...formFields(page.text), decision: "approve" };
      const forged = await request(host.app)
        .post(consentPath)
        .set({ Cookie: cookieHeader(browser), Origin: "https://host.example" })
        .set("Content-Type", type)
        .send(type === "application/json" ? JSON.stringify(fields) : encode(fields));
      expectPage(forged, "The body must be application/x-www-form-urlencoded, without a content encoding.");
      await nothingApproved(host);
    },
  );
});

describe("forgery of an answer from the host's own consent page (RFC 6749 §10.12; auth.approve)", () => {
  const ownPage: Partial<AuthServerOptions> = {
    consent: { decide: () => ({ kind: "interaction", url: "/consent" }) },
  };

  async function openPage() {
    stopClock();
    const host = testHost(ownPage);
    const browser = host.browser();
    const interaction = interactionOf(await authorize(browser, { client: "web" }));
    return { host, browser, interaction };
  }

  it.each(foreign)("is refused with %j, and the person can still answer", async (headers) => {
    const { host, browser, interaction } = await openPage();
    const forged = await postForm(host, {
      path: "/allow",
      fields: { interaction },
      headers: { Cookie: cookieHeader(browser), Accept: "text/html", ...headers },
    });
    expectPage(forged, notFromHere);
    await nothingApproved(host);
    expect((await browser.post("/allow", { interaction })).status).toBe(303);
  });

  it.each(["get", "put", "delete"] as const)("by %s is refused as a mistake of the host", async (method) => {
    const { host, browser, interaction } = await openPage();
    const agent = request(host.app);
    const forged = await agent[method](`/allow?interaction=${interaction}`).set(
      "Cookie",
      cookieHeader(browser),
    );
    expect(forged.status).toBe(500);
    expect(forged.headers["location"]).toBeUndefined();
    await nothingApproved(host);
    expect((await browser.post("/allow", { interaction })).status).toBe(303);
  });

  it("does not count before this person was asked", async () => {
    stopClock();
    const host = testHost(ownPage);
    host.session = signedOut;
    const browser = host.browser();
    const interaction = interactionOf(await authorize(browser, { client: "web" }));
    host.session = signedIn;
    const early = await browser.post("/allow", { interaction });
    expect(early.headers["location"]).toBe(`/consent?interaction=${interaction}`);
    await nothingApproved(host);
  });

  it("does not count for another person", async () => {
    const { host, browser, interaction } = await openPage();
    host.session = { kind: "authenticated", subject: "mallory" };
    const swapped = await browser.post("/allow", { interaction });
    expect(interactionOf(swapped)).not.toBe(interaction);
    // a second click on the same page
    expect((await browser.post("/allow", { interaction })).headers["location"]).toMatch(/^\/consent\?/);
    await nothingApproved(host);
    expect(await host.storage.consents.list("mallory", 1_800_000_000)).toEqual([]);
  });

  it("cannot allow more than was asked for", async () => {
    const { host, browser, interaction } = await openPage();
    const more = await browser.post("/allow", { interaction, scopes: "orders:read orders:write" });
    expect(redirectParameters(more)).toMatchObject({ error: "server_error", iss: issuer });
    await nothingApproved(host);
  });
});

describe("an interaction in another browser (RFC 6749 §10.12, 9700 §4.7: login CSRF)", () => {
  it("is nothing to the victim's browser when the attacker began it", async () => {
    stopClock();
    const host = testHost();
    const [attacker, victim] = [host.browser(), host.browser()];
    const attackersPage = await authorize(attacker, { client: "web" });
    await authorize(victim, { client: "web" });
    const form = formFields(attackersPage.text);
    const { interaction = "" } = form;
    expectPage(await victim.get(resumePath, { interaction }), lost);
    expectPage(await victim.post(consentPath, { ...form, decision: "approve" }), lost);
    expectPage(await victim.post("/signin", { interaction, subject: "alice" }), lost);
    expectPage(await victim.post("/allow", { interaction }), lost);
    expectPage(await victim.post("/cancel", { interaction }), lost);
    expect((await victim.get("/signin", { interaction })).body).toEqual({ nothing: "pending" });
    await nothingApproved(host);
    expect((await attacker.answer(attackersPage, "approve")).status).toBe(303);
  });

  it("is nothing to the attacker's browser when the victim began it", async () => {
    stopClock();
    const host = testHost();
    const [attacker, victim] = [host.browser(), host.browser()];
    const page = await authorize(victim, { client: "web" });
    const form = formFields(page.text);
    expectPage(await attacker.post(consentPath, { ...form, decision: "deny" }), lost);
    expectPage(await attacker.get(resumePath, { interaction: form["interaction"] }), lost);
    expect((await victim.answer(page, "approve")).status).toBe(303);
  });

  it("that was answered is lost, but for the same answer within 30 seconds", async () => {
    const clock = stopClock();
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    await browser.answer(page, "approve");
    expectPage(await browser.answer(page, "deny"), lost);
    expectPage(await host.browser().answer(page, "approve"), lost);
    clock.advance(30);
    expectPage(await browser.answer(page, "approve"), lost);
    expectPage(await browser.get(resumePath, { interaction: formFields(page.text)["interaction"] }), lost);
  });

  it("that is too old is lost, although a browser has kept the cookie", async () => {
    const clock = stopClock();
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    clock.advance(600);
    expectPage(await browser.answer(page, "approve"), lost);
  });

  it("at another pair is lost", async () => {
    stopClock();
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    const form = formFields(page.text);
    for (const pair of [{ method: "otp" }, { api: "files" }] as const) {
      const { interaction } = form;
      expectPage(await browser.get(`${pairPath(pair)}/authorize/resume`, { interaction }), lost);
      const consent = `${pairPath(pair)}/authorize/consent`;
      expectPage(await browser.post(consent, { ...form, decision: "approve" }), lost);
    }
    expect((await browser.answer(page, "approve")).status).toBe(303);
  });

  it("a page that was shown to one person is no answer of another", async () => {
    stopClock();
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    host.session = { kind: "authenticated", subject: "mallory" };
    const asked = await browser.answer(page, "approve");
    expect(asked.status).toBe(200);
    expect(asked.text).toContain("Signed in as <bdi>mallory</bdi>");
    await nothingApproved(host);
    expect(await host.storage.consents.list("mallory", 1_800_000_000)).toEqual([]);
  });
});

const policy = (formAction: string): RegExp =>
  new RegExp(
    `^default-src 'none'; style-src 'sha256-[\\w+/]{43}='; base-uri 'none'; frame-ancestors 'none'; form-action ${formAction}$`,
  );

function expectUnframeable({ headers }: Response, formAction = "'self'"): void {
  expect(headers["x-frame-options"]).toBe("DENY");
  expect(headers["content-security-policy"]).toMatch(policy(formAction));
  expect(headers["referrer-policy"]).toBe("same-origin");
  expect(headers["cache-control"]).toBe("no-store");
}

describe("pages in a frame (RFC 6749 §10.13, 9700 §4.16: clickjacking)", () => {
  it.each([
    ["web", "https:"],
    ["native", "com\\.example\\.phone: https:"],
  ] as const)("are refused: consent for %s", async (client, target) => {
    stopClock();
    expectUnframeable(await authorize(testHost().browser(), { client }), `'self' ${target}`);
  });

  it.each<readonly [string, (browser: Browser) => Promise<Response>]>([
    ["unknown client", (browser) => authorize(browser, { client: "web", fields: { client_id: "x" } })],
    ["lost interaction", (browser) => browser.get(resumePath, { interaction: "x" })],
    ["forged form", (browser) => browser.post(consentPath, {}, { Origin: "https://evil.example" })],
    ["nothing to allow", (browser) => browser.post("/allow", { interaction: "x" })],
  ])("are refused: %s", async (_, visit) => {
    stopClock();
    expectUnframeable(await visit(testHost().browser()));
  });

  it("are refused although the host says otherwise", async () => {
    stopClock();
    const host = testHost({
      before: (app) =>
        app.use((_req, res, next) => {
          res.setHeader("X-Frame-Options", "SAMEORIGIN");
          res.setHeader("Content-Security-Policy", "frame-ancestors *");
          next();
        }),
    });
    expectUnframeable(await authorize(host.browser(), { client: "web" }), "'self' https:");
  });

  it("do not exist for prompt=none, whose answer serves in a hidden frame", async () => {
    stopClock();
    const host = testHost({
      before: (app) =>
        app.use((_req, res, next) => {
          res.setHeader("X-Frame-Options", "DENY");
          res.setHeader("Content-Security-Policy", "frame-ancestors 'none'");
          next();
        }),
    });
    const { status, headers, text } = await authorize(host.browser(), {
      client: "spa",
      fields: { prompt: "none" },
    });
    expect({ status, text }).toEqual({ status: 302, text: "" });
    expect(headers).not.toHaveProperty("x-frame-options");
    expect(headers).not.toHaveProperty("content-security-policy");
  });
});

describe("answers that name who gives them (RFC 9207 §2, 9700 §4.4: mix-up)", () => {
  const denied = { kind: "denied" } as const;

  it.each<readonly [string, Fields, TestHost["session"]]>([
    ["invalid_request", { code_challenge_method: "plain" }, signedIn],
    ["invalid_request", { state: ["a", "b"] }, signedIn],
    ["unsupported_response_type", { response_type: "token" }, signedIn],
    ["invalid_scope", { scope: "unknown" }, signedIn],
    ["invalid_target", { resource: "https://api.example/none" }, signedIn],
    ["login_required", { prompt: "none" }, signedOut],
    ["consent_required", { prompt: "none" }, signedIn],
    ["access_denied", {}, denied],
    ["invalid_request", { state: randomBytes(3_000).toString("hex") }, signedOut],
    [
      "server_error",
      {},
      () => {
        throw new Error("no sessions");
      },
    ],
  ])("say iss with %s for %j", async (error, fields, session) => {
    stopClock();
    const host = testHost();
    host.session = session;
    for (const pair of [{}, { method: "otp", api: "files" }] as const) {
      const asked = { iss: "https://evil.example", ...fields };
      const response = await authorize(host.browser(), { client: "web", pair, fields: asked });
      const { searchParams } = new URL(String(response.headers["location"]));
      expect(searchParams.getAll("error")).toEqual([error]);
      expect(searchParams.getAll("iss")).toEqual([`https://host.example${pairPath(pair)}`]);
    }
  });

  it("say iss with a code, a denial on the page and a denial by the host", async () => {
    stopClock();
    const host = testHost();
    for (const pair of [{}, { method: "otp", api: "files" }] as const) {
      const own = { iss: `https://host.example${pairPath(pair)}` };
      const browser = host.browser();
      const page = await authorize(browser, { client: "web", pair });
      expect(redirectParameters(await browser.answer(page, "deny"))).toMatchObject({
        error: "access_denied",
        ...own,
      });
      const next = await authorize(browser, { client: "web", pair });
      const { interaction } = formFields(next.text);
      expect(redirectParameters(await browser.post("/cancel", { interaction }))).toMatchObject({
        error: "access_denied",
        ...own,
      });
      const last = await authorize(browser, { client: "web", pair });
      const answer = redirectParameters(await browser.answer(last, "approve"));
      expect(answer).toEqual({ code: expect.any(String), state: "a state", ...own });
    }
  });

  it("a code taken to the issuer that the attacker names buys nothing there, and is not burned", async () => {
    stopClock();
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    expect((await redeem(host, { client: "web", code, pair: { method: "otp" } })).status).toBe(400);
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });
});

describe("scripts of another site (Fetch standard: CORS)", () => {
  it.each(["https://evil.example", "null", "https://web.example", "https://spa.example.evil.example", "*"])(
    "cannot read the answers of the token endpoint from %s",
    async (origin) => {
      stopClock();
      const host = testHost();
      const code = await obtainCode(host, { client: "spa" });
      const fields = {
        grant_type: "authorization_code",
        client_id: "spa",
        code,
        code_verifier: codeVerifier,
      };
      const sent = await postForm(host, { path: tokenPath, fields, headers: { Origin: origin } });
      const preflight = await request(host.app).options(tokenPath).set({
        Origin: origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
      });
      for (const { headers } of [sent, preflight]) {
        const names = Object.keys(headers as object).filter((name) => name.startsWith("access-control-"));
        expect(names).toEqual([]);
        expect(headers["vary"]).toContain("Origin");
      }
    },
  );

  it("cannot read any answer of the authorization endpoint, not even those of a browser client", async () => {
    stopClock();
    const host = testHost();
    const response = await host
      .browser()
      .get(
        `${pairPath()}/authorize`,
        { ...authorizationParameters("spa"), prompt: "none" },
        { Origin: "https://spa.example" },
      );
    expect(response.status).toBe(302);
    expect(response.headers).not.toHaveProperty("access-control-allow-origin");
  });

  it("never come with credentials", async () => {
    stopClock();
    const host = testHost();
    const preflight = await request(host.app).options(tokenPath).set("Origin", "https://spa.example");
    expect(preflight.headers["access-control-allow-origin"]).toBe("https://spa.example");
    expect(preflight.headers).not.toHaveProperty("access-control-allow-credentials");
  });
});
