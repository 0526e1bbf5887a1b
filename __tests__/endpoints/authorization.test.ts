import { createHash } from "node:crypto";
import type { Request } from "express";
import request, { type Response } from "supertest";
import { type Authentication, type Client, type ConsentAnswer, memoryStorage, type Storage } from "../../lib";
import { encode } from "../fixture/browser";
import { stopClock } from "../fixture/clock";
import {
  apis,
  authorizationParameters,
  type ClientName,
  clients,
  codeChallenge,
  pairPath,
  signedIn,
  signedOut,
  type TestHost,
  testHost,
  type TestHostOptions,
} from "../fixture/host";
import {
  authorize,
  callApi,
  obtainCode,
  obtainTokens,
  postToken,
  redeem,
  redirectParameters,
} from "../fixture/journey";
import { intercept, watchWrites } from "../fixture/slow-storage";

let now = 0;
beforeEach(() => {
  now = stopClock().now();
});
afterEach(() => jest.restoreAllMocks());

const issuer = `https://host.example${pairPath()}`;
const trustedWeb = { ...clients.web, trusted: true };

/** `error_description` in the characters of RFC 6749 §4.1.2.1. */
const description: unknown = expect.stringMatching(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);

/** A redirect, taken apart; of any other answer the status. */
function answerOf(response: Response): object {
  const { status } = response;
  const location: string | undefined = response.headers["location"];
  if (location === undefined) return { status };
  const parameters = redirectParameters(response);
  return { status, uri: location.slice(0, location.indexOf("?")), parameters };
}

function refusal(
  error: string,
  { client = "web", status = 302 }: { client?: ClientName; status?: number } = {},
): object {
  const parameters = { error, error_description: description, state: "a state", iss: issuer };
  return { status, uri: clients[client].redirectUris[0], parameters };
}

/** What a refusal that may not redirect looks like to a program. */
async function refusedAsJson(host: TestHost, fields: Parameters<typeof authorize>[1]): Promise<unknown> {
  const { api = "orders" } = fields.pair ?? {};
  const sent = {
    ...authorizationParameters(fields.client),
    scope: api === "reports" ? "reports:read" : "orders:read",
    ...fields.fields,
  };
  const response = await host
    .browser()
    .get(`${pairPath(fields.pair)}/authorize`, sent, { Accept: "application/json" });
  expect(response.headers["location"]).toBeUndefined();
  expect(response.headers["set-cookie"]).toBeUndefined();
  return { status: response.status, ...(response.body as object) };
}

function policyOf(response: Response): Record<string, string> {
  const policy = response.headers["content-security-policy"] as string;
  return Object.fromEntries(
    policy.split("; ").map((directive) => {
      const space = directive.indexOf(" ");
      return [directive.slice(0, space), directive.slice(space + 1)];
    }),
  );
}

/** The causes that the host was told of. */
function causes(host: TestHost): readonly unknown[] {
  return host.events.flatMap((event) => (event.kind === "server-error" ? [event.cause] : []));
}

