import { randomBytes } from "node:crypto";
import request from "supertest";
import type { Authentication, Client } from "../../lib";
import { apis, issuer, pairPath } from "../hosts/apis";
import { description, redirectOf, refusedAsJson, refusedByRedirect } from "./authorization-answers";
import { authorizationParameters } from "../browser/authorization-request";
import { authorize, redirectParameters } from "../browser/authorize";
import { encode } from "../browser/browser";
import { postToken, redeem } from "../requests/client-requests";
import { clients, trustedWeb } from "../hosts/clients";
import { stopClockForEachTest } from "../hosts/clock";
import { signedIn, signedOut, testHost } from "../hosts/host";
import { interactionOf, resumePath, signIn } from "../browser/interaction";
import { obtainCode } from "../browser/journey";
import { watchedHost } from "../hosts/watched-host";

const clock = stopClockForEachTest();

describe("issuers: one valid (authentication method, API) pair each", () => {
  const onlyPassword = { ...apis, files: { ...apis["files"]!, authMethods: ["password"] } };

  it.each([
    ["an unknown method", "/login/auth/nothing/api/orders/authorize"],
    ["an unknown API", "/login/auth/password/api/nothing/authorize"],
    ["a method that the API does not accept", "/login/auth/otp/api/files/authorize"],
    ["a property of every object", "/login/auth/constructor/api/__proto__/authorize"],
    ["ids in upper case", "/login/auth/PASSWORD/api/ORDERS/authorize"],
    ["a slash inside an id", "/login/auth/password%2Fapi/api/orders/authorize"],
  ])("knows nothing at %s: 404, and lists nothing", async (_, path) => {
    const host = testHost({ apis: onlyPassword });
    const response = await host.browser().get(path, authorizationParameters("web"));
    expect(response.status).toBe(404);
    expect(response.headers["content-type"]).toBe("application/json");
    expect(response.body).toEqual({
      error: "not_found",
      error_description: "There is no authorization server at this address.",
    });
    expect(host.events).toEqual([]);
  });

  it("leaves other paths under the mount point to the host", async () => {
    const host = testHost();
    host.app.get("/login/auth/password/api/orders/authorize/else", (_, res) => void res.send("the host's"));
    const response = await host.browser().get("/login/auth/password/api/orders/authorize/else");
    expect(response.text).toBe("the host's");
  });

  it("names itself by baseUrl, whatever Host and X-Forwarded-* say", async () => {
    const host = testHost();
    const spoofed = { Host: "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http" };
    const browser = host.browser();
    const page = await browser.get(`${pairPath()}/authorize`, authorizationParameters("web"), spoofed);
    expect(page.text).toContain(`action="${issuer}/authorize/consent"`);
    expect(page.text).not.toContain("evil.example");
    const { iss } = redirectParameters(await browser.answer(page, "approve"));
    expect(iss).toBe(issuer);
  });
});

describe("methods of the authorization endpoint (RFC 6749 §3.1)", () => {
  it.each([
    ["the authorization endpoint", "/authorize"],
    ["resume", "/authorize/resume"],
  ])("answers HEAD at %s without a code, cookie, question or event", async (_, path) => {
    const { host, writes } = watchedHost({ clients: [trustedWeb] });
    const query = encode({ ...authorizationParameters("web"), interaction: "x" });
    const response = await request(host.app).head(`${pairPath()}${path}?${query}`);
    expect(response.status).toBe(200);
    expect(response.headers["location"]).toBeUndefined();
    expect(response.headers["set-cookie"]).toBeUndefined();
    expect([host.events, host.asked, writes]).toEqual([[], [], []]);
  });

  it("answers a HEAD at resume without ending the interaction", async () => {
    const host = testHost();
    host.session = signedOut;
    const browser = host.browser();
    const first = await authorize(browser, { client: "web" });
    const id = interactionOf(first);
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    host.session = signedIn;
    const resume = resumePath(id);
    const head = await request(host.app).head(resume).set("Cookie", cookie);
    expect(head.headers["set-cookie"]).toBeUndefined();
    expect((await browser.get(resume)).status).toBe(200);
  });

  it.each(["post", "put", "patch", "delete", "options"] as const)(
    "answers %s with 405 and Allow",
    async (method) => {
      const { host, writes } = watchedHost({ clients: [trustedWeb] });
      const query = encode(authorizationParameters("web"));
      for (const path of ["/authorize", "/authorize/resume"]) {
        const response = await request(host.app)[method](`${pairPath()}${path}?${query}`);
        expect(response.status).toBe(405);
        expect(response.headers["allow"]).toBe("GET, HEAD");
        expect(response.headers["location"]).toBeUndefined();
      }
      expect([host.events, writes]).toEqual([[], []]);
    },
  );

  it.each(["get", "head", "put", "patch", "delete", "options"] as const)(
    "answers %s at the consent form's address with 405 and Allow",
    async (method) => {
      const response = await request(testHost().app)[method](`${pairPath()}/authorize/consent`);
      expect(response.status).toBe(405);
      expect(response.headers["allow"]).toBe("POST");
    },
  );

  it("tells no script anything: no CORS header, not even for a registered origin", async () => {
    const host = testHost({ clients: [{ ...clients.spa, trusted: true }] });
    const response = await host
      .browser()
      .get(`${pairPath()}/authorize`, authorizationParameters("spa"), { Origin: "https://spa.example" });
    expect(response.status).toBe(302);
    const cors = Object.keys(response.headers).filter((name) => name.startsWith("access-control-"));
    expect(cors).toEqual([]);
  });
});

