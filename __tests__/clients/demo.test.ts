import { setTimeout as delay } from "node:timers/promises";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { AuthorizationCode, ClientCredentials } from "simple-oauth2";
import { type Example, newWebBrowser, type Page, startExample, type WebBrowser } from "./example";

jest.setTimeout(60_000);

let demo: Example;

beforeAll(async () => {
  demo = await startExample("demo/server.js", /Confidential clients[^]*machine .*\n/);
});
afterAll(() => demo.stop());

/** The password or client secret that the demo has printed beside a name. */
function secretOf(name: string): string {
  return new RegExp(`^  ${name} +(.+)$`, "m").exec(demo.printed.out)?.[1] ?? "";
}

const orders = { method: "password", api: "orders" };
const reports = { method: "otp", api: "reports" };

function issuerOf({ method, api }: typeof orders): string {
  return `${demo.origin}/login/auth/${method}/api/${api}`;
}

/** What a client is told of an authorization server. */
function metadataOf(pair: typeof orders) {
  const issuer = issuerOf(pair);
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    authorization_response_iss_parameter_supported: true,
  };
}

const redirectUri = {
  web: () => `${demo.origin}/web/callback`,
  portal: () => `${demo.origin}/portal/callback`,
  browser: () => `${demo.origin}/browser/callback`,
  native: () => `${demo.origin.replace("localhost", "127.0.0.1")}/native/callback`,
};

let codesRead = 0;

/** The one-time code that was sent last, once it has come through. */
async function readCode(): Promise<string> {
  for (;;) {
    const codes = [...demo.printed.out.matchAll(/One-time code for alice: (\d{6})\n/g)];
    if (codes.length > codesRead) {
      codesRead = codes.length;
      return codes.at(-1)?.[1] ?? "";
    }
    await delay(5);
  }
}

/** Fills in the page that the person sees. */
async function answerPage(browser: WebBrowser, page: Page, stopAt: string | undefined): Promise<Page> {
  if (page.url.pathname === "/signin/password")
    return browser.submit(page, { name: "alice", password: secretOf("alice") }, stopAt);
  if (page.text.includes('name="sent"')) return browser.submit(page, { code: await readCode() }, stopAt);
  if (page.url.pathname === "/signin/otp") return browser.submit(page, { name: "alice" }, stopAt);
  return browser.submit(page, { decision: "approve" }, stopAt);
}

/** Alice signs in and allows what is asked, until the browser is sent to `stopAt` or shown the start page. */
async function goThrough(browser: WebBrowser, url: URL | string, stopAt?: string): Promise<URL> {
  let page = await browser.open(url, stopAt);
  for (let pages = 0; pages < 5 && page.status > 0 && page.url.pathname !== "/"; pages += 1) {
    page = await answerPage(browser, page, stopAt);
  }
  return page.url;
}

function callApi(api: string, accessToken: unknown): Promise<Response> {
  return fetch(`${demo.origin}/api/${api}`, { headers: { authorization: `Bearer ${String(accessToken)}` } });
}

/** What a promise was rejected with. */
async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

function configureOpenid(
  clientId: "web" | "portal" | "machine",
  pair = orders,
  authentication = openid.ClientSecretBasic(secretOf(clientId)),
): openid.Configuration {
  const config = new openid.Configuration(metadataOf(pair), clientId, undefined, authentication);
  openid.allowInsecureRequests(config);
  return config;
}

/** The callback URL of a whole authorization request, and the checks that belong to it. */
async function authorizeOpenid(
  config: openid.Configuration,
  { browser = newWebBrowser(), ...parameters }: { browser?: WebBrowser } & Record<string, unknown> = {},
) {
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const expectedState = openid.randomState();
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri.web(),
    scope: "orders:read",
    state: expectedState,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
    ...parameters,
  });
  const callback = await goThrough(browser, url, redirectUri.web());
  return { callback, checks: { pkceCodeVerifier, expectedState } };
}