/** A host whose storage counts what it is made to write. */
function watchedHost(options: TestHostOptions = {}): { host: TestHost; writes: string[] } {
  const { storage, writes } = watchWrites(
    memoryStorage({ clients: options.clients ?? Object.values(clients) }),
  );
  return { host: testHost({ ...options, storage }), writes };
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

async function expectServerError(
  response: Response,
  { host, writes }: ReturnType<typeof watchedHost>,
): Promise<void> {
  expect(answerOf(response)).toEqual(refusal("server_error"));
  expect(response.headers["location"]).toContain("=The%20server%20could%20not%20answer%20this%20request.&");
  expect(response.headers["set-cookie"]).toBeUndefined();
  expect(writes).toEqual([]);
  expect(await host.auth.consents.list("alice")).toEqual([]);
  expect(causes(host)).toHaveLength(1);
}

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
    const id = new URL(first.headers["location"] as string, issuer).searchParams.get("interaction") ?? "";
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    host.session = signedIn;
    const resume = `${pairPath()}/authorize/resume?interaction=${id}`;
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
    expect(answerOf(response)).toEqual({
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
    const about = { at: now, issuer, clientId: "web", scopes: ["orders:read"] };
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
    const interaction = new URL(first.headers["location"] as string, issuer).searchParams.get("interaction");
    const signedInAs = { interaction: interaction ?? "", subject: "alice" };
    const page = await browser.follow(await browser.post("/signin", signedInAs));
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
    expect(answerOf(response)).toEqual(refusal("unsupported_response_type"));
    expect(host.asked).toEqual([]);
    expect(host.events).toEqual([
      {
        at: now,
        kind: "authorization-denied",
        issuer,
        clientId: "web",
        error: "unsupported_response_type",
        reason: expect.any(String),
      },
    ]);
  });

  it("names a denial only when the request is right", async () => {
    const host = testHost();
    host.session = { kind: "denied" };
    const right = await authorize(host.browser(), { client: "web" });
    expect(answerOf(right)).toEqual(refusal("access_denied"));
    const beyond = await authorize(host.browser(), { client: "web", fields: { scope: "files:read" } });
    expect(answerOf(beyond)).toEqual(refusal("invalid_scope"));
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
      { at: now, kind: "authorization-denied", issuer, error: "invalid_request", reason: expect.any(String) },
    ]);
  });
});

describe("redirect_uri (RFC 6749 §3.1.2, 8252 §7.3, 9700 §2.1)", () => {
  const web = "https://web.example/callback";

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

  it.each(["web", "spa"] as const)("knows no port exception for %s", async (client) => {
    const loopback = { ...clients[client], redirectUris: ["http://127.0.0.1/callback"] };
    const host = testHost({ clients: [loopback] });
    const fields = { redirect_uri: "http://127.0.0.1:49152/callback" };
    expect((await authorize(host.browser(), { client, fields })).status).toBe(400);
    const exact = { redirect_uri: "http://127.0.0.1/callback" };
    expect((await authorize(host.browser(), { client, fields: exact })).status).toBe(200);
  });

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
      expect(answerOf(answer)).toMatchObject({ status: 303, uri: web });
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

describe("repeated, empty and unknown parameters (RFC 6749 §3.1)", () => {
  const values = {
    response_type: "code",
    scope: "orders:read",
    state: "a state",
    code_challenge: codeChallenge,
    code_challenge_method: "S256",
    prompt: "login",
    resource: "https://api.example/orders",
    max_age: "60",
    login_hint: "alice",
    ui_locales: "en",
  };

  it.each(Object.entries(values))("refuses %s when it is repeated", async (name, value) => {
    const host = testHost();
    const response = await authorize(host.browser(), { client: "web", fields: { [name]: [value, value] } });
    const parameters = redirectParameters(response);
    // of two states neither is to be trusted
    const state = name === "state" ? {} : { state: "a state" };
    expect(parameters).toEqual({
      error: "invalid_request",
      error_description: description,
      ...state,
      iss: issuer,
    });
    expect(host.asked).toEqual([]);
  });

  it.each(Object.entries(values))("refuses %s when it is sent empty beside a value", async (name, value) => {
    const fields = { [name]: ["", value] };
    const response = await authorize(testHost().browser(), { client: "web", fields });
    expect(redirectParameters(response)).toMatchObject({ error: "invalid_request" });
  });

  it("refuses a repeated parameter that it does not know", async () => {
    const response = await authorize(testHost().browser(), { client: "web", fields: { utm: ["a", "b"] } });
    expect(answerOf(response)).toEqual(refusal("invalid_request"));
  });

  it("ignores parameters that it does not know", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const fields = { nonce: "n", response_mode: "fragment", request_uri: "https://evil.example", "": "x" };
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(redirectParameters(response)).toEqual({ code: expect.any(String), state: "a state", iss: issuer });
  });

  it("takes an empty state for none", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const response = await authorize(host.browser(), { client: "web", fields: { state: "" } });
    expect(Object.keys(redirectParameters(response))).toEqual(["code", "iss"]);
  });

  it("takes an empty scope for none: the API's default scopes", async () => {
    const tokens = await obtainTokens(testHost(), { client: "web", fields: { scope: "" } });
    expect(tokens.scope).toBe("orders:read");
  });

  it("takes an empty response_type for none", async () => {
    const response = await authorize(testHost().browser(), { client: "web", fields: { response_type: "" } });
    expect(answerOf(response)).toEqual(refusal("invalid_request"));
  });

  it("takes empty PKCE parameters for none", async () => {
    const fields = { code_challenge: "", code_challenge_method: "" };
    const host = testHost({ clients: [trustedWeb, clients.spa] });
    expect(redirectParameters(await authorize(host.browser(), { client: "web", fields }))).toHaveProperty(
      "code",
    );
    const spa = await authorize(host.browser(), { client: "spa", fields });
    expect(answerOf(spa)).toEqual(refusal("invalid_request", { client: "spa" }));
  });

  it("takes empty prompt, max_age, resource, login_hint and ui_locales for none", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const fields = { prompt: "", max_age: "", resource: "", login_hint: "", ui_locales: "" };
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(redirectParameters(response)).toHaveProperty("code");
    expect(host.asked).toEqual([{ reauthenticate: false, prompt: [] }]);
  });
});