describe("success (RFC 6749 §4.1.2, 9207 §2)", () => {
  it("redirects with 302, code, state and iss, and nothing else", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const response = await authorize(host.browser(), { client: "web" });
    expect(redirectOf(response)).toEqual({
      status: 302,
      uri: clients.web.redirectUris[0],
      parameters: { code: expect.any(String), state: "a state", iss: issuer },
    });
    expect(response.text).toBe("");
    expect(response.headers["cache-control"]).toBe("no-store");
  });

  it("tells the host that it was asked, and that it granted", async () => {
    const host = testHost({ clients: [trustedWeb] });
    await authorize(host.browser(), { client: "web" });
    const about = { at: clock.now(), issuer, clientId: "web", scopes: ["orders:read"] };
    expect(host.events).toEqual([
      { kind: "authorization-requested", ...about },
      { kind: "authorization-granted", subject: "alice", ...about },
    ]);
  });

  it("leaves state out when none was sent", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const response = await authorize(host.browser(), { client: "web", fields: { state: undefined } });
    expect(Object.keys(redirectParameters(response))).toEqual(["code", "iss"]);
  });

  it.each([
    ["https://web.example/callback?tenant=a%20b&x=1+2", "&"],
    ["https://web.example/callback?", ""],
    ["https://web.example/callback?x&", ""],
    ["https://web.example", "?"],
  ])("keeps what the redirect URI %s has (RFC 6749 §3.1.2)", async (uri, separator) => {
    const host = testHost({ clients: [{ ...trustedWeb, redirectUris: [uri] }] });
    const fields = { redirect_uri: uri, state: "s" };
    const granted = await authorize(host.browser(), { client: "web", fields });
    expect((granted.headers["location"] as string).startsWith(`${uri}${separator}code=`)).toBe(true);
    const refused = await authorize(host.browser(), { client: "web", fields: { ...fields, prompt: "no" } });
    expect((refused.headers["location"] as string).startsWith(`${uri}${separator}error=`)).toBe(true);
    expect(redirectParameters(refused)).toMatchObject({ error: "invalid_request", state: "s", iss: issuer });
  });
});

describe("state, byte for byte (RFC 6749 §4.1.2, §4.1.2.1)", () => {
  const states = [
    ["with spaces at both ends", "  a  b "],
    ["beyond ASCII", "ünïcode → 日本 🎉 \u0000\n"],
    ["with plus signs", "a+b ++"],
    ["with percent signs", "100% %20 %zz %2B"],
    ["with quotes and markup", `"'<script>&amp;#?=/\\;`],
    ["of 1,000 characters", "x".repeat(1_000)],
  ] as const;

  it.each(states)("returns one %s with the code", async (_, state) => {
    const host = testHost({ clients: [trustedWeb] });
    const response = await authorize(host.browser(), { client: "web", fields: { state } });
    expect(redirectParameters(response)).toEqual({ code: expect.any(String), state, iss: issuer });
  });

  it.each(states)("returns one %s with a refusal", async (_, state) => {
    const fields = { state, response_type: "token" };
    const response = await authorize(testHost().browser(), { client: "web", fields });
    expect(redirectParameters(response)).toMatchObject({ error: "unsupported_response_type", state });
  });

  it.each(states)("carries one %s through sign-in and consent", async (_, state) => {
    const host = testHost();
    host.session = signedOut;
    const browser = host.browser();
    const first = await authorize(browser, { client: "web", fields: { state } });
    const page = await signIn({ browser, id: interactionOf(first) });
    const answer = await browser.answer(page, "approve");
    expect(redirectParameters(answer)).toEqual({ code: expect.any(String), state, iss: issuer });
  });

  it("refuses one that is not UTF-8, and returns none", async () => {
    const query = encode({ ...authorizationParameters("web"), state: undefined });
    const response = await request(testHost().app).get(`${pairPath()}/authorize?${query}&state=%ff`);
    expect(redirectParameters(response)).toEqual({
      error: "invalid_request",
      error_description: description,
      iss: issuer,
    });
  });
});