describe("openid-client", () => {
  it("takes a confidential client with PKCE through sign-in and consent to the API, and refreshes", async () => {
    const config = configureOpenid("web");
    const { callback, checks } = await authorizeOpenid(config, { scope: "orders:read orders:write" });
    const tokens = await openid.authorizationCodeGrant(config, callback, checks);
    expect(tokens).toMatchObject({ token_type: "bearer", scope: "orders:read orders:write" });
    expect(tokens.expiresIn()).toBeGreaterThan(590);
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "");
    expect(refreshed.refresh_token).not.toBe(tokens.refresh_token);
    const url = new URL(`${demo.origin}/api/orders`);
    const answer = await openid.fetchProtectedResource(config, refreshed.access_token, url, "GET");
    expect(await answer.json()).toMatchObject({ orders: [{ of: "alice" }] });
  });

  it("serves the second authentication method and the opaque API", async () => {
    const config = configureOpenid("web", reports);
    const { callback, checks } = await authorizeOpenid(config, { scope: "reports:read" });
    const tokens = await openid.authorizationCodeGrant(config, callback, checks);
    expect(tokens.access_token).not.toContain(".");
    expect(tokens.expires_in).toBe(120);
    expect((await callApi("reports", tokens.access_token)).status).toBe(200);
  });

  it("trusts the answer of its own issuer and of no other (RFC 9207 §2.4)", async () => {
    const { callback, checks } = await authorizeOpenid(configureOpenid("web"));
    const other = configureOpenid("web", { method: "otp", api: "orders" });
    const error = await rejection(openid.authorizationCodeGrant(other, callback, checks));
    expect(error).toHaveProperty("cause.message", 'unexpected "iss" (issuer) response parameter value');
  });

  it.each([
    ["client_secret_basic", openid.ClientSecretBasic],
    ["client_secret_post", openid.ClientSecretPost],
  ])("gets client credentials with %s", async (_, authentication) => {
    const config = configureOpenid("machine", orders, authentication(secretOf("machine")));
    const tokens = await openid.clientCredentialsGrant(config, { scope: "orders:read" });
    expect(tokens).toMatchObject({ token_type: "bearer", expires_in: 600, scope: "orders:read" });
    expect(tokens).not.toHaveProperty("refresh_token");
    expect((await callApi("orders", tokens.access_token)).status).toBe(200);
  });

  it("asks nobody for a trusted client", async () => {
    const config = configureOpenid("portal");
    const browser = newWebBrowser();
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri.portal(),
      scope: "orders:read",
    });
    const signIn = await browser.open(url);
    const { url: callback } = await answerPage(browser, signIn, redirectUri.portal());
    const tokens = await openid.authorizationCodeGrant(config, callback);
    expect(tokens.refresh_token).toEqual(expect.any(String));
  });

  it("is told that the end user has denied", async () => {
    const config = configureOpenid("web");
    const browser = newWebBrowser();
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri.web(),
      state: "a state",
      prompt: "consent",
    });
    const consent = await answerPage(browser, await browser.open(url), undefined);
    const { url: callback } = await browser.submit(consent, { decision: "deny" }, redirectUri.web());
    const checks = { expectedState: "a state" };
    const error = await rejection(openid.authorizationCodeGrant(config, callback, checks));
    expect(error).toBeInstanceOf(openid.AuthorizationResponseError);
    expect(error).toMatchObject({ error: "access_denied" });
  });

  it("is told that the end user has cancelled on the sign-in page", async () => {
    const config = configureOpenid("web");
    const browser = newWebBrowser();
    const url = openid.buildAuthorizationUrl(config, { redirect_uri: redirectUri.web(), state: "a state" });
    const signIn = await browser.open(url);
    const cancel = new URL(`/signin/cancel${signIn.url.search}`, demo.origin);
    const { url: callback } = await browser.submit({ ...signIn, url: cancel }, {}, redirectUri.web());
    const checks = { expectedState: "a state" };
    const error = await rejection(openid.authorizationCodeGrant(config, callback, checks));
    expect(error).toMatchObject({ error: "access_denied" });
  });

  it("is told of a replayed code, which ends what the code has brought (RFC 6749 §4.1.2)", async () => {
    const config = configureOpenid("web");
    const { callback, checks } = await authorizeOpenid(config);
    const tokens = await openid.authorizationCodeGrant(config, callback, checks);
    const error = await rejection(openid.authorizationCodeGrant(config, callback, checks));
    expect(error).toBeInstanceOf(openid.ResponseBodyError);
    expect(error).toMatchObject({ error: "invalid_grant", status: 400 });
    expect((await callApi("orders", tokens.access_token)).status).toBe(401);
    const refresh = openid.refreshTokenGrant(config, tokens.refresh_token ?? "");
    expect(await rejection(refresh)).toMatchObject({ error: "invalid_grant" });
  });

  it("is told of a wrong secret: in the body as an error, with Basic as a challenge (RFC 6749 §5.2)", async () => {
    const inBody = configureOpenid("machine", orders, openid.ClientSecretPost("a guess"));
    const byBasic = configureOpenid("machine", orders, openid.ClientSecretBasic("a guess"));
    expect(await rejection(openid.clientCredentialsGrant(inBody))).toMatchObject({
      error: "invalid_client",
      status: 401,
    });
    expect(await rejection(openid.clientCredentialsGrant(byBasic))).toMatchObject({
      code: "OAUTH_WWW_AUTHENTICATE_CHALLENGE",
      status: 401,
      cause: [{ scheme: "basic", parameters: { realm: issuerOf(orders) } }],
    });
  });

  it("is shown the challenges of the API (RFC 6750 §3)", async () => {
    const config = configureOpenid("machine");
    const { access_token } = await openid.clientCredentialsGrant(config, { scope: "orders:read" });
    const call = (api: string, method: string) =>
      rejection(
        openid.fetchProtectedResource(config, access_token, new URL(`${demo.origin}/api/${api}`), method),
      );
    expect(await call("reports", "GET")).toMatchObject({
      status: 401,
      cause: [{ scheme: "bearer", parameters: { error: "invalid_token" } }],
    });
    expect(await call("orders", "POST")).toMatchObject({
      status: 403,
      cause: [{ scheme: "bearer", parameters: { error: "insufficient_scope", scope: "orders:write" } }],
    });
  });
});