describe("response_type (RFC 6749 §3.1.1, §4.1.2.1)", () => {
  it("is invalid_request when it is missing", async () => {
    const fields = { response_type: undefined };
    const response = await authorize(testHost().browser(), { client: "web", fields });
    expect(answerOf(response)).toEqual(refusal("invalid_request"));
  });

  it.each(["token", "id_token", "code token", "CODE", "code "])(
    "is unsupported_response_type when it is %j",
    async (responseType) => {
      const fields = { response_type: responseType };
      const response = await authorize(testHost().browser(), { client: "web", fields });
      expect(answerOf(response)).toEqual(refusal("unsupported_response_type"));
    },
  );
});

describe("PKCE (RFC 7636 §4.3, §4.4.1; 9700 §2.1.1)", () => {
  const none = { code_challenge: undefined, code_challenge_method: undefined };
  const malformed = [
    ["a method without a challenge", { code_challenge: undefined }],
    ["a challenge without a method", { code_challenge_method: undefined }],
    ["the method plain", { code_challenge_method: "plain" }],
    ["the method s256", { code_challenge_method: "s256" }],
    ["a challenge of 42 characters", { code_challenge: "A".repeat(42) }],
    ["a challenge of 44 characters", { code_challenge: "A".repeat(44) }],
    ["a challenge with padding", { code_challenge: `${"A".repeat(42)}=` }],
    ["a challenge in base64", { code_challenge: `${"A".repeat(41)}+/` }],
    ["a challenge with a line feed", { code_challenge: `${"A".repeat(43)}\n` }],
  ] as const;

  describe.each(["web", "native", "spa"] as const)("client %s", (client) => {
    it.each(malformed)("may not send %s", async (_, fields) => {
      const response = await authorize(testHost().browser(), { client, fields });
      expect(answerOf(response)).toEqual(refusal("invalid_request", { client }));
    });
  });

  it.each(["native", "spa"] as const)("is needed by the public client %s", async (client) => {
    const response = await authorize(testHost().browser(), { client, fields: none });
    expect(answerOf(response)).toEqual(refusal("invalid_request", { client }));
  });

  it("is needed by a public client that is trusted", async () => {
    const host = testHost({ clients: [{ ...clients.spa, trusted: true }] });
    const response = await authorize(host.browser(), { client: "spa", fields: none });
    expect(answerOf(response)).toEqual(refusal("invalid_request", { client: "spa" }));
  });

  it("may be left out by a confidential client", async () => {
    const host = testHost();
    const code = await obtainCode(host, { client: "web", fields: none });
    const tokens = await redeem(host, { client: "web", code, fields: { code_verifier: undefined } });
    expect(tokens.status).toBe(200);
  });
});