describe("order of refusals: pair, client, redirect URI, everything else (RFC 6749 §4.1.2.1)", () => {
  const wrong = {
    response_type: "token",
    scope: '"',
    prompt: "none login",
    max_age: "-1",
    resource: "https://evil.example",
    code_challenge: "short",
  };

  it("names the pair before the client", async () => {
    const path = "/login/auth/nothing/api/orders/authorize";
    const response = await testHost()
      .browser()
      .get(path, { ...wrong, client_id: "nobody" });
    expect(response.status).toBe(404);
  });

  it("names the client before the redirect URI, on a page", async () => {
    const fields = { ...wrong, client_id: "nobody", redirect_uri: "https://evil.example" };
    expect(await refusedAsJson(testHost(), { client: "web", fields })).toEqual({
      status: 400,
      error: "invalid_request",
      error_description: "The client is unknown.",
    });
  });

  it("names the redirect URI before the rest, on a page", async () => {
    const fields = { ...wrong, redirect_uri: "https://evil.example", state: ["a", "b"] };
    expect(await refusedAsJson(testHost(), { client: "web", fields })).toEqual({
      status: 400,
      error: "invalid_request",
      error_description: "The redirect_uri is not registered for this client.",
    });
  });

  it("names the rest by redirect, before anybody is asked to sign in", async () => {
    const host = testHost();
    host.session = signedOut;
    const response = await authorize(host.browser(), { client: "web", fields: wrong });
    expect(redirectOf(response)).toEqual(refusedByRedirect("unsupported_response_type"));
    expect(host.asked).toEqual([]);
    expect(host.events).toEqual([
      {
        at: clock.now(),
        kind: "authorization-denied",
        issuer,
        clientId: "web",
        error: "unsupported_response_type",
        code: "response-type-not-code",
        reason: expect.any(String),
      },
    ]);
  });

  it("names a denial only when the request is right", async () => {
    const host = testHost();
    host.session = { kind: "denied" };
    const right = await authorize(host.browser(), { client: "web" });
    expect(redirectOf(right)).toEqual(refusedByRedirect("access_denied"));
    const beyond = await authorize(host.browser(), { client: "web", fields: { scope: "files:read" } });
    expect(redirectOf(beyond)).toEqual(refusedByRedirect("invalid_scope"));
  });
});

describe("client_id (RFC 6749 §4.1.2.1, 9700 §4.11)", () => {
  it.each([
    ["unknown", "nobody"],
    ["missing", undefined],
    ["empty", ""],
    ["repeated", ["web", "web"]],
    ["that of another client in upper case", "WEB"],
    ["with a space", "web "],
    ["not ASCII", "wéb"],
    ["too long", "w".repeat(256)],
    ["a property of every object", "__proto__"],
  ])("refuses one that is %s on a page and does not redirect", async (_, clientId) => {
    const host = testHost();
    const refused = await refusedAsJson(host, { client: "web", fields: { client_id: clientId } });
    expect(refused).toEqual({ status: 400, error: "invalid_request", error_description: description });
    expect(host.asked).toEqual([]);
  });

  it("never repeats an unknown client id in an event", async () => {
    const host = testHost();
    await authorize(host.browser(), { client: "web", fields: { client_id: "nobody" } });
    expect(host.events).toEqual([
      {
        at: clock.now(),
        kind: "authorization-denied",
        issuer,
        error: "invalid_request",
        code: "no-such-client",
        reason: expect.any(String),
      },
    ]);
  });
});