describe("oauth4webapi", () => {
  const insecure = { [oauth.allowInsecureRequests]: true };

  interface Request {
    readonly clientId: "native" | "browser";
    readonly browser?: WebBrowser;
    readonly parameters?: Record<string, string>;
  }

  /** The answer of the authorization endpoint, not checked yet. */
  async function authorize({ clientId, browser = newWebBrowser(), parameters = {} }: Request) {
    const codeVerifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const url = new URL(metadataOf(orders).authorization_endpoint);
    url.search = new URLSearchParams({
      client_id: clientId,
      response_type: "code",
      redirect_uri: redirectUri[clientId](),
      scope: "orders:read",
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: "S256",
      ...parameters,
    }).toString();
    const callback = await goThrough(browser, url, redirectUri[clientId]());
    return { callback, codeVerifier, state };
  }

  /** The tokens of a whole authorization code grant of a public client. */
  async function obtainTokens(asked: Request): Promise<oauth.TokenEndpointResponse> {
    const as = metadataOf(orders);
    const client = { client_id: asked.clientId };
    const { callback, codeVerifier, state } = await authorize(asked);
    const answer = oauth.validateAuthResponse(as, client, callback, state);
    const uri = redirectUri[asked.clientId]();
    const response = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      oauth.None(),
      answer,
      uri,
      codeVerifier,
      insecure,
    );
    return oauth.processAuthorizationCodeResponse(as, client, response);
  }

  it("takes a native client with a loopback redirect to the API, and refreshes without a secret", async () => {
    const tokens = await obtainTokens({ clientId: "native" });
    const as = metadataOf(orders);
    const client = { client_id: "native" };
    const response = await oauth.refreshTokenGrantRequest(
      as,
      client,
      oauth.None(),
      tokens.refresh_token ?? "",
      insecure,
    );
    const refreshed = await oauth.processRefreshTokenResponse(as, client, response);
    const url = new URL(`${demo.origin}/api/orders`);
    const call = await oauth.protectedResourceRequest(
      refreshed.access_token,
      "GET",
      url,
      undefined,
      null,
      insecure,
    );
    expect(call.status).toBe(200);
  });

  it("is told of a reused refresh token, which ends the new one too (RFC 9700 §4.14.2)", async () => {
    const as = metadataOf(orders);
    const client = { client_id: "native" };
    const refresh = async (token = "") => {
      const response = await oauth.refreshTokenGrantRequest(as, client, oauth.None(), token, insecure);
      return oauth.processRefreshTokenResponse(as, client, response);
    };
    const first = await obtainTokens({ clientId: "native" });
    const second = await refresh(first.refresh_token);
    expect(await rejection(refresh(first.refresh_token))).toBeInstanceOf(oauth.ResponseBodyError);
    expect(await rejection(refresh(second.refresh_token))).toMatchObject({ error: "invalid_grant" });
  });

  it("refreshes a browser client silently with prompt=none, without any page", async () => {
    const browser = newWebBrowser();
    const first = await obtainTokens({ clientId: "browser", browser });
    expect(first).not.toHaveProperty("refresh_token");
    const silent: WebBrowser = {
      open: (url, stopAt) => browser.open(url, stopAt),
      submit: () => Promise.reject(new Error("a page")),
      post: (url, body) => browser.post(url, body),
    };
    const second = await obtainTokens({
      clientId: "browser",
      browser: silent,
      parameters: { prompt: "none" },
    });
    expect(second.access_token).not.toBe(first.access_token);
    expect((await callApi("orders", second.access_token)).status).toBe(200);
  });

  it.each([
    ["login_required", { prompt: "none" }],
    ["invalid_request", { code_challenge: "", code_challenge_method: "" }],
    ["invalid_scope", { scope: "orders:delete" }],
    ["invalid_target", { resource: "https://other.example/" }],
  ])("is told %s by redirect", async (error, parameters) => {
    const { callback, state } = await authorize({ clientId: "browser", parameters });
    const validate = () =>
      oauth.validateAuthResponse(metadataOf(orders), { client_id: "browser" }, callback, state);
    expect(validate).toThrow(oauth.AuthorizationResponseError);
    expect(callback.searchParams.get("error")).toBe(error);
  });

  it("is told that a public client may not use client credentials (RFC 6749 §4.4)", async () => {
    const as = metadataOf(orders);
    const client = { client_id: "native" };
    const response = await oauth.clientCredentialsGrantRequest(as, client, oauth.None(), {}, insecure);
    const processed = oauth.processClientCredentialsResponse(as, client, response);
    expect(await rejection(processed)).toMatchObject({ error: "unauthorized_client", status: 400 });
  });
});