describe("scope (RFC 6749 §3.3)", () => {
  it("stands for the API's default scopes when it is left out", async () => {
    const tokens = await obtainTokens(testHost(), { client: "web", fields: { scope: undefined } });
    expect(tokens.scope).toBe("orders:read");
  });

  it("stands for no scope when it is left out and the API has no default", async () => {
    const host = testHost();
    const asked = { client: "web", pair: { api: "files" }, fields: { scope: undefined } } as const;
    const browser = host.browser();
    const page = await authorize(browser, asked);
    expect(page.text).not.toContain('type="checkbox"');
    const { code = "" } = redirectParameters(await browser.answer(page, "approve"));
    const tokens = await redeem(host, { client: "web", code, pair: { api: "files" } });
    expect(tokens.status).toBe(200);
    expect(host.events.at(-1)).toMatchObject({ kind: "token-issued", scopes: [] });
  });

  it("is cut to the subscription when it is left out", async () => {
    const writer = { ...trustedWeb, subscriptions: { orders: { scopes: ["orders:write"] } } };
    const host = testHost({ clients: [writer] });
    await authorize(host.browser(), { client: "web", fields: { scope: undefined } });
    expect(host.events.at(-1)).toMatchObject({ kind: "authorization-granted", scopes: [] });
  });

  it("may not be left out where the API requires it", async () => {
    const asked = { client: "web", pair: { api: "reports" }, fields: { scope: undefined } } as const;
    const response = await authorize(testHost().browser(), asked);
    expect(redirectParameters(response)).toEqual({
      error: "invalid_scope",
      error_description: description,
      state: "a state",
      iss: `https://host.example${pairPath({ api: "reports" })}`,
    });
  });

  it.each([
    ["malformed", " orders:read"],
    ["malformed", "orders:read "],
    ["malformed", "orders:read  orders:write"],
    ["malformed", "orders:read\torders:write"],
    ["malformed", "orders:read,orders:write\n"],
    ["malformed", 'orders:"read"'],
    ["malformed", "orders:\\read"],
    ["malformed", "orders:réad"],
    ["unknown", "orders:delete"],
    ["unknown beside a known one", "orders:read orders:delete"],
    ["that of another API", "files:read"],
    ["in another case", "Orders:Read"],
    ["a property of every object", "constructor"],
    ["a property of every object", "__proto__"],
  ])("is invalid_scope when it is %s: %j", async (_, scope) => {
    const response = await authorize(testHost().browser(), { client: "web", fields: { scope } });
    expect(answerOf(response)).toEqual(refusal("invalid_scope"));
  });

  it("is invalid_scope beyond the client's subscription", async () => {
    const reader = { ...trustedWeb, subscriptions: { orders: { scopes: ["orders:read"] } } };
    const host = testHost({ clients: [reader] });
    const beyond = { scope: "orders:read orders:write" };
    expect(answerOf(await authorize(host.browser(), { client: "web", fields: beyond }))).toEqual(
      refusal("invalid_scope"),
    );
    expect(redirectParameters(await authorize(host.browser(), { client: "web" }))).toHaveProperty("code");
  });

  it("is invalid_scope when the subscription names a scope that the API has not", async () => {
    const client = { ...trustedWeb, subscriptions: { orders: { scopes: ["orders:read", "orders:admin"] } } };
    const fields = { scope: "orders:admin" };
    const response = await authorize(testHost({ clients: [client] }).browser(), { client: "web", fields });
    expect(answerOf(response)).toEqual(refusal("invalid_scope"));
  });

  it("counts a scope once that is named twice, and keeps the order", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const fields = { scope: "orders:write orders:read orders:write" };
    await authorize(host.browser(), { client: "web", fields });
    expect(host.events.at(-1)).toMatchObject({ scopes: ["orders:write", "orders:read"] });
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
      expect(answerOf(response)).toEqual(refusal("unauthorized_client"));
      expect(host.asked).toEqual([]);
    }
  });

  it("answers before the scope is looked at", async () => {
    const host = testHost({ clients: [{ ...clients.web, subscriptions: {} }] });
    const response = await authorize(host.browser(), { client: "web", fields: { scope: '"' } });
    expect(answerOf(response)).toEqual(refusal("unauthorized_client"));
  });
});

describe("resource (RFC 8707 §2)", () => {
  it("may name the API's audience", async () => {
    const fields = { resource: "https://api.example/orders" };
    expect((await authorize(testHost().browser(), { client: "web", fields })).status).toBe(200);
  });

  it.each([
    "https://api.example/files",
    "https://api.example/orders/",
    "https://api.example/orders#",
    "https://API.example/orders",
    "https://api.example",
    "orders",
    "https://evil.example/orders",
    "https://api.example/orders https://api.example/files",
  ])("is invalid_target when it is %j", async (resource) => {
    const response = await authorize(testHost().browser(), { client: "web", fields: { resource } });
    expect(answerOf(response)).toEqual(refusal("invalid_target"));
  });
});