describe("unauthorized_client (RFC 6749 §4.1.2.1)", () => {
  it.each<[string, Client["subscriptions"]]>([
    ["no subscription at all", {}],
    ["a subscription to another API", { files: {} }],
    ["a subscription without the grant", { orders: { grantTypes: ["client_credentials", "refresh_token"] } }],
    ["a subscription to no grant", { orders: { grantTypes: [] } }],
  ])("answers a client with %s, trusted or not", async (_, subscriptions) => {
    for (const trusted of [false, true]) {
      const host = testHost({ clients: [{ ...clients.web, trusted, subscriptions }] });
      const response = await authorize(host.browser(), { client: "web" });
      expect(redirectOf(response)).toEqual(refusedByRedirect("unauthorized_client"));
      expect(host.asked).toEqual([]);
    }
  });

  it("answers before the scope is looked at", async () => {
    const host = testHost({ clients: [{ ...clients.web, subscriptions: {} }] });
    const response = await authorize(host.browser(), { client: "web", fields: { scope: '"' } });
    expect(redirectOf(response)).toEqual(refusedByRedirect("unauthorized_client"));
  });
});

describe("what the host is asked", () => {
  it("hands the whole request to authenticate", async () => {
    const questions: unknown[] = [];
    const authenticate = ({ req, ...question }: { req: { path: string } }): Authentication => {
      questions.push({ ...question, path: req.path });
      return signedIn;
    };
    const host = testHost({
      authMethods: { password: { authenticate }, otp: { authenticate }, sso: { authenticate } },
    });
    const fields = { prompt: "consent", max_age: "3600", login_hint: "ali ce", ui_locales: "de en" };
    await authorize(host.browser(), { client: "web", fields });
    expect(questions).toEqual([
      {
        authMethodId: "password",
        api: { apiId: "orders", name: "Orders", audience: "https://api.example/orders" },
        client: { clientId: "web", name: "Web Shop", confidential: true },
        destination: "https://web.example",
        scopes: { "orders:read": "See your orders" },
        explanations: {},
        impliedScopes: {},
        prompt: ["consent"],
        maxAge: 3600,
        acrValues: [],
        loginHint: "ali ce",
        uiLocales: "de en",
        reauthenticate: false,
        path: expect.any(String),
      },
    ]);
  });

  it("asks the method of the pair and no other", async () => {
    const denied: Authentication = { kind: "denied" };
    const host = testHost({
      authMethods: {
        password: { authenticate: () => signedIn },
        otp: { authenticate: () => denied },
        sso: { authenticate: () => denied },
      },
    });
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(200);
    const otp = await authorize(host.browser(), { client: "web", pair: { method: "otp" } });
    expect(redirectParameters(otp)).toMatchObject({ error: "access_denied" });
  });
});

describe("a request too big for a cookie (RFC 6265 §6.1)", () => {
  const fields = { state: randomBytes(2_250).toString("base64url") };

  it.each([
    ["sign-in", signedOut],
    ["consent", signedIn],
  ])("is invalid_request when it has to wait for %s", async (_, session) => {
    const { host, writes } = watchedHost();
    host.session = session;
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(redirectOf(response)).toEqual({
      ...refusedByRedirect("invalid_request"),
      parameters: {
        error: "invalid_request",
        error_description: "The authorization request is too long, especially its state.",
        state: fields.state,
        iss: issuer,
      },
    });
    expect(response.headers["set-cookie"]).toBeUndefined();
    expect(writes).toEqual([]);
  });

  it("is answered when nobody has to be asked", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(redirectParameters(response)).toEqual({ code: expect.any(String), ...fields, iss: issuer });
  });

  it("does not count parameters that mean nothing here", async () => {
    const page = await authorize(testHost().browser(), { client: "web", fields: { utm: "x".repeat(3_000) } });
    expect(page.status).toBe(200);
  });
});

describe("the code (RFC 6749 §4.1.2, 9700 §2.1)", () => {
  it("is a new one each time, of 256 random bits", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const codes = new Set<string>();
    for (let visit = 0; visit < 5; visit += 1) codes.add(await obtainCode(host, { client: "web" }));
    expect(codes.size).toBe(5);
    for (const code of codes) expect(code).toMatch(/^[\w-]{22}\.[\w-]{43}$/);
  });

  it("buys nothing at another pair, and is not used up there", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const code = await obtainCode(host, { client: "web" });
    for (const pair of [{ method: "otp" }, { api: "files" }] as const) {
      expect((await redeem(host, { client: "web", code, pair })).body).toMatchObject({
        error: "invalid_grant",
      });
    }
    expect((await redeem(host, { client: "web", code })).status).toBe(200);
  });

  it("is in no event", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web" });
    await redeem(host, { client: "web", code });
    await postToken(host, { fields: { grant_type: "authorization_code", code } });
    expect(JSON.stringify(host.events)).not.toContain(code.slice(23));
  });
});
