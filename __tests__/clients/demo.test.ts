import { existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { type Browser, type BrowserContext, chromium, type Page as Tab } from "playwright-core";
import { AuthorizationCode, ClientCredentials } from "simple-oauth2";
import { failures, flow, furtherSteps } from "../../examples/demo/stories";
import { describeWith } from "../fixture/server-process";
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
const validPairs = [orders, { method: "otp", api: "orders" }, reports];
const scopeOf: Readonly<Record<string, string>> = {
  orders: "orders:read orders:write",
  reports: "reports:read",
};

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
    readonly pair?: typeof orders;
    readonly browser?: WebBrowser;
    readonly parameters?: Record<string, string>;
  }

  /** The answer of the authorization endpoint, not checked yet. */
  async function authorize({ clientId, pair = orders, browser = newWebBrowser(), parameters }: Request) {
    const codeVerifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const url = new URL(metadataOf(pair).authorization_endpoint);
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
    const as = metadataOf(asked.pair ?? orders);
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

  it.each(validPairs)("takes a browser client to the API at ($method, $api)", async (pair) => {
    const parameters = { scope: scopeOf[pair.api] ?? "" };
    const tokens = await obtainTokens({ clientId: "browser", pair, parameters });
    expect(tokens).not.toHaveProperty("refresh_token");
    expect((await callApi(pair.api, tokens.access_token)).status).toBe(200);
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
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, string>>;
  readonly events: readonly Readonly<Record<string, string>>[];
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

interface Told {
  readonly actions: readonly string[];
  readonly choices?: object;
}

/** Does what the script of the page does when a button is pressed, and gives the steps it took. */
async function tell(
  story: Told,
  { browser, clientId, chosen }: { browser: WebBrowser; clientId: string; chosen?: object },
): Promise<readonly Step[]> {
  const all = { ...choices, prompt: "", ...chosen, ...story.choices };
  const other = all.api === "orders" ? "reports" : "orders";
  const inThePage: Record<string, () => Promise<unknown>> = {
    start: () =>
      clientId === "machine"
        ? press(browser, clientId, "clientCredentials", all)
        : start(browser, clientId, all),
    async open() {
      const { url } = (await press(browser, clientId, "start", all)) as { url: string };
      return browser.open(url);
    },
    signOut: () => browser.post(`${demo.origin}/signout`),
    callOtherApi: () => press(browser, clientId, "call", { ...all, api: other }),
  };
  for (const action of story.actions) {
    await (inThePage[action]?.() ?? press(browser, clientId, action, all));
  }
  return takeSteps(browser);
}

/** What a step was refused with: the end of its URL, its status, the error, and the reason in the host's event. */
function refusals(steps: readonly Step[]): unknown[] {
  return steps.flatMap(({ url, status, headers, body, events }) => {
    const { searchParams } = new URL(headers["location"] || "/", demo.origin);
    const error = body["error"] ?? searchParams.get("error") ?? undefined;
    const reason = events.find((event) => "reason" in event)?.["reason"];
    const isRefused = status >= 400 || error !== undefined || reason !== undefined;
    return isRefused ? [[url.split("/").at(-1), status, error, reason]] : [];
  });
}

/** The texts of the page, as a person reads them. */
const unescape = (html: string): string =>
  html.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));

/** Everything that the start page leads to by itself. */
const served = [
  "/",
  "/account",
  "/browser-app.mjs",
  "/client-program.mjs",
  "/demo.css",
  "/demo.mjs",
  "/dom.mjs",
  "/picture.mjs",
  "/recorded-fetch.mjs",
  "/refusal.mjs",
  "/signin/otp",
  "/signin/password",
  "/start-page.css",
  "/step-view.mjs",
  "/steps.mjs",
  "/token-view.mjs",
];

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
    expect([...found].toSorted()).toEqual(served);
  });

  it("has no address of another site in any page, script or stylesheet", async () => {
    const browser = await newVisitor();
    const { url } = (await press(browser, "web", "start")) as { url: string };
    const signIn = await browser.open(url);
    const consent = await answerPage(browser, signIn, undefined);
    const notAsked = await browser.open(redirectUri.web());
    const account = await browser.open(`${demo.origin}/account`);
    const pages = [signIn, consent, notAsked, account];
    for (const path of served) pages.push(await browser.open(demo.origin + path));
    const ours = [demo.origin, demo.origin.replace("localhost", "127.0.0.1"), "http://www.w3.org/2000/svg"];
    const addresses = pages.flatMap(
      ({ text }) => text.match(/https?:\/\/[^\s"'`<&;]+|["'(]\/\/\w[^\s"'`]*/g) ?? [],
    );
    expect(addresses.filter((address) => !ours.some((our) => address.startsWith(our)))).toEqual([]);
  });

  it("runs no inline script and lets nobody frame it", async () => {
    const response = await fetch(demo.origin);
    const policy = response.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(await response.text()).not.toMatch(/<script>| on\w+=| style=/);
  });

  it("offers every client, way to sign in and API, each control with a label", async () => {
    const { text } = await newWebBrowser().open(`${demo.origin}/`);
    const radios = [...text.matchAll(/type="radio" name="(\w+)" value="(\w+)"/g)];
    expect(radios.map(([, name, value]) => `${name} ${value}`)).toEqual([
      "clientId web",
      "clientId portal",
      "clientId native",
      "clientId browser",
      "clientId machine",
      "method password",
      "method otp",
      "api orders",
      "api reports",
    ]);
    const controls = text.match(/<(?:input|select)/g) ?? [];
    const labelled = text.match(/<label>[^<]*<(?:input|select)/g) ?? [];
    expect(controls).toHaveLength(radios.length + 4);
    expect(labelled).toHaveLength(controls.length);
    expect(text.match(/<fieldset>\s*<legend>[^<]+<\/legend>/g)).toHaveLength(4);
  });

  it("has a button for every story, with its text and a note", async () => {
    const { text } = await newWebBrowser().open(`${demo.origin}/`);
    const found = text.matchAll(
      /<button id="(\w+)" data-story="([^"]*)" aria-describedby="\1-note">\s*([^<]+?)\s*<\/button>\s*<small id="\1-note">([^<]+)</g,
    );
    const shown = [...found].map(([, name, story = "", label = "", note = ""]) => [
      name,
      { ...(JSON.parse(unescape(story)) as object), text: unescape(label), note: unescape(note) },
    ]);
    expect(Object.fromEntries(shown)).toEqual({ ...flow, ...furtherSteps, ...failures });
  });

  it("shows its passwords and secrets, and says why", async () => {
    const { text } = await newWebBrowser().open(`${demo.origin}/`);
    expect(text).toContain("This is a demo, so it shows secrets:");
    for (const name of ["alice", "bob", "web", "portal", "machine"]) {
      expect(text).toContain(`<code>${secretOf(name)}</code>`);
    }
  });

  it.each(["web", "portal", "native", "machine"])("does what every button says for %s", async (clientId) => {
    const browser = await newVisitor();
    const { silentRefresh: _inThePage, ...pressed } = furtherSteps;
    const told = Object.values(pressed);
    const steps = (await Promise.all(told.map((story) => tell(story, { browser, clientId })))).flat();
    expect(steps).toHaveLength(told.length);
    expect(steps.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
  });

  describe.each(validPairs)("at ($method, $api)", (pair) => {
    const chosen = { ...pair, scope: scopeOf[pair.api] };

    it.each(["web", "portal", "native", "machine"])("runs the flow to its end for %s", async (clientId) => {
      const browser = await newVisitor();
      const steps = await tell(flow["run"] ?? { actions: [] }, { browser, clientId, chosen });
      expect(refusals(steps)).toEqual([]);
      expect(steps.at(-1)).toMatchObject({ url: `/api/${pair.api}`, status: 200 });
      const kinds = steps.flatMap(({ events }) => events.map(({ kind }) => kind));
      const granted = ["authorization-requested", "authorization-granted", "token-issued"];
      expect(kinds).toEqual(clientId === "machine" ? ["token-issued"] : granted);
    });
  });

  const replayed = expect.stringContaining("used before") as unknown;
  const revoked = expect.stringContaining("revoked") as unknown;
  const dead = ["orders", 401, "invalid_token", revoked];
  const expectedRefusals: Readonly<Record<string, readonly unknown[]>> = {
    noPkce: [["authorize", 302, "invalid_request", expect.stringContaining("code_challenge")]],
    replayedCode: [["token", 400, "invalid_grant", replayed], dead],
    reusedRefreshToken: [
      ["token", 400, "invalid_grant", replayed],
      ["token", 400, "invalid_grant", revoked],
      dead,
    ],
    wrongApi: [["reports", 401, "invalid_token", expect.stringContaining("another API")]],
    signedOut: [["authorize", 302, "login_required", expect.stringContaining("has found nobody")]],
    wrongRedirectUri: [["authorize", 400, undefined, expect.stringContaining("redirect_uri")]],
    wideScope: [["authorize", 302, "invalid_scope", expect.stringContaining("scope")]],
    noIssuer: [["authorize", 404, undefined, undefined]],
  };
  const shown = Object.entries(failures).flatMap(([name, story]) =>
    (story.clients ?? ["web", "portal", "native"])
      .filter((clientId) => clientId !== "browser")
      .map((clientId) => ({ name, clientId, story })),
  );

  it.each(shown)("shows the failure $name for $clientId", async ({ name, clientId, story }) => {
    const browser = await newVisitor();
    const steps = await tell(story, { browser, clientId });
    const callbacks = steps.filter(({ url }) => url.endsWith("/callback"));
    expect(refusals(steps)).toEqual(expectedRefusals[name]);
    expect(callbacks).toHaveLength(["wrongRedirectUri", "noIssuer"].includes(name) ? 0 : 1);
  });

  it("refuses the machine too wide a scope at the token endpoint", async () => {
    const browser = await newVisitor();
    const steps = await tell(failures["wideScope"] ?? { actions: [] }, { browser, clientId: "machine" });
    expect(refusals(steps)).toEqual([["token", 400, "invalid_scope", expect.stringContaining("scope")]]);
  });

  it("introspects an opaque token, and tells no public client", async () => {
    const chosen = { ...reports, scope: "reports:read" };
    const story = { actions: ["start", "introspect"] };
    const told = await tell(story, { browser: await newVisitor(), clientId: "web", chosen });
    expect(told.at(-1)).toMatchObject({ status: 200, body: { active: true, sub: "alice" } });
    const untold = await tell(story, { browser: await newVisitor(), clientId: "native", chosen });
    const reason: unknown = expect.stringContaining("public client");
    expect(refusals(untold)).toEqual([["introspect", 401, "invalid_client", reason]]);
  });

  it("sends a client that revokes its token away from the API", async () => {
    const story = { actions: ["start", "call", "revoke", "call"] };
    const steps = await tell(story, { browser: await newVisitor(), clientId: "native" });
    expect(refusals(steps)).toEqual([dead]);
  });

  it("writes down the headers that matter", async () => {
    const steps = await tell(flow["run"] ?? { actions: [] }, {
      browser: await newVisitor(),
      clientId: "web",
    });
    const [first, token] = ["/authorize", "/token"].map((path) =>
      steps.find(({ url }) => url.endsWith(path)),
    );
    expect(first?.headers["location"]).toMatch(/^\/signin\/password\?interaction=/);
    expect(token?.headers).toMatchObject({ "content-type": "application/json", "cache-control": "no-store" });
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
    const answers = (await takeSteps(browser)).map(({ status, body }) => [status, body["error"]]);
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

const chromiumPath = process.env["AUTHMOUNT_TEST_CHROMIUM"] ?? "/usr/bin/chromium";

/** What axe-core finds wrong with the page, and where. */
async function accessibilityProblems(tab: Tab): Promise<readonly string[]> {
  await tab.addScriptTag({ content: readFileSync(require.resolve("axe-core/axe.min.js"), "utf8") });
  const { violations } = await tab.evaluate<AxeResults>("axe.run()");
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id} ${target.join(" ")}`));
}

interface AxeResults {
  readonly violations: readonly { id: string; nodes: readonly { target: readonly string[] }[] }[];
}

interface Visit {
  readonly tab: Tab;
  /** Errors on the console, and requests that left the demo. */
  readonly problems: string[];
}

async function pick(tab: Tab, chosen: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(chosen)) {
    await tab.check(`[name="${name}"][value="${value}"]`);
  }
}

async function fillSignIn(tab: Tab, method: string): Promise<void> {
  await tab.waitForURL(`**/signin/${method}?**`);
  await tab.getByLabel("Name").fill("alice");
  if (method === "password") await tab.getByLabel("Password").fill(secretOf("alice"));
  await tab.getByRole("button", { name: "Continue" }).click();
  if (method === "password") return;
  await tab.getByLabel("Code").fill(await readCode());
  await tab.getByRole("button", { name: "Continue" }).click();
}

async function allow(tab: Tab): Promise<void> {
  await tab.waitForURL("**/authorize/resume?**");
  await tab.locator('[value="approve"]').click();
}

/** What the page says when a story has come to its end. */
async function endOfStory(tab: Tab): Promise<string> {
  await tab.waitForURL(`${demo.origin}/`);
  const status = tab.locator("#status", { hasText: /steps?[.,]/ });
  return (await status.textContent()) ?? "";
}

/** Whatever was allowed before, the person is asked. */
async function runStory(tab: Tab, { name, method }: { name: string; method: string }): Promise<string> {
  await tab.getByLabel("prompt").selectOption("consent");
  await tab.focus(`#${name}`);
  await tab.keyboard.press("Enter");
  await fillSignIn(tab, method);
  await allow(tab);
  return endOfStory(tab);
}

/** How far the page sticks out of its window. */
const sidewaysPixels = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

describeWith(
  { name: "Chromium", found: existsSync(chromiumPath) },
  {
    name: "the start page in Chromium",
    tests() {
      let browser: Browser;
      const contexts: BrowserContext[] = [];

      beforeAll(async () => {
        const args = ["--no-sandbox", "--disable-quic", "--disable-background-networking"];
        browser = await chromium.launch({ executablePath: chromiumPath, args });
      });
      afterEach(async () => {
        for (const context of contexts.splice(0)) await context.close();
      });
      afterAll(() => browser.close());

      async function visit(options: Parameters<Browser["newContext"]>[0] = {}): Promise<Visit> {
        const context = await browser.newContext(options);
        contexts.push(context);
        const tab = await context.newPage();
        const problems: string[] = [];
        const ours = [demo.origin, demo.origin.replace("localhost", "127.0.0.1"), "data:"];
        tab.on("console", (message) => {
          if (["error", "warning"].includes(message.type())) problems.push(message.text());
        });
        tab.on("pageerror", (error) => problems.push(error.message));
        tab.on("request", (request) => {
          if (!ours.some((our) => request.url().startsWith(our))) problems.push(request.url());
        });
        await tab.goto(demo.origin);
        return { tab, problems };
      }

      it("runs a flow: the steps, the picture and the decoded token", async () => {
        const { tab, problems } = await visit();
        await pick(tab, { clientId: "web", method: "password", api: "orders" });
        expect(await runStory(tab, { name: "run", method: "password" })).toBe("8 steps, none refused.");
        expect(await tab.evaluate("document.activeElement.id")).toBe("happened");
        expect(await tab.locator("#steps > li").count()).toBe(8);
        expect(await tab.locator("#picture .there text").allTextContents()).toEqual([
          "1. GET /authorize",
          "2. GET /signin/password",
          "3. POST /signin/password",
          "4. GET /authorize/resume",
          "5. POST /authorize/consent",
          "6. GET /web/callback",
          "7. POST /token",
          "8. GET /api/orders",
        ]);
        expect(await tab.locator("#picture .back").count()).toBe(8);
        expect(await tab.locator("#picture .lane text").allTextContents()).toEqual([
          "Browser",
          "Web Shop",
          "Authorization server",
          "API",
        ]);
        const row = (name: string) => tab.locator("#token tr", { has: tab.getByText(name, { exact: true }) });
        expect(await row("aud").textContent()).toContain(`${demo.origin}/api/orders`);
        expect(await row("aud").textContent()).toContain("Every other API refuses it.");
        expect(await row("typ").textContent()).toContain("at+jwt");
        const tokenStep = tab.locator("#steps > li").nth(6);
        await tokenStep.locator("summary").click();
        const text = await tokenStep.innerText();
        for (const shown of [
          "grant_type",
          `web:${secretOf("web")}`,
          "no-store",
          "refresh_token",
          "token-issued",
        ])
          expect(text).toContain(shown);
        expect(problems).toEqual([]);
      });

      it("shows by one key that a reused refresh token ends the new one, and why", async () => {
        const { tab, problems } = await visit();
        expect(await runStory(tab, { name: "reusedRefreshToken", method: "password" })).toBe(
          "11 steps. Refused: step 9 (invalid_grant), step 10 (invalid_grant), step 11 (invalid_token).",
        );
        expect(await tab.locator("#picture .refused text").allTextContents()).toEqual([
          "400 invalid_grant",
          "400 invalid_grant",
          "401 invalid_token",
        ]);
        const [replay] = await tab.locator("#steps .refusal").allInnerTexts();
        expect(replay).toMatch(
          /invalid_grant[^]*error_description[^]*reason \(host's event\)\s+.*used before/,
        );
        expect(await tab.locator("#steps").innerText()).toContain("replay-detected");
        expect(problems).toEqual([]);
      });

      it("runs the client that lives in the page at every pair, and refreshes it silently", async () => {
        const { tab, problems } = await visit();
        for (const pair of validPairs) {
          await tab.context().clearCookies();
          await tab.goto(demo.origin);
          await pick(tab, { clientId: "browser", ...pair });
          expect(await runStory(tab, { name: "run", method: pair.method })).toMatch(
            /^\d+ steps, none refused\.$/,
          );
          expect(await tab.locator("#picture .there text").last().textContent()).toContain(pair.api);
          const before = await tab.locator("#steps > li").count();
          await tab.click("#silentRefresh");
          // authorize, the callback in the iframe, and the token request
          await tab
            .locator("#steps > li")
            .nth(before + 2)
            .waitFor();
          expect(await endOfStory(tab)).toBe(`${before + 3} steps, none refused.`);
        }
        expect(problems).toEqual([]);
      });

      it("shows the page of a wrong redirect URI, which leads nowhere", async () => {
        const { tab } = await visit();
        await tab.click("#wrongRedirectUri");
        expect(await endOfStory(tab)).toBe("1 step. Refused: step 1 (invalid_request).");
        const step = await tab.locator("#steps > li").innerText();
        expect(step).toContain("text/html");
        expect(step).not.toMatch(/^location/m);
      });

      it("plays a failure as a client that can, and says so in the choices", async () => {
        const { tab, problems } = await visit();
        await pick(tab, { clientId: "machine" });
        await tab.click("#noPkce");
        expect(await endOfStory(tab)).toBe(
          "2 steps. Refused: step 1 (invalid_request), step 2 (invalid_request).",
        );
        expect(await tab.isChecked('[value="native"]')).toBe(true);
        expect(await tab.isChecked('[name="pkce"]')).toBe(true);
        expect(problems).toEqual([]);
      });

      it.each([
        ["light", 1100],
        ["dark", 320],
      ] as const)("has no accessibility problem when %s and %d wide", async (colorScheme, width) => {
        const viewport = { width, height: 800 };
        const { tab } = await visit({ colorScheme, viewport, bypassCSP: true });
        expect(await accessibilityProblems(tab)).toEqual([]);
        await pick(tab, { clientId: "machine", api: "orders" });
        await tab.click("#wrongApi");
        expect(await endOfStory(tab)).toBe("3 steps. Refused: step 3 (invalid_token).");
        await tab.getByText("Passwords and client secrets").click();
        expect(await accessibilityProblems(tab)).toEqual([]);
        expect(await tab.evaluate(sidewaysPixels)).toBe(0);
      });
    },
  },
);

it("the demo has printed no stack trace and no failure", () => {
  expect(demo.printed.err).not.toMatch(/^\s+at /m);
  expect(demo.printed.out).not.toContain("server-error");
});