describe("prompt (OpenID Connect Core §3.1.2.1)", () => {
  it.each(["none login", "none consent", "login none", "consent login none"])(
    "is invalid_request when none stands beside another value: %j",
    async (prompt) => {
      const response = await authorize(testHost().browser(), { client: "web", fields: { prompt } });
      expect(answerOf(response)).toEqual(refusal("invalid_request"));
    },
  );

  it.each(["select", "create", "NONE", "login,consent", "login ", " login", "login  consent"])(
    "is invalid_request with a value that it does not know: %j",
    async (prompt) => {
      const response = await authorize(testHost().browser(), { client: "web", fields: { prompt } });
      expect(answerOf(response)).toEqual(refusal("invalid_request"));
    },
  );

  it("is login_required for none when nobody is signed in", async () => {
    const host = testHost();
    host.session = signedOut;
    const response = await authorize(host.browser(), { client: "web", fields: { prompt: "none" } });
    expect(answerOf(response)).toEqual(refusal("login_required"));
  });

  it("is consent_required for none when consent is missing", async () => {
    const response = await authorize(testHost().browser(), { client: "web", fields: { prompt: "none" } });
    expect(answerOf(response)).toEqual(refusal("consent_required"));
  });

  it("is interaction_required for none when the host needs a page", async () => {
    const host = testHost({ consent: { decide: () => ({ kind: "interaction", url: "/ask" }) } });
    const response = await authorize(host.browser(), { client: "web", fields: { prompt: "none" } });
    expect(answerOf(response)).toEqual(refusal("interaction_required"));
  });

  it("may be login and consent together", async () => {
    const host = testHost({ clients: [trustedWeb] });
    const fields = { prompt: "login consent" };
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(response.headers["location"]).toMatch(/^\/signin\?interaction=/);
    expect(host.asked).toEqual([{ reauthenticate: true, prompt: ["login", "consent"] }]);
  });
});