function configureSimple(clientId: "web" | "machine", authorizationMethod: "header" | "body") {
  const path = new URL(issuerOf(orders)).pathname;
  return {
    client: { id: clientId, secret: secretOf(clientId) },
    auth: { tokenHost: demo.origin, tokenPath: `${path}/token` },
    options: { authorizationMethod },
  };
}

function codeClient(method: "header" | "body"): AuthorizationCode {
  const { auth, ...config } = configureSimple("web", method);
  const authorizePath = `${new URL(issuerOf(orders)).pathname}/authorize`;
  return new AuthorizationCode({ ...config, auth: { ...auth, authorizePath } });
}

describe("simple-oauth2", () => {
  const methods = ["header", "body"] as const;

  it.each(methods)(
    "takes a client without PKCE to the API and refreshes, secret in the %s",
    async (method) => {
      const client = codeClient(method);
      const redirect_uri = redirectUri.web();
      const url = client.authorizeURL({ redirect_uri, scope: ["orders:read"], state: "a state" });
      const callback = await goThrough(newWebBrowser(), url, redirect_uri);
      expect(callback.searchParams.get("state")).toBe("a state");
      const code = callback.searchParams.get("code") ?? "";
      const first = await client.getToken({ code, redirect_uri });
      expect(first.expired()).toBe(false);
      const second = await first.refresh();
      expect(second.token["refresh_token"]).not.toBe(first.token["refresh_token"]);
      expect((await callApi("orders", second.token["access_token"])).status).toBe(200);
    },
  );

  it.each(methods)("gets client credentials, secret in the %s", async (method) => {
    const { token } = await new ClientCredentials(configureSimple("machine", method)).getToken({
      scope: "orders:read",
    });
    expect((await callApi("orders", token["access_token"])).status).toBe(200);
  });

  it("is told of a code that is none", async () => {
    const redeemed = codeClient("header").getToken({ code: "none", redirect_uri: redirectUri.web() });
    expect(await rejection(redeemed)).toMatchObject({
      output: { statusCode: 400 },
      data: { payload: { error: "invalid_grant" } },
    });
  });
});