describe("max_age (OpenID Connect Core §3.1.2.1)", () => {
  it.each(["-1", "+5", "1.5", "1e3", "0x10", "abc", " 5", "5 ", "1234567890", "٣"])(
    "is invalid_request when it is %j",
    async (maxAge) => {
      const response = await authorize(testHost().browser(), { client: "web", fields: { max_age: maxAge } });
      expect(answerOf(response)).toEqual(refusal("invalid_request"));
    },
  );
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
        impliedScopes: {},
        prompt: ["consent"],
        maxAge: 3600,
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
    expect(host.events).toEqual([{ at: now, kind: "server-error", issuer, cause }]);
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
    ["native", "com.example.phone:/callback", "com.example.phone:"],
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
    expect(page.text).toContain(
      `<h1>Allow <bdi>C${escaped}</bdi> to use <bdi>A${escaped}</bdi> for you?</h1>`,
    );
    expect(page.text).toContain(`<title>Allow C${escaped} to use A${escaped} for you?</title>`);
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

describe("a host callback fails (RFC 6749 §4.1.2.1)", () => {
  const thrown: readonly (readonly [string, unknown])[] = [
    ["an Error", new Error("the directory is away")],
    ["text", "the directory is away"],
    ["nothing", undefined],
  ];

  it.each(thrown)("authenticate throws %s", async (_, cause) => {
    const watched = watchedHost();
    watched.host.session = () => {
      throw cause;
    };
    await expectServerError(await authorize(watched.host.browser(), { client: "web" }), watched);
    const event = { at: now, kind: "server-error", issuer, clientId: "web", cause };
    expect(watched.host.events.at(-1)).toEqual(event);
  });

  it.each(thrown)("authenticate rejects with %s", async (_, cause) => {
    const watched = watchedHost();
    watched.host.session = () => Promise.reject(cause);
    await expectServerError(await authorize(watched.host.browser(), { client: "web" }), watched);
    expect(causes(watched.host)).toEqual([cause]);
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["text", "alice"],
    ["true", true],
    ["an empty object", {}],
    ["an unknown kind", { kind: "signed-in", subject: "alice" }],
    ["no subject", { kind: "authenticated" }],
    ["an empty subject", { kind: "authenticated", subject: "" }],
    ["a subject of 256 characters", { kind: "authenticated", subject: "a".repeat(256) }],
    ["a NUL in the subject", { kind: "authenticated", subject: "alice\0" }],
    ["a high surrogate alone in the subject", { kind: "authenticated", subject: "alice\ud83d" }],
    ["a low surrogate alone in the subject", { kind: "authenticated", subject: "\ude00alice" }],
    ["a pair of surrogates in the wrong order", { kind: "authenticated", subject: "\ude00\ud83d" }],
    ["a number as subject", { kind: "authenticated", subject: 42 }],
    ["text as authTime", { kind: "authenticated", subject: "alice", authTime: "now" }],
    ["a Date as authTime", { kind: "authenticated", subject: "alice", authTime: new Date() }],
    ["a fraction as authTime", { kind: "authenticated", subject: "alice", authTime: 1.5 }],
    ["NaN as authTime", { kind: "authenticated", subject: "alice", authTime: Number.NaN }],
    ["milliseconds as authTime", { kind: "authenticated", subject: "alice", authTime: 1_800_000_000_000 }],
    ["null as authTime", { kind: "authenticated", subject: "alice", authTime: null }],
    ["a number as displayName", { kind: "authenticated", subject: "alice", displayName: 42 }],
    ["text as amr", { kind: "authenticated", subject: "alice", amr: "pwd" }],
    ["numbers in amr", { kind: "authenticated", subject: "alice", amr: [1] }],
    ["a number as acr", { kind: "authenticated", subject: "alice", acr: 1 }],
    ["an interaction without a url", { kind: "interaction" }],
    ["an interaction with an empty url", { kind: "interaction", url: "" }],
    ["an interaction with a URL object", { kind: "interaction", url: new URL("https://host.example/in") }],
    ["an interaction with a space in its url", { kind: "interaction", url: "/sign in" }],
    ["an interaction with a line feed in its url", { kind: "interaction", url: "/signin\r\nX: y" }],
    ["an interaction with a url beyond ASCII", { kind: "interaction", url: "/вход" }],
    ["a denial with a line feed", { kind: "denied", description: "a\nb" }],
    ["a denial with a quote", { kind: "denied", description: 'a "b"' }],
    ["a denial with a backslash", { kind: "denied", description: "a\\b" }],
    ["a denial beyond ASCII", { kind: "denied", description: "größer" }],
    ["a denial with an empty text", { kind: "denied", description: "" }],
    ["a denial with a number", { kind: "denied", description: 42 }],
  ])("authenticate answers %s", async (_, answer) => {
    const watched = watchedHost();
    watched.host.session = () => answer as Authentication;
    await expectServerError(await authorize(watched.host.browser(), { client: "web" }), watched);
    expect(causes(watched.host)).toEqual([expect.any(TypeError)]);
  });

  it.each(thrown)("decide throws %s", async (_, cause) => {
    const decide = (): ConsentAnswer => {
      throw cause;
    };
    const watched = watchedHost({ consent: { decide } });
    await expectServerError(await authorize(watched.host.browser(), { client: "web" }), watched);
    expect(causes(watched.host)).toEqual([cause]);
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["text", "granted"],
    ["true", true],
    ["an empty object", {}],
    ["an unknown kind", { kind: "allowed", scopes: ["orders:read"] }],
    ["granted without scopes", { kind: "granted" }],
    ["granted with text", { kind: "granted", scopes: "orders:read" }],
    ["granted with a set", { kind: "granted", scopes: new Set(["orders:read"]) }],
    ["granted with numbers", { kind: "granted", scopes: [1] }],
    ["a scope that was not asked for", { kind: "granted", scopes: ["orders:read", "orders:write"] }],
    ["an interaction without a url", { kind: "interaction" }],
    ["an interaction with an empty url", { kind: "interaction", url: "" }],
    ["an interaction with a URL object", { kind: "interaction", url: new URL("https://host.example/ask") }],
    ["an interaction with a space in its url", { kind: "interaction", url: "/ask me" }],
    ["an interaction with a line feed in its url", { kind: "interaction", url: "/ask\r\nX: y" }],
    ["an interaction with a url beyond ASCII", { kind: "interaction", url: "/вопрос" }],
  ])("decide answers %s", async (_, answer) => {
    const watched = watchedHost({ consent: { decide: () => answer as ConsentAnswer } });
    await expectServerError(await authorize(watched.host.browser(), { client: "web" }), watched);
    expect(causes(watched.host)).toEqual([expect.any(TypeError)]);
  });

  it("ends an interaction when it fails on the way back, and the next request starts anew", async () => {
    const host = testHost();
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    host.session = () => Promise.reject(new Error("the directory is away"));
    const failed = await browser.answer(page, "approve");
    expect(answerOf(failed)).toEqual(refusal("server_error", { status: 303 }));
    expect(browser.cookies.size).toBe(0);
    host.session = signedIn;
    expect(await obtainCode(host, { client: "web", browser })).toEqual(expect.any(String));
  });

  it.each([
    [300, 200],
    [301, 302],
  ])("takes an authTime %i seconds ahead, as of another machine's clock: %i", async (ahead, status) => {
    const { host } = watchedHost();
    host.session = { kind: "authenticated", subject: "alice", authTime: now + ahead };
    expect((await authorize(host.browser(), { client: "web" })).status).toBe(status);
  });

  it("leaves the answer of a host that has answered already: a timeout, say", async () => {
    const method = {
      authenticate({ req }: { req: Request }): Authentication {
        req.res?.status(503).send("too late");
        return signedIn;
      },
    };
    const host = testHost({ authMethods: { password: method, otp: method, sso: method } });
    const response = await authorize(host.browser(), { client: "web" });
    expect([response.status, response.text]).toEqual([503, "too late"]);
  });

  it("answers all the same when onEvent throws or rejects", async () => {
    for (const onEvent of [
      () => Promise.reject(new Error("the log is full")),
      () => {
        throw new Error("the log is full");
      },
    ]) {
      const host = testHost({ clients: [trustedWeb], onEvent });
      expect(redirectParameters(await authorize(host.browser(), { client: "web" }))).toHaveProperty("code");
    }
  });
});

describe("subjects and client ids (RFC 9068 §5)", () => {
  it.each(["web", "spa", "machine"])("refuses a subject that is the client id %s", async (subject) => {
    const { host, writes } = watchedHost({ clients: [trustedWeb, clients.spa, clients.machine] });
    host.session = { kind: "authenticated", subject };
    const response = await authorize(host.browser(), { client: "web" });
    expect(answerOf(response)).toEqual(refusal("server_error"));
    expect(causes(host)).toEqual([expect.any(TypeError)]);
    expect(writes).toEqual([]);
  });

  it.each([
    ["words beyond ASCII", "größe und länge"],
    ["characters of one to four bytes in UTF-8", "ä€😀"],
    ["255 characters", "a".repeat(255)],
    ["254 surrogates in pairs and a letter", `${"😀".repeat(127)}a`],
    ["control characters other than NUL", "a\u0001\u007f\n"],
  ])("takes a subject that no client can have, as it is: %s", async (_, subject) => {
    const host = testHost({ clients: [trustedWeb] });
    host.session = { kind: "authenticated", subject };
    const { access_token } = await obtainTokens(host, { client: "web" });
    const { body } = await callApi(host, "/orders", access_token);
    expect(body).toMatchObject({ subject });
  });
});

describe("storage fails: server_error and nothing half done", () => {
  const cause = new Error("the database is away");

  /** A host whose storage fails at one call, counted from 1 within the request that `arm` precedes. */
  function failingHost(failure: { call: string; time: number }): {
    host: TestHost;
    arm: () => void;
    disarm: () => void;
  } {
    let calls = Number.NaN;
    const storage = intercept(memoryStorage({ clients: Object.values(clients) }), (name, call) => {
      if (name === failure.call) calls += 1;
      return name === failure.call && calls === failure.time ? Promise.reject(cause) : call();
    });
    return {
      host: testHost({ storage, revocationLagSeconds: 0 }),
      arm: () => void (calls = 0),
      disarm: () => void (calls = Number.NaN),
    };
  }

  it.each([
    ["clients.find", 2],
    ["consents.find", 1],
  ])("on the first visit, at %s (call %i)", async (call, time) => {
    const { host, arm, disarm } = failingHost({ call, time });
    const browser = host.browser();
    arm();
    const failed = await authorize(browser, { client: "web" });
    expect(answerOf(failed)).toEqual(refusal("server_error"));
    expect(causes(host)).toEqual([cause]);
    expect(browser.cookies.size).toBe(0);
    disarm();
    expect(await obtainCode(host, { client: "web", browser })).toEqual(expect.any(String));
  });

  it.each([
    ["clients.find", 2],
    ["consents.find", 1],
    ["consents.save", 1],
    ["authorizations.create", 1],
    ["authorizationCodes.create", 1],
  ])("at the approval, at %s (call %i)", async (call, time) => {
    const { host, arm, disarm } = failingHost({ call, time });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    arm();
    const failed = await browser.answer(page, "approve");
    expect(answerOf(failed)).toEqual(refusal("server_error", { status: 303 }));
    expect(causes(host)).toEqual([cause]);
    expect(host.events.some(({ kind }) => kind === "authorization-granted")).toBe(false);
    expect(await host.auth.consents.list("alice")).toEqual([]);
    disarm();
    expect((await authorize(browser, { client: "web" })).status).toBe(200);
    expect(await obtainCode(host, { client: "web", browser })).toEqual(expect.any(String));
  });

  it("at the approval, when the client cannot be looked up: a page, as there is no proven redirect URI", async () => {
    const { host, arm, disarm } = failingHost({ call: "clients.find", time: 1 });
    const browser = host.browser();
    const page = await authorize(browser, { client: "web" });
    arm();
    const failed = await browser.answer(page, "approve");
    expect(failed.status).toBe(500);
    expect(causes(host)).toEqual([cause]);
    expect(await host.auth.consents.list("alice")).toEqual([]);
    disarm();
    expect(await obtainCode(host, { client: "web", browser })).toEqual(expect.any(String));
  });

  it.each(["authorizations.create", "authorizationCodes.create"])(
    "without a question, at %s",
    async (call) => {
      const { host, arm } = failingHost({ call, time: 1 });
      await obtainCode(host, { client: "web" });
      arm();
      const failed = await authorize(host.browser(), { client: "web" });
      expect(answerOf(failed)).toEqual(refusal("server_error"));
      expect(causes(host)).toEqual([cause]);
      expect(redirectParameters(await authorize(host.browser(), { client: "web" }))).toHaveProperty("code");
    },
  );

  it("gives no code away when its storing failed", async () => {
    const handles: string[] = [];
    const memory = memoryStorage({ clients: [trustedWeb] });
    const storage: Storage = {
      ...memory,
      authorizations: {
        ...memory.authorizations,
        create: async (authorization, at) => {
          handles.push(authorization.authorizationId);
          await memory.authorizations.create(authorization, at);
        },
      },
      authorizationCodes: { ...memory.authorizationCodes, create: () => Promise.reject(cause) },
    };
    const host = testHost({ storage });
    await authorize(host.browser(), { client: "web" });
    const guess = `${handles[0] ?? ""}.${"A".repeat(43)}`;
    expect((await redeem(host, { client: "web", code: guess })).body).toMatchObject({
      error: "invalid_grant",
    });
  });
});

describe("a request too big for a cookie (RFC 6265 §6.1)", () => {
  const fields = { state: "x".repeat(3_000) };

  it.each([
    ["sign-in", signedOut],
    ["consent", signedIn],
  ])("is invalid_request when it has to wait for %s", async (_, session) => {
    const { host, writes } = watchedHost();
    host.session = session;
    const response = await authorize(host.browser(), { client: "web", fields });
    expect(answerOf(response)).toEqual({
      ...refusal("invalid_request"),
      parameters: {
        error: "invalid_request",
        error_description: "The authorization request is too long.",
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