interface Step {
  readonly by: string;
  readonly method: string;
  readonly url: string;
  readonly sent: Readonly<Record<string, string>>;
  readonly status: number;
  readonly answer: Readonly<Record<string, string>>;
}

const choices = {
  ...orders,
  prompt: "consent",
  scope: "orders:read orders:write",
  pkce: true,
  sendRedirectUri: true,
};

async function newVisitor(): Promise<WebBrowser> {
  const browser = newWebBrowser();
  await browser.open(`${demo.origin}/`);
  return browser;
}

async function press(
  browser: WebBrowser,
  clientId: string,
  action: string,
  chosen: object = {},
): Promise<unknown> {
  const url = `${demo.origin}/programs/${clientId}/${action}`;
  const { status, body } = await browser.post(url, { ...choices, ...chosen });
  expect(status).toBe(200);
  return body;
}

async function takeSteps(browser: WebBrowser): Promise<readonly Step[]> {
  return (await browser.post(`${demo.origin}/steps`)).body as Step[];
}

/** "Get a token" for a client program outside the browser. */
async function start(browser: WebBrowser, clientId: string, chosen: object = {}): Promise<void> {
  const { url } = (await press(browser, clientId, "start", chosen)) as { url: string };
  const end = await goThrough(browser, url);
  expect(end.href).toBe(`${demo.origin}/`);
}

const brief = ({ by, method, url, status }: Step): string => `${by} ${method} ${url} ${status}`;

describe("the start page of the demo", () => {
  it("loads nothing but what the demo serves, and all of that answers", async () => {
    const found = new Set<string>(["/"]);
    for (const path of found) {
      const response = await fetch(demo.origin + path);
      expect([path, response.status]).toEqual([path, 200]);
      const text = await response.text();
      for (const [, link = ""] of text.matchAll(/(?:href|src|from)=?\s?"([^"]+)"/g)) {
        if (!link.startsWith("data:")) found.add(new URL(link, demo.origin + path).pathname);
      }
    }
    expect([...found].toSorted()).toEqual([
      "/",
      "/account",
      "/browser-app.mjs",
      "/client-program.mjs",
      "/demo.css",
      "/demo.mjs",
      "/signin/otp",
      "/signin/password",
      "/steps.mjs",
    ]);
  });

  it("runs no inline script and lets nobody frame it", async () => {
    const response = await fetch(demo.origin);
    const policy = response.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(await response.text()).not.toMatch(/<script>| on\w+=| style=/);
  });

  it.each(["web", "portal", "native", "machine"])("does what every button says for %s", async (clientId) => {
    const browser = await newVisitor();
    const { text } = await browser.open(`${demo.origin}/`);
    const inThePage = ["startWithoutPkce", "promptNoneSignedOut", "silentRefresh", "callOtherApi", "clear"];
    const buttons = [...text.matchAll(/data-action="(\w+)"/g)].map(([, action]) => action ?? "");
    expect(buttons).toEqual(expect.arrayContaining(inThePage));
    const pressed = buttons.filter((action) => action !== "start" && !inThePage.includes(action));
    for (const action of pressed) await press(browser, clientId, action);
    const steps = await takeSteps(browser);
    expect(steps).toHaveLength(pressed.length);
    expect(steps.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
  });

  it("writes down every step of the Web Shop, there and back", async () => {
    const browser = await newVisitor();
    await start(browser, "web");
    expect((await takeSteps(browser)).map(brief).toSorted()).toEqual(
      [
        "Browser GET /login/auth/password/api/orders/authorize 302",
        "Browser GET /signin/password 200",
        "Browser POST /signin/password 303",
        "Browser GET /login/auth/password/api/orders/authorize/resume 200",
        "Browser POST /login/auth/password/api/orders/authorize/consent 303",
        "Browser GET /web/callback 303",
        "Web Shop POST /login/auth/password/api/orders/token 200",
      ].toSorted(),
    );
    expect((await browser.post(`${demo.origin}/person`)).body).toEqual({ subject: "alice" });
  });

  it("provokes replays, which end the authorization", async () => {
    const browser = await newVisitor();
    await start(browser, "web");
    await takeSteps(browser);
    for (const action of ["call", "refresh", "reuseRefreshToken", "call", "replayCode"])
      await press(browser, "web", action);
    const answers = (await takeSteps(browser)).map(({ status, answer }) => [status, answer["error"]]);
    expect(answers).toEqual([
      [200, undefined],
      [200, undefined],
      [400, "invalid_grant"],
      [401, "invalid_token"],
      [400, "invalid_grant"],
    ]);
  });

  it.each([
    ["a public client without PKCE", "native", { pkce: false }, "invalid_request"],
    ["prompt=none without a session", "web", { prompt: "none" }, "login_required"],
    ["a missing scope", "portal", { ...reports, scope: "" }, "invalid_scope"],
  ])("shows what comes back for %s", async (_, clientId, chosen, error) => {
    const browser = await newVisitor();
    await start(browser, clientId, chosen);
    const callback = (await takeSteps(browser)).find(({ url }) => url === `/${clientId}/callback`);
    expect(callback?.sent).toMatchObject({ error, iss: issuerOf({ ...orders, ...chosen }) });
  });

  it("answers the Phone App at 127.0.0.1, by its state", async () => {
    const browser = await newVisitor();
    await start(browser, "native");
    const steps = (await takeSteps(browser)).map(brief);
    expect(steps).toContain("Browser GET /native/callback 303");
    expect(steps).toContain("Phone App POST /login/auth/password/api/orders/token 200");
  });

  it("refuses an answer that another browser has asked for (RFC 9700 §4.7)", async () => {
    const attacker = await newVisitor();
    const { url } = (await press(attacker, "web", "start")) as { url: string };
    const callback = await goThrough(attacker, url, redirectUri.web());
    const victim = await newVisitor();
    expect((await victim.open(callback)).status).toBe(400);
    expect(await takeSteps(victim)).toHaveLength(1);
  });

  it("publishes which pairs are valid, and answers 404 at the others", async () => {
    const metadata = await fetch(`${demo.origin}/.well-known/oauth-protected-resource/api/reports`);
    expect(await metadata.json()).toMatchObject({ authorization_servers: [issuerOf(reports)] });
    const invalid = await fetch(`${issuerOf({ method: "password", api: "reports" })}/authorize`);
    expect(invalid.status).toBe(404);
  });

  it("lets a person take back on the account page what they allowed", async () => {
    const browser = await newVisitor();
    await start(browser, "web");
    const account = await browser.open(`${demo.origin}/account`);
    expect(account.text).toContain("<strong>web</strong> may use <strong>orders</strong>");
    const after = await browser.submit(account, { clientId: "web", apiId: "orders" });
    expect(after.text).not.toContain("<strong>web</strong> may use <strong>orders</strong>");
    await takeSteps(browser);
    await press(browser, "web", "call");
    expect((await takeSteps(browser)).map(({ status }) => status)).toEqual([401]);
  });

  it.each(["password", "otp"])(
    "signs in to the account page with %s, and refuses a wrong answer",
    async (method) => {
      const browser = newWebBrowser();
      let page = await browser.open(`${demo.origin}/signin/${method}`);
      if (method === "otp") page = await browser.submit(page, { name: "alice" });
      const refused = await browser.submit(page, { name: "alice", password: "a guess", code: "a guess" });
      expect(refused.status).toBe(403);
      const account = await answerPage(browser, refused, undefined);
      expect(account.text).toContain("You are <strong>alice</strong>");
    },
  );

  it("takes no form from another site", async () => {
    const body = new URLSearchParams({ name: "alice", password: secretOf("alice") });
    const headers = { origin: "https://attacker.example" };
    const response = await fetch(`${demo.origin}/signin/password`, { method: "POST", headers, body });
    expect(response.status).toBe(403);
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it("sends visitors of 127.0.0.1 to localhost, where its cookies are", async () => {
    const response = await fetch(demo.origin.replace("localhost", "127.0.0.1"), { redirect: "manual" });
    expect(response.headers.get("location")).toBe(demo.origin);
  });
});

it("the demo has printed no stack trace and no failure", () => {
  expect(demo.printed.err).not.toMatch(/^\s+at /m);
  expect(demo.printed.out).not.toContain("server-error");
});
